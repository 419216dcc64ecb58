//! The scheduler of recurring work: [`Queue`] owns the targets and decides which are due. Pure.
//!
//! The time and a source of random numbers are arguments. The caller takes the targets that are due, runs
//! them, reports the results, and sleeps until [`Queue::next_wake`].
//!
//! - [`Queue`]: the targets, and which of them are due
//! - [`Activity`], [`refresh_period`]: how often to refresh something, by the rate of requests for it
//! - [`adaptive`]: how often to poll a feed, by the gaps between its items
//! - [`current_item`], [`Promotion`]: which item of a queue is the current one and is polled most often

#![forbid(unsafe_code)]

mod activity;
pub mod adaptive;
mod current;
mod queue;
mod settings;
mod target;

pub use activity::{Activity, refresh_period};
pub use current::{Cadence, Promotion, Stage, current_item};
pub use queue::Queue;
pub use settings::Settings;
pub use target::{Status, Target, Wanted};
