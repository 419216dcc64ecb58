//! [`Preamble`]: the lines before the data.
//!
//! `BODY` answers start with `=ybegin` or a little prose, `ARTICLE` answers with a header block
//! whose blank line some servers forget. So no structure is expected: each line is held against
//! the few that start data, and the others leave at most a hint of what the body is instead.

use std::ops::RangeInclusive;

use crate::control::{self, Begin, Control};
use crate::uu;

/// Looks at the lines before the data.
#[derive(Debug, Default)]
pub(crate) struct Preamble {
    seen: u64,
    has_text: bool,
    other: Option<&'static str>, // an encoding we do not read
}

/// What a line starts.
#[derive(Debug, Eq, PartialEq)]
pub(crate) enum Found {
    /// Nothing, and the search is over.
    GiveUp,
    Nothing,
    /// UU data follow; the line was `begin`.
    Uu {
        name: String,
    },
    /// The line is UU data already.
    UuRow,
    Yenc(Begin),
}

impl Preamble {
    /// `length` counts the line with its line end.
    pub(crate) fn look(&mut self, line: &[u8], length: u64) -> Found {
        let start = self.seen;
        self.seen += length;
        if start >= SEARCHED {
            return Found::GiveUp;
        }
        if control::is_begin(line) {
            let Control::Begin(begin) = Control::parse(line) else { return Found::Nothing };
            return Found::Yenc(begin);
        }
        if let Some(name) = uu::begin(line) {
            return Found::Uu { name };
        }
        if self.other.is_none() && uu::is_full_row(line) {
            return Found::UuRow;
        }
        self.note(line);
        Found::Nothing
    }

    fn note(&mut self, line: &[u8]) {
        self.has_text |= !line.trim_ascii().is_empty();
        self.other = self.other.or_else(|| other_encoding(line));
    }

    pub(crate) fn is_empty(&self) -> bool {
        !self.has_text
    }

    pub(crate) fn other(&self) -> Option<&'static str> {
        self.other
    }
}

fn other_encoding(line: &[u8]) -> Option<&'static str> {
    if line.starts_with(b"begin-base64 ") || is_base64_row(line) {
        return Some("base64");
    }
    let colon = line.iter().position(|&byte| byte == b':')?;
    let (key, value) = line.split_at(colon);
    if !key.eq_ignore_ascii_case(b"content-transfer-encoding") {
        return None;
    }
    let value = value[1..].trim_ascii();
    ["base64", "quoted-printable"]
        .into_iter()
        .find(|name| value.eq_ignore_ascii_case(name.as_bytes()))
}

/// `BODY` leaves the MIME headers out, so base64 is also known by its look.
fn is_base64_row(line: &[u8]) -> bool {
    let is_code = |&byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    BASE64_ROW.contains(&line.len()) && line.len().is_multiple_of(4) && line.iter().all(is_code)
}

/// Past this much text no data are expected any more.
pub(crate) const SEARCHED: u64 = 64 << 10;
/// MIME writers use 60, 64, 72 or 76 characters; a word of prose is never so long.
const BASE64_ROW: RangeInclusive<usize> = 60..=76;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_lines_are_passed_over() {
        let mut preamble = Preamble::default();
        for line in ["Path: a!b", "Subject: \"x\" yEnc (1/1)", "", "some words"] {
            assert_eq!(preamble.look(line.as_bytes(), line.len() as u64 + 2), Found::Nothing);
        }
        assert!(matches!(preamble.look(b"=ybegin size=1 name=x", 23), Found::Yenc(_)));
    }

    #[test]
    fn the_search_ends_after_64_kib() {
        for (before, found) in [(SEARCHED - 1, true), (SEARCHED, false), (SEARCHED + 1, false)] {
            let mut preamble = Preamble::default();
            preamble.look(b"x", before);
            let looked = preamble.look(b"=ybegin size=1 name=x", 23);
            assert_eq!(matches!(looked, Found::Yenc(_)), found, "{before}");
        }
    }

    #[test]
    fn other_encodings_are_named() {
        for (line, name) in [
            ("Content-Transfer-Encoding: BASE64", Some("base64")),
            ("content-transfer-encoding:quoted-printable", Some("quoted-printable")),
            ("Content-Transfer-Encoding: 8bit", None),
            ("begin-base64 644 x", Some("base64")),
            (&"QUJDabcd".repeat(9), Some("base64")),
            ("plain words", None),
        ] {
            assert_eq!(other_encoding(line.as_bytes()), name, "{line}");
        }
    }
}
