//! What can be asked for: articles, posts generated from a seed, newsgroups and their headers, NZBs.

pub(crate) mod articles;
pub(crate) mod generated;
pub(crate) mod newsgroups;
pub(crate) mod noise;
pub(crate) mod nzb;
