//! The values that `/metrics` shows, gathered by the daemon when they are asked for.

mod measured;
mod past;

pub use measured::{Arrivals, EndedJobs, Measured, Process, QueueSums};
pub use past::{Ending, HealthClass, PastSums};
