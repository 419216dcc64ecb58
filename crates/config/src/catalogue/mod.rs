//! Every table and key of the configuration, in the order of the sample file.
//!
//! This is the one place where a key is named: reading, its error messages, the sample and the
//! documentation all come from here, so they cannot disagree. Each table has a file of its own.

mod category;
mod control;
mod directories;
mod download;
mod feed;
mod feeds;
mod groups;
mod history;
mod limits;
mod log;
mod metrics;
mod polling;
mod probes;
mod quota;
mod schedule;
mod server;
mod storage;
mod urls;
mod watch;

use std::time::Duration;

pub(super) use category::CATEGORY;
pub(super) use control::CONTROL;
pub(super) use directories::DIRECTORIES;
pub(super) use download::DOWNLOAD;
pub(super) use feed::FEED;
pub(super) use feeds::FEEDS;
pub(super) use groups::GROUPS;
pub(super) use history::HISTORY;
pub(super) use limits::LIMITS;
pub(super) use log::LOG;
pub(super) use metrics::METRICS;
pub(super) use polling::POLLING;
pub(super) use probes::PROBES;
pub(super) use quota::QUOTA;
pub(super) use schedule::SCHEDULE;
pub(super) use server::SERVER;
pub(super) use storage::STORAGE;
pub(super) use urls::URLS;
pub(super) use watch::WATCH;

use crate::reading::kind::Kind;

#[derive(Debug)]
pub(super) struct Table {
    pub(super) name: &'static str,
    /// Written `[[name]]`, once for each thing it describes.
    pub(super) repeated: bool,
    pub(super) about: &'static str,
    pub(super) keys: &'static [Key],
}

#[derive(Debug)]
pub(super) struct Key {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) default: Fallback,
    pub(super) about: &'static str,
}

/// What holds when a key is not there. Values are written as in TOML.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fallback {
    /// Always the same.
    Is(&'static str),
    /// There has to be a value.
    Required { example: &'static str },
    /// It depends, or there is none.
    Told { words: &'static str, example: &'static str },
}

impl Table {
    pub(super) fn key(&self, name: &str) -> Option<&'static Key> {
        self.keys.iter().find(|key| key.name == name)
    }

    pub(super) fn header(&self) -> String {
        if self.repeated { format!("[[{}]]", self.name) } else { format!("[{}]", self.name) }
    }
}

pub(super) static TABLES: &[&Table] = &[
    &DIRECTORIES,
    &WATCH,
    &URLS,
    &DOWNLOAD,
    &QUOTA,
    &CONTROL,
    &GROUPS,
    &HISTORY,
    &PROBES,
    &POLLING,
    &STORAGE,
    &METRICS,
    &LIMITS,
    &LOG,
    &FEEDS,
    &SERVER,
    &CATEGORY,
    &SCHEDULE,
    &FEED,
];

const TIME_OF_DAY: &str = "a time of day like \"06:30\", from \"00:00\" to \"23:59\"";
/// More than anyone can fetch, and far from where counting ends.
const MOST_QUOTA: u64 = 1 << 50;
const CREDENTIAL: &str = "a text in one line, at most 1024 bytes long";
const MIB: u64 = 1 << 20;
const SECOND: Duration = Duration::from_secs(1);
const TEN_MINUTES: Duration = Duration::from_secs(600);
const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(86_400);
const WEEK: Duration = Duration::from_secs(7 * 24 * 3600);
