//! What ends mean to the engine.

use bergamot_engine::{DiskTrouble, Trouble};
use bergamot_net::{ConnectError, Ended};
use bergamot_nntp::{Ending, Moment, Refusal};
use bergamot_writer::DiskError;

/// `was_ready`: the conversation had got as far as requests.
pub(crate) fn of_connection(ended: &Ended, was_ready: bool) -> Trouble {
    let broken = if was_ready { Trouble::Broken } else { Trouble::Unreachable };
    match ended {
        Ended::Connect(ConnectError::Certificate { .. }) => Trouble::Certificate,
        Ended::Connect(_) => Trouble::Unreachable,
        Ended::Goodbye => Trouble::Closed,
        Ended::Io(_) => broken,
        Ended::Conversation(ending) => match ending {
            Ending::ClosedByServer { at: Moment::Idle } | Ending::Quit => Trouble::Closed,
            Ending::Refused { refusal, .. } => of_refusal(*refusal),
            Ending::StartTlsMissing | Ending::StartTlsRefused(_) => Trouble::Certificate,
            _ => broken,
        },
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

pub(crate) fn of_disk(error: &DiskError) -> DiskTrouble {
    match error {
        DiskError::Broken { .. }
        | DiskError::DestinationMissing { .. }
        | DiskError::Full { .. }
        | DiskError::ReadOnly { .. }
        | DiskError::Stopped { .. }
        | DiskError::TooManyFiles { .. } => DiskTrouble::Passing,
        DiskError::BadName { .. }
        | DiskError::CopyDiffers { .. }
        | DiskError::FileTooLarge { .. }
        | DiskError::Obstructed { .. }
        | DiskError::Vanished { .. } => DiskTrouble::Lasting,
    }
}
