pub(crate) mod claimant;
pub(crate) mod first_start;
pub(crate) mod offline_spool;
pub(crate) mod private_directory;
pub(crate) mod rebuild;
