//! Encoding and decoding of the entries in a journal frame.
//!
//! Articles arrive nearly in order, so each entry stores only the difference to the one before: usually two
//! bytes, and far fewer than ten on average.

use bergamot_queue::Part;
use bergamot_types::{ByteCount, FileIdentity, FileStatus};

use crate::journal::{Entry, Finished};

pub(crate) fn encode(entries: &[Entry]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut before = Before::default();
    for entry in entries {
        match entry {
            Entry::Written { file, segment, part } => {
                bytes.push(if part.crc32.is_some() { WRITTEN_WITH_SUM } else { WRITTEN });
                encode_written(
                    &mut bytes,
                    &before.expected(*file, *segment),
                    *file,
                    *segment,
                    part,
                );
                part.crc32.iter().for_each(|crc32| bytes.extend(crc32.to_le_bytes()));
                before = Before { file: *file, segment: *segment, part: part.clone() };
            }
            Entry::Opened { file, identity } => {
                bytes.push(OPENED);
                put(&mut bytes, u64::from(*file));
                put_identity(&mut bytes, *identity);
            }
            Entry::Reopened { file, segment } => {
                bytes.push(REOPENED);
                put(&mut bytes, u64::from(*file));
                put(&mut bytes, u64::from(*segment));
            }
            Entry::Forgotten { file } => {
                bytes.push(FORGOTTEN);
                put(&mut bytes, u64::from(*file));
            }
            Entry::Finished { file, finished } => {
                bytes.push(match (finished.status, finished.verified) {
                    (Some(_), _) => FINISHED_WITH_STATUS,
                    (None, true) => FINISHED_VERIFIED,
                    (None, false) => FINISHED,
                });
                put(&mut bytes, u64::from(*file));
                put_text(&mut bytes, &finished.name);
                if let Some(status) = finished.status {
                    let verified = if finished.verified { VERIFIED_BY_SUMS } else { 0 };
                    bytes.push(verified | if finished.read_back { READ_BACK } else { 0 });
                    put_identity(&mut bytes, status.identity);
                    put(&mut bytes, status.size.0);
                }
            }
        }
    }
    bytes
}

/// `expected` is what the one before makes likely.
fn encode_written(bytes: &mut Vec<u8>, expected: &Before, file: u32, segment: u32, part: &Part) {
    let flags_at = bytes.len();
    let mut flags = if part.verified { VERIFIED } else { 0 };
    bytes.push(0);
    if file != expected.file || segment != expected.segment {
        flags |= ELSEWHERE;
        put(bytes, u64::from(file));
        put(bytes, u64::from(segment));
    }
    if part.begin != expected.part.begin {
        flags |= BEGIN;
        put_optional(bytes, part.begin);
    }
    if part.length != expected.part.length {
        flags |= LENGTH;
        put(bytes, part.length);
    }
    if part.file_size != expected.part.file_size {
        flags |= SIZE;
        put_optional(bytes, part.file_size);
    }
    if part.number != expected.part.number {
        flags |= NUMBER;
        put_optional(bytes, part.number.map(u64::from));
    }
    if part.name != expected.part.name {
        flags |= NAME;
        put_optional(bytes, part.name.as_ref().map(|_| 0));
        part.name.iter().for_each(|name| put_text(bytes, name));
    }
    bytes[flags_at] = flags;
}

/// The article that was told of last.
#[derive(Debug, Default)]
struct Before {
    file: u32,
    segment: u32,
    part: Part,
}

impl Before {
    /// What the given article would be if it went on as before. Where it stands is not known when
    /// the flag for that is read, so the caller says.
    fn expected(&self, file: u32, segment: u32) -> Self {
        let step = i64::from(segment) - i64::from(self.segment);
        let begin = self.part.begin.map(|begin| {
            begin.wrapping_add(self.part.length.wrapping_mul(step as u64)) // two's complement
        });
        let number =
            self.part.number.and_then(|number| u32::try_from(i64::from(number) + step).ok());
        let part = Part { begin, number, ..self.part.clone() };
        let next = self.segment.wrapping_add(1);
        match file == self.file {
            true => Self { file: self.file, segment: next, part },
            // Another file begins anew, with articles of the same size.
            false => Self { file: self.file, segment: next, part: Part { begin: Some(0), ..part } },
        }
    }
}

/// Reads entries; none of what follows one that makes no sense is read.
#[derive(Debug)]
pub(crate) struct Decoder<'a> {
    rest: &'a [u8],
    before: Before,
}

impl<'a> Decoder<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, before: Before::default() }
    }

    fn entry(&mut self) -> Option<Entry> {
        match self.byte()? {
            WRITTEN => self.written(false),
            WRITTEN_WITH_SUM => self.written(true),
            OPENED => Some(Entry::Opened { file: self.small()?, identity: self.identity()? }),
            REOPENED => Some(Entry::Reopened { file: self.small()?, segment: self.small()? }),
            FORGOTTEN => Some(Entry::Forgotten { file: self.small()? }),
            kind @ (FINISHED | FINISHED_VERIFIED) => {
                let (file, name) = (self.small()?, self.text()?);
                let verified = kind == FINISHED_VERIFIED;
                let finished = Finished { name, verified, read_back: false, status: None };
                Some(Entry::Finished { file, finished })
            }
            FINISHED_WITH_STATUS => {
                let (file, name, checks) = (self.small()?, self.text()?, self.byte()?);
                let (identity, size) = (self.identity()?, ByteCount(self.number()?));
                let finished = Finished {
                    name,
                    verified: checks & VERIFIED_BY_SUMS != 0,
                    read_back: checks & READ_BACK != 0,
                    status: Some(FileStatus { identity, size }),
                };
                Some(Entry::Finished { file, finished })
            }
            _ => None,
        }
    }

    fn identity(&mut self) -> Option<FileIdentity> {
        Some(FileIdentity { device: self.number()?, inode: self.number()? })
    }

    fn crc32(&mut self) -> Option<u32> {
        let (crc32, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(u32::from_le_bytes(*crc32))
    }

    fn written(&mut self, has_sum: bool) -> Option<Entry> {
        let flags = self.byte()?;
        let (file, segment) = match flags & ELSEWHERE {
            0 => (self.before.file, self.before.segment.wrapping_add(1)),
            _ => (self.small()?, self.small()?),
        };
        let mut part = self.before.expected(file, segment).part;
        part.verified = flags & VERIFIED != 0;
        if flags & BEGIN != 0 {
            part.begin = self.optional()?;
        }
        if flags & LENGTH != 0 {
            part.length = self.number()?;
        }
        if flags & SIZE != 0 {
            part.file_size = self.optional()?;
        }
        if flags & NUMBER != 0 {
            part.number = self.optional()?.map(u32::try_from).transpose().ok()?;
        }
        if flags & NAME != 0 {
            part.name = match self.optional()? {
                None => None,
                Some(_) => Some(self.text()?.into()),
            };
        }
        part.crc32 = if has_sum { Some(self.crc32()?) } else { None };
        self.before = Before { file, segment, part: part.clone() };
        Some(Entry::Written { file, segment, part })
    }

    fn byte(&mut self) -> Option<u8> {
        let (byte, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*byte)
    }

    /// Seven bits a byte, the lowest first.
    fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..u64::BITS).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7F) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    fn small(&mut self) -> Option<u32> {
        u32::try_from(self.number()?).ok()
    }

    fn optional(&mut self) -> Option<Option<u64>> {
        match self.byte()? {
            0 => Some(None),
            1 => self.number().map(Some),
            _ => None,
        }
    }

    fn text(&mut self) -> Option<String> {
        let length = usize::try_from(self.number()?).ok()?;
        let (text, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        String::from_utf8(text.to_vec()).ok()
    }
}

impl Iterator for Decoder<'_> {
    type Item = Option<Entry>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let entry = self.entry();
        if entry.is_none() {
            self.rest = &[];
        }
        Some(entry)
    }
}

fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number > 0x7F {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn put_optional(bytes: &mut Vec<u8>, number: Option<u64>) {
    bytes.push(u8::from(number.is_some()));
    number.into_iter().for_each(|number| put(bytes, number));
}

fn put_identity(bytes: &mut Vec<u8>, identity: FileIdentity) {
    put(bytes, identity.device);
    put(bytes, identity.inode);
}

fn put_text(bytes: &mut Vec<u8>, text: &str) {
    put(bytes, text.len() as u64);
    bytes.extend(text.as_bytes());
}

const WRITTEN: u8 = 1;
const REOPENED: u8 = 2;
const FORGOTTEN: u8 = 3;
const FINISHED: u8 = 4;
const FINISHED_VERIFIED: u8 = 5;
// Kinds of their own: an older bergamot reads nothing behind them, rather than something else.
const WRITTEN_WITH_SUM: u8 = 6;
const OPENED: u8 = 7;
const FINISHED_WITH_STATUS: u8 = 8;

// Of a finished file: which checks it has passed.
const VERIFIED_BY_SUMS: u8 = 1;
const READ_BACK: u8 = 1 << 1;

// Of what was written: what differs from what the one before makes likely.
const VERIFIED: u8 = 1;
const ELSEWHERE: u8 = 1 << 1;
const BEGIN: u8 = 1 << 2;
const LENGTH: u8 = 1 << 3;
const SIZE: u8 = 1 << 4;
const NUMBER: u8 = 1 << 5;
const NAME: u8 = 1 << 6;

#[cfg(test)]
mod tests {
    use super::*;

    fn written(file: u32, segment: u32) -> Entry {
        let part = Part {
            begin: Some(u64::from(segment) * 716_800),
            length: 716_800,
            file_size: Some(50_000_000),
            number: Some(segment + 1),
            total: None,
            verified: true,
            name: Some(format!("some.post.part{file:02}.rar").into()),
            crc32: None,
        };
        Entry::Written { file, segment, part }
    }

    fn odd() -> Vec<Entry> {
        let huge = Part {
            begin: Some(u64::MAX),
            length: u64::MAX,
            file_size: Some(u64::MAX),
            number: Some(u32::MAX),
            total: None,
            verified: false,
            name: Some("".into()),
            crc32: Some(u32::MAX),
        };
        let huge = |file, segment| Entry::Written { file, segment, part: huge.clone() };
        let bare = Entry::Written { file: 3, segment: 3, part: Part::default() };
        let identity = FileIdentity { device: u64::MAX, inode: 0 };
        let status = Some(FileStatus { identity, size: ByteCount(u64::MAX) });
        let finished = |verified| {
            let (name, read_back) = ("ä".to_owned(), false);
            let finished = Finished { name, verified, read_back, status: None };
            Entry::Finished { file: 9, finished }
        };
        let seen = |verified, read_back| {
            let finished = Finished { name: "b".to_owned(), verified, read_back, status };
            Entry::Finished { file: 3, finished }
        };
        vec![
            huge(u32::MAX, u32::MAX),
            huge(0, 0),
            bare.clone(),
            written(3, 4),
            Entry::Reopened { file: 3, segment: 4 },
            Entry::Forgotten { file: u32::MAX },
            finished(true),
            bare,
            finished(false),
            Entry::Opened { file: 7, identity },
            huge(1, 2),
            seen(true, true),
            seen(false, true),
            seen(true, false),
        ]
    }

    fn decoded(bytes: &[u8]) -> Option<Vec<Entry>> {
        Decoder::new(bytes).collect()
    }

    #[test]
    fn entries_come_back_as_they_went_in() {
        let plain: Vec<_> = (0..50).map(|segment| written(1, segment)).collect();
        let out_of_order: Vec<_> = (0..50).map(|at| written(at % 3, at * 7 % 50)).collect();
        for entries in [Vec::new(), odd(), plain, out_of_order] {
            assert_eq!(decoded(&encode(&entries)), Some(entries));
        }
    }

    #[test]
    fn an_article_costs_a_few_bytes() {
        let in_order: Vec<_> = (0..1000).map(|at| written(at / 100, at % 100)).collect();
        let pairs_swapped: Vec<_> = (0..1000).map(|at| written(at / 100, (at % 100) ^ 1)).collect();
        let (best, usual) = (encode(&in_order).len(), encode(&pairs_swapped).len());
        println!("{} and {} bytes for 1000 articles", best, usual);
        assert!(best < 3_000 && usual < 10_000, "{best} {usual}");
        let summed = in_order.into_iter().map(|entry| match entry {
            Entry::Written { file, segment, part } => {
                Entry::Written { file, segment, part: Part { crc32: Some(7), ..part } }
            }
            other => other,
        });
        let summed = encode(&summed.collect::<Vec<_>>()).len();
        assert_eq!(summed, best + 4_000, "a checksum costs four bytes");
    }

    #[test]
    fn no_bytes_make_it_panic() {
        let bytes = encode(&odd());
        for at in 0..bytes.len() {
            let _ = decoded(&bytes[..at]);
            for value in 0..=255 {
                let mut changed = bytes.clone();
                changed[at] = value;
                let _ = decoded(&changed);
            }
        }
        assert_eq!(decoded(&[0xFF]), None);
        assert_eq!(decoded(&[[REOPENED].as_slice(), &[0xFF; 11]].concat()), None);
    }
}
