//! [`InFlight`]: the requests of one connection that are not answered, in order. Pure.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use bergamot_sched::Transfer;

use crate::order::Ticket;

/// Answers come in the order of the questions, so only the front can be coming.
#[derive(Debug, Default)]
pub(crate) struct InFlight {
    asked: VecDeque<Asked>,
    /// What has come of the front.
    front: Option<Front>,
}

#[derive(Debug)]
struct Asked {
    ticket: Ticket,
    bytes: u64,
    /// It was asked for behind another one.
    ahead: bool,
    /// There is room for its body.
    admitted: bool,
}

#[derive(Clone, Copy, Debug)]
struct Front {
    /// Since when nothing else was due.
    since: Instant,
    began: Option<Instant>,
    received: u64,
}

/// An answer, as far as it can be measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Measured {
    pub(crate) transfer: Transfer,
    pub(crate) ahead: bool,
}

impl InFlight {
    pub(crate) fn len(&self) -> usize {
        self.asked.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.asked.is_empty()
    }

    pub(crate) fn tickets(&self) -> impl Iterator<Item = Ticket> + '_ {
        self.asked.iter().map(|asked| asked.ticket)
    }

    pub(crate) fn ticket_at(&self, place: usize) -> Option<Ticket> {
        self.asked.get(place).map(|asked| asked.ticket)
    }

    /// The one at that place, if there is no room for its body yet.
    pub(crate) fn not_admitted(&self, place: usize) -> Option<Ticket> {
        self.asked.get(place).filter(|asked| !asked.admitted).map(|asked| asked.ticket)
    }

    pub(crate) fn ask(&mut self, now: Instant, ticket: Ticket, bytes: u64) {
        let ahead = !self.asked.is_empty();
        self.asked.push_back(Asked { ticket, bytes, ahead, admitted: false });
        self.front.get_or_insert(Front { since: now, began: None, received: 0 });
    }

    /// How long the first byte of the front took, if this is it and nothing was due before it.
    pub(crate) fn on_progress(
        &mut self,
        now: Instant,
        ticket: Ticket,
        received: u64,
    ) -> Option<Duration> {
        let asked = self.asked.front().filter(|asked| asked.ticket == ticket)?;
        let front = self.front.as_mut()?;
        front.received = received;
        let first = front.began.is_none();
        front.began.get_or_insert(now);
        (first && !asked.ahead).then(|| now.saturating_duration_since(front.since))
    }

    /// The front may be read from now on: until now its silence was ours.
    pub(crate) fn on_admitted(&mut self, now: Instant, ticket: Ticket) {
        if let Some(asked) = self.asked.iter_mut().find(|asked| asked.ticket == ticket) {
            asked.admitted = true;
        }
        let is_front = self.ticket_at(0) == Some(ticket);
        if let Some(front) = self.front.as_mut().filter(|_| is_front) {
            front.since = now;
            front.began = front.began.map(|_| now);
        }
    }

    /// Takes an answered ticket out of the line.
    pub(crate) fn on_answered(&mut self, now: Instant, ticket: Ticket) -> Option<Measured> {
        let place = self.asked.iter().position(|asked| asked.ticket == ticket)?;
        let asked = self.asked.remove(place)?;
        if place > 0 {
            return None; // nobody answers out of turn; then nothing can be learned from it
        }
        let front = self.front.take();
        if !self.asked.is_empty() {
            self.front = Some(Front { since: now, began: None, received: 0 });
        }
        let since = |then: Instant| now.saturating_duration_since(then);
        let front = front?;
        let transfer =
            Transfer { bytes: asked.bytes, due: since(front.since), flow: front.began.map(since) };
        Some(Measured { transfer, ahead: asked.ahead })
    }

    /// What has come of the front.
    pub(crate) fn received(&self) -> u64 {
        self.front.map_or(0, |front| front.received)
    }

    /// What has come of the front, and for how long it has been due.
    pub(crate) fn front(&self, now: Instant) -> (u64, Duration) {
        let since = self.front.map(|front| now.saturating_duration_since(front.since));
        (self.received(), since.unwrap_or_default())
    }

    /// Whether something was asked ahead and not answered.
    pub(crate) fn is_pipelined(&self) -> bool {
        self.asked.iter().any(|asked| asked.ahead)
    }

    /// Bytes that have to come before the one at `place` is there, with its own.
    pub(crate) fn bytes_to(&self, place: usize) -> u64 {
        let all: u64 = self.asked.iter().take(place + 1).map(|asked| asked.bytes).sum();
        all.saturating_sub(self.received())
    }

    pub(crate) fn bytes_at(&self, place: usize) -> u64 {
        self.asked.get(place).map_or(0, |asked| asked.bytes)
    }

    /// Bytes that have to come before the line is empty.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes_to(self.asked.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Ticket = Ticket(1);
    const B: Ticket = Ticket(2);

    fn after(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn each_answer_is_measured_from_when_it_was_due() {
        let (mut line, now) = (InFlight::default(), Instant::now());
        line.ask(now, A, 1000);
        assert!(!line.is_pipelined());
        line.ask(now + after(1), B, 500);
        assert_eq!((line.bytes_to(0), line.bytes()), (1000, 1500));
        assert_eq!(line.on_progress(now + after(10), A, 0), Some(after(10)));
        assert_eq!(line.on_progress(now + after(20), A, 600), None);
        assert_eq!((line.bytes(), line.front(now + after(20))), (900, (600, after(20))));
        let first = line.on_answered(now + after(30), A).expect("it was asked");
        assert!(!first.ahead && line.is_pipelined());
        assert_eq!((first.transfer.due, first.transfer.flow), (after(30), Some(after(20))));
        assert_eq!(line.front(now + after(30)), (0, after(0)));
        assert_eq!(line.on_progress(now + after(35), B, 0), None, "it was asked ahead");
        let second = line.on_answered(now + after(40), B).expect("it was asked");
        assert!(second.ahead && line.is_empty());
        assert_eq!((second.transfer.due, second.transfer.flow), (after(10), Some(after(5))));
    }

    #[test]
    fn what_waits_for_us_is_not_late() {
        let (mut line, now) = (InFlight::default(), Instant::now());
        line.ask(now, A, 1000);
        line.ask(now, B, 1000);
        line.on_progress(now + after(10), A, 0);
        line.on_admitted(now + after(500), B);
        assert_eq!(line.front(now + after(500)).1, after(500));
        line.on_admitted(now + after(500), A);
        let measured = line.on_answered(now + after(600), A).expect("it was asked");
        assert_eq!((measured.transfer.due, measured.transfer.flow), (after(100), Some(after(100))));
    }

    #[test]
    fn nothing_is_learned_out_of_turn() {
        let (mut line, now) = (InFlight::default(), Instant::now());
        line.ask(now, A, 1000);
        line.ask(now, B, 1000);
        assert!(line.on_answered(now, B).is_none());
        assert_eq!(line.on_progress(now, B, 5), None);
        assert_eq!((line.len(), line.ticket_at(0)), (1, Some(A)));
    }
}
