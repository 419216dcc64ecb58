//! [`Fingerprint`]: a hash of the message-ids of a job, which identifies its content.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The first 16 bytes of a digest of a job's message-ids. The same articles under another name have
/// the same.
#[derive(
    Clone, Copy, Debug, Default, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize,
)]
#[serde(try_from = "&str", into = "String")]
pub struct Fingerprint(pub [u8; 16]);

#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
#[error("a fingerprint has 32 hexadecimal digits")]
pub struct InvalidFingerprint;

impl Fingerprint {
    /// Of a digest of 16 bytes or more; the rest is left out.
    pub fn of_digest(digest: &[u8]) -> Option<Self> {
        digest.first_chunk().map(|bytes| Self(*bytes))
    }
}

impl FromStr for Fingerprint {
    type Err = InvalidFingerprint;

    /// Longer ones are cut: version 1 of the records kept the whole digest.
    fn from_str(text: &str) -> Result<Self, InvalidFingerprint> {
        let digits = text.as_bytes().first_chunk::<32>().ok_or(InvalidFingerprint)?;
        let mut bytes = [0; 16];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            let digit = |at: usize| char::from(pair[at]).to_digit(16).ok_or(InvalidFingerprint);
            *byte = u8::try_from(digit(0)? << 4 | digit(1)?).expect("two digits make a byte");
        }
        Ok(Self(bytes))
    }
}

impl TryFrom<&str> for Fingerprint {
    type Error = InvalidFingerprint;

    fn try_from(text: &str) -> Result<Self, InvalidFingerprint> {
        text.parse()
    }
}

impl From<Fingerprint> for String {
    fn from(fingerprint: Fingerprint) -> Self {
        fingerprint.to_string()
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_is_what_it_says_and_a_long_one_is_cut() {
        let text = "00ff10a9b8c7d6e5f40123456789abcd";
        let fingerprint: Fingerprint = text.parse().unwrap();
        assert_eq!(fingerprint.to_string(), text);
        assert_eq!(format!("{text}{text}").parse(), Ok(fingerprint));
        assert_eq!(Fingerprint::of_digest(&[7; 32]), Some(Fingerprint([7; 16])));
        for wrong in ["", "00ff", "é0ff10a9b8c7d6e5f40123456789abcd", &text.replace('f', "g")] {
            assert_eq!(wrong.parse::<Fingerprint>(), Err(InvalidFingerprint), "{wrong}");
        }
    }
}
