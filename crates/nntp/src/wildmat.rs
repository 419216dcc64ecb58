//! [`Wildmat`]: a pattern for names of newsgroups.

use std::fmt;

use thiserror::Error;

/// A pattern that fits a command line: `alt.binaries.*,!alt.binaries.test` (RFC 3977, section 4).
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Wildmat(Box<str>);

impl Wildmat {
    pub fn parse(text: &str) -> Result<Self, InvalidWildmat> {
        if text.is_empty() || text.len() > LONGEST {
            return Err(InvalidWildmat::Length(text.len()));
        }
        match text.chars().find(|c| c.is_control() || c.is_whitespace()) {
            Some(c) => Err(InvalidWildmat::Forbidden(c)),
            None => Ok(Self(text.into())),
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Wildmat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Why a text cannot be sent as a pattern.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
pub enum InvalidWildmat {
    #[error("the pattern holds {0:?}, which could break a command line")]
    Forbidden(char),
    #[error("the pattern has {0} bytes instead of 1 to {LONGEST}")]
    Length(usize),
}

/// A command line has at most 512 bytes (RFC 3977, section 3.1).
const LONGEST: usize = 480;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_fits_one_word_of_a_command_is_a_pattern() {
        assert_eq!(Wildmat::parse("a.*,!a.b").unwrap().to_string(), "a.*,!a.b");
        for text in ["", "a b", "a\r\nQUIT", &"x".repeat(LONGEST + 1)] {
            assert!(Wildmat::parse(text).is_err(), "{text:?}");
        }
    }
}
