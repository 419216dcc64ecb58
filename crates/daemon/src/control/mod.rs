//! Calls of the control interfaces: how they reach the main loop, and what they change at run time.

pub(crate) mod active_settings;
pub(crate) mod call;
pub(crate) mod handle;
pub(crate) mod listen;
pub(crate) mod requests;
