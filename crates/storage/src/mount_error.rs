//! [`MountError`]: why a directory cannot be used because of its mount. Pure.

use std::path::{Path, PathBuf};

use bergamot_types::Shown;
use thiserror::Error;

use crate::mount_record::MountRecord;

/// The disk of a directory is not the one it was used with.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
pub enum MountError {
    /// Something is mounted there, but not what was.
    #[error(
        "{}: another disk is there than before, {} for {}; mount the right one, or accept this \
         one with `bergamot storage accept`",
        shown(path),
        described(is),
        described(was)
    )]
    OtherDisk { path: PathBuf, was: Box<MountRecord>, is: Box<MountRecord> },
    /// Whatever was made there would fill the disk below.
    #[error(
        "{}: nothing is mounted on {}; mount it, or accept the disk below with \
         `bergamot storage accept`",
        shown(path),
        shown(mount)
    )]
    Unmounted { path: PathBuf, mount: PathBuf },
}

fn shown(path: &Path) -> String {
    Shown(&path.to_string_lossy()).to_string()
}

fn described(record: &MountRecord) -> String {
    let MountRecord { root, kind, .. } = record;
    match root == Path::new("/") {
        true => kind.clone(),
        false => format!("{} of a disk with {kind}", root.display()),
    }
}
