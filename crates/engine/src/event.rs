//! What the engine hears.

use std::time::Instant;

use bergamot_pool::Trouble;
use bergamot_queue::{FileKey, MoreFiles, NewJob, Part};
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
    /// Somebody wants everything to wait, but for jobs of [`FORCE_PRIORITY`](crate::FORCE_PRIORITY).
    DownloadPaused,
    DownloadResumed,
    /// The connection is gone, or never came to be. The first of `unanswered` is the one it broke on.
    Ended {
        connection: ConnectionId,
        trouble: Trouble,
        unanswered: Vec<Ticket>,
    },
    /// Its server has greeted it and let it in.
    ErrandConnected(ErrandId),
    /// Nobody wants it any more.
    ErrandDropped(ErrandId),
    /// Its connection is gone, or never came to be.
    ErrandEnded {
        errand: ErrandId,
        trouble: Trouble,
    },
    /// Somebody wants to talk to one of these servers, the best first, when articles do not.
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
    /// Somebody does not want the file, which is no loss to its job.
    FileDropped(FileKey),
    FileFinished {
        file: FileKey,
        result: Result<(), DiskTrouble>,
    },
    /// Somebody wants the file to wait.
    FilePaused(FileKey),
    FileResumed(FileKey),
    /// More of a job has come, behind what there was.
    FilesAdded {
        job: JobId,
        more: MoreFiles,
    },
    /// Somebody wants these files of the job first; the others follow by their places.
    FilesOrdered {
        job: JobId,
        order: Vec<u32>,
    },
    JobAdded(NewJob),
    /// The job's directory lies where it belongs, or cannot get there.
    JobMoved {
        job: JobId,
        result: Result<(), DiskTrouble>,
    },
    /// Somebody wants the job to wait.
    JobPaused(JobId),
    /// Somebody wants it to come earlier or later; paused or not it stays.
    JobPlaced {
        job: JobId,
        priority: i32,
        rank: i64,
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
    /// Nobody wants to know any more.
    ProbeDropped(JobId),
    /// Somebody wants to know whether these articles of a job that waits are there.
    ProbeWanted {
        job: JobId,
        articles: Vec<Sampled>,
    },
    /// So many bytes of the body have come: 0 when its first line has, and then now and then.
    Progress {
        ticket: Ticket,
        received: ByteCount,
    },
    /// Somebody wants all connections together to read at this rate, or as the settings say.
    RateChanged(Option<ByteRate>),
    /// The server gave some other answer than the article.
    Refused {
        ticket: Ticket,
    },
    /// Somebody wants to know whether the server can be reached, if articles do not tell.
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
