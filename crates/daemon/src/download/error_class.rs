//! Translates errors of connections and of the disk for the engine and the machine of jobs. Pure.

use bergamot_engine::{ConnectionEnd, Trouble};
use bergamot_jobs::machine::StoreFailure;
use bergamot_net::{ConnectError, Ended};
use bergamot_writer::DiskError;

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

pub(crate) fn store_failure(error: &DiskError) -> StoreFailure {
    StoreFailure { code: error.code(), message: error.to_string() }
}
