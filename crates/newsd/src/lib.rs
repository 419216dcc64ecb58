//! A small news server for the loopback, with programmable faults.
//!
//! A [`Session`] is the server's half of one conversation, without socket, clock or chance: bytes
//! and the time go in, answers come out when they are due. All connections of one server share a
//! [`Site`]: its [`Articles`], its [`Manners`], its [`Faults`] and its [`Tally`]. Which fault
//! strikes is a function of the seed, the message-id and how often that id was asked for, so one
//! seed gives the same server twice, in the simulator and on the wire.
//!
//! [`Server`] is the thin shell: sockets, TLS and timers of tokio around sessions. Posts are kept
//! ([`Posted`]) or made on demand ([`Generated`]); [`certs`] issues the certificates, good and bad.
//!
//! - `articles`, `generated`, `newsgroups`, `noise`, `nzb`: what can be asked for
//! - `fault`, `faults`, `manners`: how a server behaves
//! - `command`, `dialogue`, `delivery`, `outbox`, `session`, `site`, `tally`: the conversation
//! - `server`, `wire`, `cable`, `compressed`, `certs`: the shell

#![forbid(unsafe_code)]

mod faults;
mod posts;
mod server;
mod session;

pub use faults::fault::{Fault, Stage};
pub use faults::manners::{Capabilities, Login, Manners};
pub use faults::{Faults, Rule};
pub use posts::articles::{Articles, Posted};
pub use posts::generated::Generated;
pub use posts::newsgroups::{Header, Newsgroups};
pub use server::certs;
pub use server::{Options, Security, Server};
pub use session::site::Site;
pub use session::tally::{Connections, Handshakes, Tally};
pub use session::{Output, Session};
