//! [`Weekdays`]: a set of days of the week.

use std::fmt;
use std::str::FromStr;

use chrono::{Weekday, WeekdaySet};
use thiserror::Error;

/// A set of weekdays, parsed from text such as `mon-fri`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Weekdays(WeekdaySet);

#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[error("{0:?} are no weekdays; write them like \"mon-fri\", \"sat, sun\" or \"daily\"")]
pub struct InvalidWeekdays(String);

impl Weekdays {
    pub const DAILY: Self = Self(WeekdaySet::ALL);

    pub fn contains(self, day: Weekday) -> bool {
        self.0.contains(day)
    }
}

impl FromIterator<Weekday> for Weekdays {
    fn from_iter<I: IntoIterator<Item = Weekday>>(days: I) -> Self {
        Self(days.into_iter().collect())
    }
}

impl fmt::Display for Weekdays {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::DAILY {
            return f.write_str("daily");
        }
        let days = self.0.iter(Weekday::Mon);
        let names: Vec<_> = days.map(|day| day.to_string().to_lowercase()).collect();
        f.write_str(&names.join(","))
    }
}

impl FromStr for Weekdays {
    type Err = InvalidWeekdays;

    /// Ranges may go over the end of the week: `fri-mon`.
    fn from_str(text: &str) -> Result<Self, InvalidWeekdays> {
        let invalid = || InvalidWeekdays(text.to_owned());
        let day = |name: &str| name.trim().parse::<Weekday>().map_err(|_| invalid());
        if text.trim().eq_ignore_ascii_case("daily") {
            return Ok(Self::DAILY);
        }
        let mut set = WeekdaySet::EMPTY;
        for part in text.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (mut next, last) = (day(first)?, day(last)?);
            set.insert(next);
            while next != last {
                next = next.succ();
                set.insert(next);
            }
        }
        Ok(Self(set))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_read_and_shown() {
        for (text, shown) in [
            ("daily", "daily"),
            ("Mon-Sun", "daily"),
            ("mon-fri", "mon,tue,wed,thu,fri"),
            ("fri-mon", "mon,fri,sat,sun"),
            (" Saturday , sun ", "sat,sun"),
            ("wed", "wed"),
        ] {
            assert_eq!(text.parse::<Weekdays>().unwrap().to_string(), shown);
        }
        for text in ["", "mon,", "mon-", "someday", "mon-tue-wed"] {
            assert_eq!(text.parse::<Weekdays>(), Err(InvalidWeekdays(text.into())));
        }
        assert_eq!([Weekday::Sun].into_iter().collect::<Weekdays>(), "sun".parse().unwrap());
    }
}
