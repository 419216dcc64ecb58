//! The clerk: writes down what is used of the quotas, what people have chosen, and what came from each
//! server, in a thread of its own.
//!
//! It has nothing else to do, for nothing is fetched until it has written; the keeper may be busy
//! with a large NZB.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;

use bergamot_engine::QuotaRecords;
use bergamot_feed::Memory;
use bergamot_jobs::machine::StoreFailure;
use bergamot_limit::{DayRecord, Record};
use bergamot_store::{
    RuntimeSettings, ServerVolumes, SettingsFile, Usage, UsageFile, Used, UsedDay, VolumesFile,
};
use bergamot_types::ServerId;

use crate::control::call::Waiter;
use crate::event::{Happening, Outbox};
use crate::feeds::state_files::FeedFiles;
use crate::service_thread::vital_thread;

/// Knows the servers by name, as records do; what becomes of an errand happens to the daemon.
#[derive(Debug)]
pub(crate) struct Clerk {
    errands: mpsc::Sender<Errand>,
    feeds: NextFeeds,
    names: Vec<String>, // in the order of their numbers
    used: Usage,        // as it was written last
}

/// What is known of the feeds, on its way to the disk. What comes while an older one waits takes its
/// place: several feeds that were read at the same time share a write.
type NextFeeds = Arc<Mutex<Option<FeedsToKeep>>>;

#[derive(Debug)]
struct FeedsToKeep {
    memory: Memory,
    waiters: Vec<Waiter>,
}

enum Errand {
    /// Without a number nobody waits for it.
    Write {
        number: Option<u64>,
        usage: Usage,
    },
    Settings(Box<RuntimeSettings>, Waiter),
    Feeds,
    Rss(PathBuf, String),
    Stop(mpsc::Sender<()>),
    Volumes(Box<ServerVolumes>),
}

/// What earlier runs have left.
#[derive(Debug)]
pub(crate) struct Left {
    pub(crate) used: QuotaRecords,
    pub(crate) settings: RuntimeSettings,
    pub(crate) volumes: ServerVolumes,
    pub(crate) feeds: Memory,
    /// What could not be read.
    pub(crate) told: Vec<String>,
}

struct Files {
    usage: UsageFile,
    settings: SettingsFile,
    volumes: VolumesFile,
    feeds: FeedFiles,
}

impl Clerk {
    /// With what is used of the quotas of the servers there are, and the rest.
    pub(crate) fn start(
        state: &Path,
        names: Vec<String>,
        outbox: Outbox,
    ) -> io::Result<(Self, Left)> {
        let (usage, used, usage_told) = UsageFile::open(state);
        let (settings, chosen, settings_told) = SettingsFile::open(state);
        let (volumes, counted, volumes_told) = VolumesFile::open(state);
        let (feeds, remembered, feeds_told) = FeedFiles::open(state);
        let losses = [
            ("what was used of the quotas, which begin anew", usage_told),
            ("what was chosen while running", settings_told),
            ("what came from each server", volumes_told),
            ("what was known of the feeds", feeds_told),
        ];
        let told = losses.into_iter().filter_map(|(what, told)| Some((what, told?)));
        let told = told.map(|(what, told)| format!("{what}, cannot be read: {told}"));
        let mut files = Files { usage, settings, volumes, feeds };
        let (errands, received) = mpsc::channel();
        let next_feeds = NextFeeds::default();
        let to_keep = next_feeds.clone();
        let on_death = outbox.clone();
        let work = move || run(&mut files, &received, &to_keep, &outbox);
        vital_thread("clerk", &on_death, work)?;
        let clerk = Self { errands, feeds: next_feeds, names, used };
        let records = clerk.records();
        let (told, feeds) = (told.collect(), remembered);
        Ok((clerk, Left { used: records, settings: chosen, volumes: counted, feeds, told }))
    }

    /// Tells `done` when they are on disk.
    pub(crate) fn keep_settings(&self, settings: RuntimeSettings, done: Waiter) {
        self.send(Errand::Settings(Box::new(settings), done));
    }

    /// Tells `done` when it is on disk.
    pub(crate) fn keep_feeds(&self, memory: Memory, done: Waiter) {
        let mut next = self.feeds.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *next {
            Some(next) => {
                next.memory = memory;
                next.waiters.push(done);
            }
            None => {
                *next = Some(FeedsToKeep { memory, waiters: vec![done] });
                self.send(Errand::Feeds);
            }
        }
    }

    pub(crate) fn keep_rss(&self, path: PathBuf, text: String) {
        self.send(Errand::Rss(path, text));
    }

    pub(crate) fn keep_volumes(&self, volumes: ServerVolumes) {
        self.send(Errand::Volumes(Box::new(volumes)));
    }

    /// The servers there are now, in the order of their numbers.
    pub(crate) fn set_names(&mut self, names: Vec<String>) {
        self.names = names;
    }

    pub(crate) fn persist(&mut self, number: u64, records: &QuotaRecords) {
        self.write(Some(number), records);
    }

    /// The last word.
    pub(crate) fn close(&mut self, records: &QuotaRecords) {
        self.write(None, records);
    }

    fn write(&mut self, number: Option<u64>, records: &QuotaRecords) {
        self.note(records);
        self.send(Errand::Write { number, usage: self.used.clone() });
    }

    /// Waits until all is written, but not for ever: an older record only claims more.
    pub(crate) fn stop(&self, patience: Duration) {
        let (sender, done) = mpsc::channel();
        self.send(Errand::Stop(sender));
        let _ = done.recv_timeout(patience);
    }

    fn send(&self, errand: Errand) {
        // The clerk ends only with the daemon.
        let _ = self.errands.send(errand);
    }

    /// What is used of the quotas of the servers there are now, by all that was ever written of it.
    pub(crate) fn records(&self) -> QuotaRecords {
        let numbered = (1..).map(ServerId).zip(&self.names);
        let of_server = |(id, name): (ServerId, &String)| {
            Some((id, record_of(self.used.servers.get(&key(name))?)))
        };
        QuotaRecords {
            all: self.used.all.as_ref().map(record_of),
            servers: numbered.filter_map(of_server).collect(),
        }
    }

    /// What is not counted just now is kept as it was: a server or a quota may come back.
    fn note(&mut self, records: &QuotaRecords) {
        if let Some(record) = &records.all {
            self.used.all = Some(used_of(record));
        }
        for (server, record) in &records.servers {
            if let Some(name) = self.names.get(usize::from(server.0).wrapping_sub(1)) {
                self.used.servers.insert(key(name), used_of(record));
            }
        }
    }
}

fn run(
    files: &mut Files,
    errands: &mpsc::Receiver<Errand>,
    next_feeds: &NextFeeds,
    outbox: &Outbox,
) {
    while let Ok(errand) = errands.recv() {
        match errand {
            Errand::Write { number, usage } => {
                let result = files.usage.write(&usage);
                let result = result.map_err(|error| (&error).into());
                match (number, result) {
                    (Some(number), result) => outbox.tell(Happening::Persisted { number, result }),
                    (None, Err(why)) => {
                        tracing::warn!("what is used of the quotas could not be written: {why}");
                    }
                    (None, Ok(())) => {}
                }
            }
            Errand::Settings(settings, done) => {
                let result = files.settings.write(&settings);
                let result = result.map_err(|error| (&error).into());
                // Whoever asked may have left meanwhile.
                let _ = done.send(result);
            }
            Errand::Feeds => keep(&mut files.feeds, next_feeds),
            Errand::Rss(path, text) => match write_whole(&path, &text) {
                Ok(()) => {
                    let items = text.matches("<item>").count();
                    tracing::debug!(items, "the feed of downloads is written");
                }
                Err(error) => {
                    tracing::warn!(path = %path.display(), "the feed was not written: {error}");
                }
            },
            Errand::Stop(done) => {
                let _ = done.send(());
                return;
            }
            Errand::Volumes(volumes) => {
                if let Err(error) = files.volumes.write(&volumes) {
                    tracing::warn!(code = error.code(), "the counters were not written: {error}");
                }
            }
        }
    }
}

fn keep(files: &mut FeedFiles, next: &NextFeeds) {
    let next = next.lock().unwrap_or_else(PoisonError::into_inner).take();
    let Some(FeedsToKeep { memory, waiters }) = next else { return };
    // As long as it is shared, the loop would have to copy what it changes: it ends in there.
    let result = files.write(memory).map_err(|error| StoreFailure::from(&error));
    for waiter in waiters {
        // Whoever asked may have left meanwhile.
        let _ = waiter.send(result.clone());
    }
}

/// Whoever reads it meanwhile sees the old one or the new one.
fn write_whole(path: &Path, text: &str) -> io::Result<()> {
    let beside = path.with_added_extension("new");
    std::fs::write(&beside, text)?;
    std::fs::rename(&beside, path)
}

/// No two servers have the same name in another case.
fn key(name: &str) -> String {
    name.to_lowercase()
}

fn used_of(record: &Record) -> Used {
    let day = |day: &DayRecord| UsedDay { day: day.day, counts_as: day.counts_as, used: day.used };
    Used {
        ever: record.ever,
        turned_back: record.turned_back,
        days: record.days.iter().map(day).collect(),
    }
}

fn record_of(used: &Used) -> Record {
    let day = |day: &UsedDay| DayRecord { day: day.day, counts_as: day.counts_as, used: day.used };
    Record {
        ever: used.ever,
        turned_back: used.turned_back,
        days: used.days.iter().map(day).collect(),
    }
}

#[cfg(test)]
mod tests {
    use bergamot_types::{ByteCount, UnixTime};

    use super::*;

    fn record(ever: u64) -> Record {
        let day = DayRecord { day: 5, counts_as: 4, used: ByteCount(ever) };
        Record { days: vec![day], ever: ByteCount(ever), turned_back: Some(UnixTime(9)) }
    }

    fn start(state: &Path, names: &[&str]) -> (Clerk, QuotaRecords) {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        let (clerk, left) = Clerk::start(state, names, Outbox::new().0).unwrap();
        (clerk, left.used)
    }

    #[test]
    fn servers_keep_what_they_used_in_any_order_and_after_an_absence() {
        let home = tempfile::tempdir().unwrap();
        let (mut clerk, found) = start(home.path(), &["a", "B"]);
        assert_eq!(found, QuotaRecords::default());
        let servers = [(ServerId(1), record(1)), (ServerId(2), record(2))].into();
        clerk.close(&QuotaRecords { all: Some(record(3)), servers });
        clerk.stop(PATIENCE);

        let (mut clerk, found) = start(home.path(), &["c", "b"]);
        let servers = [(ServerId(2), record(2))].into();
        assert_eq!(found, QuotaRecords { all: Some(record(3)), servers });
        let servers = [(ServerId(1), record(4))].into();
        clerk.persist(1, &QuotaRecords { all: None, servers });
        clerk.set_names(vec!["c".to_owned(), String::new(), "a".to_owned()]);
        let servers = [(ServerId(1), record(4)), (ServerId(3), record(1))].into();
        assert_eq!(clerk.records(), QuotaRecords { all: Some(record(3)), servers });
        clerk.close(&QuotaRecords::default());
        clerk.stop(PATIENCE);

        let (_, found) = start(home.path(), &["a", "b", "c"]);
        let servers = (1..).map(ServerId).zip([record(1), record(2), record(4)]).collect();
        assert_eq!(found, QuotaRecords { all: Some(record(3)), servers });
    }

    const PATIENCE: Duration = Duration::from_secs(60);
}
