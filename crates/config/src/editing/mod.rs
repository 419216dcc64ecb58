//! Edits of the configuration file while the daemon runs; comments and layout of the rest stay as they are.

pub(crate) mod servers;
pub(crate) mod values;
