//! [`Timers`]: what [`Jobs`](super::Jobs) does at an instant. Pure.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use bergamot_types::JobId;

/// What is done once, when its instant has come.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Timer {
    /// Jobs that were not removed from the history because of a doubtful clock may be now.
    History,
    /// Jobs that could not be loaded may be now.
    Load,
    /// Records that could not be written may be now.
    Records,
    /// A job has rested long enough.
    Rest(JobId),
    /// The volumes are to be surveyed.
    Survey,
}

#[derive(Debug, Default)]
pub(super) struct Timers {
    instants: BTreeMap<Timer, Instant>,
    order: BTreeSet<(Instant, Timer)>,
}

impl Timers {
    /// If it is set already, it stays as it is.
    pub(super) fn set(&mut self, timer: Timer, at: Instant) {
        if let Entry::Vacant(entry) = self.instants.entry(timer) {
            entry.insert(at);
            self.order.insert((at, timer));
        }
    }

    /// If it is set for later, it is set for then.
    pub(super) fn set_sooner(&mut self, timer: Timer, at: Instant) {
        if self.instants.get(&timer).is_some_and(|set| *set > at) {
            self.remove(timer);
        }
        self.set(timer, at);
    }

    pub(super) fn remove(&mut self, timer: Timer) {
        if let Some(at) = self.instants.remove(&timer) {
            self.order.remove(&(at, timer));
        }
    }

    pub(super) fn is_set(&self, timer: Timer) -> bool {
        self.instants.contains_key(&timer)
    }

    pub(super) fn next(&self) -> Option<Instant> {
        self.order.first().map(|(at, _)| *at)
    }

    /// Takes one that is due.
    pub(super) fn take_due(&mut self, now: Instant) -> Option<Timer> {
        let (_, timer) = *self.order.first().filter(|(at, _)| now >= *at)?;
        self.remove(timer);
        Some(timer)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = (Timer, Instant)> {
        self.order.iter().map(|(at, timer)| (*timer, *at))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_timer_is_taken_once_and_may_be_set_for_sooner_but_not_for_later() {
        let (mut timers, start) = (Timers::default(), Instant::now());
        let at = |seconds| start + Duration::from_secs(seconds);
        timers.set(Timer::Survey, at(20));
        timers.set(Timer::Load, at(5));
        timers.set(Timer::Load, at(1));
        timers.set_sooner(Timer::Survey, at(10));
        timers.set_sooner(Timer::Survey, at(30));
        assert_eq!((timers.next(), timers.is_set(Timer::Load)), (Some(at(5)), true));
        assert_eq!(timers.take_due(at(4)), None);
        assert_eq!(
            [timers.take_due(at(10)), timers.take_due(at(10))],
            [Some(Timer::Load), Some(Timer::Survey)]
        );
        assert_eq!((timers.take_due(at(10)), timers.next()), (None, None));
    }
}
