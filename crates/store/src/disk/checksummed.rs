//! [`seal`], [`unseal`]: small text files with kind, version and checksum in their first line.
//!
//! The first line has the kind, the version and the checksum; the rest is readable text:
//!
//! ```text
//! bergamot-job 2 5f3a0c11
//! {"id":7, …}
//! ```

use thiserror::Error;

/// Why bytes are no such file.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
pub(crate) enum Unsealed {
    #[error("it is damaged")]
    Damaged,
    #[error("it was written by a newer bergamot (version {0})")]
    Newer(u32),
}

/// `word` says what it is.
pub(crate) fn seal(word: &str, version: u32, body: &str) -> String {
    format!("{word} {version} {:08x}\n{body}", checksum(version, body))
}

/// The version and what was sealed, where it is whole and no newer than `newest`.
pub(crate) fn unseal<'a>(
    word: &str,
    newest: u32,
    bytes: &'a [u8],
) -> Result<(u32, &'a str), Unsealed> {
    let text = std::str::from_utf8(bytes).map_err(|_| Unsealed::Damaged)?;
    let (head, body) = text.split_once('\n').ok_or(Unsealed::Damaged)?;
    let words: Vec<_> = head.split(' ').collect();
    let [found, version, _] = words[..] else { return Err(Unsealed::Damaged) };
    let version: u32 = version.parse().map_err(|_| Unsealed::Damaged)?;
    // Numbers have more than one spelling; ours is the only one that counts.
    if found != word || head != format!("{word} {version} {:08x}", checksum(version, body)) {
        return Err(Unsealed::Damaged);
    }
    match version <= newest {
        true => Ok((version, body)),
        false => Err(Unsealed::Newer(version)),
    }
}

/// Over the version too: one that flipped must not pass for a newer one.
fn checksum(version: u32, body: &str) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&version.to_le_bytes());
    hasher.update(body.as_bytes());
    hasher.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_sealed_is_found_and_told_from_others() {
        let sealed = seal("word", 3, "body\nof it");
        assert_eq!(unseal("word", 3, sealed.as_bytes()), Ok((3, "body\nof it")));
        assert_eq!(unseal("other", 3, sealed.as_bytes()), Err(Unsealed::Damaged));
        assert_eq!(unseal("word", 2, sealed.as_bytes()), Err(Unsealed::Newer(3)));
    }

    #[test]
    fn no_flipped_byte_and_no_cut_goes_unnoticed() {
        let sealed = seal("word", 1, "some text of a body that has a few lines\nand more\n");
        let sealed = sealed.as_bytes();
        for at in 0..sealed.len() {
            assert!(unseal("word", 9, &sealed[..at]).is_err(), "cut at {at}");
            for bit in 0..8 {
                let mut flipped = sealed.to_vec();
                flipped[at] ^= 1 << bit;
                let found = unseal("word", 9, &flipped);
                assert_eq!(found, Err(Unsealed::Damaged), "bit {bit} of byte {at}");
            }
        }
    }
}
