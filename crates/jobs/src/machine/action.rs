//! [`Action`]: what the driver carries out for [`Jobs`](super::Jobs). Plain data.

use std::path::PathBuf;
use std::sync::Arc;

use bergamot_engine::Event as EngineEvent;
use bergamot_types::{JobId, SafeName};

use super::event::StoreFailure;
use crate::record::Record;

/// `W` is how the driver knows a caller that waits for a write.
#[derive(Debug)]
pub enum Action<W> {
    /// A write that a caller waited for has ended.
    Answer {
        waiter: W,
        result: Result<(), StoreFailure>,
    },
    Changed(Change),
    /// The job is not active any more: what the driver holds for it (its directories, its journal) is
    /// closed behind what is still being written.
    Close(JobId),
    /// Deletes the files of a job that is not active, also in a directory that a load under way has given it.
    /// Answered by [`FilesDeleted`](super::Event::FilesDeleted).
    DeleteFiles(Box<Record>),
    /// The same for an active one, behind all that is still being written to them.
    DeleteOpenFiles(Box<Record>),
    /// What the journal of a job says does not hold any more.
    DropJournal(JobId),
    /// What was loaded for a job is of no use.
    DropLoaded(JobId),
    /// Fetches the NZB of a job from its address, or does so anew.
    Fetch(JobId),
    /// It is not the job's fault any more that a daemon died which had it loaded.
    ForgetCrashes(JobId),
    /// The journal of an ended job is not needed.
    ForgetJournal(JobId),
    /// Opens the directories of a job and reads its NZB and journal, behind all that is still being written
    /// to its files: it may have been active a moment ago. Answered by
    /// [`Loaded`](super::Event::Loaded) with the same number, unless another attempt for the job follows.
    Load {
        job: JobId,
        number: u64,
        category: Option<Arc<str>>,
    },
    /// What was loaded for a job is used from here on. The engine gets the job next.
    Open(JobId),
    /// Removes a job with its record and its files, also in a directory that a load under way has given it.
    /// Answered by [`Removed`](super::Event::Removed).
    Remove(Box<Record>),
    /// The same for an active one, behind all that is still being written to its files.
    RemoveOpen(Box<Record>),
    /// Removes jobs; there is no answer.
    RemoveAll(Vec<Record>),
    /// A completed job is on record: the marks of its delivery are removed, then its journal.
    Settle(Box<Record>),
    /// The NZB of a job is not wanted any more.
    StopFetching(JobId),
    /// Reads the free space of the volumes. Answered by [`Surveyed`](super::Event::Surveyed).
    Survey(SurveyRequest),
    Tell(EngineEvent),
    /// Writes a record. Answered by [`Written`](super::Event::Written).
    Write(Box<Record>),
}

/// What views and watchers may want to know.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Change {
    Added(JobId),
    /// It is in the history, as the record says; the history may have forgotten it by now.
    Ended(Box<Record>),
    Edited(JobId),
    /// A pause has ended by itself.
    PauseEnded,
    Removed(JobId),
    State(JobId),
    /// Jobs wait for room, and why; or none does any more.
    Room(Option<String>),
}

/// What is to be surveyed.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SurveyRequest {
    pub incomplete: PathBuf,
    /// `incomplete` among them.
    pub directories: Vec<PathBuf>,
    /// Jobs that wait and have files in `incomplete`, to be measured.
    pub begun: Vec<(JobId, SafeName)>,
}
