//! [`Errands`]: connections for something other than articles, such as newsgroup headers. Pure.
//!
//! Articles go first. An errand begins when no article wants a connection anywhere, for the line they
//! come over is shared by all servers, or on one that the settings reserve for errands. It is recalled
//! when an article wants to be fetched, and hangs up at once.

use std::collections::BTreeMap;

use bergamot_pool::{Attempt, Consequence, Trouble};
use bergamot_types::ServerId;

use crate::allowance::Hold;
use crate::engine::Engine;
use crate::event::Now;
use crate::order::{ConnectionId, ErrandId, Notice, Order};

#[derive(Debug, Default)]
pub(crate) struct Errands {
    waiting: BTreeMap<ErrandId, Vec<ServerId>>, // who is as good for it, the best first
    running: BTreeMap<ErrandId, Running>,
}

#[derive(Debug)]
struct Running {
    server: ServerId,
    /// On a connection that articles leave to errands.
    reserved: bool,
    recalled: bool,
}

impl Engine {
    pub(crate) fn on_errand_wanted(&mut self, errand: ErrandId, servers: Vec<ServerId>) {
        self.errands.waiting.insert(errand, servers);
    }

    pub(crate) fn on_errand_connected(&mut self, now: Now, errand: ErrandId) {
        let Some(server) = self.errands.running.get(&errand).map(|running| running.server) else {
            return;
        };
        if self.pool.on_errand_connected(server) {
            self.on_server_works(now, server);
        }
    }

    /// It is not wanted any more; one that has begun is recalled.
    pub(crate) fn on_errand_dropped(&mut self, errand: ErrandId) {
        self.errands.waiting.remove(&errand);
        self.recall(errand);
    }

    pub(crate) fn on_errand_ended(&mut self, now: Now, errand: ErrandId, trouble: Trouble) {
        let Some(Running { server, .. }) = self.errands.running.remove(&errand) else { return };
        let attempt = Attempt::alone(self.last_number, self.last_number);
        match self.pool.on_errand_ended(now.instant, server, trouble, attempt) {
            Consequence::GoesOn => {}
            Consequence::LowerCeiling(to) => self.notify(Notice::CeilingLowered { server, to }),
            Consequence::Rests(again_in) => self.on_server_rests(now, server, again_in),
        }
    }

    /// Recalls those that are in the way, and begins those that are not.
    pub(crate) fn run_errands(&mut self, now: Now) {
        if self.errands.waiting.is_empty() && self.errands.running.is_empty() {
            return;
        }
        let articles_wait = self.articles_want_a_connection(now);
        if articles_wait {
            let in_the_way = self.errands.running.iter().filter(|(_, running)| !running.reserved);
            let in_the_way: Vec<_> = in_the_way.map(|(errand, _)| *errand).collect();
            in_the_way.into_iter().for_each(|errand| self.recall(errand));
        }
        if matches!(self.hold(), Some(Hold::Quota { .. } | Hold::Schedule { .. })) {
            return;
        }
        let waiting: Vec<_> = self.errands.waiting.keys().copied().collect();
        waiting.into_iter().for_each(|errand| self.begin_errand(errand, !articles_wait));
    }

    fn recall(&mut self, errand: ErrandId) {
        let Some(running) = self.errands.running.get_mut(&errand) else { return };
        if !std::mem::replace(&mut running.recalled, true) {
            self.orders.push_back(Order::RecallErrand { errand });
        }
    }

    fn begin_errand(&mut self, errand: ErrandId, undisturbed: bool) {
        let Some(servers) = self.errands.waiting.get(&errand) else { return };
        let free = servers.iter().copied().find(|server| {
            (undisturbed || self.has_reserve(*server)) && self.pool.has_errand_room(*server)
        });
        let Some(server) = free else {
            let servers = servers.clone();
            return if undisturbed {
                self.make_room(&servers)
            };
        };
        self.errands.waiting.remove(&errand);
        self.pool.on_errand(server);
        let reserved = self.has_reserve(server);
        self.errands.running.insert(errand, Running { server, reserved, recalled: false });
        self.orders.push_back(Order::StartErrand { errand, server });
    }

    fn has_reserve(&self, server: ServerId) -> bool {
        let known = self.settings.servers.iter().find(|known| known.id == server);
        let reserved = self.errands.running.values();
        let reserved = reserved.filter(|running| running.server == server && running.reserved);
        known.is_some_and(|known| reserved.count() < known.reserved)
    }

    /// Connections that are kept for articles to come make way, one at a time.
    fn make_room(&mut self, servers: &[ServerId]) {
        let of_these = |server| servers.iter().any(|wanted| self.pool.shares(*wanted, server));
        let idle = |connection: &ConnectionId| self.connections[connection].idle_since.is_some();
        let mut open = self.connections.iter().filter(|(_, known)| of_these(known.server));
        if open.clone().any(|(_, known)| known.is_closing) {
            return;
        }
        if let Some(connection) = open.find(|(id, _)| idle(id)).map(|(id, _)| *id) {
            self.disconnect(connection);
        }
    }

    /// Articles that wait for a server in trouble want no connection, unless one of them is to probe it.
    fn articles_want_a_connection(&mut self, now: Now) -> bool {
        if self.tickets.values().any(|article| article.is_asked()) {
            return true;
        }
        if self.holds_everything() {
            return false;
        }
        let servers: Vec<_> = self.pool.ids().collect();
        servers.into_iter().any(|server| {
            let is_in_use = !self.pool.in_trouble(server) || self.pool.wants_probe(server);
            let may_be_asked = is_in_use && !self.pool.is_used_up(server);
            may_be_asked && self.work_for(now, server) > 0
        })
    }
}
