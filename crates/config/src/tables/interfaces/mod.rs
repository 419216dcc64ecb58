//! Tables for who may look at the daemon and steer it.

pub(crate) mod control;
pub(crate) mod history;
pub(crate) mod log;
pub(crate) mod metrics;
