//! Directories and volumes: opening them, surveying their free space, and file systems that hang.

pub(crate) mod directories;
pub(crate) mod disk_errors;
pub(crate) mod disk_info;
pub(crate) mod hang_guard;
pub(crate) mod mount_guard;
pub(crate) mod space;
pub(crate) mod speed_test;
