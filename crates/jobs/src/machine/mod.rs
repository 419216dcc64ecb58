//! [`Jobs`]: the machine that decides about all jobs above the engine. Pure.
//!
//! - `core`, `life_cycle`: the list with its writes and timers; jobs begin and end
//! - `loading`: which jobs are read in, by their order and by free space
//! - `merge_split`: jobs that become one, and files that become a job
//! - `event`, `action`: what the driver reports and carries out; `settings`, `spool_view`, `timers`

mod action;
mod core;
mod event;
mod life_cycle;
mod loading;
mod merge_split;
mod settings;
mod spool_view;
#[cfg(test)]
mod tests;
mod timers;

use std::sync::Arc;
use std::time::{Duration, Instant};

use bergamot_engine::{Engine, Event as EngineEvent, Now};
use bergamot_queue::Ending;
use bergamot_storage::VolumeId;
use bergamot_types::JobId;
use tracing::info;

use self::core::{Core, Moment};
use self::loading::Loading;
use self::merge_split::MergeSplit;
use crate::edit::{Delete, Edit, EditRefusal, Edits, Effects, HistoryEdit};
use crate::list::job_list::JobList;
use crate::pauses::{Part, Pause, Pauses};
use crate::record::{Record, Records};

pub use self::action::{Action, Change, SurveyRequest};
pub use self::event::{Disk, Event, Loaded, Ready, StoreFailure};
pub use self::merge_split::{MergeRequest, MergedFiles, SplitRequest};
pub use self::settings::{Category, JobDirectories, Settings};
pub use self::spool_view::SpoolView;
pub use self::timers::Timer;

/// All jobs, without I/O and without a clock. `W` is how the driver knows a caller that waits until a change
/// is on disk.
///
/// Drive it like this:
/// 1. once, call [`resume_queue`](Self::resume_queue);
/// 2. after [`handle`](Self::handle), a request ([`add`](Self::add), [`edit`](Self::edit),
///    [`split`](Self::split), [`merge`](Self::merge), [`pause`](Self::pause), ...) or an answer to one, call
///    [`poll_action`](Self::poll_action) until it returns `None` and carry each action out before the next
///    is polled. `Tell` is carried out when the engine has got the event and has no more orders; orders of
///    the engine that concern jobs (`FailJob`, `DeleteFiles`, a job paused by its health) are reported
///    here at once, their actions come behind those that are already there;
/// 3. arm one timer for [`poll_timeout`](Self::poll_timeout), replacing the last one.
///
/// Each `Load` is answered by [`Event::Loaded`] with its number, each `Write` by [`Event::Written`], each
/// `Remove` and `RemoveOpen` by [`Event::Removed`], each `DeleteFiles` and `DeleteOpenFiles` by
/// [`Event::FilesDeleted`], each `Survey` by [`Event::Surveyed`]; each request to
/// [split](Self::split) or [merge](Self::merge) ends with [`end_split`](Self::end_split) or
/// [`end_merge`](Self::end_merge). Records are written and removed in the order of their actions. An answer
/// for a job that is gone, or for an attempt to load that was superseded, changes nothing.
///
/// At most one write of each record, one survey and one load of each job that counts are under way. A
/// waiter that [`await_write`](Self::await_write) took is answered exactly once, by `Action::Answer`.
#[derive(Debug)]
pub struct Jobs<W> {
    core: Core<W>,
    loading: Loading,
    merge_split: MergeSplit,
    pauses: Pauses,
}

impl<W> Jobs<W> {
    /// With the records of the spool.
    pub fn new(now: Now, settings: Settings, spool: Arc<dyn SpoolView>, records: Records) -> Self {
        let mut core = Core::new(now, settings, spool);
        records.into_iter().for_each(|record| core.list.insert(record));
        core.spool.stay_below(core.list.bottom());
        let (loading, merge_split) = (Loading::default(), MergeSplit::default());
        Self { core, loading, merge_split, pauses: Pauses::default() }
    }

    /// A record that was made anew from its NZB, before [`resume_queue`](Self::resume_queue).
    pub fn insert(&mut self, record: Record) {
        self.core.list.insert(Box::new(record));
    }

    /// Goes on with what was queued. `suspects` were loaded whenever the last processes died, and are
    /// failed.
    pub fn resume_queue(&mut self, now: Now, engine: &Engine, suspects: &[JobId]) {
        self.core.resume_queue(Moment { now, engine }, suspects);
        self.loading.load_next(&mut self.core, Moment { now, engine });
    }

    pub fn handle(&mut self, now: Now, engine: &Engine, event: Event) {
        let at = Moment { now, engine };
        let core = &mut self.core;
        match event {
            Event::FilesUnwanted(job) => core.delete_open_files(job),
            Event::FilesDeleted { job, result } => core.on_files_deleted(job, &result),
            Event::Failed { job, failure, disk } => core.fail(at, job, failure, &disk),
            Event::FileGrows(file) => core.admission.on_growing_file(file),
            Event::FoundDelivered(jobs) => self.loading.load_delivered(core, &jobs),
            Event::FetchFailed { job, cause, reason } => {
                core.end(at, job, Ending::Failed(cause), &reason);
            }
            Event::JobPaused(job) => {
                core.list.set_paused(job, true);
                core.write(job);
                core.changed(Change::State(job));
            }
            Event::Loaded { job, number, loaded } => {
                let leaving = self.merge_split.leaving(job);
                self.loading.on_loaded(core, at, (job, number), loaded, leaving);
            }
            Event::Moved { job, check, destination, volume } => {
                let here = core.admission.volume(&core.settings.directories.incomplete).ok();
                core.admission.on_success([Some(volume), here].into_iter().flatten());
                core.complete(at, job, check, destination);
            }
            Event::NzbFetched { record, priority } => core.take_fetched(at, *record, priority),
            Event::Removed { job, result } => core.on_removed(job, &result),
            Event::ServerWorks => core.retry_after_outage(),
            Event::SettingsChanged(settings) => core.set(*settings),
            Event::Stage { job, stage } => core.enter(job, stage),
            Event::StepTask { job, is_in_task } => core.set_in_task(job, is_in_task),
            Event::Surveyed(survey) => self.loading.on_surveyed(core, at, *survey),
            Event::SurveyWanted => self.loading.survey(core),
            Event::Timeout => self.on_timeout(at),
            Event::VolumeFull(volume) => self.loading.on_full(core, at, volume),
            Event::Written { job, is_over, result } => {
                core.on_written(now, job, &result);
                if is_over && result.is_ok() {
                    core.on_end_written(now, job);
                }
            }
        }
        self.loading.load_next(&mut self.core, at);
    }

    fn on_timeout(&mut self, at: Moment<'_>) {
        let now = at.now.instant;
        while let Some(timer) = self.core.timers.take_due(now) {
            match timer {
                Timer::History => self.core.prune(at.now),
                Timer::Load => {} // behind every event
                Timer::Records => self.core.write_failed_again(),
                Timer::Rest(job) => {
                    self.core.end_rest(job);
                    self.core.retry_if_failed_by_outage(job);
                }
                Timer::Survey => self.loading.survey(&mut self.core),
            }
        }
        if self.pauses.end_due(now) {
            info!("resumed, as it was set");
            self.tell_pause();
            self.core.changed(Change::PauseEnded);
        }
    }

    pub fn poll_action(&mut self) -> Option<Action<W>> {
        self.core.poll_action()
    }

    pub fn poll_timeout(&self) -> Option<Instant> {
        [self.core.timers.next(), self.pauses.next_end()].into_iter().flatten().min()
    }

    /// A new job is in the spool. Returns the jobs that turn out to be of no use, itself perhaps: their ends
    /// are being written.
    pub fn add(&mut self, now: Now, engine: &Engine, record: Record) -> Vec<JobId> {
        let useless = self.core.add(Moment { now, engine }, record);
        self.loading.load_next(&mut self.core, Moment { now, engine });
        useless
    }

    /// Edits jobs, each with its result, or all of them with one. `Some` is the job whose record is on its
    /// way to the disk.
    pub fn edit(
        &mut self,
        now: Now,
        engine: &Engine,
        jobs: &[JobId],
        edit: &Edit,
    ) -> Vec<Result<Option<JobId>, EditRefusal>> {
        let at = Moment { now, engine };
        let edited = match edit {
            Edit::Move(place) => {
                let moved = self.core.change(at, |edits| edits.move_jobs(jobs, *place));
                moved.into_iter().zip(jobs).map(|(moved, job)| moved.map(|()| Some(*job))).collect()
            }
            Edit::Sort { by, descending } => {
                // Records are written in order: the last that changed stands for all.
                vec![Ok(self.core.change(at, |edits| edits.sort(jobs, *by, *descending)))]
            }
            edit => {
                let edited = jobs.iter().map(|job| (*job, self.edit_one(at, *job, edit)));
                edited.map(|(job, edited)| edited.map(|()| Some(job))).collect()
            }
        };
        for (job, edited) in jobs.iter().zip(&edited) {
            if edited.is_ok() {
                self.core.changed(Change::Edited(*job));
            }
        }
        self.loading.load_next(&mut self.core, at);
        edited
    }

    fn edit_one(&mut self, at: Moment<'_>, job: JobId, edit: &Edit) -> Result<(), EditRefusal> {
        let core = &mut self.core;
        core.list.record(job).ok_or(EditRefusal::NoSuchJob(job))?;
        let (is_queued, has_ended) = (core.list.is_queued(job), core.has_ended(job));
        match edit {
            // Some clients confuse the two lists when they delete.
            Edit::Delete(delete) if is_queued => core.delete(at, job, *delete),
            Edit::Delete(Delete::Finally) | Edit::History(HistoryEdit::Delete) if !is_queued => {
                core.remove(job);
                Ok(())
            }
            Edit::History(HistoryEdit::Delete) => core.delete(at, job, Delete::Finally),
            Edit::History(_) if !has_ended => Err(EditRefusal::NotEnded(job)),
            Edit::History(HistoryEdit::Redownload) => core.try_again(job, true),
            Edit::History(HistoryEdit::Retry) => core.try_again(job, false),
            Edit::History(edit) => core.change(at, |edits| edits.edit_history(job, edit)),
            Edit::SetName(name) => core.change(at, |edits| edits.set_name(job, name)),
            Edit::SetCategory(category) => core.set_category(at, job, category.as_deref()),
            Edit::SetParameter { name, value } => {
                core.change(at, |edits| edits.set_parameter(job, name, value))
            }
            Edit::SetDupeKey(_) | Edit::SetDupeScore(_) | Edit::SetDupeMode(_) => {
                core.change(at, |edits| edits.set_dupe(job, edit))
            }
            _ if has_ended => Err(EditRefusal::Ended(job)),
            Edit::Pause => core.change(at, |edits| edits.pause(job, true)),
            Edit::Resume => core.change(at, |edits| edits.pause(job, false)),
            Edit::SetPriority(priority) => {
                core.change(at, |edits| edits.set_priority(job, *priority))
            }
            Edit::Files { files, what } => {
                let leaving = self.merge_split.leaving(job);
                core.change(at, |edits| edits.edit_files(job, files, *what, leaving))
            }
            Edit::Delete(_) | Edit::Move(_) | Edit::Sort { .. } => Err(EditRefusal::NotQueued(job)),
        }
    }

    /// Begins to make a job of its own of files of which nothing has come yet.
    pub fn split(
        &mut self,
        now: Now,
        engine: &Engine,
        job: JobId,
        files: Vec<u32>,
        name: &str,
    ) -> Result<SplitRequest, EditRefusal> {
        self.merge_split.split(&mut self.core, Moment { now, engine }, job, files, name)
    }

    /// The new job is in the spool, or could not be made. The record of `job` is on its way to the disk.
    pub fn end_split<E>(
        &mut self,
        now: Now,
        engine: &Engine,
        job: JobId,
        new: Result<Record, E>,
    ) -> Result<JobId, E> {
        let at = Moment { now, engine };
        let ended = self.merge_split.end_split(&mut self.core, at, job, new);
        self.loading.load_next(&mut self.core, at);
        ended
    }

    /// Begins to make all others part of the first, if nothing of them has come yet.
    pub fn merge(
        &mut self,
        now: Now,
        engine: &Engine,
        jobs: &[JobId],
    ) -> Result<MergeRequest, EditRefusal> {
        self.merge_split.merge(&mut self.core, Moment { now, engine }, jobs)
    }

    /// The NZBs of these jobs were read, or could not be. The record of the first is on its way to the disk.
    pub fn end_merge<E: From<EditRefusal>>(
        &mut self,
        now: Now,
        engine: &Engine,
        jobs: &[JobId],
        merged: Result<MergedFiles, E>,
    ) -> Result<JobId, E> {
        let at = Moment { now, engine };
        let ended = self.merge_split.end_merge(&mut self.core, at, jobs, merged);
        self.loading.load_next(&mut self.core, at);
        ended
    }

    /// What was paused when the last process ended still is.
    pub fn restore_pauses(&mut self, pauses: Pauses) {
        self.pauses = pauses;
        if self.pauses.download.is_some() {
            self.tell_pause();
        }
    }

    pub fn pause(&mut self, now: Now, pause: &Pause) {
        self.pauses.pause(now, pause);
        info!(by = pause.author, "paused: {}", words(&pause.parts));
        self.tell_pause();
    }

    pub fn resume(&mut self, parts: &[Part]) {
        self.pauses.resume(parts);
        info!("resumed: {}", words(parts));
        self.tell_pause();
    }

    /// Resumes what a user has paused, after a time. What a quota, the schedule or the disk holds back stays
    /// so: those end by themselves.
    pub fn resume_in(&mut self, now: Now, after: Duration) {
        if self.pauses.end_after(now, after) {
            info!(pause = ?after, "to be resumed");
        }
        self.tell_pause();
    }

    fn tell_pause(&mut self) {
        self.core.tell(match self.pauses.download {
            Some(_) => EngineEvent::DownloadPaused,
            None => EngineEvent::DownloadResumed,
        });
    }

    /// Waits until the last change of a job's record is on disk. Returns the waiter if it is already.
    pub fn await_write(&mut self, job: JobId, waiter: W) -> Option<W> {
        self.core.await_write(job, waiter)
    }

    /// Records whose last change was not sent to the disk, because an earlier one is on its way.
    pub fn unwritten(&self) -> impl Iterator<Item = &Record> {
        self.core.unwritten()
    }

    pub fn list(&self) -> &JobList {
        &self.core.list
    }

    pub fn settings(&self) -> &Settings {
        &self.core.settings
    }

    pub fn pauses(&self) -> &Pauses {
        &self.pauses
    }

    /// What is going to be done, and when.
    pub fn timers(&self) -> impl Iterator<Item = (Timer, Instant)> {
        self.core.timers.all()
    }

    /// Its files are on their way to the destination.
    pub fn is_being_moved(&self, job: JobId) -> bool {
        self.core.is_being_moved(job)
    }

    /// Whether the result of an attempt to load the job counts.
    pub fn expects_load(&self, job: JobId, number: u64) -> bool {
        self.loading.expects(job, number)
    }

    /// Why no job can be loaded.
    pub fn load_trouble(&self) -> Option<&str> {
        self.loading.trouble()
    }

    /// The volume that jobs are downloaded to, by the last survey.
    pub fn incomplete_volume(&self) -> Option<VolumeId> {
        self.core.admission.volume(&self.core.settings.directories.incomplete).ok()
    }

    /// Every job that could be begun waits for the disk; why.
    pub fn stuck_for_room(&self) -> Option<&str> {
        let list = &self.core.list;
        if list.held_count() == 0 || list.active_jobs().next().is_some() {
            return None;
        }
        let mut held = list.queued().filter_map(|record| list.held_for(record.id));
        Some(held.next().unwrap_or("there is no room"))
    }
}

impl<W> Core<W> {
    /// Makes changes, and does what follows from them.
    fn change<T>(&mut self, at: Moment<'_>, change: impl FnOnce(&mut Edits<'_>) -> T) -> T {
        let mut edits = Edits::new(&mut self.list, at.engine);
        let changed = change(&mut edits);
        let Effects { engine, write } = edits.into_effects();
        for job in write {
            self.spool.stay_below(self.list.record(job).map_or(0, |record| record.rank));
            self.write(job);
        }
        engine.into_iter().for_each(|event| self.tell(event));
        changed
    }

    fn set_category(
        &mut self,
        at: Moment<'_>,
        job: JobId,
        category: Option<&str>,
    ) -> Result<(), EditRefusal> {
        let is_ending = self.list.is_queued(job) && self.has_ended(job);
        if is_ending || self.is_being_moved(job) {
            return Err(EditRefusal::BeingMoved(job));
        }
        let directories = &self.settings.directories;
        let known = category.and_then(|name| directories.category(name));
        let known = known.map(|known| known.name.clone());
        self.change(at, |edits| edits.set_category(job, known.as_deref().or(category)))
    }
}

fn words(parts: &[Part]) -> String {
    let words: Vec<_> = parts.iter().map(|part| part.word()).collect();
    words.join(", ")
}
