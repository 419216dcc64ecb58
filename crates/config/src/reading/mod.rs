//! How the file and the environment are read: one table, one value, and what is wrong with them.

pub(crate) mod credentials;
pub(crate) mod environment;
pub(crate) mod exposure;
pub(crate) mod fields;
pub(crate) mod file;
pub(crate) mod kind;
pub(crate) mod machine_zone;
pub(crate) mod overrides;
pub(crate) mod problem;
pub(crate) mod units;
pub(crate) mod warning;
