//! [`Session`]: one connection for headers, lists and probes; driven by the task of its owner.
//!
//! Its owner sends one command after another and receives its answer; nothing is decoded and nothing is
//! stored. When a download needs the connection, the next command fails with [`SessionError::Recalled`]; an
//! owner that cannot wait for the running one drops the session.

pub(crate) mod deflated;

use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bergamot_nntp::{
    Answer, BodySink, Ending, Event, Lines, List, Reply, Request, RequestId, Wildmat,
};
use bergamot_types::{ArticleRange, GroupName, MessageId};
use thiserror::Error;
use tokio::sync::watch;
use tokio::time::timeout;
use tracing::trace;

use crate::connection::wait_until;
use crate::error::Ended;
use crate::server::{Encryption, Server};
use crate::session::deflated::Inflater;
use crate::socket::dial::{dial, shake_hands};
use crate::socket::link::Link;
use crate::tls::TlsAgreement;

#[derive(Debug)]
pub struct Session {
    wire: Wire,
    recall: Recall,
    asked: u64,
    only_xover: bool,
}

/// What a server says of a group.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct GroupNumbers {
    /// An estimate.
    pub count: u64,
    /// No article has a number outside of these.
    pub range: ArticleRange,
}

/// Why a command of a session failed.
#[derive(Debug, Error)]
pub enum SessionError {
    /// There is no connection any more.
    #[error(transparent)]
    Ended(#[from] Ended),
    #[error("the connection was wanted for a download")]
    Recalled,
    /// The connection goes on.
    #[error("{command} was refused: {reply}")]
    Refused { command: &'static str, reply: Reply },
}

/// Signals a session, once, that a download needs its connection.
#[derive(Clone, Debug, Default)]
pub struct Recall(Arc<watch::Sender<bool>>);

impl Recall {
    pub fn recall(&self) {
        self.0.send_replace(true);
    }

    pub fn is_recalled(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until it is recalled.
    pub async fn recalled(&self) {
        // The sender lives as long as `self`, so there is an end to wait for.
        let _ = self.0.subscribe().wait_for(|recalled| *recalled).await;
    }
}

impl Session {
    /// Connects, logs in and, where that is wanted and offered, compresses.
    pub async fn open(
        server: Arc<Server>,
        compress: bool,
        recall: Recall,
    ) -> Result<Self, SessionError> {
        let wire = tokio::select! {
            biased;
            () = recall.recalled() => return Err(SessionError::Recalled),
            wire = Wire::open(server, compress) => wire?,
        };
        // A server of RFC 3977 lists whether it supports OVER; on others OVER is tried first.
        let capabilities = wire.machine.capabilities();
        let only_xover = capabilities.has("READER") && !capabilities.has("OVER");
        Ok(Self { wire, recall, asked: 0, only_xover })
    }

    /// Bytes that came over the connection so far.
    pub fn received(&self) -> u64 {
        self.wire.received
    }

    /// How it is encrypted, if it is.
    pub fn tls(&self) -> Option<TlsAgreement> {
        match &self.wire.link {
            Link::Plain(_) => None,
            Link::Tls(secured) => secured.agreement(),
        }
    }

    /// Selects a group; `None` where the server does not have it.
    pub async fn group(&mut self, name: &GroupName) -> Result<Option<GroupNumbers>, SessionError> {
        match self.ask(Request::Group(name.clone()), &mut nowhere()).await? {
            Answer::Group { count, first, last } => {
                Ok(Some(GroupNumbers { count, range: ArticleRange { first, last } }))
            }
            Answer::NoSuchGroup(_) => Ok(None),
            answer => Err(refused("GROUP", answer)),
        }
    }

    /// The overview of articles of the group that is selected, line by line, in the order of their
    /// numbers. A long range is asked for in pieces, so that a recall does not wait for all of it.
    pub async fn over(
        &mut self,
        range: ArticleRange,
        mut each: impl FnMut(&[u8]),
    ) -> Result<(), SessionError> {
        let mut first = range.first;
        while first <= range.last {
            let last = range.last.min(first.saturating_add(OVERVIEWS_AT_ONCE - 1));
            self.over_piece(ArticleRange { first, last }, &mut each).await?;
            match last.checked_add(1) {
                Some(next) => first = next,
                None => break,
            }
        }
        Ok(())
    }

    async fn over_piece(
        &mut self,
        range: ArticleRange,
        each: &mut impl FnMut(&[u8]),
    ) -> Result<(), SessionError> {
        if !self.only_xover {
            match self.list(Request::Over(range), &mut *each).await {
                Err(SessionError::Refused { reply, .. }) if reply.code >= 500 => {
                    self.only_xover = true;
                }
                result => return result,
            }
        }
        self.list(Request::Xover(range), each).await
    }

    /// The groups there are: name, last and first number, and whether one may post.
    pub async fn list_active(
        &mut self,
        pattern: Option<Wildmat>,
        each: impl FnMut(&[u8]),
    ) -> Result<(), SessionError> {
        self.list(Request::List(List::Active(pattern)), each).await
    }

    /// What the groups are about.
    pub async fn list_newsgroups(
        &mut self,
        pattern: Option<Wildmat>,
        each: impl FnMut(&[u8]),
    ) -> Result<(), SessionError> {
        self.list(Request::List(List::Newsgroups(pattern)), each).await
    }

    /// Whether the server has an article.
    pub async fn stat(&mut self, id: MessageId) -> Result<bool, SessionError> {
        match self.ask(Request::Stat(id), &mut nowhere()).await? {
            Answer::Exists => Ok(true),
            Answer::Missing(_) => Ok(false),
            answer => Err(refused("STAT", answer)),
        }
    }

    /// The answer to DATE, unparsed.
    pub async fn date(&mut self) -> Result<Box<str>, SessionError> {
        match self.ask(Request::Date, &mut nowhere()).await? {
            Answer::Date(text) => Ok(text),
            answer => Err(refused("DATE", answer)),
        }
    }

    /// Waits while there is nothing to ask, until the server ends the connection.
    pub async fn wait_for_end(&mut self) -> Ended {
        loop {
            if let Err(ended) = self.wire.next_event(&mut nowhere()).await {
                return ended;
            }
        }
    }

    /// Sends QUIT and closes the connection.
    pub async fn close(mut self) {
        // The connection is closed whether the server answers or not.
        self.wire.machine.ask(Instant::now(), RequestId(self.asked), Request::Quit);
        let _ = timeout(QUIT_TIMEOUT, self.wire.next_event(&mut nowhere())).await;
        let _ = timeout(QUIT_TIMEOUT, self.wire.link.close()).await;
    }

    async fn list(
        &mut self,
        request: Request,
        each: impl FnMut(&[u8]),
    ) -> Result<(), SessionError> {
        let command = request.command();
        let mut lines = Lines::new(each);
        let answer = self.ask(request, &mut lines).await?;
        if lines.skipped() > 0 {
            trace!(command, skipped = lines.skipped(), "lines too long");
        }
        match answer {
            Answer::Listed | Answer::NothingListed(_) => Ok(()),
            answer => Err(refused(command, answer)),
        }
    }

    async fn ask(
        &mut self,
        request: Request,
        sink: &mut impl BodySink,
    ) -> Result<Answer, SessionError> {
        if self.recall.is_recalled() {
            return Err(SessionError::Recalled);
        }
        self.wire.machine.ask(Instant::now(), RequestId(self.asked), request);
        self.asked += 1;
        loop {
            if let Event::Answered { answer, .. } = self.wire.next_event(sink).await? {
                return Ok(answer);
            }
        }
    }
}

/// The machine, its link and the layers between them.
#[derive(Debug)]
struct Wire {
    server: Arc<Server>,
    machine: bergamot_nntp::Connection,
    link: Link,
    inflater: Option<Inflater>,
    out: Vec<u8>,
    received: u64,
}

impl Wire {
    async fn open(server: Arc<Server>, compress: bool) -> Result<Self, Ended> {
        let socket = dial(&server).await?;
        let link = match server.settings().encryption {
            Encryption::Tls => Link::Tls(Box::new(shake_hands(&server, socket).await?)),
            Encryption::None | Encryption::StartTls => Link::Plain(socket),
        };
        let settings =
            bergamot_nntp::Settings { compress, ..server.settings().conversation.clone() };
        let machine = bergamot_nntp::Connection::new(Instant::now(), settings);
        let mut wire = Self { server, machine, link, inflater: None, out: Vec::new(), received: 0 };
        loop {
            match wire.next_event(&mut nowhere()).await? {
                Event::Ready => return Ok(wire),
                Event::StartDeflate => {
                    wire.inflater = Some(Inflater::default());
                    wire.machine.handle_deflate_started(Instant::now());
                }
                Event::StartTls => wire = wire.upgraded().await?,
                Event::Answered { .. } | Event::Began { .. } | Event::Ended { .. } => {}
            }
        }
    }

    async fn upgraded(self) -> Result<Self, Ended> {
        let Link::Plain(socket) = self.link else {
            return Err(Ended::Conversation(Ending::TlsInjection));
        };
        let stream = shake_hands(&self.server, socket).await?;
        let mut wire = Self { link: Link::Tls(Box::new(stream)), ..self };
        wire.machine.handle_tls_started(Instant::now());
        Ok(wire)
    }

    /// The next event of the machine.
    async fn next_event(&mut self, sink: &mut impl BodySink) -> Result<Event, Ended> {
        loop {
            self.transmit();
            match self.machine.poll_event() {
                Some(Event::Ended { why, .. }) => return Err(why.into()),
                Some(event) => return Ok(event),
                None => {}
            }
            if let Err(error) = self.exchange(sink).await {
                return Err(Ended::Io { at: self.machine.moment(), error });
            }
        }
    }

    fn transmit(&mut self) {
        if self.inflater.is_none() {
            self.machine.poll_transmit(&mut self.out);
            return;
        }
        let mut plain = Vec::new();
        self.machine.poll_transmit(&mut plain);
        deflated::store(&plain, &mut self.out);
    }

    /// Sends and reads once, or lets a deadline pass.
    async fn exchange(&mut self, sink: &mut impl BodySink) -> io::Result<()> {
        let deadline = self.machine.poll_timeout();
        let Self { machine, link, inflater, out, .. } = self;
        let mut inflated = Ok(());
        let mut take = |bytes: &[u8]| {
            let mut hear = |bytes: &[u8]| {
                machine.handle_input(Instant::now(), bytes, sink);
            };
            match inflater {
                Some(inflater) if inflated.is_ok() => inflated = inflater.inflate(bytes, hear),
                Some(_) => {}
                None => hear(bytes),
            }
        };
        tokio::select! {
            biased;
            read = poll_fn(|context| link.poll_exchange(context, out, READ, &mut take)) => {
                let count = read?;
                inflated?;
                self.received += count as u64;
                if count == 0 {
                    self.machine.handle_end_of_stream();
                }
            }
            () = wait_until(deadline) => self.machine.handle_timeout(Instant::now()),
        }
        Ok(())
    }
}

/// For answers that have no lines.
fn nowhere() -> Lines<impl FnMut(&[u8])> {
    Lines::new(|_: &[u8]| {})
}

fn refused(command: &'static str, answer: Answer) -> SessionError {
    let reply = match answer {
        Answer::Missing(reply)
        | Answer::NoSuchGroup(reply)
        | Answer::NothingListed(reply)
        | Answer::Refused(reply) => reply,
        // The machine lets no answer pass that does not belong to its question.
        _ => Reply { code: 0, text: "another answer".into() },
    };
    SessionError::Refused { command, reply }
}

/// About a quarter of a megabyte: what a recall in the middle of a piece may cost.
const OVERVIEWS_AT_ONCE: u64 = 500;

/// As much as one read takes from the socket.
const READ: usize = 64 << 10;

/// How long the answer to QUIT is waited for.
const QUIT_TIMEOUT: Duration = Duration::from_millis(500);
