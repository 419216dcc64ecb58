//! [`SafeName`]: an untrusted name made safe as one path component.

use std::fmt;

use unicode_normalization::UnicodeNormalization;

use crate::fnv::fnv32;
use crate::printable;

/// One path component that is safe on every platform.
///
/// Windows has the strictest rules and they are always used: a share on a NAS is read from there
/// too. No name is refused, for a name is no reason to lose a file; what cannot stay becomes `_`.
/// A name never starts with a dot, so it is never hidden and never one of our own temporary names.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct SafeName(Box<str>);

impl SafeName {
    /// In bytes. File systems take 255; the rest is room for suffixes such as `.queued`.
    pub const LONGEST: usize = 240;
    /// What is left of 255 bytes on an encrypted share.
    pub const LONGEST_ENCRYPTED: usize = 143;

    /// Of a path only the last component counts, whichever way its separators lean: posters leak
    /// their own directories, and those are no part of the file's name.
    pub fn from_raw(raw: &str) -> Self {
        let normal: String = raw.nfc().collect();
        let replaced: String = last_component(&normal).chars().map(visible).collect();
        let trimmed = replaced.trim_start().trim_end_matches(dangles);
        let name = if trimmed.is_empty() {
            UNNAMED.to_owned()
        } else if trimmed.starts_with('.') || is_reserved(trimmed) {
            format!("_{trimmed}")
        } else {
            trimmed.to_owned()
        };
        Self(fit(&name, Self::LONGEST).into())
    }

    /// For a name that is known to have been made safe before, such as one read from a record.
    pub fn recorded(text: &str) -> Option<Self> {
        let name = Self::from_raw(text);
        (name.as_str() == text).then_some(name)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// At most `limit` bytes, with the extension kept and a hash in place of what was cut. Volumes
    /// of one set still agree in what precedes their extension.
    pub fn shortened(&self, limit: usize) -> Self {
        Self(fit(&self.0, limit.max(SHORTEST_LIMIT)).into())
    }

    /// `name (2).ext`, for when `name.ext` is taken.
    pub fn numbered(&self, number: u32) -> Self {
        let (stem, extension) = split_extension(&self.0);
        Self(fit(&format!("{stem} ({number}){extension}"), Self::LONGEST).into())
    }

    /// `name.1080p (2)`: a directory has no extension that would have to stay last.
    pub fn numbered_directory(&self, number: u32) -> Self {
        Self(fit(&format!("{} ({number})", self.0), Self::LONGEST).into())
    }

    /// Equal for names that some file system holds for the same.
    pub fn collision_key(&self) -> String {
        Self::collision_key_of(&self.0)
    }

    /// The same for a name that is on the disk already.
    pub fn collision_key_of(name: &str) -> String {
        // There and back again, so that letters with two small forms (σ and ς) become one.
        name.nfc().flat_map(char::to_uppercase).flat_map(char::to_lowercase).nfc().collect()
    }
}

impl fmt::Display for SafeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl AsRef<str> for SafeName {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

/// The last component that is more than dots and blanks.
fn last_component(path: &str) -> &str {
    path.rsplit(['/', '\\']).find(|part| !part.trim_end_matches(dangles).is_empty()).unwrap_or("")
}

fn visible(c: char) -> char {
    let forbidden = matches!(c, ':' | '<' | '>' | '"' | '?' | '*' | '|');
    // Soft hyphen, grapheme joiner, Mongolian vowel separator and tags draw nothing either.
    let invisible = matches!(c, '\u{ad}' | '\u{34f}' | '\u{180e}' | '\u{e0000}'..='\u{e007f}');
    if forbidden || invisible || printable::is_unsafe(c) { '_' } else { c }
}

/// Windows drops these from the end of a name, and then two names are one.
fn dangles(c: char) -> bool {
    c == '.' || c.is_whitespace()
}

/// Names that mean a device on Windows, with any extension.
fn is_reserved(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or(name).trim_end().to_uppercase();
    if DEVICES.contains(&stem.as_str()) {
        return true;
    }
    let port = stem.strip_prefix("COM").or_else(|| stem.strip_prefix("LPT"));
    let mut rest = port.unwrap_or_default().chars();
    matches!((rest.next(), rest.next()), (Some('0'..='9' | '¹' | '²' | '³'), None))
}

fn fit(name: &str, limit: usize) -> String {
    if name.len() <= limit {
        return name.to_owned();
    }
    let (stem, extension) = split_extension(name);
    let hash = format!("~{:08x}", fnv32(stem.bytes()));
    let mut cut = limit - hash.len() - extension.len();
    while !stem.is_char_boundary(cut) {
        cut -= 1;
    }
    format!("{}{hash}{extension}", &stem[..cut])
}

/// The stem, and the extension with its dot. The number of a volume belongs to the extension, so
/// that a set stays a set when its stem is cut or numbered.
fn split_extension(name: &str) -> (&str, &str) {
    let Some(dot) = last_dot(name) else { return (name, "") };
    let volume = last_dot(&name[..dot]).filter(|&at| is_volume(&name[at + 1..dot]));
    name.split_at(volume.unwrap_or(dot))
}

fn last_dot(name: &str) -> Option<usize> {
    let dot = name.rfind('.').filter(|&dot| dot > 0)?;
    let extension = &name[dot + 1..];
    let plausible = extension.len() <= LONGEST_EXTENSION && !extension.contains(' ');
    plausible.then_some(dot)
}

fn is_volume(part: &str) -> bool {
    let part = part.to_ascii_lowercase();
    let number = part.strip_prefix("part").or_else(|| part.strip_prefix("vol"));
    number.is_some_and(|n| n.starts_with(|c: char| c.is_ascii_digit()))
        || matches!(part.as_str(), "7z" | "nzb" | "rar" | "tar" | "zip")
}

const UNNAMED: &str = "unnamed";
const DEVICES: [&str; 7] = ["AUX", "CLOCK$", "CON", "CONIN$", "CONOUT$", "NUL", "PRN"];
/// Longer than any extension in use; what is longer is part of a title with a dot in it.
const LONGEST_EXTENSION: usize = 16;
/// Two extensions with their dots, the hash, and some letters of the stem.
const SHORTEST_LIMIT: usize = 64;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn safe(raw: &str) -> String {
        SafeName::from_raw(raw).to_string()
    }

    #[test]
    fn a_path_becomes_its_last_component() {
        for raw in [
            "../x",
            "/etc/x",
            "a/../../x",
            "..\\x",
            "C:\\x",
            "\\\\server\\share\\x",
            "\\\\?\\C:\\x",
            "\\\\?\\GLOBALROOT\\Device\\x",
            "x/",
            "x/..",
            "x\\. ./",
            "a\\b/x",
        ] {
            assert_eq!(safe(raw), "x", "{raw:?}");
        }
        for raw in ["", ".", "..", "/", "\\\\", " . ", "\u{2003}", "../.."] {
            assert_eq!(safe(raw), "unnamed", "{raw:?}");
        }
        assert_eq!(safe("C:x"), "C_x");
    }

    #[test]
    fn names_of_windows_devices_are_not_used() {
        for raw in ["CON", "nul.txt", "Com1", "COM¹", "lpt².tar.gz", "aux .c", "PRN.", "CONIN$"] {
            assert!(safe(raw).starts_with('_'), "{raw:?} became {:?}", safe(raw));
        }
        for raw in ["CONSOLE", "COM", "COM10", "nul_.txt", "a.con", "COM¹²"] {
            assert_eq!(safe(raw), raw);
        }
    }

    #[test]
    fn what_windows_or_a_terminal_would_misread_is_replaced() {
        assert_eq!(safe("a:b<c>d\"e?f*g|h"), "a_b_c_d_e_f_g_h");
        assert_eq!(safe("a\nb\u{1b}[31mc\u{202e}d\u{200b}e\u{feff}f\u{0}"), "a_b_[31mc_d_e_f_");
        assert_eq!(safe("name. . ."), "name");
        assert_eq!(safe("  name.rar "), "name.rar");
        assert_eq!(safe(".htaccess"), "_.htaccess");
        assert_eq!(safe("-rf 🦀.mkv"), "-rf 🦀.mkv");
        assert_eq!(safe("a\u{308}.rar"), "ä.rar");
    }

    #[test]
    fn a_long_name_is_cut_but_keeps_its_extension() {
        assert_eq!(safe(&"x".repeat(240)).len(), 240);
        for raw in ["x".repeat(256) + ".mkv", "🦀".repeat(300) + ".mkv", "x".repeat(5_000) + ".mkv"]
        {
            let name = SafeName::from_raw(&raw);
            assert!(name.as_str().len() <= 240 && name.as_str().ends_with(".mkv"), "{name}");
            let shorter = name.shortened(SafeName::LONGEST_ENCRYPTED);
            assert!(shorter.as_str().len() <= 143 && shorter.as_str().ends_with(".mkv"));
        }
        let common = "x".repeat(250);
        assert_ne!(safe(&format!("{common}a.mkv")), safe(&format!("{common}b.mkv")));
    }

    #[test]
    fn cut_volumes_of_one_set_stay_a_set() {
        let first = safe(&("x".repeat(300) + ".part01.rar"));
        let second = safe(&("x".repeat(300) + ".part02.rar"));
        assert_eq!(first.strip_suffix(".part01.rar"), second.strip_suffix(".part02.rar"));
        assert!(first.len() <= 240);
    }

    #[test]
    fn a_number_goes_before_the_extension() {
        let numbered = |raw| SafeName::from_raw(raw).numbered(2).to_string();
        assert_eq!(numbered("a.mkv"), "a (2).mkv");
        assert_eq!(numbered("a.part01.rar"), "a (2).part01.rar");
        assert_eq!(numbered("a.vol003+04.PAR2"), "a (2).vol003+04.PAR2");
        assert_eq!(numbered("Mr. Smith goes"), "Mr. Smith goes (2)");
        let directory = SafeName::from_raw("Show.S01.1080p").numbered_directory(3);
        assert_eq!(directory.as_str(), "Show.S01.1080p (3)");
        let long = SafeName::from_raw(&("x".repeat(236) + ".mkv"));
        assert_ne!(long.numbered(2), long.numbered(3));
        assert!(long.numbered(2).as_str().len() <= 240);
    }

    #[test]
    fn names_that_differ_in_case_or_composition_collide() {
        let key = |raw| SafeName::from_raw(raw).collision_key();
        assert_eq!(key("A.RAR"), key("a.rar"));
        assert_eq!(key("ΟΔΟΣ"), key("οδος"));
        assert_eq!(SafeName::collision_key_of("A\u{308}"), key("ä"));
        assert_ne!(key("a"), key("b"));
    }

    #[test]
    fn only_a_safe_name_counts_as_recorded() {
        assert!(SafeName::recorded("a (2).rar").is_some());
        assert!(SafeName::recorded("../a").is_none());
        assert!(SafeName::recorded("").is_none());
    }

    fn odd_text() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            any::<char>().prop_map(String::from),
            "[a-z.]{1,8}",
            r"[./\\: ~()_\u{300}\u{308}\u{338}\u{200d}ß¹]{1,4}",
            Just("CON".to_owned()),
            Just("x".repeat(100)),
            Just(".part01.rar".to_owned()),
        ];
        prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn every_name_is_one_component_and_stays_as_it_is(raw in odd_text(), number in 2u32..) {
            let name = SafeName::from_raw(&raw);
            for name in [
                name.numbered(number),
                name.numbered_directory(number),
                name.shortened(SafeName::LONGEST_ENCRYPTED),
                name,
            ] {
                let text = name.as_str();
                prop_assert!((1..=SafeName::LONGEST).contains(&text.len()));
                prop_assert!(!text.starts_with('.') && !text.ends_with(dangles));
                prop_assert!(!text.contains(['/', '\\', ':', '\0']));
                prop_assert_eq!(SafeName::recorded(text), Some(name.clone()));
            }
        }
    }
}
