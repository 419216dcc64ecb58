//! Until when the server has to say something.

use std::time::{Duration, Instant};

use crate::settings::{Limits, ProgressFloor};

/// The two clocks of an answer: its next byte, and its progress.
#[derive(Debug)]
pub(crate) struct Deadlines {
    limits: Limits,
    next_byte: Option<(Instant, Duration)>, // when it is due, and how long was given
    window: Option<Window>,
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
    Progress { bytes: u64, window: Duration },
}

impl Deadlines {
    pub(crate) fn new(limits: Limits) -> Self {
        Self { limits, next_byte: None, window: None }
    }

    pub(crate) fn nothing_due(&mut self) {
        self.next_byte = None;
        self.window = None;
    }

    /// The first byte of an answer is due; an earlier deadline for the same answer stands.
    pub(crate) fn answer_due(&mut self, now: Instant) {
        self.next_byte = Some((now + self.limits.first_byte, self.limits.first_byte));
        self.window = None;
    }

    /// Some bytes of an answer line came; the rest is due.
    pub(crate) fn line_goes_on(&mut self, now: Instant) {
        self.next_byte = Some((now + self.limits.silence, self.limits.silence));
    }

    pub(crate) fn body_begins(&mut self, now: Instant) {
        self.line_goes_on(now);
        self.window = Some(Window { ends: now + self.limits.floor.window, bytes: 0 });
    }

    pub(crate) fn body_goes_on(&mut self, now: Instant, bytes: usize) {
        self.line_goes_on(now);
        let ProgressFloor { bytes: floor, window } = self.limits.floor;
        if let Some(current) = &mut self.window {
            current.bytes += bytes as u64;
            if now >= current.ends && current.bytes >= floor {
                *current = Window { ends: now + window, bytes: 0 };
            }
        }
    }

    pub(crate) fn next(&self) -> Option<Instant> {
        let byte = self.next_byte.map(|(due, _)| due);
        let window = self.window.map(|window| window.ends);
        match (byte, window) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    pub(crate) fn missed(&mut self, now: Instant) -> Option<Missed> {
        if let Some((due, waited)) = self.next_byte
            && now >= due
        {
            return Some(Missed::Byte { waited });
        }
        let current = self.window.as_mut().filter(|window| now >= window.ends)?;
        let ProgressFloor { bytes: floor, window } = self.limits.floor;
        let bytes = current.bytes;
        *current = Window { ends: now + window, bytes: 0 };
        (bytes < floor).then_some(Missed::Progress { bytes, window })
    }
}
