//! [`Move`]: a move of a job's directory to its destination, queued for or running on the writer's threads.
//! Owned by [`DiskWork`](crate::download::disk_work::DiskWork), in the main loop, until the writer reports its end.

use std::sync::Arc;

use bergamot_jobs::Check;
use bergamot_post::Ticket;
use bergamot_types::JobId;
use bergamot_writer::Root;

#[derive(Debug)]
pub(crate) struct Move {
    pub(crate) ticket: Ticket,
    pub(crate) job: JobId,
    pub(crate) check: Check,
    pub(crate) destination: Arc<Root>,
}
