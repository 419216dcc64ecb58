//! [`Spool`]: records, NZBs and journals as they are on the disk, and the queue of the thread that changes
//! them. Single-threaded, in virtual time.
//!
//! Operations are carried out one behind the other, each after a while and as a whole. When the process is
//! killed, those in the queue never happen; the first perhaps.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;
use std::time::Duration;

use bergamot_jobs::machine::{Event, Loaded, Ready, StoreFailure};
use bergamot_jobs::{Check, Outcome, Paused, Record, Records, put_right};
use bergamot_nzb::{Nzb, Segments};
use bergamot_queue::{Cause, Ending};
use bergamot_types::JobId;

use super::day::{Day, End, is_within};
use super::disk::{Directory, Disk};
use super::index::{ById, Index};
use super::journal::Journal;
use super::kind::Kind;
use super::planned::Planned;
use super::timeline::Timeline;
use crate::violation::{Checked, Violation, violated};
use bergamot_jobs::machine::SpoolView;

#[derive(Debug)]
pub(crate) struct Spool {
    day: Rc<Day>,
    pub(crate) index: Index,
    records: ById<Stored>,
    nzbs: ById<Rc<Nzb>>,
    journals: ById<Journal>,
    /// How often the process died while it read a job in.
    crashes: ById<u32>,
    pub(crate) pauses: [Option<Paused>; 3],
    queue: VecDeque<Op>,
    /// Directories that jobs had at the start, or were given since.
    known: BTreeSet<Box<str>>,
    /// Directories assigned to jobs and not yet reported to the machine.
    given: ById<Box<str>>,
    /// Loads whose files are read beside the queue, by their numbers. The result of one is discarded once another
    /// operation has changed the job.
    reading: ById<u64>,
    last_answer: Duration,
}

/// A record on the disk.
#[derive(Clone, Debug)]
pub(crate) struct Stored {
    pub(crate) record: Record,
    /// Of the record in memory.
    pub(crate) version: u64,
}

/// An operation in the queue of the spool's thread.
#[derive(Debug)]
pub(crate) enum Op {
    DeleteFiles(Box<Record>),
    DropJournal(JobId),
    ForgetCrashes(JobId),
    ForgetJournal(JobId),
    /// The directory of the job was reported to the machine.
    Heard(JobId),
    Load {
        number: u64,
        record: Box<Record>,
        version: u64,
    },
    Remove(Box<Record>),
    RemoveAll(Vec<Record>),
    Write {
        record: Box<Record>,
        version: u64,
    },
}

/// What a new process finds.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) records: Records,
    pub(crate) suspects: Vec<JobId>,
    pub(crate) joined: Vec<Record>,
    pub(crate) has_put_right: bool,
}

impl Spool {
    pub(crate) fn new(day: Rc<Day>) -> Self {
        Self {
            day,
            index: Index::default(),
            records: BTreeMap::new(),
            nzbs: BTreeMap::new(),
            journals: BTreeMap::new(),
            crashes: BTreeMap::new(),
            pauses: [None, None, None],
            queue: VecDeque::new(),
            known: BTreeSet::new(),
            given: BTreeMap::new(),
            reading: BTreeMap::new(),
            last_answer: Duration::ZERO,
        }
    }

    pub(crate) fn stored(&self, job: JobId) -> Option<&Stored> {
        self.records.get(&job)
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Stored> {
        self.records.values()
    }

    /// A new job, on the disk when this returns.
    pub(crate) fn add(&mut self, record: &Record, nzb: Option<Rc<Nzb>>) {
        self.index.learn(record);
        self.records.insert(record.id, Stored { record: record.clone(), version: 0 });
        if let Some(nzb) = nzb {
            self.put_nzb(record.id, nzb);
        }
    }

    pub(crate) fn put_nzb(&mut self, job: JobId, nzb: Rc<Nzb>) {
        self.index.set_nzb(job, true);
        self.nzbs.insert(job, nzb);
    }

    /// All files of a job; those that are another job's keep their places, and nothing else.
    pub(crate) fn nzb(&self, record: &Record) -> Option<Nzb> {
        let mut whole = Nzb::default();
        for part in record.nzbs() {
            whole.files.extend(self.nzbs.get(&part)?.files.iter().cloned());
        }
        for file in record.file_choices.iter().flat_map(|choices| choices.given_away()) {
            if let Some(file) = whole.files.get_mut(*file as usize) {
                file.segments = Segments::default();
            }
        }
        Some(whole)
    }

    pub(crate) fn begun_files(&self, job: JobId) -> BTreeSet<u32> {
        self.journals.get(&job).map(Journal::begun_files).unwrap_or_default()
    }

    pub(crate) fn journal(&mut self, job: JobId) -> &mut Journal {
        self.journals.entry(job).or_default()
    }

    pub(crate) fn push(&mut self, timeline: &mut Timeline, op: Op) {
        self.queue.push_back(op);
        if self.queue.len() == 1 {
            self.plan_next(timeline);
        }
    }

    fn plan_next(&mut self, timeline: &mut Timeline) {
        if self.queue.is_empty() {
            return;
        }
        let time = timeline.millis(0, self.day.state.latency);
        if time > Duration::from_secs(1) {
            timeline.fire(Kind::SlowState);
        }
        timeline.plan_in(time, Planned::SpoolDone);
    }

    /// The first in the queue is carried out.
    pub(crate) fn on_done(&mut self, timeline: &mut Timeline, disk: &mut Disk) -> Checked {
        let Some(op) = self.queue.pop_front() else { return Ok(()) };
        self.cancel_reading(&op);
        match self.carry_out(timeline, disk, op)? {
            Some(Planned::Loaded { job, number, loaded: loaded @ Loaded::Ready(_) })
                if !self.given.contains_key(&job) && timeline.strikes(200) =>
            {
                timeline.fire(Kind::LoadReadBack);
                self.reading.insert(job, number);
                let time = timeline.millis(0, 20_000);
                timeline.plan_in(time, Planned::ReadBack { job, number, loaded });
            }
            Some(answer) => self.answer(timeline, answer),
            None => {}
        }
        self.plan_next(timeline);
        Ok(())
    }

    /// Answers come in the order in which they were given.
    fn answer(&mut self, timeline: &mut Timeline, answer: Planned) {
        let at = timeline.now + timeline.millis(0, self.day.state.answer);
        self.last_answer = self.last_answer.max(at);
        timeline.plan_at(self.last_answer, answer);
    }

    fn cancel_reading(&mut self, op: &Op) {
        match op {
            Op::DeleteFiles(record) | Op::Remove(record) | Op::Load { record, .. } => {
                self.reading.remove(&record.id);
            }
            Op::DropJournal(job) | Op::ForgetJournal(job) => _ = self.reading.remove(job),
            Op::RemoveAll(records) => {
                self.reading.retain(|job, _| !records.iter().any(|record| record.id == *job));
            }
            Op::Write { record, .. } if record.outcome.is_some() => {
                self.reading.remove(&record.id);
            }
            Op::ForgetCrashes(_) | Op::Heard(_) | Op::Write { .. } => {}
        }
    }

    pub(crate) fn on_read_back(
        &mut self,
        timeline: &mut Timeline,
        job: JobId,
        number: u64,
        loaded: Loaded,
    ) {
        if self.reading.get(&job) == Some(&number) {
            self.reading.remove(&job);
            self.answer(timeline, Planned::Loaded { job, number, loaded });
        }
    }

    fn carry_out(
        &mut self,
        timeline: &mut Timeline,
        disk: &mut Disk,
        op: Op,
    ) -> Result<Option<Planned>, Violation> {
        match op {
            Op::DeleteFiles(record) => {
                let job = record.id;
                let record = self.completed(record);
                self.given.remove(&job);
                let result = match disk.is_gone(timeline) {
                    true => Err(failure("disk.mount")),
                    false => Ok(disk.delete_files_of(&record)?),
                };
                return Ok(Some(Planned::Jobs(Event::FilesDeleted { job, result })));
            }
            Op::DropJournal(job) | Op::ForgetJournal(job) => _ = self.journals.remove(&job),
            Op::ForgetCrashes(job) => _ = self.crashes.remove(&job),
            Op::Heard(job) => _ = self.given.remove(&job),
            Op::Load { number, record, version } => {
                let job = record.id;
                let loaded = self.load(timeline, disk, record, version)?;
                return Ok(Some(Planned::Loaded { job, number, loaded }));
            }
            Op::Remove(record) => {
                let job = record.id;
                let fails = self.fails(timeline);
                if fails {
                    timeline.fire(Kind::RemoveFailed);
                }
                self.remove(timeline, disk, record, fails)?;
                let result = if fails { Err(failure("state.unwritable")) } else { Ok(()) };
                return Ok(Some(Planned::Jobs(Event::Removed { job, result })));
            }
            Op::RemoveAll(records) => {
                for record in records {
                    self.remove(timeline, disk, Box::new(record), false)?;
                }
            }
            Op::Write { record, version } => {
                let (job, is_over) = (record.id, record.outcome.is_some());
                let record = self.completed(record);
                let result = self.write(timeline, *record, version)?;
                return Ok(Some(Planned::Jobs(Event::Written { job, is_over, result })));
            }
        }
        Ok(None)
    }

    /// With the directory that the job was given meanwhile.
    fn completed(&self, mut record: Box<Record>) -> Box<Record> {
        if record.directory.is_none() {
            record.directory = self.given.get(&record.id).cloned();
        }
        record
    }

    fn fails(&self, timeline: &mut Timeline) -> bool {
        let in_trouble = !timeline.is_healed() && is_within(&self.day.state.trouble, timeline.now);
        in_trouble || timeline.strikes(self.day.state.write_fails)
    }

    fn write(
        &mut self,
        timeline: &mut Timeline,
        record: Record,
        version: u64,
    ) -> Result<Result<(), StoreFailure>, Violation> {
        if self.fails(timeline) {
            timeline.fire(Kind::WriteFailed);
            return Ok(Err(failure("state.full")));
        }
        let Some(stored) = self.records.get_mut(&record.id) else {
            return violated!("a write brings job {} back, which was removed", record.id);
        };
        if version < stored.version {
            let before = stored.version;
            return violated!("job {}: version {version} is written over {before}", record.id);
        }
        self.index.learn(&record);
        *stored = Stored { record, version };
        Ok(Ok(()))
    }

    /// With its files, which go first.
    fn remove(
        &mut self,
        timeline: &mut Timeline,
        disk: &mut Disk,
        record: Box<Record>,
        fails: bool,
    ) -> Checked {
        let record = self.completed(record);
        let job = record.id;
        if !disk.is_gone(timeline) {
            disk.delete_files_of(&record)?;
        }
        self.given.remove(&job);
        if fails {
            return Ok(());
        }
        let Some(stored) = self.records.remove(&job) else { return Ok(()) };
        let is_part = |other: &Stored| other.record.joined().iter().any(|it| it.job == job);
        let parts: Vec<_> = stored.record.joined().iter().map(|joined| joined.job).collect();
        self.journals.remove(&job);
        self.crashes.remove(&job);
        self.index.forget(job);
        if !self.records.values().any(is_part) {
            self.drop_nzb(job);
        }
        for part in parts {
            self.records.remove(&part);
            self.journals.remove(&part);
            self.drop_nzb(part);
        }
        Ok(())
    }

    fn drop_nzb(&mut self, job: JobId) {
        self.nzbs.remove(&job);
        self.index.set_nzb(job, false);
    }

    fn load(
        &mut self,
        timeline: &mut Timeline,
        disk: &mut Disk,
        mut record: Box<Record>,
        version: u64,
    ) -> Result<Loaded, Violation> {
        let job = record.id;
        let waits = |why: &str| Loaded::Waits { why: why.to_owned() };
        if disk.is_gone(timeline) {
            timeline.fire(Kind::LoadHeld);
            return Ok(Loaded::Held { why: "the volume is away".to_owned() });
        }
        if timeline.strikes(self.day.state.load_waits) {
            timeline.fire(Kind::LoadWaits);
            return Ok(waits("disk.broken"));
        }
        let is_damaged = timeline.strikes(self.day.state.load_fails);
        let Some(nzb) = self.nzb(&record).filter(|_| !is_damaged) else {
            let ending = Ending::Failed(Cause::StateDamaged);
            record.end(self.outcome(timeline, ending));
            return Ok(match self.write(timeline, (*record).clone(), version)? {
                Ok(()) => {
                    timeline.fire(Kind::LoadFailed);
                    Loaded::Failed(record)
                }
                Err(_) => waits("state.full"),
            });
        };
        let there = record.directory.as_deref().and_then(|name| disk.directory(name));
        match there {
            Some(directory) if directory.owner == job => {
                let directory = directory.clone();
                Ok(self.resume(disk, record, nzb, &directory))
            }
            Some(directory) => {
                violated!("job {job} is loaded with the directory of job {}", directory.owner)
            }
            None if record.directory.is_some() && disk.is_delivered(job) => {
                record.directory = None;
                let outcome = self.outcome(timeline, Ending::Completed { verified: true });
                let (check, destination) = (Some(Check::Crc), Some(format!("/complete/{job}")));
                record.end(Outcome { check, destination, ..outcome });
                if self.write(timeline, (*record).clone(), version)?.is_err() {
                    return Ok(waits("state.full"));
                }
                disk.settle(job);
                timeline.fire(Kind::LoadedDelivered);
                Ok(Loaded::Done(record))
            }
            None => self.begin(timeline, disk, record, version, nzb),
        }
    }

    fn outcome(&self, timeline: &Timeline, ending: Ending) -> Outcome {
        let sequence = self.index.next_sequence();
        Outcome { sequence, ..Outcome::new(ending, timeline.time().date, "") }
    }

    /// In a new directory.
    fn begin(
        &mut self,
        timeline: &mut Timeline,
        disk: &mut Disk,
        mut record: Box<Record>,
        version: u64,
        nzb: Nzb,
    ) -> Result<Loaded, Violation> {
        let job = record.id;
        self.journals.remove(&job);
        if record.directory.is_some() {
            timeline.fire(Kind::LoadedAnew);
        }
        let name = disk.make_directory(job, &record.name, &self.known);
        self.known.insert(name.clone());
        record.directory = Some(name.clone());
        record.finished.clear();
        if self.write(timeline, (*record).clone(), version)?.is_err() {
            disk.remove_directory(&name);
            return Ok(Loaded::Waits { why: "state.full".to_owned() });
        }
        self.given.insert(job, name);
        let (finished, written) = (Vec::new(), Vec::new());
        let ready = Ready { record: *record, nzb, finished, written, is_proven: false };
        Ok(Loaded::Ready(Box::new(ready)))
    }

    /// Resumes what the journal lists and the disk has; files that the journal does not list are deleted.
    fn resume(
        &mut self,
        disk: &mut Disk,
        mut record: Box<Record>,
        nzb: Nzb,
        directory: &Directory,
    ) -> Loaded {
        let job = record.id;
        let journal = self.journals.entry(job).or_default();
        let told = journal.replay();
        let (mut finished, mut written) = (Vec::new(), Vec::new());
        for (file, parts) in told.written {
            let stored = directory.files.get(&file);
            match stored {
                Some(stored) if stored.is_named && told.named.contains(&file) => {
                    finished.push((file, true));
                }
                // It got its name in the last moment.
                Some(stored) if stored.is_named && stored.articles.len() == parts.len() => {
                    journal.push_named(file);
                    finished.push((file, true));
                }
                Some(stored) if !stored.is_named => written.extend(parts),
                _ => journal.forget_file(file),
            }
        }
        let is_known = |file: u32| {
            finished.iter().any(|(known, _)| *known == file)
                || written.iter().any(|part| part.file == file)
        };
        if let Some(name) = record.directory.as_deref()
            && let Some(directory) = disk.directory_mut(name)
        {
            directory.files.retain(|file, _| is_known(*file));
        }
        record.finished.retain(|file| is_known(file.index));
        let ready = Ready { record: *record, nzb, finished, written, is_proven: false };
        Loaded::Ready(Box::new(ready))
    }

    /// The process ends; the first operation may be carried out, and all of them where it ends in good
    /// order. `unwritten` are records that were not sent yet.
    pub(crate) fn end_process(
        &mut self,
        timeline: &mut Timeline,
        disk: &mut Disk,
        end: End,
        unwritten: Vec<(Record, u64)>,
    ) -> Checked {
        let ops = std::mem::take(&mut self.queue);
        if let (End::Kill, Some(Op::Load { record, .. })) = (end, ops.front()) {
            *self.crashes.entry(record.id).or_default() += 1;
        }
        let count = match end {
            End::Kill => timeline.chance.up_to(1) as usize,
            End::Stop => ops.len(),
        };
        for op in ops.into_iter().take(count) {
            self.carry_out(timeline, disk, op)?;
        }
        for (record, version) in unwritten.into_iter().filter(|_| end == End::Stop) {
            let record = *self.completed(Box::new(record));
            // Nothing is promised of one that fails.
            let _ = self.write(timeline, record, version)?;
        }
        self.given.clear();
        self.reading.clear();
        self.last_answer = Duration::ZERO;
        for journal in self.journals.values_mut() {
            match end {
                End::Kill if journal.tear(timeline) => timeline.fire(Kind::NotesLost),
                End::Kill => {}
                End::Stop => journal.sync(),
            }
        }
        Ok(())
    }

    /// What the next process is given, after what was left undone is done.
    pub(crate) fn start(&mut self) -> Found {
        let mut records: Records =
            self.records.values().map(|stored| Box::new(stored.record.clone())).collect();
        let undone = put_right(&mut records, |job| self.nzbs.contains_key(&job));
        let has_put_right = !undone.changed.is_empty() || !undone.unborn.is_empty();
        for job in &undone.unborn {
            self.records.remove(job);
        }
        for record in records.iter().filter(|record| undone.changed.contains(&record.id)) {
            if let Some(stored) = self.records.get_mut(&record.id) {
                stored.record = (**record).clone();
            }
        }
        for record in &mut records {
            record.starts = self.crashes.get(&record.id).copied().unwrap_or(0);
        }
        let present = &self.records;
        self.crashes.retain(|job, _| present.contains_key(job));
        let suspects = self.crashes.iter().filter(|(_, count)| **count >= MOST_CRASHES);
        let suspects = suspects.map(|(job, _)| *job).collect();
        self.known = records.iter().filter_map(|record| record.directory.clone()).collect();
        let nzbs = self.nzbs.keys().copied();
        self.index = self.index.restart(records.iter().map(|record| &**record), nzbs);
        Found { records, suspects, joined: undone.joined, has_put_right }
    }

    /// The journals of completed jobs whose marks were not removed yet.
    pub(crate) fn unsettled(&self) -> Vec<JobId> {
        let is_complete =
            |stored: &Stored| matches!(stored.record.ending(), Some(Ending::Completed { .. }));
        let journals = self.journals.keys().copied();
        journals.filter(|job| self.records.get(job).is_some_and(is_complete)).collect()
    }
}

fn failure(code: &'static str) -> StoreFailure {
    StoreFailure { code, message: String::new() }
}

/// After so many a job is not read in any more.
const MOST_CRASHES: u32 = 2;
