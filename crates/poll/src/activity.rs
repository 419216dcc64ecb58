//! [`Activity`]: the rate of requests for a target, and its refresh period.

use std::time::{Duration, Instant};

/// Requests of the last five minutes, in buckets of two seconds.
///
/// The total is kept as buckets come and go, so the rate costs the same whatever has happened.
#[derive(Clone, Debug)]
pub struct Activity {
    start: Instant,
    bucket: u64, // the current one, counted from the start
    counts: [u32; BUCKETS as usize],
    total: u64,
}

impl Activity {
    pub fn new(now: Instant) -> Self {
        Self { start: now, bucket: 0, counts: [0; BUCKETS as usize], total: 0 }
    }

    pub fn record(&mut self, now: Instant) {
        self.advance(now);
        let count = &mut self.counts[slot(self.bucket)];
        if *count < u32::MAX {
            *count += 1;
            self.total += 1;
        }
    }

    /// Requests per second, over the whole window.
    pub fn rate(&mut self, now: Instant) -> f64 {
        self.advance(now);
        self.total as f64 / WINDOW.as_secs_f64()
    }

    /// Whether anything was asked within the window.
    pub fn is_active(&mut self, now: Instant) -> bool {
        self.advance(now);
        self.total > 0
    }

    /// Clears what has left the window. A clock that went back finds the window as it was.
    fn advance(&mut self, now: Instant) {
        let bucket = now.saturating_duration_since(self.start).as_secs() / BUCKET.as_secs();
        let passed = bucket.saturating_sub(self.bucket).min(BUCKETS);
        for ahead in 0..passed {
            let count = &mut self.counts[slot(bucket - ahead)];
            self.total -= u64::from(std::mem::take(count));
        }
        self.bucket = self.bucket.max(bucket);
    }
}

fn slot(bucket: u64) -> usize {
    (bucket % BUCKETS) as usize
}

/// From half a minute for what is asked once in the window down to a second for what ten thousand
/// clients a second ask, on a logarithmic scale.
pub fn refresh_period(requests_per_second: f64) -> Duration {
    let (least, most) = (WINDOW.as_secs_f64().recip().log10(), BUSIEST.log10());
    let activity = requests_per_second.max(0.0).log10().clamp(least, most); // log10(0) is -infinity
    let share = (activity - least) / (most - least);
    let span = LONGEST.as_secs_f64() - SHORTEST.as_secs_f64();
    Duration::from_secs_f64(LONGEST.as_secs_f64() - span * share)
}

const BUCKETS: u64 = 150;
const BUCKET: Duration = Duration::from_secs(2);
const WINDOW: Duration = Duration::from_secs(BUCKETS * BUCKET.as_secs());
/// Requests per second from which nothing gets fresher.
const BUSIEST: f64 = 10_000.0;
const SHORTEST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(30);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_period_follows_the_logarithm_of_the_rate() {
        let seconds = |rate| refresh_period(rate).as_secs_f64();
        let known = [
            (10_000.0, 1.0),
            (1_000.0, 5.5),
            (100.0, 10.0),
            (10.0, 14.4),
            (1.0, 18.9),
            (0.1, 23.4),
            (0.01, 27.9),
        ];
        for (rate, period) in known {
            assert!((seconds(rate) - period).abs() <= 0.1, "{rate}/s: {}", seconds(rate));
        }
        assert_eq!((seconds(1e9), seconds(1.0 / 300.0)), (1.0, 30.0));
        assert_eq!((seconds(0.0), seconds(-1.0)), (30.0, 30.0));
        assert_eq!(seconds(f64::NAN), 30.0);
    }

    #[test]
    fn one_request_counts_for_five_minutes() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut activity = Activity::new(start);
        assert!(!activity.is_active(start));
        activity.record(at(1));
        assert_eq!(activity.rate(at(1)), 1.0 / 300.0);
        assert!(activity.is_active(at(299)));
        assert!(!activity.is_active(at(300)));
        activity.record(at(1_000_000));
        assert_eq!(activity.rate(at(1_000_001)), 1.0 / 300.0);
        assert_eq!(activity.rate(at(5)), 1.0 / 300.0, "a clock that goes back loses nothing");
    }

    proptest! {
        /// Whatever the jumps, the running total is what a list of all requests would give.
        #[test]
        fn the_total_is_that_of_the_window(jumps in prop::collection::vec(0_u64..400, 1..200)) {
            let start = Instant::now();
            let mut activity = Activity::new(start);
            let (mut now, mut asked) = (0, Vec::new());
            for jump in jumps {
                now += jump;
                activity.record(start + Duration::from_secs(now));
                asked.push(now / 2);
                let counted = asked.iter().filter(|&&bucket| bucket + 150 > now / 2).count();
                prop_assert_eq!(activity.total, counted as u64);
            }
        }
    }
}
