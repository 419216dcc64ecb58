//! Admission of bodies: methods of [`Engine`] that reserve memory for the next bodies of each connection
//! before their sockets are read. Pure.
//!
//! Asking costs nothing worth counting, so many requests may be under way on a long line. A body
//! costs memory from its first byte until it is written: room for all of it is reserved before the
//! socket is read any further. Bodies come one by one on each connection, so the one at the front
//! of a line, and the one behind it, are all that can be needed soon.

use crate::engine::Engine;
use crate::event::Now;
use crate::order::{ConnectionId, Order, Ticket};

impl Engine {
    /// Who waits at the front of a line comes first, and among those who was asked for longest ago;
    /// none overtakes them, or an article that needs much room would wait for ever.
    pub(crate) fn admit_bodies(&mut self, now: Now) {
        (self.memory.room_is_short, self.memory.disk_due) = (false, None);
        for place in 0..ADMITTED_AHEAD {
            for (ticket, connection) in self.not_admitted(place) {
                if !self.admit(now, connection, ticket) {
                    self.memory.room_is_short = place == 0;
                    return;
                }
            }
        }
    }

    /// An idle connection is better than one whose answer may not be read. Behind other articles
    /// one more may be asked for in any case.
    pub(crate) fn may_ask_for(&self, connection: ConnectionId, needs: u64) -> bool {
        let idle =
            self.connections.get(&connection).is_some_and(|known| known.in_flight.is_empty());
        !idle || !self.memory.room_is_short && self.memory.budget.fits(needs)
    }

    /// Room for an article that was just asked for, if its turn is near.
    pub(crate) fn admit_if_near(&mut self, now: Now, connection: ConnectionId, ticket: Ticket) {
        let ahead = self.connections.get(&connection).map_or(0, |known| known.in_flight.len());
        if ahead <= ADMITTED_AHEAD && !self.memory.room_is_short {
            self.admit(now, connection, ticket);
        }
    }

    fn admit(&mut self, now: Now, connection: ConnectionId, ticket: Ticket) -> bool {
        let Some(article) = self.tickets.get_mut(&ticket) else { return true };
        if let Some(due) = self.memory.backlog.wait_until(now.instant) {
            self.memory.disk_due = Some(due);
            return false;
        }
        if !self.memory.budget.reserve(article.needs) {
            return false;
        }
        article.reserved = article.needs;
        let reserve = article.needs as usize;
        if let Some(known) = self.connections.get_mut(&connection) {
            known.in_flight.on_admitted(now.instant, ticket);
        }
        self.orders.push_back(Order::Admit { connection, ticket, reserve });
        true
    }

    /// The tickets at this place of their lines that have no room yet, the oldest first.
    fn not_admitted(&self, place: usize) -> Vec<(Ticket, ConnectionId)> {
        let waits = self.connections.iter().filter_map(|(&connection, known)| {
            known.in_flight.not_admitted(place).map(|ticket| (ticket, connection))
        });
        let mut found: Vec<_> = waits.collect();
        found.sort_unstable();
        found
    }
}

/// The body that is coming, and the next: while that one comes there is time to admit another.
const ADMITTED_AHEAD: usize = 2;
