//! [`Wire`]: one conversation, byte by byte, in virtual time. Single-threaded.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bergamot_engine::{ConnectionEnd, ConnectionId, Credit, Event, Ticket, Trouble};
use bergamot_limit::ReadCredit;
use bergamot_newsd::{Output, Session, Site};
use bergamot_nntp::{self as nntp, Answer, Request, RequestId};
use bergamot_types::{ByteCount, MessageId, SplitMix};

use super::bodies::Bodies;
use crate::sim::models::credit_event;
use crate::sim::network::Fetch;

#[derive(Debug)]
pub(crate) struct Wire {
    id: ConnectionId,
    server: usize,
    start: Instant,
    state: State,
    machine: nntp::Connection,
    settings: nntp::Settings,
    bodies: Bodies,
    credit: ReadCredit,
    site: Arc<Site>,
    session: Option<Session>,
    sent: Vec<u8>,    // by the server, and not read
    pending: Vec<u8>, // read, and the machine has no room for it
    hung_up: bool,    // by the server, behind what it sent
    reads_at: Duration,
    progress_told: Duration,
    planned: Option<Duration>,
    chance: SplitMix,
    told: VecDeque<Told>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum State {
    Dialled {
        opens: Duration,
    },
    /// Greetings and logins.
    Opening,
    Ready,
    Leaving {
        gone: Duration,
    },
    Ended,
}

/// What it has to tell.
#[derive(Debug)]
pub(crate) enum Told {
    Ended { trouble: Trouble, unanswered: Vec<Ticket> },
    Event(Event),
    Fetched { event: Event, ticket: Ticket, bytes: Vec<u8> },
    Received(u64),
}

impl Wire {
    pub(crate) fn new(
        id: ConnectionId,
        server: usize,
        start: Instant,
        opens: Duration,
        site: Arc<Site>,
        settings: nntp::Settings,
        chance: SplitMix,
    ) -> Self {
        Self {
            id,
            server,
            start,
            state: State::Dialled { opens },
            machine: nntp::Connection::new(start + opens, settings.clone()),
            settings,
            bodies: Bodies::default(),
            credit: ReadCredit::default(),
            site,
            session: None,
            sent: Vec::new(),
            pending: Vec::new(),
            hung_up: false,
            reads_at: opens,
            progress_told: opens,
            planned: None,
            chance,
            told: VecDeque::new(),
        }
    }

    pub(crate) fn server(&self) -> usize {
        self.server
    }

    pub(crate) fn poll(&mut self) -> Option<Told> {
        self.told.pop_front()
    }

    pub(crate) fn fetch(&mut self, now: Duration, fetch: Fetch) {
        let (limit, patience) = (ByteCount(fetch.limit), Some(fetch.patience));
        let body = Request::Body { id: fetch.id, limit, patience };
        self.machine.ask(self.start + now, RequestId(fetch.ticket.0), body);
        self.go_on(now);
    }

    pub(crate) fn stat(&mut self, now: Duration, ticket: Ticket, id: MessageId) {
        self.machine.ask(self.start + now, RequestId(ticket.0), Request::Stat(id));
        self.go_on(now);
    }

    pub(crate) fn admit(&mut self, now: Duration, ticket: Ticket, reserve: usize) {
        let was_blocked = self.bodies.is_blocked();
        self.bodies.admit(RequestId(ticket.0), reserve);
        if was_blocked && !self.bodies.is_blocked() {
            self.machine.handle_fed(self.start + now);
            self.take_pending(now);
        }
        self.go_on(now);
    }

    pub(crate) fn lend(&mut self, now: Duration, credit: Credit) {
        self.credit.grant(credit);
        self.go_on(now);
    }

    pub(crate) fn revoke(&mut self, now: Duration) {
        if let Some(request) = self.credit.revoke() {
            self.told.push_back(Told::Event(credit_event(self.id, request)));
        }
        self.go_on(now);
    }

    /// Quits, which takes a moment.
    pub(crate) fn leave(&mut self, now: Duration) {
        self.session = None;
        self.state = State::Leaving { gone: now + GOODBYE_TIME };
    }

    /// The line is cut.
    pub(crate) fn snap(&mut self) {
        let was_ready = matches!(self.state, State::Ready | State::Leaving { .. });
        let trouble = ConnectionEnd::Io { at: &self.machine.moment() }.trouble(was_ready);
        self.end(trouble);
    }

    /// When its turn is, if that is not planned yet.
    pub(crate) fn turn_to_plan(&mut self, now: Duration) -> Option<Duration> {
        let next = self.next_time()?.max(now);
        if self.planned.is_some_and(|planned| planned <= next) {
            return None;
        }
        self.planned = Some(next);
        Some(next)
    }

    /// Does what is due.
    pub(crate) fn advance(&mut self, now: Duration) {
        if self.planned.is_none_or(|planned| now < planned) {
            return; // an earlier turn was planned since, and taken
        }
        self.planned = None;
        match self.state {
            State::Dialled { opens } if now >= opens => {
                self.state = State::Opening;
                // The time to greet begins now.
                self.machine = nntp::Connection::new(self.start + now, self.settings.clone());
                self.session = Some(Session::new(self.start + now, self.site.clone()));
            }
            State::Leaving { gone } if now >= gone => {
                return self.end(ConnectionEnd::Quit.trouble(true));
            }
            State::Ended | State::Leaving { .. } | State::Dialled { .. } => return,
            State::Opening | State::Ready => {}
        }
        if self.machine.poll_timeout().is_some_and(|at| self.start + now >= at) {
            self.machine.handle_timeout(self.start + now);
        }
        self.receive(now);
        if now >= self.reads_at {
            self.read(now);
        }
        self.go_on(now);
    }

    fn next_time(&self) -> Option<Duration> {
        let since = |at: Instant| at.saturating_duration_since(self.start);
        match self.state {
            State::Dialled { opens } => return Some(opens),
            State::Leaving { gone } => return Some(gone),
            State::Ended => return None,
            State::Opening | State::Ready => {}
        }
        let session = self.session.as_ref().filter(|_| self.sent.len() < WINDOW && !self.hung_up);
        let session = session.and_then(Session::poll_timeout).map(since);
        let expires = self.credit.expires().map(since).filter(|_| !self.bodies.is_blocked());
        let others = [session, self.machine.poll_timeout().map(since), expires];
        let reads = self.readable().then_some(self.reads_at);
        others.into_iter().flatten().chain(reads).min()
    }

    /// Whether there is something to read, and we may.
    fn readable(&self) -> bool {
        let there = !self.sent.is_empty() || self.hung_up;
        let expecting = self.machine.outstanding() > 0;
        // What is too old is found out when its end comes.
        let allowed = self.credit.allowed(self.start, expecting) > 0;
        there && allowed && self.pending.is_empty() && !self.bodies.is_blocked()
    }

    /// Takes what the server sends, as much as fits into the sockets between us.
    fn receive(&mut self, now: Duration) {
        while self.sent.len() < WINDOW
            && let Some(session) = &mut self.session
            && let Some(output) = session.poll_output(self.start + now)
        {
            match output {
                Output::Close | Output::Cut => self.hung_up = true,
                Output::Send(bytes) => {
                    if self.sent.is_empty() {
                        self.reads_at = now;
                    }
                    self.sent.extend_from_slice(&bytes);
                }
                Output::StartDeflate | Output::StartTls => {}
            }
        }
    }

    /// Reads a piece that ends anywhere.
    fn read(&mut self, now: Duration) {
        let expecting = self.machine.outstanding() > 0;
        let allowed = self.credit.allowed(self.start + now, expecting);
        if !self.pending.is_empty() || self.bodies.is_blocked() || allowed == 0 {
            return;
        }
        if self.sent.is_empty() {
            if self.hung_up {
                self.machine.handle_end_of_stream();
            }
            return;
        }
        let most = (self.sent.len() as u64).min(allowed);
        let count = 1 + self.cut(most - 1);
        self.pending.extend(self.sent.drain(..count as usize));
        self.credit.spend(count);
        self.told.push_back(Told::Received(count));
        self.reads_at = now + Duration::from_micros(self.chance.up_to(2000));
        self.take_pending(now);
    }

    /// A few bytes, some, or all.
    fn cut(&mut self, most: u64) -> u64 {
        match self.chance.up_to(9) {
            0 => self.chance.up_to(most.min(16)),
            1..5 => self.chance.up_to(most),
            _ => most,
        }
    }

    fn take_pending(&mut self, now: Duration) {
        let pending = std::mem::take(&mut self.pending);
        let taken = self.machine.handle_input(self.start + now, &pending, &mut self.bodies);
        self.pending.extend_from_slice(&pending[taken..]);
    }

    /// What follows from whatever was done: answers, commands, pleas.
    fn go_on(&mut self, now: Duration) {
        self.on_events(now);
        self.transmit(now);
        self.tell_progress(now);
        self.request_credit(now);
        self.receive(now);
    }

    fn on_events(&mut self, now: Duration) {
        while let Some(event) = self.machine.poll_event() {
            match event {
                nntp::Event::Answered { request, answer } => self.on_answer(request, answer),
                nntp::Event::Began { request } => {
                    self.progress_told = now;
                    self.tell_received(request, 0);
                }
                nntp::Event::Ended { why, unanswered } => {
                    let trouble =
                        ConnectionEnd::Conversation(&why).trouble(self.state == State::Ready);
                    let unanswered = unanswered.into_iter().map(|request| Ticket(request.0));
                    self.over(trouble, unanswered.collect());
                }
                nntp::Event::Ready => {
                    self.state = State::Ready;
                    self.told.push_back(Told::Event(Event::Connected { connection: self.id }));
                }
                nntp::Event::StartDeflate => {} // downloads do not ask for it
                nntp::Event::StartTls => self.shake_hands(now),
            }
        }
    }

    /// No real handshake takes place; but with bytes in its way none could.
    fn shake_hands(&mut self, now: Duration) {
        if !self.sent.is_empty() || !self.pending.is_empty() {
            return self.end(Trouble::Unreachable);
        }
        self.machine.handle_tls_started(self.start + now);
        self.session.iter_mut().for_each(Session::handle_tls);
    }

    fn on_answer(&mut self, request: RequestId, answer: Answer) {
        let ticket = Ticket(request.0);
        match answer {
            Answer::Body => {
                let Some((bytes, outcome)) = self.bodies.take() else { return };
                let event = Event::fetched(ticket, outcome);
                self.told.push_back(Told::Fetched { event, ticket, bytes });
            }
            Answer::Exists => self.told.push_back(Told::Event(Event::Present { ticket })),
            Answer::Missing(_) => {
                self.bodies.forget(request);
                self.told.push_back(Told::Event(Event::Missing { ticket }));
            }
            Answer::Refused(_) => {
                self.bodies.forget(request);
                self.told.push_back(Told::Event(Event::Refused { ticket }));
            }
            _ => {}
        }
    }

    fn transmit(&mut self, now: Duration) {
        let mut out = Vec::new();
        self.machine.poll_transmit(&mut out);
        if let Some(session) = self.session.as_mut().filter(|session| !session.is_closed()) {
            session.handle_input(self.start + now, &out);
        }
    }

    fn tell_progress(&mut self, now: Duration) {
        if let Some((request, received)) = self.bodies.progress()
            && received > 0
            && now >= self.progress_told + REPORT
        {
            self.progress_told = now;
            self.tell_received(request, received);
        }
    }

    fn tell_received(&mut self, request: RequestId, received: u64) {
        let (ticket, received) = (Ticket(request.0), ByteCount(received));
        self.told.push_back(Told::Event(Event::Progress { ticket, received }));
    }

    /// Requests for credit go out; without any, the server's time stands still.
    fn request_credit(&mut self, now: Duration) {
        if !matches!(self.state, State::Opening | State::Ready) {
            return;
        }
        if self.bodies.is_blocked() {
            return self.machine.handle_starved(self.start + now);
        }
        let expecting = self.machine.outstanding() > 0;
        while let Some(request) = self.credit.poll_request(self.start + now, expecting) {
            self.told.push_back(Told::Event(credit_event(self.id, request)));
        }
        if self.credit.allowed(self.start + now, expecting) == 0 {
            self.machine.handle_starved(self.start + now);
        } else {
            self.machine.handle_fed(self.start + now);
        }
    }

    /// Ends it from outside the conversation.
    fn end(&mut self, trouble: Trouble) {
        self.machine.handle_end_of_stream();
        let mut unanswered = Vec::new();
        while let Some(event) = self.machine.poll_event() {
            if let nntp::Event::Ended { unanswered: requests, .. } = event {
                unanswered = requests.into_iter().map(|request| Ticket(request.0)).collect();
            }
        }
        self.over(trouble, unanswered);
    }

    fn over(&mut self, trouble: Trouble, unanswered: Vec<Ticket>) {
        if self.state != State::Ended {
            self.state = State::Ended;
            self.session = None;
            self.told.push_back(Told::Ended { trouble, unanswered });
        }
    }
}

/// What lies in the sockets between us.
const WINDOW: usize = 64 << 10;

/// How often is told what has come of a slow body.
const REPORT: Duration = Duration::from_millis(250);

const GOODBYE_TIME: Duration = Duration::from_millis(100);
