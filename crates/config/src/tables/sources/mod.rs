//! Tables for where jobs come from, and what they are given.

pub(crate) mod category;
pub(crate) mod feed;
pub(crate) mod groups;
pub(crate) mod polling;
pub(crate) mod probes;
pub(crate) mod urls;
pub(crate) mod watch;
