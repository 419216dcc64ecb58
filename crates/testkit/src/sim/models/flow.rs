//! Transfers of bodies from model servers: methods of [`Servers`]. Single-threaded.

use std::time::Duration;

use bergamot_engine::{ConnectionId, Event, Ticket, Trouble};
use bergamot_types::ByteCount;

use super::line::Body;
use super::servers::{Act, SILENCE, SOON, Servers, credit_event};
use crate::sim::kind::Kind;
use crate::sim::network::News;

/// What had come of a body when a window of its deadlines began.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Watched {
    received: u64,
    time: Duration, // by the server's clock
}

impl Servers<'_> {
    pub(super) fn begin_body(&mut self, now: Duration, connection: ConnectionId, body: Body) {
        let Some(line) = self.lines.get_mut(&connection) else { return };
        let ticket = body.ticket;
        line.body = Some(Body { began: now, ..body });
        self.tell_progress(ticket, 0);
        self.watch(now, connection);
        self.let_flow(now, connection);
        self.request_credit(now, connection);
    }

    /// Lets the body come if it may, and ends it if there is no more of it.
    pub(super) fn let_flow(&mut self, now: Duration, connection: ConnectionId) {
        let Some(line) = self.lines.get_mut(&connection) else { return };
        line.note_starvation(now);
        let (may, allowed) = (line.may_flow(now), line.allowed(now));
        let time = line.servers_time(now);
        let Some(body) = &mut line.body else { return };
        if body.received >= body.length && (may || body.received > 0) {
            return self.on_body_ended(now, connection);
        }
        if may && !body.flowing && !body.dribbles {
            body.flowing = true;
            let bytes = (body.length - body.received).min(allowed);
            let (server, ticket) = (line.server, body.ticket);
            let watched = Watched { received: body.received, time };
            let silence = line.silence();
            self.link.start(now, server, connection, bytes);
            self.plan_report(now, connection);
            if self.day.servers[server].dead_until(now).is_some() {
                self.queue.plan(now + silence, Act::Silent(connection, ticket, watched));
            }
        }
    }

    /// Takes the transfer off the link and counts what came.
    pub(super) fn stop_flow(&mut self, now: Duration, connection: ConnectionId) {
        let Some(line) = self.lines.get_mut(&connection) else { return };
        let Some(body) = &mut line.body else { return };
        if !body.flowing {
            return;
        }
        body.flowing = false;
        let server = line.server;
        let bytes = self.link.stop(now, server, connection);
        body.received += bytes;
        line.credit.spend(bytes);
        self.news.push_back(News::Received { server, bytes });
    }

    pub(super) fn on_chunk(&mut self, now: Duration, connection: ConnectionId) {
        self.stop_flow(now, connection);
        self.let_flow(now, connection);
        self.request_credit(now, connection);
    }

    pub(super) fn on_expired(&mut self, now: Duration, connection: ConnectionId, until: Duration) {
        let Some(line) = self.lines.get(&connection) else { return };
        if line.credit_expires() == Some(until) {
            self.stop_flow(now, connection);
            self.request_credit(now, connection);
            self.let_flow(now, connection);
        }
    }

    pub(super) fn on_speed(&mut self, now: Duration, server: usize) {
        let model = &self.day.servers[server];
        let rate = if self.day.is_healed(now) { model.rate } else { model.rate_at(now) };
        if rate < model.rate {
            self.fire(if rate == 0 { Kind::TurnsDead } else { Kind::TurnsSlow });
        }
        self.link.set_rate(now, server, rate);
        // Begun anew, they notice that nothing comes any more.
        for connection in self.lines_of(server) {
            self.stop_flow(now, connection);
            self.let_flow(now, connection);
        }
    }

    /// Passes on what the read credit requests.
    pub(super) fn request_credit(&mut self, now: Duration, connection: ConnectionId) {
        let Some(line) = self.lines.get_mut(&connection) else { return };
        if line.is_blocked() {
            line.note_starvation(now);
            return; // whoever may not read for want of room does not ask for credit
        }
        line.note_starvation(now);
        while let Some(request) = line.poll_credit_request(now) {
            self.news.push_back(News::Event(credit_event(connection, request)));
        }
    }

    /// The net looks at what a body has brought in every window.
    fn watch(&mut self, now: Duration, connection: ConnectionId) {
        let received = self.received(now, connection);
        let Some(line) = self.lines.get(&connection) else { return };
        let Some(body) = &line.body else { return };
        let watched = Watched { received, time: line.servers_time(now) };
        self.queue.plan(now + SILENCE, Act::Watch(connection, body.ticket, watched));
    }

    /// The end of a window, unless the time has stood still in it.
    pub(super) fn on_watch(
        &mut self,
        now: Duration,
        id: ConnectionId,
        ticket: Ticket,
        then: Watched,
    ) {
        let Some((came, left)) = self.since(now, id, ticket, then, SILENCE) else { return };
        let Some(line) = self.lines.get(&id) else { return };
        let pace = line.asked.front().map_or(0, |question| question.fetch.patience.pace.0);
        if left > Duration::ZERO {
            self.queue.plan(now + left.max(SOON), Act::Watch(id, ticket, then));
        } else if came < LEAST_PACE.max(pace) * SILENCE.as_secs() {
            self.end(now, id, Trouble::Broken);
        } else {
            self.watch(now, id);
        }
    }

    /// Nothing may have come for so long that we give up.
    pub(super) fn on_silent(
        &mut self,
        now: Duration,
        id: ConnectionId,
        ticket: Ticket,
        then: Watched,
    ) {
        let silence = self.lines.get(&id).map_or(SILENCE, |line| line.silence());
        match self.since(now, id, ticket, then, silence) {
            Some((0, Duration::ZERO)) => self.end(now, id, Trouble::Broken),
            Some((0, left)) => self.queue.plan(now + left.max(SOON), Act::Silent(id, ticket, then)),
            _ => {}
        }
    }

    /// What has come of a body since then, and how much of a time is left by the server's clock.
    fn since(
        &self,
        now: Duration,
        connection: ConnectionId,
        ticket: Ticket,
        then: Watched,
        time: Duration,
    ) -> Option<(u64, Duration)> {
        let line = self.lines.get(&connection)?;
        let body = line.body.as_ref()?;
        let passed = line.servers_time(now).saturating_sub(then.time);
        let came = self.received(now, connection).saturating_sub(then.received);
        (body.ticket == ticket).then(|| (came, time.saturating_sub(passed)))
    }

    /// The net tells in even steps from when the body began; of one that waits there is nothing to tell.
    fn plan_report(&mut self, now: Duration, connection: ConnectionId) {
        let body = self.lines.get_mut(&connection).and_then(|line| line.body.as_mut());
        let Some(body) = body.filter(|body| !body.is_reported) else { return };
        body.is_reported = true;
        let steps = (now - body.began).as_nanos() / REPORT.as_nanos() + 1;
        let at = body.began + REPORT * u32::try_from(steps).unwrap_or(u32::MAX);
        self.queue.plan(at, Act::Report(connection, body.ticket));
    }

    pub(super) fn on_report(&mut self, now: Duration, connection: ConnectionId, ticket: Ticket) {
        let received = self.received(now, connection);
        let body = self.lines.get_mut(&connection).and_then(|line| line.body.as_mut());
        let Some(body) = body.filter(|body| body.ticket == ticket) else { return };
        body.is_reported = false;
        let is_coming = body.flowing;
        if received > 0 {
            self.tell_progress(ticket, received);
        }
        if received > 0 || is_coming {
            self.plan_report(now, connection);
        }
    }

    /// How much of the present body has come.
    fn received(&self, now: Duration, connection: ConnectionId) -> u64 {
        let Some(line) = self.lines.get(&connection) else { return 0 };
        let Some(body) = &line.body else { return 0 };
        let coming = if body.flowing { self.link.came(now, line.server, connection) } else { 0 };
        body.received + coming
    }

    pub(super) fn tell_progress(&mut self, ticket: Ticket, received: u64) {
        let received = ByteCount(received);
        self.news.push_back(News::Event(Event::Progress { ticket, received }));
    }
}

/// How often the net tells how far a body has come.
const REPORT: Duration = Duration::from_millis(250);

/// Bytes per second below which the net calls any server too slow.
const LEAST_PACE: u64 = 1 << 10;
