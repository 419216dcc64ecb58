//! [`HttpError`]: why a fetch failed.

use std::net::IpAddr;
use std::time::Duration;

use bergamot_types::InvalidUrl;
use thiserror::Error;

use crate::error::ConnectError;

/// Each names the host, and none the path or the query: those may hold keys.
#[derive(Debug, Error)]
pub enum HttpError {
    #[error("cannot reach {host}: {error}")]
    Connect { host: String, error: ConnectError },
    #[error("{host} ended the transfer before its end")]
    Cut { host: String },
    #[error("{host} redirects from https to http ({to})")]
    Downgrade { host: String, to: String },
    #[error("{host} answers in the encoding {encoding}, which was not asked for")]
    Encoding { host: String, encoding: String },
    #[error("{host} is at {address}, which is no public address")]
    Forbidden { host: String, address: IpAddr },
    #[error("the gzip from {host} is damaged")]
    Gzip { host: String },
    #[error("{host} does not speak HTTP: {cause}")]
    Malformed { host: String, cause: String },
    #[error("{host} redirects to where we do not go: {error}")]
    RedirectTarget { host: String, error: InvalidUrl },
    #[error("{host} redirects in a circle")]
    RedirectLoop { host: String },
    #[error("{host} redirects once more after {most} redirects")]
    Redirects { host: String, most: usize },
    #[error("{host} answers with status {status}")]
    Status { host: String, status: u16 },
    #[error("the path that {host} is to be asked for is none")]
    Target { host: String },
    #[error("{host} did not finish within {} s", limit.as_secs_f32())]
    Timeout { host: String, limit: Duration },
    #[error("no secure connection to {host}: {cause}")]
    Tls { host: String, cause: String },
    #[error("{host} sends more than {most} bytes")]
    TooLarge { host: String, most: usize },
}

impl HttpError {
    pub fn code(&self) -> &'static str {
        match self {
            Self::Connect { .. } => "url.connect",
            Self::Cut { .. } => "url.cut",
            Self::Downgrade { .. } | Self::Forbidden { .. } => "url.forbidden",
            Self::Encoding { .. } => "url.encoding",
            Self::Gzip { .. } => "url.damaged",
            Self::Malformed { .. } => "url.malformed",
            Self::RedirectLoop { .. } | Self::Redirects { .. } => "url.redirects",
            Self::RedirectTarget { error: InvalidUrl::Scheme, .. } => "url.forbidden",
            Self::RedirectTarget { .. } => "url.redirects",
            Self::Status { .. } => "url.status",
            Self::Target { .. } => "url.invalid",
            Self::Timeout { .. } => "url.timeout",
            Self::Tls { .. } => "url.tls",
            Self::TooLarge { .. } => "url.too_large",
        }
    }

    /// Whether it is transient: a later attempt may succeed without a change of settings.
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Connect { .. }
            | Self::Cut { .. }
            | Self::Gzip { .. }
            | Self::Malformed { .. }
            | Self::Timeout { .. }
            | Self::Tls { .. } => true,
            Self::Status { status, .. } => matches!(status, 408 | 425 | 429 | 500..),
            Self::Downgrade { .. }
            | Self::Encoding { .. }
            | Self::Forbidden { .. }
            | Self::RedirectLoop { .. }
            | Self::RedirectTarget { .. }
            | Self::Redirects { .. }
            | Self::Target { .. }
            | Self::TooLarge { .. } => false,
        }
    }
}
