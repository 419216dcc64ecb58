//! When anything is due.
//!
//! No clock and no chance in here: the time and a source of numbers are arguments. The caller takes
//! what is due, does it, says how it went, and sleeps until [`Queue::next_wake`].
//!
//! - [`Queue`]: the targets, and which of them are due
//! - [`Activity`], [`refresh_period`]: how often something is worth refreshing, by how much it is asked for
//! - [`adaptive`]: how often a feed is worth asking for, by the gaps between its items
//! - [`current_item`], [`Promotion`]: which item of a queue matters now, and is looked at most often

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
