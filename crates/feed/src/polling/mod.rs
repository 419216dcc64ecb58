//! All feeds as one machine: what to ask next, of whom, and what follows from the answer.
//!
//! No socket and no clock in here. The shell has a target for every feed in its one scheduler. When
//! one is due it asks [`Feeds::begin`] for the one call that this feed may make now, makes it, and
//! tells how it went; then [`Feeds::next_due`] says when to come again. What is remembered
//! ([`Memory`]) has to be on disk before the next call, so that a sudden end takes nothing twice and
//! misses nothing: an item is saved as wanted before it is fetched.

mod feed;
mod feeds;
mod host;
mod judge;
mod memory;
mod pace;
mod print;
mod reply;
mod seen;
mod settings;

pub use feed::{Standing, State};
pub use feeds::{CallId, Event, Feeds, Fetch, HostRefusal, NzbOutcome, Take, Work};
pub use judge::{Judge, Judged};
pub use memory::{FeedMemory, ItemKey, Memory, PollError, WantedItem};
pub use pace::retry_after;
pub use reply::{Failure, FailureKind, Headers, Outcome, Reply, failure_of_status};
pub use seen::{Fate, Seen};
pub use settings::{FeedId, FeedSettings};
