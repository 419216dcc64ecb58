//! [`FeedSettings`]: the configuration of one feed.

use std::fmt;
use std::time::Duration;

use bergamot_types::Url;

use super::item_hashes::text_hash;
use crate::rules::{JobOptions, Rules};

/// The position of a feed in the settings, from 1, as the APIs show it.
///
/// What outlives a change of the settings is the feed's name; records on disk use that.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct FeedId(pub u16);

impl fmt::Display for FeedId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "feed {}", self.0)
    }
}

#[derive(Clone, Debug)]
pub struct FeedSettings {
    pub name: Box<str>,
    /// With its key, if it needs one.
    pub url: Url,
    pub enabled: bool,
    pub rules: Rules,
    /// What the rules were made of, to notice when they change.
    pub rules_text: Box<str>,
    /// For what the rules leave open.
    pub options: JobOptions,
    /// Whether what the feed offers when it is first read is wanted too.
    pub backlog: bool,
    /// Instead of the pace of the feed itself.
    pub interval: Option<Duration>,
    /// The most pages that are read to catch up.
    pub pages: u32,
    /// Whether it may be on, or lead to, addresses of a private network.
    pub allow_private: bool,
}

impl FeedSettings {
    /// By which it is known on disk: no two feeds have the same name in another case.
    pub fn key(&self) -> Box<str> {
        self.name.to_lowercase().into()
    }

    pub(super) fn url_hash(&self) -> u64 {
        text_hash(&self.url.reveal())
    }

    pub(super) fn rules_hash(&self) -> u64 {
        text_hash(&self.rules_text)
    }

    /// Changes with all that [`Self::differs_from`] looks at, so that a refusal which is remembered
    /// holds only for the settings it was given to.
    pub(super) fn hash(&self) -> u64 {
        let Self { enabled, options, backlog, interval, pages, allow_private, .. } = self;
        let rest = (enabled, options, backlog, interval, pages, allow_private);
        text_hash(&format!("{}\n{}\n{rest:?}", self.url.reveal(), self.rules_text))
    }

    /// Whether a setting changed that could have caused a refusal.
    pub(super) fn differs_from(&self, other: &Self) -> bool {
        self.url != other.url
            || self.enabled != other.enabled
            || self.allow_private != other.allow_private
            || self.rules_text != other.rules_text
            || self.options != other.options
            || self.backlog != other.backlog
            || self.interval != other.interval
            || self.pages != other.pages
    }
}
