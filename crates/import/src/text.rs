//! [`decoded`]: untrusted text, within bounds.

use std::borrow::Cow;

use crate::ImportError;

/// UTF-8, or else ISO 8859-1, in which every byte is some letter.
pub(crate) fn decoded(bytes: &[u8]) -> Result<Cow<'_, str>, ImportError> {
    if bytes.len() > LARGEST {
        return Err(ImportError::TooLarge { limit: LARGEST });
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    if bytes.iter().filter(|byte| **byte == b'\n').count() > MOST_LINES {
        return Err(ImportError::TooManyLines { limit: MOST_LINES });
    }
    Ok(match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(bytes.iter().map(|byte| char::from(*byte)).collect()),
    })
}

pub(crate) fn is_yes(value: &str) -> bool {
    matches!(value.trim().to_ascii_lowercase().as_str(), "yes" | "true" | "on" | "1" | "enable")
}

/// Expands a path that begins with a tilde. `None` if the home directory is not known, or is that of another
/// user (`~ann`).
pub(crate) fn at_home(path: &str, home: Option<&str>) -> Option<String> {
    let rest = path.strip_prefix('~')?;
    let home = home.filter(|_| rest.is_empty() || rest.starts_with('/'))?;
    Some(format!("{}{}", home.trim_end_matches('/'), rest.trim_end_matches('/')))
}

/// Without control characters, and cut to a maximum length.
pub(crate) fn harmless(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_control()).take(LONGEST_SHOWN).collect()
}

/// The real ones have about 100 kB.
const LARGEST: usize = 4 << 20;
const MOST_LINES: usize = 100_000;
const LONGEST_SHOWN: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ones_own_home_is_known() {
        for (path, whole) in [
            ("~", Some("/home/ann")),
            ("~/x/y", Some("/home/ann/x/y")),
            ("~bob/x", None),
            ("/x", None),
        ] {
            assert_eq!(at_home(path, Some("/home/ann/")).as_deref(), whole, "{path}");
        }
        assert_eq!(at_home("~/x", None), None);
    }

    #[test]
    fn any_bytes_are_some_text() {
        assert_eq!(decoded(b"\xef\xbb\xbfa=\xc3\xbc").as_deref(), Ok("a=ü"));
        assert_eq!(decoded(b"a=\xfc").as_deref(), Ok("a=ü"));
        assert!(decoded(&vec![b'x'; LARGEST + 1]).is_err());
        assert!(decoded(&vec![b'\n'; MOST_LINES + 1]).is_err());
    }
}
