//! What the tests of the whole share: the real binary in a sealed directory of its own, and news
//! servers on loopback to feed it.
//!
//! Nothing here sleeps. The daemon's log lines are its events: a test waits for the line that says
//! what it waits for, and fails with the whole log if it does not come.

#![forbid(unsafe_code)]

mod arrivals;
mod control;
mod daemon;
mod gated;
mod helm;
mod home;
mod library;
mod mounted;
mod news;
mod nzb;
mod promises;
mod recorder;
mod sonarr;
mod steered;
mod strace;
mod trial;

pub use arrivals::Arrivals;
pub use bergamot_testkit::skip;
pub use control::Control;
pub use daemon::{Daemon, Stopped, program};
pub use gated::Gated;
pub use helm::Helm;
pub use home::{Home, sha256};
pub use library::{Library, Loan};
pub use mounted::Mounted;
pub use news::{News, content_of, sample};
pub use nzb::{file, nzb, password};
pub use promises::{Change, Ended, Entry, Listing, Promises};
pub use recorder::Recorder;
pub use sonarr::{Item, Shown, Sonarr};
pub use steered::{Answer, Steered, http};
pub use strace::{Mishap, Point, delayed, end_delays, injected, may_trace};
pub use trial::{Aftermath, PLANTED, Trial, ids, post};
