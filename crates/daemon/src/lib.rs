//! The daemon: one loop that owns the engine and all state, and the threads and tasks around it that do
//! the I/O.
//!
//! - [`run()`]: starts it and runs the loop; `event`: the closed list of events of the loop; `periodic`:
//!   what is repeated, and when
//! - `control/`: calls of the control interfaces into the loop; `views/`: what they are shown; `events/`:
//!   what subscribers are sent
//! - `download/`: what the engine's orders mean here, and what connections and the disk report
//! - `post/`: the driver of `bergamot_post`, with a file for each step after a download
//! - `intake/`: NZBs from the watch folder, from uploads and from URLs become jobs
//! - `jobs/`: the driver of `bergamot_jobs`: begins, ends, merges and retries jobs as it decides
//! - `spool/`: the threads that write records, journals and state files; loading a job and resuming it after
//!   a crash
//! - `disk/`: directories that may hang or be unmounted; surveys of free space
//! - `feeds/`, `newsgroups/`: RSS feeds and newsgroups that are polled
//! - `startup/`: the first start, the spool while no daemon runs, damaged records
//! - `logging/`, `service_manager`, `signals`, `clock`: the process and its surroundings
//! - `settings`, `shared`, `servers`, `memory_budget`: configuration as the parts of the daemon need it;
//!   `service_thread`: threads without which the daemon ends

#![forbid(unsafe_code)]

mod clock;
mod control;
mod disk;
mod download;
mod event;
mod events;
mod feeds;
mod intake;
mod jobs;
mod logging;
mod memory_budget;
mod newsgroups;
mod periodic;
mod post;
mod run;
mod servers;
mod service_manager;
mod service_thread;
mod settings;
mod shared;
mod signals;
mod spool;
mod startup;
mod views;

pub use intake::new_job::Wishes;
pub use logging::recent::LogBook;
pub use logging::start::start as start_log;
pub use run::run;
pub use settings::Settings;
pub use startup::first_start::{FirstStart, container_layout, prepare as prepare_first_start};
pub use startup::offline_spool::Handover;
