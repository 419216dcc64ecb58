//! [`Event`]: what [`Post`](crate::Post) is told. Pure.

use bergamot_queue::Permille;
use bergamot_types::{DiskTrouble, JobId};

use crate::order::Ticket;

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Event {
    /// Every file of the job is whole. `verified`: every byte passed a check.
    JobDownloaded { job: JobId, verified: bool },
    /// The job has ended or gives up its turn: nothing more is to be done with it.
    JobRemoved(JobId),
    /// So much of the task is done.
    Progress { ticket: Ticket, progress: Permille },
    /// The task is done, or failed.
    TaskEnded { ticket: Ticket, result: Result<(), DiskTrouble> },
    /// A deadline may have passed.
    Timeout,
}
