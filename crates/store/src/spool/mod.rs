//! [`Spool`]: the directory of all jobs; owns their NZBs, records and journals, locked for one daemon.

pub(crate) mod checksummed_nzb;
pub(crate) mod crash_guard;
mod index;
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
use crate::spool::index::Index;
use crate::spool::name::{GONE, JOURNAL, LAST, NZB, RECORD, name};
use crate::spool::opening::{look_through, rename_aside};
use bergamot_jobs::Fingerprint;
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
    /// The state directory, which has a reserve file of its own.
    beside: Option<PathBuf>,
    /// Why nothing new is taken.
    unwritable: Mutex<Option<String>>,
    _lock: Option<Lock>,
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
mod tests;
