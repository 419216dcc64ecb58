//! The views that control interfaces show, made from the state of the main loop.

pub(crate) mod config;
pub(crate) mod counters;
pub(crate) mod feeds;
pub(crate) mod file_ids;
pub(crate) mod files;
pub(crate) mod jobs;
pub(crate) mod loss_text;
pub(crate) mod newsgroups;
pub(crate) mod observers;
pub(crate) mod periodic;
pub(crate) mod quota_text;
pub(crate) mod rate;
pub(crate) mod servers;
pub(crate) mod traffic;
pub(crate) mod view;
