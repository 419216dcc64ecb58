//! Connecting, reading and writing a socket; the buffers that are read into.

pub(crate) mod buffer;
pub(crate) mod dial;
pub(crate) mod link;
pub(crate) mod read_buffer;
