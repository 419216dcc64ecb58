//! Files that are wholly there or not at all.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::error::StoreError;

/// Writes `content` beside `path` and syncs it. [`publish`] gives it its name.
pub(crate) fn prepare(path: &Path, content: &mut dyn Read) -> Result<(), StoreError> {
    let draft = path.with_added_extension(DRAFT);
    let mut write = || -> io::Result<()> {
        let mut options = OpenOptions::new();
        // Records may hold passwords, and so may NZBs.
        let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
        io::copy(content, &mut file)?;
        file.flush()?;
        file.sync_all()
    };
    write().map_err(at(&draft))
}

pub(crate) fn publish(path: &Path) -> Result<(), StoreError> {
    std::fs::rename(path.with_added_extension(DRAFT), path).map_err(at(path))
}

pub(crate) fn sync_directory(path: &Path) -> Result<(), StoreError> {
    File::open(path).and_then(|directory| directory.sync_all()).map_err(at(path))
}

pub(crate) fn at(path: &Path) -> impl FnOnce(io::Error) -> StoreError {
    let path = path.to_owned();
    move |error| StoreError::Io { path, error }
}

pub(crate) const DRAFT: &str = "draft";
