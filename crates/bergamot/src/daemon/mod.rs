//! The daemon: the engine in the middle, and around it the threads and sockets that carry out its
//! orders.
//!
//! - [`run`]: from settings to the last goodbye
//! - `happening`: the closed list of all that can happen
//! - `core`: the loop; `carry_out`: what each order of the engine means out here
//! - `desk`: the thread that takes NZB files in; `keeper`: the thread that reads and writes the spool
//! - `outages`, `told`: what people hear of servers at rest and of lost articles
//! - `clerk`: the thread that writes down what is used of the quotas; `allowance`: what is said of them
//! - `jobs`: what the daemon knows of its jobs beside what the engine knows
//! - `memory`: how much each part of it may take

mod allowance;
mod carry_out;
mod clerk;
mod core;
mod desk;
mod happening;
mod jobs;
mod keeper;
mod memory;
mod nzb_job;
mod outages;
mod settings;
mod told;
mod trouble;

pub(crate) use core::run;
pub(crate) use happening::{Happening, Outbox};
pub(crate) use jobs::Jobs;
pub(crate) use settings::Settings;
