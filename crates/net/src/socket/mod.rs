//! TODO

pub(crate) mod buffer;
pub(crate) mod dial;
pub(crate) mod link;
pub(crate) mod read_buffer;
