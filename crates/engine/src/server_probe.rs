//! Probes of servers that are out of order: one article at a time shows whether a server delivers again.
//!
//! While a server is out of order the pool passes over it, so ordinary dispatch gives it nothing. A probe
//! is an ordinary request for an article that the server may be asked for. Articles that wait for this
//! server come first: no other server can be asked for them.
//!
//! One article on which a server always fails must not keep it out of order. So an article on which it
//! failed often is no probe if there is another; and where nothing else is left to ask for, an article
//! that is written already is asked for once more, as a control: if it comes, the failures are charged
//! to the article that does not.

use bergamot_pool::Tries;
use bergamot_queue::SegmentKey;
use bergamot_types::ServerId;

use crate::article::Whereabouts;
use crate::engine::{Connection, Engine};
use crate::event::Now;
use crate::hand_out::{Choice, LOOK_AHEAD};
use crate::order::ConnectionId;

impl Engine {
    pub(crate) fn probe_servers(&mut self, now: Now) {
        let due: Vec<_> = self.pool.ids().filter(|it| self.pool.wants_probe(*it)).collect();
        for server in due {
            if let Some(connection) = self.idle_connection_of(server)
                && let Some(choice) = self.choose_probe(now, server)
            {
                self.ask(now, connection, choice);
            }
        }
    }

    /// A connection of the server, if none of them has anything to do.
    fn idle_connection_of(&self, server: ServerId) -> Option<ConnectionId> {
        // One article shows whether the disk works again.
        if self.disk.is_on_trial() && !self.tickets.is_empty() {
            return None;
        }
        let of_server = || self.connections.iter().filter(|(_, known)| known.server == server);
        if of_server().any(|(_, known)| !known.line.is_empty()) {
            return None;
        }
        let may_ask = |known: &Connection| known.working && known.stays;
        of_server().find(|(_, known)| may_ask(known)).map(|(id, _)| *id)
    }

    pub(crate) fn choose_probe(&self, now: Now, server: ServerId) -> Option<Choice> {
        if !self.pool.wants_probe(server) {
            return None;
        }
        let waiting = self.parked.iter().copied().filter(|key| self.waits_for_probe(*key));
        let waiting = waiting.filter(|key| self.may_probe(now, server, *key));
        let failures = |key: &SegmentKey| {
            self.troubled.get(key).map_or(0, |troubled| troubled.tries.failures_at(server))
        };
        let waiting = waiting.min_by_key(failures);
        let fails_here =
            |key: &SegmentKey| failures(key) > u16::from(self.settings.article_retries);
        let fresh = self.queue.fresh().take(LOOK_AHEAD);
        let mut fresh = fresh.filter(|key| self.may_probe(now, server, *key));
        let Some(key) = waiting else { return fresh.next().map(Choice::Fresh) };
        if !fails_here(&key) {
            return Some(Choice::Parked(key));
        }
        let control = || self.control_for(server, key, failures(&key));
        let other = fresh.next().map(Choice::Fresh).or_else(|| control().map(Choice::Control));
        Some(other.unwrap_or(Choice::Parked(key)))
    }

    /// A written article of the same job, another one each time: the server may lack some of them. A
    /// server that counts what it gives is not asked for what is there.
    fn control_for(&self, server: ServerId, failing: SegmentKey, nth: u16) -> Option<SegmentKey> {
        if self.is_metered(server) {
            return None;
        }
        let files = self.queue.job(failing.job)?.files();
        let written = (0..).zip(files).flat_map(|(file, known)| {
            let segments = (0..known.segment_count()).filter(|segment| known.is_written(*segment));
            segments.map(move |segment| SegmentKey { file, segment, ..failing })
        });
        let count = written.clone().count();
        written.clone().nth(usize::from(nth) % count.max(1))
    }

    fn waits_for_probe(&self, key: SegmentKey) -> bool {
        let troubled = self.troubled.get(&key);
        troubled.is_some_and(|troubled| troubled.whereabouts == Whereabouts::Parked)
            && self.queue.wants(key)
            && !self.queue.is_held(key)
    }

    fn may_probe(&self, now: Now, server: ServerId, key: SegmentKey) -> bool {
        let Some(file) = self.queue.file(key.file_key()) else { return false };
        let untried = Tries::default();
        let tries = self.troubled.get(&key).map_or(&untried, |troubled| &troubled.tries);
        self.pool.may_probe(server, tries, file.listed().posted, now.date)
    }
}
