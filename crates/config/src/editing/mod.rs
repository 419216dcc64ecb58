//! How the file is changed while the daemon runs, around what people wrote there.

pub(crate) mod servers;
pub(crate) mod values;
