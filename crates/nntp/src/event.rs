//! [`Event`]: what a [`Connection`](crate::Connection) reports to its owner.

use std::time::Duration;

use bergamot_types::{GroupName, MessageId};
use thiserror::Error;

use crate::refusal::Refusal;
use crate::reply::Reply;
use crate::request::RequestId;

#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// The answer to a request; answers come in the order of the requests.
    Answered { request: RequestId, answer: Answer },
    /// The answer to a request is a text, which goes to the sink from here on.
    Began { request: RequestId },
    /// The connection is over; no answer will come for the requests listed.
    Ended { why: Ending, unanswered: Vec<RequestId> },
    /// Greeted, upgraded and logged in: requests go out from now on.
    Ready,
    /// All that follows is compressed, in both directions; see `Connection::handle_deflate_started`.
    StartDeflate,
    /// The server waits for the TLS handshake; see `Connection::handle_tls_started`.
    StartTls,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// The body is complete; the sink has checked it.
    Body,
    /// The server's time as it wrote it; for display only.
    Date(Box<str>),
    Exists,
    Group {
        count: u64,
        first: u64,
        last: u64,
    },
    /// All lines of a list went to the sink.
    Listed,
    /// 420, 423, 430 or 451: this server does not have the article.
    Missing(Reply),
    NoSuchGroup(Reply),
    /// 420 or 423: no article has a number in that range.
    NothingListed(Reply),
    /// Any other refusal.
    Refused(Reply),
}

/// Why a connection is over.
///
/// The engine acts by variant: a `Refused` server rests or gets fewer connections, after anything
/// else what was unanswered is asked again over a new connection.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum Ending {
    #[error("the body of <{id}> has more than {limit} bytes")]
    ArticleTooLarge { id: MessageId, limit: u64 },
    #[error("the server closed the connection {at}")]
    ClosedByServer { at: Moment },
    #[error("the answers no longer match the questions: {line} came {at}")]
    Desynchronised { line: Box<str>, at: Moment },
    #[error("an answer line is longer than 4096 bytes, {at}")]
    LineTooLong { at: Moment },
    #[error("an answer line took more than {} s {at}", limit.as_secs())]
    LineTooSlow { limit: Duration, at: Moment },
    #[error("the answer to {command} has more than {limit} bytes")]
    ListTooLong { command: &'static str, limit: u64 },
    #[error("only {bytes} bytes of the answer to {command} came in {} s", window.as_secs())]
    ListTooSlow { command: &'static str, bytes: u64, window: Duration },
    #[error("the server forgot the login once more {at}")]
    LoginForgotten { at: Moment },
    #[error("an answer line makes no sense, {at}: {line}")]
    Malformed { line: Box<str>, at: Moment },
    #[error("QUIT was answered")]
    Quit,
    #[error("the server refused: {reply}")]
    Refused { refusal: Refusal, reply: Reply },
    #[error("the server said nothing for {} s {at}", waited.as_secs())]
    Silent { waited: Duration, at: Moment },
    #[error("the server does not offer STARTTLS")]
    StartTlsMissing,
    #[error("the server refused STARTTLS: {0}")]
    StartTlsRefused(Reply),
    #[error("plain text followed the answer to STARTTLS")]
    TlsInjection,
    #[error("only {bytes} bytes of <{id}> came in {} s", window.as_secs())]
    TooSlow { id: MessageId, bytes: u64, window: Duration },
    #[error("<{asked}> was asked for and <{given}> was given")]
    WrongArticle { asked: MessageId, given: Box<str> },
}

impl Ending {
    /// The stable name of the cause.
    pub fn code(&self) -> &'static str {
        match self {
            Self::ArticleTooLarge { .. } => "nntp.article_too_large",
            Self::ClosedByServer { .. } => "nntp.closed",
            Self::Desynchronised { .. } => "nntp.desync",
            Self::LineTooLong { .. } => "nntp.line_too_long",
            Self::ListTooLong { .. } => "nntp.list_too_long",
            Self::LoginForgotten { .. } => "nntp.login_forgotten",
            Self::Malformed { .. } => "nntp.malformed",
            Self::Quit => "nntp.quit",
            Self::Refused { refusal, .. } => refusal.code(),
            Self::Silent { .. } => "nntp.silent",
            Self::StartTlsMissing | Self::StartTlsRefused(_) => "tls.starttls",
            Self::TlsInjection => "tls.injection",
            Self::LineTooSlow { .. } | Self::ListTooSlow { .. } | Self::TooSlow { .. } => {
                "nntp.too_slow"
            }
            Self::WrongArticle { .. } => "nntp.wrong_article",
        }
    }
}

/// What the connection was waiting for or receiving.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Moment {
    Answer(&'static str),
    Article(MessageId),
    Body(MessageId),
    Group(GroupName),
    Idle,
    List(&'static str),
}

impl std::fmt::Display for Moment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Answer(to) => write!(f, "where the answer to {to} was due"),
            Self::Article(id) => write!(f, "where the answer for <{id}> was due"),
            Self::Body(id) => write!(f, "in the body of <{id}>"),
            Self::Group(name) => write!(f, "where the answer for group {name} was due"),
            Self::List(command) => write!(f, "in the answer to {command}"),
            Self::Idle => f.write_str("while nothing was asked"),
        }
    }
}
