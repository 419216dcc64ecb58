//! The commands that ask a running daemon: one file each, which sends the requests and writes the page.

pub(crate) mod explain;
pub(crate) mod feeds;
pub(crate) mod groups;
pub(crate) mod health;
pub(crate) mod job;
pub(crate) mod limit;
pub(crate) mod log;
pub(crate) mod rpc;
pub(crate) mod server;
pub(crate) mod status;
pub(crate) mod storage;
pub(crate) mod targets;
pub(crate) mod watch;
