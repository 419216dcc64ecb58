//! [`Fault`]: what can be wrong with an article body.

use thiserror::Error;

/// Why a decoded body is not to be trusted. Whoever holds the article adds its id and server.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
pub enum Fault {
    #[error("the {field} says {stated:08x}, the decoded bytes have {computed:08x}")]
    Crc { field: &'static str, stated: u32, computed: u32 },
    #[error("the body is empty")]
    Empty,
    #[error("the body is encoded as {found}, which is not supported")]
    Encoding { found: &'static str },
    #[error("{field}: {value:?}")]
    Range { field: &'static str, value: String },
    #[error("UU row {row} starts with {value:?}, which is no length")]
    Row { row: u64, value: char },
    #[error("{field} is {stated}, decoded were {decoded} bytes")]
    Size { field: &'static str, stated: String, decoded: u64 },
    #[error("the decoded body has {needed} bytes and found room for {room}")]
    TooLarge { needed: u64, room: u64 },
    #[error("the body is cut off: {missing} is missing after {decoded} decoded bytes")]
    Truncated { missing: &'static str, decoded: u64 },
    #[error("{field}: {problem}")]
    YencHeader { field: &'static str, problem: &'static str },
}

impl Fault {
    /// The stable name of the fault, as logs and answers carry it.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Crc { .. } => "article.crc",
            Self::Empty => "article.empty",
            Self::Encoding { .. } => "article.encoding",
            Self::Range { .. } => "article.range",
            Self::Row { .. } => "article.uu_row",
            Self::Size { .. } => "article.size",
            Self::TooLarge { .. } => "article.too_large",
            Self::Truncated { .. } => "article.truncated",
            Self::YencHeader { .. } => "article.yenc_header",
        }
    }
}
