//! Read leases: methods of [`Engine`] that pass requests for read credit on to the limiter and leases on to
//! connections, and that bound the number of connections by rate and memory. Pure.

use bergamot_types::{ByteCount, ServerId};

use crate::engine::Engine;
use crate::event::Now;
use crate::order::{ConnectionId, Order};

impl Engine {
    pub(crate) fn on_credit_wanted(&mut self, now: Now, connection: ConnectionId) {
        self.limiter.request(now.instant, connection);
    }

    pub(crate) fn on_credit_returned(
        &mut self,
        now: Now,
        connection: ConnectionId,
        bytes: ByteCount,
    ) {
        self.limiter.settle(now.instant, connection, bytes);
    }

    pub(crate) fn pass_on_leases(&mut self) {
        while let Some(connection) = self.limiter.poll_revoked() {
            self.orders.push_back(Order::Revoke { connection });
        }
        while let Some(lease) = self.limiter.poll_lease() {
            self.orders
                .push_back(Order::Lend { connection: lease.connection, credit: lease.credit });
        }
    }

    /// How many connections the rates can keep busy beside those that are open: more would only make
    /// each so slow that servers hang up. A server without any may have one, for it alone may have
    /// what the others lack, and those may be busy for days.
    pub(crate) fn room_by_pace(&self, server: ServerId) -> usize {
        let all = self.limiter.suggested_connections();
        let all = all.map(|most| most.saturating_sub(self.connections.len()));
        let here = self.limiter.suggested_server_connections(server);
        let here = here.map(|most| most.saturating_sub(self.open_to(server)));
        let room = all.into_iter().chain(here).min().unwrap_or(usize::MAX);
        self.at_least_one(server, room)
    }

    /// How many connections there is memory for beside those that are open; one at each server in
    /// any case, as above.
    pub(crate) fn room_by_memory(&self, server: ServerId) -> usize {
        let room = self.settings.most_connections.saturating_sub(self.connections.len());
        self.at_least_one(server, room)
    }

    /// Connections are counted only where it matters: this is asked at every event.
    fn at_least_one(&self, server: ServerId, room: usize) -> usize {
        if room > 0 { room } else { usize::from(self.open_to(server) == 0) }
    }

    fn open_to(&self, server: ServerId) -> usize {
        self.connections.values().filter(|known| known.server == server).count()
    }
}
