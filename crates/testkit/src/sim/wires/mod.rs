//! [`Wires`]: real conversations: the NNTP machine and the decoder of the product on one end, a
//! session of `newsd` on the other, and between them bytes that are cut at random.

mod bodies;
mod sites;
mod wire;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::{Duration, Instant};

use bergamot_engine::{ConnectionId, Credit, Event, Ticket};
use bergamot_types::SplitMix;

use crate::sim::day::Day;
use crate::sim::day::post::Post;
use crate::sim::event_queue::EventQueue;
use crate::sim::kind::{Fired, Kind};
use crate::sim::network::{Asked, Fetch, Network, News};
use sites::Sites;
use wire::{Told, Wire};

#[derive(Debug)]
pub(crate) struct Wires<'a> {
    day: &'a Day,
    sites: Sites,
    start: Instant,
    wires: BTreeMap<ConnectionId, Wire>,
    queue: EventQueue<ConnectionId>,
    chance: SplitMix,
    healed: bool,
    decoded: HashMap<Ticket, Vec<u8>>, // only looked up
    news: VecDeque<News>,
    fired: Fired,
}

impl<'a> Wires<'a> {
    pub(crate) fn new(day: &'a Day, post: &Post, start: Instant) -> Self {
        Self {
            day,
            sites: Sites::new(day, post),
            start,
            wires: BTreeMap::new(),
            queue: EventQueue::new(),
            chance: SplitMix::seeded(day.seed.number() ^ 0xb17e),
            healed: false,
            decoded: HashMap::new(),
            news: VecDeque::new(),
            fired: Fired::new(),
        }
    }

    /// Passes on what a connection has to tell, and sees to it that its turn comes again.
    fn settle(&mut self, now: Duration, connection: ConnectionId) {
        let Some(wire) = self.wires.get_mut(&connection) else { return };
        let server = wire.server();
        let mut ended = false;
        while let Some(told) = wire.poll() {
            self.news.push_back(match told {
                Told::Event(event) => News::Event(event),
                Told::Fetched { event, ticket, bytes } => {
                    self.decoded.insert(ticket, bytes);
                    News::Event(event)
                }
                Told::Ended { trouble, unanswered } => {
                    ended = true;
                    News::Event(Event::Ended { connection, trouble, unanswered })
                }
                Told::Received(bytes) => News::Received { server, bytes },
            });
        }
        if ended {
            self.wires.remove(&connection);
        } else if let Some(at) = wire.turn_to_plan(now) {
            self.queue.plan(at, connection);
        }
    }

    /// What was on its way to bad ends with the servers' faults.
    fn heal(&mut self, now: Duration) {
        self.healed = true;
        self.break_all(now);
    }
}

impl Network for Wires<'_> {
    fn connect(&mut self, now: Duration, connection: ConnectionId, server: usize) {
        let model = &self.day.servers[server];
        if self.sites.lies(server) && !self.healed {
            *self.fired.entry(Kind::CapabilityLies).or_default() += 1;
        }
        let site = self.sites.site(server, self.healed);
        let settings = self.sites.settings(server);
        let opens = now + model.round_trip;
        let chance = SplitMix::seeded(self.chance.up_to(u64::MAX));
        let wire = Wire::new(connection, server, self.start, opens, site, settings, chance);
        self.wires.insert(connection, wire);
        self.settle(now, connection);
    }

    fn disconnect(&mut self, now: Duration, connection: ConnectionId) {
        if let Some(wire) = self.wires.get_mut(&connection) {
            wire.leave(now);
            self.settle(now, connection);
        }
    }

    fn fetch(&mut self, now: Duration, fetch: Fetch) {
        let connection = fetch.connection;
        if let Some(wire) = self.wires.get_mut(&connection) {
            wire.fetch(now, fetch);
            self.settle(now, connection);
        }
    }

    fn stat(&mut self, now: Duration, connection: ConnectionId, ticket: Ticket, article: Asked) {
        if let Some(wire) = self.wires.get_mut(&connection) {
            wire.stat(now, ticket, article.id);
            self.settle(now, connection);
        }
    }

    fn admit(&mut self, now: Duration, ticket: Ticket, connection: ConnectionId, reserve: u64) {
        if let Some(wire) = self.wires.get_mut(&connection) {
            wire.admit(now, ticket, reserve as usize);
            self.settle(now, connection);
        }
    }

    fn lend(&mut self, now: Duration, connection: ConnectionId, credit: Credit) {
        if let Some(wire) = self.wires.get_mut(&connection) {
            wire.lend(now, credit);
            self.settle(now, connection);
        }
    }

    fn revoke(&mut self, now: Duration, connection: ConnectionId) {
        if let Some(wire) = self.wires.get_mut(&connection) {
            wire.revoke(now);
            self.settle(now, connection);
        }
    }

    fn break_all(&mut self, now: Duration) {
        for connection in self.wires.keys().copied().collect::<Vec<_>>() {
            if let Some(wire) = self.wires.get_mut(&connection) {
                wire.snap();
                self.settle(now, connection);
            }
        }
    }

    fn next_time(&self) -> Option<Duration> {
        let healing = (!self.healed).then_some(self.day.heals_at);
        self.queue.next_time().into_iter().chain(healing).min()
    }

    fn advance(&mut self, now: Duration) {
        if !self.healed && now >= self.day.heals_at {
            return self.heal(now);
        }
        let Some(connection) = self.queue.take_due(now) else { return };
        if let Some(wire) = self.wires.get_mut(&connection) {
            wire.advance(now);
            self.settle(now, connection);
        }
    }

    fn poll_news(&mut self) -> Option<News> {
        self.news.pop_front()
    }

    fn take_bytes(&mut self, ticket: Ticket) -> Option<Vec<u8>> {
        self.decoded.remove(&ticket)
    }

    fn open_connections(&self) -> usize {
        self.wires.len()
    }

    fn fired(&self) -> Fired {
        let mut fired = self.fired.clone();
        fired.extend(
            self.sites.fired().into_iter().map(|(fault, count)| (Kind::Wire(fault), count)),
        );
        fired
    }
}
