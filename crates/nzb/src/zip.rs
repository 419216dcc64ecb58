//! [`Zip`]: an archive of NZBs, as some indexers send them.
//!
//! Only what such archives need: members that are stored or deflated, found by the directory at the end.
//! Names of members are labels. Every size and offset is checked against the bytes of the archive.

use std::io::{self, Read};

use flate2::CrcReader;
use flate2::read::DeflateDecoder;
use thiserror::Error;

/// An archive in memory.
#[derive(Debug)]
pub struct Zip<'a> {
    bytes: &'a [u8],
    members: Vec<Member>,
}

/// One file of an archive, as its directory describes it.
#[derive(Clone, Debug)]
pub struct Member {
    /// As it was written, with all the path it claims.
    pub name: String,
    flags: u16,
    method: u16,
    crc: u32,
    packed: usize,
    header: usize, // where its local header lies
}

/// Why an archive, or a member of it, cannot be read.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
pub enum ZipError {
    #[error("the ZIP archive is damaged or cut")]
    Damaged,
    #[error("it is encrypted")]
    Encrypted,
    #[error("the ZIP archive has more than {MOST_MEMBERS} members")]
    TooMany,
    #[error("it is packed in a way that is not unpacked here")]
    UnknownMethod,
}

impl ZipError {
    pub fn code(self) -> &'static str {
        match self {
            Self::Damaged => "zip.damaged",
            Self::Encrypted => "zip.encrypted",
            Self::TooMany => "zip.too_many",
            Self::UnknownMethod => "zip.unknown_method",
        }
    }
}

impl<'a> Zip<'a> {
    pub fn is_one(bytes: &[u8]) -> bool {
        bytes.starts_with(LOCAL_HEADER)
    }

    pub fn open(bytes: &'a [u8]) -> Result<Self, ZipError> {
        let end = find_end(bytes).ok_or(ZipError::Damaged)?;
        let count = usize::from(u16_at(bytes, end + 10).ok_or(ZipError::Damaged)?);
        if count > MOST_MEMBERS {
            return Err(ZipError::TooMany);
        }
        let mut place = u32_at(bytes, end + 16).ok_or(ZipError::Damaged)? as usize;
        let mut members = Vec::new();
        for _ in 0..count {
            let (member, length) = read_entry(bytes, place).ok_or(ZipError::Damaged)?;
            members.push(member);
            place += length;
        }
        Ok(Self { bytes, members })
    }

    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// What is in a member, unpacked while it is read. How much that is, the reader has to bound.
    pub fn read(&self, member: &Member) -> Result<impl Read + use<'a>, ZipError> {
        if member.flags & ENCRYPTED != 0 {
            return Err(ZipError::Encrypted);
        }
        let packed = self.packed(member).ok_or(ZipError::Damaged)?;
        let content: Box<dyn Read + 'a> = match member.method {
            STORED => Box::new(packed),
            DEFLATED => Box::new(DeflateDecoder::new(packed)),
            _ => return Err(ZipError::UnknownMethod),
        };
        Ok(Checked { content: CrcReader::new(content), crc: member.crc })
    }

    /// The local header repeats the name, and may have other extras than the directory.
    fn packed(&self, member: &Member) -> Option<&'a [u8]> {
        let header = self.bytes.get(member.header..)?;
        if !header.starts_with(LOCAL_HEADER) {
            return None;
        }
        let name = usize::from(u16_at(header, 26)?);
        let extra = usize::from(u16_at(header, 28)?);
        let start = LOCAL_LENGTH + name + extra;
        header.get(start..start.checked_add(member.packed)?)
    }
}

impl Member {
    pub fn is_nzb(&self) -> bool {
        let name = self.name.to_ascii_lowercase();
        name.ends_with(".nzb") || name.ends_with(".nzb.gz")
    }

    /// The name without the path it claims.
    pub fn file_name(&self) -> &str {
        self.name.rsplit(['/', '\\']).next().unwrap_or_default()
    }
}

/// Fails at the end if what was read is not what was packed.
struct Checked<'a> {
    content: CrcReader<Box<dyn Read + 'a>>,
    crc: u32,
}

impl Read for Checked<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.content.read(buffer)?;
        if count == 0 && !buffer.is_empty() && self.content.crc().sum() != self.crc {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "its checksum is wrong"));
        }
        Ok(count)
    }
}

/// The record at the very end, behind which only a comment may lie.
fn find_end(bytes: &[u8]) -> Option<usize> {
    let last = bytes.len().checked_sub(END_LENGTH)?;
    let first = last.saturating_sub(LONGEST_COMMENT);
    (first..=last).rev().find(|&place| {
        bytes[place..].starts_with(END)
            && u16_at(bytes, place + 20)
                .is_some_and(|comment| place + END_LENGTH + usize::from(comment) <= bytes.len())
    })
}

/// One entry of the directory, and how long it is.
fn read_entry(bytes: &[u8], place: usize) -> Option<(Member, usize)> {
    let entry = bytes.get(place..).filter(|entry| entry.starts_with(ENTRY))?;
    let length = |at| Some(usize::from(u16_at(entry, at)?));
    let (name, extra, comment) = (length(28)?, length(30)?, length(32)?);
    let member = Member {
        name: String::from_utf8_lossy(entry.get(ENTRY_LENGTH..ENTRY_LENGTH + name)?).into_owned(),
        flags: u16_at(entry, 8)?,
        method: u16_at(entry, 10)?,
        crc: u32_at(entry, 16)?,
        packed: u32_at(entry, 20)? as usize,
        header: u32_at(entry, 42)? as usize,
    };
    Some((member, ENTRY_LENGTH + name + extra + comment))
}

fn u16_at(bytes: &[u8], place: usize) -> Option<u16> {
    let field = bytes.get(place..)?.first_chunk()?;
    Some(u16::from_le_bytes(*field))
}

fn u32_at(bytes: &[u8], place: usize) -> Option<u32> {
    let field = bytes.get(place..)?.first_chunk()?;
    Some(u32::from_le_bytes(*field))
}

/// Of all kinds; how many of them are NZBs is for others to bound.
const MOST_MEMBERS: usize = 10_000;

const LOCAL_HEADER: &[u8] = b"PK\x03\x04";
const LOCAL_LENGTH: usize = 30;
const ENTRY: &[u8] = b"PK\x01\x02";
const ENTRY_LENGTH: usize = 46;
const END: &[u8] = b"PK\x05\x06";
const END_LENGTH: usize = 22;
const LONGEST_COMMENT: usize = u16::MAX as usize;

const ENCRYPTED: u16 = 1;
const STORED: u16 = 0;
const DEFLATED: u16 = 8;

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::write::DeflateEncoder;
    use flate2::{Compression, Crc};
    use proptest::prelude::*;

    use super::*;

    /// An archive made by hand: each member with its method, flags and content.
    fn archive(members: &[(&str, u16, u16, &[u8])]) -> Vec<u8> {
        let (mut bytes, mut directory) = (Vec::new(), Vec::new());
        for (name, method, flags, content) in members {
            let mut crc = Crc::new();
            crc.update(content);
            let packed = match *method {
                DEFLATED => {
                    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
                    encoder.write_all(content).unwrap();
                    encoder.finish().unwrap()
                }
                _ => content.to_vec(),
            };
            let mut shared = Vec::new();
            for field in [20, *flags, *method, 0, 0] {
                shared.extend(field.to_le_bytes());
            }
            for field in [crc.sum(), packed.len() as u32, content.len() as u32] {
                shared.extend(field.to_le_bytes());
            }
            shared.extend((name.len() as u16).to_le_bytes());
            shared.extend(0_u16.to_le_bytes());
            directory.extend([ENTRY, &[20, 0], &shared, &[0; 10]].concat());
            directory.extend((bytes.len() as u32).to_le_bytes());
            directory.extend(name.as_bytes());
            bytes.extend([LOCAL_HEADER, &shared, name.as_bytes(), &packed].concat());
        }
        let (count, start) = (members.len() as u16, bytes.len() as u32);
        bytes.extend(&directory);
        bytes.extend([END, &[0; 4]].concat());
        for field in [count, count] {
            bytes.extend(field.to_le_bytes());
        }
        for field in [directory.len() as u32, start] {
            bytes.extend(field.to_le_bytes());
        }
        bytes.extend([0; 2]);
        bytes
    }

    fn content(zip: &Zip<'_>, index: usize) -> Result<Vec<u8>, String> {
        let reader = zip.read(&zip.members()[index]).map_err(|error| error.code().to_owned())?;
        let mut bytes = Vec::new();
        reader.take(1 << 20).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
        Ok(bytes)
    }

    #[test]
    fn stored_and_deflated_members_are_read() {
        let text = b"<nzb/>".repeat(100);
        let bytes = archive(&[
            ("a.nzb", STORED, 0, &text),
            ("../../etc/b.NZB", DEFLATED, 0, &text),
            ("readme.txt", DEFLATED, 0, b""),
        ]);
        let zip = Zip::open(&bytes).unwrap();
        let names: Vec<_> = zip.members().iter().map(|it| (it.file_name(), it.is_nzb())).collect();
        assert_eq!(names, [("a.nzb", true), ("b.NZB", true), ("readme.txt", false)]);
        for place in 0..2 {
            assert_eq!(content(&zip, place).unwrap(), text);
        }
        assert_eq!(content(&zip, 2).unwrap(), b"");
        let with_comment = [&bytes[..bytes.len() - 2], &[5, 0], b"hello".as_slice()].concat();
        assert_eq!(Zip::open(&with_comment).unwrap().members().len(), 3);
    }

    #[test]
    fn each_member_has_its_own_error() {
        let bytes = archive(&[("a", STORED, 1, b"x"), ("b", 14, 0, b"x"), ("c", STORED, 0, b"hi")]);
        let mut broken = bytes.clone();
        let place = broken.windows(2).position(|two| two == b"hi").unwrap();
        broken[place] = b'j';
        let zip = Zip::open(&broken).unwrap();
        assert_eq!(content(&zip, 0).unwrap_err(), "zip.encrypted");
        assert_eq!(content(&zip, 1).unwrap_err(), "zip.unknown_method");
        assert_eq!(content(&zip, 2).unwrap_err(), "its checksum is wrong");
        assert_eq!(content(&Zip::open(&bytes).unwrap(), 2).unwrap(), b"hi");
    }

    #[test]
    fn too_many_members_are_too_many() {
        let members = vec![("a", STORED, 0, b"".as_slice()); MOST_MEMBERS + 1];
        assert_eq!(Zip::open(&archive(&members)).unwrap_err(), ZipError::TooMany);
        assert!(Zip::open(&archive(&members[1..])).is_ok());
    }

    #[test]
    fn a_cut_archive_is_damaged() {
        let bytes = archive(&[("a.nzb", DEFLATED, 0, b"<nzb/>")]);
        for end in 0..bytes.len() {
            assert!(matches!(Zip::open(&bytes[..end]), Err(ZipError::Damaged)), "{end}");
        }
    }

    proptest! {
        #[test]
        fn no_change_of_bytes_panics(place in 0..300_usize, byte: u8, noise in any::<Vec<u8>>()) {
            let mut bytes = archive(&[("a.nzb", DEFLATED, 0, b"<nzb/>"), ("b", STORED, 0, b"x")]);
            let place = place % bytes.len();
            bytes[place] = byte;
            for bytes in [&bytes, &noise] {
                if let Ok(zip) = Zip::open(bytes) {
                    for place in 0..zip.members().len() {
                        let _ = content(&zip, place);
                    }
                }
            }
        }
    }
}
