//! [`ConnectionEnd`]: how a connection ended, and its classification as [`Trouble`]. Pure.
//!
//! The daemon builds it from the errors of `net`, the simulator from the conversations it runs, so
//! both classify with the same code. Errors of the disk are classified by `writer` itself
//! (`DiskError::trouble`).

use bergamot_nntp::{Ending, Moment, Refusal};
use bergamot_pool::Trouble;

/// How a connection ended, as far as its classification depends on it.
#[derive(Clone, Copy, Debug)]
pub enum ConnectionEnd<'a> {
    /// No connection was made because the certificate was not accepted.
    CertificateRefused,
    /// The conversation ended, by its rules or against them.
    Conversation(&'a Ending),
    /// The socket failed or was cut at this moment of the conversation.
    Io { at: &'a Moment },
    /// No connection was made.
    NotConnected,
    /// We quit, and the connection was closed.
    Quit,
}

impl ConnectionEnd<'_> {
    /// `was_ready`: the conversation had got as far as requests. Before that, everything that says
    /// nothing else counts as a server that cannot be reached.
    pub fn trouble(self, was_ready: bool) -> Trouble {
        let or_unreachable = |trouble| if was_ready { trouble } else { Trouble::Unreachable };
        let (broken, out_of_step) =
            (or_unreachable(Trouble::Broken), or_unreachable(Trouble::OutOfStep));
        match self {
            Self::CertificateRefused => Trouble::Certificate,
            Self::NotConnected => Trouble::Unreachable,
            Self::Quit => Trouble::Closed,
            Self::Io { at: Moment::Idle } if was_ready => Trouble::Closed,
            Self::Io { at: Moment::Article(_) } => out_of_step,
            Self::Io { .. } => broken,
            Self::Conversation(ending) => match ending {
                Ending::ClosedByServer { at: Moment::Idle } | Ending::Quit => Trouble::Closed,
                Ending::ClosedByServer { at: Moment::Article(_) }
                | Ending::Desynchronised { .. }
                | Ending::WrongArticle { .. } => out_of_step,
                Ending::Refused { refusal: Refusal::Unclear, reply } if reply.code == 400 => {
                    Trouble::Unavailable
                }
                Ending::Refused { refusal, .. } => of_refusal(*refusal),
                Ending::StartTlsMissing | Ending::StartTlsRefused(_) => Trouble::Certificate,
                _ => broken,
            },
        }
    }
}

fn of_refusal(refusal: Refusal) -> Trouble {
    match refusal {
        Refusal::AccountShared => Trouble::AccountShared,
        Refusal::Login => Trouble::Login,
        Refusal::OutOfCredit => Trouble::OutOfCredit,
        Refusal::TooManyConnections => Trouble::TooManyConnections,
        Refusal::Unclear => Trouble::Refused,
    }
}

#[cfg(test)]
mod tests {
    use bergamot_types::MessageId;

    use super::*;

    #[test]
    fn an_end_between_two_answers_is_not_charged_to_the_next_article() {
        let id = MessageId::parse("a@x").unwrap();
        let moments = [
            (Moment::Idle, Trouble::Closed),
            (Moment::Article(id.clone()), Trouble::OutOfStep),
            (Moment::Body(id), Trouble::Broken),
        ];
        for (at, trouble) in moments {
            assert_eq!(ConnectionEnd::Io { at: &at }.trouble(true), trouble, "{at:?}");
            let closed = Ending::ClosedByServer { at };
            assert_eq!(ConnectionEnd::Conversation(&closed).trouble(true), trouble, "{closed:?}");
        }
    }

    #[test]
    fn an_end_before_the_first_request_is_a_server_that_cannot_be_reached() {
        let greeting = Ending::ClosedByServer { at: Moment::Answer("the connection") };
        let greeting = ConnectionEnd::Conversation(&greeting);
        assert_eq!(greeting.trouble(false), Trouble::Unreachable);
        assert_eq!(ConnectionEnd::Io { at: &Moment::Idle }.trouble(false), Trouble::Unreachable);
    }
}
