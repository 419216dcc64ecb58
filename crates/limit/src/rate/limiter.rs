//! [`Limiter`]: leases bytes to connections, fairly, within rates.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::{Duration, Instant};

use bergamot_types::{ByteCount, ByteRate, ServerId};

use crate::rate::bucket::LEAST_LEASE;
use crate::rate::lease::{Credit, Lease};
use crate::rate::scope::Scope;
use crate::rate::settings::Settings;

/// Leases bytes to connections, fairly, within one rate for all and one for each server.
///
/// A connection requests a lease when its socket has bytes to read, spends it without further calls, then
/// requests another or returns the rest. After each call poll revocations and leases until `None`, then wait
/// for the timeout.
///
/// Of the waiting connections, the one that has received least is served next; a connection that was idle
/// gets no credit for that time. The share of a connection that the rate of its server limits goes to the
/// others. So shares are max-min fair to within a lease.
#[derive(Debug)]
pub struct Limiter<C> {
    all: Scope,
    servers: BTreeMap<ServerId, Server<C>>,
    connections: BTreeMap<C, Connection>,
    expiries: BTreeSet<(Instant, C)>,
    leases: VecDeque<Lease<C>>,
    revoked: BTreeSet<C>,
    /// What the least served of the waiting connections has received; a connection that begins to wait starts
    /// from this value.
    level: u64,
    arrivals: u64,
    served: Option<Instant>,
}

#[derive(Debug)]
struct Server<C> {
    scope: Scope,
    /// Least served first, then by arrival.
    waiting: BTreeSet<(u64, u64, C)>,
}

#[derive(Debug)]
struct Connection {
    server: ServerId,
    had: u64,
    /// What it could spend in a short time, estimated from its last lease: a slow connection gets small
    /// leases, so that the total that may be leased at a time suffices for all.
    demand: u64,
    state: State,
}

#[derive(Clone, Copy, Debug)]
enum State {
    Idle,
    Waiting { arrival: u64 },
    Holding(Held),
    Unlimited,
}

/// A lease with an end, and the buckets it was drawn from.
#[derive(Clone, Copy, Debug)]
struct Held {
    bytes: u64,
    until: Instant,
    of_all: bool,
    of_server: bool,
}

impl<C: Copy + Ord> Limiter<C> {
    pub fn new(now: Instant, settings: &Settings) -> Self {
        let mut limiter = Self {
            all: Scope::default(),
            servers: BTreeMap::new(),
            connections: BTreeMap::new(),
            expiries: BTreeSet::new(),
            leases: VecDeque::new(),
            revoked: BTreeSet::new(),
            level: 0,
            arrivals: 0,
            served: None,
        };
        limiter.set_global(now, Some(settings.rate));
        for (&server, &rate) in &settings.server_rates {
            limiter.set_server(now, server, Some(rate));
        }
        limiter
    }

    /// The rate of all connections together. Leases that are larger than it would give are revoked.
    pub fn set_global(&mut self, now: Instant, rate: Option<ByteRate>) {
        if self.all.set_rate(now, rate) {
            self.revoke(None);
        }
        self.release(now);
    }

    /// The rate of all connections to one server.
    pub fn set_server(&mut self, now: Instant, server: ServerId, rate: Option<ByteRate>) {
        if self.server(server).scope.set_rate(now, rate) {
            self.revoke(Some(server));
        }
        self.release(now);
    }

    pub fn global(&self) -> Option<ByteRate> {
        self.all.rate()
    }

    /// How many connections the rate can keep busy; with more, each would be so slow that servers close it.
    /// `None` is: as many as there are.
    pub fn suggested_connections(&self) -> Option<usize> {
        self.all.suggested_connections()
    }

    /// The same for one server by its own rate.
    pub fn suggested_server_connections(&self, server: ServerId) -> Option<usize> {
        self.servers.get(&server)?.scope.suggested_connections()
    }

    pub fn add(&mut self, connection: C, server: ServerId) {
        self.remove(connection);
        self.server(server);
        let fresh =
            Connection { server, had: self.level, demand: FIRST_DEMAND, state: State::Idle };
        self.connections.insert(connection, fresh);
    }

    /// What it has not returned counts as spent.
    pub fn remove(&mut self, connection: C) {
        self.end(None, connection, 0);
        self.connections.remove(&connection);
    }

    /// The connection has bytes to read. What it held is spent.
    pub fn request(&mut self, now: Instant, connection: C) {
        match self.connections.get(&connection).map(|connection| connection.state) {
            None | Some(State::Waiting { .. }) => return,
            Some(State::Idle | State::Holding(_) | State::Unlimited) => {
                self.end(Some(now), connection, 0);
            }
        }
        self.wait(connection);
        self.handle_timeout(now);
    }

    /// The connection wants no more for now, and did not use `unspent` of what it held.
    pub fn settle(&mut self, now: Instant, connection: C, unspent: ByteCount) {
        self.end(Some(now), connection, unspent.0);
        self.handle_timeout(now);
    }

    pub fn handle_timeout(&mut self, now: Instant) {
        self.forget_overdue(now);
        self.all.advance(now);
        for server in self.servers.values_mut() {
            server.scope.advance(now);
        }
        while let Some((server, connection, bytes)) = self.next() {
            self.lease(now, server, connection, bytes);
        }
    }

    pub fn poll_lease(&mut self) -> Option<Lease<C>> {
        self.leases.pop_front()
    }

    /// A connection that must stop reading and settle, or ask again, at once.
    pub fn poll_revoked(&mut self) -> Option<C> {
        self.revoked.pop_first()
    }

    pub fn poll_timeout(&self) -> Option<Instant> {
        let overdue = self.expiries.first().map(|&(until, _)| until + GRACE);
        let chosen = self.chosen().map(|(id, _, _)| id);
        let ready = self.heads().filter_map(|(id, server, bytes)| {
            // A connection that waits only for its turn has no wake-up time of its own.
            if server.scope.is_ready(bytes) && chosen != Some(id) {
                return None;
            }
            let by_server = server.scope.ready_at(bytes)?;
            let by_all = self.all.ready_at(bytes)?;
            let at = by_server.into_iter().chain(by_all).max()?;
            Some(self.served.map_or(at, |served| at.max(served + TICK)))
        });
        ready.chain(overdue).min()
    }

    /// The next to be served. While it waits for the common rate, all wait: otherwise connections with small
    /// requests could starve it.
    fn next(&self) -> Option<(ServerId, C, u64)> {
        let (id, server, bytes) = self.chosen()?;
        let &(_, _, connection) = server.waiting.first()?;
        self.all.is_ready(bytes).then_some((id, connection, bytes))
    }

    /// Of the connections that the rate of their server does not limit, the one that has received least.
    fn chosen(&self) -> Option<(ServerId, &Server<C>, u64)> {
        let ready = self.heads().filter(|(_, server, bytes)| server.scope.is_ready(*bytes));
        ready.min_by_key(|(_, server, _)| server.waiting.first())
    }

    /// Servers with a waiting connection, and the lease it would get.
    fn heads(&self) -> impl Iterator<Item = (ServerId, &Server<C>, u64)> {
        let waited_for = self.servers.iter().filter(|(_, server)| !server.waiting.is_empty());
        waited_for.map(|(&id, server)| {
            let head = server.waiting.first().and_then(|(_, _, id)| self.connections.get(id));
            let demand = head.map(|connection| connection.demand);
            let sizes = [self.all.lease_size(), server.scope.lease_size(), demand];
            (id, server, sizes.into_iter().flatten().min().unwrap_or(FIRST_DEMAND))
        })
    }

    fn lease(&mut self, now: Instant, server: ServerId, id: C, bytes: u64) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        let Some(server) = self.servers.get_mut(&server) else { return };
        server.waiting.pop_first();
        self.level = self.level.max(connection.had);
        connection.had = self.level.saturating_add(bytes);
        let until = now + LEASE_LIFE;
        let held = Held {
            bytes,
            until,
            of_all: self.all.lease(bytes),
            of_server: server.scope.lease(bytes),
        };
        connection.state = State::Holding(held);
        self.expiries.insert((until, id));
        let credit = Credit::Bytes { most: ByteCount(bytes), until };
        self.leases.push_back(Lease { connection: id, credit });
        self.served = Some(now);
    }

    /// Puts an idle connection among the waiting, or frees it if nothing limits it.
    fn wait(&mut self, id: C) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        let Some(server) = self.servers.get_mut(&connection.server) else { return };
        if !self.all.is_limited() && !server.scope.is_limited() {
            connection.state = State::Unlimited;
            self.leases.push_back(Lease { connection: id, credit: Credit::Unlimited });
            return;
        }
        self.arrivals += 1;
        connection.state = State::Waiting { arrival: self.arrivals };
        server.waiting.insert((connection.had, self.arrivals, id));
        server.scope.active += 1;
        self.all.active += 1;
    }

    /// Ends the request or the lease of the connection, which is idle afterwards. Without a time the estimate
    /// of its speed is not updated.
    fn end(&mut self, now: Option<Instant>, id: C, unspent: u64) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        let Some(server) = self.servers.get_mut(&connection.server) else { return };
        match std::mem::replace(&mut connection.state, State::Idle) {
            State::Idle => return,
            State::Waiting { arrival } => {
                server.waiting.remove(&(connection.had, arrival, id));
                server.scope.active -= 1;
                self.all.active -= 1;
            }
            State::Holding(held) => {
                connection.learn(now, &held, unspent);
                self.expiries.remove(&(held.until, id));
                self.all.settle(held.of_all, held.bytes, unspent);
                server.scope.settle(held.of_server, held.bytes, unspent);
                server.scope.active -= 1;
                self.all.active -= 1;
            }
            State::Unlimited => {}
        }
        self.revoked.remove(&id);
        self.leases.retain(|lease| lease.connection != id);
    }

    /// A lease that was not settled in time counts as spent, so that a lost connection does not keep it.
    fn forget_overdue(&mut self, now: Instant) {
        while let Some(&(until, id)) =
            self.expiries.first().filter(|(until, _)| *until + GRACE <= now)
        {
            self.expiries.remove(&(until, id));
            self.end(None, id, 0);
        }
    }

    /// Revokes the leases of all connections, or of those to one server. A lease that was not polled yet is
    /// dropped.
    fn revoke(&mut self, of: Option<ServerId>) {
        let holders = self.connections.iter().filter(|(_, connection)| {
            let held = matches!(connection.state, State::Holding(_) | State::Unlimited);
            held && of.is_none_or(|server| connection.server == server)
        });
        for id in holders.map(|(&id, _)| id).collect::<Vec<_>>() {
            if self.leases.iter().any(|lease| lease.connection == id) {
                self.end(None, id, u64::MAX);
                self.wait(id);
            } else {
                self.revoked.insert(id);
            }
        }
    }

    /// After a change of rates: grants unlimited leases where no limit is left, serves the others.
    fn release(&mut self, now: Instant) {
        let waits = |connection: &Connection| matches!(connection.state, State::Waiting { .. });
        let waiting = self.connections.iter().filter(|(_, connection)| waits(connection));
        for id in waiting.map(|(&id, _)| id).collect::<Vec<_>>() {
            if !self.is_limited(id) {
                self.end(None, id, 0);
                self.wait(id);
            }
        }
        self.handle_timeout(now);
    }

    fn is_limited(&self, id: C) -> bool {
        let server = self.connections.get(&id).and_then(|c| self.servers.get(&c.server));
        self.all.is_limited() || server.is_some_and(|server| server.scope.is_limited())
    }

    fn server(&mut self, id: ServerId) -> &mut Server<C> {
        self.servers
            .entry(id)
            .or_insert_with(|| Server { scope: Scope::default(), waiting: BTreeSet::new() })
    }
}

impl Connection {
    fn learn(&mut self, now: Option<Instant>, held: &Held, unspent: u64) {
        let spent = held.bytes.saturating_sub(unspent);
        if spent > 0 {
            // A connection that spent nothing still counts as served.
            self.had = self.had.saturating_sub(held.bytes - spent);
        }
        let Some(now) = now else { return };
        let took = (now + LEASE_LIFE).saturating_duration_since(held.until).as_nanos().max(1);
        let demand = u128::from(spent) * WHILE.as_nanos() / took;
        let most = held.bytes.saturating_mul(2);
        self.demand = u64::try_from(demand).unwrap_or(most).min(most).max(LEAST_LEASE);
    }
}

/// After this time a new rate applies to all connections, even if a revocation does not arrive.
const LEASE_LIFE: Duration = Duration::from_millis(250);
/// What a lease should last on a slow link: half of what may be leased at a time, so that the links
/// together need not be faster than the rate to be used in full.
const WHILE: Duration = Duration::from_millis(50);
/// Before anything is known of the link; doubled by each lease that is spent quickly.
const FIRST_DEMAND: u64 = 1 << 10;
/// What a connection may be late in settling.
const GRACE: Duration = Duration::from_millis(250);
/// The least time between two wake-ups, so that many connections do not mean many of them.
const TICK: Duration = Duration::from_millis(5);
