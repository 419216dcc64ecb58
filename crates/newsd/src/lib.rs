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

mod articles;
mod cable;
pub mod certs;
mod command;
mod compressed;
mod delivery;
mod dialogue;
mod fault;
mod faults;
mod generated;
mod manners;
mod newsgroups;
mod noise;
mod nzb;
mod outbox;
mod server;
mod session;
mod site;
mod tally;
mod wire;

pub use articles::{Articles, Posted};
pub use fault::{Fault, Stage};
pub use faults::{Faults, Rule};
pub use generated::Generated;
pub use manners::{Capabilities, Login, Manners};
pub use newsgroups::{Header, Newsgroups};
pub use server::{Options, Security, Server};
pub use session::{Output, Session};
pub use site::Site;
pub use tally::{Connections, Handshakes, Tally};
