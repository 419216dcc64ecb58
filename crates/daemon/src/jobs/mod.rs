//! Drives [`Jobs`](bergamot_jobs::Jobs): carries out its actions and reports to it. Runs in the main loop.

pub(crate) mod actions;
pub(crate) mod merge_split;
pub(crate) mod probes;
pub(crate) mod requests;
