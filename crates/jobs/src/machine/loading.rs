//! [`Loading`]: which jobs are read in and when the volumes are surveyed for that. Pure.

use std::collections::HashMap;
use std::path::Path;

use bergamot_engine::{Event as EngineEvent, Hold};
use bergamot_queue::JobState;
use bergamot_storage::{Claim, VolumeId};
use bergamot_types::{JobId, SafeName, Shown};
use tracing::{info, warn};

use super::action::{Action, SurveyRequest};
use super::core::{Core, DISK_PAUSE, Moment};
use super::event::Loaded;
use super::settings::JobDirectories;
use super::timers::Timer;
use crate::admission::{
    Directories, IncompleteVolume, MOST_PASSED_OVER, NotAdmitted, Survey, may_be_stopped,
};
use crate::list::load_window::next_to_load;
use crate::record::Record;

/// Attempts to load jobs, and the survey that is under way.
#[derive(Debug, Default)]
pub(super) struct Loading {
    last: u64,
    /// The last attempt to load each job, as long as nothing came of it.
    attempts: HashMap<JobId, u64>,
    is_surveying: bool,
    /// Why jobs could not be loaded, as the log says.
    trouble: Option<String>,
}

impl Loading {
    /// Loads jobs that fit, in their order; those that do not are passed over until there is room.
    pub(super) fn load_next<W>(&mut self, core: &mut Core<W>, at: Moment<'_>) {
        if core.timers.is_set(Timer::Load) || core.settings.feeds_only {
            return;
        }
        while let Some(job) = next_to_load(&core.list) {
            if core.list.passed_over() >= MOST_PASSED_OVER {
                break;
            }
            if core.admission.needs_survey(at.now.instant) {
                return self.survey(core);
            }
            match admit(core, job) {
                Ok(()) => self.begin(core, job),
                Err(why) => core.hold_back(job, &why.to_string()),
            }
        }
        // One that is under way is waited for, however long a share takes to answer.
        if !self.is_surveying {
            plan_survey(core, at);
        }
    }

    pub(super) fn trouble(&self) -> Option<&str> {
        self.trouble.as_deref()
    }

    fn begin<W>(&mut self, core: &mut Core<W>, job: JobId) {
        let Some(category) = core.list.begin_to_load(job) else { return };
        // A load whose result is of no use may not be answered at all.
        if self.attempts.len() > MOST_ATTEMPTS {
            self.attempts.retain(|job, _| core.list.is_loading(*job));
        }
        self.last += 1;
        self.attempts.insert(job, self.last);
        core.act(Action::Load { job, number: self.last, category });
    }

    /// The last process was killed before their ends were on record: they are loaded now, though they may
    /// be paused or far back in the queue.
    pub(super) fn load_delivered<W>(&mut self, core: &mut Core<W>, jobs: &[JobId]) {
        for &job in jobs {
            let is_waiting = core.list.is_queued(job)
                && core.list.active(job).is_none()
                && !core.list.is_loading(job)
                && !core.has_ended(job);
            let is_fetching = |record: &Record| record.life == JobState::Fetching;
            if is_waiting && !core.list.record(job).is_some_and(is_fetching) {
                self.begin(core, job);
            }
        }
    }

    /// Whether the result of that attempt counts: a job that ended while its files were read back, and was
    /// tried again, has another one under way.
    pub(super) fn expects(&self, job: JobId, number: u64) -> bool {
        self.attempts.get(&job).is_none_or(|last| *last == number)
    }

    /// `leaving` are files of the job that are being split off.
    pub(super) fn on_loaded<W>(
        &mut self,
        core: &mut Core<W>,
        at: Moment<'_>,
        (job, number): (JobId, u64),
        loaded: Loaded,
        leaving: &[u32],
    ) {
        if !self.expects(job, number) {
            // The attempt that is under way may have a directory of the same name, which has to stay.
            return;
        }
        self.attempts.remove(&job);
        // It may have ended meanwhile.
        if core.list.end_loading(job) {
            self.use_loaded(core, at, job, loaded, leaving);
        } else if let Loaded::Ready(ready) = loaded {
            // Where its files are deleted already, that is done behind the load, and another job may have a
            // directory of that name since.
            let is_left = |record: &Record| {
                let discards = record.outcome.as_ref().is_some_and(|outcome| outcome.discard);
                record.directory != ready.record.directory && !discards
            };
            if core.list.record(job).is_some_and(is_left) {
                core.act(Action::DeleteFiles(Box::new(ready.record)));
                // The disk has a record that names the directory.
                core.write(job);
            }
            core.act(Action::DropLoaded(job));
        }
    }

    fn use_loaded<W>(
        &mut self,
        core: &mut Core<W>,
        at: Moment<'_>,
        job: JobId,
        loaded: Loaded,
        leaving: &[u32],
    ) {
        match loaded {
            Loaded::Ready(ready) => {
                self.trouble = None;
                core.start(at, *ready, leaving);
            }
            Loaded::Done(record) => {
                info!(%job, destination = record.destination(), "had been completed");
                core.note_ended_elsewhere(at.now, *record);
            }
            Loaded::Failed(record) => {
                core.log_failure(&record);
                core.note_ended_elsewhere(at.now, *record);
            }
            Loaded::Outdated => {}
            Loaded::Held { why } => core.hold_back(job, &why),
            Loaded::Waits { why } => self.wait(core, at, job, why),
        }
    }

    /// What hinders one job hinders the others too; so they all wait, and that is logged once.
    fn wait<W>(&mut self, core: &mut Core<W>, at: Moment<'_>, job: JobId, why: String) {
        if self.trouble.as_ref() != Some(&why) {
            let name = core.list.record(job).map_or("", |record| &*record.name);
            warn!(%job, name = %Shown(name), "cannot be started yet: {why}");
        }
        self.trouble = Some(why);
        core.timers.set(Timer::Load, at.now.instant + DISK_PAUSE);
    }

    pub(super) fn survey<W>(&mut self, core: &mut Core<W>) {
        if std::mem::replace(&mut self.is_surveying, true) {
            return;
        }
        let begun = core.list.waiting().filter_map(|record| {
            Some((record.id, SafeName::recorded(record.directory.as_deref()?)?))
        });
        let begun = begun.take(MOST_MEASURED).collect();
        let directories = &core.settings.directories;
        core.act(Action::Survey(SurveyRequest {
            incomplete: directories.incomplete.clone(),
            directories: directories.all().into_iter().map(Path::to_owned).collect(),
            begun,
        }));
    }

    pub(super) fn on_surveyed<W>(&mut self, core: &mut Core<W>, at: Moment<'_>, survey: Survey) {
        self.is_surveying = false;
        let spaces = core.admission.note_volumes(at.now.instant, survey);
        let running = running_claims(core, at);
        for (job, why) in core.admission.handle_survey(at.now.instant, &spaces, &running) {
            if core.list.record(job).is_some_and(may_be_stopped) {
                core.stop_for_room(job, &why);
            }
        }
        check_incomplete(core, at);
        core.list.release_held();
    }

    /// A write was refused for want of room.
    pub(super) fn on_full<W>(
        &mut self,
        core: &mut Core<W>,
        at: Moment<'_>,
        volume: Option<VolumeId>,
    ) {
        core.admission.on_full(at.now.instant, volume);
        self.survey(core);
    }
}

fn admit<W>(core: &mut Core<W>, job: JobId) -> Result<(), NotAdmitted> {
    let Some(record) = core.list.record(job) else { return Ok(()) };
    let at = directories(&core.settings.directories, record);
    core.admission.admit(record, at, core.settings.wants_par2_volumes)
}

fn directories<'a>(all: &'a JobDirectories, record: &Record) -> Directories<'a> {
    let destination = all.configured(record.category.as_deref());
    Directories { incomplete: &all.incomplete, destination }
}

fn check_incomplete<W>(core: &mut Core<W>, at: Moment<'_>) {
    match core.admission.incomplete_volume(&core.settings.directories.incomplete) {
        IncompleteVolume::Usable => {
            if at.engine.hold() == Some(Hold::Disk) {
                core.tell(EngineEvent::DiskReturned);
            }
        }
        IncompleteVolume::Full | IncompleteVolume::Silent => {}
        IncompleteVolume::Gone { why } => {
            let running = core.list.active_records().into_iter();
            let running = running.filter(|record| may_be_stopped(record));
            let running: Vec<_> = running.map(|record| record.id).collect();
            for job in running {
                core.stop_for_room(job, &why);
            }
        }
    }
}

/// What the jobs that run will still write, in their order.
fn running_claims<W>(core: &Core<W>, at: Moment<'_>) -> Vec<(JobId, Vec<Claim>)> {
    let claims_of = |record: &Record| {
        let job = at.engine.job(record.id)?;
        core.admission.claims_of(job, directories(&core.settings.directories, record))
    };
    core.list.active_records().into_iter().filter_map(claims_of).collect()
}

fn plan_survey<W>(core: &mut Core<W>, at: Moment<'_>) {
    let waits = core.list.held_count() > 0 || at.engine.hold() == Some(Hold::Disk);
    let runs = core.list.active_jobs().next().is_some();
    match core.admission.next_survey(waits, runs) {
        // It may be planned for later than it is wanted now.
        Some(pause) => core.timers.set_sooner(Timer::Survey, at.now.instant + pause),
        None => core.timers.remove(Timer::Survey),
    }
}

/// Far more than are loaded at once.
const MOST_ATTEMPTS: usize = 1024;

/// Jobs whose files are measured: as many as may be begun at once.
const MOST_MEASURED: usize = 64;
