//! Tables for control, metrics, history and the log.

pub(crate) mod control;
pub(crate) mod history;
pub(crate) mod log;
pub(crate) mod metrics;
