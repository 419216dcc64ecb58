//! Windows over five years in seven zones, against a walk through all their quarters of an hour.
//!
//! The walk only ever asks what clocks show at a time, never when they show it, and steps from day
//! to day by counting; so it shares neither the search nor the arithmetic with what it checks.

use bergamot_limit::{Calendar, Period, Window, Zone};
use bergamot_types::UnixTime;
use chrono::{DateTime, Datelike, NaiveDate, NaiveDateTime, NaiveTime, TimeZone, Weekday};
use proptest::prelude::*;

const ZONES: [&str; 7] = [
    "America/New_York",
    "Asia/Beirut", // puts its clocks back over midnight
    "Asia/Kolkata",
    "Australia/Lord_Howe",
    "Europe/Berlin",
    "Pacific/Apia",
    "UTC",
];
const QUARTER: i64 = 900;

#[test]
fn every_window_of_five_years_is_where_a_walk_finds_it() {
    let mut windows = 0;
    for zone in ZONES {
        for reset in ["00:00", "02:30", "23:45"] {
            let calendar = Calendar { zone: zone.parse().unwrap(), reset: reset.parse().unwrap() };
            let days = walk(zone, reset);
            windows += compare(&calendar, Period::Day, &days, |_| true);
            for first in [Weekday::Mon, Weekday::Sun] {
                let starts = |date: NaiveDate| date.weekday() == first;
                windows += compare(&calendar, Period::Week { first }, &days, starts);
            }
            for first in [1, 2, 15, 28, 29, 30, 31] {
                let starts = |date| starts_month(date, first);
                windows += compare(&calendar, Period::Month { first }, &days, starts);
            }
        }
    }
    println!("{windows} windows");
    assert!(windows > 7 * 3 * (1_820 + 2 * 258 + 7 * 58));
}

/// The given day, or the last of a month that is too short for it.
fn starts_month(date: NaiveDate, first: u8) -> bool {
    let is_last = date.succ_opt().expect("no end of days").day() == 1;
    date.day() == u32::from(first) || is_last && date.day() < u32::from(first)
}

/// Each date from 2024 to 2028 and when its quota day begins.
fn walk(zone: &str, reset: &str) -> Vec<(NaiveDate, i64)> {
    let zone: chrono_tz::Tz = zone.parse().expect("a zone");
    let reset = NaiveTime::parse_from_str(reset, "%H:%M").expect("a time of day");
    let wall = |at: i64| -> NaiveDateTime {
        let utc = DateTime::from_timestamp(at, 0).expect("a time").naive_utc();
        zone.from_utc_datetime(&utc).naive_local()
    };
    let mut at = seconds("2023-12-31T00:00:00Z");
    let end = seconds("2029-01-01T00:00:00Z");
    let mut next = wall(at).date().succ_opt().expect("no end of days");
    let mut days = Vec::new();
    while at < end {
        if wall(at) >= next.and_time(reset) {
            days.push((next, at));
            next = next.succ_opt().expect("no end of days");
        }
        at += QUARTER;
    }
    days
}

fn compare(
    calendar: &Calendar,
    period: Period,
    days: &[(NaiveDate, i64)],
    starts: impl Fn(NaiveDate) -> bool,
) -> usize {
    let starts: Vec<i64> =
        days.iter().filter(|(date, _)| starts(*date)).map(|&(_, start)| start).collect();
    for pair in starts.windows(2) {
        let &[start, end] = pair else { unreachable!("pairs") };
        for at in [start, start + 1, (start + end) / 2, end - 1] {
            let window = calendar.window(period, UnixTime(at)).expect("a period with an end");
            let Window { start: from, end: to, .. } = window;
            assert_eq!((from.0, to.0), (start, end), "{calendar:?} {period:?} at {at}");
        }
    }
    starts.len() - 1
}

fn seconds(text: &str) -> i64 {
    DateTime::parse_from_rfc3339(text).expect("a time").timestamp()
}

fn period() -> impl Strategy<Value = Period> {
    let weekday = (0..7_u8).prop_map(|day| Weekday::try_from(day).expect("one of seven"));
    prop_oneof![
        Just(Period::Day),
        weekday.prop_map(|first| Period::Week { first }),
        (0..=255_u8).prop_map(|first| Period::Month { first }),
    ]
}

proptest! {
    /// Any zone there is, any reset, any time of the last and the next hundred years.
    #[test]
    fn windows_are_contiguous_and_never_empty(
        zone in prop::sample::select(Zone::names().collect::<Vec<_>>()),
        (hour, minute) in (0..24_u16, 0..60_u16),
        period in period(),
        at in -3_000_000_000_i64..6_000_000_000,
    ) {
        let reset = bergamot_limit::TimeOfDay::new(hour, minute).unwrap();
        let calendar = Calendar { zone: zone.parse().unwrap(), reset };
        let window = |at| calendar.window(period, at).unwrap();
        let this = window(UnixTime(at));
        prop_assert!(this.start.0 <= at && at < this.end.0);
        prop_assert!(this.end.0 - this.start.0 <= 33 * 86_400);
        prop_assert_eq!(window(this.start), this);
        prop_assert_eq!(window(UnixTime(this.end.0 - 1)), this);
        let next = window(this.end);
        prop_assert_eq!(next.start, this.end);
        prop_assert!(next.end > next.start);
        let before = window(UnixTime(this.start.0 - 1));
        prop_assert_eq!(before.end, this.start);
    }
}
