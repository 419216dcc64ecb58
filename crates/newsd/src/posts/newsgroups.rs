//! [`Newsgroups`]: groups whose headers can be listed.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What a server has in which group, and under which numbers. It may change while readers are there.
#[derive(Debug, Default)]
pub struct Newsgroups {
    groups: Mutex<BTreeMap<String, Group>>,
}

/// What the overview says of one article.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Header {
    pub subject: String,
    pub from: String,
    pub date: String,
    /// Without its brackets.
    pub id: String,
    pub bytes: u64,
}

#[derive(Debug, Default)]
struct Group {
    headers: BTreeMap<u64, Header>,
    last: u64,
}

/// As GROUP and LIST tell them.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Numbers {
    pub(crate) count: u64,
    pub(crate) first: u64,
    pub(crate) last: u64,
}

impl Newsgroups {
    /// Makes the group if it is not there; its next article gets the number behind `last`.
    pub fn open(&self, group: &str, last: u64) {
        self.groups().entry(group.to_owned()).or_default().last = last;
    }

    /// Adds a header at the end of a group, which comes to be if need be; its number.
    pub fn post(&self, group: &str, header: Header) -> u64 {
        let mut groups = self.groups();
        let group = groups.entry(group.to_owned()).or_default();
        group.last += 1;
        let number = group.last;
        group.headers.insert(number, header);
        number
    }

    /// Lets everything below `number` expire.
    pub fn expire(&self, group: &str, number: u64) {
        if let Some(group) = self.groups().get_mut(group) {
            group.headers = group.headers.split_off(&number);
        }
    }

    /// Removes a group with all that is in it, as before it is filled anew.
    pub fn remove(&self, group: &str) {
        self.groups().remove(group);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.groups().is_empty()
    }

    pub(crate) fn numbers(&self, group: &str) -> Option<Numbers> {
        self.groups().get(group).map(Group::numbers)
    }

    /// Names and numbers of the groups that match.
    pub(crate) fn list(&self, pattern: &str) -> Vec<(String, Numbers)> {
        let groups = self.groups();
        let chosen = groups.iter().filter(|(name, _)| matches(pattern, name));
        chosen.map(|(name, group)| (name.clone(), group.numbers())).collect()
    }

    pub(crate) fn headers(&self, group: &str, range: RangeInclusive<u64>) -> Vec<(u64, Header)> {
        let groups = self.groups();
        let Some(group) = groups.get(group).filter(|_| !range.is_empty()) else {
            return Vec::new();
        };
        group.headers.range(range).map(|(number, header)| (*number, header.clone())).collect()
    }

    fn groups(&self) -> MutexGuard<'_, BTreeMap<String, Group>> {
        self.groups.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Group {
    fn numbers(&self) -> Numbers {
        let first = self.headers.keys().next().copied().unwrap_or(self.last + 1);
        Numbers { count: self.headers.len() as u64, first, last: self.last }
    }
}

impl Header {
    /// One line of the overview (RFC 3977, section 8.3), without its end.
    pub(crate) fn overview(&self, number: u64) -> String {
        let Self { subject, from, date, id, bytes } = self;
        let lines = bytes / LINE + 1;
        format!("{number}\t{subject}\t{from}\t{date}\t<{id}>\t\t{bytes}\t{lines}")
    }

    pub(crate) fn field(&self, name: &str) -> Option<String> {
        match name.to_ascii_lowercase().as_str() {
            "subject" => Some(self.subject.clone()),
            "from" => Some(self.from.clone()),
            "date" => Some(self.date.clone()),
            "message-id" => Some(format!("<{}>", self.id)),
            ":bytes" => Some(self.bytes.to_string()),
            _ => None,
        }
    }
}

/// Patterns with stars, separated by commas; the last that fits decides, and `!` says no.
fn matches(pattern: &str, name: &str) -> bool {
    let fitting = pattern.split(',').rev().find(|piece| {
        let piece = piece.strip_prefix('!').unwrap_or(piece);
        fits(piece.as_bytes(), name.as_bytes())
    });
    fitting.is_some_and(|piece| !piece.starts_with('!'))
}

fn fits(pattern: &[u8], name: &[u8]) -> bool {
    match pattern.split_first() {
        None => name.is_empty(),
        Some((b'*', rest)) => (0..=name.len()).any(|skip| fits(rest, &name[skip..])),
        Some((b'?', rest)) => !name.is_empty() && fits(rest, &name[1..]),
        Some((byte, rest)) => name.first() == Some(byte) && fits(rest, &name[1..]),
    }
}

/// What a line of yEnc has.
const LINE: u64 = 130;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_follow_what_comes_and_goes() {
        let header = |subject: &str| Header {
            subject: subject.into(),
            from: "a@x".into(),
            date: "Thu, 01 Jan 2026 00:00:00 GMT".into(),
            id: "1@x".into(),
            bytes: 260,
        };
        let groups = Newsgroups::default();
        groups.open("a.b", 6);
        assert_eq!(groups.numbers("a.b"), Some(Numbers { count: 0, first: 7, last: 6 }));
        assert_eq!([groups.post("a.b", header("one")), groups.post("a.b", header("two"))], [7, 8]);
        groups.expire("a.b", 8);
        assert_eq!(groups.numbers("a.b"), Some(Numbers { count: 1, first: 8, last: 8 }));
        let [(8, two)] = &groups.headers("a.b", 1..=9)[..] else { panic!("one is left") };
        let line = "8\ttwo\ta@x\tThu, 01 Jan 2026 00:00:00 GMT\t<1@x>\t\t260\t3";
        assert_eq!(two.overview(8), line);
    }

    #[test]
    fn the_last_pattern_that_fits_decides() {
        for (pattern, name, fits) in [
            ("*", "a.b", true),
            ("a.*,!a.b", "a.b", false),
            ("a.*,!a.b", "a.c", true),
            ("a.?", "a.bc", false),
            ("b.*", "a.b", false),
        ] {
            assert_eq!(matches(pattern, name), fits, "{pattern} {name}");
        }
    }
}
