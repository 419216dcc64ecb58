//! The control socket and HTTP.
//!
//! The only crate that knows the wire names: it turns what clients of three dialects say into calls of
//! one trait, [`Control`], and the answers into what each of them expects.
//!
//! - [`Control`]: all that can be asked of the daemon; [`Refusal`]: why it did not
//! - [`view`]: what can be seen of it, in the shapes of the native dialect
//! - [`wish`]: what can be wanted of it; [`newsgroup`]: both, for newsgroups
//! - [`metrics`]: what can be measured of it
//! - [`Server`], [`Settings`]: the ways in, and who may come
//! - [`Hub`], [`Event`]: what watchers are told, as it happens
//! - [`Client`]: the other end, for the command line
//! - [`markdown`]: the tables of `docs/rpc.md`, made from the registry of methods

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

/// Names that the daemon still uses for what is in `bergamot_api::feeds`.
pub mod feeds {
    pub use bergamot_api::feeds::*;
    pub use bergamot_api::feeds::{FeedItemState as FeedFate, FeedPreview as FeedTrial};
}

/// Names that the daemon still uses for what is in `bergamot_api::request`.
pub mod wish {
    pub use bergamot_api::request::*;
    pub use bergamot_api::request::{DiskTest as DiskTrial, JobFilter as Which, JobList as Shelf};
}

pub use server::InheritedSockets as Doors;
