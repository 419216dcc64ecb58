//! A world moved by hand: nothing comes, is written or passes unless a test says so.

#![allow(dead_code, reason = "several tests share it, and none needs all of it")]

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bergamot_engine::{
    Census, ConnectionId, DiskTrouble, Engine, Event, Failure, Fault, HealthAction, JobStatus,
    Note, Notice, Now, Order, ServerSettings, Settings, Ticket, Trouble,
};
use bergamot_queue::{FileKey, NewFile, NewJob, Part};
use bergamot_types::{ByteCount, JobId, MessageIdList, ServerId, UnixTime};

pub(crate) const ARTICLE: u32 = 700_000;
const TODAY: i64 = 20_000 * 86_400;

/// Connections have numbers here, in the order in which they were dialled.
pub(crate) struct World {
    pub(crate) engine: Engine,
    pub(crate) told: Vec<Notice>,
    pub(crate) notes: Vec<Note>,
    pub(crate) discarded: Vec<u32>,
    pub(crate) written: Vec<u32>, // segments that were ordered to be
    pub(crate) hedges: Vec<(usize, u32)>,
    pub(crate) finishing: Vec<FileKey>, // to get their names
    pub(crate) moving: Vec<u32>,        // jobs to be moved
    pub(crate) failed: Vec<(u32, Failure)>,
    pub(crate) closed: Vec<usize>, // connections that were told goodbye
    pub(crate) revoked: Vec<usize>,
    pub(crate) lent: Vec<usize>,
    pub(crate) started: Vec<(u64, u16)>, // errands, and where
    pub(crate) recalled: Vec<u64>,
    pub(crate) persists: usize, // records that were to be kept
    pub(crate) stats: VecDeque<(usize, Ticket, String)>, // questions that are not answered
    pub(crate) probed: Vec<(u32, Census)>,
    pub(crate) limits: HashMap<u32, u64>, // the most to be read of a segment
    paces: BTreeMap<Ticket, u64>,
    pub(crate) silences: HashMap<u32, Duration>, // how long a segment was waited for last
    now: Instant,
    began: Instant,
    lines: Vec<Line>,
    dialled: VecDeque<ConnectionId>,
    room: BTreeMap<Ticket, u64>,
    segments: BTreeMap<Ticket, (u32, u32)>, // the job and the segment
    sizes: BTreeMap<u32, Vec<u32>>,
    unwritten: VecDeque<Ticket>,
    admissions: Vec<u32>, // segments in the order they were let in
}

struct Line {
    id: ConnectionId,
    server: u16,
    asked: VecDeque<Ticket>,
}

impl World {
    pub(crate) fn new(servers: Vec<ServerSettings>) -> Self {
        Self::with(servers, |_| {})
    }

    pub(crate) fn with(servers: Vec<ServerSettings>, change: impl FnOnce(&mut Settings)) -> Self {
        let health_action = HealthAction::None;
        let mut settings = Settings { servers, health_action, ..Settings::default() };
        change(&mut settings);
        let now = Instant::now(); // any instant does: only differences matter
        Self {
            engine: Engine::new(now, settings),
            told: Vec::new(),
            notes: Vec::new(),
            discarded: Vec::new(),
            written: Vec::new(),
            hedges: Vec::new(),
            finishing: Vec::new(),
            moving: Vec::new(),
            failed: Vec::new(),
            closed: Vec::new(),
            revoked: Vec::new(),
            lent: Vec::new(),
            started: Vec::new(),
            recalled: Vec::new(),
            persists: 0,
            stats: VecDeque::new(),
            probed: Vec::new(),
            limits: HashMap::new(),
            paces: BTreeMap::new(),
            silences: HashMap::new(),
            now,
            began: now,
            lines: Vec::new(),
            dialled: VecDeque::new(),
            room: BTreeMap::new(),
            segments: BTreeMap::new(),
            sizes: BTreeMap::new(),
            unwritten: VecDeque::new(),
            admissions: Vec::new(),
        }
    }

    /// A job of one file, and every connection that is dialled for it is greeted.
    pub(crate) fn add(&mut self, job: u32, articles: u32) {
        self.add_sizes(job, &vec![ARTICLE; articles as usize]);
    }

    /// The same of articles that claim these sizes.
    pub(crate) fn add_sizes(&mut self, job: u32, sizes: &[u32]) {
        self.announce(job, sizes);
        self.greet();
    }

    pub(crate) fn announce(&mut self, job: u32, sizes: &[u32]) {
        self.announce_posted(job, sizes, None);
    }

    pub(crate) fn announce_posted(&mut self, job: u32, sizes: &[u32], days_ago: Option<i64>) {
        let posted = days_ago.map(|days| UnixTime(TODAY - days * 86_400));
        self.announce_with(job, sizes, |new| new.files[0].posted = posted);
    }

    /// The same of a job that differs from others.
    pub(crate) fn announce_with(
        &mut self,
        job: u32,
        sizes: &[u32],
        change: impl FnOnce(&mut NewJob),
    ) {
        let mut ids = MessageIdList::new();
        for segment in 0..sizes.len() {
            ids.push(&format!("{segment}@{job}")).expect("a good id");
        }
        let file = NewFile {
            ids,
            numbers: (1..=sizes.len() as u32).collect(),
            bytes: sizes.to_vec(),
            groups: Arc::from([]),
            ..NewFile::default()
        };
        self.sizes.insert(job, sizes.to_vec());
        let mut new = NewJob::new(JobId(job), vec![file]);
        change(&mut new);
        self.hear(Event::JobAdded(new));
    }

    pub(crate) fn greet(&mut self) {
        while let Some(connection) = self.dialled.pop_front() {
            self.hear(Event::Connected { connection });
        }
    }

    /// Only the one that was dialled first.
    pub(crate) fn greet_one(&mut self) {
        let connection = self.dialled.pop_front().expect("one that was dialled");
        self.hear(Event::Connected { connection });
    }

    /// Those that were dialled are never greeted.
    pub(crate) fn forget_dialled(&mut self) {
        self.dialled.clear();
    }

    pub(crate) fn wait(&mut self, millis: u64) {
        self.now += Duration::from_millis(millis);
        self.hear(Event::Timeout);
    }

    /// Somebody removes the job.
    pub(crate) fn remove(&mut self, job: u32) {
        self.hear(Event::JobRemoved(JobId(job)));
    }

    /// How it stands with a job.
    pub(crate) fn status(&self, job: u32) -> JobStatus {
        self.engine.job_status(self.time(), JobId(job)).expect("there is such a job")
    }

    fn time(&self) -> Now {
        let date = UnixTime(TODAY + (self.now - self.began).as_secs() as i64);
        Now { instant: self.now, date }
    }

    /// Bytes that count against the first allowance of a server, or of all together.
    pub(crate) fn used(&mut self, server: Option<u16>) -> Option<u64> {
        let quotas = self.engine.quotas(self.time());
        let of_server = quotas.into_iter().find(|(of, _)| *of == server.map(ServerId));
        of_server.map(|(_, usage)| usage[0].used.0)
    }

    /// The next time it wants to be woken, from now.
    pub(crate) fn wakes_in(&self) -> Option<Duration> {
        self.engine.poll_timeout().map(|at| at.saturating_duration_since(self.now))
    }

    /// Time passes and nobody is woken.
    pub(crate) fn sleep(&mut self, millis: u64) {
        self.now += Duration::from_millis(millis);
    }

    pub(crate) fn pass(&mut self, event: Event) {
        self.hear(event);
    }

    /// What the connection was asked for, by segment, in order.
    pub(crate) fn line(&self, connection: usize) -> Vec<u32> {
        let line = self.lines[connection].asked.iter();
        line.map(|ticket| self.segments[ticket].1).collect()
    }

    /// The same by job and segment.
    pub(crate) fn jobs_in_line(&self, connection: usize) -> Vec<(u32, u32)> {
        self.lines[connection].asked.iter().map(|ticket| self.segments[ticket]).collect()
    }

    pub(crate) fn connections(&self) -> usize {
        self.lines.len()
    }

    pub(crate) fn connections_to(&self, server: u16) -> usize {
        self.lines.iter().filter(|line| line.server == server).count()
    }

    /// How many are under way there.
    pub(crate) fn asked_of(&self, server: u16) -> usize {
        let lines = self.lines.iter().filter(|line| line.server == server);
        lines.map(|line| line.asked.len()).sum()
    }

    /// The first connection to a server.
    pub(crate) fn at(&self, server: u16) -> usize {
        self.lines.iter().position(|line| line.server == server).expect("it was dialled")
    }

    pub(crate) fn id(&self, connection: usize) -> ConnectionId {
        self.lines[connection].id
    }

    /// The segments that have room and have not come.
    pub(crate) fn let_in(&self) -> BTreeSet<u32> {
        let asked = self.lines.iter().flat_map(|line| &line.asked);
        asked.filter(|it| self.room.contains_key(it)).map(|it| self.segments[it].1).collect()
    }

    /// All that ever had room, in order, since this was last asked.
    pub(crate) fn admissions(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.admissions)
    }

    /// So much of the front of the line has come.
    pub(crate) fn progress(&mut self, connection: usize, received: u64) {
        let ticket = self.lines[connection].asked[0];
        self.hear(Event::Progress { ticket, received: ByteCount(received) });
    }

    /// The front of the line comes, and is good.
    pub(crate) fn comes(&mut self, connection: usize) -> u32 {
        self.comes_with(connection, None)
    }

    pub(crate) fn comes_damaged(&mut self, connection: usize) -> u32 {
        self.comes_with(connection, Some(Fault::Damaged))
    }

    pub(crate) fn comes_with(&mut self, connection: usize, fault: Option<Fault>) -> u32 {
        let ticket = self.lines[connection].asked.pop_front().expect("something was asked");
        assert!(self.room.contains_key(&ticket), "it may not be read");
        let (job, segment) = self.segments[&ticket];
        let part = Part { verified: fault.is_none(), ..part(&self.sizes[&job], segment) };
        self.hear(Event::Fetched { ticket, part, fault });
        segment
    }

    /// Only so much of the front of the line comes, and is no good.
    pub(crate) fn comes_short(&mut self, connection: usize, length: u64) {
        let ticket = self.lines[connection].asked.pop_front().expect("something was asked");
        let (job, segment) = self.segments[&ticket];
        let part = Part { length, verified: false, ..part(&self.sizes[&job], segment) };
        self.hear(Event::Fetched { ticket, part, fault: Some(Fault::Damaged) });
    }

    /// It comes, and says that it is this part.
    pub(crate) fn comes_as(&mut self, connection: usize, part: Part) {
        let ticket = self.lines[connection].asked.pop_front().expect("something was asked");
        self.hear(Event::Fetched { ticket, part, fault: None });
    }

    /// The server does not have the front of the line.
    pub(crate) fn misses(&mut self, connection: usize) -> u32 {
        let ticket = self.lines[connection].asked.pop_front().expect("something was asked");
        self.hear(Event::Missing { ticket });
        self.segments[&ticket].1
    }

    /// It is asked for the front of the line and answers something else.
    pub(crate) fn refuses(&mut self, connection: usize) {
        let ticket = self.lines[connection].asked.pop_front().expect("something was asked");
        self.hear(Event::Refused { ticket });
    }

    pub(crate) fn breaks(&mut self, connection: usize) {
        self.ends(connection, Trouble::Broken);
    }

    pub(crate) fn ends(&mut self, connection: usize, trouble: Trouble) {
        let unanswered = self.lines[connection].asked.drain(..).collect();
        let connection = self.lines[connection].id;
        self.hear(Event::Ended { connection, trouble, unanswered });
    }

    /// The disk has done what it was told longest ago.
    pub(crate) fn writes(&mut self, result: Result<(), DiskTrouble>) {
        let ticket = self.unwritten.pop_front().expect("something to write");
        self.hear(Event::Written { ticket, result });
    }

    pub(crate) fn writes_all(&mut self) {
        while !self.unwritten.is_empty() {
            self.writes(Ok(()));
        }
    }

    pub(crate) fn names(&mut self, result: Result<(), DiskTrouble>) {
        let file = self.finishing.remove(0);
        self.hear(Event::FileFinished { file, result });
    }

    pub(crate) fn moves(&mut self, result: Result<(), DiskTrouble>) {
        let job = JobId(self.moving.remove(0));
        self.hear(Event::JobMoved { job, result });
    }

    /// So many times everything in front comes after so many milliseconds, and is written at once.
    pub(crate) fn rounds(&mut self, rounds: usize, millis: u64) {
        for _ in 0..rounds {
            self.wait(millis);
            for connection in 0..self.lines.len() {
                if !self.lines[connection].asked.is_empty() {
                    self.comes(connection);
                    self.writes_all();
                }
            }
        }
    }

    /// The same with a first byte that takes as long as the rest.
    pub(crate) fn comes_after(&mut self, connection: usize, first_byte: u64, flow: u64) -> u32 {
        self.sleep(first_byte);
        self.progress(connection, 0);
        self.sleep(flow);
        let segment = self.comes(connection);
        self.writes_all();
        segment
    }

    /// How fast the server is taken to be by what was asked of it: a fiftieth of that is too slow.
    pub(crate) fn rate_of(&self, connection: usize) -> u64 {
        50 * self.paces[&self.lines[connection].asked[0]]
    }

    pub(crate) fn reserved(&self) -> u64 {
        self.engine.reserved().0
    }

    pub(crate) fn is_done(&self) -> bool {
        self.engine.jobs().next().is_none()
    }

    pub(crate) fn hear(&mut self, event: Event) {
        self.engine.handle(self.time(), event);
        while let Some(order) = self.engine.poll_order() {
            self.carry_out(order);
        }
    }

    fn number(&self, id: ConnectionId) -> usize {
        self.lines.iter().position(|line| line.id == id).expect("it was dialled")
    }

    fn carry_out(&mut self, order: Order) {
        match order {
            Order::Admit { ticket, reserve, .. } => {
                assert_eq!(self.room.insert(ticket, reserve as u64), None, "admitted once");
                self.admissions.push(self.segments[&ticket].1);
            }
            Order::Connect { connection, server } => {
                let asked = VecDeque::new();
                self.lines.push(Line { id: connection, server: server.0, asked });
                self.dialled.push_back(connection);
            }
            Order::Discard { ticket } => self.discarded.push(self.segments[&ticket].1),
            Order::Disconnect { connection } => self.closed.push(self.number(connection)),
            Order::FailJob { job, failure } => self.failed.push((job.0, failure)),
            Order::Fetch { connection, ticket, id, limit, patience, hedge, .. } => {
                assert_eq!(self.engine.article(ticket).as_ref(), Some(&id));
                let (segment, job) = id.as_str().split_once('@').expect("one of ours");
                let segment = segment.parse().expect("a number");
                let connection = self.number(connection);
                self.segments.insert(ticket, (job.parse().expect("a number"), segment));
                self.lines[connection].asked.push_back(ticket);
                self.limits.insert(segment, limit.0);
                self.paces.insert(ticket, patience.pace.0);
                self.silences.insert(segment, patience.silence);
                if hedge {
                    self.hedges.push((connection, segment));
                }
            }
            Order::FinishFile { file, .. } => self.finishing.push(file),
            Order::FinishJob { job, .. } => self.moving.push(job.0),
            Order::Lend { connection, .. } => self.lent.push(self.number(connection)),
            Order::Note(note) => self.notes.push(note),
            Order::Persist { number, .. } => {
                self.persists += 1;
                self.hear(Event::Persisted { number, result: Ok(()) });
            }
            Order::Probed { job, census } => self.probed.push((job.0, census)),
            Order::RecallErrand { errand } => self.recalled.push(errand.0),
            Order::StartErrand { errand, server } => self.started.push((errand.0, server.0)),
            Order::Stat { connection, ticket, id } => {
                self.stats.push_back((self.number(connection), ticket, id.as_str().to_owned()));
            }
            Order::Revoke { connection } => self.revoked.push(self.number(connection)),
            Order::Tell(notice) => self.told.push(notice),
            Order::Write { ticket, .. } => {
                self.written.push(self.segments[&ticket].1);
                self.unwritten.push_back(ticket);
            }
            Order::DeleteFiles { .. } | Order::Reserve { .. } => {}
        }
    }
}

/// What a segment of a file of such articles holds.
pub(crate) fn part(sizes: &[u32], segment: u32) -> Part {
    let sum = |sizes: &[u32]| sizes.iter().map(|size| u64::from(*size)).sum();
    Part {
        begin: Some(sum(&sizes[..segment as usize])),
        length: u64::from(sizes[segment as usize]),
        file_size: Some(sum(sizes)),
        number: Some(segment + 1),
        total: None,
        verified: true,
        name: None,
        crc32: None,
    }
}

/// A server with so many connections.
pub(crate) fn server(id: u16, connections: usize) -> ServerSettings {
    ServerSettings::new(ServerId(id), connections)
}
