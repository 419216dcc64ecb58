//! Short stand-ins for long texts, the same in every version of the program.

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

/// FNV-1a with 64 bits. It need not resist anybody: a feed could only deceive itself.
pub(super) fn print(text: &str) -> u64 {
    text.bytes().fold(OFFSET, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME))
}

/// Of a title without regard to case and to what separates its words; 0 for one without words.
fn title_print(title: &str) -> u64 {
    let words = title.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let joined = words.collect::<Vec<_>>().join(" ").to_lowercase();
    if joined.is_empty() { 0 } else { print(&joined) }
}

const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;
