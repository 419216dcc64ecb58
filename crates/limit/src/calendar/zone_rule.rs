//! The yearly rule of summer time in POSIX notation: `CET-1CEST,M3.5.0,M10.5.0/3`. Pure.

use chrono::{DateTime, Datelike, NaiveDate};

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Rule {
    standard: i32, // seconds east of UTC
    summer: Option<Summer>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Summer {
    offset: i32,
    from: Change,
    to: Change,
}

/// A day of the year, and a time by the clock that holds until then; it may lie days off.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Change {
    day: Day,
    seconds: i64,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Day {
    /// From 1, never counting the 29th of February.
    Julian(u16),
    /// The weekday's last occurrence in the month, if it is the fifth.
    Month { month: u8, week: u8, weekday: u8 },
    /// From 0.
    Plain(u16),
}

impl Rule {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut rest = text;
        skip_name(&mut rest)?;
        let standard = -take_time(&mut rest)?;
        let standard = i32::try_from(standard).ok()?;
        if rest.is_empty() {
            return Some(Self { standard, summer: None });
        }
        skip_name(&mut rest)?;
        let offset = match rest.starts_with(',') {
            true => standard + HOUR as i32,
            false => i32::try_from(-take_time(&mut rest)?).ok()?,
        };
        let from = Change::take(&mut rest)?;
        let to = Change::take(&mut rest)?;
        rest.is_empty().then_some(Self { standard, summer: Some(Summer { offset, from, to }) })
    }

    /// Seconds east of UTC.
    pub(crate) fn offset(&self, utc: i64) -> i32 {
        let Some(Summer { offset, from, to }) = self.summer else { return self.standard };
        let year = year_of(utc + i64::from(self.standard));
        let from = from.in_year(year) - i64::from(self.standard);
        let to = to.in_year(year) - i64::from(offset);
        let is_summer = match from < to {
            true => (from..to).contains(&utc),
            false => !(to..from).contains(&utc), // over the turn of the year
        };
        if is_summer { offset } else { self.standard }
    }
}

impl Change {
    fn take(rest: &mut &str) -> Option<Self> {
        *rest = rest.strip_prefix(',')?;
        let day = Day::take(rest)?;
        let seconds = match rest.strip_prefix('/') {
            None => 2 * HOUR,
            Some(time) => {
                *rest = time;
                take_time(rest)?
            }
        };
        Some(Self { day, seconds })
    }

    /// By the clock on the wall.
    fn in_year(&self, year: i32) -> i64 {
        let Some(first) = NaiveDate::from_ymd_opt(year, 1, 1) else { return 0 };
        let days = i64::from(self.day.in_year(first));
        first.and_time(chrono::NaiveTime::MIN).and_utc().timestamp() + days * DAY + self.seconds
    }
}

impl Day {
    fn take(rest: &mut &str) -> Option<Self> {
        if let Some(month) = rest.strip_prefix('M') {
            *rest = month;
            let month = take_number(rest)?;
            *rest = rest.strip_prefix('.')?;
            let week = take_number(rest)?;
            *rest = rest.strip_prefix('.')?;
            let weekday = take_number(rest)?;
            let is_sound = (1..=12).contains(&month) && (1..=5).contains(&week) && weekday < 7;
            let [month, week, weekday] = [month, week, weekday].map(|number| number as u8);
            return is_sound.then_some(Self::Month { month, week, weekday });
        }
        if let Some(day) = rest.strip_prefix('J') {
            *rest = day;
            return take_number(rest).filter(|day| (1..=365).contains(day)).map(Self::Julian);
        }
        take_number(rest).filter(|day| *day < 366).map(Self::Plain)
    }

    /// Days from the first one of the year.
    fn in_year(self, first: NaiveDate) -> u32 {
        match self {
            Self::Plain(day) => day.into(),
            Self::Julian(day) => u32::from(day) - 1 + u32::from(first.leap_year() && day > 59),
            Self::Month { month, week, weekday } => {
                let Some(begin) = first.with_month(month.into()) else { return 0 };
                let lead = (7 + u32::from(weekday) - begin.weekday().num_days_from_sunday()) % 7;
                let day = lead + 7 * (u32::from(week) - 1);
                let last = u32::from(begin.num_days_in_month());
                begin.ordinal0() + if day < last { day } else { day - 7 }
            }
        }
    }
}

fn year_of(local: i64) -> i32 {
    DateTime::from_timestamp(local, 0).map_or(1970, |date| date.year())
}

/// Letters, or anything in angle brackets.
fn skip_name(rest: &mut &str) -> Option<()> {
    let end = match rest.strip_prefix('<') {
        Some(name) => name.find('>')? + 2,
        None => rest.find(|letter: char| !letter.is_ascii_alphabetic()).unwrap_or(rest.len()),
    };
    *rest = &rest[end..];
    (end > 0).then_some(())
}

/// Hours, and minutes and seconds if there are any.
fn take_time(rest: &mut &str) -> Option<i64> {
    let sign = if rest.starts_with('-') { -1 } else { 1 };
    *rest = rest.strip_prefix(['-', '+']).unwrap_or(rest);
    let mut seconds = i64::from(take_number(rest)?) * HOUR;
    for unit in [60, 1] {
        let Some(next) = rest.strip_prefix(':') else { break };
        *rest = next;
        seconds += i64::from(take_number(rest)?) * unit;
    }
    Some(sign * seconds)
}

fn take_number(rest: &mut &str) -> Option<u16> {
    let end = rest.find(|digit: char| !digit.is_ascii_digit()).unwrap_or(rest.len());
    let number = rest[..end].parse().ok()?;
    *rest = &rest[end..];
    Some(number)
}

const HOUR: i64 = 3600;
const DAY: i64 = 86_400;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_that_are_none_are_refused() {
        for text in ["", "CET", "-1", "CET-1CEST", "CET-1CEST,M3.5.0", "CET-1CEST,M13.5.0,M1.1.0"] {
            assert_eq!(Rule::parse(text), None, "{text}");
        }
        for text in ["CET-1CEST,M3.5.7,M10.5.0", "AAA0BBB,366,300", "AAA0BBB,J366,300"] {
            assert_eq!(Rule::parse(text), None, "{text}");
        }
        for text in ["CET-1CEST,M3.5.0,M10.5.0/3 ", "<+03-3", "CET-1CEST,M3.6.0,M10.5.0", "A99999"]
        {
            assert_eq!(Rule::parse(text), None, "{text}");
        }
    }

    #[test]
    fn days_of_the_year_may_be_counted_too() {
        for (rule, last, first) in [
            ("J59/0,300/0", "2023-02-27", "2023-02-28"),
            ("J59/0,300/0", "2024-02-27", "2024-02-28"),
            ("J60/0,300/0", "2023-02-28", "2023-03-01"),
            ("J60/0,300/0", "2024-02-29", "2024-03-01"),
            ("300/0,J60/0", "2023-10-27", "2023-10-28"),
        ] {
            let rule = Rule::parse(&format!("AAA0BBB,{rule}")).expect("a good rule");
            let offset = |date: &str| {
                let date: NaiveDate = date.parse().expect("a date");
                rule.offset(date.and_time(chrono::NaiveTime::MIN).and_utc().timestamp())
            };
            assert_eq!((offset(last), offset(first)), (0, 3600), "{rule:?} {first}");
        }
    }
}
