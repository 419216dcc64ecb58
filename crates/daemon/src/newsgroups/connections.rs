//! Connections for something else than articles: what is asked about newsgroups.
//!
//! The engine says when there is a connection for an errand, and when it is wanted back. Then the
//! errand hangs up at once; what it has is kept, and the rest is asked for again.
//!
//! A connection outlives the errand it was opened for while a newsgroup is active: each server has at
//! most one such [`OpenLine`], and further errands to it go over that one. To the engine it is the first
//! errand that goes on (decision 030), so it is recalled as one.

use std::collections::BTreeMap;

use bergamot_api::newsgroup::GroupQuery;
use bergamot_engine::{ErrandId, Event, Trouble};
use bergamot_net::{Recall, SessionError};
use bergamot_newsgroups::Fetch;
use bergamot_types::ServerId;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use crate::download::error_class;
use crate::event::Happening;
use crate::newsgroups::session::{Brought, Line, LineNews, Trip, TripError};
use crate::run::Daemon;
use crate::service_thread::vital_task;

#[derive(Debug, Default)]
pub(crate) struct Errands {
    last: u64,
    sent: BTreeMap<ErrandId, Sent>,
    lines: BTreeMap<ServerId, OpenLine>,
    recalls: BTreeMap<ErrandId, Recall>, // of all connections, by their leases
}

/// A connection that takes errands.
#[derive(Debug)]
struct OpenLine {
    /// The errand it was opened for, by which the engine knows it.
    lease: ErrandId,
    recall: Recall,
    outbox: UnboundedSender<(ErrandId, Errand)>,
}

#[derive(Debug)]
struct Sent {
    what: Errand,
    is_under_way: bool,
}

/// What somebody is sent for.
#[derive(Clone, Debug)]
pub(crate) enum Errand {
    Headers(Fetch),
    List(GroupQuery),
}

/// What the connection of `lease` has to tell.
#[derive(Debug)]
pub(crate) struct Returned {
    pub(crate) lease: ErrandId,
    pub(crate) server: ServerId,
    pub(crate) news: LineNews,
}

impl Daemon {
    /// Sends for something over the open connection to the first of these servers, or else as soon as
    /// one of them has a connection for it.
    pub(crate) fn send_for(&mut self, what: Errand, servers: Vec<ServerId>) -> ErrandId {
        self.network.errands.last += 1;
        let errand = ErrandId(self.network.errands.last);
        let line = servers.first().and_then(|server| self.network.errands.lines.get(server));
        let line = line.filter(|line| !line.recall.is_recalled());
        let taken = line.filter(|line| line.outbox.send((errand, what.clone())).is_ok());
        let is_under_way = taken.is_some();
        self.network.errands.sent.insert(errand, Sent { what, is_under_way });
        if !is_under_way {
            self.tell_engine(Event::ErrandWanted { errand, servers });
        }
        errand
    }

    pub(crate) fn start_errand(&mut self, errand: ErrandId, server: ServerId) {
        let known = self
            .network
            .errands
            .sent
            .get_mut(&errand)
            .zip(self.network.servers.get(server).cloned());
        let Some((Sent { what, is_under_way }, connected)) = known else {
            return self.events.push_back(Event::ErrandEnded { errand, trouble: Trouble::Closed });
        };
        *is_under_way = true;
        let (sender, inbox) = unbounded_channel();
        // The receiver is right here.
        let _ = sender.send((errand, what.clone()));
        let recall = Recall::default();
        let line = Line {
            server: (server, connected),
            compress: self.settings.config.groups.compress,
            recall: recall.clone(),
            inbox,
        };
        let open = OpenLine { lease: errand, recall, outbox: sender };
        // Beside one that is open already it ends with its errand, as there is no other sender.
        self.network.errands.recalls.insert(errand, open.recall.clone());
        self.network.errands.lines.entry(server).or_insert(open);
        let outbox = self.outbox.clone();
        let running = line.run(move |news| {
            let returned = Returned { lease: errand, server, news };
            outbox.tell(Happening::ErrandReturned(Box::new(returned)));
        });
        vital_task("headers", &self.outbox, running);
    }

    /// Other servers may be there now: who still waits for one of the old is sent for anew.
    pub(crate) fn send_errands_anew(&mut self) {
        self.network.errands.lines.clear();
        let sent = self.network.errands.sent.iter().filter(|(_, sent)| !sent.is_under_way);
        let waiting: Vec<_> = sent.map(|(errand, _)| *errand).collect();
        for errand in waiting {
            self.tell_engine(Event::ErrandDropped(errand));
            match self.network.errands.sent.remove(&errand).map(|sent| sent.what) {
                Some(Errand::Headers(fetch)) => self.send_for_headers(fetch),
                Some(Errand::List(query)) => self.list_anew(errand, query),
                None => {}
            }
        }
    }

    pub(crate) fn recall_errand(&mut self, errand: ErrandId) {
        if let Some(recall) = self.network.errands.recalls.get(&errand) {
            recall.recall();
        }
    }

    /// Connections are kept for the newsgroups that are active, and there is none.
    pub(crate) fn close_idle_lines(&mut self) {
        self.network.errands.lines.clear();
    }

    pub(crate) fn on_errand_returned(&mut self, returned: Returned) {
        let Returned { lease, server, news } = returned;
        let (is_closed, trip) = match news {
            LineNews::Returned(errand, trip) => (false, Some((errand, trip))),
            LineNews::Closed(trip) => (true, trip),
        };
        let mut trouble = Trouble::Closed;
        if let Some((_, Trip { result, was_ready, received })) = &trip {
            self.count_headers(server, *received);
            if let Err(TripError::Errand(SessionError::Ended(ended))) = result {
                self.network.troubles.insert(server, ended.to_string());
                trouble = error_class::of_connection(ended, *was_ready);
            }
            if *was_ready {
                self.tell_engine(Event::ErrandConnected(lease));
            }
        }
        if is_closed {
            self.network.errands.recalls.remove(&lease);
            if self.network.errands.lines.get(&server).is_some_and(|line| line.lease == lease) {
                self.network.errands.lines.remove(&server);
            }
            self.tell_engine(Event::ErrandEnded { errand: lease, trouble });
        }
        if let Some((errand, trip)) = trip {
            self.take_result(errand, server, trip.result);
        }
        if self.newsgroups.are_idle() {
            self.close_idle_lines();
        }
    }

    fn take_result(
        &mut self,
        errand: ErrandId,
        server: ServerId,
        result: Result<Brought, TripError>,
    ) {
        let Some(Sent { what, .. }) = self.network.errands.sent.remove(&errand) else { return };
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
