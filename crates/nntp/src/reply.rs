//! [`Reply`]: one answer line of a server.

use std::fmt;

use bergamot_types::Shown;

/// A status line: three digits and a text.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Reply {
    pub code: u16,
    pub text: Box<str>,
}

impl Reply {
    /// `None` unless the line begins with a number of three digits, the first of them 1 to 5
    /// (RFC 3977, section 3.2). A blank should follow; nzbget's server writes a comma.
    pub fn parse(line: &[u8]) -> Option<Self> {
        let (digits, rest) = line.split_at_checked(3)?;
        if !matches!(digits[0], b'1'..=b'5') || !digits.iter().all(u8::is_ascii_digit) {
            return None;
        }
        if rest.first().is_some_and(u8::is_ascii_alphanumeric) {
            return None;
        }
        let code = digits.iter().fold(0, |code, digit| code * 10 + u16::from(digit - b'0'));
        Some(Self { code, text: String::from_utf8_lossy(rest).trim().into() })
    }

    /// Whether the server serves articles only while a newsgroup is selected (RFC 3977, section 6.2.1).
    pub fn wants_group(&self) -> bool {
        self.code == 412
    }

    /// The message-id that answers to ARTICLE, BODY and STAT carry as their second word.
    pub fn message_id(&self) -> Option<&str> {
        let word = self.text.split_ascii_whitespace().nth(1)?;
        word.strip_prefix('<')?.strip_suffix('>')
    }
}

impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.code, Shown(&self.text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_line_is_three_digits_and_a_text() {
        let reply = Reply::parse(b"222 0 <a@x> body").unwrap();
        assert_eq!((reply.code, reply.message_id()), (222, Some("a@x")));
        assert_eq!(Reply::parse(b"205").unwrap().code, 205);
        assert_eq!(Reply::parse(b"220, 0 <a@x>").unwrap().code, 220);
        for line in
            [&b""[..], b"20", b"2000 x", b"200x", b"abc", b"999 x", b".", b"=ybegin", b"-22 x"]
        {
            assert_eq!(Reply::parse(line), None, "{}", line.escape_ascii());
        }
    }

    #[test]
    fn answers_without_an_id_have_none() {
        for line in [&b"222 body follows"[..], b"222", b"223 0 a@x"] {
            assert_eq!(Reply::parse(line).unwrap().message_id(), None);
        }
    }
}
