//! [`Root`]: a configured directory that holds the directories of jobs.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bergamot_types::{ByteCount, SafeName};
use rustix::fs::{self, FileType};
use rustix::io::Errno;

use crate::error::DiskError;
use crate::files::folder::Folder;
use crate::files::job_dir::JobDir;
use crate::files::kernel::{Kernel, Linux};
use crate::files::modes::Modes;
use crate::files::names::Names;
use crate::files::part_file::allocated;

/// The incomplete directory or a destination.
///
/// No handle is kept: it would hinder the user from unmounting the disk. Instead the path is opened
/// for each use, and refused when it has fallen back to the disk below an unmounted one.
#[derive(Clone, Debug)]
pub struct Root {
    path: PathBuf,
    devices: Devices,
    kernel: Arc<dyn Kernel>,
    modes: Modes,
}

impl Root {
    /// The directory must exist.
    pub fn open(path: &Path) -> Result<Self, DiskError> {
        Self::with_kernel(path, Arc::new(Linux))
    }

    /// The device it is on.
    pub fn device(&self) -> u64 {
        self.devices.own
    }

    /// Makes the directory, and those above it, where they are missing; with these permissions for
    /// them and for all that is made in it.
    pub fn create(path: &Path, modes: Modes) -> Result<Self, DiskError> {
        let missing: Vec<_> = path.ancestors().take_while(|above| !above.exists()).collect();
        match std::fs::create_dir_all(path) {
            Ok(()) => {
                for made in missing {
                    modes.set_on_new_directory(made);
                }
                Ok(Self { modes, ..Self::open(path)? })
            }
            Err(error) => {
                let errno = Errno::from_io_error(&error).unwrap_or(Errno::IO);
                let nearest = path.ancestors().find_map(|parent| std::fs::File::open(parent).ok());
                Err(match nearest {
                    Some(nearest) => DiskError::new(errno, path, 0, &nearest),
                    None => DiskError::Broken { path: path.to_owned(), errno },
                })
            }
        }
    }

    pub(crate) fn with_kernel(path: &Path, kernel: Arc<dyn Kernel>) -> Result<Self, DiskError> {
        let missing = || DiskError::DestinationMissing { path: path.to_owned() };
        let path = path.canonicalize().map_err(|_| missing())?;
        let devices = Devices::of(&path).ok_or_else(missing)?;
        Ok(Self { path, devices, kernel, modes: Modes::default() })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A new directory for a job, under this name or, where it is taken, a numbered one. It is durable after
    /// a `sync`.
    pub fn job_dir(&self, wanted: &SafeName) -> Result<JobDir, DiskError> {
        let folder = self.folder()?;
        let name = Names::of(&folder)?.make_folder(&folder, wanted)?;
        JobDir::open(self.clone(), &folder, name)
    }

    /// Removes an empty directory; anything else of that name stays.
    pub fn remove_if_empty(&self, name: &SafeName) -> Result<(), DiskError> {
        // Errors are ignored: anything else of that name stays.
        let _ = self.folder()?.remove_folder(OsStr::new(name.as_str()));
        Ok(())
    }

    /// Removes the empty directories of these names; anything else of such a name stays.
    pub fn remove_empty(&self, is_meant: impl Fn(&str) -> bool) -> Result<(), DiskError> {
        let folder = self.folder()?;
        for (name, kind) in folder.entries()? {
            let is_meant = name.to_str().is_some_and(&is_meant);
            if kind == FileType::Directory && is_meant {
                // Errors are ignored: most are not empty, and anything else of that name stays.
                let _ = folder.remove_folder(&name);
            }
        }
        Ok(())
    }

    /// Fsyncs the directory, so that new directories in it are durable.
    pub fn sync(&self) -> Result<(), DiskError> {
        match self.folder()?.sync() {
            // The share was remounted meanwhile, which is no failure of a job.
            Err(DiskError::Vanished { path }) => Err(DiskError::DestinationMissing { path }),
            synced => synced,
        }
    }

    /// The directory a job had before a restart.
    pub fn reopen(&self, name: &SafeName) -> Result<JobDir, DiskError> {
        JobDir::open(self.clone(), &self.folder()?, name.clone())
    }

    /// What the files in the directory of a job take up on the disk, as far as they can be seen.
    pub fn allocated(&self, name: &SafeName) -> Result<ByteCount, DiskError> {
        let folder = self.subfolder(name)?;
        let mut sum = 0_u64;
        for (name, _) in folder.entries()? {
            sum += folder.stat(&name)?.map_or(0, |stat| allocated(&stat));
        }
        Ok(ByteCount(sum))
    }

    pub fn free_space(&self) -> Result<ByteCount, DiskError> {
        free_space(&self.path)
    }

    pub(crate) fn folder(&self) -> Result<Folder, DiskError> {
        let missing = || DiskError::DestinationMissing { path: self.path.clone() };
        let folder = match Folder::open_path(&self.path, self.kernel.clone(), self.modes.clone()) {
            Ok(folder) => folder,
            Err(Errno::NOENT | Errno::NOTDIR | Errno::STALE) => return Err(missing()),
            Err(errno) => return Err(DiskError::new(errno, &self.path, 0, rustix::fs::CWD)),
        };
        let device = folder.status()?.st_dev;
        if self.devices.unmounted(device) { Err(missing()) } else { Ok(folder) }
    }

    pub(crate) fn subfolder(&self, name: &SafeName) -> Result<Folder, DiskError> {
        self.folder()?.subfolder(OsStr::new(name.as_str()))
    }
}

/// How large the disk of a directory is.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Space {
    /// What an ordinary user may still write there.
    pub free: ByteCount,
    pub total: ByteCount,
}

pub fn space(path: &Path) -> Result<Space, DiskError> {
    let disk = fs::statvfs(path).map_err(|errno| DiskError::new(errno, path, 0, fs::CWD))?;
    let bytes = |blocks: u64| ByteCount(blocks.saturating_mul(disk.f_frsize));
    Ok(Space { free: bytes(disk.f_bavail), total: bytes(disk.f_blocks) })
}

/// What an ordinary user may still write there.
pub fn free_space(path: &Path) -> Result<ByteCount, DiskError> {
    space(path).map(|space| space.free)
}

/// The device a directory was on at first, and those of the directories above it.
#[derive(Clone, Debug)]
struct Devices {
    own: u64,
    above: Vec<u64>,
}

impl Devices {
    fn of(path: &Path) -> Option<Self> {
        let device = |path: &Path| fs::stat(path).map(|stat| stat.st_dev).ok();
        let own = device(path)?;
        Some(Self { own, above: path.ancestors().skip(1).filter_map(device).collect() })
    }

    /// A disk mounted anew may have another number, but never that of a directory above.
    fn unmounted(&self, now: u64) -> bool {
        now != self.own && self.above.contains(&now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_disk_below_an_unmounted_one_is_not_the_destination() {
        let devices = Devices { own: 7, above: vec![7, 1] };
        assert!(devices.unmounted(1));
        assert!(!devices.unmounted(7));
        assert!(!devices.unmounted(8), "mounted again under another number");
    }
}
