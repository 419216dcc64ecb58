//! [`Seed`]: the number a day is expanded from. Pure.

use std::fmt;
use std::str::FromStr;

/// A day of model servers is `12`; a byte-level day, through the real `nntp` and `yenc`, is
/// `bytes-12`.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Seed {
    Articles(u64),
    Bytes(u64),
}

impl Seed {
    /// The number for chance; the same number gives different days of the two kinds.
    pub(crate) fn number(self) -> u64 {
        match self {
            Self::Articles(number) => number,
            Self::Bytes(number) => !number,
        }
    }
}

impl fmt::Display for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Articles(number) => write!(f, "{number}"),
            Self::Bytes(number) => write!(f, "bytes-{number}"),
        }
    }
}

impl FromStr for Seed {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.strip_prefix("bytes-") {
            Some(number) => number.parse().map(Self::Bytes),
            None => text.parse().map(Self::Articles),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_reads_back_as_it_is_printed() {
        for seed in [Seed::Articles(0), Seed::Articles(u64::MAX), Seed::Bytes(7)] {
            assert_eq!(seed.to_string().parse(), Ok(seed));
        }
        assert!("bytes-x".parse::<Seed>().is_err());
    }
}
