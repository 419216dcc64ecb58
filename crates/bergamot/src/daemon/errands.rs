//! Connections for something else than articles: what is asked about newsgroups.
//!
//! The engine says when there is a connection for an errand, and when it is wanted back. Then the
//! errand hangs up at once; what it has is kept, and the rest is asked for again.

use std::collections::BTreeMap;

use bergamot_engine::{ErrandId, Event, Trouble};
use bergamot_groups::Fetch;
use bergamot_net::{ErrandError, Recall};
use bergamot_rpc::newsgroup::GroupQuery;
use bergamot_types::ServerId;

use super::core::Daemon;
use super::happening::Happening;
use super::header_trip::{Brought, Trip, TripError, travel};
use super::trouble;

#[derive(Debug, Default)]
pub(super) struct Errands {
    last: u64,
    sent: BTreeMap<ErrandId, Sent>,
}

#[derive(Debug)]
struct Sent {
    what: Errand,
    recall: Recall,
    is_under_way: bool,
}

/// What somebody is sent for.
#[derive(Clone, Debug)]
pub(super) enum Errand {
    Headers(Fetch),
    List(GroupQuery),
}

/// An errand that is over.
#[derive(Debug)]
pub(crate) struct Returned {
    pub(super) errand: ErrandId,
    pub(super) server: ServerId,
    pub(super) trip: Trip,
}

impl Daemon {
    /// Sends for something as soon as one of these servers has a connection for it.
    pub(super) fn send_for(&mut self, what: Errand, servers: Vec<ServerId>) -> ErrandId {
        self.errands.last += 1;
        let errand = ErrandId(self.errands.last);
        let sent = Sent { what, recall: Recall::default(), is_under_way: false };
        self.errands.sent.insert(errand, sent);
        self.tell_engine(Event::ErrandWanted { errand, servers });
        errand
    }

    pub(super) fn start_errand(&mut self, errand: ErrandId, server: ServerId) {
        let known = self.errands.sent.get_mut(&errand).zip(self.servers.get(server).cloned());
        let Some((Sent { what, recall, is_under_way }, connected)) = known else {
            return self.events.push_back(Event::ErrandEnded { errand, trouble: Trouble::Closed });
        };
        *is_under_way = true;
        let (what, recall, outbox) = (what.clone(), recall.clone(), self.outbox.clone());
        let compress = self.config.groups.compress;
        tokio::spawn(async move {
            let trip = travel((server, connected), what, compress, recall).await;
            let returned = Returned { errand, server, trip };
            outbox.tell(Happening::ErrandReturned(Box::new(returned)));
        });
    }

    /// Other servers may be there now: who still waits for one of the old is sent for anew.
    pub(super) fn send_errands_anew(&mut self) {
        let sent = self.errands.sent.iter().filter(|(_, sent)| !sent.is_under_way);
        let waiting: Vec<_> = sent.map(|(errand, _)| *errand).collect();
        for errand in waiting {
            self.tell_engine(Event::ErrandDropped(errand));
            match self.errands.sent.remove(&errand).map(|sent| sent.what) {
                Some(Errand::Headers(fetch)) => self.send_for_headers(fetch),
                Some(Errand::List(query)) => self.list_anew(errand, query),
                None => {}
            }
        }
    }

    pub(super) fn recall_errand(&mut self, errand: ErrandId) {
        if let Some(sent) = self.errands.sent.get(&errand) {
            sent.recall.recall();
        }
    }

    pub(super) fn on_errand_returned(&mut self, returned: Returned) {
        let Returned { errand, server, trip: Trip { result, was_ready, received } } = returned;
        let Some(Sent { what, .. }) = self.errands.sent.remove(&errand) else { return };
        self.count_headers(server, received);
        let trouble = match &result {
            Err(TripError::Errand(ErrandError::Ended(ended))) => {
                self.troubles.insert(server, ended.to_string());
                trouble::of_connection(ended, was_ready)
            }
            _ => Trouble::Closed,
        };
        if was_ready {
            self.tell_engine(Event::ErrandConnected(errand));
        }
        self.tell_engine(Event::ErrandEnded { errand, trouble });
        match (what, result) {
            (Errand::Headers(fetch), Ok(Brought::Headers(batch))) => {
                self.on_looked(&fetch.group, Ok(*batch));
            }
            (Errand::Headers(fetch), result) => self.on_vain_look(fetch, server, result.err()),
            (Errand::List(_), Ok(Brought::Groups(page))) => self.on_listed(errand, page),
            (Errand::List(query), result) => self.on_vain_list(errand, query, server, result.err()),
        }
    }
}
