//! The spool, and what else outlives the process.
//!
//! Each job is two files: the NZB as it came, and a small checksummed record beside it. A job is
//! accepted when both are on disk under their names; before that nobody is told of it. The spool is
//! the truth; whatever else is ever built over it can be built again from it.
//!
//! - [`Spool`]: the directory, locked for one daemon
//! - [`Record`]: what is known of a job; [`JobState`]: what became of it
//! - [`UsageFile`]: what is used of the quotas, beside the spool; [`Usage`] is its content

#![forbid(unsafe_code)]

mod durable;
mod error;
mod record;
mod sealed;
mod spool;
mod usage;

pub use error::StoreError;
pub use record::{FinishedFile, JobState, Record};
pub use spool::{Found, Spool};
pub use usage::{Usage, UsageFile, Used, UsedDay};
