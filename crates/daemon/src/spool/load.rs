//! [`Loader`]: finds what a job needs before it can be downloaded: its NZB, its journal and its directory. Runs in the
//! record thread.
//!
//! That is found for one job after the other. What has to be on the disk before any of them begins,
//! new directories and records that name them, is brought there for many together, by the record thread.

use std::collections::HashSet;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use bergamot_jobs::{Check, Outcome, Record};
use bergamot_nzb::Nzb;
use bergamot_queue::Ending;
use bergamot_store::{BootId, Journal, Replay, Spool, StoreError};
use bergamot_types::{JobId, SafeName};
use bergamot_writer::{Compared, DiskError, JobDir, Root};

use crate::clock;
use crate::disk::directories::Opened;
use crate::intake::nzb_to_job::read_nzb;
use crate::spool::load_error::LoadError;
use crate::spool::resume::{Lying, Recovered, RecoveredFile, recover};

/// A job out of the spool.
#[derive(Debug)]
pub(crate) enum Loaded {
    /// It had reached its destination when the daemon was killed, and only the record had not.
    Done(Box<Record>),
    /// It never will be, and that is on record.
    Failed(Box<Record>),
    /// There is not enough free space for it, or its volume is not mounted.
    Held {
        why: String,
    },
    Ready(Box<Ready>),
    /// The disk has to come back first.
    Waits {
        why: String,
    },
}

/// A job that can be downloaded: its NZB, its directory, and where it will go.
#[derive(Debug)]
pub(crate) struct Ready {
    pub(crate) record: Record,
    pub(crate) nzb: Nzb,
    pub(crate) directory: Arc<JobDir>,
    pub(crate) destination: Arc<Root>,
    pub(crate) recovered: Recovered,
    pub(crate) journal: Journal,
}

/// A job of which all is known, though the disk may not have all of that yet.
pub(crate) struct Prepared {
    /// Of the attempt to load it.
    pub(crate) number: u64,
    pub(crate) record: Box<Record>,
    found: Result<Found, LoadError>,
}

enum Found {
    /// What the last daemon had no time to put on record.
    AtDestination(Opened),
    /// Its directory is new, and its record has to name it.
    Begun(Box<Taken>),
    Resumed(Box<Taken>),
}

struct Taken {
    nzb: Nzb,
    directory: JobDir,
    destination: Root,
    recovered: Recovered,
    /// Files that have their names and are not whole.
    unfinished: Vec<(u32, String)>,
    journal: Journal,
}

impl Taken {
    fn settle(&mut self) -> Result<(), LoadError> {
        self.journal.append(&std::mem::take(&mut self.recovered.corrections))?;
        for (index, name) in std::mem::take(&mut self.unfinished) {
            self.directory.unfinish(index, &name)?;
        }
        let known: Vec<_> = self.recovered.finished.iter().map(|it| &*it.file.name).collect();
        self.directory.remove_all_but(&known)?;
        for RecoveredFile { file, status, .. } in &self.recovered.finished {
            self.directory.expect_finished(file.index, &file.name, *status);
        }
        Ok(())
    }
}

impl Taken {
    fn read_suspects(&mut self, job: JobId) -> Result<(), DiskError> {
        let suspects = std::mem::take(&mut self.recovered.suspects);
        tracing::info!(
            %job, files = suspects.len(),
            "reads files that are not those of the last run, or not as long"
        );
        // Elsewhere a file that was taken for another one has been one.
        let mut is_proven =
            self.directory.renumbers_inodes() && self.recovered.corrections.is_empty();
        for mut suspect in suspects {
            let sums = suspect.sums();
            let Compared { agrees, status } = match &suspect.name {
                Some(name) => self.directory.compare_finished(name, &sums)?,
                None => self.directory.compare_part(suspect.index, &sums)?,
            };
            // Where inode numbers change it may have had another one before it was read.
            suspect.status = status.unwrap_or(suspect.status);
            let (index, name) = (suspect.index, suspect.name.clone());
            let differ = agrees.iter().filter(|agrees| !**agrees).count();
            if differ > 0 {
                is_proven = false;
                tracing::warn!(
                    %job, file = index, articles = differ,
                    "file.changed: some of it is fetched again"
                );
            }
            let is_unfinished = self.recovered.note_read(suspect, &agrees);
            self.unfinished.extend(name.filter(|_| is_unfinished).map(|name| (index, name)));
        }
        self.recovered.is_proven = is_proven;
        Ok(())
    }
}

impl Prepared {
    /// Files of it have to be read before it is known what can be gone on with.
    pub(crate) fn has_suspects(&self) -> bool {
        matches!(&self.found, Ok(Found::Resumed(taken)) if !taken.recovered.suspects.is_empty())
    }

    /// Reads them, which may take long. If one cannot be read, its content is unknown: the job waits and is loaded
    /// again, and its journal stays as it was.
    pub(crate) fn read_suspects(&mut self) {
        let Ok(Found::Resumed(taken)) = &mut self.found else { return };
        if let Err(error) = taken.read_suspects(self.record.id) {
            tracing::warn!(job = %self.record.id, code = error.code(), "{error}");
            self.found = Err(LoadError::of_read(error));
        }
    }

    /// Takes back what the journal claims and does not hold, before anything is written again.
    fn settle(&mut self) {
        let Ok(Found::Resumed(taken)) = &mut self.found else { return };
        if let Err(error) = taken.settle() {
            self.found = Err(error);
        }
    }

    /// Where a directory was made for it that may not be on the disk.
    pub(crate) fn new_ground(&self) -> Option<&Root> {
        match &self.found {
            Ok(Found::Begun(taken)) => Some(taken.directory.root()),
            _ => None,
        }
    }

    /// The name of a directory that was made for it.
    pub(crate) fn new_directory(&self) -> Option<&SafeName> {
        match &self.found {
            Ok(Found::Begun(taken)) => Some(taken.directory.name()),
            _ => None,
        }
    }

    /// Its record, if the disk has an older one.
    pub(crate) fn unwritten(&self) -> Option<&Record> {
        match &self.found {
            Ok(Found::AtDestination(_) | Found::Begun(_)) => Some(&self.record),
            Ok(Found::Resumed(_)) | Err(_) => None,
        }
    }

    /// A directory that was just made for it goes again: it gets another one next time.
    pub(crate) fn fail(&mut self, error: LoadError) {
        if let Ok(Found::Begun(taken)) = &self.found
            && let Err(error) = taken.directory.discard()
        {
            tracing::debug!(job = %self.record.id, "its new directory stays: {error}");
        }
        self.found = Err(error);
    }
}

pub(crate) struct Loader {
    spool: Arc<Spool>,
    boot: BootId,
    /// Names of directories that jobs had when the daemon began, or were given since.
    known: Mutex<HashSet<Box<str>>>,
}

impl Loader {
    pub(crate) fn new(spool: Arc<Spool>, known: HashSet<Box<str>>) -> Self {
        Self { spool, boot: BootId::read(), known: Mutex::new(known) }
    }

    pub(crate) fn prepare(
        &self,
        number: u64,
        mut record: Box<Record>,
        opened: Result<Opened, LoadError>,
    ) -> Prepared {
        let found = opened.and_then(|opened| self.find(&mut record, opened));
        Prepared { number, record, found }
    }

    /// Once the disk has what it has to.
    pub(crate) fn finish(&self, mut prepared: Prepared) -> Loaded {
        prepared.settle();
        let Prepared { mut record, found, .. } = prepared;
        match found {
            Ok(Found::AtDestination(Opened { incomplete, destination })) => {
                clear_up(&record, &incomplete, &destination);
                Loaded::Done(record)
            }
            Ok(Found::Begun(taken) | Found::Resumed(taken)) => {
                let Taken { nzb, directory, destination, recovered, journal, .. } = *taken;
                let (directory, destination) = (Arc::new(directory), Arc::new(destination));
                let is_there = |index| recovered.finished.iter().any(|it| it.file.index == index);
                record.finished.retain(|file| is_there(file.index));
                let record = *record;
                let ready = Ready { record, nzb, directory, destination, recovered, journal };
                Loaded::Ready(Box::new(ready))
            }
            Err(LoadError::Disk(why)) => Loaded::Held { why },
            Err(LoadError::Passing(why)) => Loaded::Waits { why },
            Err(LoadError::Lasting(cause, why)) => {
                let mut failed = record.clone();
                failed.end(self.outcome(Ending::Failed(cause), &why));
                match self.spool.update(&failed) {
                    Ok(()) => Loaded::Failed(failed),
                    Err(error) => Loaded::Waits { why: format!("{}: {error}", error.code()) },
                }
            }
        }
    }

    fn outcome(&self, ending: Ending, reason: &str) -> Outcome {
        let sequence = self.spool.next_sequence();
        Outcome { sequence, ..Outcome::new(ending, clock::now().date, reason) }
    }

    fn find(&self, record: &mut Record, opened: Opened) -> Result<Found, LoadError> {
        let nzb = read_nzb(&self.spool, record)?;
        let (journal, replay) = self.journal(record)?;
        let Opened { incomplete, destination } = &opened;
        let Some(directory) = self.reopen(record, &replay, incomplete, destination)? else {
            return Ok(Found::AtDestination(opened));
        };
        let Some(directory) = directory else {
            // What the journal speaks of was in a directory that is gone.
            drop(journal);
            self.spool.drop_journal(record.id)?;
            let (journal, _) = self.journal(record)?;
            let directory = self.make_directory(incomplete, &SafeName::from_raw(&record.name))?;
            record.directory = Some(directory.name().as_str().into());
            record.finished.clear();
            let (recovered, destination) = (Recovered::default(), opened.destination);
            let unfinished = Vec::new();
            let taken = Taken { nzb, directory, destination, recovered, unfinished, journal };
            return Ok(Found::Begun(Box::new(taken)));
        };
        let recovered = recover(&nzb, replay, &record.finished, &lying(&directory)?);
        let (destination, unfinished) = (opened.destination, Vec::new());
        let taken = Taken { nzb, directory, destination, recovered, unfinished, journal };
        Ok(Found::Resumed(Box::new(taken)))
    }

    /// A daemon that died before it could put on record what it made has left an empty directory.
    fn make_directory(&self, incomplete: &Root, wanted: &SafeName) -> Result<JobDir, DiskError> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if !known.contains(wanted.as_str()) {
            incomplete.remove_if_empty(wanted)?;
        }
        let directory = incomplete.job_dir(wanted)?;
        known.insert(directory.name().as_str().into());
        Ok(directory)
    }

    fn journal(&self, record: &Record) -> Result<(Journal, Replay), StoreError> {
        let (journal, replay) = self.spool.journal(record, self.boot)?;
        let job = record.id;
        if let Some(told) = &replay.set_aside {
            tracing::warn!(%job, "its journal was set aside: {told}");
        }
        if replay.damaged > 0 {
            tracing::warn!(%job, frames = replay.damaged, "its journal is damaged: some is fetched again");
        }
        Ok((journal, replay))
    }

    /// The directory that the job had, if it is there. None at all if the job has left it for its
    /// destination.
    fn reopen(
        &self,
        record: &mut Record,
        replay: &Replay,
        incomplete: &Root,
        destination: &Root,
    ) -> Result<Option<Option<JobDir>>, DiskError> {
        let Some(name) = record.directory.as_deref().and_then(SafeName::recorded) else {
            return Ok(Some(None));
        };
        let (directory, moved) = match incomplete.reopen(&name) {
            Ok(directory) => {
                let older = record.finished.iter().map(|file| &file.name);
                let newer = replay.finished.values().map(|file| &file.name);
                let finished: Vec<_> = older.chain(newer).map(String::as_str).collect();
                let moved = directory.resume_move(destination, record.id, &finished)?;
                (Some(directory), moved)
            }
            Err(DiskError::Vanished { .. }) => (None, destination.moved(incomplete, record.id)?),
            Err(error) => return Err(error),
        };
        let Some(moved) = moved else { return Ok(Some(directory)) };
        let (older, newer) = (&record.finished, replay.finished.values());
        let is_known = !older.is_empty() || newer.len() > 0;
        let verified = is_known
            && older.iter().all(|file| file.verified)
            && newer.clone().all(|file| file.verified);
        let read_back = older.is_empty() && newer.clone().all(|file| file.read_back);
        let check = Check::of(verified, read_back);
        let mut outcome = self.outcome(Ending::Completed { verified }, "");
        outcome.check = Some(check);
        outcome.destination = Some(path_of(destination, &moved));
        record.directory = None;
        record.end(outcome);
        Ok(None)
    }
}

/// Takes the writer's mark away, as the daemon had no time to. The job is on record as complete:
/// what cannot be taken away is no reason to try it again.
pub(crate) fn clear_up(record: &Record, incomplete: &Root, destination: &Root) -> bool {
    let path = record.destination().map(Path::new);
    let name = path.and_then(|path| path.file_name()?.to_str()).and_then(SafeName::recorded);
    let settled = name.map_or(Ok(()), |name| destination.settle(&name, incomplete, record.id));
    if let Err(error) = &settled {
        tracing::warn!(code = error.code(), "{error}");
    }
    settled.is_ok()
}

fn lying(directory: &JobDir) -> Result<Lying, DiskError> {
    let parts = directory.parts()?.into_iter();
    let named = directory.finished()?.into_iter().filter_map(|(name, status)| {
        // Hidden files are marks of the daemon; names that are not UTF-8 are not from the daemon.
        let name = name.into_string().ok().filter(|name| !name.starts_with('.'))?;
        Some((name, status))
    });
    Ok(Lying { parts: parts.collect(), named: named.collect() })
}

pub(crate) fn path_of(root: &Root, name: &SafeName) -> String {
    root.path().join(name.as_str()).to_string_lossy().into_owned()
}
