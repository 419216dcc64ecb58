//! [`Fault`]: why a call has no result, with the codes and numbers of each dialect.

use bergamot_api::Refusal;
use bergamot_types::InvalidUrl;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use thiserror::Error;

use crate::access::Access;
use crate::call::registry::{Dialect, Kind};
use crate::codec::json::Malformed;
use crate::codec::shape::{DEEPEST, Excess, MOST_VALUES};

#[derive(Debug, Error)]
pub(crate) enum Fault {
    #[error("{method} needs {needed} access")]
    AccessDenied { method: &'static str, needed: Access },
    #[error(transparent)]
    Url(#[from] InvalidUrl),
    #[error("not a request: {0}")]
    InvalidRequest(&'static str),
    #[error("invalid parameter: {0}")]
    InvalidParameter(String),
    #[error("invalid parameter: {name} is missing, expected {expected}")]
    MissingParameter { name: String, expected: Kind },
    #[error("invalid parameter: {name}: expected {expected}, not {given}")]
    WrongType { name: String, expected: Kind, given: &'static str },
    #[error("cannot be parsed: {0}")]
    Malformed(#[from] Malformed),
    #[error("cannot be parsed: {0}")]
    MalformedXml(String),
    #[error("{0} is not possible over this connection")]
    NotHere(&'static str),
    #[error("the configuration is not changed this way")]
    NotSettable,
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error("the request is larger than {limit} bytes")]
    TooLarge { limit: usize },
    #[error("{count} values, more than the limit of {limit}")]
    TooMany { count: usize, limit: usize },
    #[error("there is no method {0:?}")]
    UnknownMethod(String),
    #[error("{0} changes something and cannot be called by GET")]
    Unsafe(&'static str),
}

impl From<Excess> for Fault {
    fn from(excess: Excess) -> Self {
        match excess {
            Excess::Depth { offset } => {
                Malformed::at(offset, format!("more than {DEEPEST} levels deep")).into()
            }
            Excess::Values => Self::TooMany { count: MOST_VALUES + 1, limit: MOST_VALUES },
        }
    }
}

impl Fault {
    /// What was sent may be part of the text, so it is cut.
    pub(crate) fn parameter(text: impl AsRef<str>) -> Self {
        Self::InvalidParameter(text.as_ref().chars().take(LONGEST_TEXT).collect())
    }

    /// For programs; these never change.
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Self::AccessDenied { .. } => "rpc.access_denied",
            Self::InvalidRequest(_) => "rpc.invalid_request",
            Self::InvalidParameter(_) | Self::MissingParameter { .. } | Self::WrongType { .. } => {
                "rpc.invalid_params"
            }
            Self::Malformed(_) | Self::MalformedXml(_) => "rpc.parse",
            Self::NotHere(_) => "rpc.not_here",
            Self::NotSettable => "config.not_settable",
            Self::Refused(refusal) => refusal_code(refusal),
            Self::TooLarge { .. } => "rpc.too_large",
            Self::TooMany { .. } => "rpc.too_many",
            Self::UnknownMethod(_) => "rpc.unknown_method",
            Self::Unsafe(_) => "rpc.unsafe",
            Self::Url(invalid) => invalid.code(),
        }
    }

    /// Of JSON-RPC 2.0, section 5.1; what is our own lies between -32000 and -32099.
    fn native_number(&self) -> i32 {
        match self {
            Self::Malformed(_) | Self::MalformedXml(_) => -32700,
            Self::InvalidRequest(_) | Self::TooLarge { .. } | Self::TooMany { .. } => -32600,
            Self::UnknownMethod(_) => -32601,
            Self::InvalidParameter(_)
            | Self::MissingParameter { .. }
            | Self::WrongType { .. }
            | Self::Url(_) => -32602,
            Self::NotSettable => -32007,
            Self::Refused(refusal) => refusal_number(refusal),
            Self::AccessDenied { .. } => -32001,
            Self::Unsafe(_) | Self::NotHere(_) => -32002,
        }
    }

    pub(crate) fn nzbget_number(&self) -> i32 {
        match self {
            Self::UnknownMethod(_) => 1,
            Self::InvalidParameter(_)
            | Self::MissingParameter { .. }
            | Self::TooMany { .. }
            | Self::Url(_)
            | Self::WrongType { .. } => 2,
            Self::NotHere(_) | Self::NotSettable | Self::Refused(_) => 3,
            Self::Unsafe(_) => 4,
            Self::AccessDenied { .. } => 401,
            // Requests without a method belong to no dialect.
            Self::InvalidRequest(_)
            | Self::Malformed(_)
            | Self::MalformedXml(_)
            | Self::TooLarge { .. } => self.native_number(),
        }
    }
}

fn refusal_code(refusal: &Refusal) -> &'static str {
    match refusal {
        Refusal::ForbiddenUrl(_) => "url.forbidden",
        Refusal::Impossible(_) => "job.impossible",
        Refusal::Invalid(_) => "rpc.invalid_value",
        Refusal::NoSuchFeed(_) => "feed.unknown",
        Refusal::NoSuchFile(_) => "file.unknown",
        Refusal::NoSuchGroup(_) => "group.unknown",
        Refusal::NoSuchJob(_) => "job.unknown",
        Refusal::NoSuchOption(_) => "config.unknown_option",
        Refusal::NoSuchPost(_) => "post.unknown",
        Refusal::NoSuchServer(_) => "server.unknown",
        Refusal::NotSettable { .. } => "config.not_settable",
        Refusal::ServerLogin(_) => "server.login",
        Refusal::Stopping => "daemon.stopping",
        Refusal::Unavailable(_) => "daemon.unavailable",
        Refusal::Unsupported(_) => "rpc.unsupported",
        Refusal::Unwritable(_) => "config.unwritable",
    }
}

fn refusal_number(refusal: &Refusal) -> i32 {
    match refusal {
        Refusal::ForbiddenUrl(_)
        | Refusal::Invalid(_)
        | Refusal::NoSuchOption(_)
        | Refusal::ServerLogin(_) => -32602,
        Refusal::NoSuchFeed(_)
        | Refusal::NoSuchFile(_)
        | Refusal::NoSuchGroup(_)
        | Refusal::NoSuchJob(_)
        | Refusal::NoSuchPost(_)
        | Refusal::NoSuchServer(_) => -32004,
        Refusal::Impossible(_) => -32005,
        Refusal::Unavailable(_) | Refusal::Unwritable(_) | Refusal::Stopping => -32006,
        Refusal::NotSettable { .. } | Refusal::Unsupported(_) => -32007,
    }
}

/// The error object of one dialect.
pub(crate) struct FaultIn<'a>(pub(crate) &'a Fault, pub(crate) Dialect);

impl Serialize for FaultIn<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Self(fault, dialect) = self;
        let mut fields = to.serialize_map(None)?;
        match dialect {
            Dialect::Native => fields.serialize_entry("code", &fault.native_number())?,
            Dialect::Nzbget => {
                fields.serialize_entry("name", "JSONRPCError")?;
                fields.serialize_entry("code", &fault.nzbget_number())?;
            }
        }
        fields.serialize_entry("message", &fault.to_string())?;
        fields.serialize_entry("data", &Details(fault))?;
        fields.end()
    }
}

struct Details<'a>(&'a Fault);

impl Serialize for Details<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut fields = to.serialize_map(None)?;
        fields.serialize_entry("code", self.0.code())?;
        match self.0 {
            Fault::AccessDenied { needed, .. } => fields.serialize_entry("needed", needed)?,
            Fault::MissingParameter { name, expected }
            | Fault::WrongType { name, expected, .. } => {
                fields.serialize_entry("parameter", name)?;
                fields.serialize_entry("expected", expected)?;
            }
            Fault::Malformed(error) => fields.serialize_entry("offset", &error.offset)?,
            Fault::TooLarge { limit } => fields.serialize_entry("limit", limit)?,
            Fault::TooMany { count, limit } => {
                fields.serialize_entry("count", count)?;
                fields.serialize_entry("limit", limit)?;
            }
            Fault::Refused(Refusal::NoSuchOption(option) | Refusal::NotSettable { option, .. }) => {
                fields.serialize_entry("option", option)?
            }
            Fault::Refused(Refusal::NoSuchFile(id)) => fields.serialize_entry("file", id)?,
            Fault::Refused(Refusal::NoSuchJob(id)) => fields.serialize_entry("job", &id.0)?,
            Fault::Refused(Refusal::NoSuchServer(id)) => fields.serialize_entry("server", id)?,
            _ => {}
        }
        fields.end()
    }
}

const LONGEST_TEXT: usize = 300;
