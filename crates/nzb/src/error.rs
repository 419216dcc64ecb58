//! [`NzbError`]: why a text is refused as an NZB.

use std::io;

use bergamot_types::Shown;
use bergamot_xml::Place;
use thiserror::Error;

/// Why an NZB is refused. The caller knows which file it was and adds that.
#[derive(Debug, Error)]
pub enum NzbError {
    #[error("{at}: an attribute has {length} bytes or more, the limit is {limit}")]
    AttributeTooLong { at: Place, limit: usize, length: usize },
    #[error("the file is {found}, which is not unpacked here")]
    Compressed { found: &'static str },
    #[error("the gzip data are damaged")]
    CorruptGzip(#[source] io::Error),
    #[error("the segments say they have {declared} bytes, the limit is {limit}")]
    DeclaresTooMuch { limit: u64, declared: u64 },
    #[error("line {line}: the document type defines entities, which are never expanded")]
    DtdEntities { line: u64 },
    #[error("the file is empty")]
    Empty,
    #[error("the indexer answered with error {}: {}", Shown(code), Shown(description))]
    Indexer { code: String, description: String },
    #[error("{at}: malformed XML")]
    Malformed { at: Place, source: Box<bergamot_xml::Malformed> },
    #[error("the NZB names no files")]
    NoFiles,
    #[error("line {line}: not an NZB but {}", Shown(found))]
    NotNzb { line: u64, found: String },
    #[error("{at}: a text or comment has more than {limit} bytes")]
    TextTooLong { at: Place, limit: u64 },
    #[error("{at}: elements lie deeper within each other than {limit}")]
    TooDeep { at: Place, limit: usize },
    #[error("the NZB has more than {limit} bytes, after decompression if it was compressed")]
    TooLarge { limit: u64 },
    #[error("{at}: more than {limit} files")]
    TooManyFiles { at: Place, limit: usize },
    #[error("{at}: more than {limit} segments")]
    TooManySegments { at: Place, limit: usize },
    #[error("{at}: the file ends before </nzb>")]
    Truncated { at: Place },
    #[error("cannot be read")]
    Unreadable(#[source] io::Error),
}

impl NzbError {
    /// The stable name of the error, as logs and answers carry it.
    pub fn code(&self) -> &'static str {
        match self {
            Self::AttributeTooLong { .. } => "nzb.attribute_too_long",
            Self::Compressed { .. } => "nzb.compressed",
            Self::CorruptGzip(_) => "nzb.corrupt_gzip",
            Self::DeclaresTooMuch { .. } => "nzb.declares_too_much",
            Self::DtdEntities { .. } => "nzb.dtd_entities",
            Self::Empty => "nzb.empty",
            Self::Indexer { .. } => "nzb.indexer_error",
            Self::Malformed { .. } => "nzb.malformed",
            Self::NoFiles => "nzb.no_files",
            Self::NotNzb { .. } => "nzb.not_nzb",
            Self::TooDeep { .. } => "nzb.too_deep",
            Self::TextTooLong { .. } | Self::TooLarge { .. } => "nzb.too_large",
            Self::TooManyFiles { .. } => "nzb.too_many_files",
            Self::TooManySegments { .. } => "nzb.too_many_segments",
            Self::Truncated { .. } => "nzb.truncated",
            Self::Unreadable(_) => "nzb.unreadable",
        }
    }
}
