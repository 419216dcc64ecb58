//! [`Overview`]: one line of an overview.

use bergamot_types::{MessageId, UnixTime};
use chrono::DateTime;
use encoding_rs::WINDOWS_1252;

use crate::encoded_words::decoded;

/// One line of an overview (RFC 3977, section 8.3).
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Overview {
    pub number: u64,
    pub subject: String,
    pub poster: String,
    pub date: Option<UnixTime>,
    pub id: MessageId,
    /// 0 if the server does not report it.
    pub bytes: u64,
}

impl Overview {
    /// Takes what it can: only a line without a number or an id that may be asked for is none.
    pub fn parse(line: &[u8]) -> Option<Self> {
        let line = text(line);
        let mut fields = line.split('\t');
        let number = fields.next()?.trim().parse().ok().filter(|&number| number > 0)?;
        let mut next = || fields.next().unwrap_or_default();
        let (subject, poster, date, id) = (next(), next(), next(), next());
        let (_references, bytes) = (next(), next());
        Some(Self {
            number,
            subject: shown(subject, LONGEST_SUBJECT),
            poster: shown(poster, LONGEST_POSTER),
            date: parse_date(date),
            id: MessageId::parse(id).ok()?,
            bytes: bytes.trim().parse().unwrap_or(0),
        })
    }
}

/// Old posts have the letters of Windows where they are not in UTF-8.
fn text(line: &[u8]) -> String {
    match std::str::from_utf8(line) {
        Ok(text) => text.to_owned(),
        Err(_) => WINDOWS_1252.decode_without_bom_handling(line).0.into_owned(),
    }
}

fn shown(field: &str, longest: usize) -> String {
    let field = field.trim();
    // Encoded, a text may be several times as long; what is beyond would only cost time.
    let text = decoded(&field[..field.floor_char_boundary(4 * longest)]);
    let mut text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    text.truncate(text.floor_char_boundary(longest));
    text
}

fn parse_date(text: &str) -> Option<UnixTime> {
    let date = DateTime::parse_from_rfc2822(text.trim()).ok()?;
    Some(UnixTime(date.timestamp()))
}

/// Both are far beyond what is usual, and bound what a hostile server can make us keep.
const LONGEST_SUBJECT: usize = 1024;
const LONGEST_POSTER: usize = 256;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(line: &str) -> Option<Overview> {
        Overview::parse(line.as_bytes())
    }

    #[test]
    fn a_whole_line_gives_all_of_it() {
        let line = "3000234\tI am =?utf-8?Q?j=C3=BCst?= a test\t\"Demo\" <nobody@example.com>\t\
                    6 Oct 1998 04:38:40 -0500\t<45223423@example.com>\t<454@x>\t1234\t17\tXref: x";
        let overview = parse(line).unwrap();
        assert_eq!((overview.number, overview.bytes), (3_000_234, 1234));
        assert_eq!(overview.subject, "I am jüst a test");
        assert_eq!(overview.poster, "\"Demo\" <nobody@example.com>");
        assert_eq!(overview.date, Some(UnixTime(907_666_720)));
        assert_eq!(overview.id.as_str(), "45223423@example.com");
    }

    #[test]
    fn what_is_missing_or_odd_costs_only_itself() {
        let line = parse("7\t\t\tyesterday\t<a@x>").unwrap();
        assert_eq!((line.subject.as_str(), line.date, line.bytes), ("", None, 0));
        assert_eq!(parse("7\ts\tf\td\t<a@x>\t\t99999999999999999999999\t1").unwrap().bytes, 0);
        let latin = Overview::parse(b"7\tcaf\xe9\tf\td\t<a@x>\t\t1\t1").unwrap();
        assert_eq!(latin.subject, "café");
        assert_eq!(parse("7\ta\u{1b}[2Jb\tf\td\t<a@x>").unwrap().subject, "a [2Jb");
        let long = parse(&format!("7\t{}\tf\td\t<a@x>", "ä".repeat(5_000))).unwrap();
        assert_eq!(long.subject.len(), LONGEST_SUBJECT);
    }

    #[test]
    fn without_a_number_or_a_usable_id_a_line_is_none() {
        for line in [
            "",
            "x\ts\tf\td\t<a@x>",
            "0\ts\tf\td\t<a@x>",
            "18446744073709551616\ts\tf\td\t<a@x>",
            "-1\ts\tf\td\t<a@x>",
            "7\ts\tf\td\t",
            "7\ts\tf\td\t<a b@x>",
            "7",
        ] {
            assert_eq!(parse(line), None, "{line:?}");
        }
    }

    proptest! {
        #[test]
        fn no_line_is_too_odd(line in prop::collection::vec(any::<u8>(), 0..200)) {
            Overview::parse(&line);
        }
    }
}
