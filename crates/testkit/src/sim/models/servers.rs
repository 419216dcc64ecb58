//! [`Servers`]: all model servers and the connections to them. Single-threaded, in virtual time.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::time::{Duration, Instant};

use bergamot_engine::{ConnectionId, Credit, Event, Fault, Ticket, Trouble};
use bergamot_limit::CreditRequest;
use bergamot_queue::SegmentKey;
use bergamot_types::SplitMix;

use super::answer::{self, Answer};
use super::flow::Watched;
use super::line::{End, Line, Question, State};
use crate::sim::day::Day;
use crate::sim::event_queue::EventQueue;
use crate::sim::kind::{Fired, Kind};
use crate::sim::models::link::Link;
use crate::sim::network::{Asked, Fetch, Network, News};

#[derive(Debug)]
pub(crate) struct Servers<'a> {
    pub(super) day: &'a Day,
    start: Instant,
    pub(super) queue: EventQueue<Act>,
    pub(super) link: Link,
    pub(super) lines: BTreeMap<ConnectionId, Line>,
    chance: SplitMix,
    asked: HashSet<(usize, SegmentKey)>, // only looked up
    pub(super) news: VecDeque<News>,
    fired: Fired,
}

/// What is planned. Connections and tickets are never used again, so what has become void is known
/// by them.
#[derive(Clone, Copy, Debug)]
pub(super) enum Act {
    /// The first byte of the answer is there.
    Begin(ConnectionId, Ticket),
    /// A dialled connection meets its fate.
    Dialled(ConnectionId),
    End(ConnectionId, Trouble),
    /// A lease runs out.
    Expire(ConnectionId, Duration),
    /// We give up waiting for the first byte of this answer, unless it was we who did not read.
    GiveUp(ConnectionId, Ticket),
    HangUp(ConnectionId),
    /// The server has had enough of an idle connection.
    Idle(ConnectionId, Duration),
    Report(ConnectionId, Ticket),
    /// Nothing may have come of a body since then.
    Silent(ConnectionId, Ticket, Watched),
    /// A server's speed changes.
    Speed(usize),
    /// It says whether it has an article.
    Stat(ConnectionId, Ticket, SegmentKey),
    /// A spell begins that ends what is open.
    Spell(usize),
    /// So much of a body had come when it was begun to be watched.
    Watch(ConnectionId, Ticket, Watched),
}

impl<'a> Servers<'a> {
    pub(crate) fn new(day: &'a Day, start: Instant) -> Self {
        let rates: Vec<_> = day
            .servers
            .iter()
            .map(|server| (server.rate_at(Duration::ZERO), server.connection_rate))
            .collect();
        let mut queue = EventQueue::new();
        for (place, server) in day.servers.iter().enumerate() {
            for (at, _) in &server.speeds {
                queue.plan(*at, Act::Speed(place));
            }
            let cutting = server.spells.iter().filter(|spell| spell.kind == Kind::Unreachable);
            cutting.for_each(|spell| queue.plan(spell.from, Act::Spell(place)));
        }
        Self {
            day,
            start,
            queue,
            link: Link::new(&rates, day.line),
            lines: BTreeMap::new(),
            chance: SplitMix::seeded(!day.seed.number()),
            asked: HashSet::new(),
            news: VecDeque::new(),
            fired: Fired::new(),
        }
    }

    fn act(&mut self, now: Duration, act: Act) {
        match act {
            Act::Begin(connection, ticket) => self.on_begin(now, connection, ticket),
            Act::Dialled(connection) => self.on_dialled(now, connection),
            Act::End(connection, trouble) => self.end(now, connection, trouble),
            Act::Expire(connection, until) => self.on_expired(now, connection, until),
            Act::GiveUp(connection, ticket) => self.on_give_up(now, connection, ticket),
            Act::HangUp(connection) => self.hang_up(now, connection),
            Act::Idle(connection, since) => self.on_idle(now, connection, since),
            Act::Report(connection, ticket) => self.on_report(now, connection, ticket),
            Act::Silent(connection, ticket, then) => self.on_silent(now, connection, ticket, then),
            Act::Speed(server) => self.on_speed(now, server),
            Act::Spell(server) => self.on_spell(now, server),
            Act::Stat(connection, ticket, key) => self.on_stat(connection, ticket, key),
            Act::Watch(connection, ticket, watched) => {
                self.on_watch(now, connection, ticket, watched);
            }
        }
    }

    fn on_stat(&mut self, connection: ConnectionId, ticket: Ticket, key: SegmentKey) {
        let Some(line) = self.lines.get(&connection) else { return };
        let lacks = answer::lacks(self.day, &self.day.servers[line.server], key);
        self.news.push_back(News::Event(match lacks {
            true => Event::Missing { ticket },
            false => Event::Present { ticket },
        }));
    }

    fn on_dialled(&mut self, now: Duration, connection: ConnectionId) {
        let Some(line) = self.lines.get(&connection) else { return };
        let (place, model) = (line.server, &self.day.servers[line.server]);
        let spell = model.spell(now).filter(|_| !self.day.is_healed(now));
        if let Some(kind) = spell {
            self.fire(kind);
        }
        let trouble = match spell {
            Some(Kind::AccountShared) => Trouble::AccountShared,
            Some(Kind::Certificate) => Trouble::Certificate,
            Some(Kind::GreetingRefused) => Trouble::Refused,
            Some(Kind::LoginRefused) => Trouble::Login,
            Some(Kind::OutOfCredit) => Trouble::OutOfCredit,
            Some(Kind::Unreachable) => Trouble::Unreachable,
            Some(Kind::NeverGreets) => {
                let at = now + SILENCE;
                return self.queue.plan(at, Act::End(connection, Trouble::Unreachable));
            }
            _ if self.is_crowded(place) => {
                let shared = model.settings.account.is_some();
                self.fire(if shared { Kind::AccountCap } else { Kind::ConnectionCap });
                Trouble::TooManyConnections
            }
            other => {
                self.greet(now, connection);
                if other == Some(Kind::HangsUpBehindLogin) {
                    self.queue.plan(now + model.round_trip, Act::HangUp(connection));
                }
                return;
            }
        };
        self.end(now, connection, trouble);
    }

    fn greet(&mut self, now: Duration, connection: ConnectionId) {
        let Some(line) = self.lines.get_mut(&connection) else { return };
        line.state = State::Open;
        self.news.push_back(News::Event(Event::Connected { connection }));
        self.watch_idle(now, connection);
    }

    /// Whether the server, or its account, has as many connections as it allows.
    fn is_crowded(&self, place: usize) -> bool {
        let model = &self.day.servers[place];
        let Some(cap) = model.cap else { return false };
        let shares = |other: usize| match model.settings.account {
            None => other == place,
            account => self.day.servers[other].settings.account == account,
        };
        let open = self.lines.values().filter(|line| line.state != State::Dialled);
        open.filter(|line| shares(line.server)).count() >= cap
    }

    fn on_idle(&mut self, now: Duration, connection: ConnectionId, since: Duration) {
        let Some(line) = self.lines.get(&connection) else { return };
        let idle = line.asked.is_empty() && line.quiet_since == since;
        if idle && line.state == State::Open && !self.day.is_healed(now) {
            self.fire(Kind::IdleClosed);
            self.end(now, connection, Trouble::Closed);
        }
    }

    fn watch_idle(&mut self, now: Duration, connection: ConnectionId) {
        let Some(line) = self.lines.get_mut(&connection) else { return };
        line.quiet_since = now;
        if let Some(limit) = self.day.servers[line.server].idle_limit {
            self.queue.plan(now + limit, Act::Idle(connection, now));
        }
    }

    /// Plans the answer to the first question.
    fn turn_to_next(&mut self, now: Duration, connection: ConnectionId) {
        let Some(line) = self.lines.get_mut(&connection) else { return };
        line.due_since = line.servers_time(now);
        let Some(question) = line.asked.front() else { return self.watch_idle(now, connection) };
        let think = self.day.servers[line.server].think;
        let think = Duration::from_nanos(self.chance.up_to(think.as_nanos() as u64));
        let at = question.answerable.max(now) + think;
        let ticket = question.fetch.ticket;
        if at > now + question.silence() {
            self.wait_in_vain(now, connection);
        }
        self.queue.plan(at, Act::Begin(connection, ticket));
    }

    fn on_begin(&mut self, now: Duration, connection: ConnectionId, ticket: Ticket) {
        let Some(line) = self.lines.get_mut(&connection) else { return };
        if line.front() != Some(ticket) || line.body.is_some() || line.state != State::Open {
            return;
        }
        let place = line.server;
        let model = &self.day.servers[place];
        if let Some(until) = model.dead_until(now).filter(|_| !self.day.is_healed(now)) {
            self.fire(Kind::TurnsDead);
            self.queue.plan(until, Act::Begin(connection, ticket));
            return self.wait_in_vain(now, connection);
        }
        if line.allowed(now) == 0 {
            line.held = true;
            return;
        }
        let Some(question) = line.asked.front() else { return };
        let key = question.fetch.key;
        let before = !self.asked.insert((place, key));
        let kind = answer::draw(self.day, now, model, key, before, &mut self.chance);
        let answer = answer::answer(self.day, model, kind, question, &mut self.chance);
        kind.filter(|kind| *kind != Kind::Outgrown).into_iter().for_each(|kind| self.fire(kind));
        model.outage(now).into_iter().for_each(|outage| self.fire(outage.kind));
        model.misfits.kind().into_iter().for_each(|kind| self.fire(kind));
        self.give(now, connection, answer);
    }

    /// No byte of the answer comes before we lose patience.
    fn wait_in_vain(&mut self, now: Duration, connection: ConnectionId) {
        let Some(line) = self.lines.get(&connection) else { return };
        let Some(ticket) = line.front() else { return };
        let waited = line.servers_time(now).saturating_sub(line.due_since);
        let left = line.silence().saturating_sub(waited);
        self.queue.plan(now + left.max(SOON), Act::GiveUp(connection, ticket));
    }

    fn on_give_up(&mut self, now: Duration, connection: ConnectionId, ticket: Ticket) {
        let Some(line) = self.lines.get(&connection) else { return };
        if line.front() != Some(ticket) || line.body.is_some() {
            return;
        }
        // The time stands still while it is we who do not read.
        if line.servers_time(now) < line.due_since + line.silence() {
            self.wait_in_vain(now, connection);
        } else {
            self.end(now, connection, Trouble::Broken);
        }
    }

    fn give(&mut self, now: Duration, connection: ConnectionId, answer: Answer) {
        match answer {
            Answer::End(trouble) => self.end(now, connection, trouble),
            Answer::Line(event) => self.answered(now, connection, event),
            Answer::Silence => self.wait_in_vain(now, connection),
            Answer::Body(body) => self.begin_body(now, connection, body),
        }
    }

    pub(super) fn on_body_ended(&mut self, now: Duration, connection: ConnectionId) {
        let Some(line) = self.lines.get_mut(&connection) else { return };
        let room = line.asked.front().and_then(|question| question.room).unwrap_or(0);
        let Some(body) = line.body.take() else { return };
        match body.end {
            End::Outgrown { part, needed } => {
                let fault = (room < needed).then_some(Fault::TooLarge { needed });
                if fault.is_some() {
                    self.fire(Kind::Outgrown);
                }
                let event = Event::Fetched { ticket: body.ticket, part, fault };
                self.answered(now, connection, event);
            }
            End::Answer(event) => self.answered(now, connection, event),
            End::LastAnswer(event) => {
                self.answered(now, connection, event);
                self.hang_up(now, connection);
            }
            End::Break(trouble) => {
                self.tell_progress(body.ticket, body.received);
                self.end(now, connection, trouble);
            }
        }
    }

    fn answered(&mut self, now: Duration, connection: ConnectionId, event: Event) {
        let Some(line) = self.lines.get_mut(&connection) else { return };
        line.asked.pop_front();
        line.quiet_since = now;
        let spoilt = self.day.servers[line.server].dislikes_pipelining && !line.asked.is_empty();
        self.news.push_back(News::Event(event));
        if spoilt {
            self.fire(Kind::DislikesPipelining);
            return self.end(now, connection, Trouble::OutOfStep);
        }
        self.request_credit(now, connection);
        self.turn_to_next(now, connection);
    }

    fn on_spell(&mut self, now: Duration, server: usize) {
        if self.day.is_healed(now) {
            return;
        }
        if self.day.kinds.contains(&Kind::MassReconnect) && server == 0 {
            self.fire(Kind::MassReconnect);
        }
        for connection in self.lines_of(server) {
            if self.lines[&connection].state != State::Dialled {
                self.hang_up(now, connection);
            }
        }
    }

    fn hang_up(&mut self, now: Duration, connection: ConnectionId) {
        let Some(line) = self.lines.get(&connection) else { return };
        let trouble = line.trouble();
        self.end(now, connection, trouble);
    }

    pub(super) fn lines_of(&self, server: usize) -> Vec<ConnectionId> {
        let of = self.lines.iter().filter(|(_, line)| line.server == server);
        of.map(|(connection, _)| *connection).collect()
    }

    pub(super) fn end(&mut self, now: Duration, connection: ConnectionId, trouble: Trouble) {
        self.stop_flow(now, connection);
        let Some(line) = self.lines.remove(&connection) else { return };
        if let Some(body) = line.body.filter(|body| body.received > 0) {
            self.tell_progress(body.ticket, body.received);
        }
        let unanswered = line.asked.into_iter().map(|question| question.fetch.ticket).collect();
        self.news.push_back(News::Event(Event::Ended { connection, trouble, unanswered }));
    }

    pub(super) fn fire(&mut self, kind: Kind) {
        *self.fired.entry(kind).or_default() += 1;
    }
}

impl Network for Servers<'_> {
    fn connect(&mut self, now: Duration, connection: ConnectionId, server: usize) {
        self.lines.insert(connection, Line::new(self.start, now, server));
        let model = &self.day.servers[server];
        if self.day.kinds.contains(&Kind::ManyServers) {
            self.fire(Kind::ManyServers);
        }
        self.queue.plan(now + 3 * model.round_trip, Act::Dialled(connection));
    }

    fn disconnect(&mut self, now: Duration, connection: ConnectionId) {
        let Some(line) = self.lines.get_mut(&connection) else { return };
        line.state = State::Leaving;
        let at = now + self.day.servers[line.server].round_trip;
        self.queue.plan(at, Act::End(connection, Trouble::Closed));
    }

    fn fetch(&mut self, now: Duration, fetch: Fetch) {
        let connection = fetch.connection;
        let Some(line) = self.lines.get_mut(&connection) else { return };
        let model = &self.day.servers[line.server];
        let jitter = Duration::from_nanos(self.chance.up_to(model.jitter.as_nanos() as u64));
        let before = line.asked.back().map_or(Duration::ZERO, |question| question.answerable);
        let answerable = (now + model.round_trip + jitter).max(before);
        line.asked.push_back(Question { fetch, answerable, room: None });
        if line.asked.len() == 1 {
            self.turn_to_next(now, connection);
        }
        self.request_credit(now, connection);
    }

    fn stat(&mut self, now: Duration, connection: ConnectionId, ticket: Ticket, article: Asked) {
        let Some(line) = self.lines.get(&connection) else { return };
        let round_trip = self.day.servers[line.server].round_trip;
        self.queue.plan(now + round_trip, Act::Stat(connection, ticket, article.key));
    }

    fn admit(&mut self, now: Duration, ticket: Ticket, connection: ConnectionId, reserve: u64) {
        let Some(line) = self.lines.get_mut(&connection) else { return };
        let asked = line.asked.iter_mut().find(|question| question.fetch.ticket == ticket);
        if let Some(question) = asked {
            question.room = Some(reserve);
            self.let_flow(now, connection);
            self.request_credit(now, connection);
        }
    }

    fn lend(&mut self, now: Duration, connection: ConnectionId, credit: Credit) {
        let Some(line) = self.lines.get_mut(&connection) else { return };
        line.credit.grant(credit);
        if let Some(until) = line.credit_expires() {
            self.queue.plan(until, Act::Expire(connection, until));
        }
        let held = std::mem::take(&mut line.held);
        if let Some(ticket) = line.front().filter(|_| held) {
            self.on_begin(now, connection, ticket);
        }
        self.let_flow(now, connection);
        self.request_credit(now, connection);
    }

    fn revoke(&mut self, now: Duration, connection: ConnectionId) {
        self.stop_flow(now, connection);
        let Some(line) = self.lines.get_mut(&connection) else { return };
        if let Some(request) = line.credit.revoke() {
            self.news.push_back(News::Event(credit_event(connection, request)));
        }
        self.request_credit(now, connection);
    }

    fn break_all(&mut self, now: Duration) {
        for connection in self.lines.keys().copied().collect::<Vec<_>>() {
            self.hang_up(now, connection);
        }
    }

    fn next_time(&self) -> Option<Duration> {
        let link = self.link.next().map(|(at, _)| at);
        self.queue.next_time().into_iter().chain(link).min()
    }

    fn advance(&mut self, now: Duration) {
        match self.link.next().filter(|(at, _)| *at <= now) {
            Some((at, connection)) if self.queue.next_time().is_none_or(|next| at <= next) => {
                self.on_chunk(now, connection);
            }
            _ => {
                if let Some(act) = self.queue.take_due(now) {
                    self.act(now, act);
                }
            }
        }
    }

    fn poll_news(&mut self) -> Option<News> {
        self.news.pop_front()
    }

    fn take_bytes(&mut self, _: Ticket) -> Option<Vec<u8>> {
        None
    }

    fn open_connections(&self) -> usize {
        self.lines.len()
    }

    fn fired(&self) -> Fired {
        self.fired.clone()
    }
}

pub(crate) fn credit_event(connection: ConnectionId, request: CreditRequest) -> Event {
    match request {
        CreditRequest::Wanted => Event::CreditWanted { connection },
        CreditRequest::Returned(bytes) => Event::CreditReturned { connection, bytes },
    }
}

/// When the net gives up on a server that is silent, or brings next to nothing.
pub(super) const SILENCE: Duration = Duration::from_secs(30);

/// A clock that stands still is not looked at more often.
pub(super) const SOON: Duration = Duration::from_millis(100);
