//! [`ArticleRange`]: article numbers of a newsgroup on one server.

use std::fmt;

/// The numbers from `first` to `last`, both included; one server's numbers mean nothing to another.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct ArticleRange {
    pub first: u64,
    pub last: u64,
}

impl ArticleRange {
    /// How many numbers that are, which is the most articles there can be.
    pub fn count(&self) -> u64 {
        if self.first > self.last { 0 } else { (self.last - self.first).saturating_add(1) }
    }

    pub fn contains(&self, number: u64) -> bool {
        (self.first..=self.last).contains(&number)
    }

    pub fn is_empty(&self) -> bool {
        self.first > self.last
    }
}

/// As commands write it.
impl fmt::Display for ArticleRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.first, self.last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_of_any_two_numbers_overflows_nothing() {
        let count = |first, last| ArticleRange { first, last }.count();
        assert_eq!([count(5, 5), count(1, 10), count(10, 1), count(1, 0)], [1, 10, 0, 0]);
        assert_eq!(count(0, u64::MAX), u64::MAX);
        assert_eq!(ArticleRange { first: 3, last: 9 }.to_string(), "3-9");
    }
}
