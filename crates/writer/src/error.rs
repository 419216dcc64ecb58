//! [`DiskError`]: why a file operation failed, by what the caller can do about it.

use std::fmt;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use bergamot_storage::MountError;
use bergamot_types::{ByteCount, DiskTrouble, Shown};
use rustix::fs::FileType;
use rustix::io::Errno;
use rustix::process::{getegid, geteuid};
use thiserror::Error;

/// The caller acts by variant: `Full`, `ReadOnly` and `DestinationMissing` pass, so it waits;
/// `Changed` and `Vanished` cost the file what was written of it; the others fail the file or the job.
#[derive(Clone, Debug, Error)]
pub enum DiskError {
    #[error("{}: the file system takes no such name", shown(path))]
    BadName { path: PathBuf },
    #[error("{}: {errno}", shown(path))]
    Broken { path: PathBuf, errno: Errno },
    /// Another file, shorter, or with other bytes.
    #[error("{}: is not as it was written; another program has changed it", shown(path))]
    Changed { path: PathBuf },
    #[error("{}: what was copied does not read back the same", shown(path))]
    CopyDiffers { path: PathBuf },
    #[error("{}: the directory is missing, or its disk is not mounted", shown(path))]
    DestinationMissing { path: PathBuf },
    #[error("{}: {size} are more than the file system takes in one file", shown(path))]
    FileTooLarge { path: PathBuf, size: ByteCount },
    #[error("{}: the disk is full; {needed} needed, {free} free", shown(path))]
    Full { path: PathBuf, needed: ByteCount, free: ByteCount },
    #[error(transparent)]
    Mount(#[from] MountError),
    #[error("{}: {by} is in the way", shown(path))]
    Obstructed { path: PathBuf, by: Obstacle },
    #[error(
        "{}: user {}, group {} cannot write there ({errno})",
        shown(path),
        geteuid().as_raw(),
        getegid().as_raw()
    )]
    ReadOnly { path: PathBuf, errno: Errno },
    #[error("{}: stopped before it was done", shown(path))]
    Stopped { path: PathBuf },
    #[error("{}: no more files can be opened ({errno})", shown(path))]
    TooManyFiles { path: PathBuf, errno: Errno },
    #[error("{}: what was written did not reach the disk ({errno})", shown(path))]
    Unsynced { path: PathBuf, errno: Errno },
    #[error("{}: vanished while in use", shown(path))]
    Vanished { path: PathBuf },
}

impl DiskError {
    /// Stable, as the interfaces show it.
    pub fn code(&self) -> &'static str {
        match self {
            Self::BadName { .. } => "fs.bad_name",
            Self::Broken { .. } | Self::CopyDiffers { .. } => "disk.error",
            Self::Changed { .. } => "file.changed",
            Self::DestinationMissing { .. } | Self::Mount(_) => "disk.dest_missing",
            Self::FileTooLarge { .. } => "disk.file_too_large",
            Self::Full { .. } => "disk.full",
            Self::Obstructed { .. } => "disk.obstructed",
            Self::ReadOnly { .. } => "disk.readonly",
            Self::Stopped { .. } => "disk.stopped",
            Self::TooManyFiles { .. } => "resource.fd_limit",
            Self::Unsynced { .. } => "disk.unsynced",
            Self::Vanished { .. } => "disk.vanished",
        }
    }

    /// What can be done about it.
    pub fn trouble(&self) -> DiskTrouble {
        match self {
            Self::Full { .. } => DiskTrouble::Full,
            Self::Broken { .. }
            | Self::DestinationMissing { .. }
            | Self::Mount(_)
            | Self::ReadOnly { .. }
            | Self::Stopped { .. }
            | Self::TooManyFiles { .. } => DiskTrouble::Transient,
            Self::BadName { .. }
            | Self::Changed { .. }
            | Self::CopyDiffers { .. }
            | Self::FileTooLarge { .. }
            | Self::Obstructed { .. }
            | Self::Vanished { .. } => DiskTrouble::Permanent,
            Self::Unsynced { .. } => DiskTrouble::Unsynced,
        }
    }

    /// `needed` is what was to be written, and `on` any handle on the same disk.
    pub(crate) fn new(errno: Errno, path: &Path, needed: u64, on: impl AsFd) -> Self {
        let path = path.to_owned();
        match errno {
            Errno::NOSPC | Errno::DQUOT => {
                let free = rustix::fs::fstatvfs(on).map_or(0, |disk| disk.f_bavail * disk.f_frsize);
                Self::Full { path, needed: ByteCount(needed), free: ByteCount(free) }
            }
            Errno::FBIG => Self::FileTooLarge { path, size: ByteCount(needed) },
            Errno::ROFS | Errno::ACCESS | Errno::PERM => Self::ReadOnly { path, errno },
            Errno::NOENT | Errno::STALE => Self::Vanished { path },
            Errno::LOOP => Self::Obstructed { path, by: Obstacle::Link },
            Errno::NAMETOOLONG | Errno::ILSEQ => Self::BadName { path },
            Errno::MFILE | Errno::NFILE => Self::TooManyFiles { path, errno },
            _ => Self::Broken { path, errno },
        }
    }
}

/// What is in the place of a regular file or directory of ours.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Obstacle {
    Directory,
    File,
    HardLink,
    Link,
    Special,
    TooDeep,
}

impl Obstacle {
    pub(crate) fn of(kind: FileType) -> Self {
        match kind {
            FileType::Directory => Self::Directory,
            FileType::RegularFile => Self::File,
            FileType::Symlink => Self::Link,
            _ => Self::Special,
        }
    }
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Directory => "a directory",
            Self::File => "another file",
            Self::HardLink => "a file with a second name",
            Self::Link => "a symbolic link",
            Self::Special => "a device, pipe or socket",
            Self::TooDeep => "a tree of too many levels",
        })
    }
}

/// Strangers may have named what we stumble over.
fn shown(path: &Path) -> impl fmt::Display {
    Shown(&path.to_string_lossy()).to_string()
}
