//! [`OpenJob`]: the open directories of a job whose articles are in the engine, and what the driver
//! notes about it. Owned by the main loop.

use std::sync::Arc;
use std::time::Duration;

use bergamot_jobs::Check;
use bergamot_store::Journal;
use bergamot_types::ByteCount;
use bergamot_writer::{JobDir, Root};

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
