//! What the daemon knows of its jobs beside what the engine knows.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bergamot_queue::{Cause, JobState, Step};
use bergamot_store::{Check, Record};
use bergamot_types::{ByteCount, JobId};
use bergamot_writer::{JobDir, Root};

use super::feeds::ITEM;
use super::ranks::{self, Place};

/// All records: those of the queue in its order, and history, the newest first.
///
/// Jobs wait in the spool until their turn is near; only then are their articles read in. A job
/// leaves the queue for history when that is on disk, so it is never in neither.
#[derive(Debug, Default)]
pub(crate) struct Jobs {
    records: HashMap<JobId, Box<Record>>, // boxed, for a map has room for more than there are
    queue: BTreeSet<Place>,
    waiting: BTreeSet<Place>, // of these, whose articles are not read in, and could be
    loading: HashMap<JobId, i32>, // with their priorities
    active: HashMap<JobId, ActiveJob>,
    resting: BTreeMap<JobId, Rest>,
    held: BTreeMap<JobId, Held>,
    apart: HashSet<JobId>, // not to be loaded until somebody says otherwise
    history: BTreeMap<Reverse<u64>, JobId>,
    past_changes: u64,               // in what ended, as far as anybody could tell
    items: HashMap<Box<str>, JobId>, // of feeds, by their keys
}

/// A job whose articles are in the engine.
#[derive(Debug)]
pub(crate) struct ActiveJob {
    pub(crate) directory: Arc<JobDir>,
    pub(crate) destination: Arc<Root>,
    pub(crate) started: Instant,
    pub(crate) segments: usize,
    pub(crate) losses_told: u32,
    /// So far every finished file was read back from the disk.
    pub(crate) is_read_back: bool,
    /// All its files are finished; it is moved when its journal says so.
    pub(crate) to_be_moved: Option<Check>,
    pub(crate) farewell: Option<Farewell>,
}

/// A job that is tried later.
#[derive(Debug)]
struct Rest {
    until: Instant,
    /// None where its articles may not be everywhere yet.
    why: Option<String>,
    /// What failed it.
    cause: Option<Cause>,
}

/// A job that the disk has no room for.
#[derive(Debug)]
struct Held {
    why: String,
    /// Until somebody has looked at the disk again.
    is_out: bool,
}

/// What is said of a job that is complete.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Farewell {
    pub(crate) size: ByteCount,
    pub(crate) took: Duration,
    pub(crate) check: Check,
}

impl Jobs {
    /// A record out of the spool, or a new one.
    pub(crate) fn insert(&mut self, mut record: Box<Record>) {
        let id = record.id;
        // Whatever it was in the middle of ended with the daemon that did it.
        record.life = record.life.next(Step::PutBack).unwrap_or(record.life);
        match &record.outcome {
            Some(outcome) => drop(self.history.insert(Reverse(outcome.sequence), id)),
            None => {
                self.queue.insert(Place::of(&record));
            }
        }
        if let Some(item) = record.parameters.get(ITEM) {
            self.items.insert(item.into(), id);
        }
        self.records.insert(id, record);
        self.past_changes += 1;
        self.consider(id);
    }

    /// The job that was made of an item of a feed.
    pub(crate) fn of_item(&self, key: &str) -> Option<JobId> {
        self.items.get(key).copied()
    }

    pub(crate) fn record(&self, job: JobId) -> Option<&Record> {
        self.records.get(&job).map(|record| &**record)
    }

    /// For all but its place in the queue, its pause and its end.
    pub(crate) fn record_mut(&mut self, job: JobId) -> Option<&mut Record> {
        let record = self.records.get_mut(&job)?;
        self.past_changes += u64::from(record.outcome.is_some());
        Some(record)
    }

    /// Goes on with its life.
    pub(crate) fn step(&mut self, job: JobId, step: Step) {
        let Some(record) = self.records.get_mut(&job) else { return };
        match record.life.next(step) {
            Ok(life) => record.life = life,
            Err(impossible) => tracing::error!(%job, "{impossible}"),
        }
    }

    pub(crate) fn is_queued(&self, job: JobId) -> bool {
        self.records.get(&job).is_some_and(|record| self.queue.contains(&Place::of(record)))
    }

    /// In the order in which they are downloaded.
    pub(crate) fn queued(&self) -> impl DoubleEndedIterator<Item = &Record> {
        self.queue.iter().filter_map(|place| self.record(place.job))
    }

    /// The names of all directories that jobs have, or had.
    pub(crate) fn directories(&self) -> HashSet<Box<str>> {
        self.records.values().filter_map(|record| record.directory.clone()).collect()
    }

    /// Those that have, or had, a directory of this name.
    pub(crate) fn with_directory(&self, name: Option<&str>) -> Vec<JobId> {
        // There may be a hundred thousand, so they are taken as they lie; few have any.
        let named = self.records.values().filter(|record| record.directory.is_some());
        let same = named.filter(|record| record.directory.as_deref() == name);
        same.map(|record| record.id).collect()
    }

    /// The last rank of all.
    pub(crate) fn bottom(&self) -> i64 {
        ranks::bottom(&self.queue)
    }

    pub(crate) fn queued_count(&self) -> usize {
        self.queue.len()
    }

    /// As long as this is the same, so is all that ended.
    pub(crate) fn past_changes(&self) -> u64 {
        self.past_changes
    }

    /// The newest first.
    pub(crate) fn past(&self) -> impl Iterator<Item = &Record> {
        self.history.values().filter_map(|job| self.record(*job))
    }

    /// Changes where it stands; the others that had to make room come along.
    pub(crate) fn place(&mut self, job: JobId, priority: i32, to: ranks::To) -> Vec<JobId> {
        let Some(record) = self.records.get(&job) else { return Vec::new() };
        let old = Place::of(record);
        if !self.queue.remove(&old) {
            return Vec::new();
        }
        let was_waiting = self.waiting.remove(&old);
        let changes = ranks::find(&self.queue, Place { priority: Reverse(priority), ..old }, to);
        for place in &changes {
            self.move_to(*place);
        }
        if was_waiting {
            self.consider(job);
        }
        changes.iter().map(|place| place.job).collect()
    }

    /// Among those of its priority; whether that is news.
    pub(crate) fn set_rank(&mut self, job: JobId, rank: i64) -> bool {
        let Some(record) = self.records.get(&job).filter(|record| record.rank != rank) else {
            return false;
        };
        let place = Place { rank, ..Place::of(record) };
        self.move_to(place);
        true
    }

    /// Gives it that place, whether it had one or not.
    fn move_to(&mut self, place: Place) {
        let Some(record) = self.records.get_mut(&place.job) else { return };
        let old = Place::of(record);
        self.queue.remove(&old);
        let was_waiting = self.waiting.remove(&old);
        (record.priority, record.rank) = (place.priority.0, place.rank);
        self.queue.insert(place);
        if was_waiting {
            self.waiting.insert(place);
        }
    }

    pub(crate) fn set_paused(&mut self, job: JobId, paused: bool) {
        let Some(record) = self.records.get_mut(&job) else { return };
        record.paused = paused;
        self.waiting.remove(&Place::of(record));
        self.consider(job);
    }

    /// Its end is on disk: from here on it is history.
    pub(crate) fn retire(&mut self, job: JobId) -> Option<ActiveJob> {
        let record = self.records.get(&job)?;
        let place = Place::of(record);
        self.queue.remove(&place);
        self.waiting.remove(&place);
        self.loading.remove(&job);
        self.resting.remove(&job);
        self.held.remove(&job);
        self.apart.remove(&job);
        if let Some(outcome) = &record.outcome {
            self.history.insert(Reverse(outcome.sequence), job);
        }
        self.past_changes += 1;
        self.active.remove(&job)
    }

    /// Out of history and back into the queue.
    pub(crate) fn revive(&mut self, job: JobId) {
        let Some(record) = self.records.get_mut(&job) else { return };
        self.past_changes += 1;
        if let Some(outcome) = record.outcome.take() {
            self.history.remove(&Reverse(outcome.sequence));
        }
        self.queue.insert(Place::of(record));
        let step = if record.lacks_nzb() { Step::Fetch } else { Step::Retry };
        self.step(job, step);
        self.consider(job);
    }

    /// Without a trace.
    pub(crate) fn forget(&mut self, job: JobId) -> Option<ActiveJob> {
        let active = self.retire(job);
        let Some(record) = self.records.remove(&job) else { return active };
        if let Some(outcome) = record.outcome {
            self.history.remove(&Reverse(outcome.sequence));
        }
        if let Some(item) = record.parameters.get(ITEM) {
            self.items.remove(item);
        }
        active
    }

    /// The next job to load, if there is not enough to do before its turn.
    pub(crate) fn next_to_load(&self) -> Option<JobId> {
        let place = self.waiting.first()?;
        let before = |other: i32| other >= place.priority.0;
        let busy = self.active.iter().filter_map(|(id, job)| Some((self.records.get(id)?, job)));
        let busy = busy.filter(|(record, _)| !record.paused && before(record.priority));
        // Those that are paused give nobody anything to do, and still take their memory.
        let all: usize = self.active.values().map(|job| job.segments).sum();
        if all >= MOST_SEGMENTS && busy.clone().next().is_some() {
            return None;
        }
        let segments: usize = busy.clone().map(|(_, job)| job.segments).sum();
        let loading = self.loading.values().filter(|&&other| before(other)).count();
        if segments >= ENOUGH_SEGMENTS || busy.count() + loading >= ENOUGH_JOBS {
            return None;
        }
        Some(place.job)
    }

    pub(crate) fn take_to_load(&mut self, job: JobId) -> Option<Record> {
        let record = self.records.get(&job)?.clone();
        self.waiting.remove(&Place::of(&record));
        self.loading.insert(job, record.priority);
        Some(*record)
    }

    /// It waits for room, for this reason; whether it did not yet.
    pub(crate) fn hold(&mut self, job: JobId, why: String) -> bool {
        let Some(record) = self.records.get(&job).filter(|record| record.outcome.is_none()) else {
            return false;
        };
        self.waiting.remove(&Place::of(record));
        self.held.insert(job, Held { why, is_out: true }).is_none()
    }

    /// The disk was looked at again: each may be tried.
    pub(crate) fn release_held(&mut self) {
        let jobs: Vec<_> = self.held.keys().copied().collect();
        for job in jobs {
            if let Some(held) = self.held.get_mut(&job) {
                held.is_out = false;
            }
            self.consider(job);
        }
    }

    /// Why it waits for the disk.
    pub(crate) fn held_for(&self, job: JobId) -> Option<&str> {
        self.held.get(&job).map(|held| held.why.as_str())
    }

    pub(crate) fn held_count(&self) -> usize {
        self.held.len()
    }

    /// How many were found not to fit since the disk was looked at.
    pub(crate) fn passed_over(&self) -> usize {
        self.held.values().filter(|held| held.is_out).count()
    }

    /// It gives up its turn without another.
    pub(crate) fn stop(&mut self, job: JobId) {
        self.active.remove(&job);
    }

    /// It gives up its turn, be it on its way in, and has none until it is let back.
    pub(crate) fn set_apart(&mut self, job: JobId) {
        let Some(record) = self.records.get(&job) else { return };
        self.waiting.remove(&Place::of(record));
        // Where it is being loaded it stays so, lest it is loaded a second time beside that.
        self.active.remove(&job);
        self.apart.insert(job);
    }

    pub(crate) fn let_back(&mut self, job: JobId) {
        if self.apart.remove(&job) {
            self.consider(job);
        }
    }

    /// The rank of one that comes right behind that job; the same as that of the job, where there is no
    /// room between it and the next.
    pub(crate) fn rank_behind(&self, job: JobId) -> Option<i64> {
        let place = Place::of(self.records.get(&job)?);
        let new = Place { job: JobId(u32::MAX), ..place };
        match ranks::find(&self.queue, new, ranks::To::After(job))[..] {
            [new] => Some(new.rank),
            _ => Some(place.rank),
        }
    }

    pub(crate) fn active_jobs(&self) -> impl Iterator<Item = JobId> {
        self.active.keys().copied()
    }

    /// Those whose articles are in the engine, in their order.
    pub(crate) fn active_records(&self) -> Vec<&Record> {
        let mut active: Vec<_> = self.active.keys().filter_map(|id| self.record(*id)).collect();
        active.sort_by_key(|record| Place::of(record));
        active
    }

    /// Those that may be begun, or wait for room, in their order.
    pub(crate) fn waiting_records(&self) -> impl Iterator<Item = &Record> {
        let held = self.held.keys().filter_map(|job| self.record(*job));
        self.waiting.iter().filter_map(|place| self.record(place.job)).chain(held)
    }

    /// Whether it is still wanted. One that is deleted stays in the queue until that is on disk.
    pub(crate) fn loaded(&mut self, job: JobId) -> bool {
        let is_queued = |record: &Record| record.outcome.is_none();
        let is_expected = self.loading.remove(&job).is_some() && !self.apart.contains(&job);
        is_expected && self.record(job).is_some_and(is_queued)
    }

    pub(crate) fn is_loading(&self, job: JobId) -> bool {
        self.loading.contains_key(&job)
    }

    /// It is downloaded again, but not before then.
    pub(crate) fn put_back(&mut self, job: JobId, until: Instant, cause: Cause, why: &str) {
        self.active.remove(&job);
        let (why, cause) = (Some(why.to_owned()), Some(cause));
        self.resting.insert(job, Rest { until, why, cause });
    }

    /// The jobs that are tried later because this failed them.
    pub(crate) fn resting_for(&self, cause: Cause) -> Vec<JobId> {
        let rests = self.resting.iter().filter(|(_, rest)| rest.cause == Some(cause));
        rests.map(|(job, _)| *job).collect()
    }

    /// It is not loaded before then.
    pub(crate) fn rest(&mut self, job: JobId, until: Instant) {
        if let Some(record) = self.records.get(&job) {
            self.waiting.remove(&Place::of(record));
            self.resting.insert(job, Rest { until, why: None, cause: None });
        }
    }

    pub(crate) fn rests_until(&self, job: JobId) -> Option<Instant> {
        self.resting.get(&job).map(|rest| rest.until)
    }

    /// Why it rests, where that is not for its articles to spread.
    pub(crate) fn rests_for(&self, job: JobId) -> Option<&str> {
        self.resting.get(&job)?.why.as_deref()
    }

    /// It may be loaded again.
    pub(crate) fn end_rest(&mut self, job: JobId) {
        if self.resting.remove(&job).is_some() {
            self.consider(job);
        }
    }

    /// It could not be loaded, or somebody paused it meanwhile.
    pub(crate) fn wait_again(&mut self, job: JobId) {
        self.consider(job);
    }

    pub(crate) fn start(&mut self, id: JobId, job: ActiveJob) {
        self.held.remove(&id);
        self.active.insert(id, job);
    }

    pub(crate) fn get(&self, job: JobId) -> Option<&ActiveJob> {
        self.active.get(&job)
    }

    pub(crate) fn get_mut(&mut self, job: JobId) -> Option<&mut ActiveJob> {
        self.active.get_mut(&job)
    }

    pub(crate) fn waiting_count(&self) -> usize {
        self.queue.len() - self.active.len()
    }

    /// Puts it among those that may be loaded, if it may.
    fn consider(&mut self, job: JobId) {
        let Some(record) = self.records.get(&job) else { return };
        let is_elsewhere = self.active.contains_key(&job)
            || self.loading.contains_key(&job)
            || self.resting.contains_key(&job)
            || self.apart.contains(&job)
            || self.held.get(&job).is_some_and(|held| held.is_out);
        let is_waiting = record.outcome.is_none() && record.life != JobState::Fetching;
        if is_waiting && !record.paused && !is_elsewhere {
            self.waiting.insert(Place::of(record));
        }
    }
}

/// Two of the largest posts people make; memory for more would be memory wasted.
const ENOUGH_SEGMENTS: usize = 100_000;

/// With jobs that are paused among them.
const MOST_SEGMENTS: usize = 4 * ENOUGH_SEGMENTS;

/// Small jobs end quickly: enough of them must be at hand to keep every connection busy.
const ENOUGH_JOBS: usize = 64;

#[cfg(test)]
mod tests {
    use bergamot_store::Fingerprint;
    use bergamot_types::UnixTime;

    use super::*;

    fn one_that_is_loaded() -> (Jobs, JobId) {
        let (mut jobs, job) = (Jobs::default(), JobId(1));
        let record = Record::new(job, "a", UnixTime(0), "a.nzb", Fingerprint::default());
        jobs.insert(Box::new(record));
        assert!(jobs.take_to_load(job).is_some());
        jobs.set_apart(job);
        (jobs, job)
    }

    #[test]
    fn a_job_that_is_let_back_while_it_is_loaded_is_not_loaded_twice() {
        let (mut jobs, job) = one_that_is_loaded();
        jobs.let_back(job);
        assert_eq!(jobs.next_to_load(), None);
        assert!(jobs.loaded(job));
    }

    #[test]
    fn a_job_that_was_loaded_while_it_was_apart_is_loaded_anew() {
        let (mut jobs, job) = one_that_is_loaded();
        assert!(!jobs.loaded(job));
        jobs.let_back(job);
        assert_eq!(jobs.next_to_load(), Some(job));
    }
}
