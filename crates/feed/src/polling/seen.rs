//! [`Seen`]: the items of a feed that are known.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bergamot_types::UnixTime;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::item_hashes::ItemHashes;

/// Items by the hashes of their guid and title: a busy feed brings ten thousands in a month, and all
/// that matters is not to take one twice.
///
/// Shared, so that a copy for another thread costs nothing.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Seen(Arc<Known>);

#[derive(Clone, Debug, Default, Eq, PartialEq)]
struct Known {
    items: BTreeMap<u64, Entry>,
    titles: BTreeSet<u64>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Entry {
    title: u64,
    at: UnixTime, // when it was last in the feed
    fate: Fate,
}

/// What became of an item.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Fate {
    /// There when the feed was first read.
    Backlog,
    /// No job could be made of it.
    Failed,
    /// By the rules.
    Ignored,
    /// Another name for one that is known.
    Repeated,
    Taken,
    Wanted,
    /// There is no address of an NZB.
    WithoutNzb,
}

impl Seen {
    /// What became of this item, or of the one it repeats under another guid.
    pub(super) fn fate(&self, item: ItemHashes) -> Option<Fate> {
        let ItemHashes { guid, title } = item;
        let by_guid = self.0.items.get(&guid).map(|entry| entry.fate);
        let is_repeated = || title != 0 && self.0.titles.contains(&title);
        by_guid.or_else(|| is_repeated().then_some(Fate::Repeated))
    }

    /// Notes that it was in the feed just now.
    pub(super) fn note(&mut self, now: UnixTime, item: ItemHashes, fate: Fate) {
        let ItemHashes { guid, title } = item;
        let known = Arc::make_mut(&mut self.0);
        let fate = known.items.get(&guid).map_or(fate, |entry| entry.fate);
        known.items.insert(guid, Entry { title, at: now, fate });
        known.titles.insert(title);
    }

    pub(super) fn set_fate(&mut self, guid: u64, fate: Fate) {
        if let Some(entry) = Arc::make_mut(&mut self.0).items.get_mut(&guid) {
            entry.fate = fate;
        }
    }

    /// Forgets what the rules turned down, for other rules may want it.
    pub(super) fn reconsider(&mut self) {
        // What was taken for a repetition may have repeated one of them.
        let is_open = |fate| matches!(fate, Fate::Ignored | Fate::Repeated);
        let known = Arc::make_mut(&mut self.0);
        known.items.retain(|_, entry| !is_open(entry.fate));
        known.index_titles();
    }

    /// Forgets what has not been in the feed for long, the oldest first where there are too many.
    pub(super) fn age_out(&mut self, now: UnixTime) {
        let known = Arc::make_mut(&mut self.0);
        let before = known.items.len();
        known.items.retain(|_, entry| now.days_since(entry.at) < DAYS_KEPT);
        if known.items.len() > MOST_KEPT {
            let mut times: Vec<_> = known.items.values().map(|entry| entry.at).collect();
            times.sort_unstable();
            let oldest_kept = times[times.len() - MOST_KEPT];
            known.items.retain(|_, entry| entry.at >= oldest_kept);
        }
        if known.items.len() < before {
            known.index_titles();
        }
    }

    pub fn count(&self) -> usize {
        self.0.items.len()
    }
}

impl Known {
    fn index_titles(&mut self) {
        self.titles = self.items.values().map(|entry| entry.title).collect();
    }
}

/// Items as short words, a million of which are still a small file.
impl Serialize for Seen {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.items.iter().map(|(guid, entry)| {
            let Entry { title, at, fate } = entry;
            format!("{guid:x}.{title:x}.{:x}.{}", at.0, fate.letter())
        }))
    }
}

impl<'d> Deserialize<'d> for Seen {
    fn deserialize<D: Deserializer<'d>>(deserializer: D) -> Result<Self, D::Error> {
        let words = Vec::<String>::deserialize(deserializer)?;
        let items = words.iter().filter_map(|word| entry(word)).collect();
        let mut known = Known { items, titles: BTreeSet::new() };
        known.index_titles();
        Ok(Self(Arc::new(known)))
    }
}

fn entry(word: &str) -> Option<(u64, Entry)> {
    let mut parts = word.split('.');
    let mut number = || u64::from_str_radix(parts.next()?, 16).ok();
    let (guid, title, at) = (number()?, number()?, number()?);
    let at = UnixTime(i64::try_from(at).ok()?);
    let fate = Fate::of_letter(parts.next()?)?;
    Some((guid, Entry { title, at, fate }))
}

impl Fate {
    const ALL: [Self; 7] = [
        Self::Backlog,
        Self::Failed,
        Self::Ignored,
        Self::Repeated,
        Self::Taken,
        Self::Wanted,
        Self::WithoutNzb,
    ];

    fn letter(self) -> &'static str {
        match self {
            Self::Backlog => "b",
            Self::Failed => "f",
            Self::Ignored => "i",
            Self::Repeated => "r",
            Self::Taken => "t",
            Self::Wanted => "w",
            Self::WithoutNzb => "n",
        }
    }

    fn of_letter(letter: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|fate| fate.letter() == letter)
    }
}

/// Indexers turn up with the same item again after a restore, rarely after a month.
const DAYS_KEPT: u64 = 30;
/// Twice what one document may have.
const MOST_KEPT: usize = 20_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Item;

    fn item(guid: &str, title: &str) -> ItemHashes {
        ItemHashes::of(&Item { guid: guid.into(), title: title.into(), ..Item::default() })
    }

    #[test]
    fn an_item_is_known_by_its_guid_or_its_title() {
        let mut seen = Seen::default();
        seen.note(UnixTime(5), item("1", "Some.Show"), Fate::Taken);
        seen.note(UnixTime(5), item("2", ""), Fate::Ignored);
        for (guid, title, fate) in [
            ("1", "Some.Show", Some(Fate::Taken)),
            ("1", "renamed", Some(Fate::Taken)),
            ("https://new/1", "some show", Some(Fate::Repeated)),
            ("3", "Other", None),
            ("4", "", None),
            ("5", "...", None),
        ] {
            assert_eq!(seen.fate(item(guid, title)), fate, "{guid} {title}");
        }
        seen.reconsider();
        assert_eq!(seen.fate(item("2", "")), None);
        let text = serde_json::to_string(&seen).unwrap();
        assert_eq!(serde_json::from_str::<Seen>(&text).unwrap(), seen);
        assert_eq!(serde_json::from_str::<Seen>(r#"["x","1.2","1.2.3.z"]"#).unwrap().count(), 0);
    }

    #[test]
    fn what_left_the_feed_long_ago_is_forgotten() {
        let day = 86_400;
        let mut seen = Seen::default();
        seen.note(UnixTime(0), item("old", "old"), Fate::Taken);
        seen.note(UnixTime(0), item("stays", "stays"), Fate::Taken);
        seen.note(UnixTime(20 * day), item("stays", "stays"), Fate::Ignored);
        seen.age_out(UnixTime(30 * day));
        assert_eq!(seen.fate(item("old", "old")), None);
        assert_eq!(seen.fate(item("stays", "stays")), Some(Fate::Taken));
        for number in 0..MOST_KEPT as i64 + 10 {
            seen.note(UnixTime(30 * day + number), item(&number.to_string(), ""), Fate::Ignored);
        }
        seen.age_out(UnixTime(31 * day));
        assert_eq!(seen.count(), MOST_KEPT);
        assert_eq!(seen.fate(item("9", "")), None);
    }
}
