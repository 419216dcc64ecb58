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
mod admission;
mod arguments;
mod auth;
mod body;
mod body_pace;
mod bounds;
mod brake;
mod call;
mod client;
mod counts;
mod fault;
mod file_sorting;
mod framing;
#[doc(hidden)]
pub mod fuzzing;
mod guard;
mod guests;
mod household;
mod http;
mod hub;
mod json;
mod json_rpc;
mod lines;
mod long_list;
pub mod metrics;
mod native;
mod nzb_methods;
mod nzbget;
mod pieces;
mod registry;
mod reply;
mod route;
mod sab;
mod server;
mod service;
mod settings;
mod shape;
mod socket;
mod spares;
mod stopped;
mod timed;
mod xml_reader;
mod xml_rpc;
mod xml_writer;

pub use access::Access;
pub use bergamot_api::request as wish;
pub use bergamot_api::{Control, Event, Refusal, feeds, newsgroup, targets, view};
pub use client::{Client, ClientError, Events, Ready};
pub use hub::{Content, Delivery, Hub, Position, Watcher};
pub use registry::markdown;
pub use sab::markdown as sab_markdown;
pub use server::{Doors, Server, StartError};
pub use settings::{Settings, Token, User};
