//! The connection to the daemon: where it listens, one command's session with it, and its answers.

pub(crate) mod endpoint;
pub(crate) mod response;
pub(crate) mod session;
