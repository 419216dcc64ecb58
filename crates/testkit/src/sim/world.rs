//! The day as it is lived.

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bergamot_engine::{
    ConnectionId, DiskTrouble, Engine, Event, Fault, Now, Order, Settings, Ticket, Trouble,
};
use bergamot_queue::{NewFile, NewJob, Part};
use bergamot_types::{ByteCount, JobId, MessageId, MessageIdList, SplitMix, UnixTime};

use super::day::{Day, ServerModel};
use super::happening::{Agenda, Happening};
use super::ledger::{Fired, Ledger};
use super::line::Line;

/// How a day ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    pub took: Duration,
    pub steps: u64,
    pub completed: usize,
    pub failed: usize,
    /// Articles delivered by each server, in the order of the day's.
    pub delivered: Vec<u64>,
    pub fired: Fired,
    /// The same for two runs of one seed.
    pub digest: u64,
}

/// Plays a day to its end; what rule was broken, if one was.
pub fn run(day: &Day) -> Result<Outcome, String> {
    let mut world = World::new(day);
    let result = world.live();
    result.map_err(|broken| format!("seed {}: {broken} after {:?}\n{day:#?}", day.seed, world.now))
}

struct World<'a> {
    day: &'a Day,
    engine: Engine,
    agenda: Agenda,
    ledger: Ledger,
    start: Instant,
    now: Duration,
    chance: SplitMix,
    lines: BTreeMap<ConnectionId, Line>,
    admitted: HashMap<Ticket, u64>,
    unadmitted: HashMap<Ticket, Happening>, // bodies that may not come yet
    disk_busy_until: Duration,
    lengths: HashMap<(u32, u32), u32>,
    outcome: Outcome,
    hasher: DefaultHasher,
}

impl<'a> World<'a> {
    fn new(day: &'a Day) -> Self {
        let settings = Settings {
            servers: day.servers.iter().map(|server| server.settings.clone()).collect(),
            budget: ByteCount(day.budget),
            seed: day.seed,
            ..Settings::default()
        };
        let start = Instant::now(); // any instant does: only differences matter
        let mut world = Self {
            day,
            engine: Engine::new(start, settings),
            agenda: Agenda::default(),
            ledger: Ledger::default(),
            start,
            now: Duration::ZERO,
            chance: SplitMix::seeded(!day.seed),
            lines: BTreeMap::new(),
            admitted: HashMap::new(),
            unadmitted: HashMap::new(),
            disk_busy_until: Duration::ZERO,
            lengths: HashMap::new(),
            outcome: Outcome {
                took: Duration::ZERO,
                steps: 0,
                completed: 0,
                failed: 0,
                delivered: vec![0; day.servers.len()],
                fired: Fired::new(),
                digest: 0,
            },
            hasher: DefaultHasher::new(),
        };
        for (number, files) in (1..).zip(&day.jobs) {
            let job = world.job(number, files);
            world.agenda.plan(Duration::ZERO, Happening::Engine(Event::JobAdded(job)));
        }
        for (place, server) in day.servers.iter().enumerate() {
            for (from, _) in &server.outages {
                world.agenda.plan(*from, Happening::Outage(place));
            }
        }
        world
    }

    fn live(&mut self) -> Result<Outcome, String> {
        while self.outcome.completed + self.outcome.failed < self.day.jobs.len() || !self.is_calm()
        {
            self.outcome.steps += 1;
            if self.outcome.steps > MOST_STEPS {
                return Err("it never ends".to_owned());
            }
            let Some(event) = self.next_event()? else { continue };
            let now = Now { instant: self.start + self.now, date: UnixTime(0) };
            format!("{:?} {event:?}", self.now).hash(&mut self.hasher);
            self.engine.handle(now, event);
            while let Some(order) = self.engine.poll_order() {
                format!("{order:?}").hash(&mut self.hasher);
                self.ledger.on_order(&order)?;
                self.carry_out(order)?;
            }
            self.check()?;
        }
        self.outcome.took = self.now;
        self.outcome.digest = self.hasher.finish();
        Ok(self.outcome.clone())
    }

    fn is_calm(&self) -> bool {
        self.ledger.is_settled() && self.engine.reserved().0 == 0
    }

    fn next_event(&mut self) -> Result<Option<Event>, String> {
        let planned = self.agenda.next_time();
        let timeout = self.engine.poll_timeout();
        let timeout = timeout.map(|at| at.saturating_duration_since(self.start).max(self.now));
        let bound = self.day.heals_at + LIVENESS;
        match (planned, timeout) {
            (None, None) => return Err("nothing will ever happen again".to_owned()),
            (planned, Some(at)) if planned.is_none_or(|planned| at < planned) => {
                self.now = at;
                return if at > bound {
                    Err("it does not finish".to_owned())
                } else {
                    Ok(Some(Event::Timeout))
                };
            }
            (Some(at), _) => self.now = self.now.max(at),
            (None, Some(_)) => {}
        }
        if self.now > bound {
            return Err("it does not finish".to_owned());
        }
        Ok(match self.agenda.take() {
            None => None,
            Some(Happening::Answer(connection, event)) => self.answer(connection, event),
            Some(Happening::Break(connection)) => self.end(connection, Trouble::Broken),
            Some(Happening::Dialled(connection)) => self.dialled(connection),
            Some(Happening::Engine(event)) => Some(event),
            Some(Happening::Outage(server)) => self.outage(server),
        })
    }

    fn carry_out(&mut self, order: Order) -> Result<(), String> {
        match order {
            Order::Connect { connection, server } => {
                let place = usize::from(server.0) - 1;
                let round_trip = self.day.servers[place].round_trip;
                let line = Line {
                    server: place,
                    open: false,
                    busy_until: self.now,
                    asked: Default::default(),
                    doomed: false,
                };
                self.lines.insert(connection, line);
                self.agenda.plan(self.now + 2 * round_trip, Happening::Dialled(connection));
            }
            Order::Disconnect { connection } => {
                let ended = self.end(connection, Trouble::Closed);
                ended
                    .into_iter()
                    .for_each(|event| self.agenda.plan(self.now, Happening::Engine(event)));
            }
            Order::FailJob { job, .. } => {
                self.outcome.failed += 1;
                self.agenda.plan(self.now, Happening::Engine(Event::JobRemoved(job)));
            }
            Order::Admit { ticket, reserve, .. } => {
                self.admitted.insert(ticket, reserve as u64);
                let waiting = self.unadmitted.remove(&ticket);
                waiting.into_iter().for_each(|waiting| self.agenda.plan(self.now, waiting));
            }
            Order::Fetch { connection, ticket, id, .. } => {
                return self.ask(connection, ticket, &id);
            }
            Order::FinishFile { file, .. } => {
                let (at, result) = self.at_disk(0);
                self.agenda.plan(at, Happening::Engine(Event::FileFinished { file, result }));
            }
            Order::FinishJob { job, .. } => {
                let (at, result) = self.at_disk(0);
                self.outcome.completed += usize::from(result.is_ok());
                self.agenda.plan(at, Happening::Engine(Event::JobMoved { job, result }));
            }
            Order::Write { ticket, .. } => {
                let (at, result) = self.at_disk(ARTICLE);
                self.agenda.plan(at, Happening::Engine(Event::Written { ticket, result }));
            }
            Order::DeleteFiles { .. }
            | Order::Discard { .. }
            | Order::Lend { .. }
            | Order::Reserve { .. }
            | Order::Revoke { .. }
            | Order::Tell(_) => {}
        }
        Ok(())
    }

    /// The disk does one thing after the other.
    fn at_disk(&mut self, bytes: u64) -> (Duration, Result<(), DiskTrouble>) {
        let full = self.day.disk.full.iter().any(|(from, to)| self.now >= *from && self.now < *to);
        if full {
            self.fire("disk full");
            return (self.now, Err(DiskTrouble::Passing));
        }
        let start = self.disk_busy_until.max(self.now);
        self.disk_busy_until =
            start + Duration::from_secs_f64(bytes as f64 / self.day.disk.rate as f64);
        (self.disk_busy_until, Ok(()))
    }

    fn dialled(&mut self, connection: ConnectionId) -> Option<Event> {
        let place = self.lines.get(&connection)?.server;
        let model = &self.day.servers[place];
        if self.is_out(model) {
            self.fire("unreachable");
            return self.end(connection, Trouble::Unreachable);
        }
        let open = self.lines.values().filter(|line| line.server == place && line.open).count();
        if model.cap.is_some_and(|cap| open >= cap) {
            self.fire("too many connections");
            return self.end(connection, Trouble::TooManyConnections);
        }
        self.lines.get_mut(&connection)?.open = true;
        Some(Event::Connected { connection })
    }

    fn is_out(&self, model: &ServerModel) -> bool {
        model.outages.iter().any(|(from, to)| self.now >= *from && self.now < *to)
    }

    fn outage(&mut self, server: usize) -> Option<Event> {
        let hit: Vec<_> =
            self.lines.iter().filter(|(_, line)| line.server == server && line.open).collect();
        let hit: Vec<_> = hit.into_iter().map(|(connection, _)| *connection).collect();
        for connection in hit {
            self.agenda.plan(self.now, Happening::Break(connection));
        }
        None
    }

    fn end(&mut self, connection: ConnectionId, trouble: Trouble) -> Option<Event> {
        let line = self.lines.remove(&connection)?;
        let unanswered: Vec<_> = line.asked.into_iter().collect();
        unanswered.iter().for_each(|ticket| self.ledger.on_answer(*ticket, false));
        Some(Event::Ended { connection, trouble, unanswered })
    }

    fn answer(&mut self, connection: ConnectionId, event: Event) -> Option<Event> {
        let line = self.lines.get_mut(&connection)?;
        let ticket = *line.asked.front()?;
        let mut event = event;
        let of = match event {
            Event::Fetched { ticket, .. } | Event::Missing { ticket } => ticket,
            _ => ticket,
        };
        if of != ticket {
            self.unadmitted.insert(of, Happening::Answer(connection, event));
            return None;
        }
        if let Event::Fetched { fault, .. } = &mut event {
            let Some(&reserve) = self.admitted.get(&ticket) else {
                self.unadmitted.insert(ticket, Happening::Answer(connection, event));
                return None;
            };
            if reserve >= OUTGROWN && matches!(fault, Some(Fault::TooLarge { .. })) {
                *fault = None;
            }
            if matches!(fault, Some(Fault::TooLarge { .. })) {
                *self.outcome.fired.entry("outgrown").or_default() += 1;
            }
        }
        line.asked.pop_front();
        if let Some(next) = line.asked.front()
            && let Some(waiting) = self.unadmitted.remove(next)
        {
            self.agenda.plan(self.now, waiting);
        }
        let server = line.server;
        let decoded = matches!(event, Event::Fetched { .. });
        self.outcome.delivered[server] += u64::from(decoded);
        self.ledger.on_answer(ticket, decoded);
        Some(event)
    }

    fn ask(
        &mut self,
        connection: ConnectionId,
        ticket: Ticket,
        id: &MessageId,
    ) -> Result<(), String> {
        let line = self.lines.get_mut(&connection).ok_or("asked over a connection that is gone")?;
        if !line.open {
            return Err("asked over a connection that is not open".to_owned());
        }
        line.asked.push_back(ticket);
        if line.doomed {
            return Ok(());
        }
        let model = &self.day.servers[line.server];
        let arrives = self.now + model.round_trip / 2;
        let begins = line.busy_until.max(arrives);
        let ends = begins + Duration::from_secs_f64(ARTICLE as f64 / model.rate as f64);
        let (at, happening) = match self.fate(model, id, ticket) {
            Fate::Break => (begins + (ends - begins) / 2, Happening::Break(connection)),
            Fate::Answer(event @ Event::Missing { .. }) => {
                (begins, Happening::Answer(connection, event))
            }
            Fate::Answer(event) => (ends, Happening::Answer(connection, event)),
            Fate::Stall => (begins + SILENCE, Happening::Break(connection)),
        };
        let line = self.lines.get_mut(&connection).ok_or("it was just there")?;
        line.doomed = matches!(happening, Happening::Break(_));
        line.busy_until = if matches!(happening, Happening::Answer(_, Event::Missing { .. })) {
            begins
        } else {
            ends
        };
        self.agenda.plan(at + model.round_trip / 2, happening);
        Ok(())
    }

    fn fate(&mut self, model: &ServerModel, id: &MessageId, ticket: Ticket) -> Fate {
        let (job, file, segment) = place(id);
        let count = self.lengths.get(&(job, file)).copied().unwrap_or(0);
        if self.lacks(model, id) {
            self.fire("missing");
            return Fate::Answer(Event::Missing { ticket });
        }
        let mut part = Part {
            begin: Some(u64::from(segment) * ARTICLE),
            length: ARTICLE,
            file_size: Some(u64::from(count) * ARTICLE),
            number: Some(segment + 1),
            verified: true,
            name: None,
        };
        let roll = if self.now < self.day.heals_at { self.chance.up_to(999) } else { 999 };
        let mut below = 0;
        let mut hits = |rate: u64| {
            below += rate;
            roll < below
        };
        let fault = if hits(model.reset) {
            self.fire("reset");
            return Fate::Break;
        } else if hits(model.stall) {
            self.fire("stall");
            return Fate::Stall;
        } else if hits(model.corrupt) {
            self.fire("corrupt");
            part.verified = false;
            Some(Fault::Damaged)
        } else if hits(model.outgrow) {
            Some(Fault::TooLarge { needed: OUTGROWN })
        } else if hits(model.lie) {
            self.fire("lie");
            part.file_size = Some(u64::from(count) * ARTICLE + 1 + ticket.0);
            None
        } else {
            None
        };
        Fate::Answer(Event::Fetched { ticket, part, fault })
    }

    /// The same articles all day long; mirrors lack the same.
    fn lacks(&self, model: &ServerModel, id: &MessageId) -> bool {
        let source = match model.settings.group {
            0 => u64::from(model.settings.id.0),
            group => 1000 + u64::from(group),
        };
        let missing = match model.settings.group {
            0 => model.missing,
            group => {
                let mirrors = self.day.servers.iter().filter(|other| other.settings.group == group);
                mirrors.map(|mirror| mirror.missing).min().unwrap_or(0)
            }
        };
        let mut hasher = DefaultHasher::new();
        (self.day.seed, source, id.as_str()).hash(&mut hasher);
        hasher.finish() % 1000 < missing
    }

    fn check(&self) -> Result<(), String> {
        let reserved = self.engine.reserved().0;
        if reserved > self.day.budget.max(OUTGROWN) {
            return Err(format!("{reserved} bytes are reserved of {}", self.day.budget));
        }
        for (place, server) in self.day.servers.iter().enumerate() {
            let open = self.lines.values().filter(|line| line.server == place).count();
            if open > server.settings.connections {
                return Err(format!("server {} has {open} connections", place + 1));
            }
        }
        Ok(())
    }

    fn fire(&mut self, fault: &'static str) {
        *self.outcome.fired.entry(fault).or_default() += 1;
    }

    fn job(&mut self, number: u32, files: &[u32]) -> NewJob {
        let file = |(index, &segments): (usize, &u32)| {
            let mut ids = MessageIdList::new();
            for segment in 0..segments {
                ids.push(&format!("{index}.{segment}@{number}")).expect("a good id");
            }
            NewFile {
                ids,
                numbers: (1..=segments).collect(),
                bytes: vec![ARTICLE as u32; segments as usize],
                groups: Arc::from([]),
                ..NewFile::default()
            }
        };
        for (index, &segments) in (0..).zip(files) {
            self.lengths.insert((number, index), segments);
        }
        NewJob {
            id: JobId(number),
            priority: 0,
            files: files.iter().enumerate().map(file).collect(),
            finished: Vec::new(),
            wants_extras: false,
        }
    }
}

enum Fate {
    Answer(Event),
    Break,
    /// Nothing comes until the line is given up.
    Stall,
}

/// Job, file and segment of an id that [`World::job`] made.
fn place(id: &MessageId) -> (u32, u32, u32) {
    let mut numbers = id.as_str().split(['.', '@']).map(|number| number.parse().unwrap_or(0));
    let mut next = || numbers.next().unwrap_or(0);
    let (file, segment, job) = (next(), next(), next());
    (job, file, segment)
}

const ARTICLE: u64 = 700_000;
const OUTGROWN: u64 = 900_000;

/// When the net gives up on a silent server.
const SILENCE: Duration = Duration::from_secs(30);

/// Longer than any rest, any silence and all the data at the slowest rate.
const LIVENESS: Duration = Duration::from_secs(4 * 3600);

const MOST_STEPS: u64 = 1_000_000;
