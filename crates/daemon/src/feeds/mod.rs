//! RSS feeds: polling them, keeping their state, and the feed of finished jobs.

pub(crate) mod client;
pub(crate) mod control;
#[cfg(test)]
pub(crate) mod hours_test;
pub(crate) mod poll;
pub(crate) mod rss;
pub(crate) mod state_files;
