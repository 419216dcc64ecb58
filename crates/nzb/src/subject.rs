//! Parses the file name and the part numbers in a subject line. Pure.

use std::ops::Range;

/// The file name: in quotes if the poster follows the custom, else what stands between the
/// counters, `[01/12] - name.ext yEnc (1/20)`.
pub fn file_name(subject: &str) -> Option<&str> {
    quoted_name(subject, "\"")
        .or_else(|| quoted_name(subject, "&quot;"))
        .or_else(|| bare_name(subject))
}

/// The total of the counter that ends the subject.
pub(crate) fn announced(subject: &str) -> Option<u32> {
    let last = counters(subject).last()?;
    let is_round = subject[last.span.clone()].starts_with('(');
    (is_round && (1..=MOST_SEGMENTS).contains(&last.total)).then_some(last.total)
}

/// Of several quoted texts the last with an extension is the file; titles are quoted too.
fn quoted_name<'a>(subject: &'a str, quote: &str) -> Option<&'a str> {
    let pieces = subject.split(quote).count();
    // Every second piece is quoted, but the last one only if its quote was closed.
    let quoted = || subject.split(quote).take(pieces - 1).skip(1).step_by(2).map(str::trim);
    let named = quoted().filter(|text| has_extension(text)).last();
    named.or_else(|| quoted().find(|text| !text.is_empty()))
}

fn bare_name(subject: &str) -> Option<&str> {
    let end = find_word(subject, "yenc").unwrap_or(subject.len());
    let head = without_last_counter(subject[..end].trim());
    let behind_counter = counters(head)
        .last()
        .map(|counter| head[counter.span.end..].trim_start_matches(SEPARATORS));
    [behind_counter, Some(head.trim_matches(SEPARATORS))]
        .into_iter()
        .flatten()
        .find(|text| has_extension(text))
        .or_else(|| head.split_whitespace().rfind(|word| has_extension(word)))
}

fn without_last_counter(text: &str) -> &str {
    match counters(text).last() {
        Some(counter) if counter.span.end == text.len() => {
            text[..counter.span.start].trim_end_matches(SEPARATORS)
        }
        _ => text,
    }
}

/// Where `word` stands behind a blank, in any case of letters.
fn find_word(text: &str, word: &str) -> Option<usize> {
    text.as_bytes()
        .windows(word.len() + 1)
        .rposition(|window| window[0] == b' ' && window[1..].eq_ignore_ascii_case(word.as_bytes()))
}

/// A number of a total, and where it stands with its brackets.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Counter {
    pub span: Range<usize>,
    pub number: u32,
    pub total: u32,
}

/// `[3/12]` or `(3/12)`, from the left.
pub fn counters(text: &str) -> impl Iterator<Item = Counter> {
    text.match_indices(['(', '[']).filter_map(move |(start, bracket)| {
        let close = if bracket == "(" { ')' } else { ']' };
        let inner = &text[start + 1..];
        let inner = &inner[..inner.find(close)?];
        let (number, total) = inner.split_once('/')?;
        let number: u32 = number.trim().parse().ok()?;
        let total = total.trim().parse().ok().filter(|total| number <= *total)?;
        Some(Counter { span: start..start + inner.len() + 2, number, total })
    })
}

fn has_extension(name: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(stem, extension)| {
        !stem.is_empty()
            && (1..=LONGEST_EXTENSION).contains(&extension.len())
            && extension.bytes().all(|byte| byte.is_ascii_alphanumeric())
    })
}

const SEPARATORS: [char; 4] = [' ', '-', ':', '|'];
const LONGEST_EXTENSION: usize = 5;
const MOST_SEGMENTS: u32 = 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_as_posters_write_them() {
        for (subject, name) in [
            ("[01/12] - \"my file.part01.rar\" yEnc (1/20)", Some("my file.part01.rar")),
            ("\"A Title\" [1/2] \"a.mkv\" yEnc (1/2)", Some("a.mkv")),
            (
                "\"d41d8cd98f00b204e9800998ecf8427e\" yEnc (1/20)",
                Some("d41d8cd98f00b204e9800998ecf8427e"),
            ),
            ("&quot;a.bin&quot; yEnc (1/2)", Some("a.bin")),
            ("name.ext yEnc (1/20)", Some("name.ext")),
            ("[01/12] - name.ext yEnc (1/20)", Some("name.ext")),
            ("Some Post [01/12] - my name.mp3 (1/3)", Some("my name.mp3")),
            ("Artist - Song.mp3 yEnc (1/3)", Some("Artist - Song.mp3")),
            ("see file.zip for all (1/3)", Some("file.zip")),
            ("\"../../etc/passwd\" yEnc (1/1)", Some("../../etc/passwd")),
            ("\"\" yEnc (1/1)", None),
            ("\"open.bin yEnc (1/1)", Some("\"open.bin")),
            ("no name here", None),
            ("", None),
        ] {
            assert_eq!(file_name(subject), name, "{subject:?}");
        }
    }

    #[test]
    fn the_last_round_counter_is_that_of_the_segments() {
        for (subject, total) in [
            ("[01/12] \"a.rar\" yEnc (1/20)", Some(20)),
            ("a.rar (01/12)", Some(12)),
            ("[01/12] a.rar", None),
            ("a (5/3)", None),
            ("a (1/4294967296)", None),
            ("a (1/9999999)", None),
            ("a (0/0)", None),
            ("((((((1/2)", Some(2)),
        ] {
            assert_eq!(announced(subject), total, "{subject:?}");
        }
    }
}
