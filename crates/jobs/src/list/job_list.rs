//! [`JobList`]: the records of all jobs, the state of each, and the indexes of both. Pure.
//!
//! A job of the queue waits in the spool until its turn is near; only then are its articles read in. It
//! leaves the queue for the history when the record of its end is on disk, so it is always in one of the
//! two.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

use bergamot_queue::{Cause, JobState, Step};
use bergamot_types::JobId;

use crate::list::queue_order::{self, Position, Target};
use crate::record::outcome::Outcome;
use crate::record::{ITEM, Record};

/// All jobs. [`State`] is the one place that says what a job is doing; `queue`, `loadable`, `history` and
/// `items` are indexes that every change of a record or a state keeps.
#[derive(Debug, Default)]
pub struct JobList {
    records: HashMap<JobId, Box<Record>>, // boxed: the spare room of the map would be large
    /// Of the jobs that do anything else than waiting or being history. There may be a hundred thousand
    /// of those.
    states: HashMap<JobId, State>,
    queue: BTreeSet<Position>,
    loadable: BTreeSet<Position>,
    history: BTreeMap<Reverse<u64>, JobId>,
    items: HashMap<Box<str>, JobId>, // of feeds, by their keys
    history_version: u64,
}

/// What a job is doing, beside what its record says (paused, fetching its NZB, ended).
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub enum State {
    /// In the queue and not read in; or in the history.
    #[default]
    Idle,
    /// The disk has no room for it.
    Held(Held),
    /// Not loaded before an instant.
    Resting(Box<Rest>),
    /// Becoming part of another job: not loaded until that has succeeded or failed.
    Merging,
    /// Its directories are being opened, or its NZB and journal are being read.
    Loading(Loading),
    /// Its articles are in the engine.
    Active(Active),
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Held {
    pub why: Box<str>,
    /// The volumes were surveyed since it did not fit, so it may be tried again.
    pub may_be_tried: bool,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Rest {
    pub until: Instant,
    /// None while the articles of a fresh post reach all servers.
    pub failure: Option<(Cause, String)>,
}

#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Loading {
    /// It was held before; views go on saying so until it starts.
    held: Option<Box<str>>,
    /// It began to become part of another job meanwhile: the result is of no use.
    is_merging: bool,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Active {
    pub started: Instant,
    pub segments: usize,
}

impl JobList {
    /// Adds a record out of the spool, or a new one.
    pub fn insert(&mut self, mut record: Box<Record>) {
        let id = record.id;
        // Whatever it was in the middle of ended with the process that did it.
        record.life = record.life.next(Step::PutBack).unwrap_or(record.life);
        match &record.outcome {
            Some(outcome) => drop(self.history.insert(Reverse(outcome.sequence), id)),
            None => {
                self.queue.insert(Position::of(&record));
            }
        }
        if let Some(item) = record.parameters.get(ITEM) {
            self.items.insert(item.into(), id);
        }
        self.records.insert(id, record);
        self.history_version += 1;
        self.index(id);
    }

    /// The job that was made of an item of a feed.
    pub fn of_item(&self, key: &str) -> Option<JobId> {
        self.items.get(key).copied()
    }

    pub fn record(&self, job: JobId) -> Option<&Record> {
        self.records.get(&job).map(|record| &**record)
    }

    /// For all but its position, its pause and its end.
    pub fn record_mut(&mut self, job: JobId) -> Option<&mut Record> {
        let record = self.records.get_mut(&job)?;
        self.history_version += u64::from(record.outcome.is_some());
        Some(record)
    }

    pub fn state(&self, job: JobId) -> &State {
        self.states.get(&job).unwrap_or(&State::Idle)
    }

    fn set_state(&mut self, job: JobId, state: State) {
        match state {
            State::Idle => drop(self.states.remove(&job)),
            state => drop(self.states.insert(job, state)),
        }
        self.index(job);
    }

    /// Goes on with its life.
    pub fn step(&mut self, job: JobId, step: Step) {
        let Some(record) = self.records.get_mut(&job) else { return };
        match record.life.next(step) {
            Ok(life) => record.life = life,
            Err(impossible) => tracing::error!(%job, "{impossible}"),
        }
    }

    pub fn is_queued(&self, job: JobId) -> bool {
        self.records.get(&job).is_some_and(|record| self.queue.contains(&Position::of(record)))
    }

    /// In the order in which they are downloaded.
    pub fn queued(&self) -> impl DoubleEndedIterator<Item = &Record> {
        self.queue.iter().filter_map(|position| self.record(position.job))
    }

    pub fn queued_count(&self) -> usize {
        self.queue.len()
    }

    /// Jobs that may be loaded, in their order.
    pub fn loadable(&self) -> impl Iterator<Item = &Record> {
        self.loadable.iter().filter_map(|position| self.record(position.job))
    }

    /// The newest first.
    pub fn history(&self) -> impl Iterator<Item = &Record> {
        self.history.values().filter_map(|job| self.record(*job))
    }

    /// As long as this is the same, so is the history.
    pub fn history_version(&self) -> u64 {
        self.history_version
    }

    /// The names of all directories that jobs have, or had.
    pub fn directories(&self) -> HashSet<Box<str>> {
        self.records.values().filter_map(|record| record.directory.clone()).collect()
    }

    /// The jobs that have, or had, a directory of this name.
    pub fn with_directory(&self, name: Option<&str>) -> Vec<JobId> {
        let named = self.records.values().filter(|record| record.directory.is_some());
        let same = named.filter(|record| record.directory.as_deref() == name);
        let mut jobs: Vec<_> = same.map(|record| record.id).collect();
        jobs.sort_unstable();
        jobs
    }

    /// A rank below all others, of any priority.
    pub fn bottom(&self) -> i64 {
        queue_order::bottom(&self.queue)
    }

    /// Moves a job; returns it with the others that had to make room.
    pub fn place(&mut self, job: JobId, priority: i32, target: Target) -> Vec<JobId> {
        let Some(record) = self.records.get(&job) else { return Vec::new() };
        let old = Position::of(record);
        if !self.queue.remove(&old) {
            return Vec::new();
        }
        self.loadable.remove(&old);
        let moved = Position { priority: Reverse(priority), ..old };
        let changes = queue_order::find(&self.queue, moved, target);
        for position in &changes {
            self.move_to(*position);
        }
        changes.iter().map(|position| position.job).collect()
    }

    /// Changes its rank among the jobs of its priority; returns whether it was another.
    pub fn set_rank(&mut self, job: JobId, rank: i64) -> bool {
        let Some(record) = self.records.get(&job).filter(|record| record.rank != rank) else {
            return false;
        };
        let position = Position { rank, ..Position::of(record) };
        self.move_to(position);
        true
    }

    fn move_to(&mut self, position: Position) {
        let Some(record) = self.records.get_mut(&position.job) else { return };
        let old = Position::of(record);
        self.queue.remove(&old);
        self.loadable.remove(&old);
        (record.priority, record.rank) = (position.priority.0, position.rank);
        self.queue.insert(position);
        self.index(position.job);
    }

    /// The rank of one that comes right behind that job; the job's own, where there is no gap.
    pub fn rank_behind(&self, job: JobId) -> Option<i64> {
        let position = Position::of(self.records.get(&job)?);
        let new = Position { job: JobId(u32::MAX), ..position };
        match queue_order::find(&self.queue, new, Target::After(job))[..] {
            [new] => Some(new.rank),
            _ => Some(position.rank),
        }
    }

    pub fn set_paused(&mut self, job: JobId, paused: bool) {
        let Some(record) = self.records.get_mut(&job) else { return };
        record.paused = paused;
        self.index(job);
    }

    /// It has ended, and is not loaded any more. It stays in the queue until that is on disk.
    pub fn end(&mut self, job: JobId, outcome: Outcome) {
        let Some(record) = self.records.get_mut(&job) else { return };
        record.end(outcome);
        self.index(job);
    }

    /// The record of its end is on disk: it goes to the history.
    pub fn retire(&mut self, job: JobId) {
        let Some(record) = self.records.get(&job) else { return };
        let position = Position::of(record);
        self.queue.remove(&position);
        self.loadable.remove(&position);
        self.states.remove(&job);
        if let Some(outcome) = &record.outcome {
            self.history.insert(Reverse(outcome.sequence), job);
        }
        self.history_version += 1;
    }

    /// Out of the history and back into the queue.
    pub fn revive(&mut self, job: JobId) {
        let Some(record) = self.records.get_mut(&job) else { return };
        self.history_version += 1;
        if let Some(outcome) = record.outcome.take() {
            self.history.remove(&Reverse(outcome.sequence));
        }
        self.queue.insert(Position::of(record));
        let step = if record.lacks_nzb() { Step::Fetch } else { Step::Retry };
        self.step(job, step);
        self.index(job);
    }

    /// Removes it from the queue or the history, with its record.
    pub fn forget(&mut self, job: JobId) {
        self.retire(job);
        let Some(record) = self.records.remove(&job) else { return };
        if let Some(outcome) = record.outcome {
            self.history.remove(&Reverse(outcome.sequence));
        }
        if let Some(item) = record.parameters.get(ITEM) {
            self.items.remove(item);
        }
    }

    /// It begins to be loaded; returns its category as it is now.
    pub fn begin_to_load(&mut self, job: JobId) -> Option<Option<Arc<str>>> {
        let category = self.records.get(&job)?.category.clone();
        let held = match self.states.remove(&job) {
            Some(State::Held(held)) => Some(held.why),
            Some(State::Loading(loading)) => loading.held,
            _ => None,
        };
        self.set_state(job, State::Loading(Loading { held, is_merging: false }));
        Some(category)
    }

    /// Loading it has ended, or is of no use any more. Returns whether the result is wanted: a job that is
    /// deleted stays in the queue until that is on disk.
    pub fn end_loading(&mut self, job: JobId) -> bool {
        let Some(State::Loading(loading)) = self.states.get(&job) else { return false };
        let Loading { held, is_merging } = loading.clone();
        let state = match held {
            _ if is_merging => State::Merging,
            Some(why) => State::Held(Held { why, may_be_tried: true }),
            None => State::Idle,
        };
        self.set_state(job, state);
        !is_merging && self.record(job).is_some_and(|record| record.outcome.is_none())
    }

    pub fn is_loading(&self, job: JobId) -> bool {
        matches!(self.state(job), State::Loading(_))
    }

    /// Jobs that are being loaded.
    pub fn loading(&self) -> impl Iterator<Item = &Record> {
        let loading = self.states.iter().filter(|(_, state)| matches!(state, State::Loading(_)));
        loading.filter_map(|(job, _)| self.record(*job))
    }

    /// It waits for room on the disk; returns whether it did not yet.
    pub fn hold(&mut self, job: JobId, why: &str) -> bool {
        if self.record(job).is_none_or(|record| record.outcome.is_some()) {
            return false;
        }
        let is_new = self.held_for(job).is_none();
        self.set_state(job, State::Held(Held { why: why.into(), may_be_tried: false }));
        is_new
    }

    /// The volumes were surveyed: each job that is held may be tried again.
    pub fn release_held(&mut self) {
        let held = self.states.iter().filter(|(_, state)| matches!(state, State::Held(_)));
        let jobs: Vec<_> = held.map(|(job, _)| *job).collect();
        for job in jobs {
            if let Some(State::Held(held)) = self.states.get_mut(&job) {
                held.may_be_tried = true;
            }
            self.index(job);
        }
    }

    /// Why it waits for the disk.
    pub fn held_for(&self, job: JobId) -> Option<&str> {
        match self.state(job) {
            State::Held(held) => Some(&held.why),
            State::Loading(loading) => loading.held.as_deref(),
            _ => None,
        }
    }

    pub fn held_count(&self) -> usize {
        self.states.keys().filter(|job| self.held_for(**job).is_some()).count()
    }

    /// How many were found not to fit since the last survey.
    pub fn passed_over(&self) -> usize {
        let is_out = |state: &&State| matches!(state, State::Held(held) if !held.may_be_tried);
        self.states.values().filter(is_out).count()
    }

    /// Jobs that may be loaded, or wait for room, in their order.
    pub fn waiting(&self) -> impl Iterator<Item = &Record> {
        let is_out = |position: &&Position| matches!(self.state(position.job), State::Held(held) if !held.may_be_tried);
        let held = self.states.keys().filter_map(|job| self.record(*job)).map(Position::of);
        let held: BTreeSet<_> = held.collect();
        let held: Vec<_> = held.iter().filter(is_out).map(|position| position.job).collect();
        self.loadable().chain(held.into_iter().filter_map(|job| self.record(job)))
    }

    /// It is not to be loaded; where it is being loaded, the result is of no use.
    pub fn begin_merging(&mut self, job: JobId) {
        let state = match self.states.remove(&job) {
            Some(State::Loading(loading)) => {
                State::Loading(Loading { is_merging: true, ..loading })
            }
            _ => State::Merging,
        };
        self.set_state(job, state);
    }

    /// It stays a job of its own after all.
    pub fn end_merging(&mut self, job: JobId) {
        match self.states.get_mut(&job) {
            Some(State::Merging) => self.set_state(job, State::Idle),
            Some(State::Loading(loading)) => loading.is_merging = false,
            _ => {}
        }
    }

    /// Its articles are in the engine.
    pub fn start(&mut self, job: JobId, active: Active) {
        self.set_state(job, State::Active(active));
    }

    /// It leaves the engine and waits again.
    pub fn stop(&mut self, job: JobId) {
        if let State::Active(_) = self.state(job) {
            self.set_state(job, State::Idle);
        }
    }

    pub fn active(&self, job: JobId) -> Option<&Active> {
        match self.state(job) {
            State::Active(active) => Some(active),
            _ => None,
        }
    }

    pub fn add_segments(&mut self, job: JobId, count: usize) {
        if let Some(State::Active(active)) = self.states.get_mut(&job) {
            active.segments += count;
        }
    }

    pub fn active_jobs(&self) -> impl Iterator<Item = (JobId, &Active)> {
        self.states.iter().filter_map(|(job, state)| match state {
            State::Active(active) => Some((*job, active)),
            _ => None,
        })
    }

    /// In the order of the queue.
    pub fn active_records(&self) -> Vec<&Record> {
        let mut active: Vec<_> = self.active_jobs().filter_map(|(id, _)| self.record(id)).collect();
        active.sort_by_key(|record| Position::of(record));
        active
    }

    /// It is not loaded before an instant. One that is loading or active leaves that.
    pub fn rest(&mut self, job: JobId, rest: Rest) {
        if self.records.contains_key(&job) {
            self.set_state(job, State::Resting(Box::new(rest)));
        }
    }

    pub fn resting(&self, job: JobId) -> Option<&Rest> {
        match self.state(job) {
            State::Resting(rest) => Some(rest),
            _ => None,
        }
    }

    /// The jobs that rest because this failed them.
    pub fn resting_for(&self, cause: Cause) -> Vec<JobId> {
        let is_for = |rest: &Rest| rest.failure.as_ref().is_some_and(|(other, _)| *other == cause);
        let states = self.states.iter();
        let resting = states.filter(|(_, state)| matches!(state, State::Resting(it) if is_for(it)));
        let mut jobs: Vec<_> = resting.map(|(job, _)| *job).collect();
        jobs.sort_unstable();
        jobs
    }

    /// It may be loaded again.
    pub fn end_rest(&mut self, job: JobId) {
        if let State::Resting(_) = self.state(job) {
            self.set_state(job, State::Idle);
        }
    }

    /// Its NZB has come: it is loaded when its turn comes.
    pub fn nzb_came(&mut self, job: JobId) {
        self.index(job);
    }

    /// Puts it into `loadable` if it may be loaded, and takes it out if not.
    fn index(&mut self, job: JobId) {
        let Some(record) = self.records.get(&job) else { return };
        let may_be_tried = match self.state(job) {
            State::Idle => true,
            State::Held(held) => held.may_be_tried,
            State::Resting(_) | State::Merging | State::Loading(_) | State::Active(_) => false,
        };
        let waits = record.outcome.is_none() && record.life != JobState::Fetching && !record.paused;
        let position = Position::of(record);
        match waits && may_be_tried {
            true => self.loadable.insert(position),
            false => self.loadable.remove(&position),
        };
    }

    /// Panics where an index and what it is an index of differ; for tests and the simulator.
    pub fn check(&self) {
        for (job, record) in &self.records {
            let position = Position::of(record);
            let is_queued = self.queue.contains(&position);
            let is_past = self.history.values().any(|past| past == job);
            assert!(is_queued != is_past, "{job}: queued {is_queued}, history {is_past}");
            assert!(is_queued || record.outcome.is_some(), "{job}: history without an outcome");
            assert!(is_queued || *self.state(*job) == State::Idle, "{job}: history and busy");
            let mut once = self.queue.iter().filter(|other| other.job == *job);
            assert!(once.next().is_none_or(|_| once.next().is_none()), "{job}: queued twice");
        }
        assert!(self.queue.iter().all(|it| self.records.contains_key(&it.job)), "queue");
        assert!(self.states.keys().all(|job| self.records.contains_key(job)), "states");
        for position in &self.loadable {
            let record = self.record(position.job).expect("a job that may be loaded has a record");
            assert_eq!(*position, Position::of(record), "an old position");
            assert!(self.queue.contains(position) && !record.paused && record.outcome.is_none());
        }
    }
}

#[cfg(test)]
mod tests {
    use bergamot_queue::{Deletion, Ending};
    use bergamot_types::UnixTime;

    use super::*;
    use crate::record::fingerprint::Fingerprint;

    fn one_that_is_loaded() -> (JobList, JobId) {
        let (mut jobs, job) = (JobList::default(), JobId(1));
        let record = Record::new(job, "a", UnixTime(0), "a.nzb", Fingerprint::default());
        jobs.insert(Box::new(record));
        assert!(jobs.begin_to_load(job).is_some());
        jobs.begin_merging(job);
        (jobs, job)
    }

    #[test]
    fn a_job_whose_merge_fails_while_it_is_loaded_is_not_loaded_twice() {
        let (mut jobs, job) = one_that_is_loaded();
        jobs.end_merging(job);
        assert!(jobs.loadable().next().is_none());
        assert!(jobs.end_loading(job));
        jobs.check();
    }

    #[test]
    fn a_job_that_was_loaded_during_a_merge_is_loaded_anew() {
        let (mut jobs, job) = one_that_is_loaded();
        assert!(!jobs.end_loading(job));
        jobs.end_merging(job);
        assert_eq!(jobs.loadable().next().map(|record| record.id), Some(job));
        jobs.check();
    }

    #[test]
    fn a_job_that_has_ended_is_not_loaded_until_that_is_on_disk() {
        let (mut jobs, job) = (JobList::default(), JobId(1));
        let record = Record::new(job, "a", UnixTime(0), "a.nzb", Fingerprint::default());
        jobs.insert(Box::new(record));
        let ending = Ending::Deleted(Deletion::Copy);
        jobs.end(job, Outcome::new(ending, UnixTime(0), ""));
        assert_eq!((jobs.loadable().count(), jobs.is_queued(job)), (0, true));
        jobs.check();
    }

    #[test]
    fn a_job_that_is_held_is_tried_again_after_a_survey() {
        let (mut jobs, job) = one_that_is_loaded();
        jobs.end_merging(job);
        jobs.end_loading(job);
        assert!(jobs.hold(job, "full") && !jobs.hold(job, "full"));
        assert_eq!((jobs.passed_over(), jobs.loadable().count()), (1, 0));
        jobs.release_held();
        assert_eq!((jobs.passed_over(), jobs.loadable().count(), jobs.held_count()), (0, 1, 1));
        jobs.begin_to_load(job);
        assert_eq!(jobs.held_for(job), Some("full"), "until it starts");
        jobs.start(job, Active { started: Instant::now(), segments: 1 });
        assert_eq!(jobs.held_count(), 0);
        jobs.check();
    }
}
