//! [`Fault`]: what can go wrong with a news server.

/// One kind of trouble.
///
/// Most strike one answer to `ARTICLE` or `BODY`; [`Fault::stage`] says which strike earlier.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Fault {
    /// The answer has lines ended by LF alone.
    BareFeeds,
    /// The answer has lines ended by CR alone.
    BareReturns,
    /// One byte of the data is another one, so the CRC fails.
    Corrupt,
    /// The connection is cut right behind a complete answer, without a TLS goodbye.
    CutAfterBody,
    /// The connection is cut in the middle of the body, without a TLS goodbye.
    CutBody,
    /// The terminator follows the status line at once.
    Empty,
    /// The body never ends.
    Endless,
    /// A second, complete answer follows that nobody asked for.
    ExtraAnswer,
    /// A second terminator follows the first.
    ExtraTerminator,
    /// 400 instead of an answer, and the connection is closed.
    Goodbye,
    /// The connection refuses with 400 or 502 instead of greeting.
    GreetingRefused,
    /// TLS: the handshake is answered with something else.
    HandshakeGarbled,
    /// TLS: the handshake is never answered.
    HandshakeStalled,
    /// The connection is closed before the answer, in its status line or in its body.
    HangUp,
    /// The body begins with headers, and no empty line ends them.
    HeadersInBody,
    /// Plain text follows the 382 of `STARTTLS` in the same packet.
    InjectedPlaintext,
    /// The answer, and all behind it, comes much later.
    Late,
    /// 480 in mid-session; the login no longer counts.
    LoginAgain,
    /// The password is asked for again and again.
    LoginLoop,
    /// 481, 482 or 502 to the password.
    LoginRefused,
    /// A status line of a megabyte that does not end.
    LongStatus,
    /// 430.
    Missing,
    /// The connection is accepted and nothing is ever said on it.
    NeverGreeted,
    /// The answer to some other command.
    OtherAnswer,
    /// TLS: one record is damaged on its way.
    RecordCorrupt,
    /// 451, 423, 420 or whatever [`Rule::saying`](crate::Rule::saying) says.
    Refused,
    /// No answer from here on.
    Silent,
    /// The answer drips.
    Slow,
    /// `STARTTLS` is neither offered nor known.
    StartTlsStripped,
    /// This one answer is left out; the next question gets its own.
    Swallowed,
    /// More connections than [`Manners::connections`](crate::Manners::connections) allows.
    TooManyConnections,
    /// The body ends early, with its terminator.
    Truncated,
    /// The body of another article under the right status line.
    WrongArticle,
    /// The status line names another article.
    WrongId,
}

/// The moment at which a fault strikes, and what is counted to choose it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Stage {
    /// Chosen by message-id and how often it was asked for before.
    Article,
    /// Chosen by the number of the connection.
    Connect,
    /// Chosen by the number of the password sent.
    Login,
    /// Chosen by the number of the connection; the shell does it, beneath the conversation.
    Tls,
}

impl Fault {
    pub fn stage(self) -> Stage {
        match self {
            Fault::GreetingRefused
            | Fault::InjectedPlaintext
            | Fault::NeverGreeted
            | Fault::StartTlsStripped
            | Fault::TooManyConnections => Stage::Connect,
            Fault::LoginLoop | Fault::LoginRefused => Stage::Login,
            Fault::HandshakeGarbled | Fault::HandshakeStalled | Fault::RecordCorrupt => Stage::Tls,
            _ => Stage::Article,
        }
    }

    /// The line said where a fault says one and its rule gives no other.
    pub(crate) fn line(self) -> &'static str {
        match self {
            Fault::Goodbye => "400 Idle timeout",
            Fault::GreetingRefused => "502 Access denied",
            Fault::LoginAgain => "480 Authentication required",
            Fault::LoginRefused => "481 Authentication failed",
            Fault::Missing => "430 No such article",
            Fault::OtherAnswer => "211 1 1 1 alt.binaries.test",
            Fault::Refused => "451 Article is temporarily unavailable",
            Fault::TooManyConnections => "502 Too many connections",
            _ => "403 Internal fault",
        }
    }
}
