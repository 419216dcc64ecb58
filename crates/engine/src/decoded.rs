//! Builds [`Event::Fetched`] from the [`Outcome`] of the decoder. Pure; used by the daemon, the
//! simulator and the benchmarks alike.

use bergamot_queue::Part;
use bergamot_yenc::{Check, Outcome};

use crate::event::{Event, Fault};
use crate::order::Ticket;

impl Event {
    /// An article was decoded.
    pub fn fetched(ticket: Ticket, outcome: Outcome) -> Self {
        let fault = outcome.fault.as_ref().map(|fault| match fault {
            bergamot_yenc::Fault::TooLarge { needed, .. } => Fault::TooLarge { needed: *needed },
            _ => Fault::Damaged,
        });
        Self::Fetched { ticket, part: part_of(outcome.part), fault }
    }
}

fn part_of(part: bergamot_yenc::Part) -> Part {
    Part {
        begin: part.range.as_ref().map(|range| range.start),
        length: part.length,
        file_size: part.file_size,
        number: part.number,
        total: part.total,
        verified: part.check == Check::Verified,
        name: part.name.map(Into::into),
        crc32: Some(part.crc32),
    }
}
