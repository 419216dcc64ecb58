//! Chooses between the name in the subject and the name in the article, and detects obfuscated names. Pure.

/// The subject's name unless it is obfuscated and the one in the article is not; if both are, the
/// article's, by which PAR2 and archive sets know each other.
pub fn better_name<'a>(subject: Option<&'a str>, encoded: Option<&'a str>) -> Option<&'a str> {
    match (subject, encoded) {
        (Some(subject), _) if !is_obfuscated(subject) => Some(subject),
        (subject, encoded) => encoded.or(subject),
    }
}

/// Whether a name looks randomly generated.
pub fn is_obfuscated(name: &str) -> bool {
    let (stem, has_extension) = stem(name);
    stem.is_empty()
        || name.starts_with("abc.xyz")
        || is_hash(stem)
        || holds_bracketed_hash(stem)
        || looks_random(stem)
        || !has_extension
            && stem.len() >= LONG_WORD
            && stem.bytes().all(|b| b.is_ascii_alphanumeric())
}

/// Without the extension and what numbers the volumes of a set.
fn stem(name: &str) -> (&str, bool) {
    let Some((mut stem, _)) = name.rsplit_once('.').filter(|(_, end)| is_extension(end)) else {
        return (name, false);
    };
    while let Some((rest, _)) = stem.rsplit_once('.').filter(|(_, end)| is_volume(end)) {
        stem = rest;
    }
    (stem, true)
}

fn is_extension(end: &str) -> bool {
    (1..=5).contains(&end.len()) && end.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// `part01`, `vol003+04`, `7z` of `x.7z.001`, `tar` of `x.tar.gz`.
fn is_volume(end: &str) -> bool {
    let lower = end.to_ascii_lowercase();
    let is_number =
        |rest: &str| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit() || b == b'+');
    matches!(lower.as_str(), "7z" | "rar" | "tar" | "zip")
        || lower.strip_prefix("part").is_some_and(is_number)
        || lower.strip_prefix("vol").is_some_and(is_number)
}

/// Hexadecimal and long, dashes and dots aside: MD5, SHA-1, UUID.
fn is_hash(stem: &str) -> bool {
    let digits = stem.bytes().filter(u8::is_ascii_hexdigit).count();
    digits >= SHORTEST_HASH
        && stem.bytes().all(|b| b.is_ascii_hexdigit() || matches!(b, b'-' | b'.'))
}

/// `[x][y] 0123456789abcdef…`: the wrapping some posters put around a hash.
fn holds_bracketed_hash(stem: &str) -> bool {
    stem.matches('[').count() >= 2
        && stem.split(|c: char| !c.is_ascii_hexdigit()).any(|run| run.len() >= 30)
}

/// A long word in which capitals, small letters and digits change places at every turn. People do
/// that too (`x264DTS`), but not on average with every third character.
fn looks_random(stem: &str) -> bool {
    if stem.contains([' ', '.']) {
        return false;
    }
    let words = stem.split(|c: char| !c.is_ascii_alphanumeric());
    let word = words.max_by_key(|word| word.len()).unwrap_or_default().as_bytes();
    let turns = word.windows(2).filter(|pair| is_turn(pair[0], pair[1])).count();
    word.len() >= SHORTEST_RANDOM && turns * 3 >= word.len()
}

/// A small letter after a capital is how words begin.
fn is_turn(before: u8, after: u8) -> bool {
    let kind = |byte: u8| (byte.is_ascii_digit(), byte.is_ascii_uppercase());
    kind(before) != kind(after) && !(before.is_ascii_uppercase() && after.is_ascii_lowercase())
}

const SHORTEST_HASH: usize = 20;
const SHORTEST_RANDOM: usize = 12;
/// A word this long without extension, blank or dot is no title.
const LONG_WORD: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn made_up_names_are_told_from_given_ones() {
        for name in [
            "d41d8cd98f00b204e9800998ecf8427e",
            "d41d8cd98f00b204e9800998ecf8427e.mkv",
            "d41d8cd98f00b204e9800998ecf8427e.part01.rar",
            "d41d8cd98f00b204e9800998ecf8427e.vol003+04.par2",
            "550e8400-e29b-41d4-a716-446655440000.bin",
            "[abc][def] 0123456789abcdef0123456789abcdef.rar",
            "abc.xyz.a4c567edbcbf27.BLA.rar",
            "aB3dE6gH9jK2mN5p.7z.001",
            "qwhfjvkslprtnbxzcvgd",
            "",
        ] {
            assert!(is_obfuscated(name), "{name}");
        }
        for name in [
            "Great.Distro.2023.1080p.x264.mkv",
            "My Favorite Distro S03E04.mkv",
            "backup.part01.rar",
            "readme.txt",
            "TheBigLebowski1998.mkv",
            "MyFile2023x264DTS.mkv",
            "ubuntu-24.04-desktop-amd64.iso",
            "2023-01-02.jpg",
            "file.vol00+01.par2",
        ] {
            assert!(!is_obfuscated(name), "{name}");
        }
    }

    #[test]
    fn the_better_name_is_the_one_that_says_something() {
        let (clear, hidden, other) = ("A.File.mkv", "d41d8cd98f00b204e9800998ecf8427e", "b.mkv");
        for (subject, encoded, better) in [
            (Some(clear), Some(hidden), Some(clear)),
            (Some(hidden), Some(clear), Some(clear)),
            (Some(clear), Some(other), Some(clear)),
            (
                Some(hidden),
                Some("550e8400e29b41d4a716446655440000"),
                Some("550e8400e29b41d4a716446655440000"),
            ),
            (None, Some(hidden), Some(hidden)),
            (Some(hidden), None, Some(hidden)),
            (None, None, None),
        ] {
            assert_eq!(better_name(subject, encoded), better, "{subject:?} {encoded:?}");
        }
    }
}
