//! [`Feed`], [`FeedItem`] and the requests about feeds: plain values, owned by the caller.

use std::time::Duration;

use bergamot_types::{UnixTime, Url};
use serde::{Deserialize, Serialize};

use crate::view::DupeMode;

/// A feed that is configured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Feed {
    /// Its position in the configuration, from 1.
    pub id: u16,
    pub name: String,
    /// What it calls itself.
    pub title: String,
    /// Without the keys it may hold.
    pub url: String,
    pub active: bool,
    pub state: FeedState,
    /// What went wrong last, if something still is.
    pub trouble: Option<FeedError>,
    /// Between two looks, in seconds.
    pub interval: u64,
    #[serde(with = "crate::wire::optional_time")]
    pub last_fetched: Option<UnixTime>,
    #[serde(with = "crate::wire::optional_time")]
    pub next_due: Option<UnixTime>,
    /// In a row.
    pub failures: u32,
    /// Items seen so far.
    pub seen: usize,
    /// Items that are to become jobs.
    pub wanted: usize,
    /// Items that could not; `feeds.retry` tries them again.
    pub given_up: usize,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FeedState {
    Disabled,
    /// The last call failed; there will be others.
    Failing,
    /// Its host asked for a pause (`Retry-After`, or too many errors).
    Held,
    Running,
    /// It was refused; it needs another configuration, or a restart.
    Stopped,
    Waiting,
}

/// An item of a feed, and what the rules make of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FeedItem {
    pub title: String,
    /// Without the keys it may hold; none if there is no NZB.
    pub url: Option<String>,
    pub size: Option<u64>,
    pub categories: Vec<String>,
    #[serde(with = "crate::wire::optional_time")]
    pub published: Option<UnixTime>,
    pub season: Option<u32>,
    pub episode: Option<u32>,
    pub verdict: FeedVerdict,
    /// The line of the rule that decided.
    pub rule: Option<u32>,
    pub fate: FeedItemState,
    /// Of the job that it becomes.
    pub category: Option<String>,
    pub priority: Option<i32>,
    pub paused: bool,
    pub dupe_key: String,
    pub dupe_score: i32,
    pub dupe_mode: DupeMode,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FeedVerdict {
    Accepted,
    Rejected,
    Unmatched,
}

/// What has become of an item.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FeedItemState {
    Backlog,
    Failed,
    Ignored,
    New,
    Repeated,
    Taken,
    Wanted,
    WithoutNzb,
}

/// One call that failed.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct FeedError {
    #[serde(with = "crate::wire::time")]
    pub at: UnixTime,
    pub feed: String,
    pub code: String,
    pub message: String,
}

/// What of a feed is tried again.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
pub struct FeedRetry {
    /// Items that had not become jobs.
    pub items: usize,
    /// Jobs that had ended because their NZB did not come.
    pub jobs: usize,
}

/// A feed, by id or by name.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq)]
#[serde(untagged)]
pub enum FeedChoice {
    Id(u16),
    Name(String),
}

/// A feed that is only tried out.
#[derive(Clone, Debug)]
pub struct FeedPreview {
    pub name: String,
    pub url: Url,
    pub rules: String,
    pub category: Option<String>,
    pub priority: Option<i32>,
    pub paused: bool,
    pub backlog: bool,
    pub interval: Option<Duration>,
}
