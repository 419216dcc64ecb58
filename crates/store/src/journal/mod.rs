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

/// What the journal says that still counts.
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
    /// Stretches of the journal that could not be read; what they told is forgotten.
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
    /// With what it says. One that is not this job's is set aside.
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
        // What could not be read must not lie between what is appended now.
        if claims.damaged > 0 || claims.outdated || journal.bytes > LEAST_COMPACTED {
            journal.rewrite(&claims)?;
        }
        Ok((journal, claims.into_replay()))
    }

    /// Which files anything was ever told of, whether or not it still counts.
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

/// What is claimed after all entries were played through.
#[derive(Debug, Default)]
struct Claims {
    written: BTreeMap<(u32, u32), usize>, // places in `parts`
    parts: Vec<Option<Claim<Restored>>>, // in their order; of a large job this is nearly all there is
    finished: BTreeMap<u32, Claim<Finished>>,
    opened: BTreeMap<u32, Claim<FileIdentity>>,
    last: u64,
    damaged: usize,
    outdated: bool, // there are claims that do not count any more
}

#[derive(Debug)]
struct Claim<T> {
    at: (u64, usize), // sequence of the frame, and place in it
    vouched: bool,
    what: T,
}

impl Claims {
    /// None if there is something, and nothing of it is the owner's.
    fn read(owner: Owner, bytes: &[u8]) -> Option<Self> {
        let mut claims = Self::default();
        let found = frames(bytes, owner);
        if found.ours.is_empty() && found.foreign > 0 {
            return None;
        }
        claims.damaged = found.damaged + found.foreign;
        let vouched = found.ours.iter().filter_map(Frame::vouched).max().unwrap_or(0);
        for frame in found.ours {
            // A block that a file system wrote twice.
            if frame.sequence <= claims.last {
                continue;
            }
            claims.last = frame.sequence;
            if frame.kind == Kind::Entries {
                let is_vouched = frame.sequence <= vouched;
                let counts = is_vouched || frame.owner.same_boot(owner);
                claims.play(&frame, is_vouched, counts);
            }
        }
        Some(claims)
    }

    fn play(&mut self, frame: &Frame<'_>, vouched: bool, counts: bool) {
        for (place, entry) in Decoder::new(frame.payload).enumerate() {
            let Some(entry) = entry else {
                self.damaged += 1;
                return;
            };
            if !counts && !entry.takes_back() {
                self.outdated = true;
                continue;
            }
            self.note(entry, (frame.sequence, place), vouched);
        }
    }

    fn note(&mut self, entry: Entry, at: (u64, usize), vouched: bool) {
        match entry {
            Entry::Written { file, segment, part } => {
                self.drop_part((file, segment));
                self.written.insert((file, segment), self.parts.len());
                let what = Restored { file, segment, part };
                self.parts.push(Some(Claim { at, vouched, what }));
            }
            Entry::Reopened { file, segment } => {
                self.drop_part((file, segment));
                self.finished.remove(&file);
            }
            Entry::Forgotten { file } => {
                self.forget_written(file);
                self.finished.remove(&file);
                self.opened.remove(&file);
            }
            Entry::Opened { file, identity } => {
                self.opened.insert(file, Claim { at, vouched, what: identity });
            }
            // What was written of it is kept: a file that has changed is compared with that.
            Entry::Finished { file, finished } => {
                self.finished.insert(file, Claim { at, vouched, what: finished });
            }
        }
    }

    fn forget_written(&mut self, file: u32) {
        let keys: Vec<_> =
            self.written.range((file, 0)..=(file, u32::MAX)).map(|(k, _)| *k).collect();
        keys.into_iter().for_each(|key| self.drop_part(key));
    }

    fn drop_part(&mut self, key: (u32, u32)) {
        if let Some(place) = self.written.remove(&key) {
            self.parts[place] = None;
        }
    }

    fn into_replay(self) -> Replay {
        let Self { written: places, parts, finished, opened, damaged, .. } = self;
        let is_inside = |(file, _): &&(u32, u32)| finished.contains_key(file);
        let inside = places.keys().filter(is_inside).count();
        let mut written = Vec::with_capacity(places.len() - inside);
        let mut inside_finished = Vec::with_capacity(inside);
        drop(places);
        for restored in parts.into_iter().flatten().map(|claim| claim.what) {
            match finished.contains_key(&restored.file) {
                true => inside_finished.push(restored),
                false => written.push(restored),
            }
        }
        Replay {
            written,
            finished: finished.into_iter().map(|(file, claim)| (file, claim.what)).collect(),
            inside_finished,
            identities: opened.into_iter().map(|(file, claim)| (file, claim.what)).collect(),
            damaged,
            ..Replay::default()
        }
    }

    /// The entries that state the same again, in order: those before the last mark, or those after it.
    fn places(&self, vouched: bool) -> Vec<((u64, usize), ClaimKey)> {
        let written = (0..).zip(&self.parts).filter_map(|(place, part)| {
            let claim = part.as_ref().filter(|claim| claim.vouched == vouched)?;
            Some((claim.at, ClaimKey::Written(place)))
        });
        let finished = self.finished.iter().filter(|(_, claim)| claim.vouched == vouched);
        let finished = finished.map(|(file, claim)| (claim.at, ClaimKey::Finished(*file)));
        let opened = self.opened.iter().filter(|(_, claim)| claim.vouched == vouched);
        let opened = opened.map(|(file, claim)| (claim.at, ClaimKey::Opened(*file)));
        let mut places: Vec<_> = written.chain(finished).chain(opened).collect();
        places.sort_by_key(|(at, _)| *at);
        places
    }

    fn entry(&self, key: ClaimKey) -> Option<Entry> {
        Some(match key {
            ClaimKey::Written(place) => {
                let Restored { file, segment, part } = self.parts[place].as_ref()?.what.clone();
                Entry::Written { file, segment, part }
            }
            ClaimKey::Finished(file) => {
                Entry::Finished { file, finished: self.finished.get(&file)?.what.clone() }
            }
            ClaimKey::Opened(file) => {
                Entry::Opened { file, identity: self.opened.get(&file)?.what }
            }
        })
    }
}

/// Which of the claims it is.
#[derive(Clone, Copy, Debug)]
enum ClaimKey {
    Written(usize),
    Finished(u32),
    Opened(u32),
}

/// A journal of ten million articles is smaller; a larger file is damaged.
const MOST_BYTES: u64 = 256 << 20;

/// Damage costs a frame: a journal that was rewritten must not be a single one.
const ENTRIES_A_FRAME: usize = 256;

/// Rewritten when it has grown to so many times what it had to say then.
const GROWTH: u64 = 4;
const LEAST_COMPACTED: u64 = 1 << 20;

#[cfg(test)]
mod tests {
    use bergamot_types::JobId;

    use super::*;
    use crate::disk::directory::Folder;
    use crate::journal::frame::BootId;
    use bergamot_jobs::Fingerprint;

    const NAME: &str = "00000007.journal";

    struct Home(tempfile::TempDir);

    impl Home {
        fn new() -> Self {
            Self(tempfile::tempdir().unwrap())
        }

        fn open(&self, boot: &str) -> (Journal, Replay) {
            self.open_as(7, boot)
        }

        fn open_as(&self, job: u32, boot: &str) -> (Journal, Replay) {
            let folder = Arc::new(Folder::open(self.0.path()).unwrap());
            let boot = BootId::of(boot.as_bytes());
            let owner = Owner::new(JobId(job), Fingerprint([1; 16]), boot);
            Journal::open(folder, NAME.to_owned(), owner).unwrap()
        }

        /// Which segments of file 0 are told of, and the names of files that are finished.
        fn told(&self, boot: &str) -> (Vec<u32>, Vec<String>) {
            let (_, replay) = self.open(boot);
            told(&replay)
        }

        fn bytes(&self) -> Vec<u8> {
            std::fs::read(self.0.path().join(NAME)).unwrap()
        }

        fn put(&self, bytes: &[u8]) {
            std::fs::write(self.0.path().join(NAME), bytes).unwrap();
        }
    }

    fn told(replay: &Replay) -> (Vec<u32>, Vec<String>) {
        let segments = replay.written.iter().map(|restored| restored.segment).collect();
        (segments, replay.finished.values().map(|finished| finished.name.clone()).collect())
    }

    fn written(segment: u32) -> Entry {
        let begin = Some(u64::from(segment) * 1000);
        let part = Part { begin, length: 1000, verified: true, ..Part::default() };
        Entry::Written { file: 0, segment, part }
    }

    fn finished(name: &str) -> Entry {
        let (name, status) = (name.to_owned(), None);
        let finished = Finished { name, verified: true, read_back: false, status };
        Entry::Finished { file: 0, finished }
    }

    fn nothing() -> (Vec<u32>, Vec<String>) {
        (Vec::new(), Vec::new())
    }

    #[test]
    fn what_was_appended_outlives_the_process_and_what_was_vouched_for_the_machine() {
        let home = Home::new();
        let (mut journal, replay) = home.open("a");
        assert_eq!(replay, Replay::default());
        let mark = journal.append(&[written(3), written(1)]).unwrap();
        journal.append(&[written(2)]).unwrap();
        journal.vouch(mark).unwrap();
        assert_eq!(home.told("a").0, [3, 1, 2], "in the order in which they were written");
        assert_eq!(home.told("b").0, [3, 1]);
        assert_eq!(home.told("a").0, [3, 1], "and what is forgotten stays so");
    }

    #[test]
    fn where_the_machine_does_not_say_which_run_it_is_in_only_vouched_entries_count() {
        let home = Home::new();
        let (mut journal, _) = home.open("");
        journal.append(&[written(1)]).unwrap();
        journal.vouch(journal.mark()).unwrap();
        journal.append(&[written(2)]).unwrap();
        assert_eq!(home.told("").0, [1]);
    }

    #[test]
    fn what_is_taken_back_is_not_told_whoever_took_it_back() {
        let home = Home::new();
        let (mut journal, _) = home.open("a");
        journal.append(&[written(1), written(2)]).unwrap();
        journal.vouch(journal.mark()).unwrap();
        journal.append(&[Entry::Reopened { file: 0, segment: 1 }]).unwrap();
        assert_eq!(home.told("b").0, [2]);
        let (mut journal, _) = home.open("b");
        journal.append(&[Entry::Forgotten { file: 0 }, written(5)]).unwrap();
        assert_eq!(home.told("b").0, [5]);
        assert_eq!(home.told("c"), nothing());
    }

    /// A job of 100 GB has 140,000 articles.
    #[test]
    fn the_articles_of_a_file_share_its_name() {
        let home = Home::new();
        let (mut journal, _) = home.open("a");
        let named = |segment| {
            let Entry::Written { file, segment, part } = written(segment) else { unreachable!() };
            Entry::Written { file, segment, part: Part { name: Some("a.rar".into()), ..part } }
        };
        journal.append(&(0..100).map(named).collect::<Vec<_>>()).unwrap();
        let (_, replay) = home.open("a");
        let names: Vec<_> = replay.written.iter().map(|it| it.part.name.clone().unwrap()).collect();
        assert!(names.len() == 100 && names.iter().all(|name| Arc::ptr_eq(name, &names[0])));
    }

    #[test]
    fn a_finished_file_is_told_with_what_was_written_of_it() {
        let home = Home::new();
        let (mut journal, _) = home.open("a");
        journal.append(&[written(0)]).unwrap();
        journal.vouch(journal.mark()).unwrap();
        journal.append(&[finished("f.rar")]).unwrap();
        let whole = (Vec::new(), vec!["f.rar".to_owned()]);
        assert_eq!(home.told("a"), whole);
        journal.compact().unwrap();
        assert_eq!(home.told("a"), whole);
        let unfinished = home.bytes();
        assert_eq!(home.told("b"), (vec![0], Vec::new()));
        home.put(&unfinished);
        let (mut journal, _) = home.open("a");
        journal.vouch(journal.mark()).unwrap();
        assert_eq!(home.told("b"), whole);
        let inside = home.open("b").1.inside_finished;
        assert_eq!(
            inside.iter().map(|it| it.segment).collect::<Vec<_>>(),
            [0],
            "to compare it with"
        );
        journal.append(&[Entry::Reopened { file: 0, segment: 0 }]).unwrap();
        assert_eq!(home.told("a"), nothing());
    }

    #[test]
    fn which_file_it_was_is_known_until_it_is_forgotten() {
        let home = Home::new();
        let identity = |inode| FileIdentity { device: 1, inode };
        let (mut journal, _) = home.open("a");
        let opened = |inode| Entry::Opened { file: 0, identity: identity(inode) };
        journal.append(&[opened(5), written(1), opened(6)]).unwrap();
        journal.compact().unwrap();
        let replay = home.open("a").1;
        assert_eq!((replay.identities, replay.written.len()), ([(0, identity(6))].into(), 1));
        journal.append(&[Entry::Forgotten { file: 0 }]).unwrap();
        assert_eq!(home.open("a").1, Replay::default());
    }

    #[test]
    fn every_flip_costs_one_frame_and_every_cut_the_tail() {
        let home = Home::new();
        let (mut journal, _) = home.open("a");
        // Four of the same length.
        for segment in 40..44 {
            journal.append(&[written(segment)]).unwrap();
        }
        let whole = home.bytes();
        for at in 0..whole.len() {
            let mut flipped = whole.clone();
            flipped[at] ^= 1;
            home.put(&flipped);
            let (mut journal, replay) = home.open("a");
            let lost = 40 + (at / (whole.len() / 4)) as u32;
            let left: Vec<_> = (40..44).filter(|segment| *segment != lost).collect();
            assert_eq!((told(&replay).0, replay.damaged), (left, 1), "byte {at}");
            journal.append(&[written(9)]).unwrap();
            let (_, replay) = home.open("a");
            assert_eq!((replay.written.len(), replay.damaged), (4, 0), "byte {at}");
            home.put(&whole[..at]);
            let kept = at / (whole.len() / 4);
            assert_eq!(home.told("a").0.len(), kept, "cut at {at}");
        }
        home.put(&[whole.clone(), vec![0; 4096]].concat());
        assert_eq!(home.told("a").0.len(), 4);
        home.put(&[whole.clone(), whole].concat());
        assert_eq!(home.told("a").0.len(), 4);
    }

    #[test]
    fn no_single_damage_brings_back_what_was_taken_back() {
        let home = Home::new();
        let (mut journal, _) = home.open("a");
        journal.append(&[written(1)]).unwrap();
        journal.append(&[Entry::Reopened { file: 0, segment: 1 }]).unwrap();
        let whole = home.bytes();
        for at in 0..whole.len() {
            let mut flipped = whole.clone();
            flipped[at] ^= 0x80;
            home.put(&flipped);
            assert_eq!(home.told("a"), nothing(), "byte {at}");
        }
    }

    #[test]
    fn nor_where_so_much_was_taken_back_that_it_took_several_frames() {
        let home = Home::new();
        let (mut journal, _) = home.open("a");
        let segments = 0..300;
        journal.append(&segments.clone().map(written).collect::<Vec<_>>()).unwrap();
        let begin = home.bytes().len();
        let reopened = |segment| Entry::Reopened { file: 0, segment };
        journal.append(&segments.map(reopened).collect::<Vec<_>>()).unwrap();
        let whole = home.bytes();
        for at in (begin..whole.len()).step_by(11) {
            let mut flipped = whole.clone();
            flipped[at] ^= 0x80;
            home.put(&flipped);
            assert_eq!(home.told("a"), nothing(), "byte {at}");
        }
    }

    #[test]
    fn the_journal_of_another_job_is_set_aside() {
        let home = Home::new();
        let (mut journal, _) = home.open_as(8, "a");
        journal.append(&[written(1)]).unwrap();
        let theirs = home.bytes();
        let (mut journal, replay) = home.open("a");
        assert_eq!(told(&replay), nothing());
        assert!(replay.set_aside.unwrap().starts_with("00000007.journal.damaged: "));
        journal.append(&[written(2)]).unwrap();
        assert_eq!(home.told("a").0, [2]);
        assert_eq!(std::fs::read(home.0.path().join("00000007.journal.damaged")).unwrap(), theirs);
    }

    #[test]
    fn a_journal_that_says_the_same_again_and_again_does_not_grow_for_ever() {
        let home = Home::new();
        let (mut journal, _) = home.open("a");
        journal.compact_at = 10_000;
        for round in 0..2000 {
            journal.append(&[written(round % 5)]).unwrap();
            journal.compact_at = journal.compact_at.min(10_000);
        }
        assert!(home.bytes().len() <= 10_100, "{}", home.bytes().len());
        assert_eq!(home.told("a").0, [0, 1, 2, 3, 4]);
    }
}
