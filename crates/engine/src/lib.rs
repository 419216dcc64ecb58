//! The heart: which article is asked of which connection, and what becomes of the answer.
//!
//! One machine: events in, orders out, and the next deadline. It has no socket, no file and no
//! clock, and it never sees a byte of payload; decoded articles are tickets here. The shell around
//! it only carries orders out and reports back, so a whole download can be run from a seed.
//!
//! - [`Engine`]: the machine
//! - [`Event`], [`Order`], [`Notice`]: what it hears, what it wants done, what people may know
//! - [`Settings`], [`ServerSettings`]: what it is told beforehand
//!
//! The policy (`server`, `tries`, `route`) is the plain one: levels, mirrors, retries and rests as
//! documented, a fixed pipeline depth, and no averages yet.

#![forbid(unsafe_code)]

mod budget;
mod engine;
mod event;
mod order;
mod route;
mod server;
mod settings;
mod tries;

pub use engine::Engine;
pub use event::{DiskTrouble, Event, Fault, Now, Trouble};
pub use order::{ConnectionId, Failure, Notice, Order, Ticket};
pub use settings::{ServerSettings, Settings};
