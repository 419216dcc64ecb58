//! Operations on whole directories: check, copy, compare, remove.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{self, Advice, FileType, OFlags};
use rustix::io::{self, Errno};

use crate::error::{DiskError, Obstacle};
use crate::files::folder::Folder;
use crate::files::part_file::Target;

/// Refuses a tree that contains anything but regular files and directories.
pub(crate) fn check(folder: &Folder) -> Result<(), DiskError> {
    walk(folder, 0, &mut |parent, name, kind| match kind {
        FileType::Directory => Ok(()),
        FileType::RegularFile => match parent.stat(name)? {
            Some(stat) if stat.st_nlink > 1 => Err(DiskError::Obstructed {
                path: parent.path().join(name),
                by: Obstacle::HardLink,
            }),
            _ => Ok(()),
        },
        kind => {
            Err(DiskError::Obstructed { path: parent.path().join(name), by: Obstacle::of(kind) })
        }
    })
}

/// Whether all files of one tree lie in the other, as far as names and sizes tell.
pub(crate) fn contains(whole: &Folder, part: &Folder) -> Result<bool, DiskError> {
    for (name, kind) in part.entries()? {
        let (Some(here), Some(there)) = (part.stat(&name)?, whole.stat(&name)?) else {
            return Ok(false);
        };
        let alike = FileType::from_raw_mode(there.st_mode) == kind
            && match kind {
                FileType::Directory => contains(&whole.subfolder(&name)?, &part.subfolder(&name)?)?,
                _ => here.st_size == there.st_size,
            };
        if !alike {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Copies a tree into an empty directory, durably, and reads back what was written.
pub(crate) fn copy(from: &Folder, to: &Folder, stop: &AtomicBool) -> Result<(), DiskError> {
    copy_level(from, to, stop, 0)
}

fn copy_level(
    from: &Folder,
    to: &Folder,
    stop: &AtomicBool,
    depth: usize,
) -> Result<(), DiskError> {
    check_depth(from, depth)?;
    for (name, kind) in from.entries()? {
        match kind {
            FileType::Directory => {
                to.make_folder(&name)?;
                copy_level(&from.subfolder(&name)?, &to.subfolder(&name)?, stop, depth + 1)?;
            }
            _ => copy_file(from, to, &name, stop)?,
        }
    }
    to.sync()
}

fn copy_file(from: &Folder, to: &Folder, name: &OsStr, stop: &AtomicBool) -> Result<(), DiskError> {
    let file = to.create(name)?.ok_or_else(|| to.obstructed(name))?;
    copy_into((from, name), (to, name, file), stop)
}

/// Copies a file into one that is new, durably, and reads back what was written.
pub(crate) fn copy_into(
    (from, source): (&Folder, &OsStr),
    (to, name, file): (&Folder, &OsStr, OwnedFd),
    stop: &AtomicBool,
) -> Result<(), DiskError> {
    let (opened, _) = from.open(source, OFlags::RDONLY)?;
    let path = to.path().join(name);
    let target = Target { file: file.as_fd(), path: &path, kernel: &**to.kernel() };
    let written = read_through(from, source, opened.as_fd(), stop, |offset, bytes| {
        target.write_all(offset, bytes)
    })?;
    to.kernel().fdatasync(file.as_fd()).map_err(|errno| to.error(errno, name))?;
    // Without this the read back would see the cache, not the disk. It is only advice.
    let _ = fs::fadvise(&file, 0, None, Advice::DontNeed);
    let read = read_through(to, name, file.as_fd(), stop, |_, _| Ok(()))?;
    if read == written { Ok(()) } else { Err(DiskError::CopyDiffers { path }) }
}

/// Length and CRC of a file whose bytes are also handed on.
fn read_through(
    folder: &Folder,
    name: &OsStr,
    file: BorrowedFd<'_>,
    stop: &AtomicBool,
    mut each: impl FnMut(u64, &[u8]) -> Result<(), DiskError>,
) -> Result<(u64, u32), DiskError> {
    let mut buffer = vec![0; COPIED_AT_ONCE];
    let mut hash = crc32fast::Hasher::new();
    let mut offset = 0;
    loop {
        if stop.load(Ordering::Relaxed) {
            return Err(DiskError::Stopped { path: folder.path().join(name) });
        }
        match io::pread(file, &mut buffer[..], offset) {
            Ok(0) => return Ok((offset, hash.finalize())),
            Ok(count) => {
                each(offset, &buffer[..count])?;
                hash.update(&buffer[..count]);
                offset += count as u64;
            }
            Err(Errno::INTR) => {}
            Err(errno) => return Err(folder.error(errno, name)),
        }
    }
}

/// Removes a directory and all in it; links are removed, never followed. The file `last` of its
/// top level outlives all others.
pub(crate) fn remove(parent: &Folder, name: &OsStr, last: Option<&OsStr>) -> Result<(), DiskError> {
    let folder = match parent.subfolder(name) {
        Err(DiskError::Vanished { .. }) => return Ok(()),
        folder => folder?,
    };
    remove_content(&folder, last, 0)?;
    if let Some(last) = last {
        folder.remove_file(last)?;
    }
    parent.remove_folder(name)
}

fn remove_content(folder: &Folder, keep: Option<&OsStr>, depth: usize) -> Result<(), DiskError> {
    check_depth(folder, depth)?;
    for (name, kind) in folder.entries()? {
        if keep == Some(&name) {
            continue;
        }
        if kind == FileType::Directory {
            remove_content(&folder.subfolder(&name)?, None, depth + 1)?;
            folder.remove_folder(&name)?;
        } else {
            folder.remove_file(&name)?;
        }
    }
    Ok(())
}

type Visit<'a> = dyn FnMut(&Folder, &OsStr, FileType) -> Result<(), DiskError> + 'a;

fn walk(folder: &Folder, depth: usize, visit: &mut Visit<'_>) -> Result<(), DiskError> {
    check_depth(folder, depth)?;
    for (name, kind) in folder.entries()? {
        visit(folder, &name, kind)?;
        if kind == FileType::Directory {
            walk(&folder.subfolder(&name)?, depth + 1, visit)?;
        }
    }
    Ok(())
}

fn check_depth(folder: &Folder, depth: usize) -> Result<(), DiskError> {
    if depth <= DEEPEST {
        return Ok(());
    }
    Err(DiskError::Obstructed { path: folder.path().to_owned(), by: Obstacle::TooDeep })
}

/// We make no subdirectories; archives and PAR2 sets do, and none in earnest goes this deep. Each
/// level costs a handle while it is walked.
const DEEPEST: usize = 64;
const COPIED_AT_ONCE: usize = 1 << 20;
