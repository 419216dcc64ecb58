//! [`Volumes`]: bytes received from a server, by second, minute, hour and day, and in total.
//!
//! The shape is that of NZBGet's counters, so that programs which draw them can go on doing so. Days
//! are those of UTC. Clocks that are set cost a gap in the rings at most, never a total.

use std::collections::BTreeMap;

use bergamot_types::{ByteCount, UnixTime};
use chrono::{DateTime, Datelike};

/// The counters of one server, or of all.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
#[cfg_attr(feature = "serde", serde(default))]
pub struct Volumes {
    total: u64,
    custom: u64,
    custom_since: i64,
    reset: i64,
    at: i64, // what the rings are up to date with
    seconds: Vec<u64>,
    minutes: Vec<u64>,
    hours: Vec<u64>,
    days: BTreeMap<i64, DayVolume>, // only those on which something came
}

/// What came on one day.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
pub struct DayVolume {
    pub bytes: u64,
    pub articles_ok: u32,
    pub articles_failed: u32,
}

/// The rings, and where in them the present is.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Rings {
    pub seconds: Vec<u64>,
    pub second: usize,
    pub minutes: Vec<u64>,
    pub minute: usize,
    pub hours: Vec<u64>,
    pub hour: usize,
}

impl Volumes {
    pub fn note_bytes(&mut self, now: UnixTime, bytes: ByteCount) {
        self.advance(now);
        self.total = self.total.saturating_add(bytes.0);
        self.custom = self.custom.saturating_add(bytes.0);
        let (second, minute, hour) = self.slots();
        let slots = [&mut self.seconds[second], &mut self.minutes[minute], &mut self.hours[hour]];
        slots.into_iter().for_each(|slot| *slot = slot.saturating_add(bytes.0));
        let day = self.day(now);
        day.bytes = day.bytes.saturating_add(bytes.0);
    }

    pub fn note_articles(&mut self, now: UnixTime, ok: u32, failed: u32) {
        let day = self.day(now);
        day.articles_ok = day.articles_ok.saturating_add(ok);
        day.articles_failed = day.articles_failed.saturating_add(failed);
    }

    pub fn total(&self) -> ByteCount {
        ByteCount(self.total)
    }

    /// On the day of `now`.
    pub fn today(&self, now: UnixTime) -> ByteCount {
        ByteCount(self.days.get(&day_of(now)).map_or(0, |day| day.bytes))
    }

    /// In the month of `now`, up to its end.
    pub fn this_month(&self, now: UnixTime) -> ByteCount {
        let Some(date) = DateTime::from_timestamp(now.0, 0) else { return ByteCount(0) };
        let today = day_of(now);
        let first = today - i64::from(date.day0());
        let days = self.days.range(first..=today).map(|(_, day)| day.bytes);
        ByteCount(days.fold(0, u64::saturating_add))
    }

    /// Since the last reset of the custom counter, and when that was.
    pub fn custom(&self) -> (ByteCount, UnixTime) {
        (ByteCount(self.custom), UnixTime(self.custom_since))
    }

    /// When all counters were last reset.
    pub fn reset_at(&self) -> UnixTime {
        UnixTime(self.reset)
    }

    pub fn reset_custom(&mut self, now: UnixTime) {
        self.custom = 0;
        self.custom_since = now.0;
    }

    pub fn reset(&mut self, now: UnixTime) {
        *self = Self { reset: now.0, custom_since: now.0, ..Self::default() };
    }

    pub fn rings(&mut self, now: UnixTime) -> Rings {
        self.advance(now);
        let (second, minute, hour) = self.slots();
        Rings {
            seconds: self.seconds.clone(),
            second,
            minutes: self.minutes.clone(),
            minute,
            hours: self.hours.clone(),
            hour,
        }
    }

    /// Every day from the first that is remembered up to today, with its number since 1970; a bounded
    /// number of them, whatever the clock says.
    pub fn days(&self, now: UnixTime) -> (i64, Vec<DayVolume>) {
        let today = day_of(now);
        let last = self.days.keys().next_back().map_or(today, |last| today.max(*last));
        let first = self.days.keys().next().copied().unwrap_or(today);
        let first = first.max(last.saturating_sub(MOST_DAYS - 1));
        let day = |day| self.days.get(&day).copied().unwrap_or_default();
        (first, (first..=last).map(day).collect())
    }

    fn day(&mut self, now: UnixTime) -> &mut DayVolume {
        let today = day_of(now);
        if self.days.len() as i64 >= MOST_DAYS && !self.days.contains_key(&today) {
            self.days.pop_first();
        }
        self.days.entry(today).or_default()
    }

    /// Empties the slots of the time that has passed. A clock that was set back a little makes the
    /// present last longer; one that was set back far begins new rings.
    fn advance(&mut self, now: UnixTime) {
        let rings = [&mut self.seconds, &mut self.minutes, &mut self.hours];
        for ((ring, size), seconds) in rings.into_iter().zip(SIZES).zip(UNITS) {
            ring.resize(size, 0); // a record may be of another size
            let (from, to) = (self.at.div_euclid(seconds), now.0.div_euclid(seconds));
            let is_far =
                to.saturating_sub(from) >= size as i64 || self.at.saturating_sub(now.0) > A_LITTLE;
            if is_far {
                ring.fill(0);
            } else {
                (from.saturating_add(1)..=to)
                    .for_each(|unit| ring[unit.rem_euclid(size as i64) as usize] = 0);
            }
        }
        if now.0 > self.at || self.at.saturating_sub(now.0) > A_LITTLE {
            self.at = now.0;
        }
    }

    fn slots(&self) -> (usize, usize, usize) {
        let slot =
            |unit: usize| self.at.div_euclid(UNITS[unit]).rem_euclid(SIZES[unit] as i64) as usize;
        (slot(0), slot(1), slot(2))
    }
}

fn day_of(now: UnixTime) -> i64 {
    now.0.div_euclid(86_400)
}

/// Slots of the rings of seconds, minutes and hours, and how long each is.
const SIZES: [usize; 3] = [60, 60, 24];
const UNITS: [i64; 3] = [1, 60, 3600];

/// Clocks are corrected by seconds all the time.
const A_LITTLE: i64 = 10;

/// Eleven years.
const MOST_DAYS: i64 = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    const NOON: i64 = 20_000 * 86_400 + 12 * 3600;

    fn after(bytes: &[(i64, u64)]) -> Volumes {
        let mut volumes = Volumes::default();
        for (seconds, bytes) in bytes {
            volumes.note_bytes(UnixTime(NOON + seconds), ByteCount(*bytes));
        }
        volumes
    }

    fn sums(volumes: &mut Volumes, now: i64) -> [u64; 3] {
        let rings = volumes.rings(UnixTime(NOON + now));
        [rings.seconds, rings.minutes, rings.hours].map(|ring| ring.iter().sum())
    }

    #[test]
    fn bytes_are_counted_in_their_slots() {
        let mut volumes = after(&[(0, 1), (0, 2), (5, 4), (61, 8), (3601, 16)]);
        let rings = volumes.rings(UnixTime(NOON + 3601));
        assert_eq!((rings.second, rings.minute, rings.hour), (1, 0, 13));
        assert_eq!((rings.seconds[1], rings.minutes[0], rings.hours[13]), (16, 16, 16));
        assert_eq!((rings.minutes[1], rings.hours[12]), (8, 15));
        assert_eq!(volumes.total(), ByteCount(31));
        assert_eq!(volumes.days(UnixTime(NOON)).1[0].bytes, 31);
    }

    #[test]
    fn what_is_long_past_leaves_the_rings_and_not_the_totals() {
        let mut volumes = after(&[(0, 7)]);
        for (later, left) in
            [(59, [7, 7, 7]), (60, [0, 7, 7]), (3600, [0, 0, 7]), (86_400, [0, 0, 0])]
        {
            assert_eq!(sums(&mut volumes, later), left, "{later}");
        }
        assert_eq!(volumes.total(), ByteCount(7));
        let (first, days) = volumes.days(UnixTime(NOON + 2 * 86_400));
        assert_eq!((first, days.len(), days[0].bytes, days[2].bytes), (20_000, 3, 7, 0));
    }

    #[test]
    fn no_clock_makes_it_panic_or_forget_a_total() {
        let mut volumes = after(&[(0, 1)]);
        for time in [i64::MAX, i64::MIN, 0, -NOON, 10 * 365 * 86_400, -3600, -5, 0] {
            let now = UnixTime(NOON.saturating_add(time));
            volumes.note_bytes(now, ByteCount(1));
            volumes.note_articles(now, 1, 1);
            assert!(volumes.days(now).1.len() <= MOST_DAYS as usize);
        }
        assert_eq!(volumes.total(), ByteCount(9));
        let mut corrected = after(&[(0, 1), (-5, 2), (1, 4)]);
        assert_eq!(sums(&mut corrected, 1), [7, 7, 7]);
        let mut just_a_little = after(&[(0, 1), (-A_LITTLE, 2)]);
        assert_eq!(sums(&mut just_a_little, 0), [3, 3, 3]);
        let mut set_back = after(&[(0, 1), (-3600, 2)]);
        assert_eq!(sums(&mut set_back, -3600), [2, 2, 2]);
    }

    #[test]
    fn a_day_counts_for_itself_and_for_its_month() {
        const DAY: i64 = 86_400;
        // Noon is on 4 October.
        let mut volumes = after(&[(-4 * DAY, 1), (-3 * DAY, 2), (0, 4), (DAY, 8)]);
        let now = UnixTime(NOON);
        assert_eq!((volumes.today(now), volumes.this_month(now)), (ByteCount(4), ByteCount(6)));
        volumes.note_articles(now, 3, 1);
        volumes.note_articles(now, 2, 0);
        let today = volumes.days(now).1[4];
        assert_eq!((today.articles_ok, today.articles_failed), (5, 1));
    }

    #[test]
    fn eleven_years_are_remembered_and_no_more() {
        let mut volumes = Volumes::default();
        let note = |volumes: &mut Volumes, day| {
            volumes.note_bytes(UnixTime(NOON + day * 86_400), ByteCount(1));
            volumes.days.len() as i64
        };
        let counts: Vec<_> = (0..MOST_DAYS).map(|day| note(&mut volumes, day)).collect();
        assert_eq!(counts.last(), Some(&MOST_DAYS));
        for (day, first) in [(MOST_DAYS - 1, 20_000), (MOST_DAYS, 20_001)] {
            assert_eq!(note(&mut volumes, day), MOST_DAYS);
            assert_eq!(volumes.days.keys().next(), Some(&first));
        }
    }

    #[test]
    fn counters_are_set_back_alone_or_all_together() {
        let mut volumes = after(&[(0, 7)]);
        volumes.reset_custom(UnixTime(NOON));
        volumes.note_bytes(UnixTime(NOON), ByteCount(1));
        assert_eq!(volumes.custom(), (ByteCount(1), UnixTime(NOON)));
        assert_eq!(volumes.total(), ByteCount(8));
        volumes.reset(UnixTime(NOON + 1));
        assert_eq!((volumes.total(), volumes.reset_at()), (ByteCount(0), UnixTime(NOON + 1)));
        assert_eq!(volumes.custom(), (ByteCount(0), UnixTime(NOON + 1)));
    }
}
