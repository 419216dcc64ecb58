//! A world with a calendar: servers answer when they are told to, records reach the disk when they
//! are told to, and the clock on the wall can be set.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bergamot_engine::{
    ConnectionId, Credit, DiskTrouble, Engine, Event, Fault, Notice, Now, Order, QuotaRecords,
    ServerSettings, Settings, Ticket, Trouble,
};
use bergamot_limit::{Allowance, Calendar, Period, QuotaSettings};
use bergamot_queue::{NewFile, NewJob, Part};
use bergamot_types::{ByteCount, JobId, MessageIdList, ServerId, UnixTime};

pub(crate) const ARTICLE: u64 = 700_000;

/// What comes instead of a good article.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Reply {
    Break,
    Damaged,
    Good,
    Missing,
    /// It breaks off only when there is three times as much as the NZB says.
    Swollen,
}

pub(crate) struct World {
    pub(crate) engine: Engine,
    pub(crate) rule: fn(server: u16, asked_before: usize) -> Reply,
    /// Records reach the disk at once.
    pub(crate) quick_disk: bool,
    /// Records on their way, oldest first.
    pub(crate) records: VecDeque<(u64, QuotaRecords)>,
    pub(crate) durable: QuotaRecords,
    pub(crate) persists: usize,
    pub(crate) told: Vec<Notice>,
    pub(crate) completed: Vec<u32>,
    pub(crate) fetched: BTreeMap<u16, u64>, // articles that each server gave, good or bad
    pub(crate) credit: Option<Credit>,      // the last that was lent
    settings: Settings,
    now: Instant,
    began: (Instant, i64), // by both clocks
    lines: BTreeMap<ConnectionId, (u16, VecDeque<Ticket>)>,
    asked: HashMap<Ticket, (u32, u32)>, // segment, and how many its file has
    counts: HashMap<u32, u32>,
    tries: HashMap<(u16, u32), usize>,
    happenings: VecDeque<Event>,
}

impl World {
    /// `date` in UTC, as `2026-03-29T00:30:00Z`.
    pub(crate) fn new(date: &str, settings: Settings) -> Self {
        let now = Instant::now(); // any instant does: only differences matter
        Self {
            engine: Engine::new(now, settings.clone()),
            rule: |_, _| Reply::Good,
            quick_disk: true,
            records: VecDeque::new(),
            durable: settings.used.clone(),
            persists: 0,
            told: Vec::new(),
            completed: Vec::new(),
            fetched: BTreeMap::new(),
            credit: None,
            settings,
            now,
            began: (now, at(date).0),
            lines: BTreeMap::new(),
            asked: HashMap::new(),
            counts: HashMap::new(),
            tries: HashMap::new(),
            happenings: VecDeque::new(),
        }
    }

    /// The same daemon started anew with what lies on the disk, after so many seconds.
    pub(crate) fn restarted(self, seconds: i64, change: impl FnOnce(&mut Settings)) -> Self {
        let date = self.date().0;
        let mut settings = Settings { used: self.durable, ..self.settings };
        change(&mut settings);
        let mut world = Self::new("2026-01-01T00:00:00Z", settings);
        world.began.1 = date + seconds;
        world
    }

    /// Stops in good order; the exact records are on disk.
    pub(crate) fn close(&mut self) {
        let now = self.time();
        self.durable = self.engine.closing_records(now).expect("something is counted");
    }

    pub(crate) fn add(&mut self, job: u32, segments: u32) {
        self.add_claiming(job, segments, ARTICLE as u32);
    }

    pub(crate) fn add_claiming(&mut self, job: u32, segments: u32, bytes: u32) {
        let mut ids = MessageIdList::new();
        for segment in 0..segments {
            ids.push(&format!("{segment}@{job}")).expect("a good id");
        }
        let file = NewFile {
            ids,
            numbers: (1..=segments).collect(),
            bytes: vec![bytes; segments as usize],
            groups: Arc::from([]),
            ..NewFile::default()
        };
        self.counts.insert(job, segments);
        self.hear(Event::JobAdded(NewJob::new(JobId(job), vec![file])));
    }

    /// Until nothing happens any more but by the passing of time.
    pub(crate) fn settle(&mut self) {
        self.settle_after(usize::MAX);
    }

    /// The same with so many answers at most.
    pub(crate) fn settle_after(&mut self, mut answers: usize) {
        for _ in 0..100_000 {
            let event = self.happenings.pop_front().or_else(|| {
                let event = if answers > 0 { self.answer_one() } else { None };
                answers -= usize::from(event.is_some());
                event
            });
            match event {
                Some(event) => self.hear(event),
                None => return,
            }
        }
        panic!("it never ends");
    }

    /// Time passes, by both clocks.
    pub(crate) fn wait(&mut self, seconds: u64) {
        let end = self.now + Duration::from_secs(seconds);
        self.settle();
        while let Some(at) = self.engine.poll_timeout().filter(|at| *at <= end) {
            self.now = at.max(self.now);
            self.hear(Event::Timeout);
            self.settle();
        }
        self.now = end;
    }

    /// Somebody sets the clock on the wall; nobody is told.
    pub(crate) fn set_clock(&mut self, seconds: i64) {
        self.began.1 += seconds;
    }

    pub(crate) fn date(&self) -> UnixTime {
        let (instant, date) = self.began;
        UnixTime(date + (self.now - instant).as_secs() as i64)
    }

    /// What became of the records that were sent last, or first.
    pub(crate) fn persisted(&mut self, newest: bool, result: Result<(), DiskTrouble>) {
        let sent = if newest { self.records.pop_back() } else { self.records.pop_front() };
        let (number, records) = sent.expect("records are on their way");
        if result.is_ok() && claim_of(&records, None) >= claim_of(&self.durable, None) {
            self.durable = records;
        }
        self.hear(Event::Persisted { number, result });
    }

    /// What the rate lends a connection that wants to read.
    pub(crate) fn lent(&mut self) -> Credit {
        let connection = *self.lines.keys().next().expect("a connection");
        self.credit = None;
        self.hear(Event::CreditWanted { connection });
        self.now += Duration::from_secs(1);
        self.hear(Event::Timeout);
        let lent = self.credit.expect("there is credit within a second");
        self.hear(Event::CreditReturned { connection, bytes: ByteCount(0) });
        lent
    }

    pub(crate) fn under_way(&self) -> usize {
        self.lines.values().map(|(_, asked)| asked.len()).sum()
    }

    pub(crate) fn total(&self) -> u64 {
        self.fetched.values().sum()
    }

    fn time(&self) -> Now {
        Now { instant: self.now, date: self.date() }
    }

    fn hear(&mut self, event: Event) {
        self.engine.handle(self.time(), event);
        while let Some(order) = self.engine.poll_order() {
            self.carry_out(order);
        }
        self.check();
    }

    /// Killed now, the records on disk would claim no less than was used and is being sent.
    fn check(&self) {
        let quotas = self.settings.server_quotas.keys().map(|server| Some(*server));
        let all = (!self.settings.quota.allowances.is_empty()).then_some(None);
        for scope in quotas.chain(all) {
            let used = claim_of(&self.settings.used, scope) + self.used_of(scope);
            let claimed = claim_of(&self.durable, scope);
            assert!(used <= claimed, "{used} used, {claimed} on record, of {scope:?}");
        }
    }

    /// In this run, by one server or all.
    fn used_of(&self, scope: Option<ServerId>) -> u64 {
        let counts = |server: u16| scope.is_none_or(|of| of.0 == server);
        let fetched = self.fetched.iter().filter(|(server, _)| counts(**server));
        let under_way = self.lines.values().filter(|(server, _)| counts(*server));
        let under_way: usize = under_way.map(|(_, asked)| asked.len()).sum();
        (fetched.map(|(_, articles)| articles).sum::<u64>() + under_way as u64) * ARTICLE
    }

    fn carry_out(&mut self, order: Order) {
        match order {
            Order::Connect { connection, server } => {
                self.lines.insert(connection, (server.0, VecDeque::new()));
                self.happenings.push_back(Event::Connected { connection });
            }
            Order::Disconnect { connection } => {
                self.lines.remove(&connection);
                let (trouble, unanswered) = (Trouble::Closed, Vec::new());
                self.happenings.push_back(Event::Ended { connection, trouble, unanswered });
            }
            Order::FailJob { job, .. } => panic!("{job} failed"),
            Order::Fetch { connection, ticket, id, .. } => {
                let (segment, job) = id.as_str().split_once('@').expect("one of ours");
                let count = self.counts[&job.parse().expect("a number")];
                self.asked.insert(ticket, (segment.parse().expect("a number"), count));
                self.lines.get_mut(&connection).expect("it is open").1.push_back(ticket);
            }
            Order::FinishFile { file, .. } => {
                self.happenings.push_back(Event::FileFinished { file, result: Ok(()) });
            }
            Order::FinishJob { job, .. } => {
                self.completed.push(job.0);
                self.happenings.push_back(Event::JobMoved { job, result: Ok(()) });
            }
            Order::Lend { credit, .. } => self.credit = Some(credit),
            Order::Persist { number, records } => {
                self.persists += 1;
                self.records.push_back((number, records));
                if self.quick_disk {
                    let (number, records) = self.records.pop_back().expect("just sent");
                    self.durable = records;
                    self.happenings.push_back(Event::Persisted { number, result: Ok(()) });
                }
            }
            Order::DeleteFiles { .. } => {}
            Order::Tell(notice) => self.told.push(notice),
            Order::Write { ticket, .. } => {
                self.happenings.push_back(Event::Written { ticket, result: Ok(()) });
            }
            Order::Admit { .. }
            | Order::Discard { .. }
            | Order::Note(_)
            | Order::Reserve { .. }
            | Order::Probed { .. }
            | Order::RecallErrand { .. }
            | Order::Revoke { .. }
            | Order::StartErrand { .. }
            | Order::Stat { .. } => {}
        }
    }

    fn answer_one(&mut self) -> Option<Event> {
        let (&connection, (server, asked)) =
            self.lines.iter_mut().find(|(_, (_, asked))| !asked.is_empty())?;
        let (server, ticket) = (*server, asked.pop_front()?);
        let (segment, count) = self.asked[&ticket];
        let tries = self.tries.entry((server, segment)).or_default();
        let reply = (self.rule)(server, *tries);
        *tries += 1;
        if reply == Reply::Missing {
            return Some(Event::Missing { ticket });
        }
        let articles = if reply == Reply::Swollen { 3 } else { 1 };
        *self.fetched.entry(server).or_default() += articles;
        if matches!(reply, Reply::Break | Reply::Swollen) {
            let (_, rest) = self.lines.remove(&connection).expect("it was just found");
            let unanswered = std::iter::once(ticket).chain(rest).collect();
            let end = Event::Ended { connection, trouble: Trouble::Broken, unanswered };
            if reply == Reply::Break {
                return Some(end);
            }
            self.happenings.push_back(end);
            return Some(Event::Progress { ticket, received: ByteCount(articles * ARTICLE) });
        }
        let part = Part {
            begin: Some(u64::from(segment) * ARTICLE),
            length: ARTICLE,
            file_size: Some(u64::from(count) * ARTICLE),
            number: Some(segment + 1),
            total: None,
            verified: reply == Reply::Good,
            name: None,
            crc32: None,
        };
        let fault = (reply == Reply::Damaged).then_some(Fault::Damaged);
        Some(Event::Fetched { ticket, part, fault })
    }
}

pub(crate) fn server(id: u16, level: u32) -> ServerSettings {
    ServerSettings { level, ..ServerSettings::new(ServerId(id), 2) }
}

/// So many articles in each period, in UTC.
pub(crate) fn quota(period: Period, articles: u64) -> QuotaSettings {
    let allowance = Allowance { period, most: ByteCount(articles * ARTICLE) };
    QuotaSettings { calendar: Calendar::default(), allowances: vec![allowance] }
}

pub(crate) fn at(date: &str) -> UnixTime {
    let numbers: Vec<i64> = date
        .split(['-', 'T', ':', 'Z'])
        .filter(|text| !text.is_empty())
        .map(|text| text.parse().expect("a number"))
        .collect();
    let [year, month, day, hour, minute, second] = numbers[..] else { panic!("{date}") };
    // The days before a date, counted from a March, as leap days come last in such years.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day;
    UnixTime(((days - 719_469) * 24 + hour) * 3600 + minute * 60 + second)
}

/// What a server has given, or all together, so they say.
fn claim_of(records: &QuotaRecords, scope: Option<ServerId>) -> u64 {
    let record = match scope {
        None => records.all.as_ref(),
        Some(server) => records.servers.get(&server),
    };
    record.map_or(0, |record| record.ever.0)
}
