//! [`Timeline`]: the virtual time of a simulated day, its planned events, its random numbers, and the log of what
//! has happened. Passed to every model of the day. Single-threaded.

use std::fmt::Write;
use std::time::{Duration, Instant};

use bergamot_engine::Now;
use bergamot_types::{SplitMix, UnixTime};

use super::kind::{Fired, Kind};
use super::planned::Planned;
use crate::sim::event_queue::EventQueue;

#[derive(Debug)]
pub(crate) struct Timeline {
    pub(crate) now: Duration,
    pub(crate) chance: SplitMix,
    pub(crate) fired: Fired,
    start: Instant,
    first_date: UnixTime,
    calendar_offset: i64,
    heals_at: Duration,
    queue: EventQueue<Planned>,
    log: Option<String>,
}

impl Timeline {
    pub(crate) fn new(
        start: Instant,
        first_date: UnixTime,
        heals_at: Duration,
        seed: u64,
        is_logged: bool,
    ) -> Self {
        Self {
            now: Duration::ZERO,
            chance: SplitMix::seeded(!seed),
            fired: Fired::new(),
            start,
            first_date,
            calendar_offset: 0,
            heals_at,
            queue: EventQueue::new(),
            log: is_logged.then(String::new),
        }
    }

    /// By both clocks.
    pub(crate) fn time(&self) -> Now {
        let date = self.first_date.0 + self.now.as_secs() as i64 + self.calendar_offset;
        Now { instant: self.start + self.now, date: UnixTime(date) }
    }

    pub(crate) fn since_start(&self, at: Instant) -> Duration {
        at.saturating_duration_since(self.start)
    }

    pub(crate) fn set_calendar(&mut self, seconds: i64) {
        self.calendar_offset += seconds;
    }

    /// From here on nothing goes wrong any more.
    pub(crate) fn is_healed(&self) -> bool {
        self.now >= self.heals_at
    }

    pub(crate) fn plan_at(&mut self, at: Duration, what: Planned) {
        self.queue.plan(at, what);
    }

    pub(crate) fn plan_in(&mut self, after: Duration, what: Planned) {
        self.queue.plan(self.now + after, what);
    }

    pub(crate) fn next_time(&self) -> Option<Duration> {
        self.queue.next_time()
    }

    pub(crate) fn take(&mut self) -> Option<Planned> {
        self.queue.take()
    }

    /// The process is gone, and all that it waited for.
    pub(crate) fn forget_process(&mut self) {
        self.queue.remove_if(|what| !what.outlives_process());
    }

    /// A duration of so many milliseconds.
    pub(crate) fn millis(&mut self, least: u64, most: u64) -> Duration {
        Duration::from_millis(least + self.chance.up_to(most - least))
    }

    pub(crate) fn one_in(&mut self, count: u64) -> bool {
        self.chance.up_to(count - 1) == 0
    }

    /// Whether a fault strikes that does so in so many of a thousand cases.
    pub(crate) fn strikes(&mut self, permille: u64) -> bool {
        permille > 0 && !self.is_healed() && self.chance.up_to(999) < permille
    }

    pub(crate) fn fire(&mut self, kind: Kind) {
        *self.fired.entry(kind).or_default() += 1;
    }

    /// Adds a line to the log, if the day keeps one.
    pub(crate) fn note(&mut self, what: impl FnOnce() -> String) {
        let (now, date) = (self.now, self.time().date);
        if let Some(log) = &mut self.log {
            let _ = writeln!(log, "{now:>12.3?} {date:?} {}", what());
        }
    }

    pub(crate) fn take_log(&mut self) -> Option<String> {
        self.log.take()
    }
}
