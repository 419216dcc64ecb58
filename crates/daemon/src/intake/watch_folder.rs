//! [`WatchFolder`]: when the watch folder is scanned, and the requests that wait for a scan. Owned by the main
//! loop; [`WatchThread`](crate::intake::watch_thread::WatchThread) scans in a thread of its own.

use std::time::{Duration, Instant};

use bergamot_poll::Wanted;
use bergamot_types::SplitMix;
use tokio::sync::oneshot;

use crate::control::call::{Promise, Waiter};
use crate::intake::watch_thread::WatchWaker;
use crate::periodic::{Lane, Poll, Targets};

#[derive(Debug)]
pub(crate) struct WatchFolder {
    waker: WatchWaker,
    waiters: Vec<Waiter>,
}

impl WatchFolder {
    pub(crate) fn new(waker: WatchWaker) -> Self {
        Self { waker, waiters: Vec::new() }
    }

    /// Begins a scan.
    pub(crate) fn scan(&self) {
        self.waker.wake();
    }

    /// Begins a scan; the promise comes true when it has ended.
    pub(crate) fn scan_now(&mut self) -> Promise {
        let (sender, promise) = oneshot::channel();
        self.waiters.push(sender);
        self.scan();
        promise
    }

    /// Plans the scans; none while a user has paused them.
    pub(crate) fn set_target(
        targets: &mut Targets,
        now: Instant,
        interval: Duration,
        paused: bool,
    ) {
        let scan = Wanted { kind: Lane::WatchFolder, interval, priority: 0, enabled: !paused };
        targets.set(now, Poll::WatchFolder, scan);
    }

    /// A scan has ended; the next may wait this long.
    pub(crate) fn on_scanned(
        &mut self,
        targets: &mut Targets,
        chance: &mut SplitMix,
        now: Instant,
        next: Duration,
    ) {
        targets.set_interval(now, Poll::WatchFolder, next);
        for waiter in self.waiters.drain(..) {
            let _ = waiter.send(Ok(())); // the caller may have gone away
        }
        targets.finished(now, Poll::WatchFolder, &Ok::<(), ()>(()), chance);
    }
}
