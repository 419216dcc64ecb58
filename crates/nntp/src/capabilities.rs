//! [`Capabilities`]: the answer to CAPABILITIES.

/// The answer to CAPABILITIES (RFC 3977, section 5.2), as far as we ask it.
///
/// A hint, never a promise: servers lie, so whatever is tried on the strength of it may be refused.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Capabilities {
    lines: Vec<Box<str>>,
}

impl Capabilities {
    /// `false` says that the list has outgrown any good faith.
    pub(crate) fn push(&mut self, line: &[u8]) -> bool {
        self.lines.push(String::from_utf8_lossy(line).to_ascii_uppercase().into());
        self.lines.len() <= MOST_LINES
    }

    /// Whether `label` stands at the beginning of a line.
    pub fn has(&self, label: &str) -> bool {
        self.lines.iter().any(|line| line.split_ascii_whitespace().next() == Some(label))
    }

    /// Whether `label` stands at the beginning of a line and `argument` behind it.
    pub(crate) fn has_argument(&self, label: &str, argument: &str) -> bool {
        self.lines.iter().any(|line| {
            let mut words = line.split_ascii_whitespace();
            words.next() == Some(label) && words.any(|word| word == argument)
        })
    }

    /// A transit server that turns into a reader after MODE READER.
    pub(crate) fn needs_mode_reader(&self) -> bool {
        self.has("MODE-READER") && !self.has("READER")
    }
}

/// INN, the most talkative, has about 20.
const MOST_LINES: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_whole_first_words_in_any_case() {
        let mut list = Capabilities::default();
        for line in ["VERSION 2", "mode-reader", "OVER MSGID", "XREADER"] {
            assert!(list.push(line.as_bytes()));
        }
        assert!(list.has("VERSION") && list.has("OVER") && list.needs_mode_reader());
        assert!(list.has_argument("OVER", "MSGID") && !list.has_argument("MSGID", "MSGID"));
        assert!(!list.has("READER") && !list.has("MSGID"));
        list.push(b"READER");
        assert!(!list.needs_mode_reader());
    }
}
