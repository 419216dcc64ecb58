//! [`Bucket`]: a token bucket.

use std::time::{Duration, Instant};

use bergamot_types::ByteRate;

/// Whole bytes and their fractions are counted in integers, so nothing drifts.
///
/// What was not yet leased and what is leased but not yet spent are each bounded by a stretch of
/// time at the rate. Their sum is the most by which any stretch of time can exceed the rate.
#[derive(Debug)]
pub(crate) struct Bucket {
    rate: u64,
    level: u64,
    /// Billionths of a byte that the level is short of the next one.
    crumbs: u128,
    leased: u64,
    filled: Instant,
}

impl Bucket {
    /// Empty: a limit does not begin with a burst.
    pub(crate) fn new(now: Instant, rate: ByteRate) -> Self {
        Self { rate: rate.0, level: 0, crumbs: 0, leased: 0, filled: now }
    }

    pub(crate) fn rate(&self) -> ByteRate {
        ByteRate(self.rate)
    }

    /// Whether more is leased now than the new rate would ever lease.
    pub(crate) fn set_rate(&mut self, now: Instant, rate: ByteRate) -> bool {
        self.advance(now);
        self.rate = rate.0;
        self.level = self.level.min(self.depth());
        self.leased > self.most_leased()
    }

    /// A long sleep fills the bucket and no more; an instant before the last one adds nothing.
    pub(crate) fn advance(&mut self, now: Instant) {
        let passed = now.saturating_duration_since(self.filled);
        self.filled = self.filled.max(now);
        let depth = self.depth();
        if self.level >= depth {
            self.crumbs = 0;
            return;
        }
        // The bucket is full long before this; the product stays far from the end of u128.
        let passed = passed.min(LONGEST_FILL).as_nanos();
        let earned = u128::from(self.rate) * passed + self.crumbs;
        let bytes = u64::try_from(earned / NANOS).unwrap_or(u64::MAX);
        self.level = self.level.saturating_add(bytes).min(depth);
        self.crumbs = if self.level == depth { 0 } else { earned % NANOS };
    }

    /// What one of `active` connections gets at a time: its part of all that may be leased, but not less than
    /// a minimum while that is available, so that at low rates few are served at a time.
    pub(crate) fn lease_size(&self, active: usize) -> u64 {
        let part = |count: usize| self.most_leased() / (count.max(1) as u64);
        part(active).max(READ_SIZE).min(part(active.min(AT_LEAST_AT_A_TIME))).min(self.depth() / 2)
    }

    pub(crate) fn is_ready(&self, bytes: u64) -> bool {
        self.level >= bytes && self.has_room(bytes)
    }

    /// When there will be as many; not known while it waits for others to spend theirs.
    pub(crate) fn ready_at(&self, bytes: u64) -> Option<Instant> {
        if !self.has_room(bytes) {
            return None;
        }
        let missing = u128::from(bytes.saturating_sub(self.level)) * NANOS;
        let nanos = missing.saturating_sub(self.crumbs).div_ceil(u128::from(self.rate.max(1)));
        Some(self.filled + Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX)))
    }

    pub(crate) fn lease(&mut self, bytes: u64) {
        self.level = self.level.saturating_sub(bytes);
        self.leased = self.leased.saturating_add(bytes);
    }

    /// The end of a lease of `bytes`, of which `unspent` are there again.
    pub(crate) fn settle(&mut self, bytes: u64, unspent: u64) {
        self.leased = self.leased.saturating_sub(bytes);
        let bound = self.depth().saturating_add(self.most_leased());
        self.level = self.level.saturating_add(unspent.min(bytes)).min(bound);
    }

    fn has_room(&self, bytes: u64) -> bool {
        self.leased == 0 || self.leased.saturating_add(bytes) <= self.most_leased()
    }

    fn depth(&self) -> u64 {
        during(self.rate, REST).max(2 * LEAST_LEASE)
    }

    fn most_leased(&self) -> u64 {
        during(self.rate, LEASED).max(self.depth() / 2)
    }
}

fn during(rate: u64, time: Duration) -> u64 {
    u64::try_from(u128::from(rate) * time.as_nanos() / NANOS).unwrap_or(u64::MAX)
}

/// What may lie unleased: a main loop that comes this late, less half of it, loses nothing.
const REST: Duration = Duration::from_millis(75);
/// What may be leased and unspent. With the rest it is 1.75 % of ten seconds; we promise 2 %.
const LEASED: Duration = Duration::from_millis(100);
/// A TLS record: less per read costs calls and gains nothing.
const READ_SIZE: u64 = 16 << 10;
/// So that one slow connection does not delay all others, even at the lowest rates.
const AT_LEAST_AT_A_TIME: usize = 4;
/// Otherwise a lease would become a few bytes at the lowest rates and on the slowest connections.
pub(crate) const LEAST_LEASE: u64 = 256;
/// Longer than any bucket takes to fill, at any rate above half a kilobyte a second.
const LONGEST_FILL: Duration = Duration::from_secs(3_600);
const NANOS: u128 = 1_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_of_bytes_are_not_lost() {
        let start = Instant::now();
        let mut bucket = Bucket::new(start, ByteRate(16_411));
        let mut taken = 0;
        // A prime number of nanoseconds, so that each step leaves a fraction.
        for step in 1..=1_000_000_u32 {
            bucket.advance(start + Duration::from_nanos(10_007) * step);
            let bytes = bucket.level;
            bucket.lease(bytes);
            bucket.settle(bytes, 0);
            taken += bytes;
        }
        assert_eq!(taken, 16_411 * 10_007 * 1_000_000 / 1_000_000_000);
    }

    #[test]
    fn a_long_sleep_or_a_step_back_is_no_flood() {
        let start = Instant::now() + LONGEST_FILL;
        for rate in [1, 16 << 10, 10_000_000_000, u64::MAX] {
            let mut bucket = Bucket::new(start, ByteRate(rate));
            bucket.advance(start + Duration::from_secs(86_400 * 365));
            assert_eq!(bucket.level, during(rate, REST).max(2 * LEAST_LEASE));
            let level = bucket.level;
            bucket.advance(start - Duration::from_secs(60));
            bucket.advance(start);
            assert_eq!(bucket.level, level);
        }
    }

    #[test]
    fn what_is_leased_and_what_is_not_stay_within_their_sum() {
        let start = Instant::now();
        let mut bucket = Bucket::new(start, ByteRate(1_000_000));
        for second in 1..10 {
            bucket.advance(start + Duration::from_secs(second));
            let size = bucket.lease_size(4);
            let mut leases = 0;
            while bucket.is_ready(size) {
                bucket.lease(size);
                leases += 1;
                assert!(bucket.level + bucket.leased <= 175_000);
            }
            assert!(leases > 0);
            for _ in 0..leases {
                bucket.settle(size, size);
            }
            assert!(bucket.level <= 175_000);
        }
    }

    #[test]
    fn a_bucket_is_ready_when_it_said() {
        let start = Instant::now();
        for rate in [1_u64, 700, 16 << 10, 123_457, 10_000_000_000] {
            let bucket = Bucket::new(start, ByteRate(rate));
            let size = bucket.lease_size(3);
            let at = bucket.ready_at(size).unwrap();
            let mut late = Bucket::new(start, ByteRate(rate));
            late.advance(at);
            assert!(late.is_ready(size), "{rate}");
            let mut early = Bucket::new(start, ByteRate(rate));
            early.advance(at - Duration::from_nanos(1));
            assert!(!early.is_ready(size) || rate > 1_000_000_000, "{rate}");
        }
    }

    #[test]
    fn a_wait_of_centuries_is_no_panic() {
        let bucket = Bucket::new(Instant::now(), ByteRate(1));
        assert!(bucket.ready_at(u64::MAX).is_some());
    }

    #[test]
    fn a_tenth_of_a_second_is_leased_at_a_time_and_no_more() {
        let start = Instant::now();
        let mut bucket = Bucket::new(start, ByteRate(1_000_000));
        for second in 1..10 {
            bucket.advance(start + Duration::from_secs(second));
            while bucket.is_ready(10_000) {
                bucket.lease(10_000);
            }
        }
        assert_eq!(bucket.leased, 100_000);
        assert_eq!(bucket.ready_at(10_000), None, "whatever the time, until some is spent");
    }

    #[test]
    fn only_what_a_new_rate_would_never_lease_is_too_much() {
        let start = Instant::now();
        let mut bucket = Bucket::new(start, ByteRate(2_000_000));
        bucket.lease(100_000);
        assert!(!bucket.set_rate(start, ByteRate(1_000_000)), "just a tenth of a second of it");
        assert!(bucket.set_rate(start, ByteRate(999_999)));
    }

    #[test]
    fn many_connections_get_whole_reads_while_four_of_them_can() {
        let start = Instant::now();
        let size = |rate, active| Bucket::new(start, ByteRate(rate)).lease_size(active);
        assert_eq!(size(10_000_000, 50), 20_000, "its part of a tenth of a second");
        assert_eq!(size(10_000_000, 500), READ_SIZE);
        assert_eq!(size(400_000, 500), 10_000, "a quarter of a tenth of a second");
    }
}
