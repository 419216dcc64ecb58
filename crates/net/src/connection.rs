//! [`Connection`]: the handle of one download connection; its tokio task owns socket, machine and sink.

use std::collections::{HashSet, VecDeque};
use std::future::{Future, poll_fn};
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bergamot_limit::{Credit, CreditRequest, ReadCredit};
use bergamot_nntp::{Answer, Ending, Event, Reply, Request, RequestId};
use bergamot_types::{GroupName, MessageId};
use bergamot_yenc::Outcome;
use tokio::sync::mpsc;
use tokio::time::{sleep_until, timeout};
use tracing::debug;

use crate::error::Ended;
use crate::fetch::Fetch;
use crate::server::{Encryption, Server};
use crate::sink::Bodies;
use crate::socket::buffer::{Buffer, BufferPool};
use crate::socket::dial::{dial, shake_hands};
use crate::socket::link::Link;
use crate::tls::tls_stream::LONGEST_RECORD;

/// The handle of a running connection. When it is dropped, the connection sends QUIT and closes.
#[derive(Debug)]
pub struct Connection {
    orders: Option<mpsc::UnboundedSender<Instruction>>, // bounded by the engine's budget
}

/// A report of a connection to its owner. `Ended` is the last.
#[derive(Debug)]
pub enum Report {
    Ended {
        why: Ended,
        unanswered: Vec<u64>,
    },
    Fetched {
        ticket: u64,
        bytes: Buffer,
        outcome: Outcome,
    },
    Missing {
        ticket: u64,
        reply: Reply,
    },
    /// The server says that it has the article.
    Present {
        ticket: u64,
    },
    /// Bytes of the article's body received so far; 0 when it begins, then periodically.
    Progress {
        ticket: u64,
        received: u64,
    },
    /// Greeted, encrypted and logged in.
    Ready,
    Refused {
        ticket: u64,
        reply: Reply,
    },
    /// There is something to read, and no credit to read it with.
    CreditWanted,
    /// So much of its credit was not needed.
    CreditReturned(u64),
}

impl Connection {
    /// Starts a connection; must be called within a tokio runtime.
    pub fn start(
        server: Arc<Server>,
        pool: BufferPool,
        report: impl Fn(Report) + Send + Sync + 'static,
    ) -> Self {
        let (connection, running) = Self::prepare(server, pool, report);
        tokio::spawn(running);
        connection
    }

    /// A connection that runs while the returned future does, for callers that have to detect its panic: then
    /// nothing is reported, not even `Ended`.
    pub fn prepare(
        server: Arc<Server>,
        pool: BufferPool,
        report: impl Fn(Report) + Send + Sync + 'static,
    ) -> (Self, impl Future<Output = ()> + Send + 'static) {
        let (orders, inbox) = mpsc::unbounded_channel();
        let running = async move {
            let mut session = Session::new(server, pool, inbox, report);
            let why = session.run().await;
            session.end(why);
        };
        (Self { orders: Some(orders) }, running)
    }

    /// Fetches asked of a connection that has ended are in its last report or come back here.
    pub fn fetch(&self, fetch: Fetch) -> Result<(), Fetch> {
        let Some(orders) = &self.orders else { return Err(fetch) };
        match orders.send(Instruction::Fetch(fetch)) {
            Err(mpsc::error::SendError(Instruction::Fetch(fetch))) => Err(fetch),
            _ => Ok(()),
        }
    }

    /// Asks whether the server has the article; the answer is `Present`, `Missing` or `Refused`.
    pub fn stat(&self, ticket: u64, id: MessageId) {
        self.instruct(Instruction::Stat { ticket, id });
    }

    /// The body of a ticket may have this much room; it is not read before.
    pub fn admit(&self, ticket: u64, reserve: usize) {
        self.instruct(Instruction::Admit { ticket, reserve });
    }

    /// Lets it read.
    pub fn lend(&self, credit: Credit) {
        self.instruct(Instruction::Lend(credit));
    }

    /// Revokes its credit; it returns what is left, and may request more.
    pub fn revoke(&self) {
        self.instruct(Instruction::Revoke);
    }

    fn instruct(&self, instruction: Instruction) {
        if let Some(orders) = &self.orders {
            // A connection that has ended has settled everything with its last report.
            let _ = orders.send(instruction);
        }
    }

    /// Sends QUIT; requests that were not answered are returned with the last report.
    pub fn hang_up(&mut self) {
        self.orders = None;
    }
}

#[derive(Debug)]
enum Instruction {
    Admit { ticket: u64, reserve: usize },
    Fetch(Fetch),
    Lend(Credit),
    Revoke,
    Stat { ticket: u64, id: MessageId },
}

struct Session<R> {
    server: Arc<Server>,
    machine: bergamot_nntp::Connection,
    bodies: Bodies,
    inbox: mpsc::UnboundedReceiver<Instruction>,
    report: R,
    credit: ReadCredit,
    asking: Asking,
    rest: Vec<u8>, // read, and not to be taken before the body that has begun is admitted
    progress_told: Instant,
    out: Vec<u8>,
    unanswered: Vec<u64>,
}

/// Fetches that wait for their group to be selected, and what is known of groups.
#[derive(Default)]
struct Asking {
    waiting: VecDeque<Fetch>,
    selected: Option<GroupName>,
    selecting: Option<GroupName>,
    unknown: HashSet<GroupName>,
}

enum Happening {
    Bytes(usize),
    Quit,
    Order(Instruction),
    Timeout,
}

impl<R: Fn(Report)> Session<R> {
    fn new(
        server: Arc<Server>,
        pool: BufferPool,
        inbox: mpsc::UnboundedReceiver<Instruction>,
        report: R,
    ) -> Self {
        let conversation = server.settings().conversation.clone();
        Self {
            machine: bergamot_nntp::Connection::new(Instant::now(), conversation),
            bodies: Bodies::new(pool),
            server,
            inbox,
            report,
            credit: ReadCredit::default(),
            asking: Asking::default(),
            rest: Vec::new(),
            progress_told: Instant::now(),
            out: Vec::new(),
            unanswered: Vec::new(),
        }
    }

    async fn run(&mut self) -> Ended {
        match self.open().await {
            Ok(link) => self.converse(link).await.unwrap_or_else(|ended| ended),
            Err(ended) => ended,
        }
    }

    async fn open(&mut self) -> Result<Link, Ended> {
        let server = self.server.clone();
        let socket = dial(&server).await?;
        let link = match server.settings().encryption {
            Encryption::Tls => Link::Tls(Box::new(shake_hands(&server, socket).await?)),
            Encryption::None | Encryption::StartTls => Link::Plain(socket),
        };
        // The time to greet begins now.
        let conversation = server.settings().conversation.clone();
        self.machine = bergamot_nntp::Connection::new(Instant::now(), conversation);
        Ok(link)
    }

    async fn converse(&mut self, mut link: Link) -> Result<Ended, Ended> {
        loop {
            self.machine.poll_transmit(&mut self.out);
            if self.on_events()? {
                link = self.upgrade(link).await?;
                continue;
            }
            self.tell_progress();
            let happening = self.next(&mut link).await;
            let broken = |error| Ended::Io { at: self.machine.moment(), error };
            match happening.map_err(broken)? {
                Happening::Bytes(0) => self.machine.handle_end_of_stream(),
                Happening::Bytes(count) => self.credit.spend(count as u64),
                Happening::Quit => return Ok(self.quit(link).await),
                Happening::Order(instruction) => self.on_instruction(instruction),
                Happening::Timeout => self.machine.handle_timeout(Instant::now()),
            }
        }
    }

    /// Goes on with what was read and could not be taken.
    fn take_rest(&mut self) {
        let rest = std::mem::take(&mut self.rest);
        let taken = self.machine.handle_input(Instant::now(), &rest, &mut self.bodies);
        self.rest.extend_from_slice(&rest[taken..]);
    }

    /// A body that arrives quickly is reported only when it begins and when it is complete.
    fn tell_progress(&mut self) {
        let Some((request, received)) = self.bodies.progress() else { return };
        let now = Instant::now();
        if received > 0 && now >= self.progress_told + PROGRESS_PAUSE {
            self.progress_told = now;
            (self.report)(Report::Progress { ticket: request.0, received });
        }
    }

    async fn next(&mut self, link: &mut Link) -> io::Result<Happening> {
        let room = self.room_to_read();
        let deadline = self.machine.poll_timeout().into_iter().chain(self.credit.expires()).min();
        let Self { machine, bodies, rest, out, .. } = self;
        let mut take = |bytes: &[u8]| {
            let blocked = !rest.is_empty();
            let taken =
                if blocked { 0 } else { machine.handle_input(Instant::now(), bytes, bodies) };
            rest.extend_from_slice(&bytes[taken..]);
        };
        tokio::select! {
            biased;
            order = self.inbox.recv() => Ok(order.map_or(Happening::Quit, Happening::Order)),
            count = poll_fn(|context| link.poll_exchange(context, out, room, &mut take)) => {
                Ok(Happening::Bytes(count?))
            }
            () = wait_until(deadline) => Ok(Happening::Timeout),
        }
    }

    /// How much may be read now. Sends requests for more credit; the server's deadlines are suspended
    /// meanwhile.
    fn room_to_read(&mut self) -> usize {
        let (now, expecting) = (Instant::now(), self.machine.outstanding() > 0);
        if self.bodies.is_blocked() {
            self.machine.handle_starved(now);
            return 0;
        }
        while let Some(request) = self.credit.poll_request(now, expecting) {
            self.request_credit(request);
        }
        let room = self.credit.allowed(now, expecting);
        if room == 0 {
            self.machine.handle_starved(now);
        } else {
            self.machine.handle_fed(now);
        }
        room.min(self.bodies.expected() + READ_AHEAD) as usize
    }

    fn request_credit(&self, request: CreditRequest) {
        (self.report)(match request {
            CreditRequest::Wanted => Report::CreditWanted,
            CreditRequest::Returned(bytes) => Report::CreditReturned(bytes.0),
        });
    }

    fn on_instruction(&mut self, instruction: Instruction) {
        match instruction {
            Instruction::Admit { ticket, reserve } => {
                let was_blocked = self.bodies.is_blocked();
                self.bodies.admit(RequestId(ticket), reserve);
                if was_blocked && !self.bodies.is_blocked() {
                    self.machine.handle_fed(Instant::now());
                    self.take_rest();
                }
            }
            Instruction::Fetch(fetch) => {
                self.asking.waiting.push_back(fetch);
                self.ask_waiting();
            }
            Instruction::Lend(credit) => self.credit.grant(credit),
            Instruction::Revoke => {
                if let Some(request) = self.credit.revoke() {
                    self.request_credit(request);
                }
            }
            Instruction::Stat { ticket, id } => {
                self.machine.ask(Instant::now(), RequestId(ticket), Request::Stat(id));
            }
        }
    }

    /// Whether the server waits for a TLS handshake.
    fn on_events(&mut self) -> Result<bool, Ended> {
        let mut upgrade = false;
        while let Some(event) = self.machine.poll_event() {
            match event {
                Event::Answered { request, answer } => self.on_answer(request, answer),
                Event::Began { request } => {
                    self.progress_told = Instant::now();
                    (self.report)(Report::Progress { ticket: request.0, received: 0 });
                }
                Event::Ended { why, unanswered } => {
                    let tickets = unanswered.into_iter().map(|request| request.0);
                    self.unanswered.extend(tickets.filter(|&ticket| ticket < GROUP_REQUEST.0));
                    return Err(why.into());
                }
                Event::Ready => (self.report)(Report::Ready),
                Event::StartDeflate => {} // only conversations about headers ask for it
                Event::StartTls => upgrade = true,
            }
            self.machine.poll_transmit(&mut self.out);
        }
        Ok(upgrade)
    }

    async fn upgrade(&mut self, link: Link) -> Result<Link, Ended> {
        let Link::Plain(socket) = link else {
            return Err(Ended::Conversation(Ending::TlsInjection));
        };
        let stream = shake_hands(&self.server, socket).await?;
        self.machine.handle_tls_started(Instant::now());
        Ok(Link::Tls(Box::new(stream)))
    }

    fn on_answer(&mut self, request: RequestId, answer: Answer) {
        let ticket = request.0;
        match answer {
            Answer::Body => {
                let Some((bytes, outcome)) = self.bodies.take() else { return };
                (self.report)(Report::Fetched { ticket, bytes, outcome });
            }
            Answer::Group { .. } => self.on_group(true),
            Answer::Missing(reply) => {
                self.bodies.forget(request);
                (self.report)(Report::Missing { ticket, reply });
            }
            Answer::NoSuchGroup(_) => self.on_group(false),
            Answer::Refused(_) if request == GROUP_REQUEST => self.on_group(false),
            Answer::Refused(reply) => {
                self.bodies.forget(request);
                (self.report)(Report::Refused { ticket, reply });
            }
            Answer::Exists => (self.report)(Report::Present { ticket }),
            Answer::Date(_) | Answer::Listed | Answer::NothingListed(_) => {}
        }
    }

    fn on_group(&mut self, exists: bool) {
        let group = self.asking.selecting.take();
        if exists {
            self.asking.selected = group;
        } else {
            debug!(server = self.server.settings().name, ?group, "no such group");
            self.asking.unknown.extend(group);
        }
        self.ask_waiting();
    }

    /// Asks for everything whose group is selected, or needs none, or has none that exists here.
    fn ask_waiting(&mut self) {
        while self.asking.selecting.is_none()
            && let Some(fetch) = self.asking.waiting.pop_front()
        {
            let now = Instant::now();
            if let Some(group) = self.group_to_select(&fetch) {
                self.asking.selecting = Some(group.clone());
                self.asking.waiting.push_front(fetch);
                return self.machine.ask(now, GROUP_REQUEST, Request::Group(group));
            }
            let request = RequestId(fetch.ticket);
            let patience = Some(fetch.patience);
            let body = Request::Body { id: fetch.id, limit: fetch.limit, patience };
            self.machine.ask(now, request, body);
        }
    }

    fn group_to_select(&self, fetch: &Fetch) -> Option<GroupName> {
        let asking = &self.asking;
        let selected = |group: &&GroupName| asking.selected.as_ref() == Some(*group);
        if !self.server.settings().join_group || fetch.groups.iter().any(|group| selected(&group)) {
            return None;
        }
        fetch.groups.iter().find(|group| !asking.unknown.contains(*group)).cloned()
    }

    async fn quit(&mut self, mut link: Link) -> Ended {
        self.machine.ask(Instant::now(), QUIT_REQUEST, Request::Quit);
        self.machine.poll_transmit(&mut self.out);
        let out = &mut self.out;
        let exchange = poll_fn(|context| link.poll_exchange(context, out, SHORT_ANSWER, |_| {}));
        // The connection is closed whether the server answers or not.
        let _ = timeout(QUIT_TIMEOUT, exchange).await;
        let _ = timeout(QUIT_TIMEOUT, link.close()).await;
        Ended::Quit
    }

    /// Everything that was ordered and not reported comes back with the last report.
    fn end(mut self, why: Ended) {
        // The bytes of an incomplete body are counted as well.
        if let Some((request, received)) = self.bodies.progress().filter(|(_, came)| *came > 0) {
            (self.report)(Report::Progress { ticket: request.0, received });
        }
        self.machine.handle_end_of_stream();
        let _ = self.on_events();
        self.inbox.close();
        self.unanswered.extend(self.asking.waiting.drain(..).map(|fetch| fetch.ticket));
        while let Ok(instruction) = self.inbox.try_recv() {
            match instruction {
                Instruction::Fetch(Fetch { ticket, .. }) | Instruction::Stat { ticket, .. } => {
                    self.unanswered.push(ticket);
                }
                Instruction::Admit { .. } | Instruction::Lend(_) | Instruction::Revoke => {}
            }
        }
        (self.report)(Report::Ended { why, unanswered: self.unanswered });
    }
}

pub(crate) async fn wait_until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline.into()).await,
        None => std::future::pending().await,
    }
}

/// Requests of our own have numbers that no ticket reaches.
const GROUP_REQUEST: RequestId = RequestId(u64::MAX - 1);
const QUIT_REQUEST: RequestId = RequestId(u64::MAX);

/// What may be read beyond the bodies that are admitted: so much a connection may have to keep.
const READ_AHEAD: u64 = 16 << 10;

/// All that one connection may keep beside the bodies that are admitted: bytes read ahead, the
/// beginning of a TLS record, the state of TLS, and its task.
pub const CONNECTION_COST: usize = READ_AHEAD as usize + LONGEST_RECORD + (8 << 10);

/// The answer to QUIT.
const SHORT_ANSWER: usize = 512;

/// How often the progress of a slow body is reported.
const PROGRESS_PAUSE: Duration = Duration::from_millis(250);

/// How long the answer to QUIT is waited for, so that it does not delay a stop.
const QUIT_TIMEOUT: Duration = Duration::from_millis(500);
