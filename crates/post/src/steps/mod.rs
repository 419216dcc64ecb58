//! [`Step`]: one step after a download, and the list of all of them in their order. Pure.
//!
//! A step is a small machine of its own: it names its first task, and after each task what follows.
//! [`Post`](crate::Post) numbers the tasks, keeps the time and reports.

mod move_job;

use std::fmt;
use std::time::Duration;

use bergamot_queue::{Cause, Stage};
use bergamot_types::DiskTrouble;

/// What a step wants done. A variant has one driver in the daemon.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Task {
    /// Move the job's directory to its destination. `verified`: every byte passed a check.
    Move { verified: bool },
    /// Write all that was noted of the job to its journal.
    WriteJournal,
}

impl Task {
    /// It goes on when its job is removed, and still holds the job's directory.
    pub(crate) fn outlives_job(self) -> bool {
        matches!(self, Self::Move { .. })
    }
}

/// What is known of a job when its download ends.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Download {
    pub(crate) verified: bool,
}

/// What follows a task.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Next {
    /// The step begins again after this time.
    Again(Duration),
    /// The step is done.
    Done,
    /// So is the job, which fails.
    Failed(Cause),
    Start(Task),
}

/// One step of one job.
pub(crate) trait Step: fmt::Debug + Send {
    /// What users see while it lasts.
    fn stage(&self) -> Stage;

    /// Its first task: at its start, and again after [`Next::Again`].
    fn begin(&mut self) -> Task;

    /// After each task.
    fn on_task_ended(&mut self, result: Result<(), DiskTrouble>) -> Next;
}

/// Makes a step for a job, or none if there is nothing to do.
type NewStep = fn(Download) -> Option<Box<dyn Step>>;

/// All steps, in the order of [`Stage`].
pub(crate) const STEPS: [NewStep; 1] = [move_job::new];
