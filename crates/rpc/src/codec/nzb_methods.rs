//! [`NzbMethods`]: searches a request for the names of methods that take an NZB, while it arrives.
//!
//! Such requests may be large and have a memory budget of their own. The method is checked again when the request is
//! parsed, so a false match is harmless.

#[derive(Debug, Default)]
pub(crate) struct NzbMethods {
    seen: usize,
    found: bool,
}

impl NzbMethods {
    /// `bytes` is all that has come so far.
    pub(crate) fn look(&mut self, bytes: &[u8]) -> bool {
        // A name may have been cut between two pieces.
        let from = self.seen.saturating_sub(LONGEST_NAME - 1);
        self.found = self.found || names_an_nzb_method(&bytes[from..]);
        self.seen = bytes.len();
        self.found
    }
}

pub(crate) fn names_an_nzb_method(bytes: &[u8]) -> bool {
    NAMES.iter().any(|name| {
        let mut starts = memchr::memchr2_iter(name[0], name[0].to_ascii_uppercase(), bytes);
        starts.any(|at| {
            bytes.get(at..at + name.len()).is_some_and(|part| part.eq_ignore_ascii_case(name))
        })
    })
}

const NAMES: [&[u8]; 2] = [b"append", b"queue.add"];
const LONGEST_NAME: usize = 9;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_found_wherever_the_request_is_cut() {
        for text in [r#"[{"method":"Append"}]"#, r#"[{"method":"queue.ADD"}]"#] {
            for cut in 0..=text.len() {
                let mut methods = NzbMethods::default();
                methods.look(&text.as_bytes()[..cut]);
                assert!(methods.look(text.as_bytes()), "{text} cut at {cut}");
            }
        }
        assert!(!NzbMethods::default().look(br#"{"method":"appen"}"#));
    }
}
