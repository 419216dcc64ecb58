//! [`Errands`]: connections for something else than articles: what is asked about newsgroups. Part of
//! [`Newsgroups`](crate::newsgroups::poll::Newsgroups); each connection is a task of its own.
//!
//! The engine says when there is a connection for an errand, and when it is wanted back. Then the
//! errand hangs up at once; what it has is kept, and the rest is asked for again.
//!
//! A connection outlives the errand it was opened for while a newsgroup is active: each server has at
//! most one such [`OpenLine`], and further errands to it go over that one. To the engine it is the first
//! errand that goes on (decision 030), so it is recalled as one.

use std::collections::BTreeMap;
use std::sync::Arc;

use bergamot_api::newsgroup::GroupQuery;
use bergamot_engine::{ErrandId, Event, Trouble};
use bergamot_net::{Recall, Server, SessionError};
use bergamot_newsgroups::Fetch;
use bergamot_types::ServerId;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use crate::download::error_class;
use crate::event::{Happening, Outbox};
use crate::newsgroups::session::{Brought, Line, LineNews, Trip, TripError};
use crate::service_thread::vital_task;

#[derive(Debug)]
pub(crate) struct Errands {
    outbox: Outbox,
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

/// What follows from what a connection told.
pub(crate) struct Report {
    pub(crate) server: ServerId,
    /// For the engine.
    pub(crate) events: Vec<Event>,
    pub(crate) received: u64,
    /// Why the connection ended, if not by our will.
    pub(crate) error: Option<String>,
    /// The errand that is over.
    pub(crate) over: Option<(ErrandId, Errand, Result<Brought, TripError>)>,
}

impl Errands {
    pub(crate) fn new(outbox: Outbox) -> Self {
        Self {
            outbox,
            last: 0,
            sent: BTreeMap::new(),
            lines: BTreeMap::new(),
            recalls: BTreeMap::new(),
        }
    }

    /// Sends for something over the open connection to the first of these servers, or else as soon as
    /// one of them has a connection for it: then the engine has to know.
    pub(crate) fn send(
        &mut self,
        what: Errand,
        servers: Vec<ServerId>,
    ) -> (ErrandId, Option<Event>) {
        self.last += 1;
        let errand = ErrandId(self.last);
        let line = servers.first().and_then(|server| self.lines.get(server));
        let line = line.filter(|line| !line.recall.is_recalled());
        let taken = line.filter(|line| line.outbox.send((errand, what.clone())).is_ok());
        let is_under_way = taken.is_some();
        self.sent.insert(errand, Sent { what, is_under_way });
        (errand, (!is_under_way).then_some(Event::ErrandWanted { errand, servers }))
    }

    /// The engine has a connection to that server for an errand. Returns what the engine has to know if
    /// there is no use for it any more.
    pub(crate) fn start(
        &mut self,
        errand: ErrandId,
        server: ServerId,
        configured: Option<Arc<Server>>,
        compress: bool,
    ) -> Option<Event> {
        let Some((sent, configured)) = self.sent.get_mut(&errand).zip(configured) else {
            return Some(Event::ErrandEnded { errand, trouble: Trouble::Closed });
        };
        sent.is_under_way = true;
        let (sender, inbox) = unbounded_channel();
        // The receiver is right here.
        let _ = sender.send((errand, sent.what.clone()));
        let recall = Recall::default();
        let line = Line { server: (server, configured), compress, recall: recall.clone(), inbox };
        let open = OpenLine { lease: errand, recall, outbox: sender };
        // Beside one that is open already it ends with its errand, as there is no other sender.
        self.recalls.insert(errand, open.recall.clone());
        self.lines.entry(server).or_insert(open);
        let outbox = self.outbox.clone();
        let running = line.run(move |news| {
            let returned = Returned { lease: errand, server, news };
            outbox.tell(Happening::ErrandReturned(Box::new(returned)));
        });
        vital_task("headers", &self.outbox, running);
        None
    }

    /// Takes out the errands that still wait for a connection; no open connection gets another one.
    pub(crate) fn take_waiting(&mut self) -> Vec<(ErrandId, Errand)> {
        self.lines.clear();
        let waiting = self.sent.extract_if(.., |_, sent| !sent.is_under_way);
        waiting.map(|(errand, sent)| (errand, sent.what)).collect()
    }

    pub(crate) fn recall(&self, errand: ErrandId) {
        if let Some(recall) = self.recalls.get(&errand) {
            recall.recall();
        }
    }

    /// Connections end when they have done what they were sent for.
    pub(crate) fn close_idle(&mut self) {
        self.lines.clear();
    }

    pub(crate) fn on_returned(&mut self, returned: Returned) -> Report {
        let Returned { lease, server, news } = returned;
        let (is_closed, trip) = match news {
            LineNews::Returned(errand, trip) => (false, Some((errand, trip))),
            LineNews::Closed(trip) => (true, trip),
        };
        let mut trouble = Trouble::Closed;
        let mut report =
            Report { server, events: Vec::new(), received: 0, error: None, over: None };
        if let Some((errand, Trip { result, was_ready, received })) = trip {
            report.received = received;
            if let Err(TripError::Errand(SessionError::Ended(ended))) = &result {
                report.error = Some(ended.to_string());
                trouble = error_class::of_connection(ended, was_ready);
            }
            if was_ready {
                report.events.push(Event::ErrandConnected(lease));
            }
            report.over = self.sent.remove(&errand).map(|sent| (errand, sent.what, result));
        }
        if is_closed {
            self.recalls.remove(&lease);
            if self.lines.get(&server).is_some_and(|line| line.lease == lease) {
                self.lines.remove(&server);
            }
            report.events.push(Event::ErrandEnded { errand: lease, trouble });
        }
        report
    }
}
