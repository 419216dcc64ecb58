//! Tables for the sources of jobs: watch folder, URLs, feeds, newsgroups, categories, and the work that
//! recurs.

pub(crate) mod category;
pub(crate) mod feed;
pub(crate) mod groups;
pub(crate) mod polling;
pub(crate) mod probes;
pub(crate) mod urls;
pub(crate) mod watch;
