//! [`Event`]: what the driver reports to [`Jobs`](super::Jobs). Plain data.

use std::fmt;

use bergamot_engine::Failure;
use bergamot_nzb::Nzb;
use bergamot_queue::{Cause, FileKey, Restored, Stage};
use bergamot_storage::VolumeId;
use bergamot_types::JobId;

use super::settings::Settings;
use crate::admission::Survey;
use crate::ending::retry::DiskFailure;
use crate::record::Record;
use crate::record::outcome::Check;

#[derive(Debug)]
pub enum Event {
    /// The engine wants the files of a job deleted that has failed.
    FilesUnwanted(JobId),
    /// Answers [`Action::DeleteFiles`](super::Action::DeleteFiles) and
    /// [`Action::DeleteOpenFiles`](super::Action::DeleteOpenFiles).
    FilesDeleted {
        job: JobId,
        result: Result<(), StoreFailure>,
    },
    /// The engine fails a job.
    Failed {
        job: JobId,
        failure: Failure,
        disk: Disk,
    },
    /// A file has no reservation on its volume and grows as it is written.
    FileGrows(FileKey),
    /// At the start: the destination has these jobs, whose records say that they are queued.
    FoundDelivered(Vec<JobId>),
    /// The NZB of a job will not come.
    FetchFailed {
        job: JobId,
        cause: Cause,
        reason: String,
    },
    /// The engine has paused a job that cannot be repaired.
    JobPaused(JobId),
    /// Answers [`Action::Load`](super::Action::Load).
    Loaded {
        job: JobId,
        number: u64,
        loaded: Loaded,
    },
    /// The files of a job are at the destination.
    Moved {
        job: JobId,
        check: Check,
        destination: String,
        volume: VolumeId,
    },
    /// The NZB of a job has come; the record says what it brought.
    NzbFetched {
        record: Box<Record>,
        priority: Option<i32>,
    },
    /// Answers [`Action::Remove`](super::Action::Remove) and
    /// [`Action::RemoveOpen`](super::Action::RemoveOpen).
    Removed {
        job: JobId,
        result: Result<(), StoreFailure>,
    },
    /// A server delivers again after an outage.
    ServerWorks,
    SettingsChanged(Box<Settings>),
    /// A task of post-processing works on the files of a job (`is_in_task`), or the step waits to be tried
    /// again.
    StepTask {
        job: JobId,
        is_in_task: bool,
    },
    /// A step of post-processing has begun, or has got on.
    Stage {
        job: JobId,
        stage: Stage,
    },
    /// Answers [`Action::Survey`](super::Action::Survey).
    Surveyed(Box<Survey>),
    SurveyWanted,
    /// An instant of [`poll_timeout`](super::Jobs::poll_timeout) has come.
    Timeout,
    /// A write was refused for want of room.
    VolumeFull(Option<VolumeId>),
    /// Answers [`Action::Write`](super::Action::Write). `is_over`: what was written says that the job has
    /// ended.
    Written {
        job: JobId,
        is_over: bool,
        result: Result<(), StoreFailure>,
    },
}

/// What the disk said last.
#[derive(Clone, Debug)]
pub struct Disk {
    pub failure: DiskFailure,
    /// Its last error, with its code.
    pub error: Option<String>,
}

/// What came of an attempt to load a job.
#[derive(Debug)]
pub enum Loaded {
    /// It had reached its destination when the daemon was killed, and only the record had not. It is on
    /// record now.
    Done(Box<Record>),
    /// It will never be loaded, and that is on record.
    Failed(Box<Record>),
    /// There is no room for it, or its directory is not there.
    Held {
        why: String,
    },
    /// Its category has changed since its directories were opened, or it has ended: what was opened is of
    /// no use.
    Outdated,
    Ready(Box<Ready>),
    /// The disk has to come back first.
    Waits {
        why: String,
    },
}

/// A job that can be downloaded.
#[derive(Debug)]
pub struct Ready {
    /// As it was loaded, with the directory that it has.
    pub record: Record,
    pub nzb: Nzb,
    /// Finished files in the directory, each with whether it is verified.
    pub finished: Vec<(u32, bool)>,
    /// Articles that were written before.
    pub written: Vec<Restored>,
    /// Files that seemed to be others hold what they should.
    pub is_proven: bool,
}

/// Why the state directory did not take a change.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct StoreFailure {
    pub code: &'static str,
    pub message: String,
}

impl fmt::Display for StoreFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

impl std::error::Error for StoreFailure {}
