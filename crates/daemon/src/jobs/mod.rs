//! The driver of `bergamot_jobs` in the main loop.

pub(crate) mod edit;
pub(crate) mod life_cycle;
pub(crate) mod merge_split;
pub(crate) mod probes;
pub(crate) mod retry;
