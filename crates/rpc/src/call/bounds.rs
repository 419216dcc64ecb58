//! Checks of values that clients send: length, size and range. Pure functions.

use std::time::Duration;

use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use bergamot_api::view::Parameter;
use bergamot_types::Url;

use crate::call::fault::Fault;

/// The name of a job or an NZB. Which characters are allowed is checked by `SafeName`.
pub(crate) fn name(text: &str) -> Result<String, Fault> {
    short("the name", text, LONGEST_NAME)
}

/// None if it is empty.
pub(crate) fn category(text: &str) -> Result<Option<String>, Fault> {
    let category = short("the category", text, LONGEST_CATEGORY)?;
    Ok(Some(category).filter(|category| !category.is_empty()))
}

pub(crate) fn dupe_key(text: &str) -> Result<String, Fault> {
    short("the dupe key", text, LONGEST_NAME)
}

pub(crate) fn url(text: &str) -> Result<Url, Fault> {
    Ok(Url::parse(text)?)
}

/// Whether it is an address of any kind; no base64 has a colon in it.
pub(crate) fn has_scheme(text: &str) -> bool {
    let beginning = text.bytes().take(LONGEST_SCHEME).take_while(|byte| *byte != b'/');
    beginning.last() == Some(b':')
}

pub(crate) fn host(text: &str) -> Result<String, Fault> {
    short("the host", text, LONGEST_HOST)
}

/// Of a file on this machine.
pub(crate) fn path(text: &str) -> Result<String, Fault> {
    short("the path", text, LONGEST_VALUE)
}

/// What is looked for.
pub(crate) fn search(text: &str) -> Result<String, Fault> {
    short("what is looked for", text, LONGEST_HOST)
}

pub(crate) fn parameters(list: Vec<Parameter>) -> Result<Vec<Parameter>, Fault> {
    if list.len() > MOST_PARAMETERS {
        return Err(Fault::TooMany { count: list.len(), limit: MOST_PARAMETERS });
    }
    for Parameter { name, value } in &list {
        if name.is_empty() {
            return Err(Fault::parameter("a parameter has no name"));
        }
        short("the name of a parameter", name, LONGEST_CATEGORY)?;
        short("the value of a parameter", value, LONGEST_VALUE)?;
    }
    Ok(list)
}

/// Clients send what they like; beyond 900, which means "at once", there is nothing to gain.
pub(crate) fn priority(wanted: i64) -> i32 {
    wanted.clamp(-HIGHEST_PRIORITY, HIGHEST_PRIORITY) as i32
}

/// Cut rather than refused: half of a message is better than none.
pub(crate) fn log_text(text: &str) -> String {
    text.chars().take(LONGEST_VALUE).collect()
}

pub(crate) fn probe_time(wanted: Option<Duration>) -> Duration {
    wanted.unwrap_or(LONGEST_PROBE).clamp(Duration::from_secs(1), LONGEST_PROBE)
}

/// With or without padding, and with line breaks, as some libraries write it.
pub(crate) fn base64(text: &str) -> Result<Vec<u8>, Fault> {
    let bare: String;
    let text = if text.bytes().any(|byte| byte.is_ascii_whitespace()) {
        bare = text.split_ascii_whitespace().collect();
        &bare
    } else {
        text
    };
    BASE64.decode(text).map_err(|_| Fault::parameter("the content is not base64"))
}

fn short(what: &str, text: &str, limit: usize) -> Result<String, Fault> {
    if text.len() > limit {
        let length = text.len();
        return Err(Fault::parameter(format!("{what} has {length} bytes, more than {limit}")));
    }
    if text.contains('\0') {
        return Err(Fault::parameter(format!("{what} holds a NUL")));
    }
    Ok(text.to_owned())
}

const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// Four times what a file system takes, for titles with letters of four bytes.
const LONGEST_NAME: usize = 1024;
const LONGEST_CATEGORY: usize = 256;
const LONGEST_SCHEME: usize = 32;
const LONGEST_HOST: usize = 253; // RFC 1035, section 2.3.4
const LONGEST_VALUE: usize = 8192;
const MOST_PARAMETERS: usize = 100;
const HIGHEST_PRIORITY: i64 = 1000;
/// A user waits for the result, and an idle connection is closed after 60 seconds.
const LONGEST_PROBE: Duration = Duration::from_secs(45);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_bounded() {
        assert!(name(&"x".repeat(LONGEST_NAME)).is_ok());
        assert!(name(&"x".repeat(LONGEST_NAME + 1)).is_err());
        assert!(name("a\0b").is_err());
        assert!(category(&"x".repeat(1 << 20)).is_err());
        assert!(matches!(category(""), Ok(None)));
        let parameter = Parameter { name: "a".to_owned(), value: "b".to_owned() };
        assert!(parameters(vec![parameter.clone(); MOST_PARAMETERS]).is_ok());
        assert!(parameters(vec![parameter; MOST_PARAMETERS + 1]).is_err());
    }

    #[test]
    fn priorities_are_clamped() {
        assert_eq!([priority(1_000_000_000), priority(-7), priority(i64::MIN)], [1000, -7, -1000]);
    }

    #[test]
    fn base64_is_read_as_libraries_write_it() {
        for text in ["aGVsbG8=", "aGVsbG8", "aGVs\r\nbG8=\n"] {
            assert_eq!(base64(text).expect("it is base64"), b"hello", "{text:?}");
        }
        assert!(base64("a$b").is_err());
    }

    #[test]
    fn only_web_addresses_are_urls() {
        assert!(url("HTTPS://x/y").is_ok());
        for text in ["file:///etc/passwd", "ftp://x", "http:/x", "é"] {
            assert!(url(text).is_err(), "{text}");
        }
        assert!(has_scheme("file:///x") && has_scheme("http://x") && !has_scheme("PG56/Yi8:"));
    }
}
