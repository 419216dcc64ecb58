//! What ends of conversations mean to the engine, as the daemon tells it.

use bergamot_engine::{Event, Fault, Ticket, Trouble};
use bergamot_nntp::{Ending, Moment, Refusal};
use bergamot_queue::Part;
use bergamot_yenc::{Check, Outcome};

/// `was_ready`: the conversation had got as far as requests.
pub(crate) fn trouble_of(ending: &Ending, was_ready: bool) -> Trouble {
    let or_unreachable = |trouble| if was_ready { trouble } else { Trouble::Unreachable };
    match ending {
        Ending::ClosedByServer { at: Moment::Idle } | Ending::Quit => Trouble::Closed,
        Ending::ClosedByServer { at: Moment::Article(_) }
        | Ending::Desynchronised { .. }
        | Ending::WrongArticle { .. } => or_unreachable(Trouble::OutOfStep),
        Ending::Refused { refusal, .. } => trouble_of_refusal(*refusal),
        Ending::StartTlsMissing | Ending::StartTlsRefused(_) => Trouble::Certificate,
        _ => or_unreachable(Trouble::Broken),
    }
}

/// The line broke at this moment.
pub(crate) fn trouble_at(moment: &Moment, was_ready: bool) -> Trouble {
    match moment {
        _ if !was_ready => Trouble::Unreachable,
        Moment::Idle => Trouble::Closed,
        Moment::Article(_) => Trouble::OutOfStep,
        _ => Trouble::Broken,
    }
}

fn trouble_of_refusal(refusal: Refusal) -> Trouble {
    match refusal {
        Refusal::AccountShared => Trouble::AccountShared,
        Refusal::Login => Trouble::Login,
        Refusal::OutOfCredit => Trouble::OutOfCredit,
        Refusal::TooManyConnections => Trouble::TooManyConnections,
        Refusal::Unclear => Trouble::Refused,
    }
}

pub(crate) fn fetched(ticket: Ticket, outcome: Outcome) -> Event {
    let fault = outcome.fault.as_ref().map(|fault| match fault {
        bergamot_yenc::Fault::TooLarge { needed, .. } => Fault::TooLarge { needed: *needed },
        _ => Fault::Damaged,
    });
    let part = outcome.part;
    let part = Part {
        begin: part.range.as_ref().map(|range| range.start),
        length: part.length,
        file_size: part.file_size,
        number: part.number,
        total: part.total,
        verified: part.check == Check::Verified,
        name: part.name.map(Into::into),
        crc32: Some(part.crc32),
    };
    Event::Fetched { ticket, part, fault }
}
