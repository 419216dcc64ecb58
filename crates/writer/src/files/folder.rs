//! [`Folder`]: an open directory, through which all files are created and opened; follows no symbolic link.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bergamot_types::{ByteCount, FileIdentity, FileStatus};
use rustix::fs::{self, AtFlags, Dir, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use crate::error::{DiskError, Obstacle};
use crate::files::kernel::Kernel;
use crate::files::modes::Modes;

/// The handle of a directory; files in it are reached by name relative to it.
///
/// Names are single components and links are not followed, so whatever was planted in the directory,
/// nothing outside it is opened. This works on kernels without `openat2` as well.
#[derive(Debug)]
pub(crate) struct Folder {
    handle: OwnedFd,
    path: PathBuf, // for messages; never opened again
    kernel: Arc<dyn Kernel>,
    modes: Modes,
}

/// What became of an attempt to rename.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Renamed {
    Done,
    OtherDevice,
    Taken,
    TooLong,
}

impl Folder {
    /// The path is the user's own and may well lead through links.
    pub(crate) fn open_path(
        path: &Path,
        kernel: Arc<dyn Kernel>,
        modes: Modes,
    ) -> Result<Self, Errno> {
        let handle = fs::open(path, FOLDER - OFlags::NOFOLLOW, Mode::empty())?;
        Ok(Self { handle, path: path.to_owned(), kernel, modes })
    }

    pub(crate) fn kernel(&self) -> &Arc<dyn Kernel> {
        &self.kernel
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn status(&self) -> Result<Stat, DiskError> {
        fs::fstat(&self.handle).map_err(|errno| self.error(errno, OsStr::new("")))
    }

    /// The directory of that name, but nothing that a link of that name leads to.
    pub(crate) fn subfolder(&self, name: &OsStr) -> Result<Self, DiskError> {
        match fs::openat(&self.handle, name, FOLDER, Mode::empty()) {
            Ok(handle) => Ok(Self {
                handle,
                path: self.path.join(name),
                kernel: self.kernel.clone(),
                modes: self.modes.clone(),
            }),
            Err(Errno::NOTDIR | Errno::LOOP) => Err(self.obstructed(name)),
            Err(errno) => Err(self.error(errno, name)),
        }
    }

    /// Makes a directory; `false` when the name is taken, by whatever it may be.
    pub(crate) fn make_folder(&self, name: &OsStr) -> Result<bool, DiskError> {
        match fs::mkdirat(&self.handle, name, Mode::from_raw_mode(0o777)) {
            Ok(()) => {
                // Through a handle, so that no link put in its place is followed.
                if self.modes.sets_directories()
                    && let Ok(made) = self.subfolder(name)
                {
                    self.modes.set_on_directory(&made, &made.path);
                }
                Ok(true)
            }
            Err(Errno::EXIST) => Ok(false),
            Err(errno) => Err(self.error(errno, name)),
        }
    }

    pub(crate) fn entries(&self) -> Result<Vec<(OsString, FileType)>, DiskError> {
        let fail = |errno| self.error(errno, OsStr::new(""));
        let mut entries = Vec::new();
        for entry in Dir::read_from(&self.handle).map_err(fail)? {
            let entry = entry.map_err(fail)?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            // Some file systems do not tell the kind along with the name.
            let kind = match entry.file_type() {
                FileType::Unknown => self.kind(name)?.unwrap_or(FileType::Unknown),
                kind => kind,
            };
            entries.push((name.to_owned(), kind));
        }
        Ok(entries)
    }

    pub(crate) fn stat(&self, name: &OsStr) -> Result<Option<Stat>, DiskError> {
        match fs::statat(&self.handle, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(self.error(errno, name)),
        }
    }

    pub(crate) fn kind(&self, name: &OsStr) -> Result<Option<FileType>, DiskError> {
        Ok(self.stat(name)?.map(|stat| FileType::from_raw_mode(stat.st_mode)))
    }

    /// A new file; `None` when the name is taken.
    pub(crate) fn create(&self, name: &OsStr) -> Result<Option<OwnedFd>, DiskError> {
        let flags = FILE | OFlags::RDWR | OFlags::CREATE | OFlags::EXCL;
        match fs::openat(&self.handle, name, flags, Mode::from_raw_mode(0o666)) {
            Ok(file) => {
                self.modes.set_on_file(&file, &self.path);
                Ok(Some(file))
            }
            Err(Errno::EXIST) => Ok(None),
            Err(errno) => Err(self.error(errno, name)),
        }
    }

    /// A plain file that is there already and has no second name elsewhere, and what it is.
    pub(crate) fn open(
        &self,
        name: &OsStr,
        access: OFlags,
    ) -> Result<(OwnedFd, FileStatus), DiskError> {
        // Looked at first, for opening a device can already have an effect.
        let seen = self.stat(name)?.ok_or_else(|| self.error(Errno::NOENT, name))?;
        self.check_plain(&seen, name)?;
        let file = fs::openat(&self.handle, name, FILE | access, Mode::empty())
            .map_err(|errno| self.error(errno, name))?;
        let opened = fs::fstat(&file).map_err(|errno| self.error(errno, name))?;
        self.check_plain(&opened, name)?;
        Ok((file, status_of(&opened)))
    }

    fn check_plain(&self, stat: &Stat, name: &OsStr) -> Result<(), DiskError> {
        let by = match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile if stat.st_nlink <= 1 => return Ok(()),
            FileType::RegularFile => Obstacle::HardLink,
            kind => Obstacle::of(kind),
        };
        Err(DiskError::Obstructed { path: self.path.join(name), by })
    }

    /// Never replaces what bears the new name.
    pub(crate) fn rename(
        &self,
        from: &OsStr,
        to: &Folder,
        name: &OsStr,
    ) -> Result<Renamed, DiskError> {
        let exclusive = self.kernel.rename_exclusive((self.as_fd(), from), (to.as_fd(), name));
        let result = match exclusive {
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
                self.rename_if_free(from, to, name)?
            }
            // Layered and network file systems say so within one directory, too.
            Err(Errno::XDEV) if std::ptr::eq(self, to) => self.rename_if_free(from, to, name)?,
            result => result,
        };
        match result {
            Ok(()) => Ok(Renamed::Done),
            Err(Errno::EXIST | Errno::NOTEMPTY | Errno::ISDIR) => Ok(Renamed::Taken),
            Err(Errno::NAMETOOLONG) => Ok(Renamed::TooLong),
            Err(Errno::XDEV) => Ok(Renamed::OtherDevice),
            // Windows shares say so of characters they cannot store.
            Err(Errno::INVAL) => Err(DiskError::BadName { path: to.path.join(name) }),
            Err(Errno::NOENT) => Err(self.error(Errno::NOENT, from)),
            Err(errno) => Err(to.error(errno, name)),
        }
    }

    /// For file systems that cannot rename exclusively: the directories are ours alone, so between
    /// look and rename only another program's file could be lost, and none of ours.
    fn rename_if_free(
        &self,
        from: &OsStr,
        to: &Folder,
        name: &OsStr,
    ) -> Result<Result<(), Errno>, DiskError> {
        if to.stat(name)?.is_some() {
            return Ok(Err(Errno::EXIST));
        }
        Ok(self.kernel.rename((self.as_fd(), from), (to.as_fd(), name)))
    }

    /// For two names that are both our own.
    pub(crate) fn replace(&self, from: &OsStr, name: &OsStr) -> Result<(), DiskError> {
        fs::renameat(&self.handle, from, &self.handle, name)
            .map_err(|errno| self.error(errno, name))
    }

    /// Removes a file or link; that it is gone already is as good.
    pub(crate) fn remove_file(&self, name: &OsStr) -> Result<(), DiskError> {
        match self.kernel.unlink(self.as_fd(), name) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(self.error(errno, name)),
        }
    }

    pub(crate) fn remove_folder(&self, name: &OsStr) -> Result<(), DiskError> {
        match fs::unlinkat(&self.handle, name, AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(self.error(errno, name)),
        }
    }

    /// Makes names durable. Some network file systems cannot sync a directory and need not.
    pub(crate) fn sync(&self) -> Result<(), DiskError> {
        match fs::fsync(&self.handle) {
            Ok(()) | Err(Errno::INVAL | Errno::OPNOTSUPP | Errno::BADF) => Ok(()),
            Err(errno) => Err(self.error(errno, OsStr::new(""))),
        }
    }

    pub(crate) fn obstructed(&self, name: &OsStr) -> DiskError {
        let by = self.kind(name).ok().flatten().map_or(Obstacle::Special, Obstacle::of);
        DiskError::Obstructed { path: self.path.join(name), by }
    }

    pub(crate) fn error(&self, errno: Errno, name: &OsStr) -> DiskError {
        DiskError::new(errno, &self.path.join(name), 0, &self.handle)
    }
}

/// What changes whenever a file does. Together they tell a file from another where inode numbers do not:
/// no program can set the time of the last change.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Stamp {
    size: u64,
    modified: (i128, i128),
    changed: (i128, i128),
}

impl Stamp {
    pub(crate) fn of(stat: &Stat) -> Self {
        Self {
            size: stat.st_size.cast_unsigned(),
            modified: (stat.st_mtime.into(), stat.st_mtime_nsec.into()),
            changed: (stat.st_ctime.into(), stat.st_ctime_nsec.into()),
        }
    }
}

pub(crate) fn status_of(stat: &Stat) -> FileStatus {
    let identity = FileIdentity { device: stat.st_dev, inode: stat.st_ino };
    FileStatus { identity, size: ByteCount(stat.st_size.cast_unsigned()) }
}

impl AsFd for Folder {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }
}

pub(crate) const FOLDER: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// Not blocking, for a pipe may lie where a file was a moment ago.
const FILE: OFlags = OFlags::NOFOLLOW.union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);
