//! [`Traffic`]: a recorder of the orders and answers of a simulated day on which nothing goes wrong but what
//! the test says; single-threaded.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::time::Duration;

use bergamot_engine::{ConnectionId, Event, Order, ServerSettings, Ticket};
use bergamot_testkit::sim::{
    CalendarModel, ClockModel, Day, DiskModel, JobModel, Misfits, Seed, Seen, ServerModel,
    SideTraffic, run_watched,
};
use bergamot_types::{ByteRate, ServerId};

pub(crate) const ARTICLE: u64 = 700_000;

/// So many bytes a second over eight connections, 20 ms away.
pub(crate) fn server(id: u16, rate: u64) -> ServerModel {
    let settings = ServerSettings::new(ServerId(id), 8);
    ServerModel {
        settings,
        round_trip: Duration::from_millis(20),
        jitter: Duration::ZERO,
        think: Duration::ZERO,
        rate,
        connection_rate: None,
        cap: None,
        speeds: Vec::new(),
        answers: Vec::new(),
        spells: Vec::new(),
        outages: Vec::new(),
        misfits: Misfits::default(),
        idle_limit: None,
        dislikes_pipelining: false,
        wire: Vec::new(),
        lies: None,
    }
}

pub(crate) fn job(articles: u32) -> JobModel {
    JobModel {
        files: vec![articles],
        volumes: 0,
        priority: 0,
        added: Duration::ZERO,
        removed: None,
        posted_days_ago: None,
    }
}

pub(crate) fn day(servers: Vec<ServerModel>, articles: u32) -> Day {
    Day {
        seed: Seed::Articles(1),
        kinds: Vec::new(),
        servers,
        jobs: vec![job(articles)],
        article: ARTICLE,
        claimed: ARTICLE as u32,
        disk: DiskModel { rate: 10_000_000_000, ..DiskModel::default() },
        clock: ClockModel::default(),
        line: None,
        rate: ByteRate(0),
        server_rates: BTreeMap::new(),
        budget: 40 << 20,
        names: false,
        reliable: true,
        heals_at: Duration::ZERO,
        user_actions: Vec::new(),
        side_traffic: SideTraffic::default(),
        calendar: CalendarModel::default(),
    }
}

/// All that was asked and all that came.
#[derive(Default)]
pub(crate) struct Traffic {
    orders: Vec<Asked>,
    came: Vec<(Duration, u16)>,
    servers: HashMap<ConnectionId, u16>,
    lines: HashMap<ConnectionId, usize>,
    asked: HashMap<Ticket, (u16, ConnectionId)>,
    took: Duration,
    pub(crate) errands: usize,
    pub(crate) stats: usize,
}

struct Asked {
    at: Duration,
    server: u16,
    job: u32,
    hedge: bool,
    /// How many were under way on the connection, with this one.
    depth: usize,
}

impl Traffic {
    pub(crate) fn of(day: &Day) -> Self {
        let mut traffic = Self::default();
        let mut watch = |now: Duration, seen: Seen<'_>| match seen {
            Seen::Event(event) => traffic.on_event(now, event),
            Seen::Order(order) => traffic.on_order(now, order),
        };
        run_watched(day, &mut watch).unwrap_or_else(|broken| panic!("{broken}"));
        traffic
    }

    fn on_event(&mut self, now: Duration, event: &Event) {
        match event {
            Event::Fetched { ticket, .. } => {
                if let Some(server) = self.answered(*ticket) {
                    self.came.push((now, server));
                    self.took = now;
                }
            }
            Event::Missing { ticket } | Event::Refused { ticket } => _ = self.answered(*ticket),
            Event::Ended { unanswered, .. } => {
                unanswered.iter().for_each(|ticket| _ = self.answered(*ticket));
            }
            Event::JobProcessed { .. } => self.took = now,
            _ => {}
        }
    }

    fn answered(&mut self, ticket: Ticket) -> Option<u16> {
        let (server, connection) = self.asked.remove(&ticket)?;
        *self.lines.entry(connection).or_default() -= 1;
        Some(server)
    }

    fn on_order(&mut self, now: Duration, order: &Order) {
        match order {
            Order::Connect { connection, server } => {
                self.servers.insert(*connection, server.0);
            }
            Order::Fetch { connection, ticket, id, hedge, .. } => {
                let server = self.servers[connection];
                let line = self.lines.entry(*connection).or_default();
                *line += 1;
                self.asked.insert(*ticket, (server, *connection));
                let job = id.as_str().rsplit('@').next().and_then(|job| job.parse().ok());
                let job = job.expect("the job is in the id");
                let (depth, hedge) = (*line, *hedge);
                self.orders.push(Asked { at: now, server, job, hedge, depth });
            }
            Order::StartErrand { .. } => self.errands += 1,
            Order::Stat { .. } => self.stats += 1,
            _ => {}
        }
    }

    pub(crate) fn took(&self) -> Duration {
        self.took
    }

    pub(crate) fn delivered(&self, server: u16) -> usize {
        self.came.iter().filter(|(_, from)| *from == server).count()
    }

    pub(crate) fn bytes(&self, when: Range<Duration>) -> u64 {
        self.came.iter().filter(|(at, _)| when.contains(at)).count() as u64 * ARTICLE
    }

    pub(crate) fn all_orders(&self) -> u64 {
        self.orders.len() as u64
    }

    pub(crate) fn orders(&self, server: u16, when: Range<Duration>) -> usize {
        let counts = |asked: &&Asked| asked.server == server && when.contains(&asked.at);
        self.orders.iter().filter(counts).count()
    }

    pub(crate) fn deep_orders(&self, server: u16, when: Range<Duration>) -> usize {
        let counts = |asked: &&Asked| asked.server == server && when.contains(&asked.at);
        self.orders.iter().filter(counts).filter(|asked| asked.depth > 1).count()
    }

    pub(crate) fn orders_of_job(&self, job: u32, when: Range<Duration>) -> usize {
        self.orders.iter().filter(|asked| asked.job == job && when.contains(&asked.at)).count()
    }

    pub(crate) fn last_fresh_order_of(&self, job: u32) -> Duration {
        let fresh = self.orders.iter().filter(|asked| asked.job == job && !asked.hedge);
        fresh.map(|asked| asked.at).max().unwrap_or_default()
    }

    pub(crate) fn share_of_orders(&self, server: u16, when: Range<Duration>) -> f64 {
        let all = self.orders.iter().filter(|asked| when.contains(&asked.at)).count();
        self.orders(server, when) as f64 / all as f64
    }

    pub(crate) fn deepest(&self) -> usize {
        self.orders.iter().map(|asked| asked.depth).max().unwrap_or(0)
    }

    pub(crate) fn doubled(&self) -> u64 {
        self.orders.iter().filter(|asked| asked.hedge).count() as u64
    }
}
