//! [`ConnectError`], [`Ended`]: why there is no connection, or no longer one.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use bergamot_nntp::{Ending, Moment};
use thiserror::Error;

/// Why no connection came to be. In none of these cases has a credential left the process.
#[derive(Debug, Error)]
pub enum ConnectError {
    #[error("the certificate of {host} is not trusted: {cause}")]
    Certificate { host: String, cause: String },
    #[error("cannot connect to {address}: {error}")]
    Connect { address: SocketAddr, error: io::Error },
    #[error("{host} has no {wanted} address")]
    NoAddress { host: String, wanted: &'static str },
    #[error("{host}:{port} does not speak TLS; is `encryption` or `port` wrong?")]
    NotTls { host: String, port: u16 },
    #[error("{host} has an address in a private network, which only full control may connect to")]
    Private { host: String },
    #[error("cannot resolve {host}: {error}")]
    Resolve { host: String, error: io::Error },
    #[error("the TLS handshake with {host} failed: {error}")]
    Tls { host: String, error: io::Error },
    #[error("{host}:{port} did not finish {what} within {} s", limit.as_secs_f32())]
    TooSlow { host: String, port: u16, what: &'static str, limit: Duration },
}

impl ConnectError {
    pub fn code(&self) -> &'static str {
        match self {
            Self::Certificate { .. } => "tls.certificate",
            Self::Connect { .. } | Self::NoAddress { .. } | Self::Resolve { .. } => "net.connect",
            Self::NotTls { .. } => "tls.not_tls",
            Self::Private { .. } => "net.private",
            Self::Tls { .. } => "tls.handshake",
            Self::TooSlow { .. } => "net.timeout",
        }
    }
}

/// Why a connection is over.
#[derive(Debug, Error)]
pub enum Ended {
    #[error(transparent)]
    Connect(#[from] ConnectError),
    #[error(transparent)]
    Conversation(#[from] Ending),
    /// We closed it with QUIT, as ordered.
    #[error("closed")]
    Quit,
    #[error("the connection broke {at}: {error}")]
    Io { at: Moment, error: io::Error },
}

impl Ended {
    pub fn code(&self) -> &'static str {
        match self {
            Self::Connect(error) => error.code(),
            Self::Conversation(ending) => ending.code(),
            Self::Quit => "nntp.quit",
            Self::Io { .. } => "net.broken",
        }
    }
}
