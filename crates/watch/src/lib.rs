//! The watch folder: find, judge, read and mark NZB files.
//!
//! Scans find files, always; the kernel's notices only make the next scan come sooner, for network
//! shares send none. When to scan is decided outside: [`Intake::scan`] says how long the next may
//! wait. Whether a file is complete is judged by [`Judge`], which sees no disk and no clock.
//!
//! The folder is the user's. Nothing in it is deleted, replaced or reached through a link; what was
//! read is renamed so that its name tells what became of it. Several daemons may share it: each file is
//! claimed by a rename before it is taken (`claim`).

#![forbid(unsafe_code)]

mod claim;
mod error;
mod file_system;
mod folder;
mod identity;
mod intake;
mod judge;
mod marking;
mod scan;
mod watch;

pub use claim::Claimant;
pub use error::WatchError;
pub use identity::Identity;
pub use intake::{Found, Intake, Opened, Scan, Settings};
pub use judge::{Judge, Next, Verdict};
