//! [`Session`]: the server's half of one connection, without a socket or a clock.
//!
//! No socket and no clock in here: bytes and the time come in as arguments, answers are polled out
//! when they are due. Answers are made only when polled, so a reader that pipelines a hundred
//! commands costs a hundred short lines and one body.

pub(crate) mod command;
pub(crate) mod delivery;
pub(crate) mod dialogue;
pub(crate) mod outbox;
pub(crate) mod site;
pub(crate) mod tally;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use crate::session::command::Command;
use crate::session::dialogue::Dialogue;
use crate::session::outbox::Outbox;
use crate::session::site::Site;

/// One connection to a [`Site`]. After each `handle_*` call poll outputs until `None`, then wait
/// for input or the timeout. Silence is an output that never comes.
#[derive(Debug)]
pub struct Session {
    site: Arc<Site>,
    number: u32,
    dialogue: Dialogue,
    line: Vec<u8>, // a command cut by a packet edge
    overlong: bool,
    asked: VecDeque<Asked>,
    outbox: Outbox,
    greeting_due: Option<Instant>,
    state: State,
}

/// What a driver is to do, in order.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Output {
    /// Send the rest, say goodbye where TLS has one, and close.
    Close,
    /// Close without the goodbye of TLS, behind what was sent so far.
    Cut,
    Send(Vec<u8>),
    /// Compress all that follows, and expect the reader to.
    StartDeflate,
    /// Shake hands as a TLS server, then call [`Session::handle_tls`].
    StartTls,
}

/// A command whose answer is still due.
#[derive(Debug)]
struct Asked {
    line: String,
    due: Instant,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum State {
    Closed,
    Handshake,
    Open,
}

impl Session {
    /// A connection accepted at `now`; the greeting is its first output.
    pub fn new(now: Instant, site: Arc<Site>) -> Self {
        let connections = site.tally.open();
        let mut outbox = Outbox::new(now, site.manners.pace);
        let nth = connections.accepted - 1;
        let dialogue = Dialogue::begin(Arc::clone(&site), nth, &mut outbox);
        let greeting_due = Some(now + site.manners.round_trip);
        Self {
            site,
            number: connections.accepted,
            dialogue,
            line: Vec::new(),
            overlong: false,
            asked: VecDeque::new(),
            outbox,
            greeting_due,
            state: State::Open,
        }
    }

    /// Whether more commands may be handed in; a driver that reads on regardless costs memory.
    pub fn wants_input(&self) -> bool {
        self.state == State::Open && (self.asked.len() < MOST_ASKED || self.outbox.is_silent())
    }

    pub fn is_closed(&self) -> bool {
        self.state == State::Closed
    }

    pub fn handle_input(&mut self, now: Instant, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|&byte| byte == b'\n') {
            if self.state != State::Open {
                return;
            }
            let room = LONGEST_LINE.saturating_sub(self.line.len());
            self.overlong |= piece.len() > room;
            self.line.extend_from_slice(&piece[..piece.len().min(room)]);
            if piece.ends_with(b"\n") {
                self.on_line(now);
            }
        }
    }

    /// The handshake that [`Output::StartTls`] asked for, or one before the greeting, is done.
    pub fn handle_tls(&mut self) {
        self.dialogue.handle_tls();
        if self.state == State::Handshake {
            self.state = State::Open;
        }
    }

    pub fn poll_output(&mut self, now: Instant) -> Option<Output> {
        if self.state != State::Open || self.greeting_due.is_some_and(|due| now < due) {
            return None;
        }
        self.greeting_due = None;
        while self.outbox.is_empty() {
            if self.asked.front()?.due > now {
                return None;
            }
            let asked = self.asked.pop_front()?;
            self.answer(&asked.line);
        }
        let output = self.outbox.poll(now)?;
        match &output {
            Output::Close | Output::Cut => self.leave(),
            Output::Send(bytes) => self.site.tally.send(bytes.len()),
            Output::StartDeflate => self.forget_what_followed(),
            Output::StartTls => {
                self.state = State::Handshake;
                self.forget_what_followed();
            }
        }
        Some(output)
    }

    /// When polling will give something although nothing came in.
    pub fn poll_timeout(&self) -> Option<Instant> {
        if self.state != State::Open {
            None
        } else if self.greeting_due.is_some() {
            self.greeting_due
        } else if self.outbox.is_empty() {
            self.asked.front().map(|asked| asked.due)
        } else {
            self.outbox.deadline()
        }
    }

    /// How many connections the site had before this one.
    pub(crate) fn nth(&self) -> u32 {
        self.number - 1
    }

    /// Frees the slot, once.
    fn leave(&mut self) {
        if self.state != State::Closed {
            self.state = State::Closed;
            self.site.tally.close(self.dialogue.is_admitted());
        }
    }

    fn on_line(&mut self, now: Instant) {
        let bytes = std::mem::take(&mut self.line);
        let due = now + self.site.manners.round_trip;
        let mut line = String::from_utf8_lossy(&bytes).trim_end_matches(['\r', '\n']).to_owned();
        if std::mem::take(&mut self.overlong) {
            line.clear();
        }
        if self.site.manners.transcript {
            self.site.tally.record(self.number, &line);
        }
        if !self.outbox.is_silent() {
            self.asked.push_back(Asked { line, due });
        }
    }

    fn answer(&mut self, line: &str) {
        let command = Command::parse(line);
        self.site.tally.command(command.verb());
        self.dialogue.answer(command, &mut self.outbox);
        if command == Command::ModeReader && self.site.manners.transit {
            self.forget_what_followed();
        }
    }

    /// Plain text behind `STARTTLS` must not be taken for what came under TLS; and innd loses what
    /// was pipelined behind `MODE READER` when it hands the socket to the reader process.
    fn forget_what_followed(&mut self) {
        self.asked.clear();
        self.line.clear();
        self.overlong = false;
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.leave();
    }
}

/// RFC 3977, section 3.1 allows 512 bytes; some readers' ids and passwords need more.
const LONGEST_LINE: usize = 1024;
/// More commands than this in one pipe wait in the socket.
const MOST_ASKED: usize = 1024;
