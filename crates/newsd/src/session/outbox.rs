//! [`Outbox`]: what is still to be sent, and when.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use bergamot_types::ByteRate;

use crate::session::Output;

/// The answers of one connection on their way out, in order.
#[derive(Debug)]
pub(crate) struct Outbox {
    steps: VecDeque<Step>,
    pace: Option<ByteRate>,
    free: Instant, // when paced bytes may leave again
}

#[derive(Debug)]
enum Step {
    Act(Output),
    Bytes { bytes: Vec<u8>, pace: Option<ByteRate> },
    Endless(Vec<u8>),
    Silence,
    Wait(Duration),
    WaitUntil(Instant),
}

impl Outbox {
    pub(crate) fn new(now: Instant, pace: Option<ByteRate>) -> Self {
        Self { steps: VecDeque::new(), pace, free: now }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Whether nothing more will ever leave.
    pub(crate) fn is_silent(&self) -> bool {
        matches!(self.steps.front(), Some(Step::Silence))
    }

    pub(crate) fn line(&mut self, text: &str) {
        self.bytes(format!("{text}\r\n").into_bytes());
    }

    /// A status line, lines whose dots are stuffed, and the terminator.
    pub(crate) fn list(&mut self, status: &str, lines: impl Iterator<Item = String>) {
        let mut text = format!("{status}\r\n");
        for line in lines {
            let dot = if line.starts_with('.') { "." } else { "" };
            text.extend([dot, &line, "\r\n"]);
        }
        text += ".\r\n";
        self.bytes(text.into_bytes());
    }

    pub(crate) fn bytes(&mut self, bytes: Vec<u8>) {
        if !bytes.is_empty() {
            self.steps.push_back(Step::Bytes { bytes, pace: None });
        }
    }

    pub(crate) fn slow_bytes(&mut self, bytes: Vec<u8>, pace: ByteRate) {
        self.steps.push_back(Step::Bytes { bytes, pace: Some(pace) });
    }

    /// Sends `bytes` again and again for ever.
    pub(crate) fn endless(&mut self, bytes: Vec<u8>) {
        self.steps.push_back(Step::Endless(bytes));
    }

    /// Sends nothing ever after.
    pub(crate) fn silence(&mut self) {
        self.steps.push_back(Step::Silence);
    }

    pub(crate) fn wait(&mut self, delay: Duration) {
        self.steps.push_back(Step::Wait(delay));
    }

    pub(crate) fn act(&mut self, output: Output) {
        self.steps.push_back(Step::Act(output));
    }

    pub(crate) fn poll(&mut self, now: Instant) -> Option<Output> {
        loop {
            match self.steps.front_mut()? {
                Step::Silence => return None,
                Step::Endless(bytes) => {
                    let bytes = bytes.clone();
                    self.steps.push_front(Step::Bytes { bytes, pace: None });
                }
                Step::Wait(delay) => {
                    let until = now + *delay;
                    self.steps[0] = Step::WaitUntil(until);
                }
                Step::WaitUntil(until) if now < *until => return None,
                Step::WaitUntil(_) => drop(self.steps.pop_front()),
                Step::Bytes { pace, .. } => {
                    let pace = slower(*pace, self.pace);
                    return self.poll_bytes(now, pace);
                }
                Step::Act(_) => break,
            }
        }
        match self.steps.pop_front() {
            Some(Step::Act(output)) => Some(output),
            _ => None,
        }
    }

    /// When polling again will give something, if only time is missing.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        match self.steps.front()? {
            Step::Bytes { .. } => Some(self.free),
            Step::WaitUntil(until) => Some(*until),
            _ => None,
        }
    }

    fn poll_bytes(&mut self, now: Instant, pace: Option<ByteRate>) -> Option<Output> {
        let Some(rate) = pace else { return self.pop_bytes() };
        if now < self.free {
            return None;
        }
        let Some(Step::Bytes { bytes, .. }) = self.steps.front_mut() else { return None };
        let length = (rate.0 / SLICES_A_SECOND).clamp(1, LARGEST_SLICE) as usize;
        let time = |length: usize| Duration::from_secs_f64(length as f64 / rate.0.max(1) as f64);
        // A timer that fires late is made up for; a connection that was idle is not.
        let start = if now - self.free > LARGEST_DEBT { now } else { self.free };
        if bytes.len() <= length {
            self.free = start + time(bytes.len());
            return self.pop_bytes();
        }
        self.free = start + time(length);
        let rest = bytes.split_off(length);
        Some(Output::Send(std::mem::replace(bytes, rest)))
    }

    fn pop_bytes(&mut self) -> Option<Output> {
        match self.steps.pop_front() {
            Some(Step::Bytes { bytes, .. }) => Some(Output::Send(bytes)),
            _ => None,
        }
    }
}

fn slower(one: Option<ByteRate>, other: Option<ByteRate>) -> Option<ByteRate> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

/// Paced bytes leave in slices of this part of a second, so that a rate is even and wakes seldom.
const SLICES_A_SECOND: u64 = 50;
const LARGEST_SLICE: u64 = 256 << 10;
const LARGEST_DEBT: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests {
    use super::*;

    fn drain(outbox: &mut Outbox, now: Instant) -> usize {
        let mut sent = 0;
        while let Some(Output::Send(bytes)) = outbox.poll(now) {
            sent += bytes.len();
        }
        sent
    }

    #[test]
    fn a_pace_holds_even_when_the_timer_is_late() {
        let start = Instant::now();
        let mut outbox = Outbox::new(start, Some(ByteRate(100_000)));
        outbox.bytes(vec![0; 1_000_000]);
        let (mut now, mut sent) = (start, 0);
        while now < start + Duration::from_secs(5) {
            sent += drain(&mut outbox, now);
            now = outbox.deadline().unwrap() + Duration::from_millis(1);
        }
        assert!((490_000..=505_000).contains(&sent), "{sent}");
    }

    #[test]
    fn one_byte_a_second_is_one_byte_a_second() {
        let start = Instant::now();
        let mut outbox = Outbox::new(start, None);
        outbox.slow_bytes(vec![0; 10], ByteRate(1));
        for second in 0..10 {
            assert_eq!(drain(&mut outbox, start + Duration::from_secs(second)), 1);
        }
        assert!(outbox.is_empty());
    }

    #[test]
    fn waiting_begins_when_its_turn_comes() {
        let start = Instant::now();
        let mut outbox = Outbox::new(start, None);
        outbox.wait(Duration::from_secs(2));
        outbox.line("200 hello");
        let later = start + Duration::from_secs(10);
        assert_eq!(drain(&mut outbox, later), 0);
        assert_eq!(outbox.deadline(), Some(later + Duration::from_secs(2)));
        assert_eq!(drain(&mut outbox, later + Duration::from_secs(2)), 11);
    }
}
