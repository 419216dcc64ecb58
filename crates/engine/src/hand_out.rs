//! Who is asked for what next.

use bergamot_pool::{Route, Tries};
use bergamot_queue::SegmentKey;
use bergamot_types::{ByteCount, ServerId};

use crate::article::{Article, Stage, Troubled, Whereabouts};
use crate::engine::{Connection, Engine};
use crate::event::Now;
use crate::order::{ConnectionId, Order, Ticket};

impl Engine {
    /// One article to each connection, then the second to each, and so on.
    pub(crate) fn hand_out(&mut self, now: Now) {
        if self.hold().is_some() {
            return;
        }
        self.lose_what_nobody_keeps(now);
        for depth in 0..self.settings.pipeline {
            let ready = |(id, connection): (&ConnectionId, &Connection)| {
                (connection.working && connection.in_flight == depth).then_some(*id)
            };
            let ready: Vec<_> = self.connections.iter().filter_map(ready).collect();
            for connection in ready {
                self.give_work(now, connection);
            }
        }
        self.open_connections(now);
    }

    /// Fresh articles that are too old for every server have been answered for.
    fn lose_what_nobody_keeps(&mut self, now: Now) {
        while let Some(key) = self.queue.peek_fresh() {
            if self.route_of_fresh(now, key) != Route::Exhausted {
                return;
            }
            self.queue.take_fresh();
            self.give_up(key);
        }
    }

    fn route_of_fresh(&self, now: Now, key: SegmentKey) -> Route {
        let posted = self.queue.file(key.file_key()).and_then(|file| file.listed().posted);
        self.pool.route(&Tries::default(), posted, now.date)
    }

    fn give_work(&mut self, now: Now, connection: ConnectionId) {
        let Some(server) = self.connections.get(&connection).map(|known| known.server) else {
            return;
        };
        // One article shows whether the disk works again. More would be fetched for nothing as long
        // as it does not, every few seconds and perhaps from an account that pays for them.
        if self.disk.is_on_trial() && !self.tickets.is_empty() {
            return;
        }
        let Some((key, is_fresh)) = self.next_article(now, server) else { return };
        let Some(file) = self.queue.file(key.file_key()) else { return };
        let claimed = u64::from(file.claimed_bytes(key.segment));
        let needs = self.troubled.get(&key).map_or(0, |troubled| troubled.needs);
        let reserve = reservation(claimed, needs);
        if !self.allowance.admits(server, reserve) || !self.budget.reserve(reserve) {
            return;
        }
        self.last_number += 1;
        let ticket = Ticket(self.last_number);
        self.orders.push_back(Order::Fetch {
            connection,
            ticket,
            id: file.message_id(key.segment),
            groups: file.listed().groups.clone(),
            reserve: reserve as usize,
            limit: ByteCount(article_limit(claimed)),
        });
        if is_fresh {
            self.queue.take_fresh();
        } else {
            self.lines.entry(server).or_default().pop_front();
            self.troubled.entry(key).or_default().whereabouts = Whereabouts::UnderWay;
        }
        let stage = Stage::Asked { server, connection };
        self.tickets.insert(ticket, Article { key, reserved: reserve, stage });
        if let Some(connection) = self.connections.get_mut(&connection) {
            connection.in_flight += 1;
            connection.idle_since = None;
        }
    }

    /// The article this server should be asked for next, and whether nobody was asked for it yet.
    fn next_article(&mut self, now: Now, server: ServerId) -> Option<(SegmentKey, bool)> {
        let line = self.lines.entry(server).or_default();
        while let Some(&key) = line.front() {
            let waits = |troubled: &Troubled| {
                let in_line = troubled.whereabouts == Whereabouts::InLine;
                in_line && !troubled.tries.answered(server)
            };
            if self.troubled.get(&key).is_some_and(waits) && self.queue.wants(key) {
                return Some((key, false));
            }
            line.pop_front();
        }
        let key = self.queue.peek_fresh()?;
        match self.route_of_fresh(now, key) {
            Route::Ask(servers) if servers.contains(&server) => Some((key, true)),
            _ => None,
        }
    }

    fn open_connections(&mut self, now: Now) {
        let servers: Vec<_> = self.pool.ids().collect();
        for server in servers {
            let room = self.pool.room(server).min(self.room_by_pace(server));
            if room == 0 {
                continue;
            }
            for _ in 0..self.work_for(now, server).min(room) {
                self.connect(server);
            }
        }
    }

    /// How many connections more than those being opened could find something to do.
    fn work_for(&mut self, now: Now, server: ServerId) -> usize {
        // A server in trouble is tried as long as there is anything at all it could do.
        if self.pool.in_trouble(server) && !self.queue.is_empty() {
            return 1;
        }
        let opening = self.pool.opening(server);
        let enough = self.pool.settings(server).connections * self.settings.pipeline;
        let waiting = self.lines.get(&server).map_or(0, |line| line.len().min(enough));
        let fresh = match self.next_article(now, server) {
            Some((_, true)) => self.queue.fresh_up_to(enough),
            Some((_, false)) | None => 0,
        };
        (waiting + fresh).saturating_sub(opening)
    }

    fn connect(&mut self, server: ServerId) {
        self.last_number += 1;
        let connection = ConnectionId(self.last_number);
        self.pool.on_opening(server);
        self.orders.push_back(Order::Connect { connection, server });
        let opening = Connection {
            server,
            working: false,
            has_answered: false,
            in_flight: 0,
            idle_since: None,
        };
        self.connections.insert(connection, opening);
    }
}

/// Room for the decoded article: decoding makes it shorter than the NZB says it is, unless the NZB
/// is wrong, and then we know better from the first try.
fn reservation(claimed: u64, needs: u64) -> u64 {
    let guess = if claimed == 0 { UNKNOWN_ARTICLE } else { claimed };
    guess.max(needs).clamp(SMALLEST_RESERVATION, LARGEST_ARTICLE)
}

/// The most that is read of one body.
fn article_limit(claimed: u64) -> u64 {
    (4 * claimed).clamp(SMALLEST_LIMIT, LARGEST_ARTICLE)
}

const SMALLEST_RESERVATION: u64 = 16 << 10;
const UNKNOWN_ARTICLE: u64 = 1 << 20;
const SMALLEST_LIMIT: u64 = 4 << 20;
pub(crate) const LARGEST_ARTICLE: u64 = 32 << 20;
