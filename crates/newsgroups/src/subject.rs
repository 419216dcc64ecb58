//! [`Subject`]: part, file and post as given in a subject.

use std::ops::Range;

use bergamot_nzb::{Counter, counters, file_name};

/// `name [3/9] - "file.part1.rar" yEnc (1/120)`, and the many ways to write it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Subject<'a> {
    /// What is left without counters, the file's name and sizes.
    pub(crate) title: String,
    pub(crate) name: Option<&'a str>,
    /// Which of how many files.
    pub(crate) file: Option<Count>,
    /// Which of how many parts.
    pub(crate) part: Count,
    /// What all parts of one file begin with.
    pub(crate) head: &'a str,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Count {
    pub(crate) number: u32,
    pub(crate) total: u32,
}

impl<'a> Subject<'a> {
    /// `None` for what is no part of a file.
    pub(crate) fn parse(subject: &'a str) -> Option<Self> {
        let all: Vec<_> = counters(subject).collect();
        let (part, end) = match part_counter(subject, &all) {
            Some(counter) => (count(counter), counter.span.start),
            None => (Count { number: 1, total: 1 }, whole_file(subject)?),
        };
        let head = subject[..end].trim_end();
        let (file, span) = file_counter(head, &all).unzip();
        // Behind a counter in words the name begins; those in brackets are known to `nzb`.
        let behind = span.as_ref().and_then(|span| file_name(&subject[span.end..]));
        let name = file_name(subject).filter(|name| !name.contains(" of ")).or(behind);
        let title = title(head, name, span.as_ref());
        Some(Self { title, name, file, part, head })
    }
}

fn count(counter: &Counter) -> Count {
    Count { number: counter.number, total: counter.total }
}

/// The last in round brackets; in square ones only where `yEnc` stands before it.
fn part_counter<'c>(subject: &str, all: &'c [Counter]) -> Option<&'c Counter> {
    let is_round = |counter: &&Counter| subject[counter.span.clone()].starts_with('(');
    let yenc = find_yenc(subject);
    let behind_yenc = |counter: &&Counter| yenc.is_some_and(|yenc| yenc < counter.span.start);
    let counted = all.iter().filter(|counter| counter.total > 0);
    counted.clone().rfind(is_round).or_else(|| counted.clone().rfind(behind_yenc))
}

/// A file in one article needs no counter; then a name and `yEnc` tell it from talk.
fn whole_file(subject: &str) -> Option<usize> {
    let end = find_yenc(subject)? + " yenc".len();
    file_name(subject).map(|_| end)
}

fn find_yenc(text: &str) -> Option<usize> {
    text.as_bytes().windows(5).rposition(|window| window.eq_ignore_ascii_case(b" yenc"))
}

/// `[3/9]`, `(3/9)` or `3 of 9` before the counter of parts.
fn file_counter(head: &str, all: &[Counter]) -> Option<(Count, Range<usize>)> {
    let counted = all.iter().rfind(|counter| counter.span.end <= head.len() && counter.total > 0);
    counted.map(|counter| (count(counter), counter.span.clone())).or_else(|| worded(head))
}

/// `File 3 of 9`, with the word before it.
fn worded(head: &str) -> Option<(Count, Range<usize>)> {
    let of = head.find(" of ")?;
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let before = head[..of].bytes().rev().take_while(u8::is_ascii_digit).count();
    let behind = of + " of ".len();
    let end = behind + digits(&head[behind..]);
    let number = head[of - before..of].parse().ok()?;
    let total = head[behind..end].parse().ok()?;
    let lead = head[..of - before].trim_end();
    let word = lead.len().checked_sub(4).and_then(|start| lead.get(start..));
    let is_file = word.is_some_and(|word| word.eq_ignore_ascii_case("file"));
    let start = if is_file { lead.len() - 4 } else { of - before };
    (1 <= number && number <= total).then_some((Count { number, total }, start..end))
}

fn title(head: &str, name: Option<&str>, counter: Option<&Range<usize>>) -> String {
    // Behind `yEnc` stand sizes.
    let end = find_yenc(head).unwrap_or(head.len());
    let mut text = head[..end].to_owned();
    if let Some(counter) = counter.filter(|counter| counter.end <= end) {
        text.replace_range(counter.clone(), " ");
    }
    if let Some(name) = name.filter(|name| !name.is_empty()) {
        let quoted = format!("\"{name}\"");
        let is_quoted = text.contains(&quoted);
        text = text.replacen(if is_quoted { &quoted } else { name }, " ", 1);
    }
    let words: Vec<_> = text.split_whitespace().collect();
    let mut kept: Vec<&str> = Vec::with_capacity(words.len());
    for (index, word) in words.iter().enumerate() {
        let is_size = is_unit(word) && index > 0 && is_amount(words[index - 1]);
        let is_amount_of_size =
            is_amount(word) && words.get(index + 1).is_some_and(|next| is_unit(next));
        let is_rule = word.chars().all(|c| SEPARATORS.contains(&c) || c == '"');
        if !is_size && !is_amount_of_size && !is_rule {
            kept.push(word);
        }
    }
    kept.join(" ").trim_matches(SEPARATORS).to_owned()
}

fn is_amount(word: &str) -> bool {
    let digits = word.trim_start_matches(['(', '[']);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit() || b".,".contains(&byte))
}

fn is_unit(word: &str) -> bool {
    let word = word.trim_end_matches([')', ']']);
    ["b", "kb", "mb", "gb", "tb", "kib", "mib", "gib", "bytes"]
        .iter()
        .any(|unit| word.eq_ignore_ascii_case(unit))
}

const SEPARATORS: [char; 5] = [' ', '-', ':', '|', ','];

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn counted((number, total): (u32, u32)) -> Count {
        Count { number, total }
    }

    #[test]
    fn subjects_are_read_as_posters_write_them() {
        for (text, title, name, file, part) in [
            (
                "name [3/9] - \"file.part1.rar\" yEnc (1/120)",
                "name",
                Some("file.part1.rar"),
                Some((3, 9)),
                (1, 120),
            ),
            (
                "[03/09] - \"a.rar\" yEnc (001/120) 5242880",
                "",
                Some("a.rar"),
                Some((3, 9)),
                (1, 120),
            ),
            ("\"a b.rar\" yEnc (2/3)", "", Some("a b.rar"), None, (2, 3)),
            ("My Post (01/10) \"a.rar\" (2/3)", "My Post", Some("a.rar"), Some((1, 10)), (2, 3)),
            (
                "(Some Title) [12/40] - \"x.r05\" - 50.00 MB - yEnc (1/131)",
                "(Some Title)",
                Some("x.r05"),
                Some((12, 40)),
                (1, 131),
            ),
            (
                "Great Album - File 03 of 12 - song.mp3 (1/9)",
                "Great Album",
                Some("song.mp3"),
                Some((3, 12)),
                (1, 9),
            ),
            ("a.jpg (1/1)", "", Some("a.jpg"), None, (1, 1)),
            ("\"a.nfo\" yEnc", "", Some("a.nfo"), None, (1, 1)),
            ("\"a.rar\" yEnc [4/7]", "", Some("a.rar"), None, (4, 7)),
            (
                "[PRiVATE]-[x]-[y.mkv]-[1/5] - \"y.mkv\" yEnc  1234 (1/10)",
                "[PRiVATE]-[x]-[y.mkv]",
                Some("y.mkv"),
                Some((1, 5)),
                (1, 10),
            ),
        ] {
            let subject = Subject::parse(text).unwrap_or_else(|| panic!("{text}"));
            let expected = (title, name, file.map(counted), counted(part));
            let found = (subject.title.as_str(), subject.name, subject.file, subject.part);
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn talk_is_no_file() {
        for text in
            ["", "Re: hello", "what about yenc?", "part 3 of 9", "see [3/9]", "(5/3)", "(0/0)"]
        {
            assert_eq!(Subject::parse(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_subject_is_too_odd(text in "[\\[\\]()/0-9 a-c\"\u{e4}.yEncof-]{0,60}") {
            Subject::parse(&text);
        }
    }
}
