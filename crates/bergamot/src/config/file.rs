//! Small files, read whole.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// No more than `limit` bytes; a larger file is an error, not a part of itself.
pub(super) fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(io::Error::other(format!("it has more than {limit} bytes")));
    }
    Ok(bytes)
}

pub(super) fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}
