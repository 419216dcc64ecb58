//! [`Journal`]: the append-only file that records which articles are in the files of a job; used on the
//! journal thread.
//!
//! It is one file beside the record and is only appended to. Its frames ([`frame`](crate::journal::frame))
//! list what was written, and marks between them state that everything before is fsynced. So after a crash of
//! the process all entries count, because the kernel still writes its page cache; after a crash of the
//! machine only those before the last mark. The kernel's boot id distinguishes the two.
//!
//! A retraction is fsynced at once, because the bytes it refers to are about to change, and is written twice,
//! so that no single damaged frame undoes it.

mod claims;
pub(crate) mod entries;
pub(crate) mod frame;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;

use bergamot_queue::{Part, Restored};
use bergamot_types::{FileIdentity, FileStatus};

use crate::disk::directory::Directory;
use crate::disk::durable::{at, is_for_want_of_room, publish_now, sync_names};
use crate::error::StoreError;
use crate::journal::claims::Claims;
use crate::journal::entries::{Decoder, encode};
use crate::journal::frame::{Frame, Kind, Owner, frames};

/// The journal of one job. Its methods block on the disk.
#[derive(Debug)]
pub struct Journal {
    directory: Arc<dyn Directory>,
    name: String,
    owner: Owner,
    last: u64,
    bytes: u64,
    compact_at: u64,
    named: bool, // that there is such a file is on the disk itself
}

/// One entry of a journal.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Entry {
    /// A good copy of the segment was written at its offset.
    Written { file: u32, segment: u32, part: Part },
    /// The segment is no longer written: a retraction.
    Reopened { file: u32, segment: u32 },
    /// Nothing of the file counts any more: a retraction.
    Forgotten { file: u32 },
    /// The unfinished file has this identity from now on.
    Opened { file: u32, identity: FileIdentity },
    /// The file is complete, fsynced and has its final name.
    Finished { file: u32, finished: Finished },
}

/// A position in the journal.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Mark(u64);

/// The entries of a journal that still count.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Replay {
    /// Of files that are not finished, in the order in which it was written.
    pub written: Vec<Restored>,
    /// By file.
    pub finished: BTreeMap<u32, Finished>,
    /// What was written of those, in the order in which it was.
    pub inside_finished: Vec<Restored>,
    /// Which files the unfinished ones are. Journals of an older bergamot do not say.
    pub identities: BTreeMap<u32, FileIdentity>,
    /// Damaged frames, whose entries are lost.
    pub damaged: usize,
    /// Why a journal that was there was set aside as a whole.
    pub set_aside: Option<String>,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Finished {
    pub name: String,
    /// Every article had its checksum, and it was right.
    pub verified: bool,
    /// The whole file was read from the disk again and compared with its articles.
    pub read_back: bool,
    /// As it was when it got its name. Journals of an older bergamot do not say.
    pub status: Option<FileStatus>,
}

impl Journal {
    /// Opens the journal and replays it. One of another job is set aside.
    pub(crate) fn open(
        directory: Arc<dyn Directory>,
        name: String,
        owner: Owner,
    ) -> Result<(Self, Replay), StoreError> {
        let mut journal = Self {
            directory,
            name,
            owner,
            last: 0,
            bytes: 0,
            compact_at: LEAST_COMPACTED,
            named: false,
        };
        let claims = match journal.read() {
            Ok(claims) => claims,
            Err(why) => return journal.set_aside(why),
        };
        journal.last = claims.last;
        // Damaged frames must not remain before new ones.
        if claims.damaged > 0 || claims.outdated || journal.bytes > LEAST_COMPACTED {
            journal.rewrite(&claims)?;
        }
        Ok((journal, claims.into_replay()))
    }

    /// The files that any entry mentions, whether it still counts or not.
    pub(crate) fn files(
        directory: &dyn Directory,
        name: &str,
        owner: Owner,
    ) -> Result<BTreeSet<u32>, StoreError> {
        let bytes = match directory.read(name, MOST_BYTES) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeSet::new()),
            read => read.map_err(at(directory.path().join(name)))?,
        };
        let entries = frames(&bytes, owner).ours.into_iter();
        let entries = entries.filter(|frame| frame.kind == Kind::Entries);
        let entries = entries.flat_map(|frame| Decoder::new(frame.payload).flatten());
        Ok(entries.map(|entry| entry.file()).collect())
    }

    /// In one write, and all of it or nothing. It outlives the process, not the machine.
    pub fn append(&mut self, entries: &[Entry]) -> Result<Mark, StoreError> {
        if entries.is_empty() {
            return Ok(self.mark());
        }
        let takes_back = entries.iter().any(Entry::takes_back);
        let frames = self.frames(entries, if takes_back { 2 } else { 1 });
        self.write(&frames)?;
        if takes_back {
            self.sync()?;
        }
        let mark = self.mark();
        if self.bytes > self.compact_at && self.compact().is_err() {
            // It is only long, and what was appended is in there.
            self.compact_at = self.bytes.saturating_mul(2);
            self.named = false;
        }
        Ok(mark)
    }

    /// Up to the last entry.
    pub fn mark(&self) -> Mark {
        Mark(self.last)
    }

    /// Says that the bytes behind all entries up to `mark` are synced. When this returns, they outlive
    /// the machine.
    pub fn vouch(&mut self, mark: Mark) -> Result<(), StoreError> {
        let frame = self.frame(Kind::Vouch, &mark.0.to_le_bytes());
        self.write(&frame)?;
        self.sync()?;
        self.directory.keep_reserve();
        Ok(())
    }

    /// Rewrites it as if all that still counts had been noted just now.
    pub fn compact(&mut self) -> Result<(), StoreError> {
        let claims = self.read().map_err(|error| at(self.path())(error.into_io()))?;
        self.rewrite(&claims)
    }

    /// Copies lie side by side, so that sequence numbers never fall but in what was written again.
    fn frames(&mut self, entries: &[Entry], copies: usize) -> Vec<u8> {
        let some = entries.chunks(ENTRIES_A_FRAME);
        some.flat_map(|some| self.frame(Kind::Entries, &encode(some)).repeat(copies)).collect()
    }

    fn frame(&mut self, kind: Kind, payload: &[u8]) -> Vec<u8> {
        self.last += 1;
        Frame { owner: self.owner, sequence: self.last, kind, payload }.to_bytes()
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        self.bytes += bytes.len() as u64;
        let append = || {
            let appended = self.directory.append(&self.name, bytes);
            appended.map_err(|error| at(self.path())(error))
        };
        self.directory.with_reserve(is_for_want_of_room, append)
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        self.directory.sync(&self.name).map_err(at(self.path()))?;
        if !self.named {
            sync_names(&*self.directory)?;
            self.named = true;
        }
        Ok(())
    }

    fn read(&mut self) -> Result<Claims, Unreadable> {
        let bytes = match self.directory.read(&self.name, MOST_BYTES) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(Unreadable::Io(error)),
        };
        self.bytes = bytes.len() as u64;
        Claims::read(self.owner, &bytes).ok_or(Unreadable::Foreign)
    }

    fn rewrite(&mut self, claims: &Claims) -> Result<(), StoreError> {
        let mut bytes = Vec::new();
        for vouched in [true, false] {
            let places = claims.places(vouched);
            // Few entries at a time: of a large job there are hundreds of thousands.
            for some in places.chunks(ENTRIES_A_FRAME) {
                let entries: Vec<_> = some.iter().filter_map(|it| claims.entry(it.1)).collect();
                bytes.extend(self.frames(&entries, 1));
            }
            if vouched && !places.is_empty() {
                let mark = self.last.to_le_bytes();
                bytes.extend(self.frame(Kind::Vouch, &mark));
            }
        }
        publish_now(&*self.directory, &self.name, &bytes)?;
        self.named = true;
        self.bytes = bytes.len() as u64;
        self.compact_at = self.bytes.saturating_mul(GROWTH).max(LEAST_COMPACTED);
        Ok(())
    }

    fn set_aside(self, why: Unreadable) -> Result<(Self, Replay), StoreError> {
        let aside = format!("{}.damaged", self.name);
        self.directory.rename(&self.name, &aside).map_err(at(self.path()))?;
        let replay = Replay { set_aside: Some(format!("{aside}: {why}")), ..Replay::default() };
        Ok((self, replay))
    }

    fn path(&self) -> std::path::PathBuf {
        self.directory.path().join(&self.name)
    }
}

/// Why nothing of a journal can be used.
#[derive(Debug, thiserror::Error)]
enum Unreadable {
    #[error("it is not the journal of this job")]
    Foreign,
    #[error("{0}")]
    Io(io::Error),
}

impl Unreadable {
    fn into_io(self) -> io::Error {
        match self {
            Self::Foreign => io::Error::new(io::ErrorKind::InvalidData, self.to_string()),
            Self::Io(error) => error,
        }
    }
}

impl Entry {
    fn file(&self) -> u32 {
        match self {
            Self::Written { file, .. }
            | Self::Reopened { file, .. }
            | Self::Forgotten { file }
            | Self::Opened { file, .. }
            | Self::Finished { file, .. } => *file,
        }
    }

    fn takes_back(&self) -> bool {
        matches!(self, Self::Reopened { .. } | Self::Forgotten { .. })
    }
}

/// A journal of ten million articles is smaller; a larger file is damaged.
const MOST_BYTES: u64 = 256 << 20;

/// Damage costs a frame: a journal that was rewritten must not be a single one.
const ENTRIES_A_FRAME: usize = 256;

/// The journal is compacted when it has grown by this factor since the last time.
const GROWTH: u64 = 4;
const LEAST_COMPACTED: u64 = 1 << 20;

#[cfg(test)]
mod tests;
