//! What each table of the file means, a file for each.

pub(crate) mod interfaces;
pub(crate) mod sources;
pub(crate) mod transfer;
