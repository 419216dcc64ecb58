//! [`Order`]: everything the engine wants done, and the ids it uses. Pure.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bergamot_limit::{Credit, Effect};
use bergamot_pool::Trouble;
use bergamot_queue::{Cause, FileKey, Layout, Part, Permille, SegmentKey};
use bergamot_types::{ByteCount, GroupName, JobId, MessageId, Patience, ServerId, UnixTime};

use crate::allowance::meter::QuotaRecords;
use crate::article::health::HealthAction;
use crate::probes::Census;
use crate::verdict::Verdict;

/// One article on its way: from the order to fetch it until it is written or discarded.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Ticket(pub u64);

#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct ConnectionId(pub u64);

/// A use of a connection for something else than articles.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct ErrandId(pub u64);

impl fmt::Display for ConnectionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Order {
    /// The body of a ticket may come, and have this much room. Before, it stays in the socket.
    Admit {
        connection: ConnectionId,
        ticket: Ticket,
        reserve: usize,
    },
    Connect {
        connection: ConnectionId,
        server: ServerId,
    },
    /// Delete all that was written of the job; it follows the order to fail it.
    DeleteFiles {
        job: JobId,
    },
    /// Drop the decoded bytes.
    Discard {
        ticket: Ticket,
    },
    /// Quit and close the connection.
    Disconnect {
        connection: ConnectionId,
    },
    /// The job has ended short of being complete; what there is stays where it is.
    FailJob {
        job: JobId,
        failure: Failure,
    },
    /// Ask for an article. `hedge`: although it is asked for elsewhere. `control`: although it is
    /// written, to see whether a server delivers anything; its bytes are discarded.
    Fetch {
        connection: ConnectionId,
        ticket: Ticket,
        id: MessageId,
        groups: Arc<[GroupName]>,
        limit: ByteCount,
        patience: Patience,
        hedge: bool,
        control: bool,
    },
    /// All parts are written: give the file its name.
    FinishFile {
        file: FileKey,
        layout: Layout,
    },
    /// Every file is whole: do what follows a download. `verified`: every byte passed a check.
    JobDownloaded {
        job: JobId,
        verified: bool,
    },
    /// Let the connection read.
    Lend {
        connection: ConnectionId,
        credit: Credit,
    },
    /// To be kept, so that after a restart the job goes on from there.
    Note(Note),
    /// Bring these to the disk, in place of all before. They claim more than is used, and so much may
    /// be used once they are there.
    Persist {
        number: u64,
        records: QuotaRecords,
    },
    /// Every article of the sample is settled.
    Probed {
        job: JobId,
        census: Census,
    },
    /// Articles want the connection: hang up at once.
    RecallErrand {
        errand: ErrandId,
    },
    /// Preallocate.
    Reserve {
        file: FileKey,
        size: u64,
    },
    /// Stop the connection's reading; it settles, and may ask again.
    Revoke {
        connection: ConnectionId,
    },
    /// Connect, for the errand alone; its end is told in any case.
    StartErrand {
        errand: ErrandId,
        server: ServerId,
    },
    /// Ask whether the article is there.
    Stat {
        connection: ConnectionId,
        ticket: Ticket,
        id: MessageId,
    },
    Tell(Notice),
    /// Write the decoded bytes at `offset`.
    Write {
        ticket: Ticket,
        file: FileKey,
        offset: u64,
    },
}

/// What lies in a job's files, as far as it is known to be good. Each note holds from the moment on
/// when the bytes it speaks of are on the disk themselves.
#[derive(Clone, Debug, PartialEq)]
pub enum Note {
    /// Nothing in the file is what it was taken for.
    Forgotten { file: FileKey },
    /// What may have been noted of the segment no longer holds: it is fetched anew.
    Reopened { key: SegmentKey },
    /// A good copy of the segment lies in its place.
    Written { key: SegmentKey, part: Part },
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Failure {
    Disk,
    /// So much is lost that nothing could repair it.
    Health {
        health: Permille,
        critical: Permille,
    },
    Incomplete,
    /// A step after the download failed.
    Processing(Cause),
    /// Articles are lost that an optional server may have, which could not be asked.
    ServersDown,
}

/// What a user may want to know.
#[derive(Clone, Debug, PartialEq)]
pub enum Notice {
    /// No server has a good copy under one id of a segment, and the NZB lists another.
    AlternateChosen {
        job: JobId,
        id: MessageId,
        before: MessageId,
    },
    ArticleLost {
        job: JobId,
        id: MessageId,
        verdict: Verdict,
    },
    ArticleRefused {
        job: JobId,
        id: MessageId,
        server: ServerId,
        why: String,
    },
    /// So much of the job is lost that nothing can repair it.
    BeyondRepair {
        job: JobId,
        health: Permille,
        critical: Permille,
        action: HealthAction,
    },
    CeilingLowered {
        server: ServerId,
        to: usize,
    },
    DiskPaused {
        /// None until [`Event::DiskReturned`](crate::Event::DiskReturned).
        again_in: Option<Duration>,
    },
    DiskResumed,
    /// Of one server, or of all together; without a time it lasts until the settings change.
    QuotaReached {
        server: Option<ServerId>,
        until: Option<UnixTime>,
    },
    /// There is something left of a quota that was reached.
    QuotaRenewed {
        server: Option<ServerId>,
    },
    /// Another rule of the timetable holds now, or none; until then, if it ever changes.
    ScheduleChanged {
        effect: Option<Effect>,
        until: Option<UnixTime>,
    },
    ServerRests {
        server: ServerId,
        trouble: Trouble,
        again_in: Duration,
    },
    ServerWorks {
        server: ServerId,
    },
}
