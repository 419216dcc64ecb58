//! The one directory a spool is, as little of it as the spool needs.
//!
//! A trait, so that the same spool runs on a disk whose power is cut at every step.

use std::fmt;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, openat, renameat, unlinkat};

/// Names are those of files directly in it. Nothing is durable before it is synced: the content of a
/// file by `sync`, that it is there under its name by `sync_names`.
pub trait Directory: fmt::Debug + Send + Sync {
    /// For people.
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
}

/// A directory of the file system. Every file is opened relative to its handle, and no link is
/// followed.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    handle: OwnedFd,
}

impl Folder {
    /// Creates it, if need be.
    pub fn open(path: &Path) -> io::Result<Self> {
        std::fs::create_dir_all(path)?;
        let handle = openat(CWD, path, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        Ok(Self { path: path.to_owned(), handle })
    }

    pub(crate) fn file(&self, name: &str, flags: OFlags) -> io::Result<File> {
        // Records may hold passwords, and so may NZBs. A pipe in the place of a file must not block.
        let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        Ok(openat(&self.handle, name, flags, Mode::RUSR | Mode::WUSR)?.into())
    }
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
        self.file(name, OFlags::WRONLY | OFlags::CREATE | OFlags::APPEND)?.write_all(bytes)
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
}
