//! Connections: which of them are accepted and kept, and the line protocol of the Unix socket.

pub(crate) mod admission;
pub(crate) mod client_network;
pub(crate) mod connection_limit;
pub(crate) mod idle_timeout;
pub(crate) mod line_session;
pub(crate) mod reserved_fds;
pub(crate) mod unix_socket;
