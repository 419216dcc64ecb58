//! [`Average`]: an exponentially weighted average.

use std::time::{Duration, Instant};

/// A ratio of two sums, of which each part counts half after [`HALF_LIFE`]: bytes to seconds, good
/// answers to all. Time does the forgetting, not the number of samples, so many connections do not
/// make for a short memory; and a long silence changes nothing, because nothing was learned in it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Average {
    sum: f64,
    of: f64,
    at: Option<Instant>,
}

impl Average {
    pub(crate) fn add(&mut self, now: Instant, sum: f64, of: f64) {
        let since = self.at.map_or(Duration::ZERO, |at| now.saturating_duration_since(at));
        let left = (-since.as_secs_f64() / HALF_LIFE.as_secs_f64()).exp2();
        self.sum = self.sum * left + sum;
        self.of = self.of * left + of;
        self.at = Some(self.at.map_or(now, |at| at.max(now)));
    }

    /// `None` as long as nothing is known.
    pub(crate) fn value(&self) -> Option<f64> {
        (self.of > 0.0).then(|| self.sum / self.of)
    }
}

const HALF_LIFE: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_older_counts_half_after_each_half_life() {
        let (mut average, now) = (Average::default(), Instant::now());
        assert_eq!(average.value(), None);
        average.add(now, 8.0, 1.0);
        assert_eq!(average.value(), Some(8.0));
        average.add(now + HALF_LIFE, 2.0, 1.0);
        assert_eq!(average.value(), Some((8.0 * 0.5 + 2.0) / 1.5));
        average.add(now + 3 * HALF_LIFE, 0.0, 1.0);
        assert_eq!(average.value(), Some(6.0 * 0.25 / (1.5 * 0.25 + 1.0)));
    }

    #[test]
    fn a_clock_that_stands_or_goes_back_forgets_nothing() {
        let (mut average, now) = (Average::default(), Instant::now());
        average.add(now + HALF_LIFE, 3.0, 1.0);
        average.add(now, 1.0, 1.0);
        assert_eq!(average.value(), Some(2.0));
        average.add(now + HALF_LIFE, 2.0, 1.0);
        assert_eq!(average.value(), Some(2.0));
    }
}
