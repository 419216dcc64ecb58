//! What is done again and again: one scheduler decides when all of it is due.

use std::time::{Duration, Instant};

use bergamot_feed::FeedId;
use bergamot_poll::{Queue, Settings, Wanted};
use bergamot_types::{JobId, ServerId};

use crate::clock;
use crate::run::Daemon;

/// One thing to be done again and again.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Poll {
    /// Whether the job that matters now is still the same.
    CurrentJob,
    Feed(FeedId),
    /// A newsgroup, by the number it has in `newsgroups`.
    Group(u32),
    /// Journals that could not be written may be now.
    Journals,
    /// Whether a job that waits is there.
    Probe(JobId),
    Progress(JobId),
    Rate,
    /// What a person at a terminal sees, or reads in the log.
    Screen,
    /// Whether a server can be reached that nobody asks.
    Server(ServerId),
    /// The NZB of this job is to be fetched.
    Url(JobId),
    WatchFolder,
}

/// What shares a number of places to run in.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Lane {
    Feeds,
    Groups,
    Probe,
    /// What watchers are told.
    Progress,
    Upkeep,
    Urls,
    WatchFolder,
}

pub(crate) type Targets = Queue<Poll, Lane>;

pub(crate) fn new_targets(settings: Settings) -> Targets {
    let mut targets = Queue::new(settings);
    targets.set_concurrency(Lane::Probe, 1); // each reads an NZB
    targets
}

impl Daemon {
    /// Begins whatever is due; each says later how it went.
    pub(crate) fn begin_what_is_due(&mut self, now: Instant) {
        loop {
            let taken = self.targets.take_due(now);
            if taken.is_empty() {
                return;
            }
            taken.into_iter().for_each(|target| self.begin(target));
        }
    }

    fn begin(&mut self, target: Poll) {
        match target {
            Poll::CurrentJob => self.check_current_job(),
            Poll::Feed(id) => self.begin_feed(id),
            Poll::Group(number) => self.begin_look(number),
            Poll::Journals => {
                self.end_for_good(target);
                self.state.scribe.retry();
            }
            Poll::Probe(job) => self.begin_probe(job),
            Poll::Progress(job) => self.tell_progress_of(job),
            Poll::Rate => self.tell_rate(),
            Poll::Screen => self.speak(),
            Poll::Server(server) => self.probe_server(server),
            Poll::Url(job) => self.fetch(job),
            Poll::WatchFolder => self.ring(),
        }
    }

    /// Something to be done once, not before then; if it is to be already, it stays as it is.
    pub(crate) fn do_once(&mut self, target: Poll, at: Instant) {
        let (kind, interval) = (Lane::Upkeep, Duration::MAX);
        self.targets.set(at, target, Wanted { kind, interval, priority: 0, enabled: true });
    }

    fn end_for_good(&mut self, target: Poll) {
        self.targets.remove(target);
        self.targets.put_off(target, clock::now().instant);
    }

    /// A watch folder is scanned, unless somebody has paused that.
    pub(crate) fn set_scan_target(&mut self, now: Instant, paused: bool) {
        let interval = self.settings.config.watch.scan_interval;
        let scan = Wanted { kind: Lane::WatchFolder, interval, priority: 0, enabled: !paused };
        self.targets.set(now, Poll::WatchFolder, scan);
    }

    pub(crate) fn on_scanned(&mut self, next: Duration) {
        let now = clock::now().instant;
        self.targets.set_interval(now, Poll::WatchFolder, next);
        for waiter in self.settings.scan_waiters.drain(..) {
            // Whoever asked may have left meanwhile.
            let _ = waiter.send(Ok(()));
        }
        self.targets.finished(now, Poll::WatchFolder, &Ok::<(), ()>(()), &mut self.chance);
    }
}
