//! The keeper: reads jobs from the spool and writes their records, in a thread of its own.

use std::path::Path;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use bergamot_nzb::Nzb;
use bergamot_queue::Ending;
use bergamot_store::{BootId, Journal, Outcome, Record, Replay, Spool, StoreError};
use bergamot_types::{JobId, SafeName};
use bergamot_writer::{DiskError, JobDir, Root};

use super::current::Current;
use super::happening::{Happening, Outbox};
use super::hindrance::Hindrance;
use super::nzb_job::read_nzb;
use super::recovery::{Lying, Recovered, recover};
use super::roots::Opened;
use super::settings::JobSettings;
use super::vital_thread::vital_thread;
use crate::clock;

/// A job out of the spool.
#[derive(Debug)]
pub(crate) enum Loaded {
    /// It had reached its destination when the daemon was killed, and only the record had not.
    Done(Box<Record>),
    /// It never will be, and that is on record.
    Failed(Box<Record>),
    /// There is no room for it, or what it is to lie on is not there.
    Held {
        why: String,
    },
    Ready(Box<Ready>),
    /// The disk has to come back first.
    Waits {
        record: Box<Record>,
        why: String,
    },
}

/// A job that can be downloaded: its NZB, its directory, and where it will go.
#[derive(Debug)]
pub(crate) struct Ready {
    pub(crate) record: Record,
    pub(crate) nzb: Nzb,
    pub(crate) directory: Arc<JobDir>,
    pub(crate) destination: Arc<Root>,
    pub(super) recovered: Recovered,
    pub(crate) journal: Journal,
}

enum Errand {
    Absolve(JobId),
    /// Deletes a job that is gone: what lies in its directory, and, if so, its record.
    Clear {
        record: Box<Record>,
        and_record: bool,
    },
    ClearAll(Vec<Record>),
    /// The journal of a job that ended, or begins anew, is not needed any more.
    DropJournal(JobId),
    Load {
        record: Box<Record>,
        opened: Result<Opened, Hindrance>,
    },
    Stop(mpsc::Sender<()>),
    Update(Box<Record>),
}

/// Sends the keeper on errands; what comes of them happens to the daemon.
#[derive(Debug)]
pub(crate) struct Keeper(mpsc::Sender<Errand>);

impl Keeper {
    pub(crate) fn start(
        spool: Arc<Spool>,
        settings: Current<JobSettings>,
        outbox: Outbox,
    ) -> std::io::Result<Self> {
        let (sender, errands) = mpsc::channel();
        let worker = Worker { spool, settings, outbox, boot: BootId::read() };
        vital_thread("keeper", move || worker.run(&errands))?;
        Ok(Self(sender))
    }

    /// From and to directories that somebody has opened who may wait for them.
    pub(super) fn load(&self, record: Record, opened: Result<Opened, Hindrance>) {
        self.send(Errand::Load { record: Box::new(record), opened });
    }

    pub(crate) fn update(&self, record: Record) {
        self.send(Errand::Update(Box::new(record)));
    }

    /// Nobody needs the job any more; its record goes last.
    pub(crate) fn remove(&self, record: Record) {
        self.send(Errand::Clear { record: Box::new(record), and_record: true });
    }

    /// The same for many, whose removal nobody waits for.
    pub(crate) fn remove_all(&self, records: Vec<Record>) {
        self.send(Errand::ClearAll(records));
    }

    /// Somebody wants it tried again: what it did to earlier daemons is forgiven.
    pub(crate) fn absolve(&self, job: JobId) {
        self.send(Errand::Absolve(job));
    }

    /// A job is to be downloaded once more: what is left of the last time goes.
    pub(crate) fn start_anew(&self, record: Record) {
        self.send(Errand::DropJournal(record.id));
        self.delete_files(record);
    }

    pub(crate) fn drop_journal(&self, job: JobId) {
        self.send(Errand::DropJournal(job));
    }

    /// Deletes what was downloaded of a job that is history.
    pub(crate) fn delete_files(&self, record: Record) {
        self.send(Errand::Clear { record: Box::new(record), and_record: false });
    }

    /// Waits until every record is on disk, but not for ever.
    pub(crate) fn stop(&self, patience: Duration) {
        let (sender, done) = mpsc::channel();
        self.send(Errand::Stop(sender));
        // A disk that hangs has had its time; the records it holds are whole, if older.
        let _ = done.recv_timeout(patience);
    }

    fn send(&self, errand: Errand) {
        // The keeper ends only with the daemon.
        let _ = self.0.send(errand);
    }
}

struct Taken {
    nzb: Nzb,
    directory: JobDir,
    destination: Root,
    recovered: Recovered,
    journal: Journal,
}

struct Worker {
    spool: Arc<Spool>,
    settings: Current<JobSettings>,
    outbox: Outbox,
    boot: BootId,
}

impl Worker {
    fn run(&self, errands: &mpsc::Receiver<Errand>) {
        let mut next = None;
        while let Some(errand) = next.take().or_else(|| errands.recv().ok()) {
            match errand {
                Errand::Absolve(job) => {
                    // If that cannot be written, it is parked once more.
                    let _ = self.spool.ended(job);
                }
                Errand::Clear { record, and_record } => self.clear(&record, and_record),
                Errand::ClearAll(records) => self.clear_all(&records),
                Errand::DropJournal(job) => self.drop_journal(job),
                Errand::Load { record, opened } => {
                    let job = record.id;
                    // If reading it in kills the daemon, that is known at the next start.
                    let _ = self.spool.begin(job);
                    let loaded = self.load(record, opened);
                    let _ = self.spool.ended(job);
                    self.outbox.tell(Happening::Loaded { job, loaded });
                }
                Errand::Stop(done) => {
                    let _ = done.send(());
                    return;
                }
                Errand::Update(record) => next = self.update(record, errands),
            }
        }
    }

    /// Writes the record, and all others that wait to be written, together. Returns the errand that
    /// came behind them.
    fn update(&self, first: Box<Record>, errands: &mpsc::Receiver<Errand>) -> Option<Errand> {
        let mut records = vec![first];
        let mut behind = None;
        while records.len() < MOST_TOGETHER {
            match errands.try_recv() {
                Ok(Errand::Update(record)) => records.push(record),
                Ok(other) => {
                    behind = Some(other);
                    break;
                }
                Err(_) => break,
            }
        }
        let all: Vec<_> = records.iter().map(|record| &**record).collect();
        let result = self.spool.update_all(&all);
        let result = result.map_err(|error| format!("{}: {error}", error.code()));
        for record in records {
            let (job, is_over, result) = (record.id, record.outcome.is_some(), result.clone());
            self.outbox.tell(Happening::Recorded { job, is_over, result });
        }
        behind
    }

    fn clear(&self, record: &Record, and_record: bool) {
        let deleted = self.delete(record);
        if let Err(error) = &deleted {
            tracing::warn!(job = %record.id, code = error.code(), "its files stay: {error}");
        }
        let result = match and_record {
            true => {
                let removed = self.spool.remove(&[record.id]);
                removed.map_err(|error| format!("{}: {error}", error.code()))
            }
            false => deleted.map_err(|error| format!("{}: {error}", error.code())),
        };
        self.outbox.tell(Happening::Cleared { job: record.id, and_record, result });
    }

    fn clear_all(&self, records: &[Record]) {
        for record in records {
            if let Err(error) = self.delete(record) {
                tracing::warn!(job = %record.id, code = error.code(), "its files stay: {error}");
            }
        }
        let jobs: Vec<_> = records.iter().map(|record| record.id).collect();
        if let Err(error) = self.spool.remove(&jobs) {
            tracing::warn!(code = error.code(), "{} jobs stay on record: {error}", jobs.len());
        }
    }

    fn drop_journal(&self, job: JobId) {
        if let Err(error) = self.spool.drop_journal(job) {
            tracing::warn!(%job, code = error.code(), "its journal stays: {error}");
        }
    }

    /// Only what lies in the job's own directory.
    fn delete(&self, record: &Record) -> Result<(), DiskError> {
        let Some(name) = record.directory.as_deref().and_then(SafeName::recorded) else {
            return Ok(());
        };
        let opened =
            Root::open(&self.settings.get().incomplete).and_then(|root| root.reopen(&name));
        match opened {
            Ok(directory) => directory.discard(),
            Err(DiskError::Vanished { .. } | DiskError::DestinationMissing { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn load(&self, mut record: Box<Record>, opened: Result<Opened, Hindrance>) -> Loaded {
        match opened.and_then(|opened| self.try_load(&mut record, &opened)) {
            Ok(Some(Taken { nzb, directory, destination, recovered, journal })) => {
                let (directory, destination) = (Arc::new(directory), Arc::new(destination));
                let record = *record;
                let ready = Ready { record, nzb, directory, destination, recovered, journal };
                Loaded::Ready(Box::new(ready))
            }
            Ok(None) => Loaded::Done(record),
            Err(Hindrance::Disk(why)) => Loaded::Held { why },
            Err(Hindrance::Passing(why)) => Loaded::Waits { record, why },
            Err(Hindrance::Lasting(cause, why)) => {
                let mut failed = record.clone();
                failed.end(self.outcome(Ending::Failed(cause), &why));
                match self.spool.update(&failed) {
                    Ok(()) => Loaded::Failed(failed),
                    Err(error) => {
                        Loaded::Waits { record, why: format!("{}: {error}", error.code()) }
                    }
                }
            }
        }
    }

    fn outcome(&self, ending: Ending, reason: &str) -> Outcome {
        let sequence = self.spool.next_sequence();
        Outcome { sequence, ..Outcome::new(ending, clock::now().date, reason) }
    }

    /// None if there is nothing left to download.
    fn try_load(
        &self,
        record: &mut Record,
        Opened { incomplete, destination }: &Opened,
    ) -> Result<Option<Taken>, Hindrance> {
        let nzb = read_nzb(&self.spool, record)?;
        let (journal, replay) = self.journal(record)?;
        let Some(directory) = self.reopen(record, &replay, incomplete, destination)? else {
            self.spool.update(record)?;
            clear_up(record, incomplete, destination);
            return Ok(None);
        };
        let Some(directory) = directory else {
            // What the journal speaks of was in a directory that is gone.
            drop(journal);
            self.spool.drop_journal(record.id)?;
            let (journal, _) = self.journal(record)?;
            let directory = incomplete.job_dir(&SafeName::from_raw(&record.name))?;
            record.directory = Some(directory.name().as_str().into());
            record.finished.clear();
            self.spool.update(record)?;
            let recovered = Recovered::default();
            let destination = destination.clone();
            return Ok(Some(Taken { nzb, directory, destination, recovered, journal }));
        };
        let recovered = recover(&nzb, replay, &record.finished, &lying(&directory)?);
        let known: Vec<_> = recovered.finished.iter().map(|file| &*file.name).collect();
        directory.remove_all_but(&known)?;
        let destination = destination.clone();
        Ok(Some(Taken { nzb, directory, destination, recovered, journal }))
    }

    fn journal(&self, record: &Record) -> Result<(Journal, Replay), StoreError> {
        let (journal, replay) = self.spool.journal(record, self.boot)?;
        let job = record.id;
        if let Some(told) = &replay.set_aside {
            tracing::warn!(%job, "its journal was set aside: {told}");
        }
        if replay.damaged > 0 {
            tracing::warn!(%job, frames = replay.damaged, "its journal is damaged: some is fetched again");
        }
        Ok((journal, replay))
    }

    /// The directory that the job had, if it is there. None at all if the job has left it for its
    /// destination.
    fn reopen(
        &self,
        record: &mut Record,
        replay: &Replay,
        incomplete: &Root,
        destination: &Root,
    ) -> Result<Option<Option<JobDir>>, DiskError> {
        let Some(name) = record.directory.as_deref().and_then(SafeName::recorded) else {
            return Ok(Some(None));
        };
        match incomplete.reopen(&name) {
            Ok(directory) => Ok(Some(Some(directory))),
            Err(DiskError::Vanished { .. }) => {
                let Some(moved) = destination.moved(incomplete, record.id)? else {
                    return Ok(Some(None));
                };
                let older = record.finished.iter().all(|file| file.verified);
                let verified = older && replay.finished.values().all(|file| file.verified);
                let mut outcome = self.outcome(Ending::Completed { verified }, "");
                outcome.destination = Some(path_of(destination, &moved));
                record.directory = None;
                record.end(outcome);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

/// Takes the writer's mark away, as the daemon had no time to. The job is on record as complete:
/// what cannot be taken away is no reason to try it again.
pub(super) fn clear_up(record: &Record, incomplete: &Root, destination: &Root) -> bool {
    let path = record.destination().map(Path::new);
    let name = path.and_then(|path| path.file_name()?.to_str()).and_then(SafeName::recorded);
    let settled = name.map_or(Ok(()), |name| destination.settle(&name, incomplete, record.id));
    if let Err(error) = &settled {
        tracing::warn!(code = error.code(), "{error}");
    }
    settled.is_ok()
}

fn lying(directory: &JobDir) -> Result<Lying, DiskError> {
    let parts = directory.parts()?.into_iter().map(|(file, size)| (file, size.0));
    let named = directory.finished()?.into_iter().filter_map(|(name, size)| {
        // What is hidden is a mark of ours, and what is no UTF-8 has another owner.
        let name = name.into_string().ok().filter(|name| !name.starts_with('.'))?;
        Some((name, size.0))
    });
    Ok(Lying { parts: parts.collect(), named: named.collect() })
}

/// Records that are written with one sync of the directory.
const MOST_TOGETHER: usize = 256;

pub(crate) fn path_of(root: &Root, name: &SafeName) -> String {
    root.path().join(name.as_str()).to_string_lossy().into_owned()
}
