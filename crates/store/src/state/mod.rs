//! State files beside the spool: one checksummed JSON document each, replaced atomically.

pub(crate) mod known_mounts;
pub(crate) mod runtime_settings;
pub(crate) mod state_file;
pub(crate) mod usage;
pub(crate) mod volumes;
