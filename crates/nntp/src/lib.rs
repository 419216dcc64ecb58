//! The conversation with one news server.
//!
//! No socket and no clock in here: bytes and the time come in as arguments; commands, events and
//! the next deadline are polled out. So each odd server we meet becomes a ten-line test.
//!
//! - [`Connection`]: the machine itself: greeting, TLS upgrade, login, compression, pipelining
//! - [`Request`], [`Event`], [`Answer`], [`Ending`]: what goes in and what comes out
//! - [`BodySink`]: where body bytes go, uncopied and still dot-stuffed; [`Lines`] is one for lists
//! - [`Refusal`]: what a provider means when it says no

#![forbid(unsafe_code)]

mod body;
mod capabilities;
mod connection;
mod deadline;
mod event;
mod lines;
mod login;
mod refusal;
mod reply;
mod request;
mod settings;
mod setup;
mod status_line;
mod wildmat;

pub use body::{BodySink, BodyStep};
pub use capabilities::Capabilities;
pub use connection::Connection;
pub use event::{Answer, Ending, Event, Moment};
pub use lines::Lines;
pub use login::{InvalidLogin, Login};
pub use refusal::Refusal;
pub use reply::Reply;
pub use request::{List, Request, RequestId};
pub use settings::{Limits, ProgressFloor, Settings};
pub use wildmat::{InvalidWildmat, Wildmat};
