//! What ends mean to the engine.

use bergamot_engine::{DiskTrouble, Trouble};
use bergamot_net::{ConnectError, Ended};
use bergamot_nntp::{Ending, Moment, Refusal};
use bergamot_writer::DiskError;

/// `was_ready`: the conversation had got as far as requests.
pub(crate) fn of_connection(ended: &Ended, was_ready: bool) -> Trouble {
    let or_unreachable = |trouble| if was_ready { trouble } else { Trouble::Unreachable };
    let (broken, out_of_step) =
        (or_unreachable(Trouble::Broken), or_unreachable(Trouble::OutOfStep));
    match ended {
        Ended::Connect(ConnectError::Certificate { .. }) => Trouble::Certificate,
        Ended::Connect(_) => Trouble::Unreachable,
        Ended::Goodbye => Trouble::Closed,
        Ended::Io { at: Moment::Idle, .. } if was_ready => Trouble::Closed,
        Ended::Io { at: Moment::Article(_), .. } => out_of_step,
        Ended::Io { .. } => broken,
        Ended::Conversation(ending) => match ending {
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
        DiskError::Full { .. } => DiskTrouble::Full,
        DiskError::Broken { .. }
        | DiskError::DestinationMissing { .. }
        | DiskError::Mount(_)
        | DiskError::ReadOnly { .. }
        | DiskError::Stopped { .. }
        | DiskError::TooManyFiles { .. } => DiskTrouble::Passing,
        DiskError::BadName { .. }
        | DiskError::Changed { .. }
        | DiskError::CopyDiffers { .. }
        | DiskError::FileTooLarge { .. }
        | DiskError::Obstructed { .. }
        | DiskError::Vanished { .. } => DiskTrouble::Lasting,
        DiskError::Unsynced { .. } => DiskTrouble::Unsynced,
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use bergamot_types::MessageId;

    use super::*;

    #[test]
    fn what_lies_between_two_answers_need_not_be_the_next_articles_fault() {
        let id = MessageId::parse("a@x").unwrap();
        let reset = |at| Ended::Io { at, error: io::ErrorKind::ConnectionReset.into() };
        let closed = |at| Ended::Conversation(Ending::ClosedByServer { at });
        for (ended, trouble) in [
            (reset(Moment::Idle), Trouble::Closed),
            (reset(Moment::Article(id.clone())), Trouble::OutOfStep),
            (reset(Moment::Body(id.clone())), Trouble::Broken),
            (closed(Moment::Idle), Trouble::Closed),
            (closed(Moment::Article(id.clone())), Trouble::OutOfStep),
            (closed(Moment::Body(id)), Trouble::Broken),
        ] {
            assert_eq!(of_connection(&ended, true), trouble, "{ended}");
        }
        let greeting = closed(Moment::Answer("the connection"));
        assert_eq!(of_connection(&greeting, false), Trouble::Unreachable);
        assert_eq!(of_connection(&reset(Moment::Idle), false), Trouble::Unreachable);
    }
}
