//! [`Poll`]: everything that is done again and again. One scheduler, [`Targets`], decides in the main loop when each is
//! due.

use std::time::{Duration, Instant};

use bergamot_feed::FeedId;
use bergamot_poll::{Queue, Settings, Wanted};
use bergamot_types::{JobId, ServerId};

use crate::clock;

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
    /// Whether an idle server can be reached.
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
    /// What is published to subscribers and the terminal.
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

/// Plans something to be done once, not before then; if it is planned already, it stays as it is.
pub(crate) fn plan_once(targets: &mut Targets, target: Poll, at: Instant) {
    let (kind, interval) = (Lane::Upkeep, Duration::MAX);
    targets.set(at, target, Wanted { kind, interval, priority: 0, enabled: true });
}

/// What was planned once is begun.
pub(crate) fn end_once(targets: &mut Targets, target: Poll) {
    targets.remove(target);
    targets.put_off(target, clock::now().instant);
}
