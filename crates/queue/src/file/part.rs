//! [`Part`]: what one decoded article says of itself; [`Conflict`]: why that contradicts its file. Pure.

use std::sync::Arc;

use thiserror::Error;

/// A decoded part, as the article itself describes it.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Part {
    /// Where it begins in the file; UU-encoded articles do not say.
    pub begin: Option<u64>,
    pub length: u64,
    /// The size of the whole file.
    pub file_size: Option<u64>,
    pub number: Option<u32>,
    /// How many parts the file has.
    pub total: Option<u32>,
    /// Its checksum was given and is right.
    pub verified: bool,
    /// Shared by the parts of a file, of which there may be a hundred thousand.
    pub name: Option<Arc<str>>,
    /// CRC-32 of the decoded bytes, whatever the article says of it; unknown of what an older bergamot
    /// has written.
    pub crc32: Option<u32>,
}

/// Why a part cannot be the one the NZB lists at its place.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
pub enum Conflict {
    #[error("its name differs from that in nearly all other parts")]
    Name,
    #[error("it is part {given} where the NZB lists part {listed}")]
    Number { given: u32, listed: u32 },
    #[error("bytes {begin} to {end} belong to another part")]
    Overlap { begin: u64, end: u64 },
    #[error("it says that the file has {given} bytes where other parts say {agreed}")]
    Size { given: u64, agreed: u64 },
    #[error("it says that the file has {given} parts, and nearly all other parts another number")]
    Total { given: u32 },
    #[error("of it and the other parts only one says where it belongs")]
    Unplaced,
    #[error("a file of {given} bytes cannot come of articles that hold at most {bound}")]
    Unbelievable { given: u64, bound: u64 },
}

impl Conflict {
    /// Whether the copy may be right nevertheless, and is accepted if no server has a better one.
    pub fn is_suspicion(&self) -> bool {
        match self {
            Self::Name | Self::Number { .. } | Self::Size { .. } | Self::Total { .. } => true,
            Self::Overlap { .. } | Self::Unplaced | Self::Unbelievable { .. } => false,
        }
    }

    /// The stable name, as logs and answers carry it.
    pub fn code(&self) -> &'static str {
        "article.identity"
    }
}
