//! Carries out the actions of the machine of jobs on a simulated day, and reports their results. Methods of
//! [`World`]. Single-threaded.

use std::sync::Arc;

use bergamot_engine::Event as EngineEvent;
use bergamot_jobs::Record;
use bergamot_jobs::admission::Survey;
use bergamot_jobs::engine_job::contents;
use bergamot_jobs::machine::{Action, Change, Event, Loaded, SurveyRequest};
use bergamot_queue::{Cause, Deletion, Ending, JobState};
use bergamot_types::JobId;

use super::disk::DiskTask;
use super::kind::Kind;
use super::planned::Planned;
use super::posts::fingerprint;
use super::site::Site;
use super::spool::Op;
use super::world::World;
use crate::violation::{Checked, violated};

impl World {
    pub(crate) fn carry_out_actions(&mut self) -> Checked {
        for _ in 0..MOST_ACTIONS {
            let action = self.site.get().jobs.poll_action();
            match action {
                None => return Ok(()),
                Some(action) => self.carry_out(action)?,
            }
        }
        violated!("the machine orders more and more")
    }

    fn carry_out(&mut self, action: Action<u64>) -> Checked {
        if let Action::Tell(event) = action {
            self.check_told(&event)?;
            return self.tell_engine(event);
        }
        let site = &mut *self.site.get();
        site.timeline.note(|| format!("jobs -> {action:?}"));
        match action {
            Action::Answer { waiter, result } => {
                site.checks.on_answer(&site.spool, waiter, &result)
            }
            Action::Changed(change) => note_change(site, &change),
            Action::Close(job) => {
                if site.open.remove(&job).is_some() {
                    site.spool.journal(job).sync();
                    if site.jobs.list().held_for(job).is_some() {
                        site.timeline.fire(Kind::StoppedForRoom);
                    }
                }
                Ok(())
            }
            Action::DeleteFiles(record) => {
                let known = site.jobs.list().record(record.id);
                site.checks.accounts.check_deletion(&record, known)?;
                site.spool.push(&mut site.timeline, Op::DeleteFiles(record));
                Ok(())
            }
            Action::DeleteOpenFiles(record) => {
                let known = site.jobs.list().record(record.id);
                site.checks.accounts.check_deletion(&record, known)?;
                begin_open(site, record, false)
            }
            Action::DropJournal(job) => {
                site.spool.push(&mut site.timeline, Op::DropJournal(job));
                Ok(())
            }
            Action::DropLoaded(job) => match site.loaded.remove(&job) {
                Some(_) => Ok(()),
                None => violated!("nothing was loaded for job {job} that could be dropped"),
            },
            Action::Fetch(job) => {
                site.fetching.insert(job);
                let is_there = !site.timeline.one_in(4);
                let time = site.timeline.millis(1, 60_000);
                site.timeline.plan_in(time, Planned::NzbCame { job, is_there });
                Ok(())
            }
            Action::ForgetCrashes(job) => {
                site.spool.push(&mut site.timeline, Op::ForgetCrashes(job));
                Ok(())
            }
            Action::ForgetJournal(job) => {
                site.spool.push(&mut site.timeline, Op::ForgetJournal(job));
                Ok(())
            }
            Action::Load { job, number, category } => {
                let is_slow = site.timeline.strikes(100);
                let longest = if is_slow { 30_000 } else { site.day.disk.latency };
                let time = site.timeline.millis(0, longest);
                site.timeline.plan_in(time, Planned::Opened { job, number, category });
                Ok(())
            }
            Action::Open(job) => match site.loaded.remove(&job) {
                Some(directory) => match site.open.insert(job, directory) {
                    None => Ok(()),
                    Some(_) => violated!("job {job} is opened twice"),
                },
                None => violated!("nothing was loaded for job {job} that could be opened"),
            },
            Action::Remove(record) => {
                site.checks.accounts.on_removal(record.id)?;
                site.spool.push(&mut site.timeline, Op::Remove(record));
                Ok(())
            }
            Action::RemoveOpen(record) => {
                site.checks.accounts.on_removal(record.id)?;
                begin_open(site, record, true)
            }
            Action::RemoveAll(records) => {
                check_pruned(site, &records)?;
                site.spool.push(&mut site.timeline, Op::RemoveAll(records));
                Ok(())
            }
            Action::Settle(record) => {
                site.disk.begin(&mut site.timeline, DiskTask::Settle(record.id));
                Ok(())
            }
            Action::StopFetching(job) => {
                site.fetching.remove(&job);
                Ok(())
            }
            Action::Survey(request) => {
                site.checks.begin_survey()?;
                // On long days volumes answer late: surveys every few seconds would be all there is.
                let quiet = site.day.heals_at.as_millis() as u64;
                let quiet = if quiet < LONG || site.timeline.is_healed() { 0 } else { quiet / 200 };
                let time = site.timeline.millis(1, 1 + site.day.disk.latency * 2 + quiet);
                site.timeline.plan_in(time, Planned::SurveyDone(request));
                Ok(())
            }
            Action::Tell(_) => Ok(()),
            Action::Write(record) => {
                site.checks.begin_write(record.id)?;
                // The history may have forgotten it since; then this is the last of it.
                let current = site.jobs.list().record(record.id);
                site.checks.versions.observe(current.unwrap_or(&record));
                let version = site.checks.versions.of(&record);
                site.spool.push(&mut site.timeline, Op::Write { record, version });
                Ok(())
            }
        }
    }

    /// The machine sends the engine no event about a job that the engine does not have.
    fn check_told(&self, event: &EngineEvent) -> Checked {
        let job = match event {
            EngineEvent::FileDropped(file)
            | EngineEvent::FilePaused(file)
            | EngineEvent::FileResumed(file) => file.job,
            EngineEvent::FilesAdded { job, .. }
            | EngineEvent::FilesOrdered { job, .. }
            | EngineEvent::JobPaused(job)
            | EngineEvent::JobPlaced { job, .. }
            | EngineEvent::JobRemoved(job)
            | EngineEvent::JobResumed(job) => *job,
            EngineEvent::JobAdded(new) => {
                return match self.driver.engine.job(new.id) {
                    None => Ok(()),
                    Some(_) => violated!("job {} is added to the engine twice", new.id),
                };
            }
            _ => return Ok(()),
        };
        match self.driver.engine.job(job) {
            Some(_) => Ok(()),
            None => violated!("the engine does not have job {job}, and gets {event:?}"),
        }
    }

    pub(crate) fn on_opened(
        &mut self,
        job: JobId,
        number: u64,
        category: &Option<Arc<str>>,
    ) -> Checked {
        let record = {
            let site = &*self.site.get();
            let list = site.jobs.list();
            list.record(job).filter(|_| list.is_loading(job)).cloned()
        };
        let busy = {
            let site = &*self.site.get();
            site.disk.busy_until(job).filter(|busy| *busy > site.timeline.now)
        };
        if let Some(busy) = busy {
            // A job that was active a moment ago is loaded behind what is still written to its files.
            let category = category.clone();
            let timeline = &mut self.site.get().timeline;
            timeline.plan_at(busy, Planned::Opened { job, number, category });
            return Ok(());
        }
        let is_expected = self.site.get().jobs.expects_load(job, number);
        if !is_expected {
            self.site.get().timeline.fire(Kind::LoadSuperseded);
        }
        let Some(record) = record.filter(|_| is_expected) else {
            let loaded = Loaded::Held { why: "it is of no use".to_owned() };
            return self.tell_jobs(Event::Loaded { job, number, loaded });
        };
        let site = &mut *self.site.get();
        site.checks.versions.observe(&record);
        let (version, record) = (site.checks.versions.of(&record), Box::new(record));
        site.spool.push(&mut site.timeline, Op::Load { number, record, version });
        Ok(())
    }

    pub(crate) fn on_loaded(&mut self, job: JobId, number: u64, loaded: Loaded) -> Checked {
        {
            let site = &mut *self.site.get();
            if !site.jobs.expects_load(job, number) {
                return Ok(());
            }
            if !site.jobs.list().is_loading(job) {
                site.timeline.fire(Kind::LoadUnwanted);
            }
            if let Loaded::Ready(ready) = &loaded {
                let directory = ready.record.directory.clone().unwrap_or_default();
                site.loaded.insert(job, directory);
            }
            site.spool.push(&mut site.timeline, Op::Heard(job));
        }
        self.tell_jobs(Event::Loaded { job, number, loaded })
    }

    pub(crate) fn on_surveyed(&mut self, request: &SurveyRequest) -> Checked {
        let survey = {
            let site = &mut *self.site.get();
            site.checks.end_survey();
            let Site { disk, timeline, .. } = site;
            let look = |path: &std::path::PathBuf| (path.clone(), disk.survey(timeline, path));
            let volumes = request.directories.iter().map(look).collect();
            let begun = request.begun.iter();
            let begun = begun.map(|(job, name)| (*job, disk.used_by(name.as_str()))).collect();
            Survey { volumes, begun }
        };
        self.tell_jobs(Event::Surveyed(Box::new(survey)))
    }

    /// The NZB of a job comes from its address, or never will.
    pub(crate) fn on_nzb(&mut self, job: JobId, is_there: bool) -> Checked {
        let event = {
            let site = &mut *self.site.get();
            let record = site.jobs.list().record(job).cloned();
            let is_wanted = |it: &Record| it.life == JobState::Fetching && it.outcome.is_none();
            let Some(mut record) = record.filter(is_wanted).filter(|_| site.fetching.remove(&job))
            else {
                return Ok(());
            };
            if is_there {
                site.timeline.fire(Kind::NzbFetched);
                let post = record.url.as_deref().and_then(|url| url.parse().ok()).unwrap_or(0);
                let nzb = site.day.posts.nzb(post);
                (record.fingerprint, record.contents) = (fingerprint(&nzb), contents(&nzb));
                let priority = record.priority_is_open.then_some(50);
                record.priority_is_open = false;
                site.spool.put_nzb(job, nzb.into());
                Event::NzbFetched { record: Box::new(record), priority }
            } else {
                site.timeline.fire(Kind::NzbFailed);
                Event::FetchFailed { job, cause: Cause::Fetch, reason: "job.fetch".to_owned() }
            }
        };
        self.tell_jobs(event)
    }
}

/// The files of a job that is open are deleted behind all that is still written to them.
fn begin_open(site: &mut Site, record: Box<Record>, and_record: bool) -> Checked {
    if !site.open.contains_key(&record.id) {
        return violated!("job {} is not open, and its open files are deleted", record.id);
    }
    site.disk.begin(&mut site.timeline, DiskTask::Delete { record, and_record });
    Ok(())
}

fn note_change(site: &mut Site, change: &Change) -> Checked {
    match change {
        Change::Ended(record) => match record.ending() {
            Some(Ending::Completed { .. }) => site.timeline.fire(Kind::Completed),
            Some(Ending::Failed(Cause::Propagating)) => {
                site.timeline.fire(Kind::FailedPropagating);
            }
            Some(Ending::Deleted(Deletion::Copy)) => site.timeline.fire(Kind::CopyRefused),
            _ => {}
        },
        Change::PauseEnded => {
            site.timeline.fire(Kind::PauseEnded);
            site.spool.pauses = site.jobs.pauses().all().map(|(_, paused)| paused.cloned());
        }
        Change::State(job) => {
            let list = site.jobs.list();
            let is_put_back = list.resting(*job).is_some_and(|rest| rest.failure.is_some());
            let is_held = list.held_for(*job).is_some() && !list.is_loading(*job);
            if is_put_back {
                site.timeline.fire(Kind::PutBack);
            }
            if is_held {
                site.timeline.fire(Kind::HeldForRoom);
            }
        }
        Change::Added(_) | Change::Edited(_) | Change::Removed(_) | Change::Room(_) => {}
    }
    Ok(())
}

/// Jobs are removed without a user only if they are part of another, or retention allows it.
fn check_pruned(site: &mut Site, records: &[Record]) -> Checked {
    let now = site.timeline.time();
    let Site { jobs, checks, timeline, .. } = site;
    let settings = jobs.settings();
    let list = jobs.list();
    for record in records {
        if checks.accounts.is_leaving(record.id) {
            continue;
        }
        let Some(outcome) = &record.outcome else {
            return violated!("job {} is removed, which has not ended", record.id);
        };
        let ended = list.history().chain(list.queued()).chain(records);
        let ended = ended.filter_map(|it| it.outcome.as_ref());
        let newer = ended.filter(|it| it.sequence > outcome.sequence).count();
        let age = now.date.0 - outcome.ended.0;
        let is_old = age > settings.keep.as_secs() as i64;
        if newer >= settings.most_kept {
            timeline.fire(Kind::PrunedByNumber);
        } else if is_old && checks.is_clock_plausible(timeline.now) {
            timeline.fire(Kind::PrunedByAge);
        } else {
            return violated!(
                "job {} is removed from the history, {age} s old and with {newer} newer ones",
                record.id
            );
        }
        checks.accounts.on_leaving(record.id);
    }
    // Jobs that became part of another are no matter of retention.
    let is_pruned = records.iter().any(|record| record.outcome.is_some());
    let (kept, most) = (list.history().count(), settings.most_kept);
    match kept <= most || !is_pruned {
        true => Ok(()),
        false => violated!("{kept} jobs are left in the history, and {most} allowed"),
    }
}

/// From so many milliseconds on a day is a long one.
const LONG: u64 = 7_000_000;

/// Far more than one event leads to.
const MOST_ACTIONS: usize = 2_000;
