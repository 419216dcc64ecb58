//! Measurements: methods of [`Engine`] that give the scheduler the times and sizes of answers. Pure.

use std::time::Duration;

use bergamot_pool::Trouble;
use bergamot_sched::Transfer;
use bergamot_types::ByteCount;

use crate::article::Stage;
use crate::engine::{Connection, Engine};
use crate::event::Now;
use crate::order::{ConnectionId, Ticket};

impl Engine {
    pub(crate) fn on_progress(&mut self, now: Now, ticket: Ticket, received: ByteCount) {
        let Some(article) = self.tickets.get(&ticket) else { return };
        let Stage::Asked { server, connection } = article.stage else { return };
        let Some(known) = self.connections.get_mut(&connection) else { return };
        if let Some(waited) = known.in_flight.on_progress(now.instant, ticket, received.0) {
            self.sched.on_first_byte(now.instant, server, waited);
        }
    }

    /// The connection has answered for a ticket, which leaves its line.
    pub(crate) fn free_slot(
        &mut self,
        now: Now,
        connection: ConnectionId,
        ticket: Ticket,
        came: bool,
    ) {
        let Some(known) = self.connections.get_mut(&connection) else { return };
        known.has_answered = true;
        let measured = known.in_flight.on_answered(now.instant, ticket);
        let is_idle = known.in_flight.is_empty() && !known.is_closing;
        known.idle_since = is_idle.then_some(now.instant);
        let server = known.server;
        let Some(measured) = measured else { return };
        if measured.ahead {
            self.sched.on_pipelined(server);
        }
        self.sched.on_answer(now.instant, server, measured.transfer.bytes, came);
        if came {
            self.sched.on_transfer(now.instant, server, &measured.transfer);
        }
    }

    /// A connection that broke was slow, too, however fast it had been before.
    pub(crate) fn learn_from_end(&mut self, now: Now, gone: &Connection, trouble: Trouble) {
        if !gone.working || !matches!(trouble, Trouble::Broken | Trouble::OutOfStep) {
            return;
        }
        if gone.in_flight.is_pipelined() {
            self.sched.on_pipeline_broken(now.instant, gone.server);
        }
        let (bytes, due) = gone.in_flight.front(now.instant);
        if !gone.in_flight.is_empty() && self.sched.is_known(gone.server) {
            let transfer = Transfer { bytes, due: due.min(LONGEST_LESSON), flow: None };
            self.sched.on_transfer(now.instant, gone.server, &transfer);
        }
    }
}

/// The machine may have slept for days; that must not weigh more than what comes after it.
const LONGEST_LESSON: Duration = Duration::from_secs(5);
