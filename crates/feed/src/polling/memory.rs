//! [`Memory`]: the state of all feeds that is saved.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use bergamot_poll::adaptive;
use bergamot_types::{UnixTime, Url};
use serde::{Deserialize, Serialize};

use super::seen::Seen;
use crate::rules::JobOptions;
use crate::{address, seconds};

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct Memory {
    /// By their names in lower case.
    pub feeds: BTreeMap<Box<str>, FeedMemory>,
    pub errors: VecDeque<PollError>,
    /// Hosts that want to be left alone.
    pub(super) hosts: BTreeMap<Box<str>, Waits>,
}

/// Until when nothing is asked of a host, and until when no NZB.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default)]
pub(super) struct Waits {
    #[serde(with = "seconds::optional")]
    pub(super) calls: Option<UnixTime>,
    #[serde(with = "seconds::optional")]
    pub(super) grabs: Option<UnixTime>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct FeedMemory {
    pub title: Box<str>,
    pub(super) url_hash: u64,
    pub(super) rules_hash: u64,
    pub(super) etag: Option<Box<str>>,
    pub(super) last_modified: Option<Box<str>>,
    /// When it last answered, be it that nothing is new.
    #[serde(with = "seconds::optional")]
    pub last_fetched: Option<UnixTime>,
    #[serde(with = "seconds::optional")]
    pub next_check: Option<UnixTime>,
    pub(super) usual_interval: u64, // in seconds
    pub(super) ttl: u64,
    /// When the last items came.
    #[serde(with = "seconds::list")]
    pub(super) times: Vec<UnixTime>,
    /// In a row.
    pub failures: u32,
    pub(super) attempts: u32, // of them in this window
    pub last_error: Option<PollError>,
    /// The server has refused the login; until it answers otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) refusal: Option<Refusal>,
    pub seen: Seen,
    /// Items that are to become jobs.
    pub wanted: Vec<Arc<WantedItem>>,
    /// Another one with each change while the program runs, so that only what changed is written.
    #[serde(skip)]
    pub revision: u64,
    /// Items that should have become jobs and could not; they can be retried.
    pub(super) given_up: VecDeque<Arc<WantedItem>>,
}

impl Default for FeedMemory {
    fn default() -> Self {
        Self {
            title: Box::default(),
            url_hash: 0,
            rules_hash: 0,
            etag: None,
            last_modified: None,
            last_fetched: None,
            next_check: None,
            usual_interval: adaptive::FIRST_INTERVAL.as_secs(),
            ttl: 0,
            times: Vec::new(),
            failures: 0,
            attempts: 0,
            last_error: None,
            refusal: None,
            seen: Seen::default(),
            wanted: Vec::new(),
            revision: 0,
            given_up: VecDeque::new(),
        }
    }
}

/// An item that is to become a job.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct WantedItem {
    pub(super) guid: u64,
    pub title: Box<str>,
    #[serde(with = "address")]
    pub url: Url,
    pub size: Option<u64>,
    pub options: JobOptions,
    pub(super) attempts: u32,
    #[serde(with = "seconds")]
    pub(super) not_before: UnixTime,
}

/// The key that connects a job with its item.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct ItemKey {
    pub feed: Box<str>,
    pub(super) guid: u64,
}

impl fmt::Display for ItemKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{:016x}", self.feed, self.guid)
    }
}

impl FromStr for ItemKey {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (feed, guid) = text.rsplit_once('/').ok_or(())?;
        let guid = u64::from_str_radix(guid, 16).map_err(|_| ())?;
        Ok(Self { feed: feed.into(), guid })
    }
}

/// A login that was refused, and the hash of the settings it was made with.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(super) struct Refusal {
    pub(super) error: PollError,
    pub(super) settings: u64,
}

/// One call that failed.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct PollError {
    #[serde(with = "seconds")]
    pub at: UnixTime,
    pub feed: Box<str>,
    /// `area.reason`
    pub code: Box<str>,
    pub message: Box<str>,
}

impl Memory {
    pub(super) fn add_error(&mut self, error: PollError) {
        if self.errors.len() >= MOST_ERRORS {
            self.errors.pop_front();
        }
        self.errors.push_back(error);
    }
}

/// Enough to see what went wrong over a weekend.
const MOST_ERRORS: usize = 200;
