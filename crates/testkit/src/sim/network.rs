//! [`Network`]: the simulated servers, either models or real conversations, and [`SimServers`], which
//! gives them the orders of the driver. Single-threaded, in virtual time.

use std::time::{Duration, Instant};

use bergamot_engine::{ConnectionId, Credit, Event, Ticket};
use bergamot_queue::SegmentKey;
use bergamot_types::{MessageId, Patience, ServerId};

use crate::drive::{self, Context, Servers};
use crate::sim::day::post::Post;
use crate::sim::kind::Fired;

/// Carries out what the engine orders of connections, and tells what comes of it. There are two:
/// models of servers, and real conversations.
pub(crate) trait Network {
    fn connect(&mut self, now: Duration, connection: ConnectionId, server: usize);
    fn disconnect(&mut self, now: Duration, connection: ConnectionId);
    fn fetch(&mut self, now: Duration, fetch: Fetch);
    /// Is the article there?
    fn stat(&mut self, now: Duration, connection: ConnectionId, ticket: Ticket, article: Asked);
    /// There is room for the body of a ticket.
    fn admit(&mut self, now: Duration, ticket: Ticket, connection: ConnectionId, reserve: u64);
    fn lend(&mut self, now: Duration, connection: ConnectionId, credit: Credit);
    fn revoke(&mut self, now: Duration, connection: ConnectionId);
    /// No connection outlives this.
    fn break_all(&mut self, now: Duration);
    fn next_time(&self) -> Option<Duration>;
    /// Does the first of what is due.
    fn advance(&mut self, now: Duration);
    fn poll_news(&mut self) -> Option<News>;
    /// The decoded bytes of a ticket, where there are any.
    fn take_bytes(&mut self, ticket: Ticket) -> Option<Vec<u8>>;
    fn open_connections(&self) -> usize;
    fn fired(&self) -> Fired;
}

#[derive(Clone, Debug)]
pub(crate) struct Fetch {
    pub(crate) connection: ConnectionId,
    pub(crate) ticket: Ticket,
    pub(crate) id: MessageId,
    pub(crate) key: SegmentKey,
    pub(crate) limit: u64,
    pub(crate) patience: Patience,
}

#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) id: MessageId,
    pub(crate) key: SegmentKey,
}

#[derive(Debug)]
pub(crate) enum News {
    Event(Event),
    /// A server's bytes were read.
    Received {
        server: usize,
        bytes: u64,
    },
}

/// Passes the orders of the driver on to the network, in its own time.
pub(crate) struct SimServers<'a> {
    pub(crate) network: Box<dyn Network + 'a>,
    pub(crate) post: &'a Post,
    pub(crate) start: Instant,
}

impl SimServers<'_> {
    fn time(&self, cx: &Context<'_>) -> Duration {
        cx.now.instant.saturating_duration_since(self.start)
    }
}

impl Servers for SimServers<'_> {
    type Body = Vec<u8>;

    fn connect(&mut self, cx: &mut Context<'_>, connection: ConnectionId, server: ServerId) {
        self.network.connect(self.time(cx), connection, usize::from(server.0) - 1);
    }

    fn disconnect(&mut self, cx: &mut Context<'_>, connection: ConnectionId) {
        self.network.disconnect(self.time(cx), connection);
    }

    fn fetch(&mut self, cx: &mut Context<'_>, fetch: drive::Fetch) {
        let Some(&key) = self.post.places().get(&fetch.id) else { return };
        let drive::Fetch { connection, ticket, id, limit, patience, .. } = fetch;
        let fetch = Fetch { connection, ticket, id, key, limit, patience };
        self.network.fetch(self.time(cx), fetch);
    }

    fn take_body(&mut self, ticket: Ticket) -> Option<Vec<u8>> {
        self.network.take_bytes(ticket)
    }

    fn admit(
        &mut self,
        cx: &mut Context<'_>,
        connection: ConnectionId,
        ticket: Ticket,
        reserve: u64,
    ) {
        self.network.admit(self.time(cx), ticket, connection, reserve);
    }

    fn lend(&mut self, cx: &mut Context<'_>, connection: ConnectionId, credit: Credit) {
        self.network.lend(self.time(cx), connection, credit);
    }

    fn revoke(&mut self, cx: &mut Context<'_>, connection: ConnectionId) {
        self.network.revoke(self.time(cx), connection);
    }

    fn stat(
        &mut self,
        cx: &mut Context<'_>,
        connection: ConnectionId,
        ticket: Ticket,
        id: MessageId,
    ) {
        if let Some(&key) = self.post.places().get(&id) {
            self.network.stat(self.time(cx), connection, ticket, Asked { id, key });
        }
    }
}
