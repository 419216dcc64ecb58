//! [`OpenJob`]: the open directories of a job whose articles are in the engine, and what the driver
//! notes about it. Owned by the main loop.

use std::sync::Arc;
use std::time::Duration;

use bergamot_jobs::{Check, Record};
use bergamot_store::Journal;
use bergamot_types::{ByteCount, Shown};
use bergamot_writer::{JobDir, Root};
use tracing::info;

#[derive(Debug)]
pub(crate) struct OpenJob {
    pub(crate) directory: Arc<JobDir>,
    pub(crate) destination: Arc<Root>,
    /// Lost articles that were logged.
    pub(crate) losses_logged: u32,
    /// So far every finished file was read back from the disk.
    pub(crate) is_read_back: bool,
    pub(crate) summary: Option<Summary>,
}

/// What was loaded for a job, until it is known whether it is used.
#[derive(Debug)]
pub(crate) struct LoadedFiles {
    pub(crate) directory: Arc<JobDir>,
    pub(crate) destination: Arc<Root>,
    pub(crate) is_read_back: bool,
    pub(crate) journal: Journal,
}

/// What is logged of a job that is complete.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Summary {
    pub(crate) size: ByteCount,
    pub(crate) took: Duration,
    pub(crate) check: Check,
}

impl Summary {
    /// The job is in its destination and recorded: other programs may import it.
    pub(crate) fn log(self, record: &Record) {
        let path = record.destination().unwrap_or_default();
        info!(
            job = %record.id, name = %Shown(&record.name), size = %self.size,
            seconds = format!("{:.1}", self.took.as_secs_f64()),
            verified = self.check.is_verified(), check = self.check.word(),
            path = %Shown(path), "complete"
        );
    }
}
