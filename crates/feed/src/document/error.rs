//! Why something is no feed.

use std::fmt;

use bergamot_types::Shown;
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
    Malformed { at: Place, source: Box<quick_xml::Error> },
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

/// Where in the text, for those who look.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Place {
    pub line: u64,
    pub element: String,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, element <{}>", self.line, Shown(&self.element))
    }
}
