//! [`WorkQueue`]: a mutex-guarded queue with a condition variable, shared by the writer's threads.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

#[derive(Debug)]
pub(crate) struct WorkQueue<T> {
    queue: Mutex<VecDeque<T>>,
    ready: Condvar,
}

/// What a thread does next, given the queue.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Choice {
    Leave,
    Take(usize),
    Wait,
}

impl Choice {
    /// For threads that take items in order.
    pub(crate) fn front<T>(queue: &VecDeque<T>) -> Self {
        Self::of((!queue.is_empty()).then_some(0))
    }

    /// For threads that never end on their own.
    pub(crate) fn of(place: Option<usize>) -> Self {
        place.map_or(Self::Wait, Self::Take)
    }
}

impl<T> Default for WorkQueue<T> {
    fn default() -> Self {
        Self { queue: Mutex::default(), ready: Condvar::new() }
    }
}

impl<T> WorkQueue<T> {
    /// Adds an item; drops it once `stop` is set.
    pub(crate) fn push(&self, stop: &AtomicBool, item: T) {
        self.push_after(stop, item, || ());
    }

    /// As [`push`](Self::push), for queues whose items every thread may take: wakes one thread only.
    pub(crate) fn push_to_any(&self, stop: &AtomicBool, item: T) {
        let mut queue = lock(&self.queue);
        if !stop.load(Ordering::Relaxed) {
            queue.push_back(item);
            self.ready.notify_one();
        }
    }

    /// As [`push`](Self::push), after calling `before` under the lock, so that no thread chooses meanwhile.
    pub(crate) fn push_after(&self, stop: &AtomicBool, item: T, before: impl FnOnce()) {
        let mut queue = lock(&self.queue);
        if !stop.load(Ordering::Relaxed) {
            before();
            queue.push_back(item);
            self.ready.notify_all(); // a waiting thread may not take this kind of item
        }
    }

    /// Waits for an item that `choose` takes; `None` once `stop` is set or `choose` says to leave.
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

    /// Lets waiting threads choose again, after a change that may allow an item that was blocked.
    pub(crate) fn wake_all(&self) {
        let is_empty = lock(&self.queue).is_empty(); // a thread that was choosing waits by now
        if !is_empty {
            self.ready.notify_all();
        }
    }

    /// Drops all items.
    pub(crate) fn clear(&self) {
        let dropped = std::mem::take(&mut *lock(&self.queue));
        self.ready.notify_all();
        drop(dropped); // outside the lock: dropping a caller's buffer may take another lock
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Only code of this crate runs under these locks, so a poisoned one still guards consistent data.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
