//! Files: safe names, identities and the classes of disk errors. Pure.

pub(crate) mod disk_trouble;
pub(crate) mod file_status;
pub(crate) mod safe_name;
