//! What the daemon knows of its jobs beside what the engine knows.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bergamot_store::Record;
use bergamot_types::{ByteCount, JobId};
use bergamot_writer::{JobDir, Root};

/// Jobs wait in the spool until their turn is near; only then are their articles read in.
#[derive(Debug, Default)]
pub(crate) struct Jobs {
    waiting: BTreeMap<(Reverse<i32>, JobId), Record>,
    loading: HashMap<JobId, i32>, // with their priorities
    active: HashMap<JobId, ActiveJob>,
}

#[derive(Debug)]
pub(crate) struct ActiveJob {
    pub(crate) record: Record,
    pub(crate) directory: Arc<JobDir>,
    pub(crate) destination: Arc<Root>,
    pub(crate) started: Instant,
    pub(crate) segments: usize,
    pub(crate) recording: Recording,
    pub(crate) losses_told: u32,
    pub(crate) paused: bool,
    pub(crate) farewell: Option<Farewell>,
}

/// What is said of a job that is complete.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Farewell {
    pub(crate) size: ByteCount,
    pub(crate) took: Duration,
    pub(crate) verified: bool,
}

/// Whether the record on disk is the one in memory.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) enum Recording {
    #[default]
    Current,
    /// Being written.
    Writing,
    /// Being written, and changed since: many changes in a row cost one more write.
    Stale,
}

impl Jobs {
    pub(crate) fn wait(&mut self, record: Record) {
        self.waiting.insert((Reverse(record.priority), record.id), record);
    }

    /// The next job to load, if there is not enough to do before its turn.
    pub(crate) fn next_to_load(&mut self) -> Option<Record> {
        let (Reverse(priority), _) = *self.waiting.first_key_value()?.0;
        let before = |other: i32| other >= priority;
        // Those that are paused give nobody anything to do, and still take their memory.
        if self.active.values().map(|job| job.segments).sum::<usize>() >= MOST_SEGMENTS {
            return None;
        }
        let busy = self.active.values().filter(|job| !job.paused);
        let active = busy.filter(|job| before(job.record.priority));
        let segments: usize = active.clone().map(|job| job.segments).sum();
        let loading = self.loading.values().filter(|&&other| before(other)).count();
        if segments >= ENOUGH_SEGMENTS || active.count() + loading >= ENOUGH_JOBS {
            return None;
        }
        let (_, record) = self.waiting.pop_first()?;
        self.loading.insert(record.id, record.priority);
        Some(record)
    }

    pub(crate) fn loaded(&mut self, job: JobId) {
        self.loading.remove(&job);
    }

    pub(crate) fn start(&mut self, job: ActiveJob) {
        self.active.insert(job.record.id, job);
    }

    pub(crate) fn get(&self, job: JobId) -> Option<&ActiveJob> {
        self.active.get(&job)
    }

    pub(crate) fn get_mut(&mut self, job: JobId) -> Option<&mut ActiveJob> {
        self.active.get_mut(&job)
    }

    pub(crate) fn remove(&mut self, job: JobId) -> Option<ActiveJob> {
        self.active.remove(&job)
    }

    pub(crate) fn active(&self) -> impl Iterator<Item = &ActiveJob> {
        self.active.values()
    }

    pub(crate) fn waiting_count(&self) -> usize {
        self.waiting.len() + self.loading.len()
    }
}

/// Two of the largest posts people make; memory for more would be memory wasted.
const ENOUGH_SEGMENTS: usize = 100_000;

/// With jobs that are paused among them.
const MOST_SEGMENTS: usize = 4 * ENOUGH_SEGMENTS;

/// Small jobs end quickly: enough of them must be at hand to keep every connection busy.
const ENOUGH_JOBS: usize = 64;
