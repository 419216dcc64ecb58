//! Moving and sorting jobs of the queue. Pure.

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashSet, VecDeque};

use bergamot_engine::Event;
use bergamot_types::JobId;

use super::{EditRefusal, Edits, Place, SortKey};
use crate::list::queue_order::Target;
use crate::list::remaining::Remaining;
use crate::record::Record;

impl Edits<'_> {
    /// Moves jobs to a place, each with its result, and keeps their order.
    pub fn move_jobs(&mut self, jobs: &[JobId], place: Place) -> Vec<Result<(), EditRefusal>> {
        // To the top the last goes first.
        let is_reversed = matches!(place, Place::Top | Place::After(_))
            || matches!(place, Place::By(offset) if offset > 0);
        let mut ordered: Vec<_> = jobs.iter().copied().enumerate().collect();
        if is_reversed {
            ordered.reverse();
        }
        let moved = ordered.into_iter().map(|(at, job)| (at, self.move_one(job, place)));
        let mut moved: Vec<_> = moved.collect();
        moved.sort_by_key(|(at, _)| *at);
        moved.into_iter().map(|(_, moved)| moved).collect()
    }

    fn move_one(&mut self, job: JobId, place: Place) -> Result<(), EditRefusal> {
        let record = self.jobs.record(job).filter(|_| self.jobs.is_queued(job));
        let priority = record.ok_or(EditRefusal::NoSuchJob(job))?.priority;
        let target = match place {
            Place::Top => Target::Top,
            Place::Bottom => Target::Bottom,
            Place::Before(other) | Place::After(other) if !self.jobs.is_queued(other) => {
                return Err(EditRefusal::NoSuchJob(other));
            }
            Place::Before(other) => Target::Before(other),
            Place::After(other) => Target::After(other),
            Place::By(offset) => match self.neighbour(job, offset) {
                Some(target) => target,
                None => return Ok(()),
            },
        };
        let changed = self.jobs.place(job, priority, target);
        self.on_placed(&changed);
        self.write(job);
        Ok(())
    }

    /// Where so many positions down, or up, are.
    fn neighbour(&self, job: JobId, offset: i64) -> Option<Target> {
        let order: Vec<_> = self.jobs.queued().map(|record| record.id).collect();
        let at = order.iter().position(|other| *other == job)? as i64;
        let target = at.saturating_add(offset).clamp(0, order.len() as i64 - 1);
        let other = order[target as usize];
        match target.cmp(&at) {
            Ordering::Less => Some(Target::Before(other)),
            Ordering::Equal => None,
            Ordering::Greater => Some(Target::After(other)),
        }
    }

    /// These jobs have other positions: they are written, and the engine hears of those that it has.
    pub fn on_placed(&mut self, changed: &[JobId]) {
        for &job in changed {
            if self.jobs.active(job).is_some()
                && let Some(Record { priority, rank, outcome: None, .. }) = self.jobs.record(job)
            {
                let event = Event::JobPlaced { job, priority: *priority, rank: *rank };
                self.effects.engine.push(event);
            }
            self.write(job);
        }
    }

    /// Jobs of one priority change positions with each other: all that are named, or the whole queue.
    /// Returns the last that changed.
    pub fn sort(&mut self, jobs: &[JobId], by: SortKey, descending: bool) -> Option<JobId> {
        let named: HashSet<_> = jobs.iter().copied().collect();
        let is_meant = |record: &&Record| named.is_empty() || named.contains(&record.id);
        let meant: Vec<_> = self.jobs.queued().filter(is_meant).collect();
        let mut ranks: BTreeMap<i32, VecDeque<i64>> = BTreeMap::new();
        for record in &meant {
            ranks.entry(record.priority).or_default().push_back(record.rank);
        }
        let keyed = meant.iter().map(|it| (self.sort_key(it, by), it.priority, it.id));
        let mut keyed: Vec<_> = keyed.collect();
        keyed.sort();
        if descending {
            keyed.reverse();
        }
        let mut last = None;
        for (_, priority, job) in keyed {
            let rank = ranks.get_mut(&priority).and_then(VecDeque::pop_front);
            if rank.is_some_and(|rank| self.jobs.set_rank(job, rank)) {
                self.on_placed(&[job]);
                last = Some(job);
            }
        }
        last
    }

    fn sort_key(&self, record: &Record, by: SortKey) -> (i128, String) {
        match by {
            SortKey::Name => (0, record.name.to_lowercase()),
            SortKey::Category => (0, record.category.as_deref().unwrap_or_default().to_lowercase()),
            SortKey::Priority => (-i128::from(record.priority), String::new()),
            SortKey::Size => (record.contents.bytes.0.into(), String::new()),
            SortKey::Left => {
                let left = Remaining::of(record, self.engine.job(record.id));
                (left.bytes.into(), String::new())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use bergamot_queue::Ending;
    use bergamot_types::UnixTime;

    use super::super::tests::{engine, list};
    use super::*;
    use crate::{Active, JobList, Outcome};

    fn order(jobs: &JobList) -> Vec<u32> {
        jobs.queued().map(|record| record.id.0).collect()
    }

    #[test]
    fn jobs_keep_their_order_wherever_they_go() {
        let named = [2, 4].map(JobId);
        for (place, expected) in [
            (Place::Top, [2, 4, 1, 3, 5]),
            (Place::Bottom, [1, 3, 5, 2, 4]),
            (Place::Before(JobId(1)), [2, 4, 1, 3, 5]),
            (Place::After(JobId(5)), [1, 3, 5, 2, 4]),
            (Place::By(1), [1, 3, 2, 5, 4]),
            (Place::By(-1), [2, 1, 4, 3, 5]),
            (Place::By(-99), [4, 2, 1, 3, 5]),
        ] {
            let (mut jobs, engine) = (list(5), engine());
            let mut edits = Edits::new(&mut jobs, &engine);
            assert!(edits.move_jobs(&named, place).iter().all(Result::is_ok));
            assert_eq!(order(&jobs), expected, "{place:?}");
            jobs.check();
        }
    }

    #[test]
    fn the_engine_hears_nothing_of_a_job_that_has_ended() {
        let (mut jobs, engine) = (list(1), engine());
        jobs.start(JobId(1), Active { started: Instant::now(), segments: 1 });
        for has_ended in [false, true] {
            if has_ended {
                let ending = Ending::Completed { verified: true };
                jobs.end(JobId(1), Outcome::new(ending, UnixTime(0), ""));
            }
            let mut edits = Edits::new(&mut jobs, &engine);
            edits.move_jobs(&[JobId(1)], Place::Top);
            assert_eq!(edits.into_effects().engine.is_empty(), has_ended);
        }
    }

    #[test]
    fn a_job_goes_to_none_that_is_not_there() {
        let (mut jobs, engine) = (list(2), engine());
        let mut edits = Edits::new(&mut jobs, &engine);
        let moved = edits.move_jobs(&[JobId(1), JobId(9)], Place::Before(JobId(7)));
        let missing = |job| Err(EditRefusal::NoSuchJob(JobId(job)));
        assert_eq!(moved, [missing(7), missing(9)]);
    }

    #[test]
    fn sorting_stays_within_a_priority() {
        let (mut jobs, engine) = (list(4), engine());
        for (job, size) in [(1, 40), (2, 10), (3, 30), (4, 20)] {
            jobs.record_mut(JobId(job)).unwrap().contents.bytes = bergamot_types::ByteCount(size);
        }
        jobs.place(JobId(3), 50, Target::Here);
        let mut edits = Edits::new(&mut jobs, &engine);
        edits.sort(&[], SortKey::Size, false);
        assert_eq!(order(&jobs), [3, 2, 4, 1]);
        Edits::new(&mut jobs, &engine).sort(&[], SortKey::Name, true);
        assert_eq!(order(&jobs), [3, 4, 2, 1]);
        Edits::new(&mut jobs, &engine).sort(&[JobId(4), JobId(1)], SortKey::Left, true);
        assert_eq!(order(&jobs), [3, 1, 2, 4], "only those named change places");
        jobs.check();
    }
}
