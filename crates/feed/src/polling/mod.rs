//! [`Feeds`]: the state machine of all feeds: the next request, and what follows from its answer. Pure.
//!
//! The driver has a target for every feed in its scheduler. When one is due it calls [`Feeds::begin`] for the
//! one request that this feed may make now, sends it, and reports the result; then [`Feeds::next_due`]
//! returns the time of the next. The [`Memory`] has to be on disk before the next request, so that after a
//! crash nothing is downloaded twice and nothing is missed: an item is saved as wanted before it is fetched.

mod feed;
mod feeds;
mod host;
mod item_hashes;
mod judge;
mod memory;
mod pace;
mod reply;
mod seen;
mod settings;
mod work;

pub use feed::{Standing, State};
pub use feeds::Feeds;
pub use judge::{Judge, Judged};
pub use memory::{FeedMemory, ItemKey, Memory, PollError, WantedItem};
pub use pace::retry_after;
pub use reply::{Failure, FailureKind, Headers, Outcome, Reply, failure_of_status};
pub use seen::{Fate, Seen};
pub use settings::{FeedId, FeedSettings};
pub use work::{CallId, Event, Fetch, HostRefusal, NzbOutcome, Take, Work};
