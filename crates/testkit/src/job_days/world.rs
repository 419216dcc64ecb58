//! [`World`]: one simulated day of jobs. It owns the driver of the engine and the site, and plays event by
//! event on one thread; `actions` carries out what the machine orders, `users` does what users do.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bergamot_engine::{DiskTrouble, Engine, Event as EngineEvent, Settings};
use bergamot_jobs::machine::{Event, Timer};
use bergamot_jobs::{Check, Jobs, Pauses};
use bergamot_post::{Event as StepEvent, Post};
use bergamot_storage::VolumeId;
use bergamot_types::JobId;

use super::checks::states;
use super::day::{Day, End};
use super::disk::DiskTask;
use super::kind::{Fired, Kind};
use super::planned::Planned;
use super::site::{Shared, Site};
use super::spool::Op;
use crate::drive::Driver;
use crate::sim::campaign::or_panic;
use crate::violation::{Checked, Violation, violated};

/// How a day ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    pub took: Duration,
    pub steps: u64,
    pub fired: Fired,
}

/// Plays a day to its end; what rule was broken, if one was, with all that happened.
pub fn run(day: &Day) -> Result<Outcome, Violation> {
    play(day, false).or_else(|_| run_with_log(day)).map_or_else(
        |broken| Err(Violation::new(format!("seed {}: {broken}", day.seed))),
        |told| Ok(told.0),
    )
}

/// The same, and all that happened, line by line.
pub fn run_with_log(day: &Day) -> Result<(Outcome, String), Violation> {
    play(day, true)
}

fn play(day: &Day, is_logged: bool) -> Result<(Outcome, String), Violation> {
    let start = Instant::now(); // any instant does: only differences matter
    let site = Shared(Rc::new(RefCell::new(Site::new(Rc::new(day.clone()), start, is_logged))));
    let played = or_panic(|| World::new(site.clone()).live(), |text| format!("panicked: {text}"));
    let log = site.get().timeline.take_log().unwrap_or_default();
    let now = site.get().timeline.now;
    match played {
        Ok(outcome) => Ok((outcome, log)),
        Err(broken) => violated!("{broken}, after {now:?}\n{day:#?}\n{log}"),
    }
}

pub(crate) struct World {
    pub(crate) driver: Driver<Shared, Shared, Shared>,
    pub(crate) site: Shared,
    steps: u64,
    steps_at_once: u32,
    last_end: Option<Duration>,
}

impl World {
    fn new(site: Shared) -> Self {
        let (now, settings) = {
            let site = &mut *site.get();
            plan_day(site);
            (site.timeline.time(), engine_settings(&site.day))
        };
        let engine = Engine::new(now.instant, settings);
        let parts = (site.clone(), site.clone(), site.clone());
        let driver = Driver::new(engine, now, parts.0, parts.1, parts.2);
        Self { driver, site, steps: 0, steps_at_once: 0, last_end: None }
    }

    fn live(&mut self) -> Result<Outcome, Violation> {
        self.begin_process()?;
        while !self.is_over() {
            self.steps += 1;
            if self.steps > MOST_STEPS {
                return violated!("it never ends");
            }
            self.step()?;
        }
        self.check_end()?;
        let site = &mut *self.site.get();
        let fired = std::mem::take(&mut site.timeline.fired);
        Ok(Outcome { took: site.timeline.now, steps: self.steps, fired })
    }

    /// Nothing goes wrong any more, every job has ended, and nothing is under way.
    fn is_over(&self) -> bool {
        let site = &*self.site.get();
        site.timeline.is_healed() && site.timeline.next_time().is_none() && has_ended_all(site)
    }

    fn check_end(&mut self) -> Checked {
        let site = &*self.site.get();
        site.checks.check_answered()?;
        site.checks.versions.check_written(site.jobs.list(), &site.spool)?;
        site.checks.accounts.check_end(site.jobs.list(), &site.spool)?;
        self.driver.check_end()
    }

    /// The first of what is to happen, to the end of all that follows from it at once.
    fn step(&mut self) -> Checked {
        let next = self.next_time();
        let Some((at, source)) = next.into_iter().flatten().min() else {
            return violated!("nothing will ever happen again");
        };
        let is_late = {
            let site = &mut *self.site.get();
            let timeline = &mut site.timeline;
            self.steps_at_once = if at > timeline.now { 0 } else { self.steps_at_once + 1 };
            timeline.now = timeline.now.max(at);
            timeline.now > site.day.heals_at + LIVENESS
        };
        if self.steps_at_once > MOST_AT_ONCE {
            return violated!("time stands still, and {source:?} is due again and again");
        }
        if is_late {
            return violated!("it does not finish");
        }
        match source {
            Source::Timeline => {
                let planned = self.site.get().timeline.take();
                planned.map_or(Ok(()), |planned| self.on_planned(planned))?;
            }
            Source::Engine => self.tell_engine(EngineEvent::Timeout)?,
            Source::Jobs => self.tell_jobs(Event::Timeout)?,
            Source::Post => self.tell_post(StepEvent::Timeout)?,
        }
        self.settle()
    }

    fn next_time(&self) -> [Option<(Duration, Source)>; 4] {
        let site = &*self.site.get();
        let time = |at: Option<Instant>, source| Some((site.timeline.since_start(at?), source));
        [
            site.timeline.next_time().map(|at| (at, Source::Timeline)),
            time(self.driver.engine.poll_timeout(), Source::Engine),
            time(site.jobs.poll_timeout(), Source::Jobs),
            time(site.post.poll_timeout(), Source::Post),
        ]
    }

    pub(crate) fn tell_engine(&mut self, event: EngineEvent) -> Checked {
        self.driver.now = self.site.get().timeline.time();
        self.driver.try_tell(event)
    }

    pub(crate) fn tell_jobs(&mut self, event: Event) -> Checked {
        self.site.get().tell_jobs(&self.driver.engine, event);
        Ok(())
    }

    fn tell_post(&mut self, event: StepEvent) -> Checked {
        let answers = self.site.get().tell_post(&self.driver.engine, event);
        answers.into_iter().try_for_each(|event| self.tell_engine(event))
    }

    /// Carries out all that follows, and checks what came of it.
    pub(crate) fn settle(&mut self) -> Checked {
        self.carry_out_actions()?;
        let site = &mut *self.site.get();
        if std::mem::take(&mut site.is_touched) {
            site.checks.versions.observe_all(site.jobs.list());
            states::check(site, &self.driver.engine)?;
            site.checks.accounts.check(site.jobs.list())?;
        }
        Ok(())
    }

    fn on_planned(&mut self, planned: Planned) -> Checked {
        match planned {
            Planned::Accepted(record) => self.accept(*record),
            Planned::Answer(connection) => {
                let event = {
                    let site = &mut *self.site.get();
                    site.servers.on_answer(&mut site.timeline, connection)
                };
                event.map_or(Ok(()), |event| self.tell_engine(event))
            }
            Planned::Dialled(connection) => {
                let event = {
                    let site = &mut *self.site.get();
                    site.servers.on_dialled(&mut site.timeline, connection)
                };
                event.map_or(Ok(()), |event| self.tell_engine(event))
            }
            Planned::DiskDone(task) => self.on_disk(task),
            Planned::Engine(event) => self.tell_engine(event),
            Planned::Jobs(event) => {
                if let Event::Written { job, .. } = event {
                    self.site.get().checks.end_write(job);
                }
                self.tell_jobs(event)
            }
            Planned::Loaded { job, number, loaded } => self.on_loaded(job, number, loaded),
            Planned::Merged { jobs, merged } => self.end_merge(&jobs, merged),
            Planned::NzbCame { job, is_there } => self.on_nzb(job, is_there),
            Planned::Opened { job, number, category } => self.on_opened(job, number, &category),
            Planned::Post(event) => self.tell_post(event),
            Planned::ReadBack { job, number, loaded } => {
                let site = &mut *self.site.get();
                site.spool.on_read_back(&mut site.timeline, job, number, loaded);
                Ok(())
            }
            Planned::Retry(job) => self.retry(job),
            Planned::SpoolDone => {
                let site = &mut *self.site.get();
                site.spool.on_done(&mut site.timeline, &mut site.disk)
            }
            Planned::Split { job, new } => self.end_split(job, new),
            Planned::SurveyDone(request) => self.on_surveyed(&request),
            Planned::Act => self.act(),
            Planned::Calendar(seconds) => {
                self.set_calendar(seconds);
                Ok(())
            }
            Planned::Heal => self.heal(),
            Planned::OutageBegins(server) => {
                let events = self.site.get().servers.on_outage(server);
                events.into_iter().try_for_each(|event| self.tell_engine(event))
            }
            Planned::ProcessEnds(end) => self.end_process(end),
        }
    }

    fn set_calendar(&mut self, seconds: i64) {
        let site = &mut *self.site.get();
        site.timeline.set_calendar(seconds);
        site.timeline.note(|| format!("the calendar is set by {seconds} s"));
        let is_back = seconds < 0;
        site.timeline.fire(if is_back { Kind::CalendarBack } else { Kind::CalendarForth });
        site.checks.on_jump(site.timeline.now, seconds);
    }

    fn on_disk(&mut self, task: DiskTask) -> Checked {
        let site = self.site.clone();
        let mut site = site.get();
        let Site { disk, timeline, .. } = &mut *site;
        timeline.note(|| format!("disk: {task:?}"));
        match task {
            DiskTask::Delete { mut record, and_record } => {
                let result = disk.delete_files_of(&record);
                result?;
                drop(site);
                if and_record {
                    record.directory = None;
                    return self.push(Op::Remove(record));
                }
                self.tell_jobs(Event::FilesDeleted { job: record.id, result: Ok(()) })
            }
            DiskTask::Finish { file, directory, articles } => {
                let result = disk.finish(timeline, file, &directory, articles)?;
                if result.is_ok() {
                    site.spool.journal(file.job).push_named(file.file);
                }
                drop(site);
                self.note_full(result, 0)?;
                self.tell_engine(EngineEvent::FileFinished { file, result })
            }
            DiskTask::Move { ticket, job, directory, files } => {
                let result = disk.deliver(timeline, job, &directory, &files)?;
                drop(site);
                self.note_full(result, 1)?;
                if result.is_ok() {
                    let (check, volume) = (Check::Crc, VolumeId(2));
                    let destination = format!("/complete/{job}");
                    self.tell_jobs(Event::Moved { job, check, destination, volume })?;
                }
                self.tell_post(StepEvent::TaskEnded { ticket, result })
            }
            DiskTask::Settle(job) => {
                disk.settle(job);
                let known = site.jobs.list().record(job);
                let is_over = known.is_none_or(|record| record.outcome.is_some());
                drop(site);
                if is_over { self.push(Op::ForgetJournal(job)) } else { Ok(()) }
            }
            DiskTask::Write { ticket, file, directory, place } => {
                let result = disk.write(timeline, file, &directory, place)?;
                drop(site);
                self.note_full(result, 0)?;
                self.tell_engine(EngineEvent::Written { ticket, result })
            }
        }
    }

    /// A full volume is reported to the machine of jobs before the engine gets the failed write.
    fn note_full(&mut self, result: Result<(), DiskTrouble>, volume: u64) -> Checked {
        match result {
            Err(DiskTrouble::Full) => {
                self.tell_jobs(Event::VolumeFull(Some(VolumeId(volume + 1))))?;
                self.carry_out_actions()
            }
            _ => Ok(()),
        }
    }

    /// All that is in memory is lost, and another process begins with what is on the disk.
    fn end_process(&mut self, end: End) -> Checked {
        {
            let site = &mut *self.site.get();
            site.timeline.note(|| format!("the process ends: {end:?}"));
            site.timeline.fire(if end == End::Stop { Kind::Stopped } else { Kind::Killed });
            let now = site.timeline.now;
            if self.last_end.replace(now).is_some_and(|last| now < last + Duration::from_secs(1)) {
                site.timeline.fire(Kind::KilledTwice);
            }
            let unwritten: Vec<_> = site.jobs.unwritten().cloned().collect();
            let versions = &site.checks.versions;
            let unwritten =
                unwritten.into_iter().map(|it| (versions.of(&it), it)).map(|(v, it)| (it, v));
            let unwritten = unwritten.collect();
            let Site { timeline, disk, spool, .. } = site;
            timeline.forget_process();
            spool.end_process(timeline, disk, end, unwritten)?;
            disk.forget_process(timeline);
            site.servers.forget_process();
            site.open.clear();
            site.loaded.clear();
            site.fetching.clear();
            site.checks.on_process_end(now);
        }
        self.begin_process()
    }

    fn begin_process(&mut self) -> Checked {
        let joined = {
            let site = &mut *self.site.get();
            let found = site.spool.start();
            if found.has_put_right {
                site.timeline.fire(Kind::PutRight);
            }
            site.checks.versions.restart(&site.spool)?;
            site.checks.accounts.restart(&site.spool)?;
            let now = site.timeline.time();
            let settings = site.jobs.settings().clone();
            let view = Arc::new(site.spool.index.clone());
            site.jobs = Jobs::new(now, settings, view, found.records);
            site.post = Post::new();
            let engine = Engine::new(now.instant, engine_settings(&site.day));
            self.driver.restart(engine, self.site.clone());
            for _ in &found.suspects {
                site.timeline.fire(Kind::Parked);
            }
            site.jobs.restore_pauses(Pauses::restore(now, site.spool.pauses.clone()));
            site.jobs.resume_queue(now, &self.driver.engine, &found.suspects);
            site.is_touched = true;
            for record in &found.joined {
                site.timeline.fire(Kind::JoinedAtStart);
                site.checks.accounts.on_leaving(record.id);
            }
            settle_again(site);
            find_delivered(site);
            found.joined
        };
        if !joined.is_empty() {
            self.push(Op::RemoveAll(joined))?;
        }
        self.settle()
    }

    pub(crate) fn push(&mut self, op: Op) -> Checked {
        let site = &mut *self.site.get();
        site.spool.push(&mut site.timeline, op);
        Ok(())
    }
}

/// No job is queued, or comes back by itself.
pub(crate) fn has_ended_all(site: &Site) -> bool {
    let is_waited_for = |(timer, _): (Timer, Instant)| {
        matches!(timer, Timer::Load | Timer::Records | Timer::Rest(_))
    };
    site.jobs.list().queued_count() == 0 && !site.jobs.timers().any(is_waited_for)
}

/// Which deadline comes first; of equal ones in this order.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Source {
    Timeline,
    Engine,
    Jobs,
    Post,
}

fn plan_day(site: &mut Site) {
    let day = site.day.clone();
    let timeline = &mut site.timeline;
    day.acts.iter().for_each(|at| timeline.plan_at(*at, Planned::Act));
    day.ends.iter().for_each(|(at, end)| timeline.plan_at(*at, Planned::ProcessEnds(*end)));
    for (at, seconds) in &day.jumps {
        timeline.plan_at(*at, Planned::Calendar(*seconds));
    }
    for (index, server) in day.servers.iter().enumerate() {
        for (from, _) in &server.outages {
            timeline.plan_at(*from, Planned::OutageBegins(index));
        }
    }
    timeline.plan_at(day.heals_at, Planned::Heal);
}

fn engine_settings(day: &Day) -> Settings {
    Settings {
        servers: day.servers.iter().map(|server| server.settings.clone()).collect(),
        health_action: day.health,
        seed: day.seed,
        ..Settings::default()
    }
}

/// Clears up behind jobs that completed when the last process had no time for it any more.
fn settle_again(site: &mut Site) {
    for job in site.spool.unsettled() {
        site.disk.begin(&mut site.timeline, DiskTask::Settle(job));
    }
}

/// The destinations are looked through for jobs whose records say that they are queued.
fn find_delivered(site: &mut Site) {
    let list = site.jobs.list();
    let is_queued = |job: &JobId| list.record(*job).is_some_and(|record| record.outcome.is_none());
    let found: Vec<_> = site.disk.delivered().filter(is_queued).collect();
    if !found.is_empty() {
        site.timeline.fire(Kind::FoundDelivered);
        let time = site.timeline.millis(0, 5000);
        site.timeline.plan_in(time, Planned::Jobs(Event::FoundDelivered(found)));
    }
}

/// Longer than any rest, and what they make necessary again.
const LIVENESS: Duration = Duration::from_secs(3 * 86_400);

/// Most days take a thousand.
const MOST_STEPS: u64 = 300_000;

/// At one moment.
const MOST_AT_ONCE: u32 = 5_000;
