//! What each table of the file means, a file for each.

pub(crate) mod control;
pub(crate) mod download;
pub(crate) mod sources;
