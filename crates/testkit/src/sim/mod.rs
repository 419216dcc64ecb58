//! The simulator: whole downloads in virtual time, from a seed.
//!
//! [`Day`] is what a seed expands to: servers with their speeds and vices, jobs, a disk, clocks.
//! [`run`] plays it against the real engine on one thread. For a while everything may go wrong;
//! then the faults heal, and the day must end well within a bound. After every step the invariants
//! are checked; a violation names the seed, and the same seed gives the same day, event for event.
//!
//! There are two kinds of [`Seed`]: on most days servers are rules and articles have no bytes; on
//! byte-level days each connection is the real NNTP machine and the real decoder against a session
//! of `newsd`, and what lies on the disk at the end is compared with what was posted.
//!
//! - `day`: what a seed expands to, with its calendar, user actions, posts and faults
//! - `network`, `models`, `wires`: the servers; `disk`, `journal`: the disk
//! - `world`, `event_queue`, `observer`: drives the engine, by [`drive`](crate::drive), in virtual time
//! - `invariants`, `header_reader`: what is checked after every event
//! - `log`, `campaign`, `report`: what is recorded, and many days

pub(crate) mod campaign;
mod day;
mod disk;
pub(crate) mod event_queue;
mod header_reader;
mod invariants;
mod journal;
mod kind;
mod log;
mod models;
mod network;
mod observer;
mod report;
mod seed;
mod wires;
mod world;

pub use campaign::{Campaign, named_seeds};
pub use day::calendar::CalendarModel;
pub use day::misfits::Misfits;
pub use day::user_action::UserAction;
pub use day::{ClockModel, Day, DiskModel, JobModel, Outage, ServerModel, Spell, WireFault};
pub use header_reader::SideTraffic;
pub use invariants::jobs::Verdict;
pub use kind::{Fired, Kind};
pub use report::Report;
pub use seed::Seed;
pub use world::{Outcome, Seen, Watcher, run, run_watched, run_with_log};
