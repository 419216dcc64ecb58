//! [`Servers`]: what carries out the orders of connections. Single-threaded.

use bergamot_engine::{ConnectionId, Credit, Ticket};
use bergamot_types::{MessageId, Patience, ServerId};

use super::Context;

/// A request for the body of an article.
#[derive(Clone, Debug)]
pub struct Fetch {
    pub connection: ConnectionId,
    pub ticket: Ticket,
    pub id: MessageId,
    pub limit: u64,
    pub patience: Patience,
    pub hedge: bool,
    pub control: bool,
}

/// The servers and the connections to them.
pub trait Servers {
    /// A decoded article.
    type Body;

    fn connect(&mut self, cx: &mut Context<'_>, connection: ConnectionId, server: ServerId);
    fn disconnect(&mut self, cx: &mut Context<'_>, connection: ConnectionId);
    fn fetch(&mut self, cx: &mut Context<'_>, fetch: Fetch);
    /// The decoded article of a ticket, which is written or discarded.
    fn take_body(&mut self, ticket: Ticket) -> Option<Self::Body>;

    fn discard(&mut self, ticket: Ticket) {
        drop(self.take_body(ticket));
    }

    fn admit(&mut self, _: &mut Context<'_>, _: ConnectionId, _: Ticket, _: u64) {}
    fn lend(&mut self, _: &mut Context<'_>, _: ConnectionId, _: Credit) {}
    fn revoke(&mut self, _: &mut Context<'_>, _: ConnectionId) {}
    fn stat(&mut self, _: &mut Context<'_>, _: ConnectionId, _: Ticket, _: MessageId) {}
}
