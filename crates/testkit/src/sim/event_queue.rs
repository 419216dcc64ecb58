//! [`EventQueue`]: future events in the order of their times. Pure.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::time::Duration;

/// Things in the order of their times; what is due at the same time, in the order it was planned.
#[derive(Debug)]
pub(crate) struct EventQueue<T> {
    entries: BinaryHeap<Entry<T>>,
    last: u64,
}

#[derive(Debug)]
struct Entry<T> {
    at: Duration,
    number: u64,
    what: T,
}

impl<T> EventQueue<T> {
    pub(crate) fn new() -> Self {
        Self { entries: BinaryHeap::new(), last: 0 }
    }

    pub(crate) fn plan(&mut self, at: Duration, what: T) {
        self.last += 1;
        self.entries.push(Entry { at, number: self.last, what });
    }

    pub(crate) fn next_time(&self) -> Option<Duration> {
        self.entries.peek().map(|entry| entry.at)
    }

    pub(crate) fn take(&mut self) -> Option<T> {
        self.entries.pop().map(|entry| entry.what)
    }

    /// Plans nothing of these any more.
    pub(crate) fn remove_if(&mut self, goes: impl Fn(&T) -> bool) -> Vec<T> {
        let entries = std::mem::take(&mut self.entries).into_vec().into_iter();
        let (gone, stay): (Vec<_>, Vec<_>) = entries.partition(|entry| goes(&entry.what));
        self.entries = stay.into();
        gone.into_iter().map(|entry| entry.what).collect()
    }

    /// The first of what is due by `now`.
    pub(crate) fn take_due(&mut self, now: Duration) -> Option<T> {
        if self.next_time()? > now { None } else { self.take() }
    }
}

impl<T> Ord for Entry<T> {
    /// The heap gives the greatest first, and that is to be the earliest.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.number).cmp(&(self.at, self.number))
    }
}

impl<T> PartialOrd for Entry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for Entry<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<T> Eq for Entry<T> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_due_first_comes_first_and_equals_in_the_order_of_planning() {
        let mut queue = EventQueue::new();
        for (at, what) in [(2, 'c'), (1, 'a'), (2, 'd'), (1, 'b')] {
            queue.plan(Duration::from_secs(at), what);
        }
        assert_eq!(queue.take_due(Duration::ZERO), None);
        let order: String = std::iter::from_fn(|| queue.take()).collect();
        assert_eq!(order, "abcd");
    }
}
