//! Feeds of indexers: what they say, what of it is wanted, and when to ask again.
//!
//! - [`read`]: RSS, Atom and Newznab, bounded
//! - [`Rules`]: which items are wanted, and what jobs they become
//! - [`Feeds`]: all feeds as one machine without sockets and clocks; [`Memory`]: what of it outlives
//!   the process
//! - [`write_rss`]: what was downloaded, as a feed of our own

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
