//! [`Folder`]: an open directory of the watch folder.

use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path};

use rustix::fs::{self, AtFlags, Dir, FileType, Mode, OFlags, RenameFlags, Stat};
use rustix::io::{Errno, Result};

use crate::claim;

/// Below the folder itself no link is followed, neither for files nor for directories.
#[derive(Debug)]
pub(crate) struct Folder(OwnedFd);

impl Folder {
    /// The user's own path may lead through links.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        fs::open(path, FOLDER - OFlags::NOFOLLOW, Mode::empty()).map(Self)
    }

    pub(crate) fn subfolder(&self, name: &OsStr) -> Result<Self> {
        fs::openat(&self.0, name, FOLDER, Mode::empty()).map(Self)
    }

    /// The directory a relative path lies in, and the last component of that path.
    pub(crate) fn parent_of<'a>(root: &Path, relative: &'a Path) -> Result<(Self, &'a OsStr)> {
        let mut folder = Self::open(root)?;
        let name = relative.file_name().ok_or(Errno::INVAL)?;
        for component in relative.parent().into_iter().flat_map(Path::components) {
            match component {
                Component::Normal(name) => folder = folder.subfolder(name)?,
                _ => return Err(Errno::INVAL),
            }
        }
        Ok((folder, name))
    }

    /// At most `limit` names, sorted; hidden ones are left out, but for claims.
    pub(crate) fn names(&self, limit: usize) -> Result<Vec<OsString>> {
        let mut names = Vec::new();
        for entry in Dir::read_from(&self.0)? {
            if names.len() >= limit {
                break;
            }
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            let name = OsStr::from_bytes(name);
            if !name.as_bytes().starts_with(b".") || claim::parse(name).is_some() {
                names.push(name.to_owned());
            }
        }
        names.sort();
        Ok(names)
    }

    pub(crate) fn stat(&self, name: &OsStr) -> Result<Stat> {
        fs::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW)
    }

    /// A plain file, never waiting for a pipe that was put in its place.
    pub(crate) fn open_file(&self, name: &OsStr) -> Result<(OwnedFd, Stat)> {
        let file = fs::openat(&self.0, name, FILE | OFlags::RDONLY, Mode::empty())?;
        let stat = fs::fstat(&file)?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Ok((file, stat)),
            _ => Err(Errno::LOOP),
        }
    }

    pub(crate) fn create_file(&self, name: &OsStr) -> Result<OwnedFd> {
        let flags = FILE | OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
        fs::openat(&self.0, name, flags, Mode::from_raw_mode(0o666))
    }

    /// Fails with `EXIST` rather than replace anything.
    pub(crate) fn rename(&self, from: &OsStr, to: &OsStr) -> Result<()> {
        match fs::renameat_with(&self.0, from, &self.0, to, RenameFlags::NOREPLACE) {
            // Network shares cannot do it in one step; there we look first.
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => match self.stat(to) {
                Err(Errno::NOENT) => fs::renameat(&self.0, from, &self.0, to),
                Ok(_) => Err(Errno::EXIST),
                Err(errno) => Err(errno),
            },
            result => result,
        }
    }
}

const FOLDER: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
const FILE: OFlags = OFlags::NOFOLLOW.union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_names_are_listed_than_allowed() {
        let home = tempfile::tempdir().unwrap();
        for name in [".hidden", "a", "b", "c"] {
            std::fs::write(home.path().join(name), "").unwrap();
        }
        let folder = Folder::open(home.path()).unwrap();
        for limit in 0..5 {
            assert_eq!(folder.names(limit).unwrap().len(), limit.min(3));
        }
    }
}
