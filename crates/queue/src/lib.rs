//! [`Queue`]: jobs, files and segments, what is still wanted of them, and in which order.
//!
//! The queue knows nothing of servers and never sees a byte of payload. It hands out the segments
//! that were not requested yet, keeps where each decoded part belongs, and says when a file is whole:
//! when its parts tile it from the first byte to the last.
//!
//! - [`Queue`]: all jobs, in the order of their priorities
//! - [`Job`], [`File`]: one NZB's worth of work, and one target file in it
//! - [`FileOrder`]: which of its files are wanted first
//! - [`Sizes`], [`Permille`]: how much of a job is lost, and whether that can be repaired
//! - [`sample`], [`Outlook`]: what a few articles say of a whole job
//! - [`ServerCount`]: how many articles of a job a server had, and had not
//! - [`JobState`], [`Cause`], [`DupeMode`]: where a job is in its life, why it failed, and what it makes of others
//! - [`Propagation`]: how long a job of a recent post is held that lacks articles
//! - [`Restored`], [`Replay`]: what an earlier run had written, and what came of it
//! - [`Part`], [`Conflict`]: what an article turned out to hold, and why that cannot be

#![forbid(unsafe_code)]

mod dupe;
mod file;
mod job;
mod job_state;
mod queue;

pub use dupe::DupeMode;
pub use file::alternates::Alternates;
pub use file::part::{Conflict, Part};
pub use file::placements::{Layout, Piece, Placed};
pub use file::{File, FileState, NewFile, SegmentState, slot_size};
pub use job::file_order::FileOrder;
pub use job::health::{Permille, Sizes};
pub use job::propagation::{Held, HoldVerdict, Propagation};
pub use job::restored::{Replay, Restored};
pub use job::sample::{Outlook, sample};
pub use job::servers::ServerCount;
pub use job::{DownloadState, Job, MoreFiles, NewJob, Totals};
pub use job_state::{
    Cause, Deletion, Ending, Impossible, JobState, Losses, Retry, Stage, Step, cause_of,
};
pub use queue::{FileKey, Queue, SegmentKey};
