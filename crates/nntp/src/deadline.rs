//! [`Deadlines`]: the timeouts of one connection.

use std::time::{Duration, Instant};

use bergamot_types::Patience;

use crate::settings::{Limits, ProgressFloor};

/// The two clocks of an answer: its next byte, and its progress.
#[derive(Debug)]
pub(crate) struct Deadlines {
    limits: Limits,
    patience: Option<Patience>,             // with the answer that is due
    next_byte: Option<(Instant, Duration)>, // when it is due, and how long was given
    in_line: bool,
    window: Option<Window>,
    held_since: Option<Instant>, // no time runs while we may not read
}

#[derive(Clone, Copy, Debug)]
struct Window {
    ends: Instant,
    bytes: u64,
}

/// A deadline that passed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Missed {
    Byte { waited: Duration },
    Line { limit: Duration },
    Progress { bytes: u64, window: Duration },
}

impl Deadlines {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            limits,
            patience: None,
            next_byte: None,
            in_line: false,
            window: None,
            held_since: None,
        }
    }

    pub(crate) fn nothing_due(&mut self) {
        self.next_byte = None;
        self.in_line = false;
        self.window = None;
    }

    /// The first byte of an answer is due.
    pub(crate) fn answer_due(&mut self, now: Instant, patience: Option<Patience>) {
        self.nothing_due();
        self.patience = patience;
        let given = self.shortened(self.limits.first_byte);
        self.next_byte = Some((now + given, given));
    }

    fn shortened(&self, limit: Duration) -> Duration {
        self.patience.map_or(limit, |patience| patience.silence.min(limit))
    }

    /// What a body must bring in every window.
    fn floor(&self) -> ProgressFloor {
        let ProgressFloor { bytes, window } = self.limits.floor;
        let pace = self.patience.map_or(0, |patience| patience.pace.0);
        ProgressFloor { bytes: bytes.max(pace.saturating_mul(window.as_secs())), window }
    }

    /// Some bytes of an answer line came. All the rest is due then: a line is so short that more
    /// time for each byte of it would only serve a server that drips.
    pub(crate) fn line_goes_on(&mut self, now: Instant) {
        if !self.in_line {
            self.in_line = true;
            self.byte_due(now);
        }
    }

    pub(crate) fn body_begins(&mut self, now: Instant) {
        self.in_line = false;
        self.byte_due(now);
        self.window = Some(Window { ends: now + self.limits.floor.window, bytes: 0 });
    }

    pub(crate) fn body_goes_on(&mut self, now: Instant, bytes: usize) {
        self.byte_due(now);
        let ProgressFloor { bytes: floor, window } = self.floor();
        if let Some(current) = &mut self.window {
            current.bytes += bytes as u64;
            if now >= current.ends && current.bytes >= floor {
                *current = Window { ends: now + window, bytes: 0 };
            }
        }
    }

    fn byte_due(&mut self, now: Instant) {
        let given = self.shortened(self.limits.silence);
        self.next_byte = Some((now + given, given));
    }

    /// We have no credit to read: what the server sent meanwhile waits in the socket, and it must
    /// not be blamed for that.
    pub(crate) fn hold(&mut self, now: Instant) {
        self.held_since.get_or_insert(now);
    }

    pub(crate) fn go_on(&mut self, now: Instant) {
        let Some(since) = self.held_since.take() else { return };
        let held = now.saturating_duration_since(since);
        if let Some((due, _)) = &mut self.next_byte {
            *due += held;
        }
        if let Some(window) = &mut self.window {
            window.ends += held;
        }
    }

    pub(crate) fn next(&self) -> Option<Instant> {
        if self.held_since.is_some() {
            return None;
        }
        let byte = self.next_byte.map(|(due, _)| due);
        let window = self.window.map(|window| window.ends);
        match (byte, window) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    pub(crate) fn missed(&mut self, now: Instant) -> Option<Missed> {
        if self.held_since.is_some() {
            return None;
        }
        if let Some((due, waited)) = self.next_byte
            && now >= due
        {
            let line = Missed::Line { limit: waited };
            return Some(if self.in_line { line } else { Missed::Byte { waited } });
        }
        let ProgressFloor { bytes: floor, window } = self.floor();
        let current = self.window.as_mut().filter(|window| now >= window.ends)?;
        let bytes = current.bytes;
        *current = Window { ends: now + window, bytes: 0 };
        (bytes < floor).then_some(Missed::Progress { bytes, window })
    }
}
