//! The simulator of jobs: the machine of jobs, the engine and the steps after a download together, in virtual
//! time, from a seed.
//!
//! [`Day`] is what a seed expands to; [`run`] plays it on one thread. For a while users do whatever they can
//! do, disks and servers fail, the calendar jumps and the process is killed; then the faults end, users undo
//! their pauses, and every job must end within a bound. After every event the invariants are checked; a
//! violation comes with the seed and all that happened.
//!
//! - `day`, `posts`: what a seed expands to; `kind`, `report`: what happened, and many days
//! - `timeline`, `planned`: the time, and what is going to happen
//! - `spool`, `journal`, `index`: the state directory; `disk`, `servers`: where jobs go to and come from
//! - `site`, `world`, `actions`, `users`: all of it together, driven
//! - `checks`: the invariants

mod actions;
mod checks;
mod day;
mod disk;
mod index;
mod journal;
mod kind;
mod planned;
mod posts;
mod report;
mod servers;
mod site;
mod spool;
mod timeline;
mod users;
mod world;

pub use crate::sim::campaign::named_seeds;
pub use day::Day;
pub use kind::{Fired, Kind};
pub use report::{Campaign, Report};
pub use world::{Outcome, run, run_with_log};
