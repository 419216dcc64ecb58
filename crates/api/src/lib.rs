//! What control interfaces may ask of the daemon, as one trait and its data types.
//!
//! Nothing here does I/O or reads a clock: the daemon implements [`Control`], the dialects of
//! `bergamot-rpc` call it, and neither knows the other.
//!
//! - [`Control`]: every request that the daemon answers; [`Refusal`]: why it did not
//! - [`request`]: the parameters of those requests
//! - [`view`]: what they return, in the shapes of the native dialect
//! - [`feeds`], [`newsgroup`], [`targets`]: parameters and results of feeds, newsgroups and the scheduler
//! - [`Event`]: what subscribers are sent
//! - [`metrics`]: the values that `/metrics` shows
//! - [`wire`]: how single values (times, ids, URLs) are written

#![forbid(unsafe_code)]

mod control;
mod event;
pub mod feeds;
pub mod metrics;
pub mod newsgroup;
pub mod request;
pub mod targets;
pub mod view;
pub mod wire;

pub use control::{Control, Refusal};
pub use event::Event;
