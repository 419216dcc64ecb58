//! The keeper: reads jobs from the spool and writes their records, in a thread of its own.

use std::io::BufReader;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use bergamot_nzb::{Limits, Nzb};
use bergamot_store::{JobState, Record, Spool};
use bergamot_types::{JobId, SafeName};
use bergamot_writer::{DiskError, JobDir, Root};

use super::happening::{Happening, Outbox};
use super::settings::JobSettings;

/// What came of reading a job from the spool.
#[derive(Debug)]
pub(crate) enum Loaded {
    /// It had reached its destination when the daemon was killed, and only the record had not.
    Done(Record),
    /// Not now: a disk is in trouble.
    Held {
        record: Record,
        why: String,
    },
    /// Never: it is on record as failed.
    Lost(Record),
    Ready(Ready),
}

/// A job that can be downloaded: its NZB, its directory, and where it will go.
#[derive(Debug)]
pub(crate) struct Ready {
    pub(crate) record: Record,
    pub(crate) nzb: Nzb,
    pub(crate) directory: Arc<JobDir>,
    pub(crate) destination: Arc<Root>,
}

/// Why a job cannot be started.
enum Unready {
    Lasting(String),
    Passing(String),
}

enum Errand {
    /// The NZB of a completed job is not needed any more.
    DropNzb(JobId),
    Load(Box<Record>),
    Stop(mpsc::Sender<()>),
    Update(Box<Record>),
}

/// Sends the keeper on errands; what comes of them happens to the daemon.
#[derive(Debug)]
pub(crate) struct Keeper(mpsc::Sender<Errand>);

impl Keeper {
    pub(crate) fn start(
        spool: Arc<Spool>,
        settings: Arc<JobSettings>,
        outbox: Outbox,
    ) -> std::io::Result<Self> {
        let (sender, errands) = mpsc::channel();
        let worker = Worker { spool, settings, outbox };
        thread::Builder::new().name("keeper".to_owned()).spawn(move || worker.run(&errands))?;
        Ok(Self(sender))
    }

    pub(crate) fn load(&self, record: Record) {
        self.send(Errand::Load(Box::new(record)));
    }

    pub(crate) fn update(&self, record: Record) {
        self.send(Errand::Update(Box::new(record)));
    }

    pub(crate) fn drop_nzb(&self, job: JobId) {
        self.send(Errand::DropNzb(job));
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

struct Worker {
    spool: Arc<Spool>,
    settings: Arc<JobSettings>,
    outbox: Outbox,
}

impl Worker {
    fn run(&self, errands: &mpsc::Receiver<Errand>) {
        self.sweep();
        while let Ok(errand) = errands.recv() {
            match errand {
                Errand::DropNzb(job) => {
                    if let Err(error) = self.spool.drop_nzb(job) {
                        tracing::warn!(code = error.code(), "{error}");
                    }
                }
                Errand::Load(record) => {
                    let loaded = Box::new(self.load(*record));
                    self.outbox.tell(Happening::Loaded(loaded));
                }
                Errand::Stop(done) => {
                    let _ = done.send(());
                    return;
                }
                Errand::Update(record) => {
                    let result = self.record(&record);
                    self.outbox.tell(Happening::Recorded { job: record.id, result });
                }
            }
        }
    }

    /// Clears away half copies of earlier runs, while nothing is being moved yet.
    fn sweep(&self) {
        for destination in self.settings.destinations() {
            match Root::open(destination).and_then(|root| root.sweep()) {
                Ok(()) | Err(DiskError::Vanished { .. } | DiskError::DestinationMissing { .. }) => {
                }
                Err(error) => tracing::warn!(code = error.code(), "{error}"),
            }
        }
    }

    fn load(&self, mut record: Record) -> Loaded {
        let opened = self.open(&mut record);
        match opened {
            Ok(Some((nzb, directory, destination))) => {
                let (directory, destination) = (Arc::new(directory), Arc::new(destination));
                Loaded::Ready(Ready { record, nzb, directory, destination })
            }
            Ok(None) => Loaded::Done(record),
            Err(Unready::Passing(why)) => Loaded::Held { record, why },
            Err(Unready::Lasting(why)) => {
                record.state = JobState::Failed;
                record.reason = Some(why);
                match self.record(&record) {
                    Ok(()) => Loaded::Lost(record),
                    Err(why) => Loaded::Held { record, why },
                }
            }
        }
    }

    fn open(&self, record: &mut Record) -> Result<Option<(Nzb, JobDir, Root)>, Unready> {
        let file = self.spool.nzb(record.id);
        let file = file.map_err(|error| Unready::Lasting(format!("state.missing: {error}")))?;
        let nzb = bergamot_nzb::read(BufReader::new(file), &Limits::default());
        let nzb = nzb.map_err(|error| Unready::Lasting(format!("{}: {error}", error.code())))?;
        let disk = |error: DiskError| Unready::Passing(format!("{}: {error}", error.code()));
        let incomplete = Root::create(&self.settings.incomplete).map_err(disk)?;
        let destination = self.settings.destination(record.category.as_deref());
        let destination = Root::create(&destination).map_err(disk)?;
        let directory = self.directory(record, &incomplete, &destination).map_err(disk)?;
        self.record(record).map_err(Unready::Passing)?;
        Ok(directory.map(|directory| (nzb, directory, destination)))
    }

    fn record(&self, record: &Record) -> Result<(), String> {
        self.spool.update(record).map_err(|error| format!("{}: {error}", error.code()))
    }

    /// The job's directory: the one it had, with what lies finished there, or a new one. None if the
    /// job has left it for its destination.
    fn directory(
        &self,
        record: &mut Record,
        incomplete: &Root,
        destination: &Root,
    ) -> Result<Option<JobDir>, DiskError> {
        if let Some(name) = record.directory.as_deref().and_then(SafeName::recorded) {
            match incomplete.reopen(&name) {
                Ok(directory) => {
                    let there = directory.finished()?;
                    let is_there = |name: &str| there.iter().any(|(known, _)| known == name);
                    record.finished.retain(|file| is_there(&file.name));
                    return Ok(Some(directory));
                }
                Err(DiskError::Vanished { .. }) => {
                    if let Some(moved) = destination.moved(incomplete, record.id)? {
                        record.state = JobState::Completed;
                        record.destination = Some(path_of(destination, &moved));
                        return Ok(None);
                    }
                }
                Err(error) => return Err(error),
            }
        }
        record.finished.clear();
        let directory = incomplete.job_dir(&SafeName::from_raw(&record.name))?;
        record.directory = Some(directory.name().as_str().to_owned());
        Ok(Some(directory))
    }
}

pub(crate) fn path_of(root: &Root, name: &SafeName) -> String {
    root.path().join(name.as_str()).to_string_lossy().into_owned()
}
