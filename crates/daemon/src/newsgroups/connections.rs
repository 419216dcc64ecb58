//! [`Sessions`]: the connections that carry newsgroup requests instead of articles. Part of
//! [`Newsgroups`](crate::newsgroups::poll::Newsgroups), in the main loop; each connection is a task of its own.
//!
//! The engine grants a connection for a request, and recalls it when downloads need it. Then the request
//! closes the connection at once; what was received is kept, and the rest is requested again.
//!
//! A connection outlives the request it was opened for while a newsgroup is active: each server has at
//! most one such [`OpenSession`], and further requests to it go over that one. To the engine it is the first
//! request that goes on (decision 030), so it is recalled as one.

use std::collections::BTreeMap;
use std::sync::Arc;

use bergamot_api::newsgroup::GroupQuery;
use bergamot_engine::{ErrandId, Event as EngineEvent, Trouble};
use bergamot_net::{Recall, Server, SessionError};
use bergamot_newsgroups::Fetch;
use bergamot_types::ServerId;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use crate::download::error_class;
use crate::event::{Event, EventSender};
use crate::newsgroups::session::{Answer, RequestError, RequestOutcome, Session, SessionEvent};
use crate::service_thread::service_task;

#[derive(Debug)]
pub(crate) struct Sessions {
    events: EventSender,
    last: u64,
    sent: BTreeMap<ErrandId, PendingRequest>,
    open: BTreeMap<ServerId, OpenSession>,
    recalls: BTreeMap<ErrandId, Recall>, // of all connections, by their leases
}

/// A connection that takes requests.
#[derive(Debug)]
struct OpenSession {
    /// The request it was opened for, by which the engine knows it.
    lease: ErrandId,
    recall: Recall,
    requests: UnboundedSender<(ErrandId, SessionRequest)>,
}

#[derive(Debug)]
struct PendingRequest {
    what: SessionRequest,
    is_under_way: bool,
}

/// A request to a server.
#[derive(Clone, Debug)]
pub(crate) enum SessionRequest {
    Headers(Fetch),
    List(GroupQuery),
}

/// A report of the connection of `lease`.
#[derive(Debug)]
pub(crate) struct SessionReport {
    pub(crate) lease: ErrandId,
    pub(crate) server: ServerId,
    pub(crate) news: SessionEvent,
}

/// What follows from the report of a connection.
pub(crate) struct SessionResult {
    pub(crate) server: ServerId,
    /// For the engine.
    pub(crate) engine_events: Vec<EngineEvent>,
    pub(crate) received: u64,
    /// Why the connection ended, if the daemon did not close it.
    pub(crate) error: Option<String>,
    /// The request that is over.
    pub(crate) over: Option<(ErrandId, SessionRequest, Result<Answer, RequestError>)>,
}

impl Sessions {
    pub(crate) fn new(events: EventSender) -> Self {
        Self {
            events,
            last: 0,
            sent: BTreeMap::new(),
            open: BTreeMap::new(),
            recalls: BTreeMap::new(),
        }
    }

    /// Sends for something over the open connection to the first of these servers, or else as soon as
    /// one of them has a connection for it: then the engine has to know.
    pub(crate) fn send(
        &mut self,
        what: SessionRequest,
        servers: Vec<ServerId>,
    ) -> (ErrandId, Option<EngineEvent>) {
        self.last += 1;
        let request = ErrandId(self.last);
        let session = servers.first().and_then(|server| self.open.get(server));
        let session = session.filter(|session| !session.recall.is_recalled());
        let taken =
            session.filter(|session| session.requests.send((request, what.clone())).is_ok());
        let is_under_way = taken.is_some();
        self.sent.insert(request, PendingRequest { what, is_under_way });
        (request, (!is_under_way).then_some(EngineEvent::ErrandWanted { errand: request, servers }))
    }

    /// The engine has a connection to that server for a request. Returns what the engine has to know if
    /// there is no use for it any more.
    pub(crate) fn start(
        &mut self,
        request: ErrandId,
        server: ServerId,
        configured: Option<Arc<Server>>,
        compress: bool,
    ) -> Option<EngineEvent> {
        let Some((sent, configured)) = self.sent.get_mut(&request).zip(configured) else {
            return Some(EngineEvent::ErrandEnded { errand: request, trouble: Trouble::Closed });
        };
        sent.is_under_way = true;
        let (sender, requests) = unbounded_channel();
        // The receiver is right here.
        let _ = sender.send((request, sent.what.clone()));
        let recall = Recall::default();
        let session =
            Session { server: (server, configured), compress, recall: recall.clone(), requests };
        let open = OpenSession { lease: request, recall, requests: sender };
        // Beside one that is open already it ends with its request, as there is no other sender.
        self.recalls.insert(request, open.recall.clone());
        self.open.entry(server).or_insert(open);
        let events = self.events.clone();
        let running = session.run(move |news| {
            let returned = SessionReport { lease: request, server, news };
            events.send(Event::Session(Box::new(returned)));
        });
        service_task("headers", &self.events, running);
        None
    }

    /// Takes out the errands that still wait for a connection; no open connection gets another one.
    pub(crate) fn take_waiting(&mut self) -> Vec<(ErrandId, SessionRequest)> {
        self.open.clear();
        let waiting = self.sent.extract_if(.., |_, sent| !sent.is_under_way);
        waiting.map(|(request, sent)| (request, sent.what)).collect()
    }

    pub(crate) fn recall(&self, request: ErrandId) {
        if let Some(recall) = self.recalls.get(&request) {
            recall.recall();
        }
    }

    /// Connections end when they have done what they were sent for.
    pub(crate) fn close_idle(&mut self) {
        self.open.clear();
    }

    pub(crate) fn on_returned(&mut self, returned: SessionReport) -> SessionResult {
        let SessionReport { lease, server, news } = returned;
        let (is_closed, outcome) = match news {
            SessionEvent::Returned(request, outcome) => (false, Some((request, outcome))),
            SessionEvent::Closed(outcome) => (true, outcome),
        };
        let mut trouble = Trouble::Closed;
        let mut report = SessionResult {
            server,
            engine_events: Vec::new(),
            received: 0,
            error: None,
            over: None,
        };
        if let Some((request, RequestOutcome { result, was_ready, received })) = outcome {
            report.received = received;
            if let Err(RequestError::Session(SessionError::Ended(ended))) = &result {
                report.error = Some(ended.to_string());
                trouble = error_class::of_connection(ended, was_ready);
            }
            if was_ready {
                report.engine_events.push(EngineEvent::ErrandConnected(lease));
            }
            report.over = self.sent.remove(&request).map(|sent| (request, sent.what, result));
        }
        if is_closed {
            self.recalls.remove(&lease);
            if self.open.get(&server).is_some_and(|session| session.lease == lease) {
                self.open.remove(&server);
            }
            report.engine_events.push(EngineEvent::ErrandEnded { errand: lease, trouble });
        }
        report
    }
}
