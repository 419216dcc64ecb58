//! What will happen, and when.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use bergamot_engine::{ConnectionId, Event};

#[derive(Debug)]
pub(crate) enum Happening {
    /// A dialled connection is answered, or not.
    Dialled(ConnectionId),
    /// The front of a connection's line is answered with this.
    Answer(ConnectionId, Event),
    /// The connection breaks on the front of its line.
    Break(ConnectionId),
    /// A server (by its place) cannot be reached any more.
    Outage(usize),
    /// Something that needs no more thought.
    Engine(Event),
}

/// Things in the order of their times; what is due at the same time, in the order it was planned.
#[derive(Debug, Default)]
pub(crate) struct Agenda {
    order: BinaryHeap<Reverse<(Duration, u64)>>,
    planned: std::collections::HashMap<u64, Happening>,
    last: u64,
}

impl Agenda {
    pub(crate) fn plan(&mut self, at: Duration, happening: Happening) {
        self.last += 1;
        self.order.push(Reverse((at, self.last)));
        self.planned.insert(self.last, happening);
    }

    pub(crate) fn next_time(&self) -> Option<Duration> {
        self.order.peek().map(|Reverse((at, _))| *at)
    }

    pub(crate) fn take(&mut self) -> Option<Happening> {
        let Reverse((_, number)) = self.order.pop()?;
        self.planned.remove(&number)
    }
}
