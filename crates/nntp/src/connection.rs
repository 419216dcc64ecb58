//! [`Connection`]: the state machine of one NNTP connection; owns its requests, parser and deadlines.

use std::collections::VecDeque;
use std::mem;
use std::time::{Duration, Instant};

use bergamot_types::{MessageId, Shown};
use tracing::trace;

use crate::body::BodySink;
use crate::capabilities::Capabilities;
use crate::deadline::{Deadlines, Missed};
use crate::event::{Answer, Ending, Event, Moment};
use crate::refusal::Refusal;
use crate::reply::Reply;
use crate::request::{Request, RequestId};
use crate::settings::Settings;
use crate::setup::{Setup, Step};
use crate::status_line::{BadLine, StatusLine};

/// The conversation with one news server, without a socket or a clock.
///
/// Drive it like this:
/// 1. after [`ask`](Self::ask) or any `handle_*` call,
/// 2. call [`poll_transmit`](Self::poll_transmit) and send what it appended,
/// 3. call [`poll_event`](Self::poll_event) until `None`,
/// 4. arm one timer for [`poll_timeout`](Self::poll_timeout), replacing the last one.
///
/// Contract:
/// - Every request ends exactly once: in [`Event::Answered`], or in the `unanswered` list of
///   [`Event::Ended`]. Answers come in the order of the requests, because servers answer in order (RFC 3977,
///   section 3.5); only requests that the server refused until the next login are sent, and answered, again.
/// - An answer with a text is preceded by [`Event::Began`], and its bytes go to the [`BodySink`] before
///   `Answered`. While the sink has no room, [`handle_input`](Self::handle_input) returns how much it took and
///   must be called again with the rest.
/// - [`Event::StartTls`] is answered by [`handle_tls_started`](Self::handle_tls_started) and
///   [`Event::StartDeflate`] by [`handle_deflate_started`](Self::handle_deflate_started). Until then nothing
///   is sent and no deadline runs; bytes that arrive end the connection.
/// - [`Event::Ready`] comes once, before the first answer. Requests may be asked earlier; they are sent then.
/// - After `Ended` input is ignored, nothing is sent and there is no timeout. A request asked after that is
///   answered by one more `Ended` that lists only it.
/// - A late or unrequested answer cannot be assigned to a request: it ends the connection as
///   [`Ending::Desynchronised`].
/// - The queue of requests is bounded by the caller, which knows [`outstanding`](Self::outstanding); an
///   answer line by 4096 bytes; a body by the limit in its request, a list by `Limits::listing`.
#[derive(Debug)]
pub struct Connection {
    state: State,
    setup: Setup,
    longest_listing: u64,
    line: StatusLine,
    waiting: VecDeque<Asked>, // asked, not sent yet
    sent: VecDeque<Asked>,    // sent, answer due
    held: VecDeque<Asked>,    // answered with 480: sent again after a new login
    outbox: Vec<u8>,
    events: VecDeque<Event>,
    deadlines: Deadlines,
}

type Asked = (RequestId, Request);

#[derive(Debug)]
enum State {
    /// Before the first request, or logging in again.
    Setup,
    Ready,
    Body {
        request: RequestId,
        of: Text,
        taken: u64,
        limit: u64,
    },
    Ended,
}

/// The text that the sink receives.
#[derive(Clone, Debug)]
enum Text {
    Article(MessageId),
    List(&'static str),
}

impl Text {
    fn too_long(&self, limit: u64) -> Ending {
        match self {
            Self::Article(id) => Ending::ArticleTooLarge { id: id.clone(), limit },
            Self::List(command) => Ending::ListTooLong { command, limit },
        }
    }

    fn too_slow(&self, bytes: u64, window: Duration) -> Ending {
        match self {
            Self::Article(id) => Ending::TooSlow { id: id.clone(), bytes, window },
            Self::List(command) => Ending::ListTooSlow { command, bytes, window },
        }
    }
}

impl Connection {
    pub fn new(now: Instant, settings: Settings) -> Self {
        let mut deadlines = Deadlines::new(settings.limits);
        deadlines.answer_due(now, None);
        Self {
            state: State::Setup,
            longest_listing: settings.limits.listing.0,
            setup: Setup::new(settings),
            line: StatusLine::default(),
            waiting: VecDeque::new(),
            sent: VecDeque::new(),
            held: VecDeque::new(),
            outbox: Vec::new(),
            events: VecDeque::new(),
            deadlines,
        }
    }

    /// Queues a request; it is sent once the server is ready.
    pub fn ask(&mut self, now: Instant, id: RequestId, request: Request) {
        if matches!(self.state, State::Ended) {
            let unanswered = vec![id];
            let at = Moment::Idle;
            self.events.push_back(Event::Ended { why: Ending::ClosedByServer { at }, unanswered });
            return;
        }
        self.waiting.push_back((id, request));
        self.send_waiting(now);
    }

    /// Parses bytes from the server and returns how many were taken; fewer only if the sink has no room.
    /// Body bytes go to `sink` without a copy; only answer lines are buffered here.
    pub fn handle_input(&mut self, now: Instant, bytes: &[u8], sink: &mut impl BodySink) -> usize {
        let mut rest = bytes;
        while !rest.is_empty() {
            match self.state {
                State::Ended => return bytes.len(),
                State::Body { .. } if !sink.has_room() => break,
                State::Body { .. } => self.on_body(now, &mut rest, sink),
                State::Setup | State::Ready => match self.setup.unexpected() {
                    Some(ending) => self.end(ending),
                    None => self.on_line(now, &mut rest, sink),
                },
            }
        }
        bytes.len() - rest.len()
    }

    /// The TLS handshake requested by [`Event::StartTls`] has succeeded.
    pub fn handle_tls_started(&mut self, now: Instant) {
        let step = self.setup.on_tls_started();
        self.carry_out(now, step);
    }

    /// The caller compresses both directions from now on, as [`Event::StartDeflate`] requested.
    pub fn handle_deflate_started(&mut self, now: Instant) {
        let step = self.setup.on_deflate_started();
        self.carry_out(now, step);
    }

    pub fn handle_end_of_stream(&mut self) {
        let at = self.moment();
        self.end(Ending::ClosedByServer { at });
    }

    pub fn handle_timeout(&mut self, now: Instant) {
        match (self.deadlines.missed(now), &self.state) {
            (None, _) => {}
            (Some(Missed::Progress { bytes, window }), State::Body { of, .. }) => {
                let ending = of.too_slow(bytes, window);
                self.end(ending);
            }
            (Some(Missed::Line { limit }), _) => {
                let at = self.moment();
                self.end(Ending::LineTooSlow { limit, at });
            }
            (Some(Missed::Progress { window: waited, .. } | Missed::Byte { waited }), _) => {
                let at = self.moment();
                self.end(Ending::Silent { waited, at });
            }
        }
    }

    /// Reading is paused by a rate limit: deadlines are suspended until [`Self::handle_fed`].
    pub fn handle_starved(&mut self, now: Instant) {
        self.deadlines.hold(now);
    }

    pub fn handle_fed(&mut self, now: Instant) {
        self.deadlines.go_on(now);
    }

    /// Appends what is to be sent to `out`; `false` if there was nothing.
    pub fn poll_transmit(&mut self, out: &mut Vec<u8>) -> bool {
        let any = !self.outbox.is_empty();
        out.append(&mut self.outbox);
        any
    }

    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    pub fn poll_timeout(&self) -> Option<Instant> {
        self.deadlines.next()
    }

    /// The answer to CAPABILITIES; empty if it was not sent.
    pub fn capabilities(&self) -> &Capabilities {
        self.setup.capabilities()
    }

    /// Number of requests without an answer.
    pub fn outstanding(&self) -> usize {
        let in_body = usize::from(matches!(self.state, State::Body { .. }));
        in_body + self.sent.len() + self.held.len() + self.waiting.len()
    }

    fn on_line(&mut self, now: Instant, rest: &mut &[u8], sink: &mut impl BodySink) {
        let line = match self.line.take(rest) {
            Ok(Some(line)) => line,
            // A list has one deadline for all of it.
            Ok(None) if self.setup.reads_a_list() => return,
            Ok(None) => return self.deadlines.line_goes_on(now),
            Err(bad) => return self.on_bad_line(bad),
        };
        if self.setup.reads_a_list() {
            let step = self.setup.on_list_line(line);
            return self.carry_out(now, step);
        }
        let Some(reply) = Reply::parse(line) else {
            let line = self.setup.hide(&String::from_utf8_lossy(line));
            let line = Shown(&line).to_string();
            return self.on_nonsense(line.into());
        };
        trace!(code = reply.code, "answer");
        match self.state {
            State::Setup => {
                let step = self.setup.on_reply(reply);
                self.carry_out(now, step);
            }
            _ => self.on_answer(now, reply, sink),
        }
    }

    /// After the setup, a line that is no answer is more likely the rest of a body.
    fn on_nonsense(&mut self, line: Box<str>) {
        let at = self.moment();
        self.end(match self.state {
            State::Setup => Ending::Malformed { line, at },
            _ => Ending::Desynchronised { line, at },
        });
    }

    fn on_bad_line(&mut self, bad: BadLine) {
        let at = self.moment();
        self.end(match bad {
            BadLine::LoneReturn => Ending::Malformed { line: "a lone carriage return".into(), at },
            BadLine::TooLong => Ending::LineTooLong { at },
        });
    }

    fn carry_out(&mut self, now: Instant, step: Step) {
        match step {
            Step::End(ending) => self.end(ending),
            Step::Ready { first_time } => {
                self.state = State::Ready;
                if first_time {
                    self.events.push_back(Event::Ready);
                }
                self.held.append(&mut self.waiting);
                self.waiting = mem::take(&mut self.held);
                self.deadlines.nothing_due();
                self.send_waiting(now);
            }
            Step::Send(command) => {
                self.outbox.extend_from_slice(command.as_bytes());
                self.deadlines.answer_due(now, None);
            }
            Step::StartDeflate => {
                self.events.push_back(Event::StartDeflate);
                self.deadlines.nothing_due();
            }
            Step::StartTls => {
                self.events.push_back(Event::StartTls);
                self.deadlines.nothing_due();
            }
            Step::ReadList => self.deadlines.answer_due(now, None),
            Step::ReadOn => {}
        }
    }

    fn on_answer(&mut self, now: Instant, reply: Reply, sink: &mut impl BodySink) {
        let Some((id, request)) = self.sent.pop_front() else {
            return self.on_unasked(reply);
        };
        match reply.code {
            code if request.is_body_code(code) => {
                self.on_body_announced(now, id, request, &reply, sink)
            }
            code if request.is_listing_code(code) => {
                let text = Text::List(request.command());
                self.on_text(now, id, text, self.longest_listing, sink);
            }
            // 502 to a listing command refuses that command, not the connection.
            400 | 481 | 482 | 502 if reply.code != 502 || !request.is_listing() => {
                self.sent.push_front((id, request));
                self.end_refused(reply);
            }
            401 if self.setup.on_wrong_mode() => {
                self.held.push_back((id, request));
                self.after_answer(now);
            }
            480 => self.on_login_required(now, (id, request), reply),
            _ => match answer_to(&request, &reply) {
                Ok(answer) => self.answer(now, id, answer),
                Err(ending) => {
                    self.sent.push_front((id, request));
                    let line = reply.to_string().into();
                    let desync = Ending::Desynchronised { line, at: self.moment() };
                    self.end(ending.unwrap_or(desync));
                }
            },
        }
    }

    fn on_body_announced(
        &mut self,
        now: Instant,
        request: RequestId,
        asked: Request,
        reply: &Reply,
        sink: &mut impl BodySink,
    ) {
        if let Some(ending) = wrong_article(&asked, reply) {
            self.sent.push_front((request, asked));
            return self.end(ending);
        }
        let limit = asked.body_limit();
        let (Request::Article { id, .. } | Request::Body { id, .. }) = asked else { return };
        self.on_text(now, request, Text::Article(id), limit, sink);
    }

    fn on_text(
        &mut self,
        now: Instant,
        request: RequestId,
        of: Text,
        limit: u64,
        sink: &mut impl BodySink,
    ) {
        self.state = State::Body { request, of, taken: 0, limit };
        self.deadlines.body_begins(now);
        self.events.push_back(Event::Began { request });
        sink.begin(request);
    }

    fn on_body(&mut self, now: Instant, rest: &mut &[u8], sink: &mut impl BodySink) {
        let State::Body { request, of, taken, limit } = &mut self.state else { return };
        let step = sink.body(rest);
        debug_assert!(step.ended || step.consumed == rest.len(), "the sink left bytes behind");
        *taken += step.consumed as u64;
        if *taken > *limit {
            let ending = of.too_long(*limit);
            return self.end(ending);
        }
        if step.ended {
            let request = *request;
            let answer = match of {
                Text::Article(_) => Answer::Body,
                Text::List(_) => Answer::Listed,
            };
            *rest = &rest[step.consumed..];
            self.state = State::Ready;
            self.answer(now, request, answer);
        } else {
            *rest = &[];
            self.deadlines.body_goes_on(now, step.consumed);
        }
    }

    fn answer(&mut self, now: Instant, request: RequestId, answer: Answer) {
        self.events.push_back(Event::Answered { request, answer });
        self.after_answer(now);
    }

    fn after_answer(&mut self, now: Instant) {
        if let Some((_, next)) = self.sent.front() {
            self.deadlines.answer_due(now, next.patience());
        } else if self.held.is_empty() {
            self.deadlines.nothing_due();
            self.send_waiting(now);
        } else {
            self.state = State::Setup;
            let step = self.setup.set_up_again();
            self.carry_out(now, step);
        }
    }

    /// Requests in flight are answered first, most likely with 480 too; then one login follows and all of
    /// them are sent again.
    fn on_login_required(&mut self, now: Instant, asked: Asked, reply: Reply) {
        if self.setup.may_log_in_again() {
            self.held.push_back(asked);
            return self.after_answer(now);
        }
        self.sent.push_front(asked);
        // The login was accepted each time, so the fault lies with this connection.
        if self.setup.has_login() && Refusal::classify(&reply) == Refusal::Login {
            let at = self.moment();
            return self.end(Ending::LoginForgotten { at });
        }
        self.end_refused(reply);
    }

    /// Servers announce with 400 or 205 that they close an idle connection; any other unrequested answer
    /// means that answers can no longer be assigned to requests.
    fn on_unasked(&mut self, reply: Reply) {
        match reply.code {
            205 | 503 => self.end(Ending::ClosedByServer { at: Moment::Idle }),
            400 | 502 => self.end_refused(reply),
            _ => {
                let line = reply.to_string().into();
                self.end(Ending::Desynchronised { line, at: Moment::Idle });
            }
        }
    }

    fn end_refused(&mut self, reply: Reply) {
        let refusal = Refusal::classify(&reply);
        let ready = !matches!(self.state, State::Setup);
        if reply.code == 400 && refusal == Refusal::Unclear && ready {
            let at = self.moment();
            return self.end(Ending::ClosedByServer { at });
        }
        let reply = Reply { text: self.setup.hide(&reply.text), ..reply };
        self.end(Ending::Refused { refusal, reply });
    }

    fn send_waiting(&mut self, now: Instant) {
        let sending = matches!(self.state, State::Ready | State::Body { .. });
        if !sending || !self.held.is_empty() || self.waiting.is_empty() {
            return;
        }
        if self.sent.is_empty()
            && matches!(self.state, State::Ready)
            && let Some((_, first)) = self.waiting.front()
        {
            self.deadlines.answer_due(now, first.patience());
        }
        for (_, request) in &self.waiting {
            request.write(&mut self.outbox);
        }
        self.sent.append(&mut self.waiting);
    }

    fn end(&mut self, why: Ending) {
        let in_body = match mem::replace(&mut self.state, State::Ended) {
            State::Body { request, .. } => Some(request),
            State::Ended => return,
            State::Setup | State::Ready => None,
        };
        let asked = [&mut self.held, &mut self.sent, &mut self.waiting];
        let asked = asked.into_iter().flat_map(mem::take).map(|(id, _)| id);
        let unanswered = in_body.into_iter().chain(asked).collect();
        self.outbox.clear();
        self.deadlines.nothing_due();
        self.events.push_back(Event::Ended { why, unanswered });
    }

    /// What the connection is waiting for or receiving.
    pub fn moment(&self) -> Moment {
        match (&self.state, self.sent.front()) {
            (State::Setup, _) => Moment::Answer(self.setup.command()),
            (State::Body { of: Text::Article(id), .. }, _) => Moment::Body(id.clone()),
            (State::Body { of: Text::List(command), .. }, _) => Moment::List(command),
            (_, Some((_, Request::Group(name)))) => Moment::Group(name.clone()),
            (_, Some((_, asked))) => match asked.message_id() {
                Some(id) => Moment::Article(id.clone()),
                None => Moment::Answer(asked.command()),
            },
            (_, None) => Moment::Idle,
        }
    }
}

/// What a code means for a request. `Err(None)` is an answer to some other request.
fn answer_to(asked: &Request, reply: &Reply) -> Result<Answer, Option<Ending>> {
    let reply_of = || reply.clone();
    match (asked, reply.code) {
        (Request::Quit, _) => Err(Some(Ending::Quit)),
        (Request::Date, 111) => Ok(Answer::Date(reply.text.clone())),
        (Request::Group(_), 211) => group_answer(reply).ok_or(None),
        (Request::Group(_), 411) => Ok(Answer::NoSuchGroup(reply_of())),
        (Request::Stat(_), 223) => {
            wrong_article(asked, reply).map_or(Ok(Answer::Exists), |e| Err(Some(e)))
        }
        (_, 420 | 423 | 430 | 451) if asked.message_id().is_some() => {
            Ok(Answer::Missing(reply_of()))
        }
        (_, 420 | 423) if asked.is_listing() => Ok(Answer::NothingListed(reply_of())),
        (_, 400..) => Ok(Answer::Refused(reply_of())),
        _ => Err(None),
    }
}

fn group_answer(reply: &Reply) -> Option<Answer> {
    let mut numbers = reply.text.split_ascii_whitespace().map(|word| word.parse().ok());
    let mut next = || numbers.next().flatten();
    Some(Answer::Group { count: next()?, first: next()?, last: next()? })
}

/// Some servers leave the id out of their answer; one that names another id is out of step.
fn wrong_article(asked: &Request, reply: &Reply) -> Option<Ending> {
    let (asked, given) = (asked.message_id()?, reply.message_id()?);
    let shown = || Shown(given).to_string().into();
    (asked.as_str() != given).then(|| Ending::WrongArticle { asked: asked.clone(), given: shown() })
}
