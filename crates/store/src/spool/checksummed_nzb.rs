//! The checksum at the end of an NZB in the spool: [`Sealing`] appends it while the NZB is written,
//! [`NzbReader`] takes it off and compares it while the NZB is read.
//!
//! It is a comment of XML and has always the same length, so other programs can still open the file. It is at
//! the end because NZBs are streamed to the disk. NZBs of older versions have none.

use std::fmt;
use std::io::{self, Read};
use std::path::PathBuf;

use crc32fast::Hasher;

use crate::error::StoreError;

/// An NZB with its checksum behind it.
pub(crate) struct Sealing<R> {
    nzb: R,
    hasher: Hasher,
    length: u64,
    /// What is left of the seal, once the NZB has ended.
    seal: Option<io::Cursor<String>>,
}

impl<R: Read> Sealing<R> {
    pub(crate) fn new(nzb: R) -> Self {
        Self { nzb, hasher: Hasher::new(), length: 0, seal: None }
    }
}

impl<R: Read> Read for Sealing<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(seal) = &mut self.seal {
            return seal.read(buffer);
        }
        let read = self.nzb.read(buffer)?;
        self.hasher.update(&buffer[..read]);
        self.length += read as u64;
        if read > 0 || buffer.is_empty() {
            return Ok(read);
        }
        let seal = self.seal.insert(io::Cursor::new(seal(&self.hasher, self.length)));
        seal.read(buffer)
    }
}

/// Reads the NZB of a job from the spool, without its seal. What [`read`](Read::read) returns may be damaged
/// until [`finish`](Self::finish) has said that it is not.
pub struct NzbReader {
    path: PathBuf,
    file: Box<dyn Read + Send>,
    /// Read from the file and not yet returned. Unless the file has ended, its last [`SEAL_LENGTH`] bytes
    /// may be the seal.
    ahead: Vec<u8>,
    start: usize, // of what is not yet returned
    hasher: Hasher,
    length: u64,
    end: Option<End>,
}

impl fmt::Debug for NzbReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NzbReader").field("path", &self.path).finish_non_exhaustive()
    }
}

/// What the last bytes of the file were.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum End {
    Sealed { crc: u32, length: u64 },
    Unsealed,
}

impl NzbReader {
    pub(crate) fn new(path: PathBuf, file: Box<dyn Read + Send>) -> Self {
        let (ahead, hasher) = (Vec::new(), Hasher::new());
        Self { path, file, ahead, start: 0, hasher, length: 0, end: None }
    }

    /// Reads the rest and compares the checksum. `must_be_sealed`: the job was added by a version that
    /// writes one, so an NZB without it is cut.
    pub fn finish(mut self, must_be_sealed: bool) -> Result<(), StoreError> {
        let read = io::copy(&mut self, &mut io::sink());
        read.map_err(|error| StoreError::new(self.path.clone(), error))?;
        let is_whole = match self.end {
            Some(End::Sealed { crc, length }) => {
                crc == self.hasher.finalize() && length == self.length
            }
            Some(End::Unsealed) | None => !must_be_sealed,
        };
        is_whole.then_some(()).ok_or(StoreError::Damaged { path: self.path })
    }

    fn read_ahead(&mut self) -> io::Result<()> {
        self.ahead.drain(..self.start);
        self.start = 0;
        let before = self.ahead.len();
        self.ahead.resize(before + READ_SIZE, 0);
        let read = self.file.read(&mut self.ahead[before..]);
        self.ahead.truncate(before + *read.as_ref().unwrap_or(&0));
        if read? == 0 {
            let content = self.ahead.len().saturating_sub(SEAL_LENGTH);
            let end = parse(&self.ahead[content..]);
            if end != End::Unsealed {
                self.ahead.truncate(content);
            }
            self.end = Some(end);
        }
        Ok(())
    }

    /// How much of what was read ahead is part of the NZB for certain.
    fn available(&self) -> usize {
        let kept_back = if self.end.is_some() { 0 } else { SEAL_LENGTH };
        (self.ahead.len() - self.start).saturating_sub(kept_back)
    }
}

impl Read for NzbReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.available() == 0 && self.end.is_none() {
            match self.read_ahead() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => read?,
            }
        }
        let length = self.available().min(buffer.len());
        let bytes = &self.ahead[self.start..self.start + length];
        buffer[..length].copy_from_slice(bytes);
        self.hasher.update(bytes);
        self.length += length as u64;
        self.start += length;
        Ok(length)
    }
}

fn seal(hasher: &Hasher, length: u64) -> String {
    let crc = hasher.clone().finalize();
    format!("{PREFIX}{crc:08x} {length:016x}{SUFFIX}")
}

fn parse(bytes: &[u8]) -> End {
    let parsed = || {
        let text = std::str::from_utf8(bytes).ok()?;
        let (crc, length) = text.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)?.split_once(' ')?;
        let crc = u32::from_str_radix(crc, 16).ok()?;
        Some(End::Sealed { crc, length: u64::from_str_radix(length, 16).ok()? })
    };
    parsed().unwrap_or(End::Unsealed)
}

const PREFIX: &str = "\n<!-- bergamot-nzb crc32 ";
const SUFFIX: &str = " -->\n";

/// Two numbers of 8 and 16 digits, and a space between them.
const SEAL_LENGTH: usize = PREFIX.len() + 8 + 1 + 16 + SUFFIX.len();

const READ_SIZE: usize = 64 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives its bytes in small pieces of different sizes.
    struct Pieces {
        bytes: Vec<u8>,
        at: usize,
        step: usize,
    }

    impl Read for Pieces {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let length = self.step.min(buffer.len()).min(self.bytes.len() - self.at);
            buffer[..length].copy_from_slice(&self.bytes[self.at..self.at + length]);
            self.at += length;
            Ok(length)
        }
    }

    fn sealed(nzb: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        Sealing::new(nzb).read_to_end(&mut bytes).unwrap();
        bytes
    }

    fn reader(bytes: &[u8], step: usize) -> NzbReader {
        NzbReader::new("x.nzb".into(), Box::new(Pieces { bytes: bytes.to_vec(), at: 0, step }))
    }

    fn read(bytes: &[u8], step: usize) -> Vec<u8> {
        let (mut reader, mut read) = (reader(bytes, step), Vec::new());
        reader.read_to_end(&mut read).unwrap();
        read
    }

    #[test]
    fn an_nzb_comes_back_as_it_was_and_its_checksum_is_right() {
        for length in [0, 1, SEAL_LENGTH - 1, SEAL_LENGTH, 1000, 3 * READ_SIZE + 7] {
            let nzb: Vec<u8> = (0..length).map(|at| at as u8).collect();
            for step in [1, SEAL_LENGTH, READ_SIZE, usize::MAX] {
                assert!(read(&sealed(&nzb), step) == nzb, "{length} by {step}");
                reader(&sealed(&nzb), step).finish(true).unwrap();
            }
        }
        assert_eq!(sealed(b"<nzb/>").len(), 6 + SEAL_LENGTH);
    }

    #[test]
    fn an_nzb_of_an_older_version_is_read_unchecked() {
        for nzb in [&b""[..], b"<nzb/>", &[b'x'; 1000]] {
            assert_eq!(read(nzb, 3), nzb);
            reader(nzb, 3).finish(false).unwrap();
            assert_eq!(reader(nzb, 3).finish(true).unwrap_err().code(), "state.damaged");
        }
    }

    #[test]
    fn no_flipped_bit_and_no_cut_goes_unnoticed() {
        let bytes = sealed(b"<nzb><file/></nzb>");
        for at in 0..bytes.len() {
            assert!(reader(&bytes[..at], 7).finish(true).is_err(), "cut at {at}");
            for bit in 0..8 {
                let mut flipped = bytes.clone();
                flipped[at] ^= 1 << bit;
                let is_case =
                    at >= 18 + PREFIX.len() && flipped[at].eq_ignore_ascii_case(&bytes[at]);
                let finished = reader(&flipped, 7).finish(true);
                assert!(finished.is_err() || is_case, "bit {bit} of byte {at}");
            }
        }
    }
}
