//! Who is connected, and who has to leave when all places are taken and somebody new comes.
//!
//! Whoever is slow must not keep others out: the one leaves who has been silent the longest. Bytes are
//! no sign of life, for they can come one by one; a request is, and so is its answer. Whoever is being
//! answered stays, and if all are, the new one is turned away.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

/// The places of one way in.
#[derive(Debug)]
pub(crate) struct Guests {
    limit: usize,
    list: Mutex<List>,
}

#[derive(Debug, Default)]
struct List {
    /// Signs of life so far; no clock is needed to tell who was silent the longest.
    signs: u64,
    guests: HashMap<u64, Guest>, // by their first sign
}

#[derive(Debug)]
struct Guest {
    last_sign: u64,
    being_answered: bool,
    _leave: oneshot::Sender<()>, // dropped when it has to go
}

/// The place of one connection, until it is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    guests: Arc<Guests>,
    number: u64,
}

impl Guests {
    pub(crate) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self { limit, list: Mutex::default() })
    }

    /// A place, and what comes to its end when it is needed for somebody else; none if nobody can go.
    pub(crate) fn seat(self: &Arc<Self>) -> Option<(Place, oneshot::Receiver<()>)> {
        let mut list = self.list();
        if list.guests.len() >= self.limit {
            let silent = list.longest_silent()?;
            list.guests.remove(&silent);
        }
        let number = list.sign();
        let (leave, must_leave) = oneshot::channel();
        let guest = Guest { last_sign: number, being_answered: false, _leave: leave };
        list.guests.insert(number, guest);
        Some((Place { guests: self.clone(), number }, must_leave))
    }

    fn list(&self) -> MutexGuard<'_, List> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl List {
    fn sign(&mut self) -> u64 {
        self.signs += 1;
        self.signs
    }

    fn longest_silent(&self) -> Option<u64> {
        let idle = self.guests.iter().filter(|(_, guest)| !guest.being_answered);
        idle.min_by_key(|(_, guest)| guest.last_sign).map(|(number, _)| *number)
    }
}

impl Place {
    /// A request is there, as far as its head.
    pub(crate) fn answer_begins(&self) {
        self.show_life(true);
    }

    pub(crate) fn answer_is_ready(&self) {
        self.show_life(false);
    }

    fn show_life(&self, being_answered: bool) {
        let mut list = self.guests.list();
        let sign = list.sign();
        if let Some(guest) = list.guests.get_mut(&self.number) {
            guest.last_sign = sign;
            guest.being_answered = being_answered;
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.guests.list().guests.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot::error::TryRecvError;

    use super::*;

    fn must_leave(seat: &mut (Place, oneshot::Receiver<()>)) -> bool {
        seat.1.try_recv() == Err(TryRecvError::Closed)
    }

    #[test]
    fn whoever_was_silent_the_longest_makes_room() {
        let guests = Guests::new(2);
        let seat = || guests.seat().expect("somebody can go");
        let (mut first, mut second) = (seat(), seat());
        first.0.answer_begins();
        first.0.answer_is_ready();
        let mut third = seat();
        assert_eq!([&mut first, &mut second, &mut third].map(must_leave), [false, true, false]);
        drop(third);
        let mut fourth = seat();
        assert_eq!([&mut first, &mut fourth].map(must_leave), [false, false]);
    }

    #[test]
    fn whoever_is_being_answered_stays() {
        let guests = Guests::new(2);
        let seat = || guests.seat().expect("somebody can go");
        let (mut busy, mut idle) = (seat(), seat());
        busy.0.answer_begins();
        idle.0.answer_begins();
        assert!(guests.seat().is_none(), "nobody can go");
        idle.0.answer_is_ready();
        let _next = seat();
        assert_eq!([&mut busy, &mut idle].map(must_leave), [false, true]);
    }
}
