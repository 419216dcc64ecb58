//! A provider that allows an account so many connections, and servers that are filled with them.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use bergamot_pool::{Attempt, Pool, ServerSettings, Trouble};
use bergamot_types::ServerId;

/// One that began after all others.
const LAST: Attempt = Attempt::alone(1, 1);

/// A server of its own.
pub(crate) fn server(id: u16, connections: usize) -> ServerSettings {
    ServerSettings::new(ServerId(id), connections)
}

/// A server of the account that the provider counts.
pub(crate) fn shared(id: u16, connections: usize) -> ServerSettings {
    ServerSettings { account: Some(7), ..server(id, connections) }
}

pub(crate) struct Provider {
    pub(crate) pool: Pool,
    /// How many connections the account may have from now on.
    pub(crate) allowed: usize,
    /// How it says that there are too many.
    pub(crate) words: Trouble,
    pub(crate) refused: usize,
    connected: BTreeMap<ServerId, usize>,
    counted: Vec<ServerId>,
    now: Instant,
}

impl Provider {
    pub(crate) fn new(servers: impl IntoIterator<Item = ServerSettings>, allowed: usize) -> Self {
        let servers: Vec<_> = servers.into_iter().collect();
        let counted = servers.iter().filter(|server| server.account.is_some());
        Self {
            counted: counted.map(|server| server.id).collect(),
            pool: Pool::new(servers, 1),
            allowed,
            words: Trouble::TooManyConnections,
            refused: 0,
            connected: BTreeMap::new(),
            now: Instant::now(), // any instant does: only differences matter
        }
    }

    pub(crate) fn connected(&self, server: ServerId) -> usize {
        self.connected.get(&server).copied().unwrap_or(0)
    }

    /// Over the servers of the account.
    pub(crate) fn total(&self) -> usize {
        self.counted.iter().map(|server| self.connected(*server)).sum()
    }

    /// Opens one connection after the other until there is room for no more.
    pub(crate) fn fill(&mut self, server: ServerId) {
        while self.pool.room(server) > 0 {
            self.pool.on_opening(server);
            if self.counted.contains(&server) && self.total() >= self.allowed {
                self.refused += 1;
                self.pool.on_ended(self.now, server, false, self.words, LAST);
            } else {
                self.pool.on_connected(server);
                *self.connected.entry(server).or_default() += 1;
            }
        }
    }

    pub(crate) fn close(&mut self, server: ServerId) {
        self.lose(server, Trouble::Closed);
    }

    pub(crate) fn break_one(&mut self, server: ServerId) {
        self.lose(server, Trouble::Broken);
    }

    pub(crate) fn wait(&mut self, time: Duration) {
        self.now += time;
        self.pool.on_time(self.now);
    }

    fn lose(&mut self, server: ServerId, trouble: Trouble) {
        if let Some(count) = self.connected.get_mut(&server).filter(|count| **count > 0) {
            *count -= 1;
            self.pool.on_ended(self.now, server, true, trouble, LAST);
        }
    }
}
