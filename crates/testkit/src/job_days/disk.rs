//! [`Disk`]: the volumes that jobs are downloaded to and delivered on. It owns their files, and carries out each
//! order after a delay, or fails. Single-threaded, in virtual time.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use bergamot_engine::{DiskTrouble, Ticket};
use bergamot_jobs::Record;
use bergamot_jobs::admission::{Surveyed, Unusable};
use bergamot_jobs::machine::Disk as LastError;
use bergamot_jobs::retry::DiskFailure;
use bergamot_queue::FileKey;
use bergamot_storage::{Space, VolumeId};
use bergamot_types::{ByteCount, JobId};

use super::day::{Day, INCOMPLETE, is_within};
use super::kind::Kind;
use super::planned::Planned;
use super::posts::{ARTICLE, Place};
use super::timeline::Timeline;
use crate::violation::{Checked, violated};

#[derive(Debug)]
pub(crate) struct Disk {
    day: Rc<Day>,
    directories: BTreeMap<Box<str>, Directory>,
    /// Jobs at their destinations, each with a mark that says so.
    delivered: BTreeSet<JobId>,
    /// When the last task of a job is done.
    busy: BTreeMap<JobId, Duration>,
    last_error: LastError,
}

/// The directory of a job.
#[derive(Clone, Debug)]
pub(crate) struct Directory {
    pub(crate) owner: JobId,
    pub(crate) files: BTreeMap<u32, StoredFile>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct StoredFile {
    pub(crate) articles: BTreeSet<Place>,
    pub(crate) is_named: bool,
}

/// What the writer does, behind all else that it does for the job.
#[derive(Debug)]
pub(crate) enum DiskTask {
    Delete {
        record: Box<Record>,
        and_record: bool,
    },
    Finish {
        file: FileKey,
        directory: Box<str>,
        articles: usize,
    },
    Move {
        ticket: bergamot_post::Ticket,
        job: JobId,
        directory: Box<str>,
        /// That have to be there.
        files: Vec<u32>,
    },
    Settle(JobId),
    Write {
        ticket: Ticket,
        file: FileKey,
        directory: Box<str>,
        place: Place,
    },
}

impl DiskTask {
    fn job(&self) -> JobId {
        match self {
            Self::Delete { record, .. } => record.id,
            Self::Finish { file, .. } | Self::Write { file, .. } => file.job,
            Self::Move { job, .. } | Self::Settle(job) => *job,
        }
    }
}

impl Disk {
    pub(crate) fn new(day: Rc<Day>) -> Self {
        let last_error = LastError { failure: DiskFailure::Transient, error: None };
        let (directories, delivered) = (BTreeMap::new(), BTreeSet::new());
        Self { day, directories, delivered, busy: BTreeMap::new(), last_error }
    }

    /// The last error of the disk, as failures of jobs record it.
    pub(crate) fn last_error(&self) -> LastError {
        self.last_error.clone()
    }

    pub(crate) fn begin(&mut self, timeline: &mut Timeline, task: DiskTask) {
        let busy = self.busy.entry(task.job()).or_default();
        *busy = (*busy).max(timeline.now) + timeline.millis(0, self.day.disk.latency);
        timeline.plan_at(*busy, Planned::DiskDone(task));
    }

    /// When all that was ordered for the job is done.
    pub(crate) fn busy_until(&self, job: JobId) -> Option<Duration> {
        self.busy.get(&job).copied()
    }

    /// All tasks of the process are gone, and things may vanish while none runs.
    pub(crate) fn forget_process(&mut self, timeline: &mut Timeline) {
        self.busy.clear();
        if !timeline.strikes(self.day.disk.vanish) {
            return;
        }
        let nth = timeline.chance.up_to(self.directories.len() as u64) as usize;
        let Some(name) = self.directories.keys().nth(nth).cloned() else { return };
        if timeline.one_in(2) {
            timeline.note(|| format!("the directory {name} vanishes"));
            timeline.fire(Kind::DirectoryVanished);
            self.directories.remove(&name);
        } else if let Some(directory) = self.directories.get_mut(&name)
            && let Some(file) = directory.files.keys().next().copied()
        {
            timeline.note(|| format!("file {file} of {name} vanishes"));
            timeline.fire(Kind::FileVanished);
            directory.files.remove(&file);
        }
    }

    fn is_full(&self, timeline: &Timeline, volume: usize) -> bool {
        !timeline.is_healed() && is_within(&self.day.disk.full[volume], timeline.now)
    }

    pub(crate) fn is_gone(&self, timeline: &Timeline) -> bool {
        !timeline.is_healed() && is_within(&self.day.disk.gone, timeline.now)
    }

    fn fail(&mut self, failure: DiskFailure, code: &str, trouble: DiskTrouble) -> DiskResult {
        self.last_error = LastError { failure, error: Some(code.to_owned()) };
        Err(trouble)
    }

    /// Whether the disk takes what is to be written just now.
    fn try_to_write(&mut self, timeline: &mut Timeline, volume: usize) -> DiskResult {
        let faults = &self.day.disk;
        let (permanent, transient) = (faults.permanent, faults.transient);
        if self.is_full(timeline, volume) {
            timeline.fire(Kind::VolumeFull);
            return self.fail(DiskFailure::Lasting, "disk.full", DiskTrouble::Full);
        }
        if volume == 0 && self.is_gone(timeline) {
            timeline.fire(Kind::VolumeGone);
            return self.fail(DiskFailure::Lasting, "disk.mount", DiskTrouble::Transient);
        }
        if timeline.strikes(permanent) {
            timeline.fire(Kind::PermanentError);
            return self.fail(DiskFailure::Lasting, "file.too_large", DiskTrouble::Permanent);
        }
        if timeline.strikes(transient) {
            timeline.fire(Kind::WriteTransient);
            return self.fail(DiskFailure::Transient, "disk.broken", DiskTrouble::Transient);
        }
        Ok(())
    }

    pub(crate) fn write(
        &mut self,
        timeline: &mut Timeline,
        file: FileKey,
        directory: &str,
        place: Place,
    ) -> Result<DiskResult, crate::Violation> {
        if let Err(trouble) = self.try_to_write(timeline, 0) {
            return Ok(Err(trouble));
        }
        let Some(known) = self.directories.get_mut(directory) else {
            return Ok(self.fail(DiskFailure::Transient, "file.gone", DiskTrouble::Permanent));
        };
        if known.owner != file.job {
            return violated!("job {} writes into {directory} of job {}", file.job, known.owner);
        }
        known.files.entry(file.file).or_default().articles.insert(place);
        Ok(Ok(()))
    }

    pub(crate) fn finish(
        &mut self,
        timeline: &mut Timeline,
        file: FileKey,
        directory: &str,
        articles: usize,
    ) -> Result<DiskResult, crate::Violation> {
        if let Err(trouble) = self.try_to_write(timeline, 0) {
            timeline.fire(Kind::FinishFailed);
            return Ok(Err(trouble));
        }
        let known = self.directories.get_mut(directory).filter(|it| it.owner == file.job);
        let Some(stored) = known.and_then(|known| known.files.get_mut(&file.file)) else {
            return Ok(self.fail(DiskFailure::Transient, "file.gone", DiskTrouble::Permanent));
        };
        if stored.articles.len() != articles {
            let lies = stored.articles.len();
            return violated!("{file:?} gets its name with {lies} of {articles} articles");
        }
        stored.is_named = true;
        Ok(Ok(()))
    }

    /// All files of the job go to the destination.
    pub(crate) fn deliver(
        &mut self,
        timeline: &mut Timeline,
        job: JobId,
        directory: &str,
        files: &[u32],
    ) -> Result<DiskResult, crate::Violation> {
        let moves = self.day.disk.moves;
        if let Err(trouble) = self.try_to_write(timeline, 1) {
            timeline.fire(Kind::MoveFailed);
            return Ok(Err(trouble));
        }
        if timeline.strikes(moves) {
            timeline.fire(Kind::MoveFailed);
            return Ok(self.fail(DiskFailure::Transient, "disk.broken", DiskTrouble::Transient));
        }
        let Some(known) = self.directories.get(directory) else {
            return Ok(self.fail(DiskFailure::Transient, "file.gone", DiskTrouble::Permanent));
        };
        if known.owner != job {
            return violated!("job {job} moves {directory} of job {}", known.owner);
        }
        let is_there = |file: &&u32| known.files.get(file).is_some_and(|file| file.is_named);
        if let Some(file) = files.iter().find(|file| !is_there(file)) {
            return violated!("job {job} is delivered without its file {file}");
        }
        self.directories.remove(directory);
        self.delivered.insert(job);
        Ok(Ok(()))
    }

    pub(crate) fn is_delivered(&self, job: JobId) -> bool {
        self.delivered.contains(&job)
    }

    pub(crate) fn delivered(&self) -> impl Iterator<Item = JobId> + '_ {
        self.delivered.iter().copied()
    }

    /// The mark of a delivery goes.
    pub(crate) fn settle(&mut self, job: JobId) {
        self.delivered.remove(&job);
    }

    pub(crate) fn directory(&self, name: &str) -> Option<&Directory> {
        self.directories.get(name)
    }

    pub(crate) fn directory_mut(&mut self, name: &str) -> Option<&mut Directory> {
        self.directories.get_mut(name)
    }

    /// Under this name, or a numbered one where it is taken: by a directory, or by the record of a job whose
    /// directory has vanished.
    pub(crate) fn make_directory(
        &mut self,
        job: JobId,
        wanted: &str,
        known: &BTreeSet<Box<str>>,
    ) -> Box<str> {
        let is_empty = |known: &Directory| known.files.is_empty();
        if !known.contains(wanted) && self.directories.get(wanted).is_some_and(is_empty) {
            self.directories.remove(wanted);
        }
        let numbered = (2..).map(|number| format!("{wanted} ({number})"));
        let mut names = std::iter::once(wanted.to_owned()).chain(numbered);
        let is_free = |name: &String| {
            !self.directories.contains_key(name.as_str()) && !known.contains(name.as_str())
        };
        let name: Box<str> = names.find(is_free).unwrap_or_default().into();
        let files = BTreeMap::new();
        self.directories.insert(name.clone(), Directory { owner: job, files });
        name
    }

    pub(crate) fn remove_directory(&mut self, name: &str) {
        self.directories.remove(name);
    }

    /// Deletes what the record says that the job has: that must be its own.
    pub(crate) fn delete_files_of(&mut self, record: &Record) -> Checked {
        let Some(name) = record.directory.as_deref() else { return Ok(()) };
        match self.directories.get(name) {
            Some(known) if known.owner != record.id => {
                violated!(
                    "the files of job {} in {name} are deleted for job {}",
                    known.owner,
                    record.id
                )
            }
            _ => {
                self.directories.remove(name);
                Ok(())
            }
        }
    }

    pub(crate) fn survey(&self, timeline: &mut Timeline, directory: &Path) -> Surveyed {
        let volume = usize::from(directory != Path::new(INCOMPLETE));
        let used: usize = match volume {
            0 => self
                .directories
                .values()
                .flat_map(|it| it.files.values())
                .map(|it| it.articles.len())
                .sum(),
            _ => 0,
        };
        let total = if timeline.is_healed() { PLENTY } else { self.day.disk.free };
        let left = total.saturating_sub(used as u64 * ARTICLE);
        let free = if self.is_full(timeline, volume) { 0 } else { left };
        let space = Space { free: ByteCount(free), total: ByteCount(total) };
        let id = VolumeId(volume as u64 + 1);
        let unusable = |is_silent| Unusable {
            why: "the volume is away".to_owned(),
            is_silent,
            last: Some((id, space)),
        };
        if volume == 0 && self.is_gone(timeline) {
            timeline.fire(Kind::VolumeGone);
            return Err(Unusable { last: None, ..unusable(false) });
        }
        if !timeline.is_healed() && is_within(&self.day.disk.silent, timeline.now) {
            timeline.fire(Kind::VolumeSilent);
            return Err(unusable(true));
        }
        Ok((id, space))
    }

    pub(crate) fn used_by(&self, name: &str) -> ByteCount {
        let files = self.directories.get(name).into_iter().flat_map(|it| it.files.values());
        ByteCount(files.map(|file| file.articles.len() as u64 * ARTICLE).sum())
    }
}

pub(crate) type DiskResult = Result<(), DiskTrouble>;

/// Users make room in the end.
const PLENTY: u64 = 1 << 40;
