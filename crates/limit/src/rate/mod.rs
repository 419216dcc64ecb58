//! Rates: token buckets, and leases of bytes to connections.

pub(crate) mod bucket;
pub(crate) mod lease;
pub(crate) mod limiter;
pub(crate) mod read_credit;
pub(crate) mod scope;
pub(crate) mod settings;
