//! The log: where lines go, and the last of them in memory for the control interfaces.

pub(crate) mod recent;
pub(crate) mod start;
