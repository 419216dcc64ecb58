//! [`Prints`]: hashes that identify an item, the same in every version.

use bergamot_types::fnv64;

use crate::document::Item;

/// By which an item is known.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Prints {
    pub(super) guid: u64,
    pub(super) title: u64,
}

impl Prints {
    pub(super) fn of(item: &Item) -> Self {
        Self { guid: print(&item.guid), title: title_print(&item.title) }
    }
}

/// A feed that makes two of them alike could only deceive itself.
pub(super) fn print(text: &str) -> u64 {
    fnv64(text.bytes())
}

/// Of a title without regard to case and to what separates its words; 0 for one without words.
fn title_print(title: &str) -> u64 {
    let words = title.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let joined = words.collect::<Vec<_>>().join(" ").to_lowercase();
    if joined.is_empty() { 0 } else { print(&joined) }
}
