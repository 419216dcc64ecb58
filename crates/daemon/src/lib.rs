//! The daemon: the engine in the middle, and around it the threads and sockets that carry out its
//! orders.
//!
//! - [`run`]: from settings to the last goodbye
//! - `happening`: the closed list of all that can happen
//! - `run`: the loop; `reports`, `lives`: what it does about them; `carry_out`: what each order of the
//!   engine means out here
//! - `post`: what follows a download, with a file for each step
//! - `jobs`, `ranks`: the queue and history; `recordings`: what of them is on its way to the disk
//! - `desk`: the thread that takes NZB files in; `reception`: how an NZB becomes a job; `handover`: the
//!   same while no daemon runs; `claimant`: under which id it claims files; `private`: directories for their
//!   owner alone
//! - `joining`: how jobs become one, and how files of one become another
//! - `fetches`: NZBs that are given by their address; `web`, `parcel`: how they come, and in what
//! - `loading`, `roots`, `hindrance`: how jobs come in, and what keeps them from it
//! - `keeper`: the thread that reads and writes the spool; `recovery`: what is left after a sudden end
//! - `scribe`, `notes`: the thread that keeps the journals, and what is to go into them
//! - `clerk`: the thread that keeps quotas, choices and counters; `allowance`, `volumes`: what they mean
//! - `control`, `question`, `listening`: how others talk to it; `edits`, `steering`, `pauses`: what they
//!   may want
//! - `views`, `server_views`, `facts`, `file_ids`, `pace`, `explain`: what they may see; `news`: what
//!   watchers are told; `publication`: and how often they are told how far jobs have come
//! - `newsgroups`, `group_control`, `group_views`: newsgroups that somebody looks at; `errands`,
//!   `header_trip`: how they are read
//! - `outages`, `told`, `trouble`: what is said of servers and articles
//! - `feeds`, `feed_calls`, `feed_memory`, `feed_views`: what indexers offer; `outgoing`: a feed of our own
//! - `memory`, `settings`, `current`, `servers`: what it is told beforehand, and may be told anew
//! - `probes`: whether jobs that wait are there
//! - `storage`, `grounds`: room for jobs, and the disks their directories stand on; `places`, `looks`: how
//!   directories are looked at whose disk may not answer; `returns`: who comes back by itself
//! - `targets`: what is done again and again, and when
//! - `vital_thread`: how those threads are started

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
