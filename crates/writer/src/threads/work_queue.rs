//! A queue that threads wait at.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

#[derive(Debug)]
pub(crate) struct Line<T> {
    queue: Mutex<VecDeque<T>>,
    ready: Condvar,
}

/// What somebody at a line does next.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Choice {
    Leave,
    Take(usize),
    Wait,
}

impl Choice {
    /// Of those who take whatever comes first.
    pub(crate) fn front<T>(queue: &VecDeque<T>) -> Self {
        Self::of((!queue.is_empty()).then_some(0))
    }

    /// Of those who never leave.
    pub(crate) fn of(place: Option<usize>) -> Self {
        place.map_or(Self::Wait, Self::Take)
    }
}

impl<T> Default for Line<T> {
    fn default() -> Self {
        Self { queue: Mutex::default(), ready: Condvar::new() }
    }
}

impl<T> Line<T> {
    /// Once it was stopped, what comes is dropped.
    pub(crate) fn push(&self, stop: &AtomicBool, item: T) {
        self.push_after(stop, item, || ());
    }

    /// Of a line whose items anybody takes.
    pub(crate) fn push_to_anyone(&self, stop: &AtomicBool, item: T) {
        let mut queue = lock(&self.queue);
        if !stop.load(Ordering::Relaxed) {
            queue.push_back(item);
            self.ready.notify_one();
        }
    }

    /// Does something first, while nobody chooses.
    pub(crate) fn push_after(&self, stop: &AtomicBool, item: T, before: impl FnOnce()) {
        let mut queue = lock(&self.queue);
        if !stop.load(Ordering::Relaxed) {
            before();
            queue.push_back(item);
            self.ready.notify_all(); // not everybody who waits takes everything
        }
    }

    /// Waits for an item that `choose` takes; none once it was stopped, or for those who leave.
    pub(crate) fn next(
        &self,
        stop: &AtomicBool,
        choose: impl Fn(&VecDeque<T>) -> Choice,
    ) -> Option<T> {
        let mut queue = lock(&self.queue);
        loop {
            if stop.load(Ordering::Relaxed) {
                return None;
            }
            match choose(&queue) {
                Choice::Leave => return None,
                Choice::Take(place) => return queue.remove(place),
                Choice::Wait => {
                    queue = self.ready.wait(queue).unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }

    /// Something may be to be chosen that was not before, if there is anything.
    pub(crate) fn wake_all(&self) {
        let is_empty = lock(&self.queue).is_empty(); // whoever was choosing waits by now
        if !is_empty {
            self.ready.notify_all();
        }
    }

    /// Drops all of it.
    pub(crate) fn clear(&self) {
        let dropped = std::mem::take(&mut *lock(&self.queue));
        self.ready.notify_all();
        drop(dropped); // outside the lock, for the caller's buffers may have their own
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // No code of strangers runs under these locks, so what they guard is whole.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
