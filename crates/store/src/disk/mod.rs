//! File-system operations of the spool: named files of one directory, fsync, atomic rename, lock, checksum.

pub(crate) mod checksummed;
pub(crate) mod commit;
pub(crate) mod directory;
pub(crate) mod durable;
pub(crate) mod lock;
