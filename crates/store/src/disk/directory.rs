//! [`Directory`]: the file operations that a spool needs of its directory; [`Folder`] does them on a disk.
//!
//! It is a trait so that tests can run the spool on a disk whose power fails at every step.

use std::fmt;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bergamot_types::SplitMix;
use rustix::fs::{
    AtFlags, CWD, Dir, FallocateFlags, FileType, Mode, OFlags, fallocate, fstatvfs, openat,
    renameat, unlinkat,
};
use rustix::io::Errno;

/// Names are those of files directly in it. Nothing is durable before it is synced: the content of a
/// file by `sync`, that it is there under its name by `sync_names`.
pub trait Directory: fmt::Debug + Send + Sync {
    /// For messages.
    fn path(&self) -> &Path;
    /// One after the other: there may be very many.
    fn names(&self, each: &mut dyn FnMut(&str)) -> io::Result<()>;
    fn open(&self, name: &str) -> io::Result<Box<dyn Read + Send>>;
    /// Creates the file, or empties it first.
    fn write(&self, name: &str, content: &mut dyn Read) -> io::Result<()>;
    /// All or, on an error, any part of it.
    fn append(&self, name: &str, bytes: &[u8]) -> io::Result<()>;
    fn sync(&self, name: &str) -> io::Result<()>;
    /// Replaces what has the name already.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;
    fn remove(&self, name: &str) -> io::Result<()>;
    fn sync_names(&self) -> io::Result<()>;

    /// Whether so many bytes would fit under that name, which is free again afterwards.
    fn try_room(&self, name: &str, size: u64) -> io::Result<()> {
        let written = self.write(name, &mut io::repeat(b' ').take(size));
        let tried = written.and_then(|()| self.sync(name));
        // Whatever is left is cleared away at the next start.
        let _ = self.remove(name);
        tried
    }

    /// Sets room aside for what has to be written down when others have filled the disk, unless it is.
    /// False if there is no room for it now.
    fn keep_reserve(&self) -> bool {
        true
    }

    /// Gives that room up; false if there is none.
    fn make_way(&self) -> bool {
        false
    }
}

impl dyn Directory + '_ {
    /// A file that has grown beyond `most` is not one of ours.
    pub(crate) fn read(&self, name: &str, most: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.read_into(&mut bytes, name, most)?;
        Ok(bytes)
    }

    /// The same for many, without a buffer for each.
    pub(crate) fn read_into(&self, bytes: &mut Vec<u8>, name: &str, most: u64) -> io::Result<()> {
        bytes.clear();
        self.open(name)?.take(most + 1).read_to_end(bytes)?;
        match bytes.len() as u64 > most {
            true => Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is far too large")),
            false => Ok(()),
        }
    }

    /// Writes once more, into the room that was set aside, when the disk is full. For what is small and
    /// has to be remembered, not for what may as well be refused.
    ///
    /// Two threads may find the disk full at once, and one of them frees the room. The other must
    /// neither fail because the room is free already nor lose it to a new reserve before it has written.
    pub(crate) fn with_reserve<T>(&self, is_full: impl Fn(&T) -> bool, write: impl Fn() -> T) -> T {
        let written = write();
        if !is_full(&written) {
            return written;
        }
        let _alone = reserve_lock();
        let written = write();
        match is_full(&written) && self.make_way() {
            true => write(),
            false => written,
        }
    }
}

/// Held while a reserve is allocated or used, of whatever directory: they may share a disk.
fn reserve_lock() -> MutexGuard<'static, ()> {
    static LOCK: Mutex<()> = Mutex::new(());
    LOCK.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Also by a quota.
pub(crate) fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// A directory of the file system. Every file is opened relative to its handle, and no link is
/// followed.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    handle: OwnedFd,
    has_reserve: AtomicBool, // as far as we know
}

impl Folder {
    /// Creates it, if need be.
    pub fn open(path: &Path) -> io::Result<Self> {
        std::fs::create_dir_all(path)?;
        let handle = openat(CWD, path, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        Ok(Self { path: path.to_owned(), handle, has_reserve: AtomicBool::new(false) })
    }

    pub(crate) fn file(&self, name: &str, flags: OFlags) -> io::Result<File> {
        // Records may hold passwords, and so may NZBs. A pipe in the place of a file must not block.
        let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        Ok(openat(&self.handle, name, flags, Mode::RUSR | Mode::WUSR)?.into())
    }

    /// An empty file that takes up room all the same, or where that cannot be, a full one.
    fn allocate_reserve(&self) -> io::Result<()> {
        let file = self.file(RESERVE, OFlags::WRONLY | OFlags::CREATE)?;
        let metadata = file.metadata()?;
        if metadata.blocks() * BLOCK >= RESERVE_BYTES || metadata.len() >= RESERVE_BYTES {
            return Ok(());
        }
        match fallocate(&file, FallocateFlags::KEEP_SIZE, 0, RESERVE_BYTES) {
            Err(errno) if is_unknown(errno) => fill(&file, RESERVE_BYTES),
            allocated => Ok(allocated?),
        }
    }

    /// Sets the room aside for a moment; nothing of it is written.
    fn allocate_for_a_moment(&self, name: &str, size: u64) -> rustix::io::Result<()> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC;
        let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let file = openat(&self.handle, name, flags, Mode::RUSR | Mode::WUSR)?;
        let tried = fallocate(&file, FallocateFlags::KEEP_SIZE, 0, size.max(1));
        // Whatever is left is cleared away at the next start.
        let _ = self.remove(name);
        tried
    }
}

/// The file system, or the kernel, cannot set room aside.
fn is_unknown(errno: Errno) -> bool {
    matches!(errno, Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL)
}

/// With what no file system can make smaller. Half of it is none.
fn fill(mut file: &File, size: u64) -> io::Result<()> {
    let mut chance = SplitMix::seeded(size);
    let noise: Vec<u8> = (0..size / 8).flat_map(|_| chance.up_to(u64::MAX).to_le_bytes()).collect();
    let filled = file.write_all(&noise).and_then(|()| file.sync_data());
    filled.inspect_err(|_| {
        let _ = file.set_len(0);
    })
}

impl Directory for Folder {
    fn path(&self) -> &Path {
        &self.path
    }

    /// What has a name that is no UTF-8, or is no file, is not ours.
    fn names(&self, each: &mut dyn FnMut(&str)) -> io::Result<()> {
        for entry in Dir::read_from(&self.handle)? {
            let entry = entry?;
            let may_be_file =
                matches!(entry.file_type(), FileType::RegularFile | FileType::Unknown);
            if let (true, Ok(name)) = (may_be_file, entry.file_name().to_str()) {
                each(name);
            }
        }
        Ok(())
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn Read + Send>> {
        Ok(Box::new(self.file(name, OFlags::RDONLY)?))
    }

    fn write(&self, name: &str, content: &mut dyn Read) -> io::Result<()> {
        let mut file = self.file(name, OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC)?;
        io::copy(content, &mut file).map(drop)
    }

    fn append(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let mut file = self.file(name, OFlags::WRONLY | OFlags::CREATE | OFlags::APPEND)?;
        let length = file.metadata()?.len();
        file.write_all(bytes).inspect_err(|_| {
            // A torn frame at the end can be detected, but would be in the middle after the next append.
            let _ = file.set_len(length);
        })
    }

    fn sync(&self, name: &str) -> io::Result<()> {
        self.file(name, OFlags::RDONLY)?.sync_data()
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        Ok(renameat(&self.handle, from, &self.handle, to)?)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        Ok(unlinkat(&self.handle, name, AtFlags::empty())?)
    }

    fn sync_names(&self) -> io::Result<()> {
        Ok(rustix::fs::fsync(&self.handle)?)
    }

    /// A volume that has less free is not even tried; one that has more may still have a quota.
    fn try_room(&self, name: &str, size: u64) -> io::Result<()> {
        let volume = fstatvfs(&self.handle)?;
        if volume.f_bavail.saturating_mul(volume.f_frsize) < size {
            return Err(io::ErrorKind::StorageFull.into());
        }
        match self.allocate_for_a_moment(name, size) {
            // Then it has the room, as far as can be known without filling it.
            Err(errno) if is_unknown(errno) => Ok(()),
            tried => Ok(tried?),
        }
    }

    fn keep_reserve(&self) -> bool {
        if !self.has_reserve.load(Ordering::Relaxed) {
            let _alone = reserve_lock();
            let is_kept = match self.allocate_reserve() {
                Err(error) if is_full(&error) => false,
                // A file system that cannot set room aside is not asked again and again.
                Ok(()) | Err(_) => true,
            };
            self.has_reserve.store(is_kept, Ordering::Relaxed);
        }
        self.has_reserve.load(Ordering::Relaxed)
    }

    fn make_way(&self) -> bool {
        self.has_reserve.store(false, Ordering::Relaxed);
        self.remove(RESERVE).is_ok()
    }
}

const RESERVE: &str = "reserve";

/// Thousands of records, or the journal of what is under way when the disk fills up.
const RESERVE_BYTES: u64 = 1 << 20;

/// The unit of `st_blocks`, whatever the file system calls a block (stat(2)).
const BLOCK: u64 = 512;

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn a_reserve_that_another_thread_has_freed_serves_both() {
        let home = tempfile::tempdir().unwrap();
        let folder = Folder::open(home.path()).unwrap();
        folder.keep_reserve();
        let is_first = Cell::new(true);
        let write = || match is_first.replace(false) {
            true => {
                folder.make_way(); // as the other does, after this one has failed
                Err(io::Error::from(io::ErrorKind::StorageFull))
            }
            false => Ok(()),
        };
        let is_full = |written: &io::Result<()>| written.as_ref().is_err_and(is_full);
        (&folder as &dyn Directory).with_reserve(is_full, write).unwrap();
    }
}
