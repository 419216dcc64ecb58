//! [`Line`]: one connection to a model server. Pure.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use bergamot_engine::{Event, Ticket, Trouble};
use bergamot_limit::{CreditRequest, ReadCredit};
use bergamot_queue::Part;

use super::servers::SILENCE;
use crate::sim::network::Fetch;

/// Answers leave in the order of the questions, one after the other.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) server: usize,
    pub(crate) state: State,
    pub(crate) asked: VecDeque<Question>,
    /// What is coming in answer to the first of them.
    pub(crate) body: Option<Body>,
    start: Instant, // of the simulation
    pub(crate) credit: ReadCredit,
    /// When the answer before ended.
    pub(crate) quiet_since: Duration,
    /// Since when the present answer is due, by the server's clock.
    pub(crate) due_since: Duration,
    /// Since when we cannot read, for want of room or of credit, and how long that was before.
    starved_since: Option<Duration>,
    starved: Duration,
    /// The status line is there, and we may not read it.
    pub(crate) held: bool,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum State {
    Dialled,
    Open,
    /// It was told to quit.
    Leaving,
}

#[derive(Debug)]
pub(crate) struct Question {
    pub(crate) fetch: Fetch,
    /// When the server could begin to answer at the earliest, as we see it.
    pub(crate) answerable: Duration,
    pub(crate) room: Option<u64>,
}

#[derive(Debug)]
pub(crate) struct Body {
    pub(crate) ticket: Ticket,
    /// How many bytes come before it ends, one way or the other.
    pub(crate) length: u64,
    pub(crate) received: u64,
    pub(crate) flowing: bool,
    pub(crate) began: Duration,
    /// How far it has come will be told.
    pub(crate) is_reported: bool,
    /// Next to nothing comes of it.
    pub(crate) dribbles: bool,
    pub(crate) end: End,
}

impl Body {
    pub(crate) fn new(ticket: Ticket, length: u64, end: End) -> Self {
        Self {
            ticket,
            length,
            received: 0,
            flowing: false,
            began: Duration::ZERO,
            is_reported: false,
            dribbles: false,
            end,
        }
    }
}

impl Question {
    /// How long the net waits for a byte of the answer.
    pub(crate) fn silence(&self) -> Duration {
        self.fetch.patience.silence.min(SILENCE)
    }
}

/// What is behind the last byte.
#[derive(Debug)]
pub(crate) enum End {
    Answer(Event),
    /// A whole answer, and no connection any more.
    LastAnswer(Event),
    Break(Trouble),
    /// More bytes than the NZB says; whether there was room, the end shows.
    Outgrown {
        part: Part,
        needed: u64,
    },
}

impl Line {
    pub(crate) fn new(start: Instant, now: Duration, server: usize) -> Self {
        Self {
            server,
            state: State::Dialled,
            asked: VecDeque::new(),
            body: None,
            start,
            credit: ReadCredit::default(),
            quiet_since: now,
            due_since: now,
            starved_since: None,
            starved: Duration::ZERO,
            held: false,
        }
    }

    /// How many bytes of an answer may be read.
    pub(crate) fn allowed(&self, now: Duration) -> u64 {
        self.credit.allowed(self.start + now, true)
    }

    /// When the credit expires.
    pub(crate) fn credit_expires(&self) -> Option<Duration> {
        self.credit.expires().map(|at| at.saturating_duration_since(self.start))
    }

    pub(crate) fn poll_credit_request(&mut self, now: Duration) -> Option<CreditRequest> {
        self.credit.poll_request(self.start + now, !self.asked.is_empty())
    }

    pub(crate) fn front(&self) -> Option<Ticket> {
        self.asked.front().map(|question| question.fetch.ticket)
    }

    /// What it is called when it breaks just now.
    pub(crate) fn trouble(&self) -> Trouble {
        match (self.state, &self.body, self.asked.is_empty()) {
            (State::Dialled, _, _) => Trouble::Unreachable,
            (State::Leaving, _, _) | (_, None, true) => Trouble::Closed,
            (_, Some(_), _) => Trouble::Broken,
            (_, None, false) => Trouble::OutOfStep,
        }
    }

    /// To be told whenever that may have changed.
    pub(crate) fn note_starvation(&mut self, now: Duration) {
        let starved = self.allowed(now) == 0 || self.is_blocked();
        if starved && !self.asked.is_empty() {
            self.starved_since.get_or_insert(now);
        } else if let Some(since) = self.starved_since.take() {
            self.starved += now - since;
        }
    }

    /// The time by a clock that stands still while it is we who do not read.
    pub(crate) fn servers_time(&self, now: Duration) -> Duration {
        self.starved_since.unwrap_or(now) - self.starved
    }

    /// How long the net waits for the next byte.
    pub(crate) fn silence(&self) -> Duration {
        self.asked.front().map_or(SILENCE, Question::silence)
    }

    /// A body has begun, and there is no room for it.
    pub(crate) fn is_blocked(&self) -> bool {
        self.body.is_some() && self.asked.front().is_some_and(|question| question.room.is_none())
    }

    /// Whether the server may send: there is room, and we may read.
    pub(crate) fn may_flow(&self, now: Duration) -> bool {
        let roomy = self.asked.front().is_some_and(|question| question.room.is_some());
        roomy && self.allowed(now) > 0
    }
}
