//! What of the feeds outlives the daemon.

use bergamot_feed::Memory;
use bergamot_store::{Kept, StateFile};

/// The memory of the feeds, as a file beside the spool.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct FeedMemory(pub(crate) Memory);

pub(crate) type FeedsFile = StateFile<FeedMemory>;

impl Kept for FeedMemory {
    const NAME: &'static str = "feeds";
    const WORD: &'static str = "bergamot-feeds";

    fn to_text(&self) -> String {
        serde_json::to_string(&self.0).expect("it has only what JSON can hold")
    }

    fn from_text(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok().map(Self)
    }
}
