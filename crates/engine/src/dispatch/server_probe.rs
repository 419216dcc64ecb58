//! Server probes: methods of [`Engine`] that request one article at a time from a server that is out of
//! order, to learn whether it delivers again. Pure.
//!
//! While a server is out of order the pool passes over it, so ordinary dispatch gives it nothing. A probe
//! is an ordinary request for an article that the server may be asked for. Articles that wait for this
//! server come first: no other server can be asked for them. Where lower levels work, a server of a higher
//! one is probed with what they lack, before another server of its level or a higher one is asked.
//!
//! One article on which a server always fails must not keep it out of order. So an article on which it
//! failed often is no probe if there is another; and where nothing else is left to ask for, an article
//! that is written already is asked for once more, as a control: if it comes, the failures are charged
//! to the article that does not.

use std::time::Duration;

use bergamot_pool::Tries;
use bergamot_queue::SegmentKey;
use bergamot_types::ServerId;

use crate::article::Location;
use crate::dispatch::{Choice, LOOK_AHEAD};
use crate::engine::{Connection, Engine};
use crate::event::Now;
use crate::order::ConnectionId;

impl Engine {
    pub(crate) fn probe_servers(&mut self, now: Now) {
        if self.retries.next_probe_search.is_some() {
            return;
        }
        let due: Vec<_> = self.pool.ids().filter(|it| self.pool.wants_probe(*it)).collect();
        for server in due {
            let connection = self.idle_connection_of(server);
            // Behind this, other servers may have taken what it could be asked for.
            let may_connect = connection.is_none() && self.room_for(server) > 0;
            match (connection, may_connect) {
                (Some(connection), _) => match self.choose_probe(now, server) {
                    Some(choice) => _ = self.ask(now, connection, choice),
                    None => self.search_later_if_dear(now),
                },
                (None, true) if self.has_probe_for(now, server) => self.connect(server),
                (None, true) => self.search_later_if_dear(now),
                (None, false) => {}
            }
        }
    }

    /// Nothing was found among the parked articles. If they are many, not each event looks at all of them.
    fn search_later_if_dear(&mut self, now: Now) {
        if self.retries.parked.len() > MANY_PARKED {
            self.retries.next_probe_search = Some(now.instant + PROBE_SEARCH_DELAY);
        }
    }

    pub(crate) fn has_probe_for(&self, now: Now, server: ServerId) -> bool {
        self.pool.wants_probe(server)
            && self.retries.next_probe_search.is_none()
            && self.choose_probe(now, server).is_some()
    }

    /// An article that waits for another server, which may be asked of this one all the same.
    fn waiting_elsewhere(&self, now: Now, server: ServerId) -> Option<SegmentKey> {
        let lines = self.retries.queues.iter().filter(|(other, _)| **other != server);
        let mut waiting = lines.flat_map(|(other, line)| {
            line.iter().take(LOOK_AHEAD).copied().filter(|key| {
                self.retries.troubled.get(key).is_some_and(|troubled| troubled.waits_for(*other))
            })
        });
        waiting.find(|key| {
            self.queue.wants(*key) && !self.queue.is_held(*key) && self.may_probe(now, server, *key)
        })
    }

    /// A connection of the server, if none of them has anything to do.
    fn idle_connection_of(&self, server: ServerId) -> Option<ConnectionId> {
        // One article shows whether the disk works again.
        if self.disk.awaits_first_write() && !self.tickets.is_empty() {
            return None;
        }
        let of_server = || self.connections.iter().filter(|(_, known)| known.server == server);
        if of_server().any(|(_, known)| !known.in_flight.is_empty()) {
            return None;
        }
        let may_ask = |known: &Connection| known.working && known.stays;
        of_server().find(|(_, known)| may_ask(known)).map(|(id, _)| *id)
    }

    fn choose_probe(&self, now: Now, server: ServerId) -> Option<Choice> {
        let waiting = self.retries.parked.iter().copied().filter(|key| self.waits_for_probe(*key));
        let waiting = waiting.filter(|key| self.may_probe(now, server, *key));
        let failures = |key: &SegmentKey| {
            self.retries.troubled.get(key).map_or(0, |troubled| troubled.tries.failures_at(server))
        };
        let waiting = waiting.min_by_key(failures);
        let fails_here =
            |key: &SegmentKey| failures(key) > u16::from(self.settings.article_retries);
        let fresh = self.queue.fresh().take(LOOK_AHEAD);
        let mut fresh = fresh.filter(|key| self.may_probe(now, server, *key));
        let mut other = || {
            let in_line = || self.waiting_elsewhere(now, server).filter(|key| !fails_here(key));
            fresh.next().map(Choice::Fresh).or_else(|| in_line().map(Choice::InLine))
        };
        let Some(key) = waiting else { return other() };
        if !fails_here(&key) {
            return Some(Choice::Parked(key));
        }
        let control = || self.control_for(key, failures(&key));
        let other = other().or_else(|| control().map(Choice::Control));
        Some(other.unwrap_or(Choice::Parked(key)))
    }

    /// A written article of the same job, another one each time: the server may lack some of them. A
    /// server whose bytes are counted is asked too: without a control it would be asked for the failing
    /// article for ever, which costs more.
    fn control_for(&self, failing: SegmentKey, nth: u16) -> Option<SegmentKey> {
        let files = self.queue.job(failing.job)?.files();
        let written = (0..).zip(files).flat_map(|(file, known)| {
            let segments = (0..known.segment_count()).filter(|segment| known.is_written(*segment));
            segments.map(move |segment| SegmentKey { file, segment, ..failing })
        });
        let count = written.clone().count();
        written.clone().nth(usize::from(nth) % count.max(1))
    }

    fn waits_for_probe(&self, key: SegmentKey) -> bool {
        let troubled = self.retries.troubled.get(&key);
        troubled.is_some_and(|troubled| troubled.location == Location::Parked)
            && self.queue.wants(key)
            && !self.queue.is_held(key)
    }

    fn may_probe(&self, now: Now, server: ServerId, key: SegmentKey) -> bool {
        let Some(file) = self.queue.file(key.file_key()) else { return false };
        let untried = Tries::default();
        let tries = self.retries.troubled.get(&key).map_or(&untried, |troubled| &troubled.tries);
        self.pool.may_probe(server, tries, file.listed().posted, now.date)
    }
}

/// So many parked articles are looked at for a probe with every event.
const MANY_PARKED: usize = 1024;

/// With more of them, none of which the server may be asked for.
const PROBE_SEARCH_DELAY: Duration = Duration::from_secs(1);
