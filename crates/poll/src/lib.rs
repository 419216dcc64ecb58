//! When anything is due: one queue of targets.
//!
//! No clock and no chance in here: the time and a source of numbers are arguments. The caller takes
//! what is due, does it, says how it went, and sleeps until [`Queue::next_wake`].

#![forbid(unsafe_code)]

pub mod adaptive;
mod queue;
mod settings;
mod target;

pub use queue::Queue;
pub use settings::Settings;
pub use target::{Status, Target, Wanted};
