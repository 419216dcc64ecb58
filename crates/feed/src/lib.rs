//! Feeds of indexers: parsing, rules, and when to poll them. Pure.
//!
//! - [`read`]: RSS, Atom and Newznab, bounded
//! - [`Rules`]: which items are accepted, and the options of their jobs
//! - [`Feeds`]: all feeds as one state machine; [`Memory`]: the part of its state that is saved
//! - [`write_rss`]: the feed of finished downloads

#![forbid(unsafe_code)]

mod address;
mod date;
mod document;
mod limits;
mod outgoing;
mod polling;
mod rules;
mod seconds;

pub use date::parse_date;
pub use document::{Allowance, Document, DocumentError, Item, PageRange, Place, read};
pub use limits::Limits;
pub use outgoing::{Channel, Finished, write_rss};
pub use polling::{
    CallId, Event, Failure, FailureKind, Fate, FeedId, FeedMemory, FeedSettings, Feeds, Fetch,
    Headers, HostRefusal, ItemKey, Judge, Judged, Memory, NzbOutcome, Outcome, PollError, Reply,
    Seen, Standing, State, Take, WantedItem, Work, failure_of_status, retry_after,
};
pub use rules::{
    DupeMode, InvalidRule, InvalidRules, JobOptions, Judgement, RuleProblem, Rules, Verdict,
};
