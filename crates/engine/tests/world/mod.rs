//! A world of rules: servers answer by a function, the disk writes at once, time jumps.

#![allow(dead_code, reason = "several tests share it, and none needs all of it")]

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bergamot_engine::{
    ConnectionId, DiskTrouble, Engine, Event, Failure, Fault, HealthAction, Notice, Now, Order,
    ServerSettings, Settings, Ticket, Trouble, Verdict,
};
use bergamot_queue::{FileKey, NewFile, NewJob, Part, SegmentKey};
use bergamot_types::{ByteCount, JobId, MessageIdList, ServerId, UnixTime};

pub(crate) const ARTICLE: u64 = 700_000;
const TODAY: i64 = 20_000 * 86_400;

#[derive(Clone, Copy, Debug)]
pub(crate) enum Reply {
    Break,
    Damaged,
    Good,
    /// Good, and the connection is closed behind it.
    LastWord,
    Missing,
    Needs(u64),
    OtherSize(u64),
    /// The connection is closed instead of an answer.
    OutOfStep,
    /// Another answer than the article, such as 503; the connection goes on.
    Refused,
    /// The article of a sibling file: all is right but the name.
    Sibling,
    /// The article behind the one that was asked for.
    Stranger,
    /// The connection is refused in words that say nothing.
    Unclear,
}

pub(crate) struct Ask {
    pub(crate) server: u16,
    pub(crate) job: u32,
    pub(crate) file: u32,
    pub(crate) segment: u32,
}

type Rule = Box<dyn FnMut(&Ask) -> Reply>;

pub(crate) struct World {
    pub(crate) engine: Engine,
    pub(crate) completed: Vec<(u32, bool)>,
    pub(crate) failed: Vec<(u32, Failure)>,
    pub(crate) lost: Vec<String>,
    pub(crate) verdicts: Vec<Verdict>, // on those that are lost
    /// What each server did for the jobs that have ended: articles got, and failed.
    pub(crate) counts: BTreeMap<u16, (u32, u32)>,
    /// Jobs beyond repair, with their health and the least that could have been repaired.
    pub(crate) beyond: Vec<(u32, u16, u16)>,
    /// Jobs whose files were to be deleted.
    pub(crate) deleted: Vec<u32>,
    pub(crate) fetches: Vec<(u16, u32)>,
    pub(crate) breaks: usize,
    pub(crate) peak_connections: HashMap<u16, usize>,
    pub(crate) peak_reserved: u64,
    pub(crate) disk: Option<DiskTrouble>,
    /// Files wait for their names as long as this holds.
    pub(crate) slow_finish: bool,
    pub(crate) finishes: BTreeMap<FileKey, usize>,
    unnamed: Vec<FileKey>,
    pub(crate) names: Option<DiskTrouble>, // meets files that are being finished
    pub(crate) destination: Option<DiskTrouble>, // meets jobs that are being moved
    writes: Vec<u32>,
    limits: HashMap<u16, usize>,
    caps: HashMap<u16, usize>,
    refusals: HashMap<u16, Trouble>,
    pub(crate) dials: usize,
    /// The most connections that were ordered in answer to one event.
    pub(crate) most_at_once: usize,
    at_once: usize,
    pub(crate) fickle: Option<u16>, // hangs up right behind the login
    rule: Rule,
    now: Instant,
    connections: BTreeMap<ConnectionId, Line>,
    admitted: HashMap<Ticket, usize>,
    segments: HashMap<Ticket, (u32, u64)>, // segment and its file's number of segments
    sizes: HashMap<(u32, u32), u64>,
    happenings: VecDeque<Event>,
}

struct Line {
    server: u16,
    asked: VecDeque<(Ticket, String)>,
}

impl World {
    pub(crate) fn new(servers: Vec<Builder>) -> Self {
        Self::with_budget(servers, 40 << 20)
    }

    /// Jobs go on to their ends here, whatever is lost of them.
    pub(crate) fn with_budget(servers: Vec<Builder>, budget: u64) -> Self {
        let settings = Settings {
            budget: ByteCount(budget),
            health_action: HealthAction::None,
            ..Settings::default()
        };
        Self::with_settings(servers, settings)
    }

    pub(crate) fn with_settings(servers: Vec<Builder>, settings: Settings) -> Self {
        let servers: Vec<_> = servers.into_iter().map(|builder| builder.0).collect();
        let limits = servers.iter().map(|server| (server.id.0, server.connections)).collect();
        let settings = Settings { servers, ..settings };
        let now = Instant::now(); // any instant does: only differences matter
        Self {
            engine: Engine::new(now, settings),
            completed: Vec::new(),
            failed: Vec::new(),
            lost: Vec::new(),
            verdicts: Vec::new(),
            counts: BTreeMap::new(),
            beyond: Vec::new(),
            deleted: Vec::new(),
            fetches: Vec::new(),
            breaks: 0,
            peak_connections: HashMap::new(),
            peak_reserved: 0,
            disk: None,
            slow_finish: false,
            finishes: BTreeMap::new(),
            unnamed: Vec::new(),
            names: None,
            destination: None,
            writes: Vec::new(),
            limits,
            caps: HashMap::new(),
            refusals: HashMap::new(),
            dials: 0,
            most_at_once: 0,
            at_once: 0,
            fickle: None,
            rule: Box::new(|_| Reply::Good),
            now,
            connections: BTreeMap::new(),
            admitted: HashMap::new(),
            segments: HashMap::new(),
            sizes: HashMap::new(),
            happenings: VecDeque::new(),
        }
    }

    pub(crate) fn rule(&mut self, rule: impl FnMut(&Ask) -> Reply + 'static) {
        self.rule = Box::new(rule);
    }

    /// Everything goes wrong now and then, except on servers of number 3 and above.
    pub(crate) fn bad_day(&mut self, seed: u64) {
        let mut lies = 0; // no two alike: against liars who agree there is no majority
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        self.rule(move |ask| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            match state % 20 {
                _ if ask.server >= 3 => Reply::Good,
                0 | 1 => Reply::Missing,
                2 => Reply::Damaged,
                3 => Reply::Break,
                4 => {
                    lies += 1;
                    Reply::OtherSize(lies)
                }
                5 => Reply::Needs(ARTICLE + 1),
                _ => Reply::Good,
            }
        });
        self.cap(1, 2);
    }

    pub(crate) fn refuse(&mut self, server: u16, trouble: Trouble) {
        self.refusals.insert(server, trouble);
    }

    pub(crate) fn accept(&mut self, server: u16) {
        self.refusals.remove(&server);
    }

    pub(crate) fn cap(&mut self, server: u16, connections: usize) {
        self.caps.insert(server, connections);
    }

    pub(crate) fn pause(&mut self, job: u32) {
        self.happenings.push_back(Event::JobPaused(JobId(job)));
    }

    pub(crate) fn happens(&mut self, event: Event) {
        self.happenings.push_back(event);
    }

    pub(crate) fn resume(&mut self, job: u32) {
        self.happenings.push_back(Event::JobResumed(JobId(job)));
    }

    pub(crate) fn add(&mut self, job: JobBuilder) {
        self.serve(&job);
        self.happenings.push_back(Event::JobAdded(job.build()));
    }

    fn serve(&mut self, job: &JobBuilder) {
        for (file, &segments) in job.files.iter().enumerate() {
            self.sizes.insert((job.id, file as u32), u64::from(segments));
        }
    }

    /// The files of a job behind the first so many; the others have come before.
    pub(crate) fn more(&mut self, job: JobBuilder, first: usize) -> Vec<NewFile> {
        self.serve(&job);
        job.build().files.split_off(first)
    }

    pub(crate) fn asked_of(&self, server: u16) -> Vec<u32> {
        self.fetches
            .iter()
            .filter(|(asked, _)| *asked == server)
            .map(|(_, segment)| *segment)
            .collect()
    }

    pub(crate) fn writes_of(&self, segment: u32) -> usize {
        self.writes.iter().filter(|&&written| written == segment).count()
    }

    /// Until nothing is left to do.
    pub(crate) fn run(&mut self) {
        self.run_for(u64::MAX);
        assert!(self.engine.jobs().next().is_none(), "it stopped with work left");
    }

    pub(crate) fn run_for(&mut self, seconds: u64) {
        let end = self.now.checked_add(Duration::from_secs(seconds));
        for _ in 0..1_000_000 {
            if !self.step(end) {
                return;
            }
        }
        panic!("it never ends");
    }

    pub(crate) fn run_steps(&mut self, steps: usize) {
        (0..steps).for_each(|_| _ = self.step(None));
    }

    fn step(&mut self, end: Option<Instant>) -> bool {
        if !self.slow_finish {
            let result = self.names.map_or_else(|| self.on_disk(), Err);
            let named = self.unnamed.drain(..).map(|file| Event::FileFinished { file, result });
            self.happenings.extend(named);
        }
        let event = match self.happenings.pop_front() {
            Some(event) => event,
            None => match self.answer_one() {
                Some(event) => event,
                None => match self.engine.poll_timeout() {
                    Some(at)
                        if end.is_none_or(|end| at <= end)
                            && self.engine.jobs().next().is_some() =>
                    {
                        self.now = self.now.max(at);
                        Event::Timeout
                    }
                    _ => return false,
                },
            },
        };
        let now = Now { instant: self.now, date: UnixTime(TODAY) };
        self.at_once = 0;
        self.engine.handle(now, event);
        while let Some(order) = self.engine.poll_order() {
            self.carry_out(order);
        }
        self.peak_reserved = self.peak_reserved.max(self.engine.reserved().0);
        true
    }

    fn carry_out(&mut self, order: Order) {
        match order {
            Order::Connect { connection, server } => self.connect(connection, server.0),
            Order::Discard { ticket } => _ = self.segments.remove(&ticket),
            Order::DeleteFiles { job } => self.deleted.push(job.0),
            Order::Disconnect { connection } => {
                self.connections.remove(&connection);
                self.ended(connection, Trouble::Closed, Vec::new());
            }
            Order::FailJob { job, failure } => {
                self.count(job);
                self.failed.push((job.0, failure));
                self.happenings.push_back(Event::JobRemoved(job));
            }
            Order::Admit { connection, ticket, reserve } => {
                assert!(
                    self.connections.contains_key(&connection)
                        || !self.admitted.contains_key(&ticket)
                );
                let again = self.admitted.insert(ticket, reserve);
                assert_eq!(again, None, "admitted once");
            }
            Order::Fetch { connection, ticket, id, .. } => {
                // A connection that has ended meanwhile gives it back with its end.
                let Some(line) = self.connections.get_mut(&connection) else { return };
                line.asked.push_back((ticket, id.to_string()));
                assert!(line.asked.len() <= 128, "deeper than the pipeline");
            }
            Order::FinishFile { file, .. } => {
                *self.finishes.entry(file).or_default() += 1;
                self.unnamed.push(file);
            }
            Order::FinishJob { job, verified } => {
                let result = self.destination.map_or(Ok(()), Err);
                if result.is_ok() {
                    self.count(job);
                    self.completed.push((job.0, verified));
                }
                self.happenings.push_back(Event::JobMoved { job, result });
            }
            Order::Tell(Notice::BeyondRepair { job, health, critical, .. }) => {
                self.beyond.push((job.0, health.0, critical.0));
            }
            Order::Tell(Notice::ArticleLost { id, verdict, .. }) => {
                let unusable = matches!(verdict, Verdict::Damaged { .. });
                self.lost.push(format!("{id}{}", if unusable { " unusable" } else { "" }));
                self.verdicts.push(verdict);
            }
            Order::Persist { number, .. } => {
                self.happenings.push_back(Event::Persisted { number, result: Ok(()) });
            }
            Order::Lend { .. }
            | Order::Note(_)
            | Order::Reserve { .. }
            | Order::Probed { .. }
            | Order::RecallErrand { .. }
            | Order::Revoke { .. }
            | Order::StartErrand { .. }
            | Order::Stat { .. }
            | Order::Tell(_) => {}
            Order::Write { ticket, offset, .. } => {
                let (segment, _) = self.segments.remove(&ticket).expect("bytes to write");
                assert_eq!(offset, u64::from(segment) * ARTICLE, "written where it belongs");
                self.writes.push(segment);
                self.happenings.push_back(Event::Written { ticket, result: self.on_disk() });
            }
        }
    }

    fn count(&mut self, job: JobId) {
        for (server, count) in self.engine.job(job).into_iter().flat_map(|job| job.servers()) {
            let sum = self.counts.entry(server.0).or_default();
            *sum = (sum.0 + count.got, sum.1 + count.failed);
        }
    }

    pub(crate) fn verdict(&self, job: u32, file: u32, segment: u32) -> Option<Verdict> {
        let now = Now { instant: self.now, date: UnixTime(TODAY) };
        self.engine.verdict(now, SegmentKey { job: JobId(job), file, segment })
    }

    fn on_disk(&self) -> Result<(), DiskTrouble> {
        self.disk.map_or(Ok(()), Err)
    }

    fn connect(&mut self, connection: ConnectionId, server: u16) {
        self.at_once += 1;
        self.most_at_once = self.most_at_once.max(self.at_once);
        let open = self.connections.values().filter(|line| line.server == server).count() + 1;
        assert!(open <= self.limits[&server], "more connections than allowed");
        if let Some(&trouble) = self.refusals.get(&server) {
            return self.ended(connection, trouble, Vec::new());
        }
        if self.caps.get(&server).is_some_and(|&cap| open > cap) {
            return self.ended(connection, Trouble::TooManyConnections, Vec::new());
        }
        self.dials += 1;
        if self.fickle == Some(server) {
            self.happenings.push_back(Event::Connected { connection });
            return self.ended(connection, Trouble::Closed, Vec::new());
        }
        let peak = self.peak_connections.entry(server).or_default();
        *peak = open.max(*peak);
        self.connections.insert(connection, Line { server, asked: VecDeque::new() });
        self.happenings.push_back(Event::Connected { connection });
    }

    fn ended(&mut self, connection: ConnectionId, trouble: Trouble, unanswered: Vec<Ticket>) {
        self.happenings.push_back(Event::Ended { connection, trouble, unanswered });
    }

    fn answer_one(&mut self) -> Option<Event> {
        let admitted = &self.admitted;
        let may_come =
            |line: &Line| line.asked.front().is_some_and(|(t, _)| admitted.contains_key(t));
        let (connection, line) = self.connections.iter_mut().find(|(_, line)| may_come(line))?;
        let (connection, server) = (*connection, line.server);
        let (ticket, id) = line.asked.pop_front()?;
        let reserve = self.admitted[&ticket];
        let numbers: Vec<u32> =
            id.split(['.', '@']).map(|n| n.parse().expect("a number")).collect();
        let [file, segment, job] = numbers[..] else { panic!("{id}") };
        self.fetches.push((server, segment));
        let count = self.sizes[&(job, file)];
        let reply = (self.rule)(&Ask { server, job, file, segment });
        if let Reply::Break | Reply::LastWord | Reply::OutOfStep | Reply::Unclear = reply {
            let line = self.connections.remove(&connection).expect("it was just found");
            let rest = line.asked.into_iter().map(|(ticket, ..)| ticket);
            self.breaks += 1;
            if let Reply::LastWord = reply {
                self.ended(connection, Trouble::OutOfStep, rest.collect());
            } else {
                let unanswered = std::iter::once(ticket).chain(rest).collect();
                let trouble = match reply {
                    Reply::OutOfStep => Trouble::OutOfStep,
                    Reply::Unclear => Trouble::Refused,
                    _ => Trouble::Broken,
                };
                return Some(Event::Ended { connection, trouble, unanswered });
            }
        }
        let mut part = Part {
            begin: Some(u64::from(segment) * ARTICLE),
            length: ARTICLE,
            file_size: Some(count * ARTICLE),
            number: Some(segment + 1),
            total: None,
            verified: true,
            name: Some("a.bin".into()),
            crc32: None,
        };
        self.segments.insert(ticket, (segment, count));
        let fault = match reply {
            Reply::Missing => return Some(Event::Missing { ticket }),
            Reply::Refused => return Some(Event::Refused { ticket }),
            Reply::Needs(needed) if needed > reserve as u64 => Some(Fault::TooLarge { needed }),
            Reply::Damaged => {
                part.verified = false;
                Some(Fault::Damaged)
            }
            Reply::OtherSize(more) => {
                part.file_size = Some(count * ARTICLE + more);
                None
            }
            Reply::Sibling => {
                part.name = Some("b.bin".into());
                None
            }
            Reply::Stranger => {
                part.begin = Some(u64::from(segment + 1) * ARTICLE);
                part.number = Some(segment + 2);
                None
            }
            _ => None,
        };
        Some(Event::Fetched { ticket, part, fault })
    }
}

pub(crate) struct Builder(ServerSettings);

pub(crate) fn server(id: u16) -> Builder {
    Builder(ServerSettings::new(ServerId(id), 2))
}

impl Builder {
    pub(crate) fn connections(mut self, connections: usize) -> Self {
        self.0.connections = connections;
        self
    }

    pub(crate) fn account(mut self, account: u16) -> Self {
        self.0.account = Some(account);
        self
    }

    pub(crate) fn inactive(mut self) -> Self {
        self.0.active = false;
        self
    }

    pub(crate) fn level(mut self, level: u32) -> Self {
        self.0.level = level;
        self
    }

    pub(crate) fn group(mut self, group: u32) -> Self {
        self.0.group = group;
        self
    }

    pub(crate) fn optional(mut self) -> Self {
        self.0.optional = true;
        self
    }

    pub(crate) fn retention(mut self, days: u32) -> Self {
        self.0.retention = days;
        self
    }
}

pub(crate) struct JobBuilder {
    id: u32,
    files: Vec<u32>,
    par2: Vec<usize>,
    posted: Option<UnixTime>,
    pub(crate) wants_extras: bool,
    /// In seconds from now.
    pub(crate) health_exempt_for: Option<i64>,
    priority: i32,
    rank: i64,
}

/// A job whose files have these numbers of segments.
pub(crate) fn job(id: u32, files: &[u32]) -> JobBuilder {
    JobBuilder {
        id,
        files: files.to_vec(),
        par2: Vec::new(),
        posted: None,
        wants_extras: false,
        health_exempt_for: None,
        priority: 0,
        rank: 0,
    }
}

impl JobBuilder {
    pub(crate) fn posted_days_ago(mut self, days: i64) -> Self {
        self.posted = Some(UnixTime(TODAY - days * 86_400));
        self
    }

    pub(crate) fn priority(mut self, priority: i32) -> Self {
        self.priority = priority;
        self
    }

    pub(crate) fn rank(mut self, rank: i64) -> Self {
        self.rank = rank;
        self
    }

    /// These of its files are PAR2 volumes.
    pub(crate) fn par2(mut self, files: &[usize]) -> Self {
        self.par2 = files.to_vec();
        self
    }

    fn build(self) -> NewJob {
        let file = |(index, &segments): (usize, &u32)| {
            let mut ids = MessageIdList::new();
            for segment in 0..segments {
                ids.push(&format!("{index}.{segment}@{}", self.id)).expect("a good id");
            }
            NewFile {
                ids,
                numbers: (1..=segments).collect(),
                bytes: vec![ARTICLE as u32; segments as usize],
                posted: self.posted,
                is_extra: self.par2.contains(&index),
                is_par2: self.par2.contains(&index),
                groups: Arc::from([]),
                ..NewFile::default()
            }
        };
        let files = self.files.iter().enumerate().map(file).collect();
        NewJob {
            priority: self.priority,
            rank: self.rank,
            wants_extras: self.wants_extras,
            health_exempt_until: self.health_exempt_for.map(|it| UnixTime(TODAY + it)),
            ..NewJob::new(JobId(self.id), files)
        }
    }
}
