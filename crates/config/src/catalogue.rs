//! Every table and key of the configuration, in the order of the sample file.
//!
//! This is the one place where a key is named: reading, its error messages, the sample and the
//! documentation all come from here, so they cannot disagree. Each table stands in the file that reads it.

use std::time::Duration;

pub(crate) use crate::tables::interfaces::control::CONTROL;
pub(crate) use crate::tables::interfaces::history::HISTORY;
pub(crate) use crate::tables::interfaces::log::LOG;
pub(crate) use crate::tables::interfaces::metrics::METRICS;
pub(crate) use crate::tables::sources::category::CATEGORY;
pub(crate) use crate::tables::sources::feed::FEED;
pub(crate) use crate::tables::sources::feed::FEEDS;
pub(crate) use crate::tables::sources::groups::GROUPS;
pub(crate) use crate::tables::sources::polling::POLLING;
pub(crate) use crate::tables::sources::probes::PROBES;
pub(crate) use crate::tables::sources::urls::URLS;
pub(crate) use crate::tables::sources::watch::WATCH;
pub(crate) use crate::tables::transfer::directories::DIRECTORIES;
pub(crate) use crate::tables::transfer::download::DOWNLOAD;
pub(crate) use crate::tables::transfer::limits::LIMITS;
pub(crate) use crate::tables::transfer::quota::QUOTA;
pub(crate) use crate::tables::transfer::schedule::SCHEDULE;
pub(crate) use crate::tables::transfer::server_keys::SERVER;
pub(crate) use crate::tables::transfer::storage::STORAGE;

use crate::reading::kind::Kind;

#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) name: &'static str,
    /// Written `[[name]]`, once for each thing it describes.
    pub(crate) repeated: bool,
    pub(crate) about: &'static str,
    pub(crate) keys: &'static [Key],
}

#[derive(Debug)]
pub(crate) struct Key {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) default: Fallback,
    pub(crate) about: &'static str,
}

/// What holds when a key is not there. Values are written as in TOML.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fallback {
    /// Always the same.
    Is(&'static str),
    /// There has to be a value.
    Required { example: &'static str },
    /// The default is not a constant, or there is none.
    Described { words: &'static str, example: &'static str },
}

impl Table {
    pub(crate) fn key(&self, name: &str) -> Option<&'static Key> {
        self.keys.iter().find(|key| key.name == name)
    }

    pub(crate) fn header(&self) -> String {
        if self.repeated { format!("[[{}]]", self.name) } else { format!("[{}]", self.name) }
    }
}

pub(crate) static TABLES: &[&Table] = &[
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

pub(crate) const TIME_OF_DAY: &str = "a time of day like \"06:30\", from \"00:00\" to \"23:59\"";
/// Far above any real quota, and far below the range of `u64`.
pub(crate) const MOST_QUOTA: u64 = 1 << 50;
pub(crate) const CREDENTIAL: &str = "a text in one line, at most 1024 bytes long";
pub(crate) const MIB: u64 = 1 << 20;
pub(crate) const SECOND: Duration = Duration::from_secs(1);
pub(crate) const TEN_MINUTES: Duration = Duration::from_secs(600);
pub(crate) const MINUTE: Duration = Duration::from_secs(60);
pub(crate) const HOUR: Duration = Duration::from_secs(3600);
pub(crate) const DAY: Duration = Duration::from_secs(86_400);
pub(crate) const WEEK: Duration = Duration::from_secs(7 * 24 * 3600);
