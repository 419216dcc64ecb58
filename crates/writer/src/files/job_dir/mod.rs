//! [`JobDir`]: the directory of one job while it is downloaded; shared by the writer's threads.

mod compare;
mod working_name;

use std::collections::{BTreeMap, HashMap};
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bergamot_types::{ByteCount, FileIdentity, FileStatus, JobId, SafeName, Shown};
use rustix::fs::{self, FileType, OFlags};
use rustix::io::Errno;
use tracing::debug;

pub use compare::{Compared, Sum};

use crate::error::DiskError;
use crate::files::folder::{Folder, Renamed, Stamp, status_of};
use crate::files::job_dir::working_name::{
    JOINING, is_working_name, part_index, part_name, unlike_working_names,
};
use crate::files::moving::Move;
use crate::files::names::Names;
use crate::files::part_file::{PartFile, PartHistory};
use crate::files::root::Root;
use crate::files::tree;

/// Holds one handle; open it when the job starts, not when it is queued.
#[derive(Debug)]
pub struct JobDir {
    root: Root,
    name: SafeName,
    folder: Folder,
    identity: (u64, u64),
    parts: Mutex<HashMap<u32, KnownPart>>, // another file of such a name is not ours; locked while one is opened
    identities: Mutex<HashMap<u32, FileIdentity>>, // of those, for a caller that does not wait for the disk
    finished: Mutex<BTreeMap<u32, Finished>>,      // what the job consists of when it is moved
    names: Mutex<Option<Names>>,                   // read when the first file is finished
    unflushed: Mutex<HashMap<u32, u64>>, // parts that were written to since they were flushed, and how much
    unsynced: Mutex<HashMap<u32, DiskError>>, // parts that could not be brought to the disk
    has_new_parts: AtomicBool,           // of which the directory on the disk may not know
    renumbers_inodes: bool,              // a file may come to have another identity
}

/// An unfinished file of this directory.
#[derive(Debug)]
struct KnownPart {
    identity: FileIdentity,
    history: Arc<PartHistory>,
    is_lost: bool, // the file was replaced or truncated: nothing more is written to it
}

impl KnownPart {
    fn new(FileStatus { identity, size }: FileStatus) -> Self {
        Self { identity, history: Arc::new(PartHistory::new(size.0)), is_lost: false }
    }
}

/// A finished file, as it was when it got its name.
#[derive(Clone, Debug)]
struct Finished {
    name: OsString,
    status: FileStatus,
    stamp: Option<Stamp>, // where inode numbers may change
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
        let renumbers_inodes = folder.kernel().renumbers_inodes(folder.as_fd());
        let dir = Self {
            root,
            name,
            folder,
            identity: (status.st_dev, status.st_ino),
            parts: Mutex::default(),
            identities: Mutex::default(),
            finished: Mutex::default(),
            names: Mutex::default(),
            unflushed: Mutex::default(),
            has_new_parts: AtomicBool::new(false),
            renumbers_inodes,
            unsynced: Mutex::default(),
        };
        for (index, status) in dir.parts()? {
            dir.know_part(&mut lock(&dir.parts), index, KnownPart::new(status));
        }
        Ok(dir)
    }

    fn know_part(&self, parts: &mut HashMap<u32, KnownPart>, index: u32, known: KnownPart) {
        lock(&self.identities).insert(index, known.identity);
        parts.insert(index, known);
    }

    pub fn name(&self) -> &SafeName {
        &self.name
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Unfinished files by index, for comparison with what a record says was written.
    pub fn parts(&self) -> Result<Vec<(u32, FileStatus)>, DiskError> {
        let files = self.listing(|name| part_index(name).is_some())?;
        let index = |(name, status): (OsString, _)| Some((part_index(&name)?, status));
        Ok(files.into_iter().filter_map(index).collect())
    }

    /// Files that have their own names already.
    pub fn finished(&self) -> Result<Vec<(OsString, FileStatus)>, DiskError> {
        self.listing(|name| !is_working_name(name))
    }

    /// The file of that index is finished. [`Self::move_to`] fails if it is not the same file by then.
    pub fn expect_finished(&self, index: u32, name: &str, status: FileStatus) {
        let name = OsString::from(name);
        let stamp = if self.renumbers_inodes { self.stamp_of(&name, status) } else { None };
        lock(&self.finished).insert(index, Finished { name, status, stamp });
    }

    /// If it is that file now.
    fn stamp_of(&self, name: &OsStr, status: FileStatus) -> Option<Stamp> {
        let stat = self.folder.stat(name).ok().flatten()?;
        (status_of(&stat) == status).then(|| Stamp::of(&stat))
    }

    /// Which file the unfinished one of that index is. It never waits for the disk.
    pub fn identity_of(&self, index: u32) -> Option<FileIdentity> {
        lock(&self.identities).get(&index).copied()
    }

    /// What the finished file of that index was when it got its name. It never waits for the disk.
    pub fn finished_status(&self, index: u32) -> Option<FileStatus> {
        lock(&self.finished).get(&index).map(|finished| finished.status)
    }

    /// Makes an unfinished file of a finished one, of which not all is as it should be.
    pub fn unfinish(&self, index: u32, name: &str) -> Result<(), DiskError> {
        let working = part_name(index);
        let Some(stat) = self.folder.stat(OsStr::new(name))? else { return Ok(()) };
        match self.folder.rename(OsStr::new(name), &self.folder, &working)? {
            Renamed::Done => {
                let known = KnownPart::new(status_of(&stat));
                self.know_part(&mut lock(&self.parts), index, known);
                Ok(())
            }
            Renamed::OtherDevice => Err(self.folder.error(Errno::XDEV, &working)),
            Renamed::Taken | Renamed::TooLong => Err(self.folder.obstructed(&working)),
        }
    }

    /// Removes finished files that are in no record: the daemon was killed between the rename and the record,
    /// and will download that file again. If it were kept, there would be two copies.
    pub fn remove_all_but(&self, known: &[&str]) -> Result<(), DiskError> {
        for (name, _) in self.finished()? {
            // Hidden files are our marks of a move.
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
    ) -> Result<Vec<(OsString, FileStatus)>, DiskError> {
        let mut files = Vec::new();
        for (name, kind) in self.folder.entries()? {
            if kind != FileType::RegularFile || !wanted(&name) {
                continue;
            }
            if let Some(stat) = self.folder.stat(&name)? {
                files.push((name, status_of(&stat)));
            }
        }
        files.sort_by(|(one, _), (other, _)| one.cmp(other));
        Ok(files)
    }

    /// Opens the unfinished file of that index, or makes it when it was never there.
    ///
    /// One that was there and is gone, or is another one, is `Vanished` or `Changed` from then on, as long
    /// as this directory is open: what is on record of the old one has to be taken back before anything
    /// is written under its name.
    pub fn part(&self, index: u32) -> Result<PartFile, DiskError> {
        let mut parts = lock(&self.parts);
        let name = part_name(index);
        if let Some(known) = parts.get_mut(&index) {
            if known.is_lost {
                return Err(DiskError::Vanished { path: self.folder.path().join(name) });
            }
            let opened = self.open_known(index, known);
            known.is_lost = opened.as_ref().is_err_and(is_lost);
            return opened;
        }
        let file = self.folder.create(&name)?.ok_or_else(|| self.folder.obstructed(&name))?;
        self.has_new_parts.store(true, Ordering::Relaxed);
        let part = self.part_file(index, file);
        let status = FileStatus { identity: part.identity()?, size: ByteCount(0) };
        let known = KnownPart::new(status);
        let history = known.history.clone();
        self.know_part(&mut parts, index, known);
        Ok(part.with_history(history))
    }

    /// The file under that name must be the one that was written, not replaced and not truncated.
    fn open_known(&self, index: u32, known: &KnownPart) -> Result<PartFile, DiskError> {
        let name = part_name(index);
        let (file, status) = self.folder.open(&name, OFlags::RDWR)?;
        let is_cut = status.size.0 < known.history.least_size();
        let is_same = status.identity == known.identity
            || self.is_renumbered(known.identity, status.identity)
                && fs::fstat(&file).is_ok_and(|it| known.history.was_closed_as(Stamp::of(&it)));
        if !is_same || is_cut {
            return Err(DiskError::Changed { path: self.folder.path().join(name) });
        }
        Ok(self.part_file(index, file).with_history(known.history.clone()))
    }

    /// Whether inode numbers may change on this file system.
    pub fn renumbers_inodes(&self) -> bool {
        self.renumbers_inodes
    }

    /// Whether both identities may belong to the same file.
    fn is_renumbered(&self, before: FileIdentity, now: FileIdentity) -> bool {
        self.renumbers_inodes && before.device == now.device
    }

    fn open_part(&self, index: u32) -> Result<PartFile, DiskError> {
        match lock(&self.parts).get(&index) {
            Some(known) => self.open_known(index, known),
            None => Err(DiskError::Vanished { path: self.folder.path().join(part_name(index)) }),
        }
    }

    /// Marks the part as replaced or truncated, for as long as the directory is open.
    pub(crate) fn lose_part(&self, index: u32) {
        if let Some(known) = lock(&self.parts).get_mut(&index) {
            known.is_lost = true;
        }
        self.note_flushed(index);
    }

    /// A second handle of an unfinished file, with `O_DIRECT`; many file systems do not support it.
    pub(crate) fn open_directly(&self, part: &PartFile) -> Result<OwnedFd, DiskError> {
        let name = part_name(part.index());
        let direct = self.folder.kernel().direct();
        let (file, status) = self.folder.open(&name, OFlags::RDWR | direct)?;
        match part.identity()? == status.identity {
            true => Ok(file),
            false => Err(self.folder.obstructed(&name)),
        }
    }

    fn part_file(&self, index: u32, file: OwnedFd) -> PartFile {
        PartFile::new(index, file, self.folder.path().join(part_name(index)), &self.folder)
    }

    /// What is to be finished must not be made anew by [`Self::part`]: after a finish that failed
    /// behind its rename, an empty file would get the name a second time.
    pub(crate) fn check_begun(&self, index: u32) -> Result<(), DiskError> {
        if lock(&self.parts).contains_key(&index) {
            return Ok(());
        }
        Err(DiskError::Vanished { path: self.folder.path().join(part_name(index)) })
    }

    pub(crate) fn forget_part(&self, index: u32) {
        lock(&self.parts).remove(&index);
        self.note_flushed(index);
    }

    /// Adds bytes that are in the page cache only; direct writes do not count.
    pub(crate) fn note_unflushed(&self, index: u32, bytes: u64) {
        *lock(&self.unflushed).entry(index).or_default() += bytes;
    }

    pub(crate) fn unflushed(&self, index: u32) -> u64 {
        lock(&self.unflushed).get(&index).copied().unwrap_or(0)
    }

    /// To be called before the flush: bytes that are written during it may not be included. Returns how many
    /// there were.
    pub(crate) fn note_flushed(&self, index: u32) -> u64 {
        lock(&self.unflushed).remove(&index).unwrap_or(0)
    }

    /// Fsyncs all unfinished files; returns the first failure, also one of an earlier flush.
    pub(crate) fn sync_parts(&self) -> Result<(), DiskError> {
        let unflushed = std::mem::take(&mut *lock(&self.unflushed));
        let mut result = Ok(());
        for (index, bytes) in unflushed {
            // Not by `part`, which reports a vanished file only once: a write has to receive that error.
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

    /// The kernel reports a failed flush only once, so it is remembered: finishing the file must fail.
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
        self.finish_by(part, &Whole { size, pieces, sums: &[] }, wanted, || part.sync())
    }

    /// The same for a caller that fsyncs the file itself. A file that differs from its checksums is
    /// `Changed`.
    pub(crate) fn finish_by(
        &self,
        part: &PartFile,
        whole: &Whole<'_>,
        wanted: &SafeName,
        sync: impl FnOnce() -> Result<(), DiskError>,
    ) -> Result<SafeName, DiskError> {
        if let Some(error) = lock(&self.unsynced).remove(&part.index()) {
            return Err(error);
        }
        let working = part_name(part.index());
        self.check_in_place(part, &working)?;
        let mut identity = part.identity()?;
        if part.is_scattered(whole.pieces)? {
            identity = self.join(part, whole.pieces)?;
        } else {
            part.set_size(whole.size.0)?;
            sync()?;
            self.read_back(part, whole.sums)?;
        }
        let name = self.give_name(&working, &unlike_working_names(wanted))?;
        let name = match name {
            Named::Renamed(name) => name,
            Named::Copied(name) => {
                let stat = self.folder.stat(OsStr::new(name.as_str()))?;
                identity = stat.map_or(identity, |stat| status_of(&stat).identity);
                name
            }
        };
        self.expect_finished(
            part.index(),
            name.as_str(),
            FileStatus { identity, size: whole.size },
        );
        self.forget_part(part.index());
        self.folder.sync()?;
        Ok(name)
    }

    /// Compares the file as read from the disk, not from the page cache.
    fn read_back(&self, part: &PartFile, sums: &[Sum]) -> Result<(), DiskError> {
        if !sums.is_empty() {
            part.drop_cache();
        }
        for sum in sums {
            if !part.agrees_with(sum)? {
                self.lose_part(part.index());
                return Err(DiskError::Changed { path: part.path().to_owned() });
            }
        }
        Ok(())
    }

    fn give_name(&self, working: &OsStr, wanted: &SafeName) -> Result<Named, DiskError> {
        let (folder, mut names) = (&self.folder, lock(&self.names));
        let names = match &mut *names {
            Some(names) => names,
            unread => unread.insert(Names::of(folder)?),
        };
        match names.place((folder, working), folder, wanted, SafeName::numbered)? {
            Some(name) => Ok(Named::Renamed(name)),
            None => names.copy(folder, working, wanted, SafeName::numbered).map(Named::Copied),
        }
    }

    /// The file under that name must be the one that was written, not a replacement.
    fn check_in_place(&self, part: &PartFile, working: &OsStr) -> Result<(), DiskError> {
        let there = self.folder.stat(working)?.map(|stat| status_of(&stat).identity);
        let checked = match there == Some(part.identity()?) {
            true => part.check_whole(),
            false => Err(DiskError::Vanished { path: self.folder.path().join(working) }),
        };
        if checked.is_err() {
            self.lose_part(part.index());
        }
        checked
    }

    /// Copies the pieces to a second file which then replaces the first. In place a crash would
    /// leave a file of which it is unknown how far it was moved together.
    fn join(&self, part: &PartFile, pieces: &[Piece]) -> Result<FileIdentity, DiskError> {
        let name = OsString::from(format!("{:04}{JOINING}", part.index()));
        self.folder.remove_file(&name)?;
        let file = self.folder.create(&name)?.ok_or_else(|| self.folder.obstructed(&name))?;
        let path = self.folder.path().join(&name);
        let whole = PartFile::new(part.index(), file, path, &self.folder);
        whole.copy_pieces(part, pieces)?;
        whole.sync()?;
        let identity = whole.identity()?;
        self.folder.replace(&name, &part_name(part.index()))?;
        // Should the rest fail, the next attempt finds this one.
        let mut known = KnownPart::new(FileStatus { identity, size: ByteCount(0) });
        known.history = part.history().clone();
        known.history.set_size(0);
        self.know_part(&mut lock(&self.parts), part.index(), known);
        Ok(identity)
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

    /// All finished files are there as they were when they got their names.
    pub(crate) fn check_promised(&self) -> Result<(), DiskError> {
        let finished: Vec<_> = lock(&self.finished).values().cloned().collect();
        for finished in finished {
            let path = || self.folder.path().join(&finished.name);
            match self.folder.stat(&finished.name)? {
                None => return Err(DiskError::Vanished { path: path() }),
                Some(stat) if self.is_unchanged(&finished, &stat) => {}
                Some(_) => return Err(DiskError::Changed { path: path() }),
            }
        }
        Ok(())
    }

    fn is_unchanged(&self, Finished { status, stamp, .. }: &Finished, stat: &fs::Stat) -> bool {
        let there = status_of(stat);
        there == *status
            || self.is_renumbered(status.identity, there.identity)
                && *stamp == Some(Stamp::of(stat))
    }

    /// Removes the unfinished files of a job that has ended.
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

/// How a file got its name.
enum Named {
    Renamed(SafeName),
    Copied(SafeName),
}

/// A file of which all parts are written.
pub(crate) struct Whole<'a> {
    pub(crate) size: ByteCount,
    pub(crate) pieces: &'a [Piece],
    /// To compare it with before it gets its name.
    pub(crate) sums: &'a [Sum],
}

/// Whether the error means that written data is lost.
pub(crate) fn is_lost(error: &DiskError) -> bool {
    matches!(error, DiskError::Changed { .. } | DiskError::Vanished { .. })
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Each change under these locks is one insert or remove, whole or not done.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
