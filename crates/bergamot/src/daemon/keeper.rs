//! The keeper: reads jobs from the spool and writes their records, in a thread of its own.

use std::io::{self, BufReader};
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use bergamot_engine::DiskTrouble;
use bergamot_nzb::{Limits, Nzb, NzbError};
use bergamot_store::{JobState, Record, Spool, StoreError};
use bergamot_types::{JobId, SafeName};
use bergamot_writer::{DiskError, JobDir, Root};

use super::happening::{Happening, Outbox};
use super::settings::JobSettings;
use super::trouble;

/// A job out of the spool.
#[derive(Debug)]
pub(crate) enum Loaded {
    /// It had reached its destination when the daemon was killed, and only the record had not.
    Done(Box<Record>),
    /// It never will be, and that is on record.
    Failed(Box<Record>),
    Ready(Box<Ready>),
    /// The disk has to come back first.
    Waits {
        record: Box<Record>,
        why: String,
    },
}

/// Why a job cannot be downloaded.
enum Hindrance {
    Lasting(String),
    Passing(String),
}

impl From<DiskError> for Hindrance {
    fn from(error: DiskError) -> Self {
        let why = format!("{}: {error}", error.code());
        match trouble::of_disk(&error) {
            DiskTrouble::Lasting => Self::Lasting(why),
            DiskTrouble::Passing | DiskTrouble::Unsynced => Self::Passing(why),
        }
    }
}

impl From<StoreError> for Hindrance {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Io { error, path } if error.kind() == io::ErrorKind::NotFound => {
                Self::Lasting(format!("state.missing: {}: {error}", path.display()))
            }
            error => Self::Passing(format!("{}: {error}", error.code())),
        }
    }
}

impl From<NzbError> for Hindrance {
    fn from(error: NzbError) -> Self {
        Self::Lasting(format!("{}: {error}", error.code()))
    }
}

/// A job that can be downloaded: its NZB, its directory, and where it will go.
#[derive(Debug)]
pub(crate) struct Ready {
    pub(crate) record: Record,
    pub(crate) nzb: Nzb,
    pub(crate) directory: Arc<JobDir>,
    pub(crate) destination: Arc<Root>,
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

struct Opened {
    nzb: Nzb,
    directory: JobDir,
    destination: Root,
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
                Errand::DropNzb(job) => self.drop_nzb(job),
                Errand::Load(record) => {
                    let (job, loaded) = (record.id, self.load(record));
                    self.outbox.tell(Happening::Loaded { job, loaded });
                }
                Errand::Stop(done) => {
                    let _ = done.send(());
                    return;
                }
                Errand::Update(record) => {
                    let result = self.spool.update(&record);
                    let result = result.map_err(|error| format!("{}: {error}", error.code()));
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

    fn load(&self, mut record: Box<Record>) -> Loaded {
        match self.try_load(&mut record) {
            Ok(Some(Opened { nzb, directory, destination })) => {
                let (directory, destination) = (Arc::new(directory), Arc::new(destination));
                Loaded::Ready(Box::new(Ready { record: *record, nzb, directory, destination }))
            }
            Ok(None) => Loaded::Done(record),
            Err(Hindrance::Passing(why)) => Loaded::Waits { record, why },
            Err(Hindrance::Lasting(why)) => {
                record.state = JobState::Failed;
                record.reason = Some(why);
                match self.spool.update(&record) {
                    Ok(()) => Loaded::Failed(record),
                    Err(error) => {
                        record.state = JobState::Queued;
                        Loaded::Waits { record, why: format!("{}: {error}", error.code()) }
                    }
                }
            }
        }
    }

    /// None if there is nothing left to download.
    fn try_load(&self, record: &mut Record) -> Result<Option<Opened>, Hindrance> {
        let file = self.spool.nzb(record.id)?;
        let nzb = bergamot_nzb::read(BufReader::new(file), &Limits::default())?;
        let incomplete = Root::create(&self.settings.incomplete)?;
        let destination = self.settings.destination(record.category.as_deref());
        let destination = Root::create(&destination)?;
        let directory = self.directory(record, &incomplete, &destination)?;
        self.spool.update(record)?;
        if directory.is_none() {
            self.clear_up(record, &incomplete, &destination);
        }
        Ok(directory.map(|directory| Opened { nzb, directory, destination }))
    }

    /// Takes the writer's mark and the NZB away, as the daemon had no time to. The job is on record
    /// as complete: what cannot be taken away is no reason to try it again.
    fn clear_up(&self, record: &Record, incomplete: &Root, destination: &Root) {
        let path = record.destination.as_deref().map(Path::new);
        let name = path.and_then(|path| path.file_name()?.to_str()).and_then(SafeName::recorded);
        let settled = name.map_or(Ok(()), |name| destination.settle(&name, incomplete, record.id));
        if let Err(error) = settled {
            tracing::warn!(code = error.code(), "{error}");
        }
        self.drop_nzb(record.id);
    }

    fn drop_nzb(&self, job: JobId) {
        if let Err(error) = self.spool.drop_nzb(job) {
            tracing::warn!(code = error.code(), "{error}");
        }
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
                    let known: Vec<_> = record.finished.iter().map(|file| &*file.name).collect();
                    directory.remove_all_but(&known)?;
                    return Ok(Some(directory));
                }
                Err(DiskError::Vanished { .. }) => {
                    if let Some(moved) = destination.moved(incomplete, record.id)? {
                        let verified = record.finished.iter().all(|file| file.verified);
                        record.state = match verified {
                            true => JobState::Completed,
                            false => JobState::CompletedUnverified,
                        };
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
