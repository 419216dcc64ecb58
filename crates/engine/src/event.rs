//! What the engine hears.

use std::time::Instant;

use bergamot_queue::{FileKey, NewJob, Part};
use bergamot_types::{JobId, UnixTime};

use crate::order::{ConnectionId, Ticket};

/// The time, by both clocks.
#[derive(Clone, Copy, Debug)]
pub struct Now {
    pub instant: Instant,
    pub date: UnixTime,
}

/// All that can happen to the engine.
#[derive(Debug)]
pub enum Event {
    /// The connection is greeted, encrypted and logged in.
    Connected {
        connection: ConnectionId,
    },
    /// The connection is gone, or never came to be. The first of `unanswered` is the one it broke on.
    Ended {
        connection: ConnectionId,
        trouble: Trouble,
        unanswered: Vec<Ticket>,
    },
    /// An article was decoded and its bytes wait for an order.
    Fetched {
        ticket: Ticket,
        part: Part,
        fault: Option<Fault>,
    },
    FileFinished {
        file: FileKey,
        result: Result<(), DiskTrouble>,
    },
    JobAdded(NewJob),
    /// The job's directory lies where it belongs, or cannot get there.
    JobMoved {
        job: JobId,
        result: Result<(), DiskTrouble>,
    },
    JobRemoved(JobId),
    /// The server does not have the article.
    Missing {
        ticket: Ticket,
    },
    /// The server gave some other answer than the article.
    Refused {
        ticket: Ticket,
    },
    /// A deadline may have passed.
    Timeout,
    Written {
        ticket: Ticket,
        result: Result<(), DiskTrouble>,
    },
}

/// Why a connection ended, as far as it decides what happens next.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Trouble {
    /// The account is used from elsewhere.
    AccountShared,
    /// It was working and broke: reset, silence, nonsense.
    Broken,
    Certificate,
    /// In good order, by either side, with nothing to do.
    Closed,
    Login,
    OutOfCredit,
    /// It went away between two answers, or what came was not the answer that was due: perhaps the
    /// fault of the answer before.
    OutOfStep,
    /// Refused in words we do not understand.
    Refused,
    TooManyConnections,
    /// No connection came to be.
    Unreachable,
}

impl Trouble {
    /// As long as it lasts, the server counts as having answered for every article: nothing waits
    /// for a wrong password.
    pub(crate) fn excuses(self) -> bool {
        matches!(self, Self::AccountShared | Self::Certificate | Self::Login | Self::OutOfCredit)
    }
}

/// What is wrong with a copy of an article.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Fault {
    Damaged,
    /// It did not fit its reservation.
    TooLarge {
        needed: u64,
    },
}

/// Why the disk did not do what it was told.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum DiskTrouble {
    /// May pass: full, read-only, an error of the device.
    Passing,
    /// Will not: the directory is gone, the file is too large for the file system.
    Lasting,
}
