//! [`Judge`]: applies the rules of a feed to its items, on any thread.
//!
//! The first poll may return ten thousand items, and rules may have many regular expressions, so the thread
//! that parses a document also applies the rules.

use bergamot_types::UnixTime;

use super::item_hashes::ItemHashes;
use super::seen::{Fate, Seen};
use super::settings::FeedSettings;
use crate::document::{Document, Item};
use crate::rules::{JobOptions, Judgement, Rules};

/// The rules of a feed and what it has seen. A copy costs next to nothing.
#[derive(Clone, Debug)]
pub struct Judge {
    rules: Rules,
    options: JobOptions,
    seen: Seen,
}

/// What was found out about an item.
#[derive(Debug)]
pub(super) struct Finding {
    pub(super) hashes: ItemHashes,
    /// None if the item is known, and its fate with it.
    pub(super) judgement: Option<Judgement>,
}

/// An item of a feed with what would become of it.
#[derive(Clone, Debug)]
pub struct Judged {
    pub item: Item,
    /// With the defaults of the feed filled in.
    pub judgement: Judgement,
    /// None if it is new.
    pub fate: Option<Fate>,
}

impl Judge {
    /// Of a feed that is only tried out.
    pub fn new(settings: &FeedSettings) -> Self {
        Self::with(settings, &Seen::default())
    }

    pub(super) fn with(settings: &FeedSettings, seen: &Seen) -> Self {
        let FeedSettings { rules, options, .. } = settings;
        Self { rules: rules.clone(), options: options.clone(), seen: seen.clone() }
    }

    /// What would become of what a feed offers: a dry run.
    pub fn dry_run(&self, now: UnixTime, document: Document) -> Vec<Judged> {
        let judged = |item: Item| {
            let fate = self.seen.fate(ItemHashes::of(&item));
            Judged { judgement: self.judgement(now, &item), item, fate }
        };
        document.items.into_iter().map(judged).collect()
    }

    pub(super) fn finding(&self, now: UnixTime, item: &Item) -> Finding {
        let hashes = ItemHashes::of(item);
        // Rules take their time, and most of what feeds bring is known.
        let is_new = self.seen.fate(hashes).is_none();
        Finding { hashes, judgement: is_new.then(|| self.judgement(now, item)) }
    }

    pub(super) fn judgement(&self, now: UnixTime, item: &Item) -> Judgement {
        let judgement = self.rules.judge(item, now);
        Judgement { options: self.filled_in(judgement.options), ..judgement }
    }

    /// The options of the rules, else those of the feed.
    fn filled_in(&self, options: JobOptions) -> JobOptions {
        let own = self.options.clone();
        JobOptions {
            category: options.category.or(own.category),
            priority: options.priority.or(own.priority),
            paused: options.paused.or(own.paused),
            dupe_key: options.dupe_key.or(own.dupe_key),
            dupe_score: options.dupe_score.or(own.dupe_score),
            dupe_mode: options.dupe_mode.or(own.dupe_mode),
        }
    }
}
