//! [`Live`]: one group that is refreshed, and the requests that wait for it.

use std::time::{Duration, Instant};

use bergamot_poll::Activity;

use crate::fetch::Failure;

/// What a request for a group asks for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Need {
    /// Headers below this number, so many if there are.
    Below { number: u64, count: usize },
    /// What is known; only a group that is not is waited for.
    Known,
    /// What the server has now.
    Latest,
}

#[derive(Debug)]
pub(crate) struct Live<W> {
    pub(crate) activity: Activity,
    checked: Option<Instant>,
    pub(crate) failure: Option<Failure>, // of the last look
    running: Option<Run>,
    waiting: Vec<Waiting<W>>,
}

#[derive(Clone, Copy, Debug)]
struct Run {
    reads_older: bool,
}

#[derive(Debug)]
struct Waiting<W> {
    waiter: W,
    for_older: bool,
}

impl<W> Live<W> {
    pub(crate) fn new(now: Instant) -> Self {
        let activity = Activity::new(now);
        Self { activity, checked: None, failure: None, running: None, waiting: Vec::new() }
    }

    /// Until when it may not be looked at again.
    pub(crate) fn rests_until(&self, now: Instant, debounce: Duration) -> Option<Instant> {
        self.checked.map(|checked| checked + debounce).filter(|&until| now < until)
    }

    pub(crate) fn is_running(&self) -> bool {
        self.running.is_some()
    }

    pub(crate) fn is_waited_for(&self) -> bool {
        !self.waiting.is_empty()
    }

    pub(crate) fn wants_older(&self) -> bool {
        self.waiting.iter().any(|waiting| waiting.for_older)
    }

    /// Gives the waiter back where there are too many.
    pub(crate) fn wait(&mut self, waiter: W, for_older: bool) -> Result<(), W> {
        if self.waiting.len() >= MOST_WAITING {
            return Err(waiter);
        }
        self.waiting.push(Waiting { waiter, for_older });
        Ok(())
    }

    pub(crate) fn forget_waiters(&mut self, gone: impl Fn(&W) -> bool) {
        self.waiting.retain(|waiting| !gone(&waiting.waiter));
    }

    pub(crate) fn begin(&mut self, now: Instant) {
        self.checked = Some(now);
        self.running = Some(Run { reads_older: self.wants_older() });
    }

    /// The requests that are answered by the read that has ended: all except those for older headers that
    /// arrived after it began. An error answers all.
    pub(crate) fn end(&mut self, failure: Option<Failure>) -> Vec<W> {
        let run = self.running.take();
        let reads_older = failure.is_some() || run.is_some_and(|run| run.reads_older);
        self.failure = failure;
        let served = self.waiting.extract_if(.., |waiting| reads_older || !waiting.for_older);
        served.map(|waiting| waiting.waiter).collect()
    }
}

/// As many as there can be client connections.
const MOST_WAITING: usize = 1024;
