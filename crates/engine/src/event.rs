//! [`Event`]: everything the engine is told. Pure.

use std::time::Instant;

use bergamot_pool::Trouble;
use bergamot_queue::{Cause, FileKey, MoreFiles, NewJob, Part};
use bergamot_types::{ByteCount, ByteRate, DiskTrouble, JobId, ServerId, UnixTime};

use crate::order::{ConnectionId, ErrandId, Ticket};
use crate::probes::Sampled;
use crate::settings::Settings;

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
    /// A disk that was full takes something again.
    DiskReturned,
    /// The user pauses everything, but for jobs of [`FORCE_PRIORITY`](crate::FORCE_PRIORITY).
    DownloadPaused,
    DownloadResumed,
    /// The connection is gone, or never came to be. The first of `unanswered` is the one it broke on.
    Ended {
        connection: ConnectionId,
        trouble: Trouble,
        unanswered: Vec<Ticket>,
    },
    /// Its connection is greeted and logged in.
    ErrandConnected(ErrandId),
    /// It is not wanted any more.
    ErrandDropped(ErrandId),
    /// Its connection is gone, or never came to be.
    ErrandEnded {
        errand: ErrandId,
        trouble: Trouble,
    },
    /// A connection to one of these servers is wanted, the best first, when articles leave one free.
    ErrandWanted {
        errand: ErrandId,
        servers: Vec<ServerId>,
    },
    /// An article was decoded and its bytes wait for an order.
    Fetched {
        ticket: Ticket,
        part: Part,
        fault: Option<Fault>,
    },
    /// The user drops the file, which is no loss to its job.
    FileDropped(FileKey),
    FileFinished {
        file: FileKey,
        result: Result<(), DiskTrouble>,
    },
    /// The user pauses the file.
    FilePaused(FileKey),
    FileResumed(FileKey),
    /// More of a job has come, behind what there was.
    FilesAdded {
        job: JobId,
        more: MoreFiles,
    },
    /// The user puts these files of the job first; the others follow in the order of the NZB.
    FilesOrdered {
        job: JobId,
        order: Vec<u32>,
    },
    JobAdded(NewJob),
    /// The user pauses the job.
    JobPaused(JobId),
    /// The user changes its place in the queue; whether it is paused stays.
    JobPlaced {
        job: JobId,
        priority: i32,
        rank: i64,
    },
    /// All that follows the download is done, and its files are where they belong; or it failed.
    JobProcessed {
        job: JobId,
        result: Result<(), Cause>,
    },
    JobRemoved(JobId),
    JobResumed(JobId),
    /// The server does not have the article.
    Missing {
        ticket: Ticket,
    },
    /// The records of that order are on disk, or could not be written.
    Persisted {
        number: u64,
        result: Result<(), DiskTrouble>,
    },
    /// The server says that it has the article it was asked about.
    Present {
        ticket: Ticket,
    },
    /// The result of the probe is not wanted any more.
    ProbeDropped(JobId),
    /// Whether servers have these articles of a job that waits is to be found out.
    ProbeWanted {
        job: JobId,
        articles: Vec<Sampled>,
    },
    /// So many bytes of the body have come: 0 when its first line has, and then now and then.
    Progress {
        ticket: Ticket,
        received: ByteCount,
    },
    /// The user limits all connections together to this rate, or goes back to the settings.
    RateChanged(Option<ByteRate>),
    /// The server gave some other answer than the article.
    Refused {
        ticket: Ticket,
    },
    /// Whether the server can be reached is to be found out, unless a connection to it is open.
    ServerProbeWanted(ServerId),
    /// Other settings hold from now on. A server is known by its id: with another id it is another.
    SettingsChanged(Box<Settings>),
    /// What is downloaded cannot be put on record: nothing more is fetched.
    StateUnwritable,
    /// It can again.
    StateWritable,
    /// The connection has something to read and no lease to read it with.
    CreditWanted {
        connection: ConnectionId,
    },
    /// A deadline may have passed.
    Timeout,
    /// So much of the connection's lease was not needed.
    CreditReturned {
        connection: ConnectionId,
        bytes: ByteCount,
    },
    Written {
        ticket: Ticket,
        result: Result<(), DiskTrouble>,
    },
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
