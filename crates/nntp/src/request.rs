//! [`Request`]: the commands that can be sent to a ready server.

use bergamot_types::{ArticleRange, ByteCount, GroupName, MessageId, Patience};

use crate::wildmat::Wildmat;

/// The asker's own number for a request; answers carry it.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct RequestId(pub u64);

#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Request {
    /// Headers and body, at most `limit` bytes of them.
    Article {
        id: MessageId,
        limit: ByteCount,
    },
    /// The body, at most `limit` bytes of it. `patience` shortens what the settings allow.
    Body {
        id: MessageId,
        limit: ByteCount,
        patience: Option<Patience>,
    },
    Date,
    Group(GroupName),
    /// One header of the articles of the group that is selected.
    Hdr {
        field: &'static str,
        range: ArticleRange,
    },
    List(List),
    /// What is known of the articles of the group that is selected.
    Over(ArticleRange),
    Quit,
    Stat(MessageId),
    /// The same as `Over`, in the words that servers knew before RFC 3977.
    Xover(ArticleRange),
}

/// What LIST can be asked for.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum List {
    /// Names, numbers and whether one may post.
    Active(Option<Wildmat>),
    /// Names and what they are about.
    Newsgroups(Option<Wildmat>),
}

impl Request {
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.command().as_bytes());
        match self {
            Self::Article { id, .. } | Self::Body { id, .. } | Self::Stat(id) => {
                for piece in [" <", id.as_str(), ">"] {
                    out.extend_from_slice(piece.as_bytes());
                }
            }
            Self::Group(name) => out.extend([b" ", name.as_str().as_bytes()].concat()),
            Self::Hdr { field, range } => out.extend(format!(" {field} {range}").into_bytes()),
            Self::List(List::Active(Some(pattern)) | List::Newsgroups(Some(pattern))) => {
                out.extend([b" ", pattern.as_str().as_bytes()].concat());
            }
            Self::Over(range) | Self::Xover(range) => out.extend(format!(" {range}").into_bytes()),
            Self::Date | Self::List(_) | Self::Quit => {}
        }
        out.extend_from_slice(b"\r\n");
    }

    /// The words a command begins with.
    pub fn command(&self) -> &'static str {
        match self {
            Self::Article { .. } => "ARTICLE",
            Self::Body { .. } => "BODY",
            Self::Date => "DATE",
            Self::Group(_) => "GROUP",
            Self::Hdr { .. } => "HDR",
            Self::List(List::Active(_)) => "LIST ACTIVE",
            Self::List(List::Newsgroups(_)) => "LIST NEWSGROUPS",
            Self::Over(_) => "OVER",
            Self::Quit => "QUIT",
            Self::Stat(_) => "STAT",
            Self::Xover(_) => "XOVER",
        }
    }

    /// Whether the code says that a body follows. Some servers answer BODY as if it were ARTICLE,
    /// with or without the headers; the decoder looks for the beginning of the body anyway.
    pub(crate) fn is_body_code(&self, code: u16) -> bool {
        matches!((self, code), (Self::Article { .. }, 220) | (Self::Body { .. }, 220 | 222))
    }

    /// Whether the code says that lines follow. Old servers answer HDR as they answered XHDR.
    pub(crate) fn is_listing_code(&self, code: u16) -> bool {
        match self {
            Self::Hdr { .. } => matches!(code, 221 | 225),
            Self::List(_) => code == 215,
            Self::Over(_) | Self::Xover(_) => code == 224,
            _ => false,
        }
    }

    pub(crate) fn is_listing(&self) -> bool {
        matches!(self, Self::Hdr { .. } | Self::List(_) | Self::Over(_) | Self::Xover(_))
    }

    pub(crate) fn message_id(&self) -> Option<&MessageId> {
        match self {
            Self::Article { id, .. } | Self::Body { id, .. } | Self::Stat(id) => Some(id),
            _ => None,
        }
    }

    pub(crate) fn patience(&self) -> Option<Patience> {
        match self {
            Self::Body { patience, .. } => *patience,
            _ => None,
        }
    }

    pub(crate) fn body_limit(&self) -> u64 {
        match self {
            Self::Article { limit, .. } | Self::Body { limit, .. } => limit.0,
            _ => 0,
        }
    }
}
