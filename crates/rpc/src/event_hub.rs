//! [`Hub`]: the ring of the latest events, shared by the daemon's loop (which publishes) and the tasks of subscribers.
//!
//! Publishing never waits. A subscriber that reads too slowly is sent a gap with the sequence numbers of the events that
//! the ring has dropped meanwhile.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use bergamot_api::Event;

/// Cheap to clone; all clones are one.
#[derive(Clone, Debug)]
pub struct Hub(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    boot: String,
    ring: Mutex<Ring>,
    latest: watch::Sender<u64>, // wakes the subscribers
}

#[derive(Debug, Default)]
struct Ring {
    events: VecDeque<Arc<Event>>,
    last: u64, // the number of the newest; the first ever is 1
}

/// The last event that a subscriber has received.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Position {
    pub boot: String,
    pub sequence: u64,
}

/// One subscriber; owned by the task of its connection.
#[derive(Debug)]
pub struct Watcher {
    hub: Hub,
    next: u64,
    lost_since: Option<u64>, // a gap that is still to be delivered
    latest: watch::Receiver<u64>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Delivery {
    pub boot: String,
    /// Of the event, or the last one that was lost.
    pub sequence: u64,
    #[serde(flatten)]
    pub content: Content,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Content {
    Event(Arc<Event>),
    /// Events that this watcher will never see; lists should be asked for again.
    Gap {
        first: u64,
        last: u64,
    },
}

impl Hub {
    /// `boot` identifies this start of the daemon.
    pub fn new(boot: impl Into<String>) -> Self {
        let (latest, _) = watch::channel(0);
        Self(Arc::new(Shared { boot: boot.into(), ring: Mutex::default(), latest }))
    }

    pub fn publish(&self, event: Event) {
        let last = {
            let mut ring = self.ring();
            if ring.events.len() == CAPACITY {
                ring.events.pop_front();
            }
            ring.events.push_back(Arc::new(event));
            ring.last += 1;
            ring.last
        };
        self.0.latest.send_replace(last);
    }

    pub fn boot(&self) -> &str {
        &self.0.boot
    }

    /// Whether an event would be delivered to any subscriber.
    pub fn is_watched(&self) -> bool {
        self.0.latest.receiver_count() > 0
    }

    /// The newest there is.
    pub fn position(&self) -> Position {
        Position { boot: self.0.boot.clone(), sequence: self.ring().last }
    }

    /// From now on, or from after `since` on.
    pub fn watch(&self, since: Option<&Position>) -> Watcher {
        let latest = self.0.latest.subscribe();
        let last = self.ring().last;
        let (next, lost_since) = match since {
            None => (last + 1, None),
            Some(Position { boot, sequence }) if *boot == self.0.boot && *sequence <= last => {
                (sequence + 1, None)
            }
            // A position of an earlier start: its events are gone.
            Some(_) => (last + 1, Some(0)),
        };
        Watcher { hub: self.clone(), next, lost_since, latest }
    }

    /// A panic of another thread cannot leave the ring half changed.
    fn ring(&self) -> MutexGuard<'_, Ring> {
        self.0.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watcher {
    /// Waits for what comes next. May be dropped while it waits; nothing is lost by that.
    pub async fn next(&mut self) -> Delivery {
        loop {
            if let Some(delivery) = self.ready() {
                return delivery;
            }
            // The hub is held by this watcher, so its sender lives.
            let _ = self.latest.changed().await;
        }
    }

    /// What is there without waiting.
    pub fn ready(&mut self) -> Option<Delivery> {
        let hub = self.hub.clone();
        let ring = hub.ring();
        let oldest = ring.last + 1 - ring.events.len() as u64;
        if self.next < oldest {
            self.lost_since.get_or_insert(self.next);
            self.next = oldest;
        }
        if let Some(first) = self.lost_since.take() {
            let last = self.next - 1;
            return Some(self.delivery(last, Content::Gap { first, last }));
        }
        let place = usize::try_from(self.next - oldest).ok()?;
        let event = ring.events.get(place)?.clone();
        let sequence = self.next;
        self.next += 1;
        Some(self.delivery(sequence, Content::Event(event)))
    }

    fn delivery(&self, sequence: u64, content: Content) -> Delivery {
        Delivery { boot: self.hub.0.boot.clone(), sequence, content }
    }
}

/// Minutes of a busy daemon, at a few events a second; below a megabyte.
const CAPACITY: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(rate: u64) -> Event {
        Event::Rate { rate, limit: None }
    }

    fn since(sequence: u64) -> Option<Position> {
        Some(Position { boot: "b".to_owned(), sequence })
    }

    fn all(watcher: &mut Watcher) -> Vec<u64> {
        std::iter::from_fn(|| watcher.ready())
            .map(|delivery| match delivery.content {
                Content::Event(_) => delivery.sequence,
                Content::Gap { first, last } => first * 1_000_000 + last,
            })
            .collect()
    }

    #[test]
    fn who_comes_back_in_time_misses_nothing() {
        let hub = Hub::new("b");
        let mut live = hub.watch(None);
        (0..5).for_each(|n| hub.publish(rate(n)));
        assert_eq!(all(&mut live), [1, 2, 3, 4, 5]);
        assert_eq!(all(&mut hub.watch(since(3).as_ref())), [4, 5]);
        assert!(all(&mut hub.watch(None)).is_empty());
        assert_eq!(hub.position().sequence, 5);
    }

    #[test]
    fn who_is_too_slow_is_told_what_was_lost() {
        let hub = Hub::new("b");
        let mut slow = hub.watch(None);
        (0..CAPACITY as u64 + 10).for_each(|n| hub.publish(rate(n)));
        let seen = all(&mut slow);
        assert_eq!(seen[..2], [1_000_010, 11]);
        assert_eq!(seen.len(), CAPACITY + 1);
    }

    #[test]
    fn another_start_and_a_future_that_is_not_ours_are_gaps() {
        let hub = Hub::new("b");
        (0..5).for_each(|n| hub.publish(rate(n)));
        let other = Position { boot: "a".to_owned(), sequence: 2 };
        assert_eq!(all(&mut hub.watch(Some(&other))), [5]);
        assert_eq!(all(&mut hub.watch(since(6).as_ref())), [5]);
    }

    #[tokio::test]
    async fn a_watcher_wakes_when_something_happens() {
        let hub = Hub::new("b");
        let mut watcher = hub.watch(None);
        let waiting = tokio::spawn(async move { watcher.next().await });
        tokio::task::yield_now().await;
        hub.publish(rate(7));
        let delivery = waiting.await.expect("the task ends");
        let json = serde_json::to_string(&delivery).expect("it can be written");
        assert_eq!(
            json,
            r#"{"boot":"b","sequence":1,"event":{"is":"rate","rate":7,"limit":null}}"#
        );
    }
}
