//! Free space on volumes and which file systems are mounted: [`Guard`], [`Mounts`], [`MountRecord`]. Pure.
//!
//! - [`Guard`]: which jobs fit, by free space, reserve and what other jobs will still write
//! - [`Mounts`]: the mounted file systems, and which one a directory is on
//! - [`MountRecord`]: the file system a directory was on when it was first used; [`check_mount`]: whether it still is;
//!   [`MountError`]: that it is not
//!
//! Free bytes, mount tables and the time are arguments, so every unusual volume can be tested.

#![forbid(unsafe_code)]

mod guard;
mod mount_error;
mod mount_record;
mod mounts;

pub use guard::{Claim, Guard, Reserve, Shortage, Space, VolumeId};
pub use mount_error::MountError;
pub use mount_record::{MountCheck, MountRecord, check_mount};
pub use mounts::{Mount, Mounts, fstab_mounts};
