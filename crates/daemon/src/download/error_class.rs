//! Translates the end of a connection of `net` for the engine's classification. Pure.

use bergamot_engine::{ConnectionEnd, Trouble};
use bergamot_net::{ConnectError, Ended};

/// `was_ready`: the conversation had got as far as requests.
pub(crate) fn of_connection(ended: &Ended, was_ready: bool) -> Trouble {
    let end = match ended {
        Ended::Connect(ConnectError::Certificate { .. }) => ConnectionEnd::CertificateRefused,
        Ended::Connect(_) => ConnectionEnd::NotConnected,
        Ended::Conversation(ending) => ConnectionEnd::Conversation(ending),
        Ended::Quit => ConnectionEnd::Quit,
        Ended::Io { at, .. } => ConnectionEnd::Io { at },
    };
    end.trouble(was_ready)
}
