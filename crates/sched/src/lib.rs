//! Which servers *should* be asked next: averages, fair shares, depths of pipelines.
//!
//! What the pool allows, this room weighs. It learns from what connections report how fast each
//! server is, how long it takes to answer and how often it has what is asked for; from these it says
//! whose turn it is, how many requests one connection should have under way, how long to wait for
//! an answer, and when an article is better left to others. It knows no jobs, no articles and no
//! connections: only servers, bytes and time.
//!
//! - [`Scheduler`]: all servers, their turns and their shares
//! - [`Transfer`]: one answer as it was measured
//! - [`Spare`]: how many bytes may be asked for twice

#![forbid(unsafe_code)]

mod average;
mod pipelining;
mod scheduler;
mod server;
mod spare;

pub use scheduler::Scheduler;
pub use server::Transfer;
pub use spare::Spare;
