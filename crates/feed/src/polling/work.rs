//! [`Work`] and [`Event`]: what [`Feeds`](super::Feeds) returns to its driver, and the values they contain. Pure.

use std::sync::Arc;
use std::time::Duration;

use bergamot_types::{JobId, UnixTime, Url};
use thiserror::Error;

use super::judge::Judge;
use super::memory::{ItemKey, PollError, WantedItem};
use super::reply::Failure;
use super::settings::FeedId;

/// One call to a server; its end frees the host.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct CallId(pub(super) u64);

/// What a feed may do now.
#[derive(Debug)]
pub enum Work {
    Fetch(Fetch),
    /// Items to become jobs, in this order; the jobs fetch their NZBs. A transient failure ends the run.
    Take(Vec<Take>),
    /// Not before then.
    Later(UnixTime),
    /// Nothing until the feed is configured otherwise or woken.
    Nothing,
}

#[derive(Debug)]
pub struct Fetch {
    pub call: CallId,
    pub url: Url,
    pub etag: Option<Box<str>>,
    pub last_modified: Option<Box<str>>,
    pub allow_private: bool,
    /// For [`Reply::judged`](super::Reply::judged).
    pub judge: Judge,
}

#[derive(Debug)]
pub struct Take {
    pub key: ItemKey,
    pub item: Arc<WantedItem>,
}

/// How the fetch of an NZB went, as far as its host is concerned.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum NzbOutcome {
    /// No further call to the host until the settings of this feed change.
    Denied {
        feed: Box<str>,
        failure: Failure,
    },
    Fine,
    /// The host asked for a pause.
    Limited(Duration),
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Event {
    /// It was read, or had not changed.
    Checked {
        feed: FeedId,
        new: usize,
        wanted: usize,
    },
    Failed {
        feed: FeedId,
        error: PollError,
    },
    /// An item will not become a job.
    GivenUp {
        feed: FeedId,
        title: Box<str>,
    },
    /// The feed is not fetched again until its settings change.
    Stopped {
        feed: FeedId,
        error: PollError,
    },
    /// It waited for its host, which is free now.
    Wake(FeedId),
    /// The same for the NZB of a job.
    WakeJob(JobId),
}

/// Why nothing may be asked of a host.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
pub enum HostRefusal {
    #[error("another call to {0} is under way")]
    Busy(Box<str>),
    #[error(
        "{host} refused the login of feed {feed}; it is not called again until the feed's settings change"
    )]
    Denied { host: Box<str>, feed: Box<str> },
    #[error("{host} asked for a pause between calls")]
    Held { host: Box<str>, until: UnixTime },
}
