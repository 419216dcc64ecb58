//! Invariants that are checked after every simulated event; [`tickets`] calls the others. Pure.

pub(crate) mod connection_check;
pub(crate) mod jobs;
pub(crate) mod quota_check;
pub(crate) mod rate_check;
pub(crate) mod tickets;
