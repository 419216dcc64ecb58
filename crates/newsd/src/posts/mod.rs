//! TODO

pub(crate) mod articles;
pub(crate) mod generated;
pub(crate) mod newsgroups;
pub(crate) mod noise;
pub(crate) mod nzb;
