//! What may be written where: room on volumes, and whether they are mounted.
//!
//! - [`Guard`]: which jobs fit, by what is free, what is kept free and what others will still write
//! - [`Mounts`]: the file systems there are, and what a directory stands on
//! - [`Ground`]: what a directory stood on when it was first used, and [`judge`] whether it still does;
//!   [`MountError`]: that it does not
//!
//! No disk is touched in here: free bytes, mount tables and the time are arguments, so every odd
//! volume becomes a short test.

#![forbid(unsafe_code)]

mod ground;
mod guard;
mod mount_error;
mod mounts;

pub use ground::{Ground, Verdict, judge};
pub use guard::{Claim, Guard, Reserve, Shortage, Space, VolumeId};
pub use mount_error::MountError;
pub use mounts::{Mount, Mounts, promised_mounts};
