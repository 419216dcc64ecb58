//! What one article turned out to hold.

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
    /// Its checksum was given and is right.
    pub verified: bool,
    pub name: Option<String>,
}

/// Why a part cannot be the one the NZB lists at its place.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
pub enum Conflict {
    #[error("it is part {given} where the NZB lists part {listed}")]
    Number { given: u32, listed: u32 },
    #[error("bytes {begin} to {end} belong to another part")]
    Overlap { begin: u64, end: u64 },
    #[error("it says that the file has {given} bytes where other parts say {agreed}")]
    Size { given: u64, agreed: u64 },
    #[error("of it and the other parts only one says where it belongs")]
    Unplaced,
    #[error("a file of {given} bytes cannot come of articles that hold at most {bound}")]
    Unbelievable { given: u64, bound: u64 },
}

impl Conflict {
    /// The stable name, as logs and answers carry it.
    pub fn code(&self) -> &'static str {
        "article.identity"
    }
}
