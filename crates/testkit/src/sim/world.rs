//! The day as it is lived.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::{Duration, Instant};

use bergamot_engine::{
    Engine, ErrandId, Event, Notice, Now, Order, Sampled, Settings, Ticket, Trouble,
};
use bergamot_limit::Effect;
use bergamot_queue::{FileKey, FileState, SegmentKey};
use bergamot_types::{ByteCount, JobId, MessageId, ServerId, UnixTime};

use crate::sim::day::Day;
use crate::sim::day::post::Post;
use crate::sim::day::user_action::UserAction;
use crate::sim::disk::Disk;
use crate::sim::event_queue::EventQueue;
use crate::sim::invariants::jobs::Verdict;
use crate::sim::invariants::quota_check::QuotaCheck;
use crate::sim::invariants::tickets::TicketCheck;
use crate::sim::journal::Journal;
use crate::sim::kind::{Fired, Kind};
use crate::sim::log::Log;
use crate::sim::models::Servers;
use crate::sim::network::{Asked, Fetch, Network, News};
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

/// The same before the eyes of somebody who is told of every event and order.
pub fn run_watched(day: &Day, watcher: &mut Watcher<'_>) -> Result<Outcome, Violation> {
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

fn play(
    day: &Day,
    as_text: bool,
    watcher: Option<&mut Watcher<'_>>,
) -> Result<(Outcome, String), Violation> {
    let post = Post::new(day);
    let start = Instant::now(); // any instant does: only differences matter
    let mut world = World::new(day, &post, start, as_text);
    let mut nobody = |_: Duration, _: Seen<'_>| {};
    let watcher = watcher.unwrap_or(&mut nobody);
    match world.live(watcher) {
        Ok(outcome) => Ok((outcome, world.log.into_text())),
        Err(broken) => {
            let (seed, now) = (day.seed, world.now);
            violated!("seed {seed}: {broken}, after {now:?}\n{day:#?}\n{}", world.log.into_text())
        }
    }
}

fn network<'a>(day: &'a Day, post: &Post, start: Instant) -> Box<dyn Network + 'a> {
    match day.seed {
        Seed::Articles(_) => Box::new(Servers::new(day, start)),
        Seed::Bytes(_) => Box::new(Wires::new(day, post, start)),
    }
}

struct World<'a> {
    day: &'a Day,
    post: &'a Post,
    engine: Engine,
    settings: Settings,
    journal: Journal,
    network: Box<dyn Network + 'a>,
    disk: Disk<'a>,
    invariants: TicketCheck<'a>,
    quotas: QuotaCheck<'a>,
    queue: EventQueue<Scheduled>,
    start: Instant,
    now: Duration,
    calendar_offset: i64, // how far it is set off
    steps: u64,
    most_steps: u64,
    longest: Duration,
    slept: Duration,
    fired: Fired,
    log: Log,
}

#[derive(Debug)]
enum Scheduled {
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
    /// A disk that was full takes something again; it outlives whoever waits for it.
    RoomOnDisk,
    Suspend(Duration),
    UserActed(UserAction),
}

impl<'a> World<'a> {
    fn new(day: &'a Day, post: &'a Post, start: Instant, as_text: bool) -> Self {
        let mut world = Self {
            day,
            post,
            engine: Engine::new(start, settings(day)),
            settings: settings(day),
            journal: Journal::new(day),
            network: network(day, post, start),
            disk: Disk::new(day),
            invariants: TicketCheck::new(day, post.places()),
            quotas: QuotaCheck::new(day),
            queue: EventQueue::new(),
            start,
            now: Duration::ZERO,
            calendar_offset: 0,
            steps: 0,
            most_steps: most_steps(day),
            longest: day.longest() + LIVENESS,
            slept: Duration::ZERO,
            fired: Fired::new(),
            log: Log::new(as_text),
        };
        world.plan();
        world
    }

    fn plan(&mut self) {
        for (index, job) in self.day.jobs.iter().enumerate() {
            self.queue.plan(job.added, Scheduled::Added(index));
            let id = JobId(index as u32 + 1);
            job.removed.iter().for_each(|at| self.queue.plan(*at, Scheduled::Removed(id)));
        }
        for (at, seconds) in &self.day.clock.jumps {
            self.queue.plan(*at, Scheduled::Calendar(*seconds));
        }
        for (at, sleep) in &self.day.clock.suspends {
            self.queue.plan(*at, Scheduled::Suspend(*sleep));
        }
        // What nobody else has waits for a server that has given all it may.
        if !self.day.reliable && !self.day.calendar.blocks.is_empty() {
            self.queue.plan(self.day.heals_at, Scheduled::BlocksRenewed);
        }
        if self.day.side_traffic.headers {
            self.queue.plan(Duration::ZERO, Scheduled::HeadersWanted);
        }
        if self.day.side_traffic.probes {
            for (index, job) in self.day.jobs.iter().enumerate() {
                self.queue.plan(job.added / 2, Scheduled::ProbeWanted(index));
            }
        }
        for (_, to) in &self.day.disk.full {
            self.queue.plan(*to, Scheduled::RoomOnDisk);
        }
        for (at, user_action) in &self.day.user_actions {
            self.queue.plan(*at, Scheduled::UserActed(user_action.clone()));
        }
    }

    fn live(&mut self, watcher: &mut Watcher<'_>) -> Result<Outcome, Violation> {
        while !self.invariants.all_jobs_ended() || !self.invariants.is_settled() {
            self.steps += 1;
            if self.steps > self.most_steps {
                return violated!("it never ends");
            }
            self.step(watcher)?;
        }
        self.invariants.check_end()?;
        let open = self.network.open_connections();
        if open > 0 {
            return violated!("{open} connections are left");
        }
        if self.invariants.jobs().has_needed_volumes() {
            self.fire(Kind::VolumesNeeded);
        }
        self.count_fired(self.network.fired());
        self.count_fired(self.disk.fired.clone());
        Ok(Outcome {
            took: self.now,
            steps: self.steps,
            verdicts: self.invariants.verdicts(),
            fired: std::mem::take(&mut self.fired),
            sum: self.log.sum(),
        })
    }

    /// The first of what is to happen, to the end of all that follows from it at once.
    fn step(&mut self, watcher: &mut Watcher<'_>) -> Checked {
        let timeout = self.engine.poll_timeout();
        let timeout = timeout.map(|at| at.saturating_duration_since(self.start));
        let times = [self.network.next_time(), self.queue.next_time(), timeout];
        let Some(next) = times.into_iter().flatten().min() else {
            return violated!("nothing will ever happen again");
        };
        self.now = self.now.max(next);
        if self.now > self.longest + self.slept {
            return violated!("it does not finish");
        }
        if times[0] == Some(next) {
            self.network.advance(self.now);
        } else if times[1] == Some(next) {
            if let Some(scheduled) = self.queue.take() {
                self.on_scheduled(scheduled, watcher)?;
            }
        } else {
            self.tell(Event::Timeout, watcher)?;
        }
        self.hear_news(watcher)
    }

    fn on_scheduled(&mut self, scheduled: Scheduled, watcher: &mut Watcher<'_>) -> Checked {
        match scheduled {
            Scheduled::Added(index) => {
                self.tell(Event::JobAdded(self.post.job(self.day, index)), watcher)
            }
            Scheduled::BlocksRenewed => {
                let refilled = &self.day.calendar.refilled;
                let quotas = self.settings.server_quotas.values_mut();
                quotas.for_each(|quota| quota.clone_from(refilled));
                self.quotas.on_blocks_renewed(refilled);
                self.tell(Event::SettingsChanged(Box::new(self.settings.clone())), watcher)
            }
            Scheduled::Calendar(seconds) => {
                self.fire(if seconds > 0 { Kind::CalendarForth } else { Kind::CalendarBack });
                self.calendar_offset += seconds;
                Ok(())
            }
            Scheduled::Engine(event) => self.tell(event, watcher),
            Scheduled::RoomOnDisk => self.tell(Event::DiskReturned, watcher),
            Scheduled::ErrandOver(errand, trouble) => {
                let Some(event) = self.invariants.headers().end_errand(errand, trouble) else {
                    return Ok(());
                };
                self.queue.plan(self.now + A_MOMENT, Scheduled::HeadersWanted);
                self.tell(event, watcher)
            }
            Scheduled::HeadersWanted => {
                let event = self.invariants.headers().want_headers();
                self.tell(event, watcher)
            }
            Scheduled::ProbeWanted(index) => {
                let event = self.probe(index);
                self.tell(event, watcher)
            }
            Scheduled::Removed(job) => {
                let gone = self.engine.job(job).is_none();
                if gone {
                    return Ok(());
                }
                self.fire(Kind::JobRemoved);
                self.tell(Event::JobRemoved(job), watcher)
            }
            Scheduled::Suspend(sleep) => {
                self.fire(Kind::Suspend);
                self.now += sleep;
                self.slept += sleep;
                self.network.break_all(self.now);
                Ok(())
            }
            Scheduled::UserActed(user_action) => self.on_user_action(user_action, watcher),
        }
    }

    fn on_user_action(&mut self, user_action: UserAction, watcher: &mut Watcher<'_>) -> Checked {
        if user_action.job().is_some_and(|job| self.engine.job(job).is_none()) {
            return Ok(()); // too early or too late
        }
        self.fire(user_action.kind());
        if let Some(event) = user_action.event() {
            return self.tell(event, watcher);
        }
        match user_action {
            UserAction::Reload(servers) => {
                self.settings.servers = servers;
                self.tell(Event::SettingsChanged(Box::new(self.settings.clone())), watcher)
            }
            UserAction::Restart { torn } => self.restart(torn, watcher),
            _ => Ok(()),
        }
    }

    /// Killed and started anew: what it was told, what it noted and what lies on the disk is there.
    fn restart(&mut self, torn: usize, watcher: &mut Watcher<'_>) -> Checked {
        let unheard = self.queue.remove_if(|what| matches!(what, Scheduled::Engine(_)));
        let unheard = unheard.into_iter().filter_map(|what| match what {
            Scheduled::Engine(event) => Some(event),
            _ => None,
        });
        self.journal.tear(torn, &unheard.collect::<Vec<_>>());
        self.count_fired(self.network.fired());
        self.network = network(self.day, self.post, self.start);
        self.settings.used = self.quotas.on_restart();
        self.engine = Engine::new(self.start + self.now, self.settings.clone());
        let going = self.invariants.on_restart(self.now, &self.journal, torn)?;
        if self.day.side_traffic.headers {
            self.queue.remove_if(|what| matches!(what, Scheduled::HeadersWanted));
            self.queue.plan(self.now + A_MOMENT, Scheduled::HeadersWanted);
        }
        for event in self.invariants.jobs().user_actions() {
            self.tell(event, watcher)?;
        }
        for index in going {
            let mut job = self.post.job(self.day, index);
            self.invariants.jobs().amend(&mut job);
            self.journal.amend(&mut job);
            self.tell(Event::JobAdded(job), watcher)?;
        }
        Ok(())
    }

    fn hear_news(&mut self, watcher: &mut Watcher<'_>) -> Checked {
        while let Some(news) = self.network.poll_news() {
            match news {
                News::Event(event) => self.tell(event, watcher)?,
                News::Received { server, bytes } => {
                    self.invariants.on_received(self.now, server, bytes)?;
                    self.quotas.on_received(ServerId(server as u16 + 1), bytes)?;
                }
            }
        }
        Ok(())
    }

    /// Jobs that end are taken away before anything else is heard, as the daemon does it.
    fn tell(&mut self, event: Event, watcher: &mut Watcher<'_>) -> Checked {
        let mut events = VecDeque::from([event]);
        while let Some(event) = events.pop_front() {
            self.tell_one(event, &mut events, watcher)?;
        }
        Ok(())
    }

    fn tell_one(
        &mut self,
        event: Event,
        then: &mut VecDeque<Event>,
        watcher: &mut Watcher<'_>,
    ) -> Checked {
        watcher(self.now, Seen::Event(&event));
        self.log.event(self.now, &event);
        self.invariants.on_event(self.now, &event)?;
        self.journal.on_event(&event);
        self.quotas.on_event(&event);
        let dropped = if let Event::FileDropped(file) = event { Some(file) } else { None };
        let date = self.date();
        self.engine.handle(Now { instant: self.start + self.now, date }, event);
        if let Some(file) = dropped.filter(|file| self.is_dropped(*file)) {
            self.invariants.on_dropped(file);
        }
        while let Some(order) = self.engine.poll_order() {
            watcher(self.now, Seen::Order(&order));
            self.log.order(self.start + self.now, &order);
            self.invariants.on_order(self.now, &order)?;
            self.quotas.on_order(date, &order)?;
            if let Order::FailJob { job, .. } = order {
                then.push_back(Event::JobRemoved(job));
            }
            self.carry_out(order)?;
        }
        self.invariants.check(self.now, &self.engine)
    }

    /// What the calendar shows.
    fn date(&self) -> UnixTime {
        UnixTime(self.day.calendar.begins.0 + self.now.as_secs() as i64 + self.calendar_offset)
    }

    fn carry_out(&mut self, order: Order) -> Checked {
        let now = self.now;
        match order {
            Order::Admit { connection, ticket, reserve } => {
                self.network.admit(now, ticket, connection, reserve as u64);
            }
            Order::Connect { connection, server } => {
                self.network.connect(now, connection, usize::from(server.0) - 1);
            }
            Order::Discard { ticket } => drop(self.network.take_bytes(ticket)),
            Order::Disconnect { connection } => self.network.disconnect(now, connection),
            Order::Fetch { connection, ticket, id, limit, patience, .. } => {
                let Some(key) = self.key(&id) else { return Ok(()) };
                let limit = limit.0;
                self.network.fetch(now, Fetch { connection, ticket, id, key, limit, patience });
            }
            Order::FinishFile { file, .. } => return self.finish_file(file),
            Order::FinishJob { job, .. } => {
                let (at, result) = self.disk.move_job(now, job);
                self.queue.plan(at, Scheduled::Engine(Event::JobMoved { job, result }));
            }
            Order::Lend { connection, credit } => self.network.lend(now, connection, credit),
            Order::Note(note) => self.journal.on_note(&note),
            Order::Persist { number, .. } => {
                let (at, result) = self.disk.persist(now);
                self.queue.plan(at, Scheduled::Engine(Event::Persisted { number, result }));
            }
            Order::RecallErrand { errand } => {
                self.queue.plan(now, Scheduled::ErrandOver(errand, Trouble::Closed));
            }
            Order::Revoke { connection } => self.network.revoke(now, connection),
            Order::StartErrand { errand, .. } => {
                let (time, trouble) = self.invariants.headers().errand_time(now);
                self.queue.plan(now + time, Scheduled::ErrandOver(errand, trouble));
            }
            Order::Stat { connection, ticket, id } => {
                if let Some(key) = self.key(&id) {
                    self.network.stat(now, connection, ticket, Asked { id, key });
                }
            }
            Order::Tell(notice) => self.count_notice(&notice),
            Order::Write { ticket, file, offset } => self.write(ticket, file, offset),
            Order::DeleteFiles { .. }
            | Order::FailJob { .. }
            | Order::Probed { .. }
            | Order::Reserve { .. } => {}
        }
        Ok(())
    }

    fn count_notice(&mut self, notice: &Notice) {
        match notice {
            Notice::QuotaReached { server: None, .. } => self.fire(Kind::QuotaReached),
            Notice::QuotaReached { server: Some(_), .. } => self.fire(Kind::BlockUsedUp),
            Notice::BeyondRepair { .. } => self.fire(Kind::BeyondRepair),
            Notice::ScheduleChanged { effect: Some(Effect::Pause), .. } => {
                self.fire(Kind::ScheduledPause);
            }
            Notice::ScheduleChanged { effect: Some(Effect::Limit(_)), .. } => {
                self.fire(Kind::ScheduledRate);
            }
            _ => {}
        }
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

    fn write(&mut self, ticket: Ticket, file: FileKey, offset: u64) {
        let bytes = self.network.take_bytes(ticket);
        let (at, result) = self.disk.write(self.now, file, offset, bytes);
        self.queue.plan(at, Scheduled::Engine(Event::Written { ticket, result }));
    }

    fn finish_file(&mut self, file: FileKey) -> Checked {
        let (at, result) = self.disk.finish_file(self.now, file);
        if result.is_ok() && !self.post.holds(file, self.disk.content(file)) {
            return violated!("{file:?} has its name, and other bytes than were posted");
        }
        self.queue.plan(at, Scheduled::Engine(Event::FileFinished { file, result }));
        Ok(())
    }

    fn is_dropped(&self, file: FileKey) -> bool {
        let files = self.engine.job(file.job).map(|job| job.files());
        let known = files.and_then(|files| files.get(file.file as usize));
        known.is_some_and(|known| known.state() == FileState::Dropped)
    }

    fn key(&self, id: &MessageId) -> Option<SegmentKey> {
        self.post.places().get(id).copied()
    }

    fn count_fired(&mut self, fired: Fired) {
        for (kind, count) in fired {
            *self.fired.entry(kind).or_default() += count;
        }
    }

    fn fire(&mut self, kind: Kind) {
        *self.fired.entry(kind).or_default() += 1;
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

/// After which somebody wants headers again.
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
