//! [`Admission`]: which jobs the disks have room for, from the last survey of the volumes. Pure.
//!
//! The driver surveys the volumes beside its loop, for a share may hang: before a job is begun, while jobs
//! run, and while jobs wait for room. With nothing to do no volume is surveyed.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bergamot_engine::FORCE_PRIORITY;
use bergamot_queue::{FileKey, FileState, Job, JobState};
use bergamot_storage::{Claim, Guard, Reserve, Shortage, Space, VolumeId};
use bergamot_types::{ByteCount, JobId, Shown};

use crate::record::Record;

/// What the volumes have left, and what has been promised of that.
#[derive(Debug)]
pub struct Admission {
    guard: Guard,
    volumes: BTreeMap<PathBuf, Result<VolumeId, Unusable>>,
    begun: BTreeMap<JobId, ByteCount>, // what jobs that wait have on the disk already
    growing: HashSet<FileKey>,         // files without a reservation
    surveyed: Option<Instant>,
    surveys_without_change: u32,
}

/// Why a directory cannot be used for now.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Unusable {
    pub why: String,
    /// Its file system did not answer. What is under way may still end there; nothing new is begun.
    pub is_silent: bool,
    /// What it had at the last survey that was answered.
    pub last: Option<(VolumeId, Space)>,
}

/// The volume of a directory and its space, or why the directory cannot be used.
pub type Surveyed = Result<(VolumeId, Space), Unusable>;

/// What a survey found.
#[derive(Debug, Default)]
pub struct Survey {
    /// Of each directory that jobs are written to.
    pub volumes: Vec<(PathBuf, Surveyed)>,
    /// What jobs that wait have on the disk already.
    pub begun: BTreeMap<JobId, ByteCount>,
}

/// The two directories of a job.
#[derive(Clone, Copy, Debug)]
pub struct Directories<'a> {
    pub incomplete: &'a Path,
    pub destination: &'a Path,
}

/// Why a job is not begun.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum NotAdmitted {
    /// One of its directories cannot be used.
    Unusable { why: String },
    /// The volume of this directory has no room for it.
    Full { at: PathBuf, shortage: Shortage },
}

impl fmt::Display for NotAdmitted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unusable { why } => f.write_str(why),
            Self::Full { at, shortage } => f.write_str(&full(at, shortage)),
        }
    }
}

impl From<Unusable> for NotAdmitted {
    fn from(Unusable { why, .. }: Unusable) -> Self {
        Self::Unusable { why }
    }
}

/// What a survey says of the directory that all jobs are downloaded to.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum IncompleteVolume {
    Usable,
    /// Nothing is written to it until there is room.
    Full,
    /// Its file system did not answer.
    Silent,
    /// It is not there, or not the disk it was.
    Gone {
        why: String,
    },
}

impl Admission {
    pub fn new(reserve: Reserve) -> Self {
        Self {
            guard: Guard::new(reserve),
            volumes: BTreeMap::new(),
            begun: BTreeMap::new(),
            growing: HashSet::new(),
            surveyed: None,
            surveys_without_change: 0,
        }
    }

    pub fn set_reserve(&mut self, reserve: Reserve) {
        self.guard.set_reserve(reserve);
        self.surveyed = None;
    }

    /// Whether the last survey is too old to begin a job by.
    pub fn needs_survey(&self, now: Instant) -> bool {
        self.surveyed.is_none_or(|at| now >= at + FRESH)
    }

    /// Whether the disks have room for a job, and if not, why; then the room is taken.
    pub fn admit(
        &mut self,
        record: &Record,
        at: Directories<'_>,
        wants_par2_volumes: bool,
    ) -> Result<(), NotAdmitted> {
        let here = self.volume(at.incomplete)?;
        let there = self.volume(at.destination)?;
        let size = size_of(record, wants_par2_volumes).0;
        let done = self.begun.get(&record.id).copied().unwrap_or_default();
        let claims = claims(here, there, size.saturating_sub(done.0), size);
        let is_forced = record.priority >= FORCE_PRIORITY;
        match self.guard.admit(&claims) {
            // Sizes are what an NZB claims; a forced job is begun all the same.
            Err(shortage) if !is_forced || shortage.latched => {
                let is_here = shortage.volume == here;
                let at = if is_here { at.incomplete } else { at.destination };
                Err(NotAdmitted::Full { at: at.to_owned(), shortage })
            }
            _ => Ok(()),
        }
    }

    /// What the jobs that run will still write, in their order, from the volumes of a survey that
    /// [`handle_survey`](Self::handle_survey) has not heard of yet, or of the last one.
    pub fn claims_of(&self, job: &Job, at: Directories<'_>) -> Option<(JobId, Vec<Claim>)> {
        let here = self.volume(at.incomplete).ok()?;
        let there = self.volume(at.destination).unwrap_or(here);
        let is_open = |file: &bergamot_queue::File| {
            matches!(file.state(), FileState::Wanted | FileState::Finishing)
        };
        let files = (0..).zip(job.files()).filter(|(_, file)| is_open(file));
        let unwritten = files.filter(|(index, file)| {
            let key = FileKey { job: job.id(), file: *index };
            !file.is_reserved() || self.growing.contains(&key)
        });
        let left = unwritten.map(|(_, file)| file.bytes_left()).sum();
        Some((job.id(), claims(here, there, left, job.totals().bytes)))
    }

    /// First half of a survey: which volumes there are. What is known of one that is silent stays.
    pub fn note_volumes(&mut self, now: Instant, survey: Survey) -> Vec<(VolumeId, Space)> {
        self.surveyed = Some(now);
        self.begun = survey.begun;
        self.volumes.clear();
        let mut spaces = BTreeMap::new();
        for (path, found) in survey.volumes {
            spaces.extend(match &found {
                Ok(known) => Some(*known),
                Err(unusable) => unusable.last,
            });
            self.volumes.insert(path, found.map(|(volume, _)| volume));
        }
        self.surveys_without_change = self.surveys_without_change.saturating_add(1);
        spaces.into_iter().collect()
    }

    /// Second half: the jobs that have to stop, each with the reason. `running` are the claims of all
    /// active jobs, in their order.
    pub fn handle_survey(
        &mut self,
        now: Instant,
        spaces: &[(VolumeId, Space)],
        running: &[(JobId, Vec<Claim>)],
    ) -> Vec<(JobId, String)> {
        let stopped = self.guard.handle_survey(now, spaces, running);
        stopped.into_iter().map(|(job, shortage)| (job, self.explain(&shortage))).collect()
    }

    pub fn incomplete_volume(&self, incomplete: &Path) -> IncompleteVolume {
        match self.volume(incomplete) {
            Ok(volume) if self.guard.is_latched(volume) => IncompleteVolume::Full,
            Ok(_) => IncompleteVolume::Usable,
            Err(unusable) if unusable.is_silent => IncompleteVolume::Silent,
            Err(Unusable { why, .. }) => IncompleteVolume::Gone { why },
        }
    }

    pub fn volume(&self, path: &Path) -> Result<VolumeId, Unusable> {
        self.volumes.get(path).cloned().unwrap_or_else(|| {
            let why = format!("{} was not surveyed yet", path.display());
            Err(Unusable { why, is_silent: true, last: None })
        })
    }

    /// A write was refused for want of room: the volumes have to be surveyed.
    pub fn on_full(&mut self, now: Instant, volume: Option<VolumeId>) {
        if let Some(volume) = volume {
            self.guard.handle_full(now, volume);
        }
        self.surveys_without_change = 0;
        self.surveyed = None;
    }

    /// A job was written to these volumes.
    pub fn on_success(&mut self, volumes: impl IntoIterator<Item = VolumeId>) {
        volumes.into_iter().for_each(|volume| self.guard.handle_success(volume));
    }

    /// A job began to wait: surveys come sooner.
    pub fn on_held(&mut self) {
        self.surveys_without_change = 0;
    }

    /// The file has no reservation and grows as it is written.
    pub fn on_growing_file(&mut self, file: FileKey) {
        self.growing.insert(file);
    }

    pub fn forget_files_of(&mut self, job: JobId) {
        self.growing.retain(|file| file.job != job);
    }

    /// How long until the next survey: `waits` if a job or all downloads wait for room, `runs` if a job is
    /// active. None with nothing to do.
    pub fn next_survey(&self, waits: bool, runs: bool) -> Option<Duration> {
        let seconds = match waits {
            true => (WAITING << self.surveys_without_change.min(MOST_DOUBLINGS)).min(LONGEST),
            false if runs => RUNNING,
            false => return None,
        };
        Some(Duration::from_secs(seconds))
    }

    fn explain(&self, shortage: &Shortage) -> String {
        let is_there = |volume: &VolumeId| *volume == shortage.volume;
        let mut there = self.volumes.iter().filter(|(_, seen)| seen.as_ref().is_ok_and(is_there));
        full(there.next().map_or(Path::new(""), |(path, _)| path), shortage)
    }
}

/// Whether a job may be stopped for want of room: not one that is forced, has ended or is being moved.
pub fn may_be_stopped(record: &Record) -> bool {
    record.outcome.is_none()
        && record.priority < FORCE_PRIORITY
        && !matches!(record.life, JobState::Post(_))
}

/// Of all that is going to be fetched, as the NZB claims it.
fn size_of(record: &Record, wants_par2_volumes: bool) -> ByteCount {
    let contents = record.contents;
    match wants_par2_volumes {
        true => contents.bytes,
        false => ByteCount(contents.bytes.0.saturating_sub(contents.par2_bytes.0)),
    }
}

/// Between volumes a job is copied, and lies on both for a while.
fn claims(here: VolumeId, there: VolumeId, left: u64, whole: u64) -> Vec<Claim> {
    let mut claims = vec![Claim { volume: here, bytes: ByteCount(left) }];
    if there != here {
        claims.push(Claim { volume: there, bytes: ByteCount(whole) });
    }
    claims
}

fn full(at: &Path, shortage: &Shortage) -> String {
    format!("disk.full: {}: {shortage}", Shown(&at.to_string_lossy()))
}

/// A survey is good for so long: other programs write too, but not so much.
const FRESH: Duration = Duration::from_secs(10);

/// Seconds between two surveys while jobs run; `ENOSPC` does not wait for that.
const RUNNING: u64 = 10;

/// While jobs wait; longer each time that nothing came of it.
const WAITING: u64 = 5;
const LONGEST: u64 = 60;
const MOST_DOUBLINGS: u32 = 4;

/// What is so far back in the queue waits for those before it, whatever its size.
pub const MOST_PASSED_OVER: usize = 64;

#[cfg(test)]
mod tests {
    use bergamot_types::UnixTime;

    use super::*;
    use crate::record::fingerprint::Fingerprint;

    const GB: u64 = 1 << 30;

    fn directories() -> Directories<'static> {
        Directories { incomplete: Path::new("/i"), destination: Path::new("/c") }
    }

    fn record(id: u32, gigabytes: u64, par2: u64) -> Record {
        let mut record = Record::new(JobId(id), "a", UnixTime(0), "", Fingerprint::default());
        record.contents.bytes = ByteCount(gigabytes * GB);
        record.contents.par2_bytes = ByteCount(par2 * GB);
        record
    }

    fn space(free: u64) -> Space {
        Space { free: ByteCount(free * GB), total: ByteCount(1000 * GB) }
    }

    /// `/i` and `/c` are volumes 1 and 2 with so much free.
    fn surveyed(now: Instant, here: u64, there: u64) -> Admission {
        let mut admission = Admission::new(Reserve::Bytes(ByteCount(0)));
        let volumes = vec![
            ("/i".into(), Ok((VolumeId(1), space(here)))),
            ("/c".into(), Ok((VolumeId(2), space(there)))),
        ];
        let spaces = admission.note_volumes(now, Survey { volumes, begun: BTreeMap::new() });
        assert_eq!(admission.handle_survey(now, &spaces, &[]), []);
        admission
    }

    #[test]
    fn a_job_needs_room_on_both_volumes() {
        let now = Instant::now();
        for (here, there, fits) in [(10, 10, true), (9, 10, false), (10, 9, false)] {
            let mut admission = surveyed(now, here, there);
            let admitted = admission.admit(&record(1, 10, 0), directories(), true);
            assert_eq!(admitted.is_ok(), fits, "{here} {there} {admitted:?}");
        }
    }

    #[test]
    fn room_is_promised_once_and_par2_volumes_count_where_they_are_fetched() {
        let mut admission = surveyed(Instant::now(), 15, 50);
        assert!(admission.admit(&record(1, 10, 2), directories(), false).is_ok());
        let why = admission.admit(&record(2, 10, 2), directories(), false).unwrap_err();
        let why = why.to_string();
        assert!(why.starts_with("disk.full: /i: "), "{why}");
        assert!(admission.admit(&record(3, 9, 2), directories(), false).is_ok(), "7 are left");
    }

    #[test]
    fn a_forced_job_is_begun_though_its_nzb_claims_too_much() {
        let mut admission = surveyed(Instant::now(), 1, 1);
        let mut forced = record(1, 10, 0);
        forced.priority = FORCE_PRIORITY;
        assert!(admission.admit(&forced, directories(), true).is_ok());
        admission.on_full(Instant::now(), Some(VolumeId(1)));
        assert!(admission.admit(&forced, directories(), true).is_err(), "it is really full");
    }

    #[test]
    fn surveys_are_repeated_less_often_while_nothing_changes() {
        let now = Instant::now();
        let mut admission = surveyed(now, 1, 1);
        assert!(!admission.needs_survey(now) && admission.needs_survey(now + FRESH));
        let mut pauses = Vec::new();
        admission.on_held();
        for _ in 0..6 {
            pauses.push(admission.next_survey(true, true).map(|pause| pause.as_secs()));
            admission.note_volumes(now, Survey::default());
        }
        assert_eq!(pauses, [5, 10, 20, 40, 60, 60].map(Some));
        assert_eq!(admission.next_survey(false, true), Some(Duration::from_secs(RUNNING)));
        assert_eq!(admission.next_survey(false, false), None);
        assert!(admission.admit(&record(1, 0, 0), directories(), true).is_err(), "not surveyed");
    }

    #[test]
    fn a_silent_volume_keeps_its_number_and_one_that_is_gone_says_why() {
        let now = Instant::now();
        let mut admission = surveyed(now, 1, 1);
        let path = Path::new("/i");
        assert_eq!(admission.incomplete_volume(path), IncompleteVolume::Usable);
        admission.on_full(now, Some(VolumeId(1)));
        assert_eq!(admission.incomplete_volume(path), IncompleteVolume::Full);
        for (is_silent, expected) in [
            (true, IncompleteVolume::Silent),
            (false, IncompleteVolume::Gone { why: "unmounted".to_owned() }),
        ] {
            let unusable = Unusable { why: "unmounted".to_owned(), is_silent, last: None };
            let volumes = vec![("/i".into(), Err(unusable))];
            admission.note_volumes(now, Survey { volumes, begun: BTreeMap::new() });
            assert_eq!(admission.incomplete_volume(path), expected);
        }
    }
}
