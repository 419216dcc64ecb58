//! What must hold after every simulated event.

pub(crate) mod connection_check;
pub(crate) mod jobs;
pub(crate) mod quota_check;
pub(crate) mod rate_check;
pub(crate) mod tickets;
