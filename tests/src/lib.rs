//! Fixtures of the end-to-end tests: the real binary in a directory of its own, and news servers on loopback.
//!
//! Which one to use:
//! - [`Daemon`] with [`Home`] and [`News`]: a test that needs only the watch folder and the log
//! - [`SocketDaemon`]: calls over the control socket, and restarts after a kill
//! - [`HttpDaemon`]: clients over HTTP with a password, such as [`Sonarr`]
//! - [`FaultyServerTest`]: servers that misbehave, and the checks that hold after every such test
//! - [`HeldPost`]: a download that stops at a known article; [`ServedPosts`]: a list of every article served
//! - [`AcknowledgedState`]: a model of the queue, compared with the daemon's after a kill
//!
//! Nothing here sleeps. The daemon's log lines are its events: a test waits for a line, and fails with the
//! whole log if it does not come.

#![forbid(unsafe_code)]

mod acknowledged_state;
mod arrivals;
mod control;
mod daemon;
mod faulty_server_test;
mod held_post;
mod home;
mod http_daemon;
mod mounted;
mod news;
mod nzb;
mod recorder;
mod served_posts;
mod socket_daemon;
mod sonarr;
mod strace;

pub use acknowledged_state::{AcknowledgedState, Change, Ended, Entry, Listing};
pub use arrivals::Arrivals;
pub use bergamot_testkit::skip;
pub use control::Control;
pub use daemon::{Daemon, Stopped, program};
pub use faulty_server_test::{FaultyServerTest, FinishedTest, PLANTED, ids, post};
pub use held_post::HeldPost;
pub use home::{Home, sha256};
pub use http_daemon::{Answer, HttpDaemon, http};
pub use mounted::Mounted;
pub use news::{News, content_of, sample};
pub use nzb::{file, nzb, password};
pub use recorder::Recorder;
pub use served_posts::{ServedArticle, ServedPosts};
pub use socket_daemon::SocketDaemon;
pub use sonarr::{Item, Shown, Sonarr};
pub use strace::{Mishap, Point, delayed, end_delays, injected, may_trace};
