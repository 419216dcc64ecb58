//! [`Window`]: the period of time that a quota is counted in.

use bergamot_types::UnixTime;
use chrono::{Datelike, Days, Months, NaiveDate, Weekday};

use crate::calendar::time_of_day::TimeOfDay;
use crate::calendar::zone::Zone;

/// Where quota days lie: one begins each date at that time of that zone.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Calendar {
    pub zone: Zone,
    pub reset: TimeOfDay,
}

/// How often an allowance is given anew.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Period {
    Day,
    Week {
        first: Weekday,
    },
    /// From that day of the month, 1 to 31. In a shorter month it is the last day, and the next
    /// window begins there; nzbget would begin it on the 1st of the following month instead.
    Month {
        first: u8,
    },
    /// Once: a block account.
    Ever,
}

/// Whole quota days, and the instants at which they begin and end.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Window {
    pub start: UnixTime,
    /// The next window starts with it.
    pub end: UnixTime,
    pub(crate) first: NaiveDate,
    pub(crate) after: NaiveDate,
}

impl Calendar {
    /// The quota day of a time, by the date it begins on.
    pub(crate) fn day(&self, at: UnixTime) -> NaiveDate {
        let date = self.zone.local(at).date();
        let later = date.succ_opt().filter(|&date| self.start(date) <= at);
        later.unwrap_or_else(|| {
            let mut day = date;
            // Once; twice across a date that a zone left out; a clock beyond all calendars, no more.
            for _ in 0..2 {
                if self.start(day) > at {
                    day = day.pred_opt().unwrap_or(day);
                }
            }
            day
        })
    }

    pub(crate) fn start(&self, day: NaiveDate) -> UnixTime {
        self.zone.instant(day, self.reset)
    }

    /// Computed from the time alone, so it does not matter whether the process ran when the window began. A
    /// period without end has none.
    pub fn window(&self, period: Period, at: UnixTime) -> Option<Window> {
        let day = self.day(at);
        let (first, after) = match period {
            Period::Day => (day, day.succ_opt()?),
            Period::Week { first } => {
                let into = (day.weekday().days_since(first)).into();
                let start = day.checked_sub_days(Days::new(into))?;
                (start, start.checked_add_days(Days::new(7))?)
            }
            Period::Month { first } => {
                let this = in_month(day, first)?;
                let month = Months::new(1);
                if this <= day {
                    (this, in_month(day.with_day(1)?.checked_add_months(month)?, first)?)
                } else {
                    (in_month(day.with_day(1)?.checked_sub_months(month)?, first)?, this)
                }
            }
            Period::Ever => return None,
        };
        Some(Window { start: self.start(first), end: self.start(after), first, after })
    }
}

/// The given day of the month that `date` lies in, or its last one.
fn in_month(date: NaiveDate, day: u8) -> Option<NaiveDate> {
    let first = date.with_day(1)?;
    let last = first.checked_add_months(Months::new(1))?.pred_opt()?;
    first.with_day(u32::from(day).clamp(1, last.day()))
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::*;

    fn window(zone: &str, reset: &str, period: Period, at: &str) -> String {
        let calendar = Calendar { zone: zone.parse().unwrap(), reset: reset.parse().unwrap() };
        let at = DateTime::parse_from_rfc3339(&format!("{at}:00Z")).unwrap().timestamp();
        let window = calendar.window(period, UnixTime(at)).unwrap();
        let [start, end] = [window.start, window.end]
            .map(|at| DateTime::from_timestamp(at.0, 0).unwrap().format("%F %R").to_string());
        format!("{start} to {end}")
    }

    #[test]
    fn windows_of_all_kinds() {
        let monthly = |first| Period::Month { first };
        for (zone, reset, period, at, expected) in [
            (
                "UTC",
                "00:00",
                Period::Day,
                "2026-11-16T00:00",
                "2026-11-16 00:00 to 2026-11-17 00:00",
            ),
            (
                "UTC",
                "06:00",
                Period::Day,
                "2026-11-16T05:59",
                "2026-11-15 06:00 to 2026-11-16 06:00",
            ),
            (
                "Asia/Kolkata",
                "00:00",
                Period::Day,
                "2026-11-15T18:30",
                "2026-11-15 18:30 to 2026-11-16 18:30",
            ),
            // 23 and 25 hours.
            (
                "Europe/Berlin",
                "00:00",
                Period::Day,
                "2026-03-29T12:00",
                "2026-03-28 23:00 to 2026-03-29 22:00",
            ),
            (
                "Europe/Berlin",
                "00:00",
                Period::Day,
                "2026-10-25T12:00",
                "2026-10-24 22:00 to 2026-10-25 23:00",
            ),
            // A reset that does not exist, and one that exists twice.
            (
                "Europe/Berlin",
                "02:30",
                Period::Day,
                "2026-03-29T01:00",
                "2026-03-29 01:00 to 2026-03-30 00:30",
            ),
            (
                "Europe/Berlin",
                "02:30",
                Period::Day,
                "2026-10-25T01:30",
                "2026-10-25 00:30 to 2026-10-26 01:30",
            ),
            (
                "UTC",
                "00:00",
                Period::Week { first: Weekday::Mon },
                "2026-11-22T23:59",
                "2026-11-16 00:00 to 2026-11-23 00:00",
            ),
            (
                "UTC",
                "00:00",
                Period::Week { first: Weekday::Sun },
                "2026-11-22T00:00",
                "2026-11-22 00:00 to 2026-11-29 00:00",
            ),
            (
                "UTC",
                "00:00",
                monthly(1),
                "2026-11-16T00:00",
                "2026-11-01 00:00 to 2026-12-01 00:00",
            ),
            (
                "UTC",
                "00:00",
                monthly(31),
                "2024-02-29T00:00",
                "2024-02-29 00:00 to 2024-03-31 00:00",
            ),
            (
                "UTC",
                "00:00",
                monthly(31),
                "2026-02-27T23:59",
                "2026-01-31 00:00 to 2026-02-28 00:00",
            ),
            (
                "UTC",
                "00:00",
                monthly(30),
                "2026-02-28T00:00",
                "2026-02-28 00:00 to 2026-03-30 00:00",
            ),
            (
                "UTC",
                "00:00",
                monthly(29),
                "2028-02-29T00:00",
                "2028-02-29 00:00 to 2028-03-29 00:00",
            ),
            (
                "UTC",
                "00:00",
                monthly(0),
                "2026-01-01T00:00",
                "2026-01-01 00:00 to 2026-02-01 00:00",
            ),
            (
                "UTC",
                "00:00",
                monthly(255),
                "2026-01-01T00:00",
                "2025-12-31 00:00 to 2026-01-31 00:00",
            ),
            // At one minute past midnight clocks were put back into the day before.
            (
                "America/St_Johns",
                "00:00",
                Period::Day,
                "2006-10-29T02:45",
                "2006-10-29 02:30 to 2006-10-30 03:30",
            ),
            // The day that Samoa left out.
            (
                "Pacific/Apia",
                "00:00",
                Period::Day,
                "2011-12-30T10:00",
                "2011-12-30 10:00 to 2011-12-31 10:00",
            ),
            (
                "Pacific/Apia",
                "00:00",
                Period::Day,
                "2011-12-30T09:59",
                "2011-12-29 10:00 to 2011-12-30 10:00",
            ),
            (
                "Pacific/Apia",
                "00:00",
                monthly(30),
                "2011-12-30T10:00",
                "2011-12-30 10:00 to 2012-01-29 10:00",
            ),
        ] {
            assert_eq!(window(zone, reset, period, at), expected, "{zone} {reset} {period:?} {at}");
        }
    }

    #[test]
    fn broken_clocks_are_no_panic() {
        for seconds in [i64::MIN, 0, i64::MAX] {
            for period in [Period::Day, Period::Month { first: 31 }, Period::Ever] {
                Calendar::default().window(period, UnixTime(seconds));
            }
        }
    }
}
