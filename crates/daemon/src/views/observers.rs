//! [`Observers`]: what is measured and counted for users, and where they are told of it: the event hub and
//! the terminal. Owned by the main loop.

use bergamot_rpc::Hub;
use bergamot_types::UnixTime;

use crate::events::progress::Published;
use crate::events::terminal::Progress;
use crate::views::counters::Tallies;
use crate::views::file_ids::FileIds;
use crate::views::rate::Pace;
use crate::views::traffic::Volumes;

pub(crate) struct Observers {
    pub(crate) progress: Progress,
    pub(crate) pace: Pace,
    pub(crate) file_ids: FileIds,
    pub(crate) hub: Hub,
    pub(crate) published: Published,
    pub(crate) volumes: Volumes,
    pub(crate) tallies: Tallies,
    /// When downloads were last held or released by something other than a user.
    pub(crate) held_since: UnixTime,
    /// Warnings of the start.
    pub(crate) warnings: Vec<String>,
}
