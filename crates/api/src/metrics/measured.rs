//! [`Measured`]: the values behind `/metrics`, all taken at one moment in the daemon's loop.

use crate::metrics::past::PastSums;
use crate::view::{JobState, Quota, Server, Status};

#[derive(Clone, Debug)]
pub struct Measured {
    pub status: Status,
    pub servers: Vec<Server>,
    pub quotas: Vec<Quota>,
    pub queue: QueueSums,
    pub past: PastSums,
    pub arrivals: Arrivals,
    /// Since the start.
    pub ended: Vec<EndedJobs>,
    pub process: Process,
}

/// Jobs in the queue, and their bytes.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct QueueSums {
    pub downloading: u64,
    pub fetching: u64,
    pub paused: u64,
    pub post: u64,
    pub queued: u64,
    pub bytes: u64,
}

impl QueueSums {
    pub fn add(&mut self, state: JobState, is_paused: bool, bytes: u64) {
        let count = match state {
            JobState::Fetching => &mut self.fetching,
            JobState::Post(_) => &mut self.post,
            _ if is_paused => &mut self.paused,
            JobState::Downloading => &mut self.downloading,
            _ => &mut self.queued,
        };
        *count += 1;
        self.bytes += bytes;
    }
}

/// NZBs that came by any way, since the start.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Arrivals {
    pub added: u64,
    /// Unusable or a duplicate.
    pub refused: u64,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub struct EndedJobs {
    /// One that is configured, or `other`; empty is none.
    pub category: String,
    /// `completed`, `failed` or `deleted`.
    pub result: &'static str,
    pub count: u64,
}

impl EndedJobs {
    /// The word for how a job ended, if it did.
    pub fn result_of(state: JobState) -> Option<&'static str> {
        match state {
            JobState::Completed { .. } => Some("completed"),
            JobState::Failed(_) => Some("failed"),
            JobState::Deleted(_) => Some("deleted"),
            _ => None,
        }
    }
}

/// What the kernel reports about this process.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Process {
    pub cpu_seconds: f64,
    pub open_files: u64,
    pub resident_bytes: u64,
    pub threads: u64,
    pub virtual_bytes: u64,
}
