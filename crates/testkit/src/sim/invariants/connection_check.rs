//! [`ConnectionCheck`]: checks the number and the states of connections after every event. Pure.

use std::collections::BTreeMap;
use std::time::Duration;

use bergamot_engine::{ConnectionId, ServerSettings};
use bergamot_types::ServerId;

use crate::sim::day::Day;
use crate::violation::{Checked, Violation, violated};

#[derive(Debug)]
pub(crate) struct ConnectionCheck {
    servers: Vec<ServerSettings>, // as they are now; those that were removed are not active
    known: BTreeMap<ConnectionId, Known>,
    open: Vec<usize>,   // by server
    resting: Vec<bool>, // by server: people were told that it is in trouble
    proven: Vec<bool>,  // by server: it has answered
    metered: Vec<bool>, // by server: only so much was bought of it
    lowest_level: u32,
}

#[derive(Debug)]
struct Known {
    server: usize,
    ready: bool,
    leaving: bool,
    asked: usize,
    idle_since: Duration,
}

impl ConnectionCheck {
    pub(crate) fn new(day: &Day) -> Self {
        let servers: Vec<_> = day.servers.iter().map(|server| server.settings.clone()).collect();
        Self {
            lowest_level: lowest_level(&servers),
            known: BTreeMap::new(),
            open: vec![0; day.servers.len()],
            resting: vec![false; day.servers.len()],
            proven: vec![false; day.servers.len()],
            metered: servers.iter().map(|it| day.calendar.blocks.contains_key(&it.id)).collect(),
            servers,
        }
    }

    /// Only these are used from now on.
    pub(crate) fn set_servers(&mut self, now: Duration, servers: &[ServerSettings]) {
        for known in &mut self.servers {
            match servers.iter().find(|server| server.id == known.id) {
                Some(server) => *known = server.clone(),
                None => known.active = false,
            }
        }
        self.lowest_level = lowest_level(&self.servers);
        self.excuse(now);
    }

    pub(crate) fn servers(&self) -> &[ServerSettings] {
        &self.servers
    }

    pub(crate) fn open(&self, server: ServerId) -> usize {
        self.open[usize::from(server.0) - 1]
    }

    /// Ceilings are never exceeded, of no server and of no account; `errands` are there already.
    pub(crate) fn on_connect(
        &mut self,
        connection: ConnectionId,
        server: ServerId,
        errands: usize,
    ) -> Checked {
        let place = usize::from(server.0) - 1;
        let idle_since = Duration::ZERO;
        let known = Known { server: place, ready: false, leaving: false, asked: 0, idle_since };
        if self.known.insert(connection, known).is_some() {
            return violated!("connection {connection} is opened twice");
        }
        self.open[place] += 1;
        let settings = &self.servers[place];
        if self.open[place] + errands > settings.connections || !settings.active {
            return violated!("{server} has {} connections", self.open[place]);
        }
        let Some(account) = settings.account else { return Ok(()) };
        let sharing = self.servers.iter().zip(&self.open);
        let sharing = sharing.filter(|(other, _)| other.account == Some(account));
        let allowed = sharing.clone().map(|(other, _)| other.connections).max();
        let open: usize = sharing.map(|(_, open)| open).sum();
        if Some(open) > allowed {
            return violated!("account {account} has {open} connections");
        }
        Ok(())
    }

    pub(crate) fn on_connected(&mut self, now: Duration, connection: ConnectionId) {
        if let Some(known) = self.known.get_mut(&connection) {
            (known.ready, known.idle_since) = (true, now);
        }
    }

    pub(crate) fn on_disconnect(&mut self, connection: ConnectionId) -> Checked {
        let Some(known) = self.known.get_mut(&connection) else {
            return violated!("connection {connection} is sent away and was never there");
        };
        if known.asked > 0 && self.servers[known.server].active {
            return violated!("connection {connection} is sent away with work to do");
        }
        known.leaving = true;
        Ok(())
    }

    /// The server it goes to.
    pub(crate) fn on_ended(&mut self, connection: ConnectionId) -> usize {
        let Some(known) = self.known.remove(&connection) else { return 0 };
        self.open[known.server] -= 1;
        known.server
    }

    pub(crate) fn on_fetch(&mut self, connection: ConnectionId) -> Result<usize, Violation> {
        match self.known.get_mut(&connection) {
            Some(known) if known.ready && !known.leaving => {
                known.asked += 1;
                Ok(known.server)
            }
            Some(known) => violated!("asked over connection {connection}, which is {known:?}"),
            None => violated!("asked over connection {connection}, which is gone"),
        }
    }

    /// Only a server that rests for failures is asked for what is there already.
    pub(crate) fn check_control(&self, server: usize) -> Checked {
        match self.resting[server] {
            true => Ok(()),
            false => violated!("{} is asked for a control", self.servers[server].id),
        }
    }

    pub(crate) fn on_answered(&mut self, now: Duration, connection: ConnectionId) -> usize {
        let Some(known) = self.known.get_mut(&connection) else { return 0 };
        known.asked = known.asked.saturating_sub(1);
        known.idle_since = now;
        self.proven[known.server] = true;
        known.server
    }

    pub(crate) fn set_resting(&mut self, now: Duration, server: ServerId, resting: bool) {
        let place = usize::from(server.0) - 1;
        self.resting[place] = resting;
        let here = self.known.values_mut().filter(|known| known.server == place);
        here.for_each(|known| known.idle_since = now);
    }

    /// Idle time until now is not held against any connection.
    pub(crate) fn excuse(&mut self, now: Duration) {
        self.known.values_mut().for_each(|known| known.idle_since = now);
    }

    /// The connection that has had nothing to do for longest, of those that may be asked for
    /// anything fresh: to servers of the lowest level that keep articles for ever, and of which what is
    /// left need not wait for what is under way. One that has not
    /// answered yet gets little, and perhaps nothing more for as long as it does not.
    pub(crate) fn idle_for(&self, now: Duration) -> Option<(ConnectionId, Duration)> {
        let eligible = |known: &Known| {
            let settings = &self.servers[known.server];
            let keeps = settings.level == self.lowest_level && settings.retention == 0;
            let may = settings.active && !self.metered[known.server];
            keeps && may && self.proven[known.server] && !self.resting[known.server]
        };
        let idle = self.known.iter().filter(|(_, known)| {
            known.ready && !known.leaving && known.asked == 0 && eligible(known)
        });
        let idle = idle.map(|(id, known)| (known.idle_since, *id)).min();
        idle.map(|(since, id)| (id, now.saturating_sub(since)))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// What was opened has been closed.
    pub(crate) fn check_end(&self) -> Checked {
        match self.known.first_key_value() {
            Some((connection, known)) => {
                violated!("connection {connection} is never closed: {known:?}")
            }
            None => Ok(()),
        }
    }
}

fn lowest_level(servers: &[ServerSettings]) -> u32 {
    let active = servers.iter().filter(|server| server.active);
    active.map(|server| server.level).min().unwrap_or(0)
}
