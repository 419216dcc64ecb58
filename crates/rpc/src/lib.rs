//! The control interfaces: the Unix socket and HTTP, with three dialects.
//!
//! It translates requests of the native dialect, NZBGet's and SABnzbd's into calls of one trait,
//! [`Control`], and the results into the responses of each dialect. No other crate knows wire names.
//!
//! - [`Server`], [`Settings`]: listeners, users and tokens
//! - [`Hub`]: the ring of events for subscribers
//! - [`metrics`]: the page of `/metrics`
//! - [`Client`]: a blocking client, for the command line
//! - [`markdown`], [`sab_markdown`]: the tables of `docs/rpc.md`, generated from the tables of methods
//!
//! Folders: `socket` accepts connections and speaks lines of JSON, `http` checks and routes requests, `codec` reads and
//! writes JSON-RPC and XML-RPC, `call` finds a method and checks access, `dialect` has the handlers.

#![forbid(unsafe_code)]

mod access;
mod call;
mod client;
mod codec;
mod dialect;
mod event_hub;
#[doc(hidden)]
pub mod fuzzing;
mod http;
pub mod metrics;
mod server;
mod settings;
mod shutdown;
mod socket;

pub use access::Access;
pub use bergamot_api::{Control, Event, Refusal, newsgroup, request, targets, view};
pub use call::registry::markdown;
pub use client::{Client, ClientError, Events, Ready};
pub use dialect::sabnzbd::markdown as sab_markdown;
pub use event_hub::{Content, Delivery, Hub, Position, Watcher};
pub use server::{InheritedSockets, Server, StartError};
pub use settings::{Settings, Token, User};
