//! [`StateThread`]: writes the usage of quotas, the settings changed at run time, the traffic of each server and the
//! state of the feeds, in a thread of its own.
//!
//! It is apart from the record thread, which may be busy with a large NZB: no article is fetched until the quota
//! records are on disk.

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
use crate::event::{Event, EventSender};
use crate::feeds::state_files::FeedFiles;
use crate::service_thread::service_thread;

/// Knows the servers by name, as records do; what becomes of an command happens to the daemon.
#[derive(Debug)]
pub(crate) struct StateThread {
    commands: mpsc::Sender<Command>,
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

enum Command {
    /// Without a number no event follows.
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
pub(crate) struct SavedState {
    pub(crate) used: QuotaRecords,
    pub(crate) settings: RuntimeSettings,
    pub(crate) volumes: ServerVolumes,
    pub(crate) feeds: Memory,
    /// What could not be read.
    pub(crate) warnings: Vec<String>,
}

struct Files {
    usage: UsageFile,
    settings: SettingsFile,
    volumes: VolumesFile,
    feeds: FeedFiles,
}

impl StateThread {
    /// With what is used of the quotas of the servers there are, and the rest.
    pub(crate) fn start(
        state: &Path,
        names: Vec<String>,
        events: EventSender,
    ) -> io::Result<(Self, SavedState)> {
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
        let (commands, received) = mpsc::channel();
        let next_feeds = NextFeeds::default();
        let to_keep = next_feeds.clone();
        let on_death = events.clone();
        let work = move || run(&mut files, &received, &to_keep, &events);
        service_thread("state", &on_death, work)?;
        let thread = Self { commands, feeds: next_feeds, names, used };
        let records = thread.records();
        let (warnings, feeds) = (told.collect(), remembered);
        Ok((
            thread,
            SavedState { used: records, settings: chosen, volumes: counted, feeds, warnings },
        ))
    }

    /// Calls `done` when they are on disk.
    pub(crate) fn write_settings(&self, settings: RuntimeSettings, done: Waiter) {
        self.send(Command::Settings(Box::new(settings), done));
    }

    /// Calls `done` when it is on disk.
    pub(crate) fn write_feeds(&self, memory: Memory, done: Waiter) {
        let mut next = self.feeds.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *next {
            Some(next) => {
                next.memory = memory;
                next.waiters.push(done);
            }
            None => {
                *next = Some(FeedsToKeep { memory, waiters: vec![done] });
                self.send(Command::Feeds);
            }
        }
    }

    pub(crate) fn write_rss(&self, path: PathBuf, text: String) {
        self.send(Command::Rss(path, text));
    }

    pub(crate) fn write_traffic(&self, volumes: ServerVolumes) {
        self.send(Command::Volumes(Box::new(volumes)));
    }

    /// The servers there are now, in the order of their numbers.
    pub(crate) fn set_names(&mut self, names: Vec<String>) {
        self.names = names;
    }

    pub(crate) fn persist(&mut self, number: u64, records: &QuotaRecords) {
        self.write(Some(number), records);
    }

    /// Writes the final state, at the end of the daemon.
    pub(crate) fn close(&mut self, records: &QuotaRecords) {
        self.write(None, records);
    }

    fn write(&mut self, number: Option<u64>, records: &QuotaRecords) {
        self.note(records);
        self.send(Command::Write { number, usage: self.used.clone() });
    }

    /// Waits until all is written, but not for ever: an older record only claims more.
    pub(crate) fn stop(&self, patience: Duration) {
        let (sender, done) = mpsc::channel();
        self.send(Command::Stop(sender));
        let _ = done.recv_timeout(patience);
    }

    fn send(&self, command: Command) {
        // The state thread ends only with the daemon.
        let _ = self.commands.send(command);
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
    commands: &mpsc::Receiver<Command>,
    next_feeds: &NextFeeds,
    events: &EventSender,
) {
    while let Ok(command) = commands.recv() {
        match command {
            Command::Write { number, usage } => {
                let result = files.usage.write(&usage);
                let result = result.map_err(|error| (&error).into());
                match (number, result) {
                    (Some(number), result) => events.send(Event::Persisted { number, result }),
                    (None, Err(why)) => {
                        tracing::warn!("what is used of the quotas could not be written: {why}");
                    }
                    (None, Ok(())) => {}
                }
            }
            Command::Settings(settings, done) => {
                let result = files.settings.write(&settings);
                let result = result.map_err(|error| (&error).into());
                // The caller may have gone away.
                let _ = done.send(result);
            }
            Command::Feeds => keep(&mut files.feeds, next_feeds),
            Command::Rss(path, text) => match write_whole(&path, &text) {
                Ok(()) => {
                    let items = text.matches("<item>").count();
                    tracing::debug!(items, "the feed of downloads is written");
                }
                Err(error) => {
                    tracing::warn!(path = %path.display(), "the feed was not written: {error}");
                }
            },
            Command::Stop(done) => {
                let _ = done.send(());
                return;
            }
            Command::Volumes(volumes) => {
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
        // The caller may have gone away.
        let _ = waiter.send(result.clone());
    }
}

/// Writes a new file and renames it: a concurrent reader gets the old content or the new one.
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

    fn start(state: &Path, names: &[&str]) -> (StateThread, QuotaRecords) {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        let (thread, left) = StateThread::start(state, names, EventSender::new().0).unwrap();
        (thread, left.used)
    }

    #[test]
    fn servers_keep_what_they_used_in_any_order_and_after_an_absence() {
        let home = tempfile::tempdir().unwrap();
        let (mut thread, found) = start(home.path(), &["a", "B"]);
        assert_eq!(found, QuotaRecords::default());
        let servers = [(ServerId(1), record(1)), (ServerId(2), record(2))].into();
        thread.close(&QuotaRecords { all: Some(record(3)), servers });
        thread.stop(PATIENCE);

        let (mut thread, found) = start(home.path(), &["c", "b"]);
        let servers = [(ServerId(2), record(2))].into();
        assert_eq!(found, QuotaRecords { all: Some(record(3)), servers });
        let servers = [(ServerId(1), record(4))].into();
        thread.persist(1, &QuotaRecords { all: None, servers });
        thread.set_names(vec!["c".to_owned(), String::new(), "a".to_owned()]);
        let servers = [(ServerId(1), record(4)), (ServerId(3), record(1))].into();
        assert_eq!(thread.records(), QuotaRecords { all: Some(record(3)), servers });
        thread.close(&QuotaRecords::default());
        thread.stop(PATIENCE);

        let (_, found) = start(home.path(), &["a", "b", "c"]);
        let servers = (1..).map(ServerId).zip([record(1), record(2), record(4)]).collect();
        assert_eq!(found, QuotaRecords { all: Some(record(3)), servers });
    }

    const PATIENCE: Duration = Duration::from_secs(60);
}
