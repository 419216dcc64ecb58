//! Newsgroups: polling their headers over sessions that give way to downloads.

pub(crate) mod connections;
pub(crate) mod control;
pub(crate) mod poll;
pub(crate) mod session;
