//! [`DocumentError`]: why a document is no feed.

use bergamot_types::Shown;
use bergamot_xml::Place;
use thiserror::Error;

#[derive(Debug, Error)]
pub enum DocumentError {
    #[error("it is empty")]
    Empty,
    #[error("it is no feed: line {line} begins with {}", Shown(found))]
    NotAFeed { line: u64, found: String },
    #[error("it breaks off at {at}")]
    Truncated { at: Place },
    #[error("no XML at {at}: {source}")]
    Malformed { at: Place, source: Box<bergamot_xml::Malformed> },
    #[error("line {line} declares entities, which can unfold to anything")]
    DtdEntities { line: u64 },
    #[error("more than {limit} levels at {at}")]
    TooDeep { at: Place, limit: usize },
    #[error("more than {limit} bytes without an end at {at}")]
    TokenTooLong { at: Place, limit: u64 },
    #[error("more than {limit} bytes")]
    TooLarge { limit: u64 },
    #[error("more than {limit} items")]
    TooManyItems { limit: usize },
    /// A Newznab error document: the indexer understood, and will not.
    #[error("the indexer says: {} (error {})", Shown(description), Shown(code))]
    Indexer { code: String, description: String },
}

impl DocumentError {
    pub fn code(&self) -> &'static str {
        match self {
            Self::Indexer { .. } => "feed.indexer",
            Self::TooLarge { .. } => "feed.too_large",
            Self::TooManyItems { .. } => "feed.too_many_items",
            _ => "feed.malformed",
        }
    }
}
