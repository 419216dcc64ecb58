//! [`RateMeter`]: how many bytes came in each of the last seconds, and in all. Part of `Observers`, in the main loop.

use std::time::Instant;

/// What came in each of the last seconds, and in all.
#[derive(Debug)]
pub(crate) struct RateMeter {
    start: Instant,
    second: u64, // since the start
    ring: [u64; RING],
    total: u64,
    busy: u64,
}

impl RateMeter {
    pub(crate) fn new(start: Instant) -> Self {
        Self { start, second: 0, ring: [0; RING], total: 0, busy: 0 }
    }

    pub(crate) fn on_bytes(&mut self, now: Instant, bytes: u64) {
        self.turn(now);
        let slot = &mut self.ring[self.second as usize % RING];
        self.busy += u64::from(*slot == 0 && bytes > 0);
        *slot += bytes;
        self.total += bytes;
    }

    /// Over the last whole seconds; what has only begun would make it jump.
    pub(crate) fn rate(&self, now: Instant) -> u64 {
        let second = self.second_of(now);
        let oldest = second.saturating_sub(WINDOW);
        // A slot holds what its second brought, or some that is older than the window.
        let alive = |at: &u64| *at <= self.second && *at + RING as u64 > self.second;
        let sum: u64 = (oldest..second).filter(alive).map(|at| self.ring[at as usize % RING]).sum();
        match second {
            0 => self.ring[0],
            _ => sum / (second - oldest),
        }
    }

    /// Over the time in which anything came.
    pub(crate) fn average(&self) -> u64 {
        self.total.checked_div(self.busy).unwrap_or(0)
    }

    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    pub(crate) fn busy_seconds(&self) -> u64 {
        self.busy
    }

    fn turn(&mut self, now: Instant) {
        let second = self.second_of(now);
        let passed = second.saturating_sub(self.second).min(RING as u64);
        for step in 1..=passed {
            self.ring[(second - passed + step) as usize % RING] = 0;
        }
        self.second = self.second.max(second);
    }

    fn second_of(&self, now: Instant) -> u64 {
        now.saturating_duration_since(self.start).as_secs()
    }
}

const RING: usize = 8;
/// Long enough to be steady, short enough to follow.
const WINDOW: u64 = 4;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_rate_is_that_of_the_last_seconds_and_the_average_that_of_busy_ones() {
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        let mut pace = RateMeter::new(start);
        assert_eq!((pace.rate(at(0)), pace.average()), (0, 0));
        for tenth in 0..50 {
            pace.on_bytes(at(tenth * 100), 10);
        }
        assert_eq!((pace.rate(at(5000)), pace.average()), (100, 100));
        assert_eq!(pace.rate(at(7000)), 50, "it fades");
        assert_eq!(pace.rate(at(60_000)), 0);
        pace.on_bytes(at(60_500), 40);
        assert_eq!((pace.rate(at(61_000)), pace.busy_seconds(), pace.total()), (10, 6, 540));
    }
}
