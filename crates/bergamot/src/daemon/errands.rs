//! Connections for something else than articles.

use bergamot_engine::{ErrandId, Event, Trouble};
use bergamot_types::ServerId;

use super::core::Daemon;

impl Daemon {
    pub(super) fn start_errand(&mut self, errand: ErrandId, _server: ServerId) {
        self.events.push_back(Event::ErrandEnded { errand, trouble: Trouble::Closed });
    }

    pub(super) fn recall_errand(&mut self, _errand: ErrandId) {}
}
