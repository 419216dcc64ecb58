//! Surveys of the volumes, and the jobs that begin, wait or stop by them. Main loop; the volumes are
//! surveyed in a task beside it, for a share may hang.

use std::path::{Path, PathBuf};

use bergamot_api::Event as News;
use bergamot_engine::{Event as EngineEvent, Hold};
use bergamot_jobs::admission::{
    Admission, Directories, IncompleteVolume, MOST_PASSED_OVER, NotAdmitted, Survey, may_be_stopped,
};
use bergamot_jobs::{Record, next_to_load};
use bergamot_queue::{FileKey, Step};
use bergamot_storage::{Claim, Reserve, VolumeId};
use bergamot_types::{JobId, SafeName, Shown};
use bergamot_writer::Root;
use tracing::{debug, info, warn};

use crate::clock;
use crate::disk::disk_info::DiskInfo;
use crate::event::Event;
use crate::periodic::Poll;
use crate::run::Daemon;
use crate::service_thread::service_task;
use crate::settings::JobSettings;

/// What the main loop knows of the room for jobs.
#[derive(Debug)]
pub(crate) struct Storage {
    disk_info: DiskInfo,
    admission: Admission,
    under_way: bool,
    is_told: bool, // that jobs wait
}

/// What is to be surveyed.
#[derive(Debug)]
struct Questions {
    incomplete: PathBuf,
    directories: Vec<PathBuf>, // `incomplete` among them
    begun: Vec<(JobId, SafeName)>,
}

impl Storage {
    pub(crate) fn new(disk_info: DiskInfo, reserve: Reserve) -> Self {
        Self { disk_info, admission: Admission::new(reserve), under_way: false, is_told: false }
    }

    pub(crate) fn set_reserve(&mut self, reserve: Reserve) {
        self.admission.set_reserve(reserve);
    }
}

fn directories<'a>(settings: &'a JobSettings, record: &Record) -> Directories<'a> {
    let destination = settings.configured_directory(record.category.as_deref());
    Directories { incomplete: &settings.incomplete, destination }
}

impl Daemon {
    /// Begins jobs that fit, in their order; those that do not are passed over until there is room.
    pub(crate) fn load_next(&mut self) {
        if self.targets.target(Poll::Loading).is_some() || self.settings.feeds_only() {
            return;
        }
        while let Some(job) = next_to_load(&self.jobs) {
            if self.jobs.passed_over() >= MOST_PASSED_OVER {
                break;
            }
            if self.storage.admission.needs_survey(clock::now().instant) {
                return self.survey();
            }
            match self.admit(job) {
                Ok(()) => self.begin_to_load(job),
                Err(why) => self.hold_back(job, why.to_string()),
            }
        }
        self.plan_survey();
    }

    fn admit(&mut self, job: JobId) -> Result<(), NotAdmitted> {
        let Some(record) = self.jobs.record(job) else { return Ok(()) };
        let settings = self.settings.jobs();
        let at = directories(&settings, record);
        self.storage.admission.admit(record, at, settings.wants_par2_volumes)
    }

    /// It waits until there is room, and others go before it.
    pub(crate) fn hold_back(&mut self, job: JobId, why: String) {
        let is_news = self.jobs.hold(job, &why);
        let Some(record) = self.jobs.record(job).filter(|_| is_news) else { return };
        self.storage.admission.on_held();
        // Behind the first there may be thousands, and the reason is the same.
        match std::mem::replace(&mut self.storage.is_told, true) {
            false => warn!(%job, name = %Shown(&record.name), "waits: {why}"),
            true => debug!(%job, name = %Shown(&record.name), "waits: {why}"),
        }
        let state = self.view().state_of(record);
        self.observers.hub().publish(News::JobState { job, state, reason: Some(why.clone()) });
        self.publish_disk(Some(why));
    }

    /// A job that runs gives up its turn; what it has written stays.
    fn stop_for_room(&mut self, job: JobId, why: String) {
        self.put_away(job);
        self.jobs.step(job, Step::PutBack);
        self.disk.close(job);
        self.jobs.stop(job);
        self.hold_back(job, why);
        self.notify_engine(EngineEvent::JobRemoved(job));
    }

    pub(crate) fn survey(&mut self) {
        if std::mem::replace(&mut self.storage.under_way, true) {
            return;
        }
        let settings = self.settings.jobs();
        let begun = self.jobs.waiting().filter_map(|record| {
            Some((record.id, SafeName::recorded(record.directory.as_deref()?)?))
        });
        let questions = Questions {
            incomplete: settings.incomplete.clone(),
            directories: settings.directories().into_iter().map(Path::to_owned).collect(),
            begun: begun.take(MOST_MEASURED).collect(),
        };
        let (disk_info, events) = (self.storage.disk_info.clone(), self.events.clone());
        service_task("survey", &self.events, async move {
            let survey = survey_volumes(&disk_info, questions).await;
            events.send(Event::Surveyed(Box::new(survey)));
        });
    }

    pub(crate) fn on_surveyed(&mut self, survey: Survey) {
        let now = clock::now().instant;
        self.storage.under_way = false;
        let spaces = self.storage.admission.note_volumes(now, survey);
        let running = self.running_claims();
        for (job, why) in self.storage.admission.handle_survey(now, &spaces, &running) {
            if self.jobs.record(job).is_some_and(may_be_stopped) {
                self.stop_for_room(job, why);
            }
        }
        self.see_to_incomplete();
        self.jobs.release_held();
        self.load_next();
    }

    /// No job waits for room any more.
    pub(crate) fn announce_room(&mut self) {
        if self.jobs.held_count() == 0 && std::mem::take(&mut self.storage.is_told) {
            info!("there is room again");
            self.publish_disk(None);
        }
    }

    fn see_to_incomplete(&mut self) {
        let settings = self.settings.jobs();
        match self.storage.admission.incomplete_volume(&settings.incomplete) {
            IncompleteVolume::Usable => {
                if self.engine.hold() == Some(Hold::Disk) {
                    self.notify_engine(EngineEvent::DiskReturned);
                }
            }
            IncompleteVolume::Full | IncompleteVolume::Silent => {}
            IncompleteVolume::Gone { why } => {
                let running = self.jobs.active_records().into_iter();
                let running = running.filter(|record| may_be_stopped(record));
                let running: Vec<_> = running.map(|record| record.id).collect();
                for job in running {
                    self.stop_for_room(job, why.clone());
                }
            }
        }
    }

    /// What the jobs that run will still write, in their order.
    fn running_claims(&self) -> Vec<(JobId, Vec<Claim>)> {
        let settings = self.settings.jobs();
        let claims_of = |record: &Record| {
            let job = self.engine.job(record.id)?;
            self.storage.admission.claims_of(job, directories(&settings, record))
        };
        self.jobs.active_records().into_iter().filter_map(claims_of).collect()
    }

    /// A write was refused for want of room.
    pub(crate) fn on_full(&mut self, volume: Option<VolumeId>) {
        self.storage.admission.on_full(clock::now().instant, volume);
        self.survey();
    }

    pub(crate) fn incomplete_volume(&self) -> Option<VolumeId> {
        self.storage.admission.volume(&self.settings.jobs().incomplete).ok()
    }

    pub(crate) fn note_growing(&mut self, file: FileKey) {
        self.storage.admission.on_growing_file(file);
    }

    pub(crate) fn forget_files_of(&mut self, job: JobId) {
        self.storage.admission.forget_files_of(job);
    }

    pub(crate) fn note_room_taken(&mut self, root: &Root) {
        let volumes = [Some(VolumeId(root.device())), self.incomplete_volume()];
        self.storage.admission.on_success(volumes.into_iter().flatten());
    }

    fn plan_survey(&mut self) {
        let waits = self.jobs.held_count() > 0 || self.engine.hold() == Some(Hold::Disk);
        let runs = self.jobs.active_jobs().next().is_some();
        let Some(pause) = self.storage.admission.next_survey(waits, runs) else {
            self.targets.remove(Poll::Storage);
            return;
        };
        let at = clock::now().instant + pause;
        // It may be planned for later than it is wanted now.
        if self.targets.target(Poll::Storage).is_some_and(|planned| planned.next_due > at) {
            self.targets.remove(Poll::Storage);
        }
        self.do_once(Poll::Storage, at);
    }
}

async fn survey_volumes(disk_info: &DiskInfo, questions: Questions) -> Survey {
    let Questions { incomplete, directories, begun } = questions;
    let looks: Vec<_> = directories
        .into_iter()
        .map(|path| {
            let disk_info = disk_info.clone();
            tokio::spawn(async move {
                let seen = disk_info.survey(&path).await;
                (path, seen)
            })
        })
        .collect();
    let mut volumes = Vec::new();
    for look in looks {
        volumes.extend(look.await);
    }
    Survey { volumes, begun: disk_info.measured(&incomplete, begun).await }
}

/// Jobs whose files are measured: as many as may be begun at once.
const MOST_MEASURED: usize = 64;
