//! Room for jobs: what the volumes have left, who waits for them, and when somebody looks again.
//!
//! The volumes are looked at beside the loop, for a share may hang: before a job is begun, while jobs
//! run, and while jobs wait for room. With nothing to do nobody looks.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bergamot_engine::{Event, FORCE_PRIORITY, Hold};
use bergamot_queue::{FileKey, FileState, JobState, Step};
use bergamot_rpc::Event as News;
use bergamot_storage::{Claim, Guard, Reserve, Shortage, VolumeId};
use bergamot_store::Record;
use bergamot_types::{ByteCount, JobId, SafeName, Shown};
use bergamot_writer::Root;
use tracing::{debug, info, warn};

use super::happening::Happening;
use super::places::{Away, Places, Seen};
use super::run::Daemon;
use super::targets::Poll;
use super::vital_thread::vital_task;
use crate::clock;

#[derive(Debug)]
pub(super) struct Storage {
    places: Places,
    guard: Guard,
    seen: BTreeMap<PathBuf, Result<VolumeId, Away>>,
    begun: BTreeMap<JobId, ByteCount>, // what jobs that wait have on the disk already
    loose: HashSet<FileKey>,           // files that grow as they are written
    surveyed: Option<Instant>,
    under_way: bool,
    unchanged: u32, // surveys in a row
    is_told: bool,  // that jobs wait
}

/// What is to be looked at.
#[derive(Debug)]
struct Questions {
    incomplete: PathBuf,
    grounds: Vec<PathBuf>, // that one among them
    begun: Vec<(JobId, SafeName)>,
}

/// What was seen.
#[derive(Debug)]
pub(crate) struct Survey {
    volumes: Vec<(PathBuf, Seen)>,
    begun: BTreeMap<JobId, ByteCount>,
}

impl Storage {
    pub(super) fn new(places: Places, reserve: Reserve) -> Self {
        Self {
            places,
            guard: Guard::new(reserve),
            seen: BTreeMap::new(),
            begun: BTreeMap::new(),
            loose: HashSet::new(),
            surveyed: None,
            under_way: false,
            unchanged: 0,
            is_told: false,
        }
    }

    pub(super) fn set_reserve(&mut self, reserve: Reserve) {
        self.guard.set_reserve(reserve);
        self.surveyed = None;
    }

    fn is_fresh(&self, now: Instant) -> bool {
        self.surveyed.is_some_and(|at| now < at + FRESH)
    }

    /// That there is no room there, for people.
    fn told(&self, shortage: &Shortage) -> String {
        let is_there = |volume: &VolumeId| *volume == shortage.volume;
        let mut there = self.seen.iter().filter(|(_, seen)| seen.as_ref().is_ok_and(is_there));
        full(there.next().map_or(Path::new(""), |(path, _)| path), shortage)
    }

    fn volume(&self, path: &Path) -> Result<VolumeId, Away> {
        self.seen.get(path).cloned().unwrap_or_else(|| {
            let why = "nobody has looked at it".to_owned();
            Err(Away { why, is_silent: true, last: None })
        })
    }
}

impl Daemon {
    /// Begins jobs that fit, in their order; those that do not are passed over until there is room.
    pub(super) fn load_next(&mut self) {
        if self.targets.target(Poll::Loading).is_some() || self.feeds_only {
            return;
        }
        while let Some(job) = self.jobs.next_to_load() {
            if self.jobs.passed_over() >= MOST_PASSED_OVER {
                break;
            }
            if !self.storage.is_fresh(clock::now().instant) {
                return self.survey();
            }
            match self.admit(job) {
                Ok(()) => self.begin_to_load(job),
                Err(why) => self.hold_back(job, why),
            }
        }
        self.look_again_later();
    }

    fn admit(&mut self, job: JobId) -> Result<(), String> {
        let Some(record) = self.jobs.record(job) else { return Ok(()) };
        let settings = self.job_settings.get();
        let volume = |path| self.storage.volume(path).map_err(|away| away.why);
        let here = volume(settings.incomplete.as_path())?;
        let there = volume(settings.ground(record.category.as_deref()))?;
        let size = self.size_of(record);
        let done = self.storage.begun.get(&job).copied().unwrap_or_default();
        let claims = claims(here, there, size.0.saturating_sub(done.0), size.0);
        let is_forced = record.priority >= FORCE_PRIORITY;
        match self.storage.guard.admit(&claims) {
            // Sizes are what an NZB claims; whoever forces a job knows better.
            Err(shortage) if !is_forced || shortage.latched => {
                let ground = settings.ground(record.category.as_deref());
                let is_here = shortage.volume == here;
                let at = if is_here { settings.incomplete.as_path() } else { ground };
                Err(full(at, &shortage))
            }
            _ => Ok(()),
        }
    }

    /// Of all that is going to be fetched, as the NZB claims it.
    fn size_of(&self, record: &Record) -> ByteCount {
        let contents = record.contents;
        match self.job_settings.get().wants_par2_volumes {
            true => contents.bytes,
            false => ByteCount(contents.bytes.0.saturating_sub(contents.par2_bytes.0)),
        }
    }

    /// It waits until there is room, and others go before it.
    pub(super) fn hold_back(&mut self, job: JobId, why: String) {
        let is_news = self.jobs.hold(job, why.clone());
        let Some(record) = self.jobs.record(job).filter(|_| is_news) else { return };
        self.storage.unchanged = 0;
        // Behind the first there may be thousands, and the reason is the same.
        match std::mem::replace(&mut self.storage.is_told, true) {
            false => warn!(%job, name = %Shown(&record.name), "waits: {why}"),
            true => debug!(%job, name = %Shown(&record.name), "waits: {why}"),
        }
        let state = self.state_of(record);
        self.hub.publish(News::JobState { job, state, reason: Some(why.clone()) });
        self.tell_disk(Some(why));
    }

    /// A job that runs gives up its turn; what it has written stays.
    fn stop_for_room(&mut self, job: JobId, why: String) {
        self.put_away(job);
        self.jobs.step(job, Step::PutBack);
        self.jobs.stop(job);
        self.hold_back(job, why);
        self.tell_engine(Event::JobRemoved(job));
    }

    pub(super) fn survey(&mut self) {
        if std::mem::replace(&mut self.storage.under_way, true) {
            return;
        }
        let settings = self.job_settings.get();
        let begun = self.jobs.waiting_records().filter_map(|record| {
            Some((record.id, SafeName::recorded(record.directory.as_deref()?)?))
        });
        let questions = Questions {
            incomplete: settings.incomplete.clone(),
            grounds: settings.grounds().into_iter().map(Path::to_owned).collect(),
            begun: begun.take(MOST_MEASURED).collect(),
        };
        let (places, outbox) = (self.storage.places.clone(), self.outbox.clone());
        vital_task("survey", &self.outbox, async move {
            let survey = look(&places, questions).await;
            outbox.tell(Happening::Surveyed(Box::new(survey)));
        });
    }

    pub(super) fn on_surveyed(&mut self, survey: Survey) {
        let now = clock::now().instant;
        self.storage.under_way = false;
        self.storage.surveyed = Some(now);
        self.storage.begun = survey.begun;
        let mut spaces = BTreeMap::new();
        self.storage.seen.clear();
        for (path, found) in survey.volumes {
            // What is known of one that is silent holds on.
            let known = match &found {
                Ok(known) => Some(*known),
                Err(away) => away.last,
            };
            spaces.extend(known);
            self.storage.seen.insert(path, found.map(|(volume, _)| volume));
        }
        let spaces: Vec<_> = spaces.into_iter().collect();
        let running = self.running_claims();
        let stopped = self.storage.guard.handle_survey(now, &spaces, &running);
        for (job, shortage) in stopped {
            if self.may_be_stopped(job) {
                self.stop_for_room(job, self.storage.told(&shortage));
            }
        }
        self.see_to_incomplete();
        self.jobs.release_held();
        self.storage.unchanged = self.storage.unchanged.saturating_add(1);
        self.load_next();
    }

    /// Nobody waits for it any more.
    pub(super) fn tell_room(&mut self) {
        if self.jobs.held_count() == 0 && std::mem::take(&mut self.storage.is_told) {
            info!("there is room again");
            self.tell_disk(None);
        }
    }

    /// What all jobs are downloaded to may be full, open again or gone.
    fn see_to_incomplete(&mut self) {
        let incomplete = self.job_settings.get().incomplete.clone();
        match self.storage.volume(&incomplete) {
            Ok(volume) if !self.storage.guard.is_latched(volume) => {
                if self.engine.hold() == Some(Hold::Disk) {
                    self.tell_engine(Event::DiskReturned);
                }
            }
            Ok(_) => {}
            Err(away) if away.is_silent => {}
            Err(Away { why, .. }) => {
                let mut running: Vec<_> = self.jobs.active_jobs().collect();
                running.retain(|job| self.may_be_stopped(*job));
                for job in running {
                    self.stop_for_room(job, why.clone());
                }
            }
        }
    }

    /// One that is forced, ends or moves is past that.
    fn may_be_stopped(&self, job: JobId) -> bool {
        self.jobs.record(job).is_some_and(|record| {
            record.outcome.is_none()
                && record.priority < FORCE_PRIORITY
                && !matches!(record.life, JobState::Post(_))
        })
    }

    /// What the jobs that run will still write, in their order.
    fn running_claims(&self) -> Vec<(JobId, Vec<Claim>)> {
        let settings = self.job_settings.get();
        let Ok(here) = self.storage.volume(&settings.incomplete) else { return Vec::new() };
        let claims_of = |record: &Record| {
            let job = self.engine.job(record.id)?;
            let ground = settings.ground(record.category.as_deref());
            let there = self.storage.volume(ground).unwrap_or(here);
            let is_open = |file: &bergamot_queue::File| {
                matches!(file.state(), FileState::Wanted | FileState::Finishing)
            };
            let files = (0..).zip(job.files()).filter(|(_, file)| is_open(file));
            let unwritten = files.filter(|(index, file)| {
                let key = FileKey { job: record.id, file: *index };
                !file.is_reserved() || self.storage.loose.contains(&key)
            });
            let left = unwritten.map(|(_, file)| file.bytes_left()).sum();
            Some((record.id, claims(here, there, left, job.totals().bytes)))
        };
        self.jobs.active_records().into_iter().filter_map(claims_of).collect()
    }

    /// A write was refused for want of room.
    pub(super) fn on_full(&mut self, volume: Option<VolumeId>) {
        let now = clock::now().instant;
        if let Some(volume) = volume {
            self.storage.guard.handle_full(now, volume);
        }
        self.storage.unchanged = 0;
        self.storage.surveyed = None;
        self.survey();
    }

    pub(super) fn incomplete_volume(&self) -> Option<VolumeId> {
        self.storage.volume(&self.job_settings.get().incomplete).ok()
    }

    pub(super) fn note_loose(&mut self, file: FileKey) {
        self.storage.loose.insert(file);
    }

    /// Its files are no more written.
    pub(super) fn forget_files_of(&mut self, job: JobId) {
        self.storage.loose.retain(|file| file.job != job);
    }

    pub(super) fn note_room_taken(&mut self, root: &Root) {
        self.storage.guard.handle_success(VolumeId(root.device()));
        if let Some(volume) = self.incomplete_volume() {
            self.storage.guard.handle_success(volume);
        }
    }

    /// Every job that could be begun waits for the disk.
    pub(super) fn is_stuck_for_room(&self) -> bool {
        self.jobs.held_count() > 0 && self.jobs.active_jobs().next().is_none()
    }

    pub(super) fn why_nothing_fits(&self) -> String {
        let mut held = self.jobs.queued().filter_map(|record| self.jobs.held_for(record.id));
        held.next().unwrap_or("there is no room").to_owned()
    }

    /// Only while somebody runs or waits.
    fn look_again_later(&mut self) {
        let waits = self.jobs.held_count() > 0 || self.engine.hold() == Some(Hold::Disk);
        let pause = match waits {
            true => (WAITING << self.storage.unchanged.min(MOST_DOUBLINGS)).min(LONGEST),
            false if self.jobs.active_jobs().next().is_some() => RUNNING,
            false => {
                self.targets.remove(Poll::Storage);
                return;
            }
        };
        let at = clock::now().instant + Duration::from_secs(pause);
        // It may be planned for later than it is wanted now.
        if self.targets.target(Poll::Storage).is_some_and(|planned| planned.next_due > at) {
            self.targets.remove(Poll::Storage);
        }
        self.do_once(Poll::Storage, at);
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

async fn look(places: &Places, questions: Questions) -> Survey {
    let Questions { incomplete, grounds, begun } = questions;
    let looks: Vec<_> = grounds
        .into_iter()
        .map(|path| {
            let places = places.clone();
            tokio::spawn(async move {
                let seen = places.seen(&path).await;
                (path, seen)
            })
        })
        .collect();
    let mut volumes = Vec::new();
    for look in looks {
        volumes.extend(look.await);
    }
    Survey { volumes, begun: places.measured(&incomplete, begun).await }
}

/// What was seen holds so long: others write too, but not so much.
const FRESH: Duration = Duration::from_secs(10);

/// Seconds between two looks while jobs run; `ENOSPC` does not wait for that.
const RUNNING: u64 = 10;

/// While jobs wait; longer each time that nothing came of it.
const WAITING: u64 = 5;
const LONGEST: u64 = 60;
const MOST_DOUBLINGS: u32 = 4;

/// What is so far back in the queue waits for those before it, whatever its size.
const MOST_PASSED_OVER: usize = 64;

/// Jobs whose files are measured: as many as may be begun at once.
const MOST_MEASURED: usize = 64;
