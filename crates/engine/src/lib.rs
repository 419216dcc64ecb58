//! [`Engine`]: which article is requested on which connection, and what is done with the answer.
//!
//! One machine: events in, orders out, and the next deadline. It has no socket, no file and no
//! clock, and it never sees a byte of payload; decoded articles are tickets here. The shell around
//! it only carries orders out and reports back, so a whole download can be run from a seed.
//!
//! - [`Engine`]: the machine
//! - [`Event`], [`Order`], [`Notice`]: what it is told, what it wants done, what a user may know
//! - [`ConnectionEnd`]: how a connection ended, and what class of [`Trouble`] that is
//! - [`Note`]: what of a job lies on the disk, to be kept across restarts
//! - [`Verdict`]: how it stands with one article, and what has been tried for it
//! - [`Settings`], [`ServerSettings`]: what it is told beforehand
//! - [`QuotaRecords`]: what of the quotas is used, to be kept across restarts
//! - [`Hold`]: why nothing is fetched just now
//! - [`Sampled`], [`Census`]: whether a job that waits is there at all
//! - [`ErrandId`]: a connection for something else than articles
//! - [`ServerStatus`], [`JobStatus`]: how it stands with a server and with a job
//!
//! Which servers may be asked, the pool says; which of them should be, the scheduler; how fast, the
//! limiter; for what, the queue.

#![forbid(unsafe_code)]

mod allowance;
mod article;
mod control;
mod decoded;
mod disk;
mod dispatch;
mod engine;
mod errands;
mod error_class;
mod event;
mod order;
mod probes;
mod reload;
mod settings;
mod status;
mod verdict;

pub use allowance::Hold;
pub use allowance::meter::QuotaRecords;
pub use article::health::HealthAction;
pub use bergamot_limit::Credit;
pub use bergamot_pool::{Encounter, History, ServerSettings, Trouble};
pub use bergamot_types::DiskTrouble;
pub use control::FORCE_PRIORITY;
pub use engine::Engine;
pub use error_class::ConnectionEnd;
pub use event::{Event, Fault, Now};
pub use order::{ConnectionId, ErrandId, Failure, Note, Notice, Order, Ticket};
pub use probes::{Census, Sampled};
pub use settings::Settings;
pub use status::{JobStatus, ServerStatus};
pub use verdict::{Verdict, Wait};
