//! The directory of one job while it is downloaded.

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bergamot_types::{ByteCount, JobId, SafeName, Shown};
use rustix::fs::{FileType, OFlags};
use tracing::debug;

use crate::error::DiskError;
use crate::folder::Folder;
use crate::moving::Move;
use crate::names::Names;
use crate::part_file::PartFile;
use crate::root::Root;
use crate::tree;

/// Holds one handle; open it when the job starts, not when it is queued.
#[derive(Debug)]
pub struct JobDir {
    root: Root,
    name: SafeName,
    folder: Folder,
    identity: (u64, u64),
    parts: Mutex<HashSet<u32>>, // those that lie here; another file of that name is not ours
    names: Mutex<Option<Names>>, // read when the first file is finished
    unflushed: Mutex<HashMap<u32, u64>>, // parts that were written to since they were flushed, and how much
    unsynced: Mutex<HashMap<u32, DiskError>>, // parts that could not be brought to the disk
    has_new_parts: AtomicBool,           // of which the directory on the disk may not know
}

/// A run of bytes that was written to a provisional place.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Piece {
    pub from: u64,
    pub length: u64,
}

impl JobDir {
    pub(crate) fn open(root: Root, parent: &Folder, name: SafeName) -> Result<Self, DiskError> {
        let folder = parent.subfolder(OsStr::new(name.as_str()))?;
        let status = folder.status()?;
        let dir = Self {
            root,
            name,
            folder,
            identity: (status.st_dev, status.st_ino),
            parts: Mutex::default(),
            names: Mutex::default(),
            unflushed: Mutex::default(),
            has_new_parts: AtomicBool::new(false),
            unsynced: Mutex::default(),
        };
        let plain = |(name, kind): (OsString, FileType)| {
            part_index(&name).filter(|_| kind == FileType::RegularFile)
        };
        *lock(&dir.parts) = dir.folder.entries()?.into_iter().filter_map(plain).collect();
        Ok(dir)
    }

    pub fn name(&self) -> &SafeName {
        &self.name
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Unfinished files by index, for comparison with what a record says was written.
    pub fn parts(&self) -> Result<Vec<(u32, ByteCount)>, DiskError> {
        let files = self.listing(|name| part_index(name).is_some())?;
        Ok(files.into_iter().filter_map(|(name, size)| Some((part_index(&name)?, size))).collect())
    }

    /// Files that have their own names already.
    pub fn finished(&self) -> Result<Vec<(OsString, ByteCount)>, DiskError> {
        self.listing(|name| !is_working_name(name))
    }

    /// Removes finished files that nobody took note of: the daemon was killed between a name and its
    /// record, and will fetch that file anew. Kept, it would come to lie there twice.
    pub fn remove_all_but(&self, known: &[&str]) -> Result<(), DiskError> {
        for (name, _) in self.finished()? {
            // What is hidden is a mark of ours that tells how far a move had got.
            let is_mark = name.as_encoded_bytes().starts_with(b".");
            if !is_mark && !known.iter().any(|known| name == **known) {
                debug!(file = %Shown(&name.to_string_lossy()), "not on record, removed");
                self.folder.remove_file(&name)?;
            }
        }
        Ok(())
    }

    fn listing(
        &self,
        wanted: impl Fn(&OsStr) -> bool,
    ) -> Result<Vec<(OsString, ByteCount)>, DiskError> {
        let mut files = Vec::new();
        for (name, kind) in self.folder.entries()? {
            if kind != FileType::RegularFile || !wanted(&name) {
                continue;
            }
            if let Some(stat) = self.folder.stat(&name)? {
                files.push((name, ByteCount(stat.st_size.cast_unsigned())));
            }
        }
        files.sort();
        Ok(files)
    }

    /// Opens the unfinished file of that index, or makes it when it was never there.
    ///
    /// One that was there and is gone is `Vanished` once, so that nobody takes a new empty file for
    /// the old one; after that it may be written anew.
    pub fn part(&self, index: u32) -> Result<PartFile, DiskError> {
        let mut parts = lock(&self.parts);
        if parts.contains(&index) {
            let opened = self.open_part(index);
            if matches!(opened, Err(DiskError::Vanished { .. })) {
                parts.remove(&index);
            }
            return opened;
        }
        let name = part_name(index);
        let file = self.folder.create(&name)?.ok_or_else(|| self.folder.obstructed(&name))?;
        self.has_new_parts.store(true, Ordering::Relaxed);
        parts.insert(index);
        Ok(self.part_file(index, file))
    }

    fn open_part(&self, index: u32) -> Result<PartFile, DiskError> {
        let file = self.folder.open(&part_name(index), OFlags::RDWR)?;
        Ok(self.part_file(index, file))
    }

    /// A second handle of an unfinished file, to write to it past the page cache; many file systems
    /// have none to give.
    pub(crate) fn open_directly(&self, part: &PartFile) -> Result<OwnedFd, DiskError> {
        let name = part_name(part.index());
        let file = self.folder.open(&name, OFlags::RDWR | self.folder.kernel().direct())?;
        let stat = rustix::fs::fstat(&file).map_err(|errno| self.folder.error(errno, &name))?;
        match part.identity()? == (stat.st_dev, stat.st_ino) {
            true => Ok(file),
            false => Err(self.folder.obstructed(&name)),
        }
    }

    fn part_file(&self, index: u32, file: OwnedFd) -> PartFile {
        let path = self.folder.path().join(part_name(index));
        PartFile::new(index, file, path, self.folder.kernel().clone())
    }

    /// What is to be finished must not be made anew by [`Self::part`]: after a finish that failed
    /// behind its rename, an empty file would get the name a second time.
    pub(crate) fn check_begun(&self, index: u32) -> Result<(), DiskError> {
        if lock(&self.parts).contains(&index) {
            return Ok(());
        }
        Err(DiskError::Vanished { path: self.folder.path().join(part_name(index)) })
    }

    pub(crate) fn forget_part(&self, index: u32) {
        lock(&self.parts).remove(&index);
        self.note_flushed(index);
    }

    /// So much lies in the page cache; nothing, of what went past it.
    pub(crate) fn note_unflushed(&self, index: u32, bytes: u64) {
        *lock(&self.unflushed).entry(index).or_default() += bytes;
    }

    pub(crate) fn unflushed(&self, index: u32) -> u64 {
        lock(&self.unflushed).get(&index).copied().unwrap_or(0)
    }

    /// Before it is: what is written meanwhile may come too late. Gives how much there was.
    pub(crate) fn note_flushed(&self, index: u32) -> u64 {
        lock(&self.unflushed).remove(&index).unwrap_or(0)
    }

    /// Brings all unfinished files to the disk; the first failure, be it of an earlier flush.
    pub(crate) fn sync_parts(&self) -> Result<(), DiskError> {
        let unflushed = std::mem::take(&mut *lock(&self.unflushed));
        let mut result = Ok(());
        for (index, bytes) in unflushed {
            // Not by `part`, which tells of a file that vanished only once: a write has to know.
            let synced = self.open_part(index).and_then(|part| part.sync());
            match &synced {
                Ok(()) => {}
                Err(error @ DiskError::Unsynced { .. }) => {
                    self.remember_unsynced(index, error.clone());
                }
                Err(_) => self.note_unflushed(index, bytes),
            }
            result = result.and(synced);
        }
        if self.has_new_parts.swap(false, Ordering::Relaxed)
            && let Err(error) = self.folder.sync()
        {
            self.has_new_parts.store(true, Ordering::Relaxed);
            result = result.and(Err(error));
        }
        let earlier = lock(&self.unsynced).values().next().cloned();
        result.and(earlier.map_or(Ok(()), Err))
    }

    /// The kernel tells of a failed flush once and forgets it; whoever finishes the file must know.
    pub(crate) fn remember_unsynced(&self, index: u32, error: DiskError) {
        lock(&self.unsynced).insert(index, error);
    }

    /// Gives a complete file its exact size and its own name, durably, and returns that name.
    ///
    /// With pieces the file becomes those, end to end; they must be in ascending order.
    pub fn finish(
        &self,
        part: &PartFile,
        size: ByteCount,
        pieces: &[Piece],
        wanted: &SafeName,
    ) -> Result<SafeName, DiskError> {
        self.finish_by(part, size, pieces, wanted, || part.sync())
    }

    /// The same for somebody who has his own way to sync it.
    pub(crate) fn finish_by(
        &self,
        part: &PartFile,
        size: ByteCount,
        pieces: &[Piece],
        wanted: &SafeName,
        sync: impl FnOnce() -> Result<(), DiskError>,
    ) -> Result<SafeName, DiskError> {
        if let Some(error) = lock(&self.unsynced).remove(&part.index()) {
            return Err(error);
        }
        let working = part_name(part.index());
        self.check_in_place(part, &working)?;
        if part.is_scattered(pieces)? {
            self.join(part, pieces)?;
        } else {
            part.set_size(size.0)?;
            sync()?;
        }
        let mut names = lock(&self.names);
        if names.is_none() {
            *names = Some(Names::of(&self.folder)?);
        }
        let wanted = unlike_working_names(wanted);
        let placed = names.as_mut().expect("filled above").place(
            (&self.folder, &working),
            &self.folder,
            &wanted,
            SafeName::numbered,
        )?;
        drop(names);
        self.forget_part(part.index());
        self.folder.sync()?;
        Ok(placed.expect("one directory lies on one device"))
    }

    /// What bears the name must be what we wrote, not a file put in its place.
    fn check_in_place(&self, part: &PartFile, working: &OsStr) -> Result<(), DiskError> {
        let there = self.folder.stat(working)?.map(|stat| (stat.st_dev, stat.st_ino));
        if there == Some(part.identity()?) {
            return Ok(());
        }
        self.forget_part(part.index());
        Err(DiskError::Vanished { path: self.folder.path().join(working) })
    }

    /// Copies the pieces to a second file which then replaces the first. In place a crash would
    /// leave a file of which nobody knows how far it was moved together.
    fn join(&self, part: &PartFile, pieces: &[Piece]) -> Result<(), DiskError> {
        let name = OsString::from(format!("{:04}{JOINING}", part.index()));
        self.folder.remove_file(&name)?;
        let file = self.folder.create(&name)?.ok_or_else(|| self.folder.obstructed(&name))?;
        let path = self.folder.path().join(&name);
        let whole = PartFile::new(part.index(), file, path, self.folder.kernel().clone());
        whole.copy_pieces(part, pieces)?;
        whole.sync()?;
        self.folder.replace(&name, &part_name(part.index()))
    }

    /// Moves the job to the destination and returns the name it has there.
    ///
    /// Killed at any moment and run again, it ends with one complete tree. The tree keeps a hidden
    /// mark until [`Root::settle`], so that [`Root::moved`] finds it should the caller be killed
    /// before it took note of the name.
    pub fn move_to(
        &self,
        destination: &Root,
        wanted: &SafeName,
        job: JobId,
        stop: &AtomicBool,
    ) -> Result<SafeName, DiskError> {
        Move { dir: self, destination, wanted, job, stop }.run()
    }

    /// Deletes the directory and all in it.
    pub fn discard(&self) -> Result<(), DiskError> {
        let root = self.root.folder()?;
        match self.check_unmoved(&root) {
            Ok(()) => {}
            Err(DiskError::Vanished { .. }) => return Ok(()),
            Err(error) => return Err(error),
        }
        tree::remove(&root, OsStr::new(self.name.as_str()), None)?;
        root.sync()
    }

    pub(crate) fn check_unmoved(&self, root: &Folder) -> Result<(), DiskError> {
        let there = root.stat(OsStr::new(self.name.as_str()))?;
        if there.map(|stat| (stat.st_dev, stat.st_ino)) == Some(self.identity) {
            return Ok(());
        }
        Err(DiskError::Vanished { path: self.path().to_owned() })
    }

    /// What is left unfinished when the job is done is of no use to anyone.
    pub(crate) fn remove_parts(&self) -> Result<(), DiskError> {
        for (name, kind) in self.folder.entries()? {
            if is_working_name(&name) && kind != FileType::Directory {
                self.folder.remove_file(&name)?;
            }
        }
        lock(&self.parts).clear();
        Ok(())
    }

    pub(crate) fn folder(&self) -> &Folder {
        &self.folder
    }

    pub fn root(&self) -> &Root {
        &self.root
    }

    /// Tells open job directories apart.
    pub(crate) fn identity(&self) -> (u64, u64) {
        self.identity
    }
}

fn part_name(index: u32) -> OsString {
    OsString::from(format!("{index:04}{UNFINISHED}"))
}

fn part_index(name: &OsStr) -> Option<u32> {
    let index = name.to_str()?.strip_suffix(UNFINISHED)?.parse().ok()?;
    (part_name(index) == name).then_some(index)
}

/// Also of names that are ours only to a file system that ignores case.
fn is_working_name(name: &OsStr) -> bool {
    let Some(name) = name.to_str().map(str::to_ascii_lowercase) else { return false };
    let stem = name.strip_suffix(JOINING).or_else(|| name.strip_suffix(UNFINISHED));
    stem.is_some_and(|stem| !stem.is_empty() && stem.bytes().all(|b| b.is_ascii_digit()))
}

/// A stranger's file may well be called `0007.part`.
fn unlike_working_names(wanted: &SafeName) -> SafeName {
    if is_working_name(OsStr::new(wanted.as_str())) {
        SafeName::from_raw(&format!("_{wanted}"))
    } else {
        wanted.clone()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Each change under these locks is one insert or remove, whole or not done.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

const UNFINISHED: &str = ".part";
const JOINING: &str = ".join.part";
