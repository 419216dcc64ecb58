//! [`Network`]: the configured servers, the open connections and the articles they have decoded. Owned by
//! the main loop; each connection is a task of its own, which reports to the loop.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use bergamot_engine::{ConnectionId, Engine, Event as EngineEvent, ServerStatus, Ticket, Trouble};
use bergamot_net::{Buffer, BufferPool, Connection, Fetch, Report, Server, ServerSettings};
use bergamot_nntp::Reply;
use bergamot_types::{ByteCount, ServerId};
use tracing::{debug, field, info, warn};

use crate::clock;
use crate::download::error_class;
use crate::download::outages::Outages;
use crate::event::{Event, EventSender};
use crate::servers::Servers;
use crate::service_thread::service_task;
use crate::views::loss_text;

pub(crate) struct Network {
    servers: Servers,
    connections: HashMap<ConnectionId, OpenConnection>,
    /// Their first greeting is logged.
    greeted: HashSet<ServerId>,
    /// They answered 412 to articles, which is logged once.
    group_wanters: HashSet<ServerId>,
    /// The last error of each server.
    errors: HashMap<ServerId, String>,
    outages: Outages,
    pool: BufferPool,
    /// Until the engine orders them written or discarded.
    decoded: HashMap<Ticket, Buffer>,
    events: EventSender,
}

struct OpenConnection {
    handle: Connection,
    server: ServerId,
    ready: bool,
}

/// What follows from a report of a connection.
pub(crate) struct Received {
    pub(crate) event: EngineEvent,
    pub(crate) article: Option<CountedArticle>,
}

/// An answer to the request for an article, for the counters.
pub(crate) struct CountedArticle {
    pub(crate) server: Option<ServerId>,
    pub(crate) bytes: usize,
    pub(crate) good: bool,
}

impl Network {
    pub(crate) fn new(servers: Servers, pool: BufferPool, events: EventSender) -> Self {
        Self {
            servers,
            connections: HashMap::new(),
            greeted: HashSet::new(),
            group_wanters: HashSet::new(),
            errors: HashMap::new(),
            outages: Outages::default(),
            pool,
            decoded: HashMap::new(),
            events,
        }
    }

    pub(crate) fn servers(&self) -> &Servers {
        &self.servers
    }

    /// Connections that are open stay so; the engine closes those it does not want any more.
    pub(crate) fn replace_servers(&mut self, settings: Vec<ServerSettings>) -> anyhow::Result<()> {
        self.servers.replace(settings).map(drop)
    }

    pub(crate) fn name(&self, server: ServerId) -> &str {
        self.servers.get(server).map_or("?", |server| &server.settings().name)
    }

    /// The number that clients know a server by: its place in the configuration.
    pub(crate) fn shown_id(&self, id: ServerId) -> ServerId {
        ServerId(self.servers.place(id).unwrap_or(0))
    }

    /// The server at that place of the configuration.
    pub(crate) fn configured(&self, place: ServerId) -> Option<&Arc<Server>> {
        self.servers.at_place(place.0).and_then(|id| self.servers.get(id))
    }

    pub(crate) fn last_error(&self, server: ServerId) -> Option<&str> {
        self.errors.get(&server).map(String::as_str)
    }

    /// Why a server is not used at present: the class of its error, and the error.
    pub(crate) fn trouble_text(&self, status: &ServerStatus) -> Option<String> {
        let class = loss_text::trouble_text(status.trouble?);
        match self.last_error(status.id) {
            Some(why) => Some(format!("{class}: {why}")),
            None => Some(class.to_owned()),
        }
    }

    pub(crate) fn note_error(&mut self, server: ServerId, error: String) {
        self.errors.insert(server, error);
    }

    pub(crate) fn open_count(&self) -> usize {
        self.connections.len()
    }

    pub(crate) fn connect(&mut self, connection: ConnectionId, server: ServerId) {
        let Some(configured) = self.servers.get(server).cloned() else { return };
        let events = self.events.clone();
        let (handle, running) = Connection::prepare(configured, self.pool.clone(), move |report| {
            events.send(Event::Connection { connection, report });
        });
        service_task("connection", &self.events, running);
        self.connections.insert(connection, OpenConnection { handle, server, ready: false });
    }

    /// None if it has ended meanwhile: it has reported so, and the engine takes back what it had.
    pub(crate) fn connection(&self, connection: ConnectionId) -> Option<&Connection> {
        self.connections.get(&connection).map(|known| &known.handle)
    }

    pub(crate) fn fetch(&self, connection: ConnectionId, fetch: Fetch) {
        if let Some(known) = self.connection(connection) {
            // A connection that ended meanwhile reports so, and the engine takes it back.
            let _ = known.fetch(fetch);
        }
    }

    pub(crate) fn hang_up(&mut self, connection: ConnectionId) {
        if let Some(known) = self.connections.get_mut(&connection) {
            known.handle.hang_up();
        }
    }

    pub(crate) fn hang_up_all(&mut self) {
        for known in self.connections.values_mut() {
            known.handle.hang_up();
        }
    }

    pub(crate) fn forget(&mut self, connection: ConnectionId) {
        self.connections.remove(&connection);
    }

    /// The decoded bytes of an article, which are given once.
    pub(crate) fn take_decoded(&mut self, ticket: Ticket) -> Option<Buffer> {
        self.decoded.remove(&ticket)
    }

    /// None if the connection is not known any more.
    pub(crate) fn on_report(
        &mut self,
        engine: &Engine,
        connection: ConnectionId,
        report: Report,
    ) -> Option<Received> {
        let server = self.connections.get(&connection).map(|known| known.server);
        let mut article = None;
        let event = match report {
            Report::Ended { why, unanswered } => {
                let known = self.connections.remove(&connection)?;
                if self.connections.is_empty() {
                    self.pool.clear(); // nothing will come for a while
                }
                debug!(server = self.name(known.server), %connection, code = why.code(), "{why}");
                let trouble = error_class::of_connection(&why, known.ready);
                self.note_error(known.server, why.to_string());
                let unanswered = unanswered.into_iter().map(Ticket).collect();
                EngineEvent::Ended { connection, trouble, unanswered }
            }
            Report::Fetched { ticket, bytes, outcome } => {
                let (ticket, good) = (Ticket(ticket), outcome.fault.is_none());
                article = Some(CountedArticle { server, bytes: bytes.as_ref().len(), good });
                if let Some(fault) = &outcome.fault {
                    let server = server.map(|id| self.name(id));
                    let id = engine.article(ticket).map(field::display);
                    debug!(server, id, code = fault.code(), "{fault}");
                }
                self.decoded.insert(ticket, bytes);
                EngineEvent::fetched(ticket, outcome)
            }
            Report::Missing { ticket, reply } => {
                // Articles that were only probed (STAT) are not counted.
                if let Some(id) = engine.article(Ticket(ticket)) {
                    debug!(%id, %reply, "missing");
                    article = Some(CountedArticle { server, bytes: 0, good: false });
                }
                EngineEvent::Missing { ticket: Ticket(ticket) }
            }
            Report::Present { ticket } => EngineEvent::Present { ticket: Ticket(ticket) },
            Report::Progress { ticket, received } => {
                EngineEvent::Progress { ticket: Ticket(ticket), received: ByteCount(received) }
            }
            Report::Ready => {
                self.on_ready(connection);
                EngineEvent::Connected { connection }
            }
            Report::CreditWanted => EngineEvent::CreditWanted { connection },
            Report::CreditReturned(bytes) => {
                EngineEvent::CreditReturned { connection, bytes: ByteCount(bytes) }
            }
            Report::Refused { ticket, reply } => {
                let id = engine.article(Ticket(ticket)).map(field::display);
                debug!(id, %reply, "refused");
                if let Some(server) = server {
                    self.on_refused(server, &reply);
                }
                EngineEvent::Refused { ticket: Ticket(ticket) }
            }
        };
        Some(Received { event, article })
    }

    fn on_ready(&mut self, connection: ConnectionId) {
        let Some(known) = self.connections.get_mut(&connection) else { return };
        known.ready = true;
        let server = known.server;
        if self.greeted.insert(server) {
            info!(server = self.name(server), "connected");
        }
    }

    /// That it needs a group is logged once for each server: it would answer so to every article.
    fn on_refused(&mut self, server: ServerId, reply: &Reply) {
        self.note_error(server, format!("it answered {reply}"));
        let joins = self.servers.get(server).is_some_and(|it| it.settings().join_group);
        if reply.wants_group() && !joins && self.group_wanters.insert(server) {
            let server = self.name(server);
            warn!(server, %reply, "needs a newsgroup selected; set join_group = true for it");
        }
    }

    /// Logs that a server rests, unless that was logged lately; `why` is the class of its error and the error.
    pub(crate) fn log_rest(&mut self, server: ServerId, trouble: Trouble, why: &str, seconds: f32) {
        let is_news = self.outages.rests(clock::now().instant, server, trouble);
        let server = self.name(server);
        match is_news {
            true => warn!(server, "{why}; tried again in {seconds} s"),
            false => debug!(server, "{why}; tried again in {seconds} s"),
        }
    }

    /// Logs that a server works again, and returns whether it does. A greeting does not prove it if the server requires
    /// a login and none is configured.
    pub(crate) fn log_recovery(&mut self, server: ServerId) -> bool {
        let configured = self.servers.get(server);
        let logs_in = configured.is_some_and(|known| known.settings().conversation.login.is_some());
        if self.outages.only_greets(server, logs_in) {
            return false;
        }
        let is_news = self.outages.works(server);
        let server = self.name(server);
        match is_news {
            true => info!(server, "works again"),
            false => debug!(server, "works again"),
        }
        true
    }
}
