//! [`GroupName`]: the name of a newsgroup.

use std::fmt;

use thiserror::Error;

/// The name of a newsgroup; safe to send in a command line.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct GroupName(Box<str>);

impl GroupName {
    pub fn parse(text: &str) -> Result<Self, InvalidGroupName> {
        let name = text.trim_matches([' ', '\t', '\r', '\n']);
        if name.is_empty() || name.len() > LONGEST {
            return Err(InvalidGroupName::Length(name.len()));
        }
        match name
            .chars()
            .find(|&c| c.is_control() || c.is_whitespace() || c == char::REPLACEMENT_CHARACTER)
        {
            Some(c) => Err(InvalidGroupName::Forbidden(c)),
            None => Ok(Self(name.into())),
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for GroupName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Why a text names no newsgroup.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
pub enum InvalidGroupName {
    #[error("the group name holds {0:?}, which could break a command line")]
    Forbidden(char),
    #[error("the group name has {0} bytes instead of 1 to {LONGEST}")]
    Length(usize),
}

/// A command line has at most 512 bytes (RFC 3977, section 3.1); `GROUP` and the line end take 8.
const LONGEST: usize = 497;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_fits_one_word_of_a_command_is_a_group() {
        assert_eq!(GroupName::parse(" alt.binaries.test\n").unwrap().as_str(), "alt.binaries.test");
        for text in ["", "a b", "a\r\nQUIT", "a\0"] {
            assert!(GroupName::parse(text).is_err(), "{text:?}");
        }
        assert!(GroupName::parse(&"x".repeat(LONGEST)).is_ok());
        assert!(GroupName::parse(&"x".repeat(LONGEST + 1)).is_err());
    }
}
