//! [`Planned`]: what is going to happen on a simulated day, each at its time. Plain data.

use std::sync::Arc;

use bergamot_engine::{ConnectionId, Event as EngineEvent};
use bergamot_jobs::edit::EditRefusal;
use bergamot_jobs::machine::{Event as JobsEvent, MergedFiles};
use bergamot_jobs::{Record, machine};
use bergamot_types::JobId;

use super::day::End;
use super::disk::DiskTask;

#[derive(Debug)]
pub(crate) enum Planned {
    // Of the process.
    /// A new job is in the spool, and is reported to the machine.
    Accepted(Box<Record>),
    /// The first request on a connection is answered.
    Answer(ConnectionId),
    Dialled(ConnectionId),
    DiskDone(DiskTask),
    Engine(EngineEvent),
    Jobs(JobsEvent),
    Loaded {
        job: JobId,
        number: u64,
        loaded: machine::Loaded,
    },
    Merged {
        jobs: Vec<JobId>,
        merged: Result<MergedFiles, EditRefusal>,
    },
    /// The NZB of a job comes from its address, or will not.
    NzbCame {
        job: JobId,
        is_there: bool,
    },
    /// The directories of a job are open.
    Opened {
        job: JobId,
        number: u64,
        category: Option<Arc<str>>,
    },
    Post(bergamot_post::Event),
    /// The files of a job that is being loaded were read.
    ReadBack {
        job: JobId,
        number: u64,
        loaded: machine::Loaded,
    },
    /// A user thinks better of it.
    Retry(JobId),
    /// The first operation in the queue of the spool is done.
    SpoolDone,
    Split {
        job: JobId,
        new: Result<Box<Record>, EditRefusal>,
    },
    /// The free space of the volumes was read.
    SurveyDone(machine::SurveyRequest),
    // Of the world.
    Act,
    Calendar(i64),
    /// Users undo what keeps jobs from ending.
    Heal,
    OutageBegins(usize),
    ProcessEnds(End),
}

impl Planned {
    pub(crate) fn outlives_process(&self) -> bool {
        matches!(
            self,
            Self::Act
                | Self::Calendar(_)
                | Self::Heal
                | Self::OutageBegins(_)
                | Self::ProcessEnds(_)
        )
    }
}
