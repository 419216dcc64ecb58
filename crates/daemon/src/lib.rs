//! The daemon: the engine in the middle, and around it the threads and sockets that carry out its
//! orders.
//!
//! - [`run`]: from settings to the last goodbye
//! - `happening`: the closed list of all that can happen
//! - `run`: the loop; `reports`, `lives`: what it does about them; `carry_out`: what each order of the
//!   engine means out here
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

mod allowance;
mod carry_out;
mod claimant;
mod clerk;
mod clock;
mod control;
mod current;
mod desk;
mod disk_speed;
mod edits;
mod errands;
mod explain;
mod facts;
mod feed_calls;
#[cfg(test)]
mod feed_hours;
mod feed_memory;
mod feed_views;
mod feeds;
mod fetches;
mod file_ids;
mod first_start;
mod group_control;
mod group_views;
mod handover;
mod happening;
mod header_trip;
mod hindrance;
mod jobs;
mod joining;
mod keeper;
mod listening;
mod lives;
mod loader;
mod loading;
mod local_nzb;
mod log;
mod log_book;
mod looks;
mod memory;
mod mount_guard;
mod news;
mod newsgroups;
mod notes;
mod nzb_job;
mod outages;
mod outgoing;
mod pace;
mod parcel;
mod pauses;
mod places;
mod private;
mod probes;
mod progress;
mod publication;
mod question;
mod ranks;
mod rebuilding;
mod reception;
mod recordings;
mod recovery;
mod reports;
mod returns;
mod roots;
mod run;
mod scribe;
mod server_views;
mod servers;
mod settings;
mod signals;
mod steering;
mod storage;
mod sums;
mod supervisor;
mod tallies;
mod target_views;
mod targets;
mod told;
mod trouble;
mod views;
mod vital_thread;
mod volumes;
mod web;

pub use first_start::{FirstStart, container_layout, prepare as prepare_first_start};
pub use handover::Handover;
pub use log::start as start_log;
pub use log_book::LogBook;
pub use reception::Wishes;
pub use run::run;
pub use settings::Settings;
