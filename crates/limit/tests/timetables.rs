//! A year of timetables in seven zones, against clocks on the wall that are read minute by minute.

use bergamot_limit::{Effect, Rule, Timetable, Zone};
use bergamot_types::{ByteRate, UnixTime};
use chrono::{DateTime, Datelike, Days, NaiveDate, NaiveDateTime, NaiveTime, TimeZone};

const ZONES: [&str; 7] = [
    "America/New_York",
    "Asia/Beirut", // puts its clocks back over midnight
    "Asia/Kolkata",
    "Australia/Lord_Howe",
    "Europe/Berlin",
    "Pacific/Apia",
    "UTC",
];
const MINUTE: i64 = 60;

#[test]
fn a_year_is_as_a_walk_finds_it() {
    for zone in ZONES {
        let rules = [
            ("daily", "01:10", "03:20", 1),
            ("sun", "02:10", "02:20", 2),
            ("sat,sun", "02:15", "01:45", 3),
            ("mon-fri", "23:30", "00:10", 4),
            ("wed", "12:00", "12:00", 5),
        ];
        let year = Year::walk(zone.parse().unwrap());
        // Each alone, and all of them.
        for alone in 0..rules.len() {
            check(zone, &year, &rules[alone..=alone]);
        }
        check(zone, &year, &rules);
    }
}

fn check(zone: &str, year: &Year, rules: &[(&str, &str, &str, u64)]) {
    let mut expected = vec![None; year.wall.len()];
    for &(days, from, to, rate) in rules {
        year.paint(&mut expected, days, from, to, rate);
    }
    let parsed = rules.iter().map(|&(days, from, to, rate)| Rule {
        days: days.parse().expect("weekdays"),
        from: from.parse().expect("a time of day"),
        to: to.parse().expect("a time of day"),
        effect: Effect::Limit(ByteRate(rate)),
    });
    let table = Timetable::new(zone.parse().expect("a zone"), parsed.collect());
    // The first and the last days depend on rules that begin outside of the year.
    let inside = 3 * 1_440..year.wall.len() - 20 * 1_440;
    let answer = |index: usize| match table.active_at(year.time(index))? {
        Effect::Limit(rate) => Some(rate.0),
        Effect::Pause => None,
    };
    let mut index = inside.start;
    while index < inside.end {
        assert_eq!(answer(index), expected[index], "{zone} {}", year.wall[index]);
        let change = (index..).find(|&later| expected[later] != expected[index]).expect("a change");
        let next = table.next_change_after(year.time(index));
        assert_eq!(next, Some(year.time(change)), "{zone} after {}", year.wall[index]);
        assert_eq!(answer(change - 1), expected[index], "{zone} {}", year.wall[change - 1]);
        assert_eq!(answer((index + change) / 2), expected[index], "{zone} {}", year.wall[index]);
        index = change;
    }
}

/// What clocks show in each minute of 2026.
struct Year {
    start: i64,
    wall: Vec<NaiveDateTime>,
}

impl Year {
    fn walk(zone: Zone) -> Self {
        let start = seconds("2026-01-01T00:00:00Z");
        let zone: chrono_tz::Tz = zone.to_string().parse().expect("they know it too");
        let wall = (0..365 * 1_440).map(|minute| {
            let utc =
                DateTime::from_timestamp(start + minute * MINUTE, 0).expect("a time").naive_utc();
            zone.from_utc_datetime(&utc).naive_local()
        });
        Self { start, wall: wall.collect() }
    }

    fn time(&self, index: usize) -> UnixTime {
        UnixTime(self.start + index as i64 * MINUTE)
    }

    fn paint(&self, expected: &mut [Option<u64>], days: &str, from: &str, to: &str, rate: u64) {
        let time = |text| NaiveTime::parse_from_str(text, "%H:%M").expect("a time of day");
        let (from, to) = (time(from), time(to));
        let days: bergamot_limit::Weekdays = days.parse().expect("weekdays");
        for offset in 0..366 {
            let date = NaiveDate::from_ymd_opt(2026, 1, 1).expect("a date") + Days::new(offset);
            if days.contains(date.weekday()) {
                let last = if to > from { date } else { date + Days::new(1) };
                let begin = self.first_at(date.and_time(from));
                let end = self.first_at(last.and_time(to));
                expected[begin.min(end)..end].fill(Some(rate));
            }
        }
    }

    /// The first minute in which clocks have come to that time.
    fn first_at(&self, time: NaiveDateTime) -> usize {
        let day = (time - self.wall[0]).num_days().max(0) as usize;
        let near = (day.saturating_sub(1) * 1_440).min(self.wall.len());
        let after = self.wall[near..].iter().position(|wall| *wall >= time);
        after.map_or(self.wall.len(), |after| near + after)
    }
}

fn seconds(text: &str) -> i64 {
    DateTime::parse_from_rfc3339(text).expect("a time").timestamp()
}
