//! [`ByteCount`], [`ByteRate`]: amounts of bytes and rates.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// A number of bytes.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct ByteCount(pub u64);

/// Bytes per second; a rate and an amount never mix by accident.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct ByteRate(pub u64);

/// Why a text is no amount.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
pub enum InvalidAmount {
    #[error("{0:?} is not a number of bytes; write it like \"750 KB\", \"40 MiB\" or \"1.5 GB\"")]
    Malformed(String),
    #[error("{0:?} is more bytes than can be counted")]
    TooLarge(String),
}

impl FromStr for ByteCount {
    type Err = InvalidAmount;

    fn from_str(text: &str) -> Result<Self, InvalidAmount> {
        let malformed = || InvalidAmount::Malformed(text.to_owned());
        let trimmed = text.trim();
        let digits =
            trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(trimmed.len());
        let (number, unit) = trimmed.split_at(digits);
        let number: f64 = number.parse().map_err(|_| malformed())?;
        let unit = unit.trim();
        let factor =
            UNITS.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit)).ok_or_else(malformed)?.1;
        let bytes = number * factor as f64;
        if bytes >= u64::MAX as f64 {
            return Err(InvalidAmount::TooLarge(text.to_owned()));
        }
        Ok(Self(bytes as u64))
    }
}

impl fmt::Display for ByteCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.0 as f64;
        match self.0 {
            0..=999 => write!(f, "{} B", self.0),
            1_000..=999_949 => write!(f, "{:.1} kB", value / 1e3),
            999_950..=999_949_999 => write!(f, "{:.1} MB", value / 1e6),
            _ => write!(f, "{:.2} GB", value / 1e9),
        }
    }
}

impl fmt::Display for ByteRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/s", ByteCount(self.0))
    }
}

const UNITS: &[(&str, u64)] = &[
    ("", 1),
    ("B", 1),
    ("KB", 1_000),
    ("KiB", 1 << 10),
    ("MB", 1_000_000),
    ("MiB", 1 << 20),
    ("GB", 1_000_000_000),
    ("GiB", 1 << 30),
    ("TB", 1_000_000_000_000),
    ("TiB", 1 << 40),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read_with_their_units() {
        for (text, bytes) in [
            ("0", 0),
            ("750 KB", 750_000),
            ("40MiB", 40 << 20),
            ("1.5 gb", 1_500_000_000),
            (" 7 B ", 7),
        ] {
            assert_eq!(text.parse(), Ok(ByteCount(bytes)), "{text:?}");
        }
        for text in ["", "MB", "-1", "1 parsec", "1e9", "1.2.3 MB"] {
            assert!(
                matches!(text.parse::<ByteCount>(), Err(InvalidAmount::Malformed(_))),
                "{text:?}"
            );
        }
        assert!(matches!("99999999999 TB".parse::<ByteCount>(), Err(InvalidAmount::TooLarge(_))));
    }

    #[test]
    fn amounts_are_shown_for_people() {
        let shown: Vec<_> = [999, 1_000, 999_949, 999_950, 268_435_456, 5_000_000_000]
            .map(|n| ByteCount(n).to_string())
            .into();
        assert_eq!(shown, ["999 B", "1.0 kB", "999.9 kB", "1.0 MB", "268.4 MB", "5.00 GB"]);
        assert_eq!(ByteRate(2_500_000).to_string(), "2.5 MB/s");
    }
}
