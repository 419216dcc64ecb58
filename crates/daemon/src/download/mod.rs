//! Carries out the engine's orders, and hands it what connections and the disk report.

pub(crate) mod disk_work;
pub(crate) mod error_class;
pub(crate) mod network;
pub(crate) mod open_job;
pub(crate) mod orders;
pub(crate) mod outages;
pub(crate) mod part_checksums;
