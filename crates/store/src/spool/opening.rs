//! The scan of a spool at the start: reads records, removes leftovers, sets damaged files aside.
//!
//! First everything is read, and only then anything changed: a spool of a newer bergamot is left as it is.
//! Files that cannot be used are set aside for the user; they never prevent a start.

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

use bergamot_queue::Ending;
use bergamot_types::JobId;

use crate::disk::checksummed::Unsealed;
use crate::disk::commit::commit;
use crate::disk::directory::Directory;
use crate::disk::durable::{DRAFT, at};
use crate::error::StoreError;
use crate::record_file::{VERSION, decode};
use crate::spool::name::{GONE, JOURNAL, LAST, NZB, RECORD, name, parse};
use crate::spool::{SpoolContents, record_draft};
use bergamot_jobs::{Record, Records, Undone, put_right};

/// With the highest number that was ever given to a job.
pub(crate) fn look_through(
    directory: &Arc<dyn Directory>,
) -> Result<(SpoolContents, u32), StoreError> {
    let listing = Listing::read(&**directory)?;
    let mut found = SpoolContents::default();
    let (records, flaws) = read_all(directory, &listing.with(RECORD));
    for (job, flaw) in &flaws {
        if let Flaw::Newer(version) = *flaw {
            let path = directory.path().join(name(*job, RECORD));
            return Err(StoreError::Newer { path, version, known: VERSION });
        }
    }
    found.records = records;
    found.records.sort_by_key(|record| record.id);
    let nzbs: HashSet<_> = listing.with(NZB).into_iter().collect();
    let undone = put_right(&mut found.records, |job| nzbs.contains(&job));
    let lacks_nzb = |record: &Record| record.nzbs().iter().any(|job| !nzbs.contains(job));
    let queued = found.records.iter().filter(|record| !record.life.is_ended());
    found.without_nzb = queued.filter(|record| lacks_nzb(record)).map(|record| record.id).collect();
    let journals: HashSet<_> = listing.with(JOURNAL).into_iter().collect();
    let is_completed = |record: &Record| matches!(record.ending(), Some(Ending::Completed { .. }));
    let completed =
        found.records.iter().filter(|record| is_completed(record)).map(|record| record.id);
    found.unsettled = completed.filter(|job| journals.contains(job)).collect();
    put_in_order(&**directory, &listing, flaws, &undone, &mut found);
    finish(&**directory, undone, &mut found);
    Ok((found, listing.last_id))
}

/// Does what a sudden end has left undone between jobs.
fn finish(directory: &dyn Directory, undone: Undone, found: &mut SpoolContents) {
    for job in undone.unborn {
        // What cannot be removed is found once more, and is as little a job then.
        let _ = directory.remove(&name(job, RECORD));
    }
    let changed = found.records.iter().filter(|record| undone.changed.contains(&record.id));
    // What cannot be written is found once more at the next start.
    drop(commit(directory, changed.map(|record| vec![record_draft(record)]).collect()));
    found.joined = undone.joined;
}

/// Why a record cannot be used.
enum Flaw {
    Damaged(String),
    Newer(u32),
    /// The disk may give it another time.
    Unreadable(String),
}

/// Names of files, by what they are.
#[derive(Default)]
struct Listing {
    files: BTreeMap<String, Vec<JobId>>,
    drafts: Vec<String>,
    last_id: u32,
}

impl Listing {
    fn read(directory: &dyn Directory) -> Result<Self, StoreError> {
        let mut listing = Self::default();
        directory.names(&mut |name| listing.note(name)).map_err(at(directory.path()))?;
        Ok(listing)
    }

    fn note(&mut self, name: &str) {
        let parsed = parse(name);
        self.last_id = parsed.map_or(0, |(job, _)| job.0).max(self.last_id);
        if name.strip_suffix(DRAFT).is_some_and(|rest| rest.ends_with('.')) {
            self.drafts.push(name.to_owned());
        } else if let Some((job, extension)) = parsed {
            match self.files.get_mut(extension) {
                Some(jobs) => jobs.push(job),
                None => drop(self.files.insert(extension.to_owned(), vec![job])),
            }
        }
    }

    fn with(&self, extension: &str) -> Vec<JobId> {
        self.files.get(extension).cloned().unwrap_or_default()
    }
}

type Read = (Records, Vec<(JobId, Flaw)>);

/// Reading is mostly waiting for the kernel, which several processors can do.
fn read_all(directory: &Arc<dyn Directory>, jobs: &[JobId]) -> Read {
    let threads = thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS);
    let share = jobs.len().div_ceil(threads).max(LEAST_SHARE);
    let (mut records, mut flaws) = (Vec::with_capacity(jobs.len()), Vec::new());
    thread::scope(|scope| {
        let spawn = |some| {
            let work = move || read_some(&**directory, some);
            (some, thread::Builder::new().spawn_scoped(scope, work))
        };
        let workers: Vec<_> = jobs.chunks(share).map(spawn).collect();
        for (share, worker) in workers {
            let (mut some, mut flawed) = match worker {
                Ok(worker) => worker.join().expect("reading does not panic"),
                // Where the kernel gives no more threads, this one does it.
                Err(_) => read_some(&**directory, share),
            };
            records.append(&mut some);
            flaws.append(&mut flawed);
        }
    });
    (records, flaws)
}

fn read_some(directory: &dyn Directory, jobs: &[JobId]) -> Read {
    let (mut records, mut flaws) = (Vec::with_capacity(jobs.len()), Vec::new());
    let (mut buffer, mut texts) = (Vec::new(), SharedTexts::default());
    for job in jobs {
        match read(directory, *job, &mut buffer) {
            Ok(mut record) => {
                texts.share_in(&mut record);
                records.push(Box::new(record));
            }
            Err(flaw) => flaws.push((*job, flaw)),
        }
    }
    (records, flaws)
}

fn read(directory: &dyn Directory, job: JobId, buffer: &mut Vec<u8>) -> Result<Record, Flaw> {
    let read = directory.read_into(buffer, &name(job, RECORD), MOST_BYTES);
    read.map_err(|error| Flaw::Unreadable(error.to_string()))?;
    match decode(buffer) {
        Ok(record) if record.id == job => Ok(record),
        Ok(record) => Err(Flaw::Damaged(format!("it is the record of job {}", record.id))),
        Err(Unsealed::Newer(version)) => Err(Flaw::Newer(version)),
        Err(error) => Err(Flaw::Damaged(error.to_string())),
    }
}

/// Most jobs have one of a few categories and sources, and parameters of the same names.
#[derive(Default)]
struct SharedTexts(HashSet<Arc<str>>);

impl SharedTexts {
    fn share_in(&mut self, record: &mut Record) {
        let parameters = record.parameters.names_mut();
        record.category.iter_mut().chain(parameters).for_each(|text| self.share(text));
        // What names a file is its own; what names a client is short.
        if record.source.len() <= SHORT {
            self.share(&mut record.source);
        }
    }

    fn share(&mut self, text: &mut Arc<str>) {
        match self.0.get(text) {
            Some(shared) => *text = shared.clone(),
            None => drop(self.0.insert(text.clone())),
        }
    }
}

fn put_in_order(
    directory: &dyn Directory,
    listing: &Listing,
    flaws: Vec<(JobId, Flaw)>,
    undone: &Undone,
    found: &mut SpoolContents,
) {
    let mut records: HashSet<_> = listing.with(RECORD).into_iter().collect();
    // An NZB may be part of a job whose record the disk gives another time.
    let is_unreadable = |flaw: &Flaw| matches!(flaw, Flaw::Unreadable(_));
    let all_are_known = !flaws.iter().any(|(_, flaw)| is_unreadable(flaw));
    let set_aside = &mut found.set_aside;
    let mut damaged = Vec::new();
    for draft in &listing.drafts {
        // Never published, so never acknowledged. What cannot be removed is overwritten.
        let _ = directory.remove(draft);
    }
    for (job, flaw) in flaws {
        let file = name(job, RECORD);
        match flaw {
            Flaw::Damaged(why) => {
                records.remove(&job);
                damaged.push(job);
                set_aside.push(rename_aside(directory, &file, "damaged", why));
            }
            Flaw::Newer(_) => {}
            Flaw::Unreadable(why) => {
                set_aside.push((directory.path().join(&file), format!("cannot be read: {why}")));
            }
        }
    }
    // The record was set aside now, or by a daemon that ended before it could write another.
    let nzbs: HashSet<_> = listing.with(NZB).into_iter().collect();
    let set_aside_before = listing.with(DAMAGED_RECORD).into_iter();
    let mut to_rebuild: Vec<_> = damaged.into_iter().chain(set_aside_before).collect();
    to_rebuild.retain(|job| nzbs.contains(job) && !records.contains(job));
    to_rebuild.sort_unstable();
    to_rebuild.dedup();
    let joined: HashSet<_> =
        found.records.iter().flat_map(|record| record.joined()).map(|joined| joined.job).collect();
    let is_part = |kind: &str, job: &JobId| kind == NZB && (joined.contains(job) || !all_are_known);
    to_rebuild.retain(|job| !joined.contains(job));
    records.extend(&to_rebuild);
    found.to_rebuild = to_rebuild;
    let removed = finish_removals(directory, listing, &records, &is_part);
    for (kind, what) in [(NZB, "NZB"), (JOURNAL, "journal")] {
        let is_left = |job: &JobId| !records.contains(job) && !removed.contains(job);
        let ownerless = listing.with(kind).into_iter().filter(is_left);
        for job in ownerless.filter(|job| !is_part(kind, job)) {
            let why = format!("there is no record for this {what}");
            set_aside.push(rename_aside(directory, &name(job, kind), "orphan", why));
        }
    }
    // Drafts and jobs that were never to be go now, and their numbers with them.
    let stays = |job: &&JobId| !undone.unborn.contains(job);
    let names_that_stay = listing.files.iter().filter(|(extension, _)| *extension != GONE);
    let highest = names_that_stay.flat_map(|(_, jobs)| jobs).filter(stays).max().copied();
    for job in listing.with(LAST).iter().filter(|job| Some(**job) < highest) {
        // A higher number is there to see: this one is not needed any more.
        let _ = directory.remove(&name(*job, LAST));
    }
}

/// Removes what is left of jobs that were being removed, and of those that were part of them; these are
/// returned. What cannot be removed is found once more at the next start.
fn finish_removals(
    directory: &dyn Directory,
    listing: &Listing,
    records: &HashSet<JobId>,
    is_part: &dyn Fn(&str, &JobId) -> bool,
) -> HashSet<JobId> {
    let mut removed = HashSet::new();
    let mut buffer = Vec::new();
    for job in listing.with(GONE) {
        let file = name(job, GONE);
        let read = directory.read_into(&mut buffer, &file, MOST_BYTES);
        let record = read.ok().and_then(|_| decode(&buffer).ok());
        let parts = record.iter().flat_map(|record| record.joined()).map(|joined| joined.job);
        let all: Vec<_> = parts.chain([job]).filter(|job| !records.contains(job)).collect();
        for &job in &all {
            let _ = directory.remove(&name(job, JOURNAL));
            if !is_part(NZB, &job) {
                let _ = directory.remove(&name(job, NZB));
            }
        }
        let _ = directory.remove(&file);
        removed.extend(all);
    }
    removed
}

pub(crate) fn rename_aside(
    directory: &dyn Directory,
    file: &str,
    mark: &str,
    why: String,
) -> (PathBuf, String) {
    let aside = format!("{file}.{mark}");
    match directory.rename(file, &aside) {
        Ok(()) => (directory.path().join(aside), why),
        Err(error) => (directory.path().join(file), format!("{why}; it stays: {error}")),
    }
}

/// What a damaged record is called once it is set aside.
const DAMAGED_RECORD: &str = "job.damaged";

/// Records are a few hundred bytes; those of jobs that lost much have a list.
const MOST_BYTES: u64 = 4 << 20;

const SHORT: usize = 24;

/// Not worth a thread.
const LEAST_SHARE: usize = 256;
const MOST_THREADS: usize = 8;
