//! Sockets and TLS around the NNTP machine: one tokio task per connection, which also decodes the bodies.
//!
//! - [`Server`]: one configured server: how it is reached, and its one TLS configuration
//! - [`Connection`]: the handle of one running connection; orders go in, [`Report`]s come out
//! - [`Session`]: a connection for headers, lists and probes, which ends when it is recalled
//! - [`Buffer`], [`BufferPool`]: decoded articles, in memory that is used again
//! - [`http`]: fetching from the web
//! - [`ConnectError`], [`Ended`]: why there is no connection, or no longer one
//!
//! This crate does not know jobs, retries or the other connections.

#![forbid(unsafe_code)]

mod connection;
mod error;
mod fetch;
pub mod http;
mod server;
mod session;
mod sink;
mod socket;
mod tls;

pub use bergamot_limit::Credit;
pub use connection::{CONNECTION_COST, Connection, Report};
pub use error::{ConnectError, Ended};
pub use fetch::Fetch;
pub use server::{ConnectLimits, Encryption, IpVersion, Server, ServerSettings};
pub use session::{GroupNumbers, Recall, Session, SessionError};
pub use socket::buffer::{Buffer, BufferPool};
pub use socket::read_buffer::READ_BUFFER_SIZE;
pub use tls::{TlsAgreement, TlsSettings, TlsSetupError, cipher_names};
