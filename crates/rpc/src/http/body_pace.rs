//! [`BodyPace`]: whether the body of a request arrives at the minimum rate.
//!
//! A minimum rate instead of an idle timeout: a client that sends single bytes is never idle.

use std::time::Duration;

use tokio::time::Instant;

#[derive(Debug)]
pub(crate) struct BodyPace {
    deadline: Instant,
    in_window: usize,
}

impl BodyPace {
    pub(crate) fn new(now: Instant) -> Self {
        Self { deadline: now + WINDOW, in_window: 0 }
    }

    /// When to give the request up, unless more of it comes.
    pub(crate) fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Whether enough has come for a new window to begin.
    pub(crate) fn on_data(&mut self, now: Instant, length: usize) -> bool {
        self.in_window += length;
        if self.in_window < LEAST_IN_WINDOW {
            return false;
        }
        *self = Self::new(now);
        true
    }
}

/// A small request has to be whole within this time.
pub(crate) const WINDOW: Duration = Duration::from_secs(30);
/// About 1 KiB/s, less than any link that is still in use.
const LEAST_IN_WINDOW: usize = 32 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_now_and_then_does_not_extend_the_deadline() {
        let start = Instant::now();
        let mut pace = BodyPace::new(start);
        for half_seconds in 0..60 {
            assert!(!pace.on_data(start + Duration::from_millis(500) * half_seconds, 1));
        }
        assert_eq!(pace.deadline(), start + WINDOW);
    }

    #[test]
    fn a_slow_link_has_all_the_time_it_needs() {
        let mut now = Instant::now();
        let mut pace = BodyPace::new(now);
        for _ in 0..10_000 {
            now += Duration::from_secs(1);
            assert!(now < pace.deadline());
            pace.on_data(now, 2048);
        }
    }
}
