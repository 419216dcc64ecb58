//! [`MessageId`]: the name of an article on Usenet.

use std::fmt;
use std::sync::Arc;

use thiserror::Error;

/// A message-id without its angle brackets, as NZB files write it.
///
/// Holds nothing that could end a command line early, so it may be sent as it is.
#[derive(Clone, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct MessageId(Arc<str>);

impl MessageId {
    /// Accepts the id with or without its brackets and with blanks around it.
    pub fn parse(text: &str) -> Result<Self, InvalidMessageId> {
        bare(text).map(|id| Self(id.into()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// For text that went through [`bare`] before, as the entries of a `MessageIdList` did.
    pub(crate) fn from_bare(text: &str) -> Self {
        Self(text.into())
    }
}

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<{}>", self.0)
    }
}

/// Why a text is no message-id.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
pub enum InvalidMessageId {
    #[error("the message-id is empty")]
    Empty,
    #[error("the message-id holds {0:?}, which could break a command line")]
    Forbidden(char),
    #[error("the message-id has {0} bytes, more than {LONGEST}")]
    TooLong(usize),
}

/// The text between the brackets, if it is one that may be sent.
pub(crate) fn bare(text: &str) -> Result<&str, InvalidMessageId> {
    let text = text.trim_matches([' ', '\t', '\r', '\n']);
    let id = text.strip_prefix('<').and_then(|rest| rest.strip_suffix('>')).unwrap_or(text);
    if id.is_empty() {
        return Err(InvalidMessageId::Empty);
    }
    if id.len() > LONGEST {
        return Err(InvalidMessageId::TooLong(id.len()));
    }
    match id.chars().find(|&c| breaks_a_line(c)) {
        Some(c) => Err(InvalidMessageId::Forbidden(c)),
        None => Ok(id),
    }
}

fn breaks_a_line(c: char) -> bool {
    c.is_control() || c.is_whitespace() || c == '<' || c == '>' || c == char::REPLACEMENT_CHARACTER
}

/// RFC 3977, section 3.6 allows 250 bytes with the brackets.
const LONGEST: usize = 248;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_and_blanks_around_an_id_are_dropped() {
        for text in ["a@x", "<a@x>", " <a@x>\r\n", "\ta@x "] {
            assert_eq!(MessageId::parse(text).unwrap().as_str(), "a@x", "{text:?}");
        }
    }

    #[test]
    fn nothing_that_ends_a_command_line_gets_in() {
        for text in
            ["a\r\nQUIT", "a b@x", "a>b", "<<a@x>>", "a\0b", "a\u{7f}b", "a\u{85}b", "a\u{fffd}b"]
        {
            assert!(
                matches!(MessageId::parse(text), Err(InvalidMessageId::Forbidden(_))),
                "{text:?}"
            );
        }
        for text in ["", "<>", "  "] {
            assert_eq!(MessageId::parse(text), Err(InvalidMessageId::Empty), "{text:?}");
        }
    }

    #[test]
    fn the_length_is_bounded_between_the_brackets() {
        let longest = "x".repeat(LONGEST);
        assert!(MessageId::parse(&format!("<{longest}>")).is_ok());
        assert_eq!(
            MessageId::parse(&format!("{longest}x")),
            Err(InvalidMessageId::TooLong(LONGEST + 1))
        );
    }
}
