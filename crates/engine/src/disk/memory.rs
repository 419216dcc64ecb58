//! [`ArticleMemory`]: the memory of decoded articles, from the reservation to the write. Pure.

use std::time::Instant;

use bergamot_types::ByteCount;

use super::backlog::Backlog;
use super::budget::Budget;

/// Bounded by the budget of the settings; one article that is larger than all of it may come alone.
#[derive(Debug)]
pub(crate) struct ArticleMemory {
    pub(crate) budget: Budget,
    /// The first body that is due on some connection has no reservation.
    pub(crate) room_is_short: bool,
    pub(crate) backlog: Backlog,
    /// Until then a body waits for the disk to go on.
    pub(crate) disk_due: Option<Instant>,
}

impl ArticleMemory {
    pub(crate) fn new(budget: ByteCount) -> Self {
        Self {
            budget: Budget::new(budget.0),
            room_is_short: false,
            backlog: Backlog::default(),
            disk_due: None,
        }
    }
}
