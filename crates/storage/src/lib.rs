//! Free space on volumes and which file systems are mounted: [`Guard`], [`Mounts`], [`Ground`]. Pure.
//!
//! - [`Guard`]: which jobs fit, by free space, reserve and what other jobs will still write
//! - [`Mounts`]: the mounted file systems, and which one a directory is on
//! - [`Ground`]: the file system a directory was on when it was first used; [`judge`]: whether it still is;
//!   [`MountError`]: that it is not
//!
//! Free bytes, mount tables and the time are arguments, so every unusual volume can be tested.

#![forbid(unsafe_code)]

mod ground;
mod guard;
mod mount_error;
mod mounts;

pub use ground::{Ground, Verdict, judge};
pub use guard::{Claim, Guard, Reserve, Shortage, Space, VolumeId};
pub use mount_error::MountError;
pub use mounts::{Mount, Mounts, promised_mounts};
