//! What lies between the engine and the servers.

use std::time::Duration;

use bergamot_engine::{ConnectionId, Credit, Event, Ticket};
use bergamot_queue::SegmentKey;
use bergamot_types::{MessageId, Patience};

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
