//! [`Outcome`]: what a decoded body says about itself.

use std::ops::Range;

use crate::fault::Fault;

/// A decoded body: what it is, and what is wrong with it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Outcome {
    pub part: Part,
    pub fault: Option<Fault>,
}

/// One part of a file. Everything but `length` and `crc32` is the poster's claim.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Part {
    /// None as long as nothing was recognised in the body.
    pub encoding: Option<Encoding>,
    /// As it came, with invalid UTF-8 replaced: no path component, and not safe to print.
    pub name: Option<String>,
    pub number: Option<u32>,
    pub total: Option<u32>,
    pub file_size: Option<u64>,
    /// Where the data belongs, from 0; within `file_size` if that is known. Its length is that of
    /// the data only if there is no fault.
    pub range: Option<Range<u64>>,
    /// How many bytes were decoded, with those that found no room.
    pub length: u64,
    /// Of the bytes that found room.
    pub crc32: u32,
    pub check: Check,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Encoding {
    Uu,
    Yenc,
}

/// Whether a CRC vouches for the data.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Check {
    /// The article carries no CRC of this part; a wrong one is a fault instead.
    Absent,
    Verified,
}
