//! [`Record`]: the bytes used on each day.
//!
//! Clocks are wrong at times, and the ledger must neither give an allowance twice for it nor take
//! one away for long. So:
//!
//! - A clock behind the newest day on record is waited for. What is used meanwhile is booked on that
//!   newest day, and all later days count in the window that the clock shows.
//! - If it has run on for a day and is still behind, it is believed: the later days count as used
//!   on the day it was turned back. So ten years forward by mistake and back again cost at most a
//!   day's patience. Should the clock come to those days again, they count as themselves again.
//! - A day has come when something is booked on it or charged to it in advance: what was asked for on a
//!   day that the clock then takes back counts on that day, and so does all that is used until the clock
//!   is there again or believed.
//! - A clock before [`BELIEVED`] has not been set yet; it is never believed, and what is used under it counts
//!   as used on the newest day, or on the first day that is believed.
//!
//! A day always counts once, in the window that contains it; so entering a window a second time does not
//! renew its allowance. A month that was begun by mistake is used when it comes.

use bergamot_types::{ByteCount, UnixTime};
use chrono::{Datelike, NaiveDate};

use crate::calendar::day_cache::DayCache;
use crate::calendar::window::Window;

/// The ledger as a value to be kept; any value is valid.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Record {
    pub days: Vec<DayRecord>,
    /// Since the account was bought or renewed, whatever the day.
    pub ever: ByteCount,
    /// Since when the clock has stood behind the newest day, by that clock.
    pub turned_back: Option<UnixTime>,
}

/// Days are numbered from 1 January 1970 in the configured zone.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct DayRecord {
    pub day: i32,
    /// The same, unless the clock was turned back before it.
    pub counts_as: i32,
    pub used: ByteCount,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger {
    record: Record,
}

impl Ledger {
    pub(crate) fn restore(record: Record) -> Self {
        let mut ledger = Self { record };
        ledger.forget_oldest();
        ledger
    }

    pub(crate) fn record(&self) -> &Record {
        &self.record
    }

    /// The day on which to book what is used now.
    pub(crate) fn observe(&mut self, day_cache: &mut DayCache, now: UnixTime) -> i32 {
        let today = number(day_cache.day(now));
        if now < BELIEVED {
            return self.newest().unwrap_or(today);
        }
        for entry in &mut self.record.days {
            if i64::from(entry.day) < BELIEVED.0 / SECONDS_A_DAY {
                entry.day = today;
            }
            if entry.day <= today {
                entry.counts_as = entry.day;
            }
        }
        let Some(newest) = self.newest().filter(|&newest| newest > today) else {
            self.record.turned_back = None;
            return today;
        };
        let since = self.record.turned_back.filter(|&since| since <= now).unwrap_or(now);
        self.record.turned_back = Some(since);
        if now.0.saturating_sub(since.0) < TRUSTED_AFTER {
            return newest;
        }
        self.believe(today, number(day_cache.calendar().day(since)));
        today
    }

    pub(crate) fn book(&mut self, day: i32, bytes: u64) {
        let add = |to: &mut ByteCount| to.0 = to.0.saturating_add(bytes);
        add(&mut self.record.ever);
        match self.record.days.iter_mut().find(|entry| entry.day == day) {
            Some(entry) => add(&mut entry.used),
            None => {
                self.record.days.push(DayRecord { day, counts_as: day, used: ByteCount(bytes) });
                self.forget_oldest();
            }
        }
    }

    /// On the days of the window, whether or not the clock has come to them, and on all later ones
    /// that have not been given to a day before it.
    pub(crate) fn used_in(&self, window: &Window) -> ByteCount {
        let (first, after) = (number(window.first), number(window.after));
        let counts =
            |entry: &&DayRecord| entry.counts_as >= first || (first..after).contains(&entry.day);
        let entries = self.record.days.iter().filter(counts);
        ByteCount(entries.fold(0, |sum, entry| sum.saturating_add(entry.used.0)))
    }

    pub(crate) fn used_ever(&self) -> ByteCount {
        self.record.ever
    }

    pub(crate) fn renew(&mut self) {
        self.record.ever = ByteCount(0);
    }

    /// The time whose windows hold.
    pub(crate) fn effective(&self, day_cache: &DayCache, now: UnixTime) -> UnixTime {
        let newest = self.newest().filter(|_| now < BELIEVED).and_then(date);
        newest.map_or(now, |day| day_cache.calendar().start(day))
    }

    fn believe(&mut self, today: i32, turned_back: i32) {
        for entry in self.record.days.iter_mut().filter(|entry| entry.day > today) {
            entry.counts_as = entry.counts_as.min(turned_back);
        }
        self.record.turned_back = None;
    }

    fn newest(&self) -> Option<i32> {
        self.record.days.iter().map(|entry| entry.counts_as).max()
    }

    /// By number, not by age: a clock that jumps ahead must not wipe out what it will come back to.
    fn forget_oldest(&mut self) {
        self.record.days.sort_by_key(|entry| (entry.counts_as, entry.day));
        let surplus = self.record.days.len().saturating_sub(MOST_DAYS);
        self.record.days.drain(..surplus);
    }
}

pub(crate) fn number(day: NaiveDate) -> i32 {
    day.num_days_from_ce() - EPOCH
}

fn date(number: i32) -> Option<NaiveDate> {
    NaiveDate::from_num_days_from_ce_opt(number.checked_add(EPOCH)?)
}

/// The days of two long months: whatever day a month is made to begin on, it can be summed anew.
const MOST_DAYS: usize = 62;
/// Seconds that a clock which was turned back must run before it is believed.
const TRUSTED_AFTER: i64 = SECONDS_A_DAY;
const SECONDS_A_DAY: i64 = 86_400;
/// 1 January 2023, years before this was written: no clock before it can be right.
const BELIEVED: UnixTime = UnixTime(1_672_531_200);
/// 1 January 1970, counted from the year 1.
const EPOCH: i32 = 719_163;

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: i64 = SECONDS_A_DAY;
    const NOON: i64 = 1_800_000_000 / DAY * DAY + DAY / 2;

    fn book(ledger: &mut Ledger, now: i64, bytes: u64) {
        let day = ledger.observe(&mut DayCache::default(), UnixTime(now));
        ledger.book(day, bytes);
    }

    /// Used in the day, and in the thirty days, that a clock shows.
    fn used(ledger: &mut Ledger, now: i64) -> (u64, u64) {
        let mut day_cache = DayCache::default();
        ledger.observe(&mut day_cache, UnixTime(now));
        let first = day_cache.calendar().day(ledger.effective(&day_cache, UnixTime(now)));
        let after = first + chrono::Days::new(1);
        let day = Window { start: UnixTime(now), end: UnixTime(now), first, after };
        let month = Window { first: first - chrono::Days::new(29), ..day };
        (ledger.used_in(&day).0, ledger.used_in(&month).0)
    }

    #[test]
    fn an_hour_back_over_midnight_gives_nothing_twice() {
        let mut ledger = Ledger::default();
        let midnight = NOON + DAY / 2;
        book(&mut ledger, midnight - 1_800, 10);
        book(&mut ledger, midnight + 1_800, 20);
        book(&mut ledger, midnight - 1_800, 3);
        assert_eq!(used(&mut ledger, midnight - 1_800), (33, 33));
        assert_eq!(used(&mut ledger, midnight), (23, 33), "and the new day remembers");
    }

    #[test]
    fn ten_years_ahead_and_back_lose_and_double_nothing() {
        let mut ledger = Ledger::default();
        for day in 0..40 {
            book(&mut ledger, NOON + (day - 40) * DAY, 1);
        }
        book(&mut ledger, NOON, 8);
        book(&mut ledger, NOON + 3_650 * DAY, 5);
        assert_eq!(used(&mut ledger, NOON + 60), (13, 29 + 13), "all of it was today");
        book(&mut ledger, NOON + 120, 1);
        assert_eq!(used(&mut ledger, NOON + 180), (14, 29 + 14));
        assert_eq!(used(&mut ledger, NOON + DAY + 60), (0, 28 + 14), "believed after a day");
        book(&mut ledger, NOON + DAY + 120, 2);
        assert_eq!(used(&mut ledger, NOON + DAY + 180), (2, 28 + 16));
        assert_eq!(used(&mut ledger, NOON + 29 * DAY), (0, 16));
        assert_eq!(used(&mut ledger, NOON + 31 * DAY), (0, 0));
    }

    #[test]
    fn a_week_back_for_days_and_then_right_again() {
        let mut ledger = Ledger::default();
        book(&mut ledger, NOON - DAY, 4);
        book(&mut ledger, NOON, 8);
        let wrong = NOON - 7 * DAY;
        book(&mut ledger, wrong, 1);
        assert_eq!(used(&mut ledger, wrong), (13, 13));
        book(&mut ledger, wrong + 2 * DAY, 2);
        assert_eq!(used(&mut ledger, wrong + 2 * DAY), (2, 15), "believed");
        assert_eq!(used(&mut ledger, NOON + 2 * DAY), (0, 15), "and the month has all of it");
        assert_eq!(used(&mut ledger, NOON + 28 * DAY), (0, 13), "on their own days again");
    }

    #[test]
    fn to_believe_a_clock_moves_only_what_lies_ahead_of_it() {
        let mut ledger = Ledger::default();
        book(&mut ledger, NOON + DAY, 1);
        book(&mut ledger, NOON + 9 * DAY, 2);
        ledger.observe(&mut DayCache::default(), UnixTime(NOON));
        assert_eq!(used(&mut ledger, NOON + DAY), (1, 3), "a day later, on a day used before");
    }

    #[test]
    fn a_clock_that_nobody_set_is_never_believed() {
        let mut ledger = Ledger::default();
        book(&mut ledger, 60, 1);
        assert_eq!(used(&mut ledger, 120), (1, 1));
        assert_eq!(used(&mut ledger, NOON), (1, 1), "used before the clock was set: today");
        book(&mut ledger, NOON, 2);
        for day in 0..5 {
            book(&mut ledger, day * DAY, 1);
        }
        assert_eq!(used(&mut ledger, 5 * DAY), (8, 8));
        assert_eq!(used(&mut ledger, NOON + 60), (8, 8));
    }

    #[test]
    fn a_clock_is_believed_from_the_first_second_of_2023() {
        let mut ledger = Ledger::default();
        let first = BELIEVED.0;
        book(&mut ledger, first - 2, 1);
        let unset = ledger.record.days[0].day;
        assert_eq!(ledger.observe(&mut DayCache::default(), UnixTime(first - 1)), unset);
        assert_eq!(ledger.observe(&mut DayCache::default(), UnixTime(first)), unset + 1);
        assert_eq!(used(&mut ledger, first), (1, 1), "it was used today");
        assert_eq!(used(&mut ledger, first + 2 * DAY), (0, 1), "and that is where it stays");
    }

    #[test]
    fn a_clock_that_runs_on_was_not_turned_back() {
        let mut ledger = Ledger::default();
        for now in [NOON, NOON, NOON + 1, NOON + DAY] {
            book(&mut ledger, now, 1);
            assert_eq!(ledger.record.turned_back, None);
        }
        book(&mut ledger, NOON, 1);
        assert_eq!(ledger.record.turned_back, Some(UnixTime(NOON)));
    }

    #[test]
    fn a_clock_believed_and_turned_back_again_books_on_the_newest_day_it_showed() {
        let mut ledger = Ledger::default();
        book(&mut ledger, NOON + DAY, 1);
        book(&mut ledger, NOON + 9 * DAY, 2);
        ledger.observe(&mut DayCache::default(), UnixTime(NOON));
        ledger.observe(&mut DayCache::default(), UnixTime(NOON + DAY));
        book(&mut ledger, NOON, 4);
        assert_eq!(used(&mut ledger, NOON + DAY).0, 5, "nothing of it on the day before");
    }

    #[test]
    fn the_ledger_is_bounded_and_saturates() {
        let mut ledger = Ledger::default();
        for day in 0..500 {
            book(&mut ledger, NOON + day * DAY, u64::MAX / 3);
        }
        assert_eq!(ledger.record.days.len(), MOST_DAYS);
        assert_eq!(used(&mut ledger, NOON + 499 * DAY), (u64::MAX / 3, u64::MAX));
        assert_eq!(ledger.used_ever(), ByteCount(u64::MAX));
        let odd = DayRecord { day: i32::MAX, counts_as: i32::MIN, used: ByteCount(1) };
        let record = Record { days: vec![odd; 1_000], ..Record::default() };
        let mut ledger = Ledger::restore(record);
        book(&mut ledger, 0, 1);
        book(&mut ledger, NOON, 1);
        assert!(ledger.record.days.len() <= MOST_DAYS);
    }
}
