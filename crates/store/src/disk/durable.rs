//! Atomic replacement of a file: write a draft, fsync it, rename it, fsync the directory.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::disk::directory::Directory;
use crate::error::StoreError;

/// Writes `content` beside the file called `name` and syncs it. [`publish`] gives it its name.
pub(crate) fn prepare(
    directory: &dyn Directory,
    name: &str,
    content: &mut dyn Read,
) -> Result<(), StoreError> {
    let draft = draft_of(name);
    let written = directory.write(&draft, content).and_then(|()| directory.sync(&draft));
    written.map_err(|error| at(directory.path().join(&draft))(error))
}

pub(crate) fn publish(directory: &dyn Directory, name: &str) -> Result<(), StoreError> {
    directory.rename(&draft_of(name), name).map_err(|error| at(directory.path().join(name))(error))
}

pub(crate) fn sync_names(directory: &dyn Directory) -> Result<(), StoreError> {
    directory.sync_names().map_err(|error| at(directory.path().to_owned())(error))
}

/// When this returns, it outlives the power. It may use what is set aside on the disk.
pub(crate) fn publish_now(
    directory: &dyn Directory,
    name: &str,
    content: &[u8],
) -> Result<(), StoreError> {
    let write = || prepare(directory, name, &mut &content[..]);
    directory.with_reserve(is_for_want_of_room, write)?;
    publish(directory, name)?;
    sync_names(directory)
}

pub(crate) fn is_for_want_of_room<T>(written: &Result<T, StoreError>) -> bool {
    matches!(written, Err(StoreError::Full { .. }))
}

pub(crate) fn draft_of(name: &str) -> String {
    format!("{name}.{DRAFT}")
}

pub(crate) fn at(path: impl AsRef<Path>) -> impl FnOnce(io::Error) -> StoreError {
    let path: PathBuf = path.as_ref().to_owned();
    move |error| StoreError::new(path, error)
}

pub(crate) const DRAFT: &str = "draft";
