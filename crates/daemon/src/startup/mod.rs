//! What happens before the loop runs: first start, private directories, damaged records; and the spool
//! while no daemon runs.

pub(crate) mod claimant;
pub(crate) mod first_start;
pub(crate) mod offline_spool;
pub(crate) mod private_directory;
pub(crate) mod rebuild;
