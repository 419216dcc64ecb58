//! [`Core`]: the list of jobs with what every decision about them needs: writes that are under way, timers,
//! settings, and the actions for the driver. Pure.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use bergamot_engine::{Engine, Event as EngineEvent, Now};
use bergamot_queue::{Ending, JobState, ServerCount, Stage};
use bergamot_types::{ByteCount, JobId, Shown};
use tracing::{debug, info, warn};

use super::action::{Action, Change};
use super::event::StoreFailure;
use super::settings::Settings;
use super::spool_view::SpoolView;
use super::timers::{Timer, Timers};
use crate::admission::Admission;
use crate::ending::retention::Retention;
use crate::list::job_list::JobList;
use crate::pending_writes::{Next, PendingWrites};
use crate::record::Record;
use crate::record::outcome::{Outcome, ServerArticles};

#[derive(Debug)]
pub(super) struct Core<W> {
    pub(super) list: JobList,
    pub(super) admission: Admission,
    pub(super) retention: Retention,
    pub(super) timers: Timers,
    pub(super) settings: Settings,
    pub(super) spool: Arc<dyn SpoolView>,
    writes: PendingWrites<Waiter<W>>,
    /// Jobs whose removal will be answered.
    removing: HashSet<JobId>,
    actions: VecDeque<Action<W>>,
    /// Jobs whose files a task of post-processing works on.
    in_task: HashSet<JobId>,
    /// It was logged that jobs wait for room.
    waits_for_room: bool,
}

/// A caller or a step that waits until a record is on disk.
#[derive(Debug)]
enum Waiter<W> {
    Caller(W),
    /// Jobs that the record says are part of its own: their records are removed then.
    Joined(Vec<Record>),
}

/// When an event happened, and the engine as it is then.
#[derive(Clone, Copy)]
pub(super) struct Moment<'a> {
    pub(super) now: Now,
    pub(super) engine: &'a Engine,
}

impl<W> Core<W> {
    pub(super) fn new(now: Now, settings: Settings, spool: Arc<dyn SpoolView>) -> Self {
        let (keep, most) = (settings.keep, settings.most_kept);
        Self {
            list: JobList::default(),
            admission: Admission::new(settings.reserve),
            retention: Retention::new(now.instant, now.date, keep, most),
            timers: Timers::default(),
            settings,
            spool,
            writes: PendingWrites::default(),
            removing: HashSet::new(),
            actions: VecDeque::new(),
            in_task: HashSet::new(),
            waits_for_room: false,
        }
    }

    pub(super) fn set(&mut self, settings: Settings) {
        self.retention.set(settings.keep, settings.most_kept);
        // Other directories have to be surveyed before a job may go there.
        let is_same = self.settings.directories == settings.directories;
        if !is_same || self.settings.reserve != settings.reserve {
            self.admission.set_reserve(settings.reserve);
        }
        self.settings = settings;
    }

    pub(super) fn act(&mut self, action: Action<W>) {
        self.actions.push_back(action);
    }

    pub(super) fn tell(&mut self, event: EngineEvent) {
        self.act(Action::Tell(event));
    }

    pub(super) fn changed(&mut self, change: Change) {
        self.act(Action::Changed(change));
    }

    pub(super) fn poll_action(&mut self) -> Option<Action<W>> {
        self.actions.pop_front()
    }

    /// The job leaves the engine, or has left it.
    pub(super) fn close(&mut self, job: JobId) {
        self.admission.forget_files_of(job);
        self.in_task.remove(&job);
        self.act(Action::Close(job));
    }

    /// Its files are on their way to the destination, or will be as soon as the journal is written. Not
    /// while a move that failed waits to be tried again.
    pub(super) fn is_being_moved(&self, job: JobId) -> bool {
        let life = self.list.record(job).map(|record| record.life);
        life == Some(JobState::Post(Stage::Moving)) && self.in_task.contains(&job)
    }

    /// A task of post-processing works on the files of the job, or none does any more.
    pub(super) fn set_in_task(&mut self, job: JobId, is_in_task: bool) {
        match is_in_task {
            true => self.in_task.insert(job),
            false => self.in_task.remove(&job),
        };
    }

    pub(super) fn has_ended(&self, job: JobId) -> bool {
        self.list.record(job).is_some_and(|record| record.outcome.is_some())
    }

    /// Brings a job's record to the disk; changes while that is under way are written together.
    pub(super) fn write(&mut self, job: JobId) {
        let Some(record) = self.list.record(job) else { return };
        if self.writes.changed(job) {
            let record = Box::new(record.clone());
            self.act(Action::Write(record));
        }
    }

    pub(super) fn is_being_written(&self, job: JobId) -> bool {
        self.writes.is_pending(job)
    }

    /// The record will not be written again, but removed.
    pub(super) fn expect_removal(&mut self, job: JobId) {
        self.writes.changed(job);
        self.removing.insert(job);
    }

    /// `job` has become part of `whole`: so has what callers wait for.
    pub(super) fn wait_for_whole(&mut self, job: JobId, whole: JobId) {
        for waiter in self.writes.forget(job) {
            if let Some(waiter) = self.writes.wait(whole, waiter) {
                self.answer(waiter, &Ok(()), whole);
            }
        }
    }

    /// Returns the waiter if the record is on disk as it is.
    pub(super) fn await_write(&mut self, job: JobId, waiter: W) -> Option<W> {
        match self.writes.wait(job, Waiter::Caller(waiter))? {
            Waiter::Caller(waiter) => Some(waiter),
            Waiter::Joined(_) => None,
        }
    }

    /// These jobs are part of `job`: their records are removed as soon as its own is on disk.
    pub(super) fn remove_joined(&mut self, job: JobId, joined: Vec<Record>) {
        if let Some(Waiter::Joined(joined)) = self.writes.wait(job, Waiter::Joined(joined)) {
            self.act(Action::RemoveAll(joined));
        }
    }

    /// Records whose last change was not sent to the disk.
    pub(super) fn unwritten(&self) -> impl Iterator<Item = &Record> {
        self.writes.unsent().into_iter().filter_map(|job| self.list.record(job))
    }

    pub(super) fn on_written(&mut self, now: Now, job: JobId, result: &Result<(), StoreFailure>) {
        if let Err(why) = result {
            warn!(%job, "the record could not be written: {why}");
        }
        match self.end_write(job, result) {
            Next::Later => self.timers.set(Timer::Records, now.instant + DISK_PAUSE),
            Next::Again => match self.list.record(job) {
                Some(record) => {
                    let record = Box::new(record.clone());
                    self.act(Action::Write(record));
                }
                None => self.answer_if_pruned(job),
            },
            Next::Nothing => {}
        }
    }

    /// A removal that a caller may wait for has ended.
    pub(super) fn on_removed(&mut self, job: JobId, result: &Result<(), StoreFailure>) {
        if let Err(why) = result {
            warn!(%job, "not removed: {why}");
        }
        self.removing.remove(&job);
        for waiter in self.writes.forget(job) {
            match (&waiter, result) {
                // Whether the disk has it that they are part of this one shows at the next start.
                (Waiter::Joined(_), Err(_)) => {}
                _ => self.answer(waiter, result, job),
            }
        }
    }

    /// The history has forgotten the job meanwhile: there is nothing left to be written.
    fn answer_if_pruned(&mut self, job: JobId) {
        if self.removing.contains(&job) {
            return;
        }
        for waiter in self.writes.forget(job) {
            self.answer(waiter, &Ok(()), job);
        }
    }

    fn end_write(&mut self, job: JobId, result: &Result<(), StoreFailure>) -> Next {
        let (next, waiters) = self.writes.written(job, result.is_ok());
        for waiter in waiters {
            self.answer(waiter, result, job);
        }
        next
    }

    fn answer(&mut self, waiter: Waiter<W>, result: &Result<(), StoreFailure>, job: JobId) {
        match (waiter, result) {
            (Waiter::Caller(waiter), result) => {
                self.act(Action::Answer { waiter, result: result.clone() });
            }
            (Waiter::Joined(joined), Ok(())) => self.act(Action::RemoveAll(joined)),
            (Waiter::Joined(joined), Err(_)) => self.remove_joined(job, joined),
        }
    }

    pub(super) fn write_failed_again(&mut self) {
        for job in self.writes.failed() {
            match self.list.record(job).is_some() {
                true => self.write(job),
                false => self.answer_if_pruned(job),
            }
        }
    }

    /// With what the engine knows of the job.
    pub(super) fn outcome(&self, at: Moment<'_>, job: JobId, ending: Ending, why: &str) -> Outcome {
        let sequence = self.spool.next_sequence();
        let outcome = Outcome { sequence, ..Outcome::new(ending, at.now.date, why) };
        let Some(known) = at.engine.job(job) else { return outcome };
        let totals = known.totals();
        let active = self.list.active(job);
        let took = active.map_or(Duration::ZERO, |it| at.now.instant - it.started);
        let server = |(server, count): (_, ServerCount)| {
            let name = self.settings.server_names.get(&server).map_or("?", String::as_str);
            (name.to_owned(), ServerArticles { ok: count.got, failed: count.failed })
        };
        Outcome {
            downloaded: ByteCount(totals.bytes_done),
            download_seconds: took.as_secs(),
            articles_ok: totals.segments_done,
            articles_failed: totals.segments_lost,
            health: known.health(),
            critical_health: known.critical_health(),
            servers: known.servers().map(server).collect(),
            ..outcome
        }
    }

    /// It waits until there is room, and others go before it.
    pub(super) fn hold_back(&mut self, job: JobId, why: &str) {
        let is_news = self.list.hold(job, why);
        let Some(record) = self.list.record(job).filter(|_| is_news) else { return };
        self.admission.on_held();
        // Behind the first there may be thousands, and the reason is the same.
        match std::mem::replace(&mut self.waits_for_room, true) {
            false => warn!(%job, name = %Shown(&record.name), "waits: {why}"),
            true => debug!(%job, name = %Shown(&record.name), "waits: {why}"),
        }
        self.changed(Change::State(job));
        self.changed(Change::Room(Some(why.to_owned())));
    }

    /// A job has begun or ended: perhaps none waits for room any more.
    pub(super) fn check_room(&mut self) {
        if self.waits_for_room && self.list.held_count() == 0 {
            self.waits_for_room = false;
            info!("there is room again");
            self.changed(Change::Room(None));
        }
    }
}

/// The retry interval after a record could not be written or a job not be loaded.
pub(super) const DISK_PAUSE: Duration = Duration::from_secs(5);
