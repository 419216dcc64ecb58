//! [`Spool`]: the directory of all jobs; owns their NZBs, records and journals, locked for one daemon.

pub(crate) mod checksummed_nzb;
pub(crate) mod crash_guard;
pub(crate) mod name;
pub(crate) mod opening;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bergamot_types::JobId;

use crate::disk::commit::{Draft, commit};
use crate::disk::directory::{Directory, Folder};
use crate::disk::durable::{at, draft_of, is_for_want_of_room, publish_now, sync_names};
use crate::disk::lock::{Lock, lock};
use crate::error::StoreError;
use crate::journal::frame::{BootId, Owner};
use crate::journal::{Journal, Replay};
use crate::record_file::encode;
use crate::spool::checksummed_nzb::{NzbReader, Sealing};
use crate::spool::crash_guard::CrashGuard;
use crate::spool::name::{GONE, JOURNAL, LAST, NZB, RECORD, name};
use crate::spool::opening::{look_through, rename_aside};
use bergamot_jobs::Fingerprint;
use bergamot_jobs::Joined;
use bergamot_jobs::{Record, Records};

/// Why nothing new is taken.
#[derive(Clone, Debug)]
enum Closed {
    Full,
    Unwritable(String),
}

/// The spool of one daemon. Its methods block on the disk.
#[derive(Debug)]
pub struct Spool {
    directory: Arc<dyn Directory>,
    index: Mutex<Index>,
    crash_guard: Mutex<CrashGuard>,
    /// Where other files of the state lie, which have room set aside for them, too.
    beside: Option<PathBuf>,
    /// Why nothing new is taken.
    unwritable: Mutex<Option<String>>,
    _lock: Option<Lock>,
}

#[derive(Debug, Default)]
struct Index {
    last_id: u32,
    last_sequence: u64,
    present: BTreeMap<JobId, Fingerprint>,
    parts: BTreeMap<JobId, Part>, // jobs that belong to others
    fingerprints: BTreeMap<(Fingerprint, JobId), Arc<str>>, // with their sources
}

/// A job that is part of another.
#[derive(Clone, Copy, Debug)]
struct Part {
    of: JobId,
    fingerprint: Fingerprint,
}

/// What was in the spool when it was opened.
#[derive(Debug, Default)]
pub struct SpoolContents {
    /// All readable records, by id.
    pub records: Records,
    /// Files that could not be used, under the name they have now, and why. Each costs one job at most.
    pub set_aside: Vec<(PathBuf, String)>,
    /// Jobs that are not ended and whose NZB is gone.
    pub without_nzb: Vec<JobId>,
    /// Jobs whose record is damaged and was set aside, and whose NZB is there. Each is to be rebuilt from it
    /// by [`Spool::update`], or given up by [`Spool::set_nzb_aside`].
    pub to_rebuild: Vec<JobId>,
    /// Jobs that were merged into others: to be removed together with their directories.
    pub joined: Vec<Record>,
    /// Completed jobs that still have a journal: the process ended before it was removed.
    pub unsettled: Vec<JobId>,
    /// Jobs during which the process crashed twice in a row: not to be loaded without a request.
    pub suspects: Vec<JobId>,
    /// Why nothing can be written, if that is so.
    pub read_only: Option<String>,
}

/// A job to be accepted.
pub struct Addition<'a> {
    pub record: &'a Record,
    pub nzb: &'a mut dyn Read,
}

impl Spool {
    /// Opens the spool, creating it if need be, and locks it for this process.
    pub fn open(path: &Path) -> Result<(Self, SpoolContents), StoreError> {
        let folder = Folder::open(path).map_err(at(path))?;
        let lock = lock(&folder)?;
        let (mut spool, mut found) = Self::open_in(Arc::new(folder))?;
        match lock {
            Ok(lock) => {
                lock.sign();
                spool.directory.keep_reserve();
                spool._lock = Some(lock);
            }
            Err(error) => found.read_only = Some(format!("{}: {error}", error.code())),
        }
        Ok((spool, found))
    }

    /// The same in a directory that no other process uses.
    pub fn open_in(directory: Arc<dyn Directory>) -> Result<(Self, SpoolContents), StoreError> {
        let (mut found, last_id) = look_through(&directory)?;
        let index = Index::of(&found.records, last_id);
        let mut crash_guard = CrashGuard::read(&*directory, &mut found.set_aside);
        crash_guard.retain(|job| index.present.contains_key(&job));
        for record in &mut found.records {
            record.starts = crash_guard.crashes(record.id);
        }
        found.suspects = crash_guard.suspects();
        let (index, crash_guard) = (Mutex::new(index), Mutex::new(crash_guard));
        let (beside, unwritable) = (None, Mutex::default());
        Ok((Self { directory, index, crash_guard, beside, unwritable, _lock: None }, found))
    }

    /// The directory of the files that are kept beside the spool. While the room set aside for them is used
    /// up, nothing new is taken.
    pub fn keep_room_in(&mut self, beside: &Path) {
        self.beside = Some(beside.to_owned());
    }

    /// Why nothing new may be taken, as something else could not be written; none if it may again.
    pub fn set_unwritable(&self, why: Option<String>) {
        *self.unwritable.lock().unwrap_or_else(PoisonError::into_inner) = why;
    }

    /// Whether the room for small changes (a pause, an end, a note in a journal) is set aside. If it was used,
    /// the disk was full; what is new must not take the place of such changes.
    pub fn keep_room(&self) -> Result<(), StoreError> {
        let is_kept = |beside: &PathBuf| match Folder::open(beside) {
            Ok(folder) => folder.keep_reserve(),
            Err(_) => true, // then it is not for want of room
        };
        match self.directory.keep_reserve() && self.beside.as_ref().is_none_or(is_kept) {
            true => Ok(()),
            false => Err(at(self.directory.path())(io::ErrorKind::StorageFull.into())),
        }
    }

    fn take_new(&self) -> Result<(), StoreError> {
        self.closed().map_or(Ok(()), |why| Err(self.refusal(why)))
    }

    fn closed(&self) -> Option<Closed> {
        let why = self.unwritable.lock().unwrap_or_else(PoisonError::into_inner).clone();
        why.map(Closed::Unwritable).or_else(|| self.keep_room().is_err().then_some(Closed::Full))
    }

    fn refusal(&self, why: Closed) -> StoreError {
        let path = self.directory.path();
        match why {
            Closed::Full => at(path)(io::ErrorKind::StorageFull.into()),
            Closed::Unwritable(why) => StoreError::Unwritable { path: path.to_owned(), why },
        }
    }

    /// The highest number that any job was ever given.
    pub fn last_id(&self) -> JobId {
        JobId(self.index().last_id)
    }

    /// The number of the next job; none is ever given twice.
    pub fn next_id(&self) -> JobId {
        let mut index = self.index();
        index.last_id += 1;
        JobId(index.last_id)
    }

    /// The place in history of the next job that ends.
    pub fn next_sequence(&self) -> u64 {
        let mut index = self.index();
        index.last_sequence += 1;
        index.last_sequence
    }

    /// The last job with the same articles that is queued or completed, and where it came from.
    pub fn same_articles(&self, print: Fingerprint) -> Option<(JobId, Arc<str>)> {
        let index = self.index();
        let all = (print, JobId(0))..=(print, JobId(u32::MAX));
        let last = index.fingerprints.range(all).next_back();
        last.map(|((_, job), source)| (*job, source.clone()))
    }

    /// All jobs with these articles that are queued or completed.
    pub fn copies(&self, print: Fingerprint) -> Vec<JobId> {
        let index = self.index();
        let all = (print, JobId(0))..=(print, JobId(u32::MAX));
        index.fingerprints.range(all).map(|((_, job), _)| *job).collect()
    }

    /// Accepts a job: when this returns, it outlives the process and the power.
    pub fn add(&self, record: &Record, nzb: &mut dyn Read) -> Result<(), StoreError> {
        self.add_all(&mut [Addition { record, nzb }]).pop().unwrap_or(Ok(()))
    }

    /// Accepts many, which takes little longer than one. Each has its result.
    pub fn add_all(&self, additions: &mut [Addition<'_>]) -> Vec<Result<(), StoreError>> {
        // Asked once for all of them: the next answer may be another one.
        if let Some(why) = self.closed() {
            return additions.iter().map(|_| Err(self.refusal(why.clone()))).collect();
        }
        let records: Vec<_> = additions.iter().map(|addition| addition.record).collect();
        let groups = additions.iter_mut().map(|addition| {
            let nzb = name(addition.record.id, NZB);
            // The record comes last, for it is what makes them a job.
            vec![
                Draft { name: nzb, content: Box::new(Sealing::new(&mut *addition.nzb)) },
                record_draft(addition.record),
            ]
        });
        let results = commit(&*self.directory, groups.collect());
        for (record, result) in records.iter().zip(&results) {
            match result {
                Ok(()) => self.index().learn(record),
                Err(_) => self.take_back(record.id),
            }
        }
        results
    }

    /// Puts the NZB of a job in its place that was added without one: when this returns, that outlives
    /// the process and the power.
    pub fn put_nzb(&self, job: JobId, nzb: &mut dyn Read) -> Result<(), StoreError> {
        self.take_new()?;
        let draft = Draft { name: name(job, NZB), content: Box::new(Sealing::new(nzb)) };
        commit(&*self.directory, vec![vec![draft]]).pop().unwrap_or(Ok(()))
    }

    /// Whether the NZB of a job would fit, without one; nothing of the trial is left.
    pub fn try_room(&self, job: JobId, size: u64) -> Result<(), StoreError> {
        self.take_new()?;
        let draft = draft_of(&name(job, NZB));
        let tried = self.directory.try_room(&draft, size);
        tried.map_err(|error| at(self.directory.path().join(&draft))(error))
    }

    /// From now on the articles of this job are known, though its record is still on its way.
    pub fn expect(&self, record: &Record) {
        self.index().learn(record);
    }

    /// Replaces the record of a job.
    pub fn update(&self, record: &Record) -> Result<(), StoreError> {
        self.update_all(&[record]).remove(&record.id).map_or(Ok(()), Err)
    }

    /// Replaces many, which takes little longer than one; returns why which of them could not be. Of two
    /// of the same job the later holds.
    pub fn update_all(&self, records: &[&Record]) -> BTreeMap<JobId, StoreError> {
        let records: BTreeMap<_, _> = records.iter().map(|record| (record.id, *record)).collect();
        let records: Vec<_> = records.into_values().collect();
        let write = || {
            let groups = records.iter().map(|record| vec![record_draft(record)]);
            commit(&*self.directory, groups.collect())
        };
        let is_full = |results: &Vec<_>| results.iter().any(is_for_want_of_room);
        self.directory.keep_reserve();
        let results = self.directory.with_reserve(is_full, write);
        let mut failures = BTreeMap::new();
        for (record, result) in records.iter().zip(results) {
            match result {
                Ok(()) => self.index().learn(record),
                Err(error) => drop(failures.insert(record.id, error)),
            }
        }
        failures
    }

    /// The NZB as it came. Whether it is whole, [`NzbReader::finish`] tells.
    pub fn nzb(&self, job: JobId) -> Result<NzbReader, StoreError> {
        let name = name(job, NZB);
        let path = self.directory.path().join(&name);
        let file = self.directory.open(&name).map_err(at(&path))?;
        Ok(NzbReader::new(path, file))
    }

    /// Sets the NZB of a job that cannot be rebuilt from it aside for the user. Returns its new path, and
    /// why.
    pub fn set_nzb_aside(&self, job: JobId, why: String) -> (PathBuf, String) {
        rename_aside(&*self.directory, &name(job, NZB), "orphan", why)
    }

    /// What is known of the files of a job; `boot` is the run of the machine we are in.
    pub fn journal(&self, record: &Record, boot: BootId) -> Result<(Journal, Replay), StoreError> {
        let owner = Owner::new(record.id, record.fingerprint, boot);
        Journal::open(self.directory.clone(), name(record.id, JOURNAL), owner)
    }

    /// A completed job needs its NZB and its journal no more.
    pub fn drop_nzb(&self, job: JobId) -> Result<(), StoreError> {
        self.forget_journal(job)?;
        self.remove_file(&name(job, NZB)).map(drop)
    }

    /// A completed job needs its journal no more. After a power cut it may be there again, and is
    /// told of as `unsettled`.
    pub fn forget_journal(&self, job: JobId) -> Result<(), StoreError> {
        self.remove_file(&name(job, JOURNAL)).map(drop)
    }

    /// Nothing that was written of the job counts any more, not even after a power cut. Where there is
    /// none, the next record that is written sees to it that there stays none.
    pub fn drop_journal(&self, job: JobId) -> Result<(), StoreError> {
        match self.remove_file(&name(job, JOURNAL))? {
            true => sync_names(&*self.directory),
            false => Ok(()),
        }
    }

    /// Whether there is such a job.
    pub fn is_present(&self, job: JobId) -> bool {
        self.index().present.contains_key(&job)
    }

    /// Whether the disk has it that this job is part of another, and none of its own.
    pub fn is_part(&self, job: JobId) -> bool {
        self.index().parts.contains_key(&job)
    }

    /// Forgets jobs altogether, with all that is part of them. A record that has its other name removes
    /// its job: from there on nothing brings the job back, and what is left is removed now or at the next
    /// start. Of one that is itself part of another the NZB stays.
    pub fn remove(&self, jobs: &[JobId]) -> Result<(), StoreError> {
        let parts: Vec<_> = jobs.iter().flat_map(|job| self.index().parts_of(*job)).collect();
        self.keep_last_number(jobs, &parts)?;
        for job in jobs {
            self.rename_gone(*job)?;
        }
        sync_names(&*self.directory)?;
        for job in parts.iter().chain(jobs) {
            self.remove_file(&name(*job, JOURNAL))?;
            if parts.contains(job) || !self.is_part(*job) {
                self.remove_file(&name(*job, NZB))?;
            }
        }
        for part in &parts {
            self.remove_file(&name(*part, RECORD))?;
        }
        sync_names(&*self.directory)?;
        for job in jobs {
            self.remove_file(&name(*job, GONE))?;
            self.index().forget(*job);
        }
        Ok(())
    }

    fn rename_gone(&self, job: JobId) -> Result<(), StoreError> {
        match self.directory.rename(&name(job, RECORD), &name(job, GONE)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            renamed => renamed.map_err(at(self.directory.path().join(name(job, RECORD)))),
        }
    }

    /// The files of a job that its journal mentions, whether the entries still count or not. Changes nothing.
    pub fn begun_files(&self, record: &Record) -> Result<BTreeSet<u32>, StoreError> {
        let owner = Owner::new(record.id, record.fingerprint, BootId::default());
        let told = Journal::files(&*self.directory, &name(record.id, JOURNAL), owner)?;
        Ok(record.finished.iter().map(|file| file.index).chain(told).collect())
    }

    /// Enters a job into the crash guard: a crash of the process counts against it from now on. Meant for
    /// steps that may crash the daemon, such as reading an NZB, not for whole downloads. Releases `before`.
    pub fn begin(&self, job: JobId, before: Option<JobId>) -> Result<(), StoreError> {
        let mut crash_guard = self.crash_guard();
        if let Some(before) = before {
            crash_guard.release(before);
        }
        crash_guard.enter(job);
        crash_guard.write(&*self.directory)
    }

    /// Releases a job from the crash guard: its step ended without a crash.
    pub fn ended(&self, job: JobId) -> Result<(), StoreError> {
        let mut crash_guard = self.crash_guard();
        match crash_guard.release(job) {
            true => crash_guard.write(&*self.directory),
            false => Ok(()),
        }
    }

    /// A job that was not accepted must not be there at the next start.
    fn take_back(&self, job: JobId) {
        for extension in [RECORD, NZB] {
            // If even that fails, it comes back as a job that was never acknowledged.
            let _ = self.directory.remove(&name(job, extension));
        }
    }

    /// The next job number follows from the file names, so the highest one must not disappear.
    fn keep_last_number(&self, jobs: &[JobId], parts: &[JobId]) -> Result<(), StoreError> {
        let highest = {
            let index = self.index();
            let last_part = index.parts.keys().next_back();
            index.present.keys().next_back().max(last_part).copied()
        };
        match highest.filter(|highest| jobs.contains(highest) || parts.contains(highest)) {
            Some(highest) => publish_now(&*self.directory, &name(highest, LAST), &[]),
            None => Ok(()),
        }
    }

    /// Whether there was one.
    fn remove_file(&self, name: &str) -> Result<bool, StoreError> {
        match self.directory.remove(name) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(at(self.directory.path().join(name))(error)),
        }
    }

    fn index(&self) -> MutexGuard<'_, Index> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn crash_guard(&self) -> MutexGuard<'_, CrashGuard> {
        self.crash_guard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Index {
    /// Trees that are made of all at once are half as large as those that grew.
    fn of(records: &[Box<Record>], last_id: u32) -> Self {
        let known = records.iter().filter(|record| record.stands_in_the_way());
        let known = known.map(|record| ((record.fingerprint, record.id), record.source.clone()));
        let sequences = records.iter().filter_map(|record| Some(record.outcome.as_ref()?.sequence));
        let mut index = Self {
            last_id,
            last_sequence: sequences.max().unwrap_or(0),
            present: records.iter().map(|record| (record.id, record.fingerprint)).collect(),
            parts: BTreeMap::new(),
            fingerprints: known.collect(),
        };
        records.iter().for_each(|record| index.learn_parts(record));
        index
    }

    fn learn(&mut self, record: &Record) {
        self.present.insert(record.id, record.fingerprint);
        let sequence = record.outcome.as_ref().map_or(0, |outcome| outcome.sequence);
        self.last_sequence = self.last_sequence.max(sequence);
        let key = (record.fingerprint, record.id);
        match record.stands_in_the_way() {
            true => drop(self.fingerprints.insert(key, record.source.clone())),
            false => drop(self.fingerprints.remove(&key)),
        }
        self.learn_parts(record);
    }

    /// Whoever has the articles of a part has those of a part of the job.
    fn learn_parts(&mut self, record: &Record) {
        for Joined { job, fingerprint, source } in record.joined() {
            self.parts.insert(*job, Part { of: record.id, fingerprint: *fingerprint });
            self.fingerprints.remove(&(*fingerprint, *job));
            let key = (*fingerprint, record.id);
            match record.stands_in_the_way() {
                true => drop(self.fingerprints.insert(key, source.clone())),
                false => drop(self.fingerprints.remove(&key)),
            }
        }
    }

    fn parts_of(&self, job: JobId) -> Vec<JobId> {
        self.parts.iter().filter(|(_, part)| part.of == job).map(|(part, _)| *part).collect()
    }

    fn forget(&mut self, job: JobId) {
        for part in self.parts_of(job) {
            if let Some(part) = self.parts.remove(&part) {
                self.fingerprints.remove(&(part.fingerprint, job));
            }
        }
        if let Some(print) = self.present.remove(&job) {
            self.fingerprints.remove(&(print, job));
        }
    }
}

pub(crate) fn record_draft(record: &Record) -> Draft<'static> {
    let sealed = io::Cursor::new(encode(record));
    Draft { name: name(record.id, RECORD), content: Box::new(sealed) }
}

impl fmt::Debug for Addition<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Addition").field(&self.record.id).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use bergamot_queue::{Cause, Ending, JobState};
    use bergamot_types::UnixTime;

    use super::*;
    use crate::journal::Entry;
    use bergamot_jobs::Outcome;

    fn record(id: JobId) -> Record {
        let print = Fingerprint([id.0 as u8; 16]);
        Record::new(id, &format!("job {id}"), UnixTime(0), &format!("{id}.nzb"), print)
    }

    fn add(spool: &Spool) -> Record {
        let record = record(spool.next_id());
        spool.add(&record, &mut &b"<nzb/>"[..]).unwrap();
        record
    }

    fn failed(mut record: Record) -> Record {
        let ending = Ending::Failed(Cause::Incomplete);
        record.end(Outcome { sequence: 5, ..Outcome::new(ending, UnixTime(0), "") });
        record
    }

    fn names(path: &Path) -> Vec<String> {
        let entries = fs::read_dir(path).unwrap();
        let name = |entry: io::Result<fs::DirEntry>| entry.unwrap().file_name().into_string();
        let mut names: Vec<_> = entries.map(|entry| name(entry).unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn jobs_come_back_in_order_with_their_nzbs() {
        let home = tempfile::tempdir().unwrap();
        let (spool, found) = Spool::open(home.path()).unwrap();
        assert!(found.records.is_empty());
        let added = [add(&spool), add(&spool)];
        drop(spool);
        let (spool, found) = Spool::open(home.path()).unwrap();
        assert_eq!(found.records, added.map(Box::new));
        let mut nzb = String::new();
        spool.nzb(JobId(2)).unwrap().read_to_string(&mut nzb).unwrap();
        assert_eq!((nzb.as_str(), spool.next_id()), ("<nzb/>", JobId(3)));
    }

    #[test]
    fn a_job_may_be_there_before_its_nzb() {
        let home = tempfile::tempdir().unwrap();
        let (spool, _) = Spool::open(home.path()).unwrap();
        let mut first = record(spool.next_id());
        (first.life, first.fingerprint) = (JobState::Fetching, Fingerprint::default());
        spool.add(&first, &mut io::empty()).unwrap();
        assert_eq!(spool.same_articles(Fingerprint::default()), None, "it has none yet");
        spool.put_nzb(first.id, &mut &b"<nzb/>"[..]).unwrap();
        (first.life, first.fingerprint) = (JobState::Queued, Fingerprint([7; 16]));
        spool.expect(&first);
        assert_eq!(spool.copies(first.fingerprint), [first.id]);
        drop(spool);
        let (spool, found) = Spool::open(home.path()).unwrap();
        assert_eq!(found.records[0].life, JobState::Fetching);
        let mut nzb = String::new();
        spool.nzb(first.id).unwrap().read_to_string(&mut nzb).unwrap();
        assert_eq!(nzb, "<nzb/>");
    }

    #[test]
    fn two_daemons_cannot_share_a_spool() {
        let home = tempfile::tempdir().unwrap();
        let _first = Spool::open(home.path()).unwrap();
        let error = Spool::open(home.path()).unwrap_err();
        assert_eq!(error.code(), "state.locked");
        let holder = format!("(process {} on ", std::process::id());
        assert!(error.to_string().contains(&holder), "{error}");
    }

    #[test]
    fn a_damaged_record_costs_itself_and_is_kept_for_people() {
        let home = tempfile::tempdir().unwrap();
        let (spool, _) = Spool::open(home.path()).unwrap();
        let (first, second) = (add(&spool), add(&spool));
        spool.journal(&first, BootId::of(b"a")).unwrap().0.append(&[written()]).unwrap();
        drop(spool);
        fs::write(home.path().join("00000001.job"), b"bergamot-job 1 0000").unwrap();
        fs::write(home.path().join("00000009.job.draft"), b"half").unwrap();
        let (spool, found) = Spool::open(home.path()).unwrap();
        assert_eq!(found.records, [Box::new(second)]);
        let aside: Vec<_> = found.set_aside.iter().map(|(path, _)| path.clone()).collect();
        assert_eq!(aside, [home.path().join("00000001.job.damaged")]);
        assert_eq!(found.to_rebuild, [JobId(1)], "its NZB and its journal stay");
        assert!(!home.path().join("00000009.job.draft").exists());
        assert!(spool.next_id() > JobId(9), "no number is given again");
        let (_, found) = Spool::open_in(Arc::new(Folder::open(home.path()).unwrap())).unwrap();
        assert!(found.set_aside.is_empty(), "and that is told once: {:?}", found.set_aside);
        spool.set_nzb_aside(JobId(1), String::new());
        let (_, found) = Spool::open_in(Arc::new(Folder::open(home.path()).unwrap())).unwrap();
        let aside: Vec<_> = found.set_aside.iter().map(|(path, _)| path.clone()).collect();
        assert_eq!(aside, [home.path().join("00000001.journal.orphan")]);
    }

    #[test]
    fn nothing_new_is_taken_while_something_else_cannot_be_written() {
        let home = tempfile::tempdir().unwrap();
        let (spool, _) = Spool::open(home.path()).unwrap();
        let first = add(&spool);
        spool.set_unwritable(Some("state.io: the journal".to_owned()));
        let new = record(spool.next_id());
        let refused = spool.add(&new, &mut &b"<nzb/>"[..]).unwrap_err();
        assert_eq!(refused.code(), "state.unwritable");
        assert!(refused.to_string().contains("state.io: the journal"), "{refused}");
        assert!(spool.put_nzb(first.id, &mut &b"<nzb/>"[..]).is_err());
        assert!(spool.try_room(new.id, 1).is_err());
        spool.update(&failed(first)).unwrap();
        spool.set_unwritable(None);
        spool.add(&new, &mut &b"<nzb/>"[..]).unwrap();
    }

    #[test]
    fn the_same_articles_are_known_unless_they_failed() {
        let home = tempfile::tempdir().unwrap();
        let (spool, _) = Spool::open(home.path()).unwrap();
        let record = add(&spool);
        let print = record.fingerprint;
        assert_eq!(spool.same_articles(print), Some((record.id, "1.nzb".into())));
        let again = Record { id: spool.next_id(), source: "2.nzb".into(), ..record.clone() };
        spool.add(&again, &mut &b""[..]).unwrap();
        assert_eq!(spool.same_articles(print), Some((again.id, "2.nzb".into())));
        spool.update(&failed(again)).unwrap();
        assert_eq!(spool.same_articles(print), Some((record.id, "1.nzb".into())));
        spool.remove(&[record.id]).unwrap();
        assert_eq!(spool.same_articles(print), None);
    }

    #[test]
    fn of_two_records_of_one_job_the_later_holds() {
        let home = tempfile::tempdir().unwrap();
        let (spool, _) = Spool::open(home.path()).unwrap();
        let (mut earlier, mut later) = (add(&spool), record(JobId(1)));
        (earlier.rank, later.rank) = (3, 4);
        assert!(spool.update_all(&[&earlier, &later]).is_empty());
        drop(spool);
        let (_, found) = Spool::open(home.path()).unwrap();
        assert_eq!(found.records, [Box::new(later)]);
    }

    #[test]
    fn a_spool_of_a_newer_bergamot_is_refused_and_left_as_it_is() {
        let home = tempfile::tempdir().unwrap();
        let (spool, _) = Spool::open(home.path()).unwrap();
        add(&spool);
        drop(spool);
        let newer = crate::disk::checksummed::seal("bergamot-job", 4, "whatever");
        fs::write(home.path().join("00000002.job"), newer).unwrap();
        fs::write(home.path().join("00000003.job"), "damaged").unwrap();
        fs::write(home.path().join("00000004.nzb.draft"), "half").unwrap();
        let before = names(home.path());
        let error = Spool::open(home.path()).unwrap_err();
        assert_eq!(error.code(), "state.newer");
        let path = home.path().join("00000002.job");
        let expected = "was written by a newer bergamot (version 4; this one knows 3)";
        assert_eq!(error.to_string(), format!("{} {expected}", path.display()));
        assert_eq!(names(home.path()), before);
    }

    #[test]
    fn a_job_that_is_part_of_another_is_known_by_its_articles_and_goes_with_it() {
        let home = tempfile::tempdir().unwrap();
        let (spool, _) = Spool::open(home.path()).unwrap();
        let (mut whole, part) = (add(&spool), add(&spool));
        whole.join(&part, 1, 1);
        spool.update(&whole).unwrap();
        drop(spool);
        let (spool, found) = Spool::open(home.path()).unwrap();
        assert_eq!(
            (found.records, found.joined),
            (vec![Box::new(whole.clone())], vec![part.clone()])
        );
        spool.remove(&[part.id]).unwrap();
        assert!(spool.is_part(part.id) && spool.nzb(part.id).is_ok());
        assert_eq!(spool.same_articles(part.fingerprint).unwrap().0, whole.id);
        drop(spool);
        let (spool, found) = Spool::open(home.path()).unwrap();
        assert!(found.joined.is_empty() && found.set_aside.is_empty(), "{found:?}");
        spool.remove(&[whole.id]).unwrap();
        assert!(spool.nzb(part.id).is_err() && spool.same_articles(part.fingerprint).is_none());
        drop(spool);
        let (spool, found) = Spool::open(home.path()).unwrap();
        assert!(found.records.is_empty() && found.set_aside.is_empty(), "{found:?}");
        assert_eq!((spool.last_id(), spool.next_id()), (JobId(2), JobId(3)));
    }

    #[test]
    fn a_record_that_the_disk_gives_another_time_keeps_what_is_part_of_its_job() {
        let home = tempfile::tempdir().unwrap();
        let (spool, _) = Spool::open(home.path()).unwrap();
        let (mut whole, part) = (add(&spool), add(&spool));
        whole.join(&part, 1, 1);
        spool.update(&whole).unwrap();
        spool.remove(&[part.id]).unwrap();
        drop(spool);
        let (record, aside) = (home.path().join("00000001.job"), home.path().join("aside"));
        fs::rename(&record, &aside).unwrap();
        fs::write(&record, vec![b' '; 5 << 20]).unwrap(); // far too long, so it is not read at all
        let (spool, found) = Spool::open(home.path()).unwrap();
        assert!(found.records.is_empty() && found.set_aside.len() == 1, "{found:?}");
        drop(spool);
        fs::rename(&aside, &record).unwrap();
        let (spool, found) = Spool::open(home.path()).unwrap();
        assert_eq!(found.records, [Box::new(whole)]);
        assert!(found.without_nzb.is_empty() && spool.nzb(part.id).is_ok());
    }

    #[test]
    fn what_is_removed_leaves_nothing_but_its_number() {
        let home = tempfile::tempdir().unwrap();
        let (spool, _) = Spool::open(home.path()).unwrap();
        let jobs = [add(&spool), add(&spool), add(&spool)];
        spool.journal(&jobs[2], BootId::of(b"a")).unwrap().0.append(&[written()]).unwrap();
        spool.remove(&[JobId(1), JobId(3)]).unwrap();
        let left = ["00000002.job", "00000002.nzb", "00000003.last", "lock", "reserve"];
        assert_eq!(names(home.path()), left);
        drop(spool);
        let (spool, found) = Spool::open(home.path()).unwrap();
        assert_eq!((found.records.len(), spool.next_id()), (1, JobId(4)));
        add(&spool);
        drop(spool);
        let (_, found) = Spool::open(home.path()).unwrap();
        assert!(found.set_aside.is_empty());
        assert!(!home.path().join("00000003.last").exists(), "a higher one is there");
    }

    #[test]
    fn a_removal_that_was_begun_is_finished_at_the_next_start() {
        for left in [&["nzb", "journal"][..], &["journal"], &[]] {
            let home = tempfile::tempdir().unwrap();
            let (spool, _) = Spool::open(home.path()).unwrap();
            let (mut whole, part, other) = (add(&spool), add(&spool), add(&spool));
            spool.journal(&whole, BootId::of(b"a")).unwrap().0.append(&[written()]).unwrap();
            whole.join(&part, 1, 1);
            spool.update(&whole).unwrap();
            spool.remove(&[part.id]).unwrap();
            drop(spool);
            let path = |extension: &str| home.path().join(format!("00000001.{extension}"));
            fs::rename(path("job"), path("gone")).unwrap();
            for extension in ["nzb", "journal"].iter().filter(|it| !left.contains(it)) {
                fs::remove_file(path(extension)).unwrap();
            }
            let (spool, found) = Spool::open(home.path()).unwrap();
            assert_eq!(found.records, [Box::new(other)]);
            assert!(found.set_aside.is_empty() && found.without_nzb.is_empty(), "{found:?}");
            let left = ["00000003.job", "00000003.nzb", "lock", "reserve"];
            assert_eq!(names(home.path()), left);
            assert_eq!(spool.next_id(), JobId(4));
        }
    }

    #[test]
    fn a_job_that_was_in_hand_when_two_daemons_died_is_suspect() {
        let home = tempfile::tempdir().unwrap();
        let (spool, _) = Spool::open(home.path()).unwrap();
        let (bad, good) = (add(&spool).id, add(&spool).id);
        spool.begin(good, None).unwrap();
        spool.begin(bad, None).unwrap();
        drop(spool);
        let (spool, found) = Spool::open(home.path()).unwrap();
        assert_eq!((found.records[0].starts, found.suspects), (1, vec![]));
        spool.begin(good, None).unwrap();
        spool.begin(bad, Some(good)).unwrap();
        drop(spool);
        let (spool, found) = Spool::open(home.path()).unwrap();
        assert_eq!(found.suspects, [bad]);
        assert_eq!(found.records.iter().map(|record| record.starts).collect::<Vec<_>>(), [2, 0]);
        spool.ended(bad).unwrap();
        drop(spool);
        let (_, found) = Spool::open(home.path()).unwrap();
        assert!(found.suspects.is_empty());
    }

    #[test]
    fn jobs_without_an_nzb_and_nzbs_without_a_job_are_told_of() {
        let home = tempfile::tempdir().unwrap();
        let (spool, _) = Spool::open(home.path()).unwrap();
        let (queued, ended) = (add(&spool), add(&spool));
        spool.update(&failed(ended)).unwrap();
        drop(spool);
        fs::remove_file(home.path().join("00000001.nzb")).unwrap();
        fs::remove_file(home.path().join("00000002.nzb")).unwrap();
        fs::write(home.path().join("00000007.nzb"), "<nzb/>").unwrap();
        fs::create_dir(home.path().join("00000008.job")).unwrap();
        fs::write(home.path().join("letter.txt"), "a stranger's").unwrap();
        let (spool, found) = Spool::open(home.path()).unwrap();
        assert_eq!((found.without_nzb, found.records.len()), (vec![queued.id], 2));
        assert_eq!(found.set_aside.len(), 1);
        assert_eq!(found.set_aside[0].0, home.path().join("00000007.nzb.orphan"));
        assert_eq!(spool.nzb(queued.id).err().unwrap().code(), "state.io");
        assert_eq!(spool.next_sequence(), 6);
    }

    #[test]
    fn an_nzb_that_cannot_be_read_is_not_accepted_and_holds_up_no_other() {
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::from_raw_os_error(28))
            }
        }
        let home = tempfile::tempdir().unwrap();
        let (spool, _) = Spool::open(home.path()).unwrap();
        let records = [record(spool.next_id()), record(spool.next_id())];
        let mut additions = [
            Addition { record: &records[0], nzb: &mut Broken },
            Addition { record: &records[1], nzb: &mut &b"<nzb/>"[..] },
        ];
        let results = spool.add_all(&mut additions);
        assert_eq!(results[0].as_ref().unwrap_err().code(), "state.full");
        assert!(results[1].is_ok());
        assert_eq!(names(home.path()), ["00000002.job", "00000002.nzb", "lock", "reserve"]);
        assert_eq!(spool.same_articles(records[0].fingerprint), None);
    }

    #[test]
    fn room_is_tried_without_filling_it() {
        let home = tempfile::tempdir().unwrap();
        let (spool, _) = Spool::open(home.path()).unwrap();
        let before = names(home.path());
        let refused = spool.try_room(JobId(1), u64::MAX >> 1).unwrap_err();
        assert_eq!(refused.code(), "state.full");
        spool.try_room(JobId(1), 1 << 20).unwrap();
        assert_eq!(names(home.path()), before, "nothing of it is left");
    }

    #[test]
    fn where_nothing_can_be_written_jobs_can_still_be_seen() {
        let home = tempfile::tempdir().unwrap();
        let (spool, _) = Spool::open(home.path()).unwrap();
        add(&spool);
        drop(spool);
        fs::remove_file(home.path().join("lock")).unwrap();
        fs::set_permissions(home.path(), fs::Permissions::from_mode(0o500)).unwrap();
        let opened = Spool::open(home.path());
        let added = opened
            .as_ref()
            .ok()
            .map(|(spool, _)| spool.add(&record(spool.next_id()), &mut &b""[..]));
        fs::set_permissions(home.path(), fs::Permissions::from_mode(0o700)).unwrap();
        let (_, found) = opened.unwrap();
        assert_eq!(found.records.len(), 1);
        // Root may write everywhere.
        if let Some(why) = found.read_only {
            assert!(why.starts_with("state.read_only: "), "{why}");
            assert_eq!(added.unwrap().unwrap_err().code(), "state.read_only");
        }
    }

    fn written() -> Entry {
        Entry::Written { file: 0, segment: 0, part: bergamot_queue::Part::default() }
    }
}
