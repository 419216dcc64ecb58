//! [`Site`]: all of a simulated day but the engine: the machine of jobs, the steps after a download, and the
//! models of everything around them. [`Shared`] is how the driver of the engine reaches it. Single-threaded.

use std::cell::{RefCell, RefMut};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Instant;

use bergamot_engine::{
    ConnectionId, Engine, Event as EngineEvent, Failure, HealthAction, Note, Notice, Now, Order,
    QuotaRecords, Ticket,
};
use bergamot_jobs::Jobs;
use bergamot_jobs::machine::{Disk as LastError, Event, SpoolView};
use bergamot_post::{Event as StepEvent, Order as StepOrder, Post, Task};
use bergamot_queue::{File, FileKey, FileState, Layout};
use bergamot_types::{JobId, ServerId};

use super::checks::Checks;
use super::day::Day;
use super::disk::{Disk, DiskTask};
use super::kind::Kind;
use super::planned::Planned;
use super::posts::Place;
use super::servers::Servers;
use super::spool::Spool;
use super::timeline::Timeline;
use crate::drive::{self, Context, Fetch, Host};
use crate::violation::{Checked, Violation};

pub(crate) struct Site {
    pub(crate) day: Rc<Day>,
    pub(crate) timeline: Timeline,
    pub(crate) jobs: Jobs<u64>,
    pub(crate) post: Post,
    pub(crate) spool: Spool,
    pub(crate) disk: Disk,
    pub(crate) servers: Servers,
    pub(crate) checks: Checks,
    /// Directories of jobs that the driver holds open.
    pub(crate) open: BTreeMap<JobId, Box<str>>,
    /// What was loaded and is neither used nor dropped yet.
    pub(crate) loaded: BTreeMap<JobId, Box<str>>,
    /// Jobs whose NZBs are being fetched.
    pub(crate) fetching: BTreeSet<JobId>,
    /// The machine has got an event since the last checks.
    pub(crate) is_touched: bool,
}

impl Site {
    pub(crate) fn new(day: Rc<Day>, start: Instant, is_logged: bool) -> Self {
        let timeline = Timeline::new(start, day.begins, day.heals_at, day.seed, is_logged);
        let spool = Spool::new(day.clone());
        let view: std::sync::Arc<dyn SpoolView> = std::sync::Arc::new(spool.index.clone());
        let jobs = Jobs::new(timeline.time(), day.settings.clone(), view, Vec::new());
        Self {
            timeline,
            jobs,
            post: Post::new(),
            spool,
            disk: Disk::new(day.clone()),
            servers: Servers::new(day.clone()),
            checks: Checks::default(),
            open: BTreeMap::new(),
            loaded: BTreeMap::new(),
            fetching: BTreeSet::new(),
            is_touched: true,
            day,
        }
    }

    /// Passes an event to the machine; the caller polls its actions.
    pub(crate) fn tell_jobs(&mut self, engine: &Engine, event: Event) {
        self.timeline.note(|| format!("jobs <- {event:?}"));
        self.is_touched = true;
        self.jobs.handle(self.timeline.time(), engine, event);
    }

    /// Passes an event to the machine of post-processing, and carries out its orders. Returns the events for the
    /// engine.
    pub(crate) fn tell_post(&mut self, engine: &Engine, event: StepEvent) -> Vec<EngineEvent> {
        let now = self.timeline.time().instant;
        let (mut answers, mut events) = (Vec::new(), vec![event]);
        while let Some(event) = events.pop() {
            self.timeline.note(|| format!("post <- {event:?}"));
            self.post.handle(now, event);
            while let Some(order) = self.post.poll_order() {
                match order {
                    StepOrder::JobProcessed { job, result } => {
                        answers.push(EngineEvent::JobProcessed { job, result });
                    }
                    StepOrder::Postponed { job, .. } => {
                        self.tell_jobs(engine, Event::StepTask { job, is_in_task: false });
                    }
                    StepOrder::Stage { job, stage, .. } => {
                        self.tell_jobs(engine, Event::Stage { job, stage });
                    }
                    StepOrder::Start { ticket, job, task } => {
                        self.tell_jobs(engine, Event::StepTask { job, is_in_task: true });
                        match task {
                            Task::Move { .. } => {
                                events.extend(self.start_move(engine, ticket, job));
                            }
                            Task::WriteJournal => {
                                self.spool.journal(job).sync();
                                let done = StepEvent::TaskEnded { ticket, result: Ok(()) };
                                let time = self.timeline.millis(0, self.day.state.latency);
                                self.timeline.plan_in(time, Planned::Post(done));
                            }
                        }
                    }
                }
            }
        }
        answers
    }

    /// A job that has ended meanwhile is not moved.
    fn start_move(
        &mut self,
        engine: &Engine,
        ticket: bergamot_post::Ticket,
        job: JobId,
    ) -> Vec<StepEvent> {
        let record = self.jobs.list().record(job).filter(|record| record.outcome.is_none());
        let (Some(_), Some(directory)) = (record, self.open.get(&job).cloned()) else {
            let ended = StepEvent::TaskEnded { ticket, result: Ok(()) };
            return vec![ended, StepEvent::JobRemoved(job)]; // the last is handled first
        };
        let known = engine.job(job).map(|known| known.files()).unwrap_or_default();
        let whole =
            (0..).zip(known).filter(|(_, file)| matches!(file.state(), FileState::Whole { .. }));
        let files = whole.map(|(index, _)| index).collect();
        let task = DiskTask::Move { ticket, job, directory, files };
        self.disk.begin(&mut self.timeline, task);
        Vec::new()
    }

    fn last_error(&self) -> LastError {
        self.disk.last_error()
    }
}

/// The site, as the parts of the driver see it.
#[derive(Clone)]
pub(crate) struct Shared(pub(crate) Rc<RefCell<Site>>);

impl Shared {
    pub(crate) fn get(&self) -> RefMut<'_, Site> {
        self.0.borrow_mut()
    }
}

impl drive::Servers for Shared {
    type Body = Place;

    fn connect(&mut self, _: &mut Context<'_>, connection: ConnectionId, server: ServerId) {
        let site = &mut *self.get();
        site.servers.connect(&mut site.timeline, connection, server);
    }

    fn disconnect(&mut self, _: &mut Context<'_>, connection: ConnectionId) {
        let site = &mut *self.get();
        site.servers.disconnect(&mut site.timeline, connection);
    }

    fn fetch(&mut self, cx: &mut Context<'_>, fetch: Fetch) {
        let site = &mut *self.get();
        let Some(place) = Place::of(fetch.id.as_str()) else {
            return cx.violate(Violation::new(format!("{} was never posted", fetch.id)));
        };
        if !fetch.control && !is_wanted(cx.engine, place) {
            let id = fetch.id;
            cx.violate(Violation::new(format!("{id} is asked for, and its jobs are paused")));
        }
        site.servers.fetch(&mut site.timeline, fetch.connection, fetch.ticket, place);
    }

    fn take_body(&mut self, ticket: Ticket) -> Option<Place> {
        self.get().servers.take_body(ticket)
    }

    fn admit(&mut self, _: &mut Context<'_>, connection: ConnectionId, ticket: Ticket, _: u64) {
        let site = &mut *self.get();
        site.servers.admit(&mut site.timeline, connection, ticket);
    }
}

/// Some job that is not paused wants the article.
fn is_wanted(engine: &Engine, place: Place) -> bool {
    let is_it = |file: &File| {
        let segment = place.segment;
        segment < file.segment_count()
            && Place::of(file.message_id(segment).as_str()) == Some(place)
    };
    let mut jobs = engine.jobs().filter(|job| !job.is_paused());
    jobs.any(|job| job.files().iter().any(is_it))
}

impl drive::Disk<Place> for Shared {
    fn write(
        &mut self,
        cx: &mut Context<'_>,
        ticket: Ticket,
        file: FileKey,
        _: u64,
        body: Option<Place>,
    ) {
        let site = &mut *self.get();
        let (Some(directory), Some(place)) = (site.open.get(&file.job).cloned(), body) else {
            return cx.violate(Violation::new(format!("{file:?} is written and not open")));
        };
        site.disk.begin(&mut site.timeline, DiskTask::Write { ticket, file, directory, place });
    }

    fn finish_file(&mut self, cx: &mut Context<'_>, file: FileKey, _: Layout) {
        let site = &mut *self.get();
        let Some(directory) = site.open.get(&file.job).cloned() else {
            return cx.violate(Violation::new(format!("{file:?} is finished and not open")));
        };
        let known = cx.engine.job(file.job).and_then(|job| job.files().get(file.file as usize));
        let articles = known.map_or(0, |known| known.segment_count() as usize);
        site.disk.begin(&mut site.timeline, DiskTask::Finish { file, directory, articles });
    }

    fn process_job(&mut self, cx: &mut Context<'_>, job: JobId, verified: bool) {
        let event = StepEvent::JobDownloaded { job, verified };
        let answers = self.get().tell_post(cx.engine, event);
        answers.into_iter().for_each(|answer| cx.answer(answer));
    }

    fn forget_job(&mut self, now: Now, job: JobId) {
        self.get().post.handle(now.instant, StepEvent::JobRemoved(job));
    }

    fn note(&mut self, _: &mut Context<'_>, note: Note) {
        let site = &mut *self.get();
        let job = match &note {
            Note::Forgotten { file } => file.job,
            Note::Reopened { key } | Note::Written { key, .. } => key.job,
        };
        let is_synced = site.timeline.one_in(3);
        let journal = site.spool.journal(job);
        journal.push(note);
        if is_synced {
            journal.sync();
        }
    }

    fn reserve(&mut self, cx: &mut Context<'_>, file: FileKey, _: u64) {
        let site = &mut *self.get();
        if site.timeline.strikes(site.day.disk.grows) {
            site.timeline.fire(Kind::FileGrows);
            site.tell_jobs(cx.engine, Event::FileGrows(file));
        }
    }

    fn persist(&mut self, cx: &mut Context<'_>, number: u64, _: QuotaRecords) {
        cx.answer(EngineEvent::Persisted { number, result: Ok(()) });
    }
}

impl Host for Shared {
    fn job_failed(&mut self, cx: &mut Context<'_>, job: JobId, failure: Failure) {
        let site = &mut *self.get();
        let disk = site.last_error();
        site.checks.on_failed(&mut site.timeline, &site.servers, cx, job, failure);
        site.tell_jobs(cx.engine, Event::Failed { job, failure, disk });
    }

    fn delete_files(&mut self, cx: &mut Context<'_>, job: JobId) {
        let site = &mut *self.get();
        site.timeline.fire(Kind::HealthDeleted);
        site.checks.on_files_unwanted(job);
        site.tell_jobs(cx.engine, Event::FilesUnwanted(job));
    }

    fn notice(&mut self, cx: &mut Context<'_>, notice: Notice) {
        let site = &mut *self.get();
        match notice {
            Notice::BeyondRepair { job, action: HealthAction::Pause, .. } => {
                site.timeline.fire(Kind::HealthPaused);
                site.tell_jobs(cx.engine, Event::JobPaused(job));
            }
            Notice::ServerWorks { .. } => {
                site.timeline.fire(Kind::ServerWorks);
                site.tell_jobs(cx.engine, Event::ServerWorks);
            }
            _ => {}
        }
    }

    fn on_event(&mut self, _: Now, event: &EngineEvent) -> Checked {
        self.get().timeline.note(|| match event {
            EngineEvent::JobAdded(job) => format!(
                "engine <- JobAdded {} with {} files, finished {:?}, paused {}",
                job.id,
                job.files.len(),
                job.finished,
                job.paused
            ),
            event => format!("engine <- {event:?}"),
        });
        Ok(())
    }

    fn on_order(&mut self, _: Now, order: &Order) -> Checked {
        let is_told = !matches!(order, Order::Lend { .. } | Order::Note(_) | Order::Persist { .. });
        if is_told {
            self.get().timeline.note(|| match order {
                Order::Fetch { connection, ticket, id, .. } => {
                    format!("engine -> Fetch {id} {ticket:?} on {connection}")
                }
                order => format!("engine -> {order:?}"),
            });
        }
        Ok(())
    }
}
