//! What can be asked of a ready server.

use bergamot_types::{ByteCount, GroupName, MessageId, Patience};

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
    Quit,
    Stat(MessageId),
}

impl Request {
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let (word, argument) = match self {
            Self::Article { id, .. } => ("ARTICLE", Argument::Id(id)),
            Self::Body { id, .. } => ("BODY", Argument::Id(id)),
            Self::Date => ("DATE", Argument::None),
            Self::Group(name) => ("GROUP", Argument::Group(name)),
            Self::Quit => ("QUIT", Argument::None),
            Self::Stat(id) => ("STAT", Argument::Id(id)),
        };
        out.extend_from_slice(word.as_bytes());
        match argument {
            Argument::Group(name) => out.extend([b" ", name.as_str().as_bytes()].concat()),
            Argument::Id(id) => {
                for piece in [" <", id.as_str(), ">"] {
                    out.extend_from_slice(piece.as_bytes());
                }
            }
            Argument::None => {}
        }
        out.extend_from_slice(b"\r\n");
    }

    /// Whether the code says that a body follows. Some servers answer BODY as if it were ARTICLE,
    /// with or without the headers; whoever decodes the body looks for its beginning anyway.
    pub(crate) fn is_body_code(&self, code: u16) -> bool {
        matches!((self, code), (Self::Article { .. }, 220) | (Self::Body { .. }, 220 | 222))
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

enum Argument<'a> {
    Group(&'a GroupName),
    Id(&'a MessageId),
    None,
}
