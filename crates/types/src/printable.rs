//! [`Shown`]: untrusted text without characters that could disturb a terminal or a log.

use std::fmt::{self, Write};

/// Displays a text with everything escaped that could move a cursor, turn the reading direction or
/// start a new log line.
#[derive(Clone, Copy, Debug)]
pub struct Shown<'a>(pub &'a str);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars().take(LONGEST) {
            if is_unsafe(c) { write!(f, "{}", c.escape_unicode())? } else { f.write_char(c)? }
        }
        if self.0.chars().nth(LONGEST).is_some() { f.write_char('…') } else { Ok(()) }
    }
}

/// Control characters, line and paragraph separators, bidirectional marks and zero-width characters.
pub(crate) fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}')
}

/// Enough for any name; a log line of a megabyte is useless.
const LONGEST: usize = 512;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_and_direction_marks_are_spelled_out() {
        assert_eq!(
            Shown("a\u{1b}[31m\nb\u{202e}c äß漢").to_string(),
            "a\\u{1b}[31m\\u{a}b\\u{202e}c äß漢"
        );
    }

    #[test]
    fn long_text_is_cut() {
        assert_eq!(Shown(&"x".repeat(LONGEST)).to_string().chars().count(), LONGEST);
        assert!(Shown(&"x".repeat(LONGEST + 1)).to_string().ends_with("x…"));
    }
}
