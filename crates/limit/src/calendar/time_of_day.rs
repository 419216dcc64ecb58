//! [`TimeOfDay`]: a local time of day.

use std::fmt;
use std::str::FromStr;

use chrono::NaiveTime;
use thiserror::Error;

/// Hours and minutes, from 00:00 to 23:59.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
pub struct TimeOfDay {
    minutes: u16,
}

#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[error("{0:?} is no time of day; write it like \"06:30\"")]
pub struct InvalidTimeOfDay(String);

impl TimeOfDay {
    pub const MIDNIGHT: Self = Self { minutes: 0 };

    pub fn new(hour: u16, minute: u16) -> Option<Self> {
        (hour < 24 && minute < 60).then_some(Self { minutes: hour * 60 + minute })
    }

    pub(crate) fn naive(self) -> NaiveTime {
        let seconds = u32::from(self.minutes) * 60;
        NaiveTime::from_num_seconds_from_midnight_opt(seconds, 0).unwrap_or_default()
    }
}

impl fmt::Display for TimeOfDay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02}:{:02}", self.minutes / 60, self.minutes % 60)
    }
}

impl FromStr for TimeOfDay {
    type Err = InvalidTimeOfDay;

    fn from_str(text: &str) -> Result<Self, InvalidTimeOfDay> {
        let number = |digits: &str| match digits.len() {
            1 | 2 if digits.bytes().all(|byte| byte.is_ascii_digit()) => digits.parse().ok(),
            _ => None,
        };
        let parse = || {
            let (hour, minute) = text.trim().split_once(':')?;
            Self::new(number(hour)?, number(minute)?)
        };
        parse().ok_or_else(|| InvalidTimeOfDay(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_and_shown() {
        for (text, shown) in [("0:00", "00:00"), (" 6:30 ", "06:30"), ("23:59", "23:59")] {
            assert_eq!(text.parse::<TimeOfDay>().unwrap().to_string(), shown);
        }
        for text in ["", "24:00", "12:60", "12", "1:2:3", "+1:00", "012:00", "-1:00"] {
            assert_eq!(text.parse::<TimeOfDay>(), Err(InvalidTimeOfDay(text.into())));
        }
    }
}
