//! Dispatch: methods of [`Engine`] that choose the next article for each connection and open
//! connections. Pure.
//!
//! Connections are served when they have room for one more request; those with least to do first,
//! and among those by the turns of their servers. Each gets what was asked for in vain before, then
//! the next article of the first job that has one for it.

mod admission;
pub(crate) mod end_game;
mod idle_connections;
pub(crate) mod in_flight;
mod measure;
mod server_probe;

use bergamot_pool::{Route, Tries};
use bergamot_queue::{File, SegmentKey};
use bergamot_types::{ByteCount, ServerId};

use crate::article::{Article, Location, Stage};
use crate::dispatch::idle_connections::IdleConnections;
use crate::dispatch::in_flight::InFlight;
use crate::engine::{Connection, Engine};
use crate::event::Now;
use crate::order::{ConnectionId, Order, Ticket};

/// An article to be asked for, and where it waited.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Choice {
    /// It is written; see [`Order::Fetch`].
    Control(SegmentKey),
    /// No server was asked for it yet.
    Fresh(SegmentKey),
    /// It is under way elsewhere, and late.
    Hedge(SegmentKey),
    InLine(SegmentKey),
    /// It waits for a server that is passed over.
    Parked(SegmentKey),
}

impl Choice {
    fn key(self) -> SegmentKey {
        match self {
            Self::Control(key)
            | Self::Fresh(key)
            | Self::Hedge(key)
            | Self::InLine(key)
            | Self::Parked(key) => key,
        }
    }
}

impl Engine {
    pub(crate) fn dispatch(&mut self, now: Now) {
        self.end_game.rest();
        self.retries.next_probe_search.take_if(|at| now.instant >= *at);
        if self.holds_everything() {
            return;
        }
        self.lose_what_nobody_keeps(now);
        // Before the others: those would leave nothing of a higher level to probe a server with.
        self.probe_servers(now);
        let mut idle = self.idle_connections(now);
        while let Some(next) = idle.next(|server| self.sched.turn(server)) {
            match self.give_work(now, next.connection) {
                true => idle.on_given(next),
                false => idle.on_nothing_for(next),
            }
        }
        self.play_end_game(now);
        self.open_connections(now);
    }

    fn depth(&self, now: Now, server: ServerId) -> usize {
        self.sched.depth(now.instant, server).min(self.settings.pipeline)
    }

    fn idle_connections(&self, now: Now) -> IdleConnections {
        let mut idle = IdleConnections::default();
        let takes = |known: &Connection| {
            known.working && known.stays && !self.pool.is_out_of_order(known.server)
        };
        for (&id, known) in self.connections.iter().filter(|(_, known)| takes(known)) {
            idle.add(known.server, id, known.in_flight.len(), || self.depth(now, known.server));
        }
        idle
    }

    /// Fresh articles that are too old for every server have been answered for.
    fn lose_what_nobody_keeps(&mut self, now: Now) {
        loop {
            let Some(key) = self.queue.fresh().next() else { return };
            if self.route_of_fresh(now, key) != Route::Exhausted {
                return;
            }
            self.queue.take_fresh(key.file_key());
            self.give_up(now, key);
        }
    }

    fn route_of_fresh(&self, now: Now, key: SegmentKey) -> Route {
        let posted = self.queue.file(key.file_key()).and_then(|file| file.listed().posted);
        self.pool.route(&Tries::default(), posted, now.date)
    }

    /// Whether there was something for the connection.
    fn give_work(&mut self, now: Now, connection: ConnectionId) -> bool {
        // One article shows whether the disk works again. More would be fetched for nothing as long
        // as it does not, every few seconds and perhaps from an account that pays for them.
        if self.disk.awaits_first_write() && !self.tickets.is_empty() {
            return false;
        }
        match self.choose(now, connection) {
            Some(choice) => self.ask(now, connection, choice),
            None => false,
        }
    }

    fn choose(&mut self, now: Now, connection: ConnectionId) -> Option<Choice> {
        let server = self.connections.get(&connection)?.server;
        let only_its_own = self.is_enough_for_unmeasured(server);
        self.drop_stale_entries(server);
        let line = self.retries.queues.get(&server).into_iter().flatten();
        let mut waiting = line.take(LOOK_AHEAD);
        let waiting = waiting.find(|key| self.should_retry(now, connection, **key, only_its_own));
        if let Some(&key) = waiting {
            return Some(Choice::InLine(key));
        }
        self.choose_fresh(now, connection, server, only_its_own).map(Choice::Fresh)
    }

    fn should_retry(
        &self,
        now: Now,
        connection: ConnectionId,
        key: SegmentKey,
        only_its_own: bool,
    ) -> bool {
        let Some(server) = self.connections.get(&connection).map(|known| known.server) else {
            return false;
        };
        let Some(troubled) = self.retries.troubled.get(&key).filter(|it| it.waits_for(server))
        else {
            return false;
        };
        let Some(file) = self.queue.file(key.file_key()) else { return false };
        let posted = file.listed().posted;
        let anew = || self.pool.route_anew(&troubled.tries, posted, now.date);
        if only_its_own
            && let Route::Ask(servers) = anew()
            && self.pool.has_peers_among(server, &servers)
        {
            return false;
        }
        match self.pool.route(&troubled.tries, posted, now.date) {
            Route::Ask(servers) if servers.contains(&server) => {
                let bytes = size_of(file, key.segment).max(troubled.needs);
                !self.is_better_left_to_others(now, connection, bytes, bytes, &servers)
            }
            _ => false,
        }
    }

    /// An article that one line hands out stays behind in the others.
    fn drop_stale_entries(&mut self, server: ServerId) {
        let Some(line) = self.retries.queues.get_mut(&server) else { return };
        while let Some(key) = line.front() {
            let troubled = self.retries.troubled.get(key);
            if troubled.is_some_and(|it| it.waits_for(server)) && self.queue.wants(*key) {
                return;
            }
            line.pop_front();
        }
    }

    /// The first job that has something for the server, in time, gets it; others come after it. With
    /// `only_its_own`, what no other could be asked for.
    fn choose_fresh(
        &self,
        now: Now,
        connection: ConnectionId,
        server: ServerId,
        only_its_own: bool,
    ) -> Option<SegmentKey> {
        if !self.pool.may_get_fresh(server) {
            return None;
        }
        let (mut job, mut too_late, mut rest) = (None, false, 0);
        for key in self.queue.fresh().take(LOOK_AHEAD) {
            if job.replace(key.job) != Some(key.job) {
                // What the others have to do before they come to this job counts, too.
                rest += self.queue.fresh_bytes(key.job);
                too_late = false;
            }
            if too_late {
                continue;
            }
            let Route::Ask(servers) = self.route_of_fresh(now, key) else { continue };
            let is_for_others = only_its_own && self.pool.has_peers_among(server, &servers);
            if !servers.contains(&server) || is_for_others {
                continue;
            }
            let bytes = self.queue.file(key.file_key()).map_or(0, |f| size_of(f, key.segment));
            if !self.is_better_left_to_others(now, connection, bytes, rest, &servers) {
                return Some(key);
            }
            too_late = true;
        }
        None
    }

    /// Orders the article, if there is room for it.
    pub(crate) fn ask(&mut self, now: Now, connection: ConnectionId, choice: Choice) -> bool {
        let key = choice.key();
        let Some(server) = self.connections.get(&connection).map(|known| known.server) else {
            return false;
        };
        let Some(file) = self.queue.file(key.file_key()) else { return false };
        let claimed = u64::from(file.claimed_bytes(key.segment));
        let bytes = size_of(file, key.segment);
        let (id, groups) = (file.message_id(key.segment), file.listed().groups.clone());
        let troubled = self.retries.troubled.get(&key);
        let needs = reservation(claimed, troubled.map_or(0, |troubled| troubled.needs));
        if !self.may_ask_for(connection, needs) || !self.allowance.admits(server, needs) {
            return false;
        }
        let breaks = troubled.map_or(0, |troubled| troubled.tries.breaks_at(server));
        self.last_number += 1;
        let ticket = Ticket(self.last_number);
        self.orders.push_back(Order::Fetch {
            connection,
            ticket,
            id,
            groups,
            limit: ByteCount(article_limit(claimed)),
            patience: self.sched.patience(server, breaks.into()),
            hedge: matches!(choice, Choice::Hedge(_)),
            control: matches!(choice, Choice::Control(_)),
        });
        self.leave_waiting_place(choice, server);
        let working = self.pool.working(server);
        self.sched.on_given(now.instant, server, bytes, working);
        let stage = Stage::Asked { server, connection };
        self.tickets.insert(ticket, Article { key, needs, reserved: 0, surplus: 0, stage });
        if let Some(known) = self.connections.get_mut(&connection) {
            known.idle_since = None;
            known.in_flight.ask(now.instant, ticket, bytes);
        }
        self.admit_if_near(now, connection, ticket);
        true
    }

    fn leave_waiting_place(&mut self, choice: Choice, server: ServerId) {
        match choice {
            Choice::Fresh(key) => self.queue.take_fresh(key.file_key()),
            // It may be wanted again before the control is answered, and is then under way.
            Choice::Control(key) | Choice::Hedge(key) => {
                let others = self.tickets.values().filter(|other| other.key == key).count();
                self.end_game.on_hedged(key, others + 1);
            }
            Choice::InLine(key) => {
                let line = self.retries.queues.entry(server).or_default();
                if let Some(place) = line.iter().take(LOOK_AHEAD).position(|waits| *waits == key) {
                    line.remove(place);
                }
                self.retries.troubled.entry(key).or_default().location = Location::UnderWay;
            }
            Choice::Parked(key) => {
                self.retries.parked.retain(|waits| *waits != key);
                self.retries.suspects.remove(key);
                self.retries.troubled.entry(key).or_default().location = Location::UnderWay;
            }
        }
    }

    fn open_connections(&mut self, now: Now) {
        let servers: Vec<_> = self.pool.ids().collect();
        for server in servers {
            let room = self.room_for(server);
            if room == 0 {
                continue;
            }
            for _ in 0..self.work_for(now, server).min(room) {
                self.connect(server);
            }
        }
    }

    /// How many connections more there may be, by all that limits them.
    pub(crate) fn room_for(&self, server: ServerId) -> usize {
        match self.pool.room(server) {
            0 => 0, // as most of the time: all are open
            room => room.min(self.room_by_pace(server)).min(self.room_by_memory(server)),
        }
    }

    /// How many connections more than those being opened could find something to do.
    pub(crate) fn work_for(&mut self, now: Now, server: ServerId) -> usize {
        if self.pool.is_out_of_order(server) {
            return usize::from(self.has_probe_for(now, server));
        }
        // A server in trouble is tried as long as there is anything at all it could do.
        if self.pool.in_trouble(server) && !self.queue.is_all_held() {
            return 1;
        }
        let opening = self.pool.opening(server);
        let enough = self.pool.settings(server).connections * 2;
        self.drop_stale_entries(server);
        let waiting = self.retries.queues.get(&server).map_or(0, |line| line.len().min(enough));
        let fresh =
            if self.has_fresh_for(now, server) { self.queue.fresh_up_to(enough) } else { 0 };
        (waiting + fresh).saturating_sub(opening)
    }

    fn has_fresh_for(&self, now: Now, server: ServerId) -> bool {
        let for_it = |key: SegmentKey| match self.route_of_fresh(now, key) {
            Route::Ask(servers) => servers.contains(&server),
            Route::Exhausted | Route::Wait => false,
        };
        self.pool.may_get_fresh(server) && self.queue.fresh().take(LOOK_AHEAD).any(for_it)
    }

    pub(crate) fn connect(&mut self, server: ServerId) {
        self.last_number += 1;
        let connection = ConnectionId(self.last_number);
        self.pool.on_opening(server);
        self.orders.push_back(Order::Connect { connection, server });
        let opening = Connection {
            server,
            working: false,
            stays: true,
            is_closing: false,
            has_answered: false,
            in_flight: InFlight::default(),
            idle_since: None,
        };
        self.connections.insert(connection, opening);
    }
}

/// The bytes that have to come, as far as anybody knows.
pub(crate) fn size_of(file: &File, segment: u32) -> u64 {
    match u64::from(file.claimed_bytes(segment)) {
        0 => UNKNOWN_ARTICLE,
        claimed => claimed,
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

/// Files, or articles to be asked for again, that are looked at to find something for a connection.
pub(crate) const LOOK_AHEAD: usize = 64;

const SMALLEST_RESERVATION: u64 = 16 << 10;
const UNKNOWN_ARTICLE: u64 = 1 << 20;
const SMALLEST_LIMIT: u64 = 4 << 20;
pub(crate) const LARGEST_ARTICLE: u64 = 32 << 20;
