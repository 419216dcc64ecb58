//! [`Order`]: what [`Post`](crate::Post) wants done. Pure.

use std::time::Duration;

use bergamot_queue::{Cause, Permille, Stage};
use bergamot_types::JobId;

use crate::steps::Task;

/// The number of a task. None is used twice.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Ticket(pub u64);

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Order {
    /// All steps are done, or one failed for good.
    JobProcessed { job: JobId, result: Result<(), Cause> },
    /// The step failed with an error that may pass; it is begun again after this time.
    Postponed { job: JobId, stage: Stage, again_in: Duration },
    /// The stage has begun, or has come so far.
    Stage { job: JobId, stage: Stage, progress: Permille },
    /// Carry this out.
    Start { ticket: Ticket, job: JobId, task: Task },
}
