//! Tables for downloads: servers, rates, quotas and directories.

pub(crate) mod directories;
pub(crate) mod download;
pub(crate) mod limits;
pub(crate) mod quota;
pub(crate) mod schedule;
pub(crate) mod server;
pub(crate) mod server_keys;
pub(crate) mod storage;
