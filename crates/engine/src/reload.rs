//! Reload: methods of [`Engine`] that apply other [`Settings`] while it runs. Pure.
//!
//! What can go on goes on: connections are kept as long as their server may have them, averages and
//! what is used of quotas stay, and whatever waits is routed anew.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use bergamot_types::ServerId;

use crate::engine::Engine;
use crate::event::Now;
use crate::order::{ConnectionId, Notice};
use crate::settings::Settings;

impl Engine {
    pub(crate) fn on_settings_changed(&mut self, now: Now, new: Settings) {
        let old = std::mem::replace(&mut self.settings, new);
        self.pool.set_servers(self.settings.servers.iter().cloned());
        self.pool.set_article_retries(self.settings.article_retries);
        self.memory.budget.set_total(self.settings.budget.0);
        self.change_rates(now, &old);
        self.change_quotas(now);
        self.close_surplus();
        self.reroute(now);
        let known: BTreeSet<_> = self.pool.ids().collect();
        self.retries.queues.retain(|server, _| known.contains(server));
        let gone = old.servers.iter().map(|server| server.id).filter(|id| !known.contains(id));
        gone.for_each(|server| self.sched.forget(server));
    }

    /// A new ordinary rate is the last word on it; the same as before is none.
    fn change_rates(&mut self, now: Now, old: &Settings) {
        let (new, before) = (&self.settings.rates, &old.rates);
        let servers: BTreeSet<_> =
            new.server_rates.keys().chain(before.server_rates.keys()).copied().collect();
        for server in servers {
            self.limiter.set_server(now.instant, server, new.server_rates.get(&server).copied());
        }
        if new.rate != before.rate {
            self.overrides.rate = None;
            self.limiter.set_global(now.instant, Some(self.rate_by_schedule()));
        }
    }

    fn change_quotas(&mut self, now: Now) {
        for server in self.allowance.change(now.date, &self.settings) {
            self.notify(Notice::QuotaRenewed { server });
        }
        let servers: Vec<_> = self.pool.ids().collect();
        for server in servers {
            self.pool.set_used_up(server, self.allowance.reached(Some(server)).is_some());
        }
    }

    /// Connections to servers that are not used any more end at once, and what they were asked comes
    /// back; where only their number is smaller, those with least to do finish that.
    fn close_surplus(&mut self) {
        let open: BTreeSet<_> = self.connections.values().map(|known| known.server).collect();
        for server in open {
            let settings = self.settings.servers.iter().find(|known| known.id == server);
            let most = settings.filter(|known| known.active).map_or(0, |known| known.connections);
            for connection in self.dispensable(server).into_iter().skip(most) {
                match most {
                    0 => self.disconnect(connection),
                    _ => self.retire(connection),
                }
            }
        }
    }

    /// The connections to a server that are to stay, those that are of most use first.
    fn dispensable(&self, server: ServerId) -> Vec<ConnectionId> {
        let staying = self.connections.iter();
        let staying = staying.filter(|(_, known)| known.server == server && known.stays);
        let mut staying: Vec<_> = staying.collect();
        staying.sort_by_key(|(id, known)| (Reverse((known.working, known.in_flight.len())), **id));
        staying.into_iter().map(|(id, _)| *id).collect()
    }

    fn retire(&mut self, connection: ConnectionId) {
        if let Some(known) = self.connections.get_mut(&connection) {
            known.stays = false;
        }
    }
}
