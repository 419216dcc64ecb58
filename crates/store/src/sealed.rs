//! Records that show whether they are whole.
//!
//! A first line with what it is, version and checksum, then TOML that a person can read:
//!
//! ```text
//! bergamot-job 1 5f3a0c11
//! id = 7
//! ```

use serde::Serialize;
use serde::de::DeserializeOwned;
use thiserror::Error;

/// Why bytes are no record.
#[derive(Debug, Error)]
pub(crate) enum Unsealed {
    #[error("it is damaged")]
    Damaged,
    #[error("it was written by a newer bergamot (version {0})")]
    Newer(u32),
}

/// `word` says what it is a record of.
pub(crate) fn seal(word: &str, record: &impl Serialize) -> String {
    let body = toml::to_string(record).expect("a record has only what TOML can hold");
    format!("{word} {VERSION} {:08x}\n{body}", checksum(VERSION, &body))
}

pub(crate) fn unseal<T: DeserializeOwned>(word: &str, bytes: &[u8]) -> Result<T, Unsealed> {
    let text = std::str::from_utf8(bytes).map_err(|_| Unsealed::Damaged)?;
    let (head, body) = text.split_once('\n').ok_or(Unsealed::Damaged)?;
    let words: Vec<_> = head.split(' ').collect();
    let [found, version, checksum] = words[..] else { return Err(Unsealed::Damaged) };
    if found != word {
        return Err(Unsealed::Damaged);
    }
    let version: u32 = version.parse().map_err(|_| Unsealed::Damaged)?;
    let stated = u32::from_str_radix(checksum, 16).map_err(|_| Unsealed::Damaged)?;
    if stated != self::checksum(version, body) {
        return Err(Unsealed::Damaged);
    }
    if version > VERSION {
        return Err(Unsealed::Newer(version));
    }
    toml::from_str(body).map_err(|_| Unsealed::Damaged)
}

/// Over the version too: one that flipped must not pass for a newer record.
fn checksum(version: u32, body: &str) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&version.to_le_bytes());
    hasher.update(body.as_bytes());
    hasher.finalize()
}

const VERSION: u32 = 1;

#[cfg(test)]
mod tests {
    use bergamot_types::{JobId, UnixTime};

    use super::*;
    use crate::record::{FinishedFile, JobState, Record};

    const WORD: &str = "bergamot-job";

    fn opened(bytes: &[u8]) -> Result<Record, Unsealed> {
        unseal(WORD, bytes)
    }

    fn record() -> Record {
        Record {
            id: JobId(7),
            name: "a \"name\" = [odd]\n".to_owned(),
            category: Some("tv".to_owned()),
            priority: -100,
            added: UnixTime(1_800_000_000),
            source: "x.nzb".to_owned(),
            fingerprint: "00ff".to_owned(),
            password: None,
            directory: Some("a name".to_owned()),
            state: JobState::Queued,
            reason: None,
            destination: None,
            missing: vec!["a@x".to_owned()],
            finished: vec![FinishedFile { index: 3, name: "f.rar".to_owned(), verified: true }],
        }
    }

    #[test]
    fn a_record_comes_back_as_it_went_in() {
        let sealed = seal(WORD, &record());
        assert_eq!(opened(sealed.as_bytes()).unwrap(), record());
        assert!(unseal::<Record>("bergamot-usage", sealed.as_bytes()).is_err(), "something else");
    }

    #[test]
    fn no_flipped_byte_and_no_cut_goes_unnoticed() {
        let sealed = seal(WORD, &record()).into_bytes();
        for at in 0..sealed.len() {
            assert!(opened(&sealed[..at]).is_err(), "cut at {at}");
            for bit in 0..8 {
                let mut flipped = sealed.clone();
                flipped[at] ^= 1 << bit;
                // Letters of the checksum mean the same in either case.
                if !flipped.eq_ignore_ascii_case(&sealed) {
                    assert!(opened(&flipped).is_err(), "bit {bit} of byte {at}");
                }
            }
        }
    }

    #[test]
    fn a_newer_version_is_told_apart_from_damage() {
        let newer = format!("{WORD} 2 {:08x}\nwhat = 1\n", checksum(2, "what = 1\n"));
        assert!(matches!(opened(newer.as_bytes()), Err(Unsealed::Newer(2))));
    }
}
