//! [`Document`]: a feed as read.

mod error;
mod item;
mod reader;

use std::time::Duration;

use bergamot_types::UnixTime;

pub use bergamot_xml::Place;
pub use error::DocumentError;
pub use item::Item;
pub use reader::read;

/// One page of a feed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Document {
    pub title: Box<str>,
    /// The time that its publisher requests between two polls.
    pub ttl: Option<Duration>,
    /// In the order of the document, which is mostly the newest first.
    pub items: Vec<Item>,
    /// Of how many items these are which, where the indexer says so.
    pub range: Option<PageRange>,
    pub allowance: Allowance,
}

/// Newznab's `response` element.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct PageRange {
    pub offset: u64,
    pub total: u64,
}

/// What an indexer still allows, by Newznab's `apilimits` element.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Allowance {
    pub calls_left: Option<u64>,
    pub grabs_left: Option<u64>,
    /// The oldest call and the oldest grab that still count; a day later they no longer do.
    pub oldest_call: Option<UnixTime>,
    pub oldest_grab: Option<UnixTime>,
}
