//! [`World`]: one simulated day. It owns the driver, the schedule and the virtual time, and plays on
//! one thread.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;
use std::time::{Duration, Instant};

use bergamot_engine::{Engine, ErrandId, Event, Now, Order, Sampled, Settings, Trouble};
use bergamot_queue::SegmentKey;
use bergamot_types::{ByteCount, JobId, MessageId, ServerId, UnixTime};

use crate::drive::Driver;
use crate::sim::day::Day;
use crate::sim::day::post::Post;
use crate::sim::day::user_action::UserAction;
use crate::sim::disk::{Disk, SimDisk};
use crate::sim::event_queue::EventQueue;
use crate::sim::invariants::jobs::Verdict;
use crate::sim::invariants::quota_check::QuotaCheck;
use crate::sim::invariants::tickets::TicketCheck;
use crate::sim::journal::Journal;
use crate::sim::kind::{Fired, Kind};
use crate::sim::log::Log;
use crate::sim::models::Servers;
use crate::sim::network::{Network, News, SimServers};
use crate::sim::observer::Observer;
use crate::sim::seed::Seed;
use crate::sim::wires::Wires;
use crate::violation::{Checked, Violation, violated};

/// How a day ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    pub took: Duration,
    pub steps: u64,
    pub verdicts: BTreeMap<Verdict, usize>,
    pub fired: Fired,
    /// The same for two runs of one seed.
    pub sum: u64,
}

/// Plays a day to its end; what rule was broken, if one was.
pub fn run(day: &Day) -> Result<Outcome, Violation> {
    play(day, false, None).map(|(outcome, _)| outcome)
}

/// The same; `watcher` is called with every event and order.
pub fn run_watched<'w>(day: &Day, watcher: &'w mut Watcher<'w>) -> Result<Outcome, Violation> {
    play(day, false, Some(watcher)).map(|(outcome, _)| outcome)
}

pub type Watcher<'w> = dyn FnMut(Duration, Seen<'_>) + 'w;

/// What a watcher sees.
#[derive(Debug)]
pub enum Seen<'a> {
    Event(&'a Event),
    Order(&'a Order),
}

/// The same, and all that happened, line by line.
pub fn run_with_log(day: &Day) -> Result<(Outcome, String), Violation> {
    play(day, true, None)
}

fn play<'w>(
    day: &Day,
    as_text: bool,
    watcher: Option<&'w mut Watcher<'w>>,
) -> Result<(Outcome, String), Violation> {
    let post = Post::new(day);
    let start = Instant::now(); // any instant does: only differences matter
    let mut world = World::new(day, &post, start, as_text, watcher);
    match world.live() {
        Ok(outcome) => Ok((outcome, world.driver.host.log.into_text())),
        Err(broken) => {
            let (seed, now) = (day.seed, world.now);
            violated!(
                "seed {seed}: {broken}, after {now:?}\n{day:#?}\n{}",
                world.driver.host.log.into_text()
            )
        }
    }
}

fn network<'a>(day: &'a Day, post: &Post, start: Instant) -> Box<dyn Network + 'a> {
    match day.seed {
        Seed::Articles(_) => Box::new(Servers::new(day, start)),
        Seed::Bytes(_) => Box::new(Wires::new(day, post, start)),
    }
}

/// What will happen, in the order of its time; shared by the world, the disk and the observer.
pub(crate) type Schedule = Rc<RefCell<EventQueue<Scheduled>>>;

struct World<'a, 'w> {
    day: &'a Day,
    post: &'a Post,
    driver: Driver<SimServers<'a>, SimDisk<'a>, Observer<'a, 'w>>,
    settings: Settings,
    schedule: Schedule,
    start: Instant,
    now: Duration,
    calendar_offset: i64,
    steps: u64,
    most_steps: u64,
    longest: Duration,
    slept: Duration,
}

#[derive(Debug)]
pub(crate) enum Scheduled {
    Added(usize),
    /// More was bought of those servers that had an end.
    BlocksRenewed,
    Calendar(i64),
    /// Something the engine is to hear.
    Engine(Event),
    /// An errand is over, unless it was before.
    ErrandOver(ErrandId, Trouble),
    HeadersWanted,
    /// Of the job with that index.
    ProbeWanted(usize),
    Removed(JobId),
    /// A disk that was full takes something again; it survives a restart.
    RoomOnDisk,
    /// Something the steps after a download are to hear.
    Step(bergamot_post::Event),
    Suspend(Duration),
    UserActed(UserAction),
}

impl<'a, 'w> World<'a, 'w> {
    fn new(
        day: &'a Day,
        post: &'a Post,
        start: Instant,
        as_text: bool,
        watcher: Option<&'w mut Watcher<'w>>,
    ) -> Self {
        let schedule = Rc::new(RefCell::new(EventQueue::new()));
        let servers = SimServers { network: network(day, post, start), post, start };
        let disk = SimDisk {
            disk: Disk::new(day),
            post,
            schedule: schedule.clone(),
            steps: bergamot_post::Post::new(),
            start,
        };
        let observer = Observer {
            invariants: TicketCheck::new(day, post.places()),
            quotas: QuotaCheck::new(day),
            journal: Journal::new(day),
            fired: Fired::new(),
            log: Log::new(as_text),
            schedule: schedule.clone(),
            start,
            watcher,
            dropped: None,
        };
        let engine = Engine::new(start, settings(day));
        let now = Now { instant: start, date: day.calendar.begins };
        let mut world = Self {
            day,
            post,
            driver: Driver::new(engine, now, servers, disk, observer),
            settings: settings(day),
            schedule,
            start,
            now: Duration::ZERO,
            calendar_offset: 0,
            steps: 0,
            most_steps: most_steps(day),
            longest: day.longest() + LIVENESS,
            slept: Duration::ZERO,
        };
        world.plan();
        world
    }

    fn plan(&mut self) {
        let mut queue = self.schedule.borrow_mut();
        for (index, job) in self.day.jobs.iter().enumerate() {
            queue.plan(job.added, Scheduled::Added(index));
            let id = JobId(index as u32 + 1);
            job.removed.iter().for_each(|at| queue.plan(*at, Scheduled::Removed(id)));
        }
        for (at, seconds) in &self.day.clock.jumps {
            queue.plan(*at, Scheduled::Calendar(*seconds));
        }
        for (at, sleep) in &self.day.clock.suspends {
            queue.plan(*at, Scheduled::Suspend(*sleep));
        }
        // Articles that no other server has wait for one whose quota is used up.
        if !self.day.reliable && !self.day.calendar.blocks.is_empty() {
            queue.plan(self.day.heals_at, Scheduled::BlocksRenewed);
        }
        if self.day.side_traffic.headers {
            queue.plan(Duration::ZERO, Scheduled::HeadersWanted);
        }
        if self.day.side_traffic.probes {
            for (index, job) in self.day.jobs.iter().enumerate() {
                queue.plan(job.added / 2, Scheduled::ProbeWanted(index));
            }
        }
        for (_, to) in &self.day.disk.full {
            queue.plan(*to, Scheduled::RoomOnDisk);
        }
        for (at, user_action) in &self.day.user_actions {
            queue.plan(*at, Scheduled::UserActed(user_action.clone()));
        }
    }

    fn live(&mut self) -> Result<Outcome, Violation> {
        while !self.driver.host.invariants.all_jobs_ended()
            || !self.driver.host.invariants.is_settled()
        {
            self.steps += 1;
            if self.steps > self.most_steps {
                return violated!("it never ends");
            }
            self.step()?;
        }
        self.driver.host.invariants.check_end()?;
        self.driver.check_end()?;
        let open = self.driver.servers.network.open_connections();
        if open > 0 {
            return violated!("{open} connections are left");
        }
        if self.driver.host.invariants.jobs().has_needed_volumes() {
            self.driver.host.fire(Kind::VolumesNeeded);
        }
        self.driver.host.count_fired(self.driver.servers.network.fired());
        self.driver.host.count_fired(self.driver.disk.disk.fired.clone());
        Ok(Outcome {
            took: self.now,
            steps: self.steps,
            verdicts: self.driver.host.invariants.verdicts(),
            fired: std::mem::take(&mut self.driver.host.fired),
            sum: self.driver.host.log.sum(),
        })
    }

    /// The first of what is to happen, to the end of all that follows from it at once.
    fn step(&mut self) -> Checked {
        let timeout = self.driver.engine.poll_timeout();
        let timeout = timeout.map(|at| at.saturating_duration_since(self.start));
        let times =
            [self.driver.servers.network.next_time(), self.schedule.borrow().next_time(), timeout];
        let Some(next) = times.into_iter().flatten().min() else {
            return violated!("nothing will ever happen again");
        };
        self.now = self.now.max(next);
        if self.now > self.longest + self.slept {
            return violated!("it does not finish");
        }
        if times[0] == Some(next) {
            self.driver.servers.network.advance(self.now);
        } else if times[1] == Some(next) {
            let scheduled = self.schedule.borrow_mut().take();
            if let Some(scheduled) = scheduled {
                self.on_scheduled(scheduled)?;
            }
        } else {
            self.tell(Event::Timeout)?;
        }
        self.hear_news()
    }

    fn on_scheduled(&mut self, scheduled: Scheduled) -> Checked {
        match scheduled {
            Scheduled::Added(index) => self.tell(Event::JobAdded(self.post.job(self.day, index))),
            Scheduled::BlocksRenewed => {
                let refilled = &self.day.calendar.refilled;
                let quotas = self.settings.server_quotas.values_mut();
                quotas.for_each(|quota| quota.clone_from(refilled));
                self.driver.host.quotas.on_blocks_renewed(refilled);
                self.tell(Event::SettingsChanged(Box::new(self.settings.clone())))
            }
            Scheduled::Calendar(seconds) => {
                self.driver.host.fire(if seconds > 0 {
                    Kind::CalendarForth
                } else {
                    Kind::CalendarBack
                });
                self.calendar_offset += seconds;
                Ok(())
            }
            Scheduled::Engine(event) => self.tell(event),
            Scheduled::RoomOnDisk => self.tell(Event::DiskReturned),
            Scheduled::ErrandOver(errand, trouble) => {
                let Some(event) = self.driver.host.invariants.headers().end_errand(errand, trouble)
                else {
                    return Ok(());
                };
                self.schedule.borrow_mut().plan(self.now + A_MOMENT, Scheduled::HeadersWanted);
                self.tell(event)
            }
            Scheduled::HeadersWanted => {
                let event = self.driver.host.invariants.headers().want_headers();
                self.tell(event)
            }
            Scheduled::ProbeWanted(index) => {
                let event = self.probe(index);
                self.tell(event)
            }
            Scheduled::Removed(job) => {
                let gone = self.driver.engine.job(job).is_none();
                if gone {
                    return Ok(());
                }
                self.driver.host.fire(Kind::JobRemoved);
                self.tell(Event::JobRemoved(job))
            }
            Scheduled::Step(event) => {
                let answers = self.driver.disk.tell_steps(self.now, event);
                answers.into_iter().try_for_each(|event| self.tell(event))
            }
            Scheduled::Suspend(sleep) => {
                self.driver.host.fire(Kind::Suspend);
                self.now += sleep;
                self.slept += sleep;
                self.driver.servers.network.break_all(self.now);
                Ok(())
            }
            Scheduled::UserActed(user_action) => self.on_user_action(user_action),
        }
    }

    fn on_user_action(&mut self, user_action: UserAction) -> Checked {
        if user_action.job().is_some_and(|job| self.driver.engine.job(job).is_none()) {
            return Ok(()); // too early or too late
        }
        self.driver.host.fire(user_action.kind());
        if let Some(event) = user_action.event() {
            return self.tell(event);
        }
        match user_action {
            UserAction::Reload(servers) => {
                self.settings.servers = servers;
                self.tell(Event::SettingsChanged(Box::new(self.settings.clone())))
            }
            UserAction::Restart { torn } => self.restart(torn),
            _ => Ok(()),
        }
    }

    /// Killed and started anew: what it was told, what it noted and what lies on the disk is there.
    fn restart(&mut self, torn: usize) -> Checked {
        let unheard =
            self.schedule.borrow_mut().remove_if(|what| matches!(what, Scheduled::Engine(_)));
        self.schedule.borrow_mut().remove_if(|what| matches!(what, Scheduled::Step(_)));
        self.driver.disk.steps = bergamot_post::Post::new();
        let unheard = unheard.into_iter().filter_map(|what| match what {
            Scheduled::Engine(event) => Some(event),
            _ => None,
        });
        self.driver.host.journal.tear(torn, &unheard.collect::<Vec<_>>());
        self.driver.host.count_fired(self.driver.servers.network.fired());
        let network = network(self.day, self.post, self.start);
        self.settings.used = self.driver.host.quotas.on_restart();
        let engine = Engine::new(self.start + self.now, self.settings.clone());
        self.driver.restart(engine, SimServers { network, post: self.post, start: self.start });
        let going =
            self.driver.host.invariants.on_restart(self.now, &self.driver.host.journal, torn)?;
        if self.day.side_traffic.headers {
            self.schedule.borrow_mut().remove_if(|what| matches!(what, Scheduled::HeadersWanted));
            self.schedule.borrow_mut().plan(self.now + A_MOMENT, Scheduled::HeadersWanted);
        }
        for event in self.driver.host.invariants.jobs().user_actions() {
            self.tell(event)?;
        }
        for index in going {
            let mut job = self.post.job(self.day, index);
            self.driver.host.invariants.jobs().amend(&mut job);
            self.driver.host.journal.amend(&mut job);
            self.tell(Event::JobAdded(job))?;
        }
        Ok(())
    }

    fn hear_news(&mut self) -> Checked {
        while let Some(news) = self.driver.servers.network.poll_news() {
            match news {
                News::Event(event) => self.tell(event)?,
                News::Received { server, bytes } => {
                    self.driver.host.invariants.on_received(self.now, server, bytes)?;
                    self.driver.host.quotas.on_received(ServerId(server as u16 + 1), bytes)?;
                }
            }
        }
        Ok(())
    }

    fn tell(&mut self, event: Event) -> Checked {
        self.driver.now = Now { instant: self.start + self.now, date: self.date() };
        self.driver.try_tell(event)
    }

    /// What the calendar shows.
    fn date(&self) -> UnixTime {
        UnixTime(self.day.calendar.begins.0 + self.now.as_secs() as i64 + self.calendar_offset)
    }

    /// Every third article of a job.
    fn probe(&self, index: usize) -> Event {
        let job = self.post.job(self.day, index);
        let posted = job.files.first().and_then(|file| file.posted);
        let id = job.id;
        let ids = self.post.places().iter().filter(|(_, key)| key.job == id);
        let mut ids: Vec<_> = ids.map(|(article, key)| (*key, article.clone())).collect();
        ids.sort_unstable_by_key(|(key, _)| *key);
        let articles = ids.into_iter().step_by(3).take(200);
        let articles = articles.map(|(_, id)| Sampled { id, posted }).collect();
        Event::ProbeWanted { job: id, articles }
    }
}

fn settings(day: &Day) -> Settings {
    let mut settings = Settings {
        servers: day.servers.iter().map(|server| server.settings.clone()).collect(),
        budget: ByteCount(day.budget),
        seed: day.seed.number(),
        quota: day.calendar.quota.clone(),
        server_quotas: day.calendar.blocks.clone(),
        timetable: day.calendar.timetable.clone(),
        ..Settings::default()
    };
    settings.rates.rate = day.rate;
    settings.rates.server_rates = day.server_rates.clone();
    settings
}

/// Longer than any rest, any silence and what they make necessary again.
const LIVENESS: Duration = Duration::from_secs(3600);

/// After which headers are wanted again.
const A_MOMENT: Duration = Duration::from_millis(50);

/// Within which any day ends. Where a rate is limited, slow connections ask for leases twenty times a second,
/// for as long as the day may last; every day may take as many.
fn most_steps(day: &Day) -> u64 {
    let connections =
        day.servers.iter().map(|server| server.settings.connections as u64).sum::<u64>();
    MOST_STEPS + LEASES_A_SECOND * connections * day.longest_way().as_secs()
}

const MOST_STEPS: u64 = 1_000_000;
const LEASES_A_SECOND: u64 = 20;

/// A map that is only looked up, so that its order has no say.
pub(crate) type Places = HashMap<MessageId, SegmentKey>;
