//! [`Servers`]: the news servers of a simulated day: they answer after a while, lack articles and have
//! outages. Single-threaded, in virtual time.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;

use bergamot_engine::{ConnectionId, Event, Ticket, Trouble};
use bergamot_queue::Part;
use bergamot_types::ServerId;

use super::day::{Day, ServerModel, is_within};
use super::kind::Kind;
use super::planned::Planned;
use super::posts::{ARTICLE, Place};
use super::timeline::Timeline;

#[derive(Debug)]
pub(crate) struct Servers {
    day: Rc<Day>,
    lines: BTreeMap<ConnectionId, Line>,
    bodies: BTreeMap<Ticket, Place>,
    /// A bit for each server that has said that it lacks the article.
    missed: BTreeMap<Place, u8>,
}

/// One connection.
#[derive(Debug)]
struct Line {
    server: usize,
    asked: VecDeque<(Ticket, Place)>,
    admitted: BTreeSet<Ticket>,
    is_answering: bool,
}

impl Servers {
    pub(crate) fn new(day: Rc<Day>) -> Self {
        let (lines, bodies, missed) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Self { day, lines, bodies, missed }
    }

    pub(crate) fn forget_process(&mut self) {
        self.lines.clear();
        self.bodies.clear();
    }

    fn model(&self, server: usize) -> &ServerModel {
        &self.day.servers[server]
    }

    fn is_down(&self, timeline: &Timeline, server: usize) -> bool {
        !timeline.is_healed() && is_within(&self.model(server).outages, timeline.now)
    }

    pub(crate) fn connect(
        &mut self,
        timeline: &mut Timeline,
        connection: ConnectionId,
        server: ServerId,
    ) {
        let server = usize::from(server.0) - 1;
        let line =
            Line { server, asked: VecDeque::new(), admitted: BTreeSet::new(), is_answering: false };
        self.lines.insert(connection, line);
        let latency = timeline.millis(1, self.model(server).latency);
        timeline.plan_in(latency, Planned::Dialled(connection));
    }

    pub(crate) fn on_dialled(
        &mut self,
        timeline: &mut Timeline,
        connection: ConnectionId,
    ) -> Option<Event> {
        let server = self.lines.get(&connection)?.server;
        if self.is_down(timeline, server) {
            timeline.fire(Kind::Outage);
            return self.end(connection, Trouble::Unreachable);
        }
        Some(Event::Connected { connection })
    }

    pub(crate) fn disconnect(&mut self, timeline: &mut Timeline, connection: ConnectionId) {
        if let Some(ended) = self.end(connection, Trouble::Closed) {
            timeline.plan_in(std::time::Duration::from_millis(1), Planned::Engine(ended));
        }
    }

    fn end(&mut self, connection: ConnectionId, trouble: Trouble) -> Option<Event> {
        let line = self.lines.remove(&connection)?;
        let unanswered = line.asked.into_iter().map(|(ticket, _)| ticket).collect();
        Some(Event::Ended { connection, trouble, unanswered })
    }

    pub(crate) fn fetch(
        &mut self,
        timeline: &mut Timeline,
        connection: ConnectionId,
        ticket: Ticket,
        place: Place,
    ) {
        if let Some(line) = self.lines.get_mut(&connection) {
            line.asked.push_back((ticket, place));
        }
        self.turn_to_next(timeline, connection);
    }

    pub(crate) fn admit(
        &mut self,
        timeline: &mut Timeline,
        connection: ConnectionId,
        ticket: Ticket,
    ) {
        if let Some(line) = self.lines.get_mut(&connection) {
            line.admitted.insert(ticket);
        }
        self.turn_to_next(timeline, connection);
    }

    /// Plans the answer to the first request, unless its body may not come yet.
    fn turn_to_next(&mut self, timeline: &mut Timeline, connection: ConnectionId) {
        let Some(line) = self.lines.get_mut(&connection) else { return };
        let Some((ticket, place)) = line.asked.front().filter(|_| !line.is_answering) else {
            return;
        };
        let has = self.day.posts.has(line.server, *place, timeline.now);
        if !has || line.admitted.contains(ticket) {
            line.is_answering = true;
            let latency = timeline.millis(1, self.day.servers[line.server].latency);
            timeline.plan_in(latency, Planned::Answer(connection));
        }
    }

    pub(crate) fn on_answer(
        &mut self,
        timeline: &mut Timeline,
        connection: ConnectionId,
    ) -> Option<Event> {
        let server = self.lines.get(&connection)?.server;
        if self.is_down(timeline, server) {
            return self.end(connection, Trouble::Broken);
        }
        if timeline.strikes(self.model(server).breaks) {
            timeline.fire(Kind::ConnectionBroken);
            return self.end(connection, Trouble::Broken);
        }
        let line = self.lines.get_mut(&connection)?;
        line.is_answering = false;
        let &(ticket, place) = line.asked.front()?;
        let has = self.day.posts.has(server, place, timeline.now);
        if has && !line.admitted.contains(&ticket) {
            // The article has reached the server since it was requested.
            return None;
        }
        line.asked.pop_front();
        line.admitted.remove(&ticket);
        self.turn_to_next(timeline, connection);
        if !has {
            timeline.fire(Kind::ArticleMissing);
            *self.missed.entry(place).or_default() |= 1 << server;
            return Some(Event::Missing { ticket });
        }
        self.bodies.insert(ticket, place);
        Some(Event::Fetched { ticket, part: self.part(place), fault: None })
    }

    fn part(&self, place: Place) -> Part {
        Part {
            begin: Some(u64::from(place.segment) * ARTICLE),
            length: ARTICLE,
            file_size: Some(self.day.posts.file_size(place)),
            number: Some(place.segment + 1),
            verified: true,
            ..Part::default()
        }
    }

    /// Every server has said that it lacks the article.
    pub(crate) fn is_missed(&self, place: Place) -> bool {
        let all = ((1_u16 << self.day.servers.len()) - 1) as u8;
        self.missed.get(&place) == Some(&all)
    }

    pub(crate) fn take_body(&mut self, ticket: Ticket) -> Option<Place> {
        self.bodies.remove(&ticket)
    }

    /// What is open breaks.
    pub(crate) fn on_outage(&mut self, server: usize) -> Vec<Event> {
        let open = self.lines.iter().filter(|(_, line)| line.server == server);
        let open: Vec<_> = open.map(|(connection, _)| *connection).collect();
        open.into_iter().filter_map(|connection| self.end(connection, Trouble::Broken)).collect()
    }
}
