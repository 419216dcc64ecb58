//! Whole downloads in virtual time, from a seed.
//!
//! [`Day`] is what a seed expands to: servers with their speeds and vices, jobs, a disk. [`run`]
//! plays it against the real engine on one thread. For a while everything may go wrong; then the
//! faults heal, and the day must end well within a bound. After every step the invariants are
//! checked; a violation names the seed, and the same seed gives the same day, event for event.

mod day;
mod happening;
mod ledger;
mod line;
mod world;

pub use day::{Day, DiskModel, ServerModel};
pub use ledger::Fired;
pub use world::{Outcome, run};
