//! All jobs above the engine, without I/O and without a clock.
//!
//! - [`Jobs`]: the machine that decides about all of them, by what follows here; `machine` has its events,
//!   actions and settings
//! - [`Record`]: what is kept of a job across restarts; [`Outcome`]: how it ended
//! - [`JobList`]: all records, the [`State`] of each job, and the indexes of both; [`queue_order`]: positions
//! - `load_window`, [`admission`], `duplicates`: which job begins, and which is of no use
//! - [`edit`]: what a user may do to jobs; [`Pauses`]: what a user has paused
//! - [`failure`], [`retry`]: why a job fails, and whether it is tried again; [`Retention`]: which ended jobs
//!   the history need not keep
//! - `pending_writes`: which records are on their way to the disk
//! - [`engine_job`]: a job as the engine takes it
//! - [`probes`], [`current_job`], [`Remaining`], [`explain`]: what is known and shown of the queue

#![forbid(unsafe_code)]

pub mod admission;
mod duplicates;
pub mod edit;
mod ending;
pub mod engine_job;
pub mod explain;
mod list;
pub mod machine;
mod pauses;
mod pending_writes;
pub mod probes;
mod record;

pub use ending::plausible_clock::Doubt;
pub use ending::retention::{Expired, Postponed, Retention};
pub use ending::{failure, retry};
pub use list::current_job::current_job;
pub use list::job_list::{Active, Held, JobList, Loading, Rest, State};
pub use list::queue_order;
pub use list::remaining::Remaining;
pub use machine::Jobs;
pub use pauses::{Part, Pause, Paused, Pauses};
pub use record::file_choices::FileChoices;
pub use record::fingerprint::{Fingerprint, InvalidFingerprint};
pub use record::lineage::{Joined, Kin, Origin, Undone, put_right};
pub use record::outcome::{Check, Mark, Outcome, ServerArticles};
pub use record::parameters::Parameters;
pub use record::{Contents, Dupe, FinishedFile, ITEM, PASSWORD, Record, Records, serde_plain};
