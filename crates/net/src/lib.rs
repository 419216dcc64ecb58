//! Sockets and TLS around the NNTP machine; bodies are decoded here, beside the socket.
//!
//! - [`Server`]: one configured server: how it is reached, and its one TLS configuration
//! - [`Connection`]: the handle of one running connection; orders go in, [`Report`]s come out
//! - [`Errand`]: a connection for headers, lists and probes, which ends when it is recalled
//! - [`Buffer`], [`BufferPool`]: decoded articles, in memory that is used again
//! - [`http`]: fetching from the web
//! - [`ConnectError`], [`Ended`]: why there is no connection, or no longer one
//!
//! This room knows nothing of jobs, retries or other connections.

#![forbid(unsafe_code)]

mod buffer;
mod certificate;
mod connection;
mod deflated;
mod dial;
mod errand;
mod error;
mod fetch;
pub mod http;
mod link;
mod pinned;
mod scratch;
mod secured;
mod server;
mod sink;
mod tls;

pub use bergamot_limit::Credit;
pub use buffer::{Buffer, BufferPool};
pub use connection::{CONNECTION_COST, Connection, Report};
pub use errand::{Errand, ErrandError, GroupNumbers, Recall};
pub use error::{ConnectError, Ended};
pub use fetch::Fetch;
pub use scratch::SCRATCH_SIZE;
pub use server::{ConnectLimits, Encryption, IpVersion, Server, ServerSettings};
pub use tls::{TlsAgreement, TlsSettings, TlsSetupError, cipher_names};
