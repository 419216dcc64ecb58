//! [`ItemHashes`]: hashes that identify an item, the same in every version.

use bergamot_types::fnv64;

use crate::document::Item;

/// The hashes of its guid and its title.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct ItemHashes {
    pub(super) guid: u64,
    pub(super) title: u64,
}

impl ItemHashes {
    pub(super) fn of(item: &Item) -> Self {
        Self { guid: text_hash(&item.guid), title: title_hash(&item.title) }
    }
}

/// Not collision-resistant: a feed with two colliding items only hides one of them.
pub(super) fn text_hash(text: &str) -> u64 {
    fnv64(text.bytes())
}

/// Of a title without regard to case and to what separates its words; 0 for one without words.
fn title_hash(title: &str) -> u64 {
    let words = title.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let joined = words.collect::<Vec<_>>().join(" ").to_lowercase();
    if joined.is_empty() { 0 } else { text_hash(&joined) }
}
