//! Drivers, fixtures and the simulator that the tests of several crates share.
//!
//! - [`sim`]: whole downloads in virtual time, from a seed
//! - [`job_days`]: the same with all jobs above the engine
//! - [`drive`]: the driver of the engine and the checker of its contract
//! - [`converse`]: plays a transcript against the NNTP machine, cut in every way packets can be cut
//! - [`skip`]: what a test says that cannot be shown here

#![forbid(unsafe_code)]

mod converse;
pub mod drive;
pub mod fixtures;
pub mod job_days;
mod plain_sink;
pub mod sim;
mod skip;
mod violation;

pub use converse::{Player, converse};
pub use plain_sink::PlainSink;
pub use skip::skip;
pub use violation::{Checked, Violation};
