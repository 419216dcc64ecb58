//! [`Retractions`]: disk orders that wait until the journal no longer claims what they are about to change.
//! Owned by the main loop.
//!
//! When written articles turn out to be wrong, or a file is begun anew, the journal has to say so on disk
//! before the bytes change: after a crash it would list articles that are not there. The main loop does
//! not wait for the journal thread; it holds the disk orders of that job back instead. They are bounded by
//! the memory budget of the engine, as all writes are.

use std::collections::HashMap;
use std::sync::Arc;

use bergamot_net::Buffer;
use bergamot_types::JobId;
use bergamot_writer::{JobDir, Task};

use crate::download::disk_work::DiskTask;

#[derive(Debug)]
pub(crate) struct HeldOrder {
    pub(crate) directory: Arc<JobDir>,
    pub(crate) what: DiskTask,
    pub(crate) task: Task<Buffer>,
}

#[derive(Debug, Default)]
pub(crate) struct Retractions {
    last: u64,
    /// The last retraction of each job that is not on disk yet, and the orders behind it.
    open: HashMap<JobId, (u64, Vec<HeldOrder>)>,
}

impl Retractions {
    /// Begins another retraction for the job; returns its number.
    pub(crate) fn begin(&mut self, job: JobId) -> u64 {
        self.last += 1;
        self.open.entry(job).or_default().0 = self.last;
        self.last
    }

    /// Holds an order back if the job has an open retraction; returns it otherwise.
    pub(crate) fn hold(&mut self, job: JobId, order: HeldOrder) -> Option<HeldOrder> {
        match self.open.get_mut(&job) {
            Some((_, held)) => {
                held.push(order);
                None
            }
            None => Some(order),
        }
    }

    /// A retraction is on disk, or the journal was given up. Returns the orders that may go on, in their
    /// order: none as long as a later retraction of the job is open.
    pub(crate) fn end(&mut self, job: JobId, number: u64) -> Vec<HeldOrder> {
        match self.open.get(&job) {
            Some((last, _)) if *last == number => {
                self.open.remove(&job).map(|(_, held)| held).unwrap_or_default()
            }
            _ => Vec::new(),
        }
    }
}
