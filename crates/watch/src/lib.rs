//! The watch folder: [`Intake`] finds NZB files, decides whether they are complete, and claims, reads and
//! marks them.
//!
//! Files are always found by scans; inotify events only make the next scan come sooner, because network
//! shares send none. The caller decides when to scan: [`Intake::scan`] returns the longest wait until the
//! next. [`Judge`] decides whether a file is complete; it is pure.
//!
//! The folder is the user's. Nothing in it is deleted, replaced or reached through a link; a file that was
//! read is renamed so that its name shows the result. Several daemons may share it: each file is claimed by a
//! rename before it is taken (`claim`).

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
