//! [`EndGame`]: second requests for late articles near the end of a job, and articles that are left to
//! faster connections. Pure.
//!
//! A job takes as long as its last article. So a slow connection takes none that faster ones would
//! have done sooner, a server that was not measured yet gets little, and when a connection has nothing
//! to do it may ask for what another one is late with: within bounds, and never written twice.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use bergamot_pool::{Route, Tries};
use bergamot_queue::{FileKey, SegmentKey};
use bergamot_sched::Spare;
use bergamot_types::ServerId;

use crate::article::Stage;
use crate::dispatch::{Choice, LOOK_AHEAD};
use crate::engine::{Connection, Engine};
use crate::event::Now;
use crate::order::ConnectionId;

#[derive(Debug, Default)]
pub(crate) struct EndGame {
    pub(crate) spare: Spare,
    /// Articles that were asked for twice, with the number of their tickets that are left: a damaged
    /// copy may still be on its way to the disk, so there may be more than two.
    hedged: HashMap<SegmentKey, usize>,
    look_again: Option<Instant>,
}

/// An article that could be asked for a second time.
#[derive(Debug)]
struct Straggler {
    key: SegmentKey,
    bytes: u64,
    /// When it should be there.
    due_in: f64,
    connection: ConnectionId,
    server: ServerId,
}

impl EndGame {
    /// When an article may have become late without an event.
    pub(crate) fn next_look(&self) -> Option<Instant> {
        self.look_again
    }

    pub(crate) fn rest(&mut self) {
        self.look_again = None;
    }

    pub(crate) fn on_hedged(&mut self, key: SegmentKey, tickets: usize) {
        self.hedged.insert(key, tickets);
    }

    pub(crate) fn on_ticket_gone(&mut self, key: SegmentKey) {
        let Some(left) = self.hedged.get_mut(&key) else { return };
        *left -= 1;
        if *left == 0 {
            self.hedged.remove(&key);
        }
    }

    pub(crate) fn forget(&mut self, file: FileKey) {
        self.hedged.retain(|key, _| key.file_key() != file);
    }

    /// Whether it is asked for twice now.
    fn is_hedged(&self, key: SegmentKey) -> bool {
        self.hedged.get(&key).is_some_and(|&tickets| tickets > 1)
    }

    /// Whether it ever was, and something is left of that.
    fn was_hedged(&self, key: SegmentKey) -> bool {
        self.hedged.contains_key(&key)
    }
}

impl Engine {
    /// Whether another connection is asked for the article, or it is being written.
    pub(crate) fn is_under_way(&self, key: SegmentKey) -> bool {
        let counts = |stage: &Stage| matches!(stage, Stage::Asked { .. } | Stage::Writing { .. });
        self.end_game.was_hedged(key)
            && self.tickets.values().any(|other| other.key == key && counts(&other.stage))
    }

    pub(crate) fn is_being_written(&self, key: SegmentKey) -> bool {
        let writing = |stage: &Stage| matches!(stage, Stage::Writing { .. });
        self.end_game.was_hedged(key)
            && self.tickets.values().any(|other| other.key == key && writing(&other.stage))
    }

    /// How fast a connection is at the moment.
    fn rate_of(&self, now: Now, known: &Connection) -> Option<f64> {
        let (received, age) = known.in_flight.front(now.instant);
        self.sched.rate_now(known.server, received, age).map(|rate| rate.max(1.0))
    }

    /// In how many seconds one more article would be there.
    fn time_for(&self, rate: f64, known: &Connection, bytes: u64) -> f64 {
        let idle = known.in_flight.is_empty();
        let first = if idle { self.sched.first_byte(known.server) } else { Duration::ZERO };
        first.as_secs_f64() + (known.in_flight.bytes() + bytes) as f64 / rate
    }

    /// Whether the faster ones among those who may be asked would have done with the `rest` of the
    /// job before this connection would have done with one article of it.
    pub(crate) fn is_better_left_to_others(
        &self,
        now: Now,
        connection: ConnectionId,
        bytes: u64,
        rest: u64,
        servers: &[ServerId],
    ) -> bool {
        let Some(known) = self.connections.get(&connection) else { return false };
        let Some(own) = self.rate_of(now, known) else { return false };
        if self.sched.fastest() < FASTER * own {
            return false; // as most of the time
        }
        let (mut all, mut fastest, mut ahead) = (0.0, 0.0, 0);
        for other in self.connections.values() {
            // What is under way may be all that a server has left to give.
            let may_be_asked = other.working
                && servers.contains(&other.server)
                && self.allowance.has_room(other.server, bytes);
            if !may_be_asked {
                continue;
            }
            let Some(rate) = self.rate_of(now, other).filter(|rate| *rate >= FASTER * own) else {
                continue;
            };
            all += rate;
            fastest = f64::max(fastest, rate);
            ahead += other.in_flight.bytes();
        }
        // One that is faster is no use if it has more to do than it can.
        all > 0.0
            && (ahead + rest) as f64 / all + bytes as f64 / fastest
                < self.time_for(own, known, bytes)
            && !self.should_measure_again(now, known.server, bytes)
    }

    /// A server that was slow may have recovered, and only an article can show it: now and then,
    /// if that can be asked for elsewhere should it still be slow.
    fn should_measure_again(&self, now: Now, server: ServerId, bytes: u64) -> bool {
        self.sched.is_forgotten(now.instant, server) && self.end_game.spare.allows(bytes)
    }

    /// Of a server that was not measured no more is asked than could be asked for twice should it turn
    /// out to be of no use, as long as there are others.
    pub(crate) fn is_enough_for_unmeasured(&self, server: ServerId) -> bool {
        if self.sched.is_known(server) || !self.pool.has_peers(server) {
            return false;
        }
        let asked = self.connections.values().filter(|known| known.server == server);
        let asked: u64 = asked.map(|known| known.in_flight.bytes()).sum();
        asked > self.queue.all_fresh_bytes() / UNMEASURED_SHARE
    }

    /// Lets connections that have nothing to do ask for what others are late with.
    pub(crate) fn play_end_game(&mut self, now: Now) {
        // Under a rate for all, more requests make nothing faster.
        if self.memory.room_is_short || self.limiter.global().is_some() {
            return;
        }
        let idle = |known: &Connection| known.working && known.stays && known.in_flight.is_empty();
        let idle = self.connections.iter().filter(|(_, known)| idle(known));
        let idle: Vec<_> = idle.map(|(id, _)| *id).collect();
        if idle.is_empty() {
            return;
        }
        let mut stragglers = self.stragglers(now);
        if !stragglers.is_empty() {
            self.end_game.look_again = Some(now.instant + LATE_CHECK_DELAY);
        }
        let nobody_waits = self.retries.queues.values().all(VecDeque::is_empty);
        for connection in idle {
            if nobody_waits || !self.take_over(now, connection) {
                self.hedge(now, connection, &mut stragglers);
            }
        }
    }

    /// Asks for what is owed a retry by a server all of whose connections are busy. That is no second
    /// request, so it costs nothing.
    fn take_over(&mut self, now: Now, connection: ConnectionId) -> bool {
        let known = self.connections.get(&connection);
        let Some(server) = known.map(|known| known.server).filter(|it| !self.is_metered(*it))
        else {
            return false;
        };
        match self.stuck_retry(now, server) {
            Some(key) => self.ask(now, connection, Choice::InLine(key)),
            None => false,
        }
    }

    fn stuck_retry(&self, now: Now, server: ServerId) -> Option<SegmentKey> {
        for (&other, line) in &self.retries.queues {
            if line.is_empty() || self.has_idle_connection(other) {
                continue;
            }
            let found = line.iter().take(LOOK_AHEAD).find(|key| {
                self.retries.troubled.get(key).is_some_and(|troubled| troubled.waits_for(other))
                    && self.queue.wants(**key)
                    && self.may_be_asked_for(now, server, **key)
            });
            if found.is_some() {
                return found.copied();
            }
        }
        None
    }

    fn has_idle_connection(&self, server: ServerId) -> bool {
        let of_server = self.connections.values().filter(|known| known.server == server);
        of_server.filter(|known| known.working).any(|known| known.in_flight.is_empty())
    }

    /// What is under way, the latest first.
    fn stragglers(&self, now: Now) -> Vec<Straggler> {
        let mut found = Vec::new();
        for (&connection, known) in &self.connections {
            let rate = self.rate_of(now, known).unwrap_or(1.0);
            for (place, ticket) in known.in_flight.tickets().enumerate() {
                let Some(key) = self.tickets.get(&ticket).map(|article| article.key) else {
                    continue;
                };
                // Of a job that has ended nothing is handed out either: see `drop_work`.
                let over = self.queue.is_held(key) || !self.queue.wants(key);
                if over || self.end_game.is_hedged(key) {
                    continue;
                }
                let due_in = known.in_flight.bytes_to(place) as f64 / rate;
                let bytes = known.in_flight.bytes_at(place);
                let server = known.server;
                found.push(Straggler { key, bytes, due_in, connection, server });
            }
        }
        found.sort_by(|a, b| b.due_in.total_cmp(&a.due_in).then(a.key.cmp(&b.key)));
        found
    }

    /// Asks for the latest article that this connection would have much sooner.
    fn hedge(&mut self, now: Now, connection: ConnectionId, stragglers: &mut Vec<Straggler>) {
        let Some(known) = self.connections.get(&connection) else { return };
        let (server, Some(rate)) = (known.server, self.rate_of(now, known)) else { return };
        if self.is_metered(server) {
            return;
        }
        let found = stragglers.iter().position(|late| {
            let here = self.time_for(rate, known, late.bytes);
            // Where a server is silent its other connections are no better.
            let elsewhere = late.server != server || !self.pool.has_peers(server);
            late.connection != connection
                && elsewhere
                && late.due_in > LATE * here + LEAST_GAIN
                && self.may_be_asked_for(now, server, late.key)
        });
        let Some(late) = found.map(|found| stragglers.remove(found)) else { return };
        let allowed = self.end_game.spare.allows(late.bytes);
        if allowed && self.ask(now, connection, Choice::Hedge(late.key)) {
            self.end_game.spare.on_doubled(late.bytes);
        }
    }

    fn may_be_asked_for(&self, now: Now, server: ServerId, key: SegmentKey) -> bool {
        let Some(file) = self.queue.file(key.file_key()) else { return false };
        let posted = file.listed().posted;
        let untried = Tries::default();
        let tries = self.retries.troubled.get(&key).map_or(&untried, |troubled| &troubled.tries);
        let route = self.pool.route_anew(tries, posted, now.date);
        matches!(route, Route::Ask(servers) if servers.contains(&server))
    }
}

/// So much faster others must be to be worth waiting for.
const FASTER: f64 = 2.0;

/// What is due later than twice the time it would take here, and this much, is late.
const LATE: f64 = 2.0;
const LEAST_GAIN: f64 = 0.25;

/// As much as may be asked for twice: see [`Spare`].
const UNMEASURED_SHARE: u64 = 50;

/// A line that falls silent makes no noise.
const LATE_CHECK_DELAY: Duration = Duration::from_millis(250);
