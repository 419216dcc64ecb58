//! [`Move`]: a move of a job's directory to its destination that the writer was told to do. Kept in
//! [`DiskWork`](crate::download::disk_work::DiskWork) until the writer has done it.

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
