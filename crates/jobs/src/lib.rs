//! All jobs above the engine, without I/O and without a clock.
//!
//! - [`Record`]: what is kept of a job across restarts; [`Outcome`]: how it ended
//! - [`JobList`]: all records, the [`State`] of each job, and the indexes of both; [`queue_order`]: positions
//! - [`next_to_load`], [`admission`], [`duplicates`]: which job begins, and which is of no use
//! - [`edit`]: what a user may do to jobs; [`Pauses`]: what a user has paused
//! - [`failure`], [`retry`]: why a job fails, and whether it is tried again; [`Retention`]: which ended jobs
//!   the history need not keep
//! - [`pending_writes`]: which records are on their way to the disk
//! - [`probes`], [`current_job`], [`Remaining`], [`explain`]: what is known and shown of the queue

#![forbid(unsafe_code)]

pub mod admission;
mod current_job;
pub mod duplicates;
pub mod edit;
pub mod engine_job;
pub mod explain;
pub mod failure;
mod job_list;
mod load_window;
pub mod machine;
mod pauses;
pub mod pending_writes;
mod plausible_clock;
pub mod probes;
pub mod queue_order;
mod record;
mod remaining;
mod retention;
pub mod retry;

pub use current_job::current_job;
pub use job_list::{Active, Held, JobList, Loading, Rest, State};
pub use load_window::next_to_load;
pub use machine::Jobs;
pub use pauses::{Part, Pause, Paused, Pauses};
pub use plausible_clock::{Doubt, PlausibleClock};
pub use record::file_choices::FileChoices;
pub use record::fingerprint::{Fingerprint, InvalidFingerprint};
pub use record::lineage::{Joined, Kin, Origin, Undone, put_right};
pub use record::outcome::{Check, Mark, Outcome, ServerArticles};
pub use record::parameters::Parameters;
pub use record::{Contents, Dupe, FinishedFile, ITEM, PASSWORD, Record, Records, serde_plain};
pub use remaining::Remaining;
pub use retention::{Expired, Postponed, Retention};
