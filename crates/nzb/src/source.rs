//! The bytes of an NZB, decompressed if they are gzip. Pure.

use std::io::{BufRead, BufReader, Cursor, Read};

use bergamot_xml::take_head;
use flate2::bufread::MultiGzDecoder;

use crate::error::NzbError;

/// Unpacks gzip, known by its first bytes whatever the file is called.
pub(crate) fn open<'a>(mut input: impl BufRead + 'a) -> Result<Box<dyn BufRead + 'a>, NzbError> {
    let head = take_head(&mut input, LONGEST_MAGIC).map_err(NzbError::Unreadable)?;
    if let Some((_, found)) = FOREIGN.iter().find(|(magic, _)| head.starts_with(magic)) {
        return Err(NzbError::Compressed { found });
    }
    let is_gzip = head.starts_with(&GZIP);
    let whole = Cursor::new(head).chain(input);
    if is_gzip {
        return Ok(Box::new(BufReader::with_capacity(BUFFER, MultiGzDecoder::new(whole))));
    }
    Ok(Box::new(whole))
}

const GZIP: [u8; 2] = [0x1f, 0x8b];
const FOREIGN: [(&[u8], &str); 5] = [
    (b"BZh", "a bzip2 file"),
    (b"PK\x03\x04", "a ZIP archive"),
    (b"Rar!", "a RAR archive"),
    (b"7z\xbc\xaf", "a 7z archive"),
    (b"\xfd7zX", "an xz file"),
];
const LONGEST_MAGIC: usize = 4;
const BUFFER: usize = 32 << 10;
