//! [`Event`]: everything the main loop reacts to, and the channel it comes over: [`EventSender`] is held by all threads
//! and tasks, [`EventReceiver`] by the main loop.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bergamot_engine::ConnectionId;
use bergamot_jobs::Record;
use bergamot_jobs::machine::StoreFailure;
use bergamot_net::{Buffer, Report};
use bergamot_types::JobId;
use bergamot_writer::Done;
use tokio::sync::mpsc;

use crate::control::call::Call;
use crate::disk::directories::Opened;
use crate::feeds::poll::FeedEvent;
use crate::intake::nzb_to_job::NzbReadError;
use crate::intake::url_client::Fetched;
use crate::intake::url_response::FetchedNzb;
use crate::jobs::merge_split::{Merging, Splitting};
use crate::newsgroups::connections::SessionReport;
use crate::spool::load::Loaded;
use crate::spool::load_error::LoadError;
use bergamot_jobs::admission::Survey;
use bergamot_jobs::probes::JobSample;

#[derive(Debug)]
pub(crate) enum Event {
    /// An NZB is in the spool.
    Accepted(Box<Record>),
    /// A request of a control interface.
    Called(Call),
    /// A job that is gone has left the disk, or could not.
    Cleared {
        job: JobId,
        and_record: bool, // not only its files
        result: Result<(), StoreFailure>,
    },
    Connection {
        connection: ConnectionId,
        report: Report,
    },
    Disk(Done<Buffer>),
    Feed(FeedEvent),
    /// An NZB came from its address, or did not.
    Fetched {
        job: JobId,
        fetched: Box<Fetched<FetchedNzb>>,
    },
    /// The destination has these jobs, of which the records say that they are queued.
    FoundDelivered(Vec<JobId>),
    /// A session with a server has answered a request, or has ended.
    Session(Box<SessionReport>),
    /// The journal of a job holds everything noted before, if it could be written: that task is done.
    JournalWritten(bergamot_post::Ticket),
    /// All journals can be written to again, or one could not be.
    Journals(Result<(), StoreFailure>),
    /// A job is ready to be downloaded, or cannot be.
    Loaded {
        job: JobId,
        number: u64, // of the attempt
        loaded: Loaded,
    },
    /// All NZBs of jobs that are to be one were read, or could not be.
    Merged(Box<Merging>),
    /// The directories of a job are open, or cannot be opened.
    Opened {
        number: u64,
        opened: Box<Result<Opened, LoadError>>,
    },
    /// What is used of the quotas is on disk, or could not be written.
    Persisted {
        number: u64,
        result: Result<(), StoreFailure>,
    },
    /// A record is on disk, or could not be written.
    Recorded {
        job: JobId,
        is_over: bool, // by that record
        result: Result<(), StoreFailure>,
    },
    /// The journal of a job no longer claims what was taken back, or was given up.
    Retracted {
        job: JobId,
        number: u64,
    },
    /// The configuration is to be read again.
    ReloadWanted,
    /// A sample of the articles of a waiting job, to be checked on the servers.
    SampleDrawn {
        job: JobId,
        drawn: Result<JobSample, NzbReadError>,
    },
    /// A scan of the watch folder ended; the next may wait this long.
    Scanned {
        next: Duration,
    },
    /// Nothing is left to be done for these jobs, which had been completed.
    Settled(Vec<JobId>),
    /// Files of a job were split off into a new one, or could not be.
    Split(Box<Splitting>),
    Stop,
    /// The volumes were surveyed.
    Surveyed(Box<Survey>),
    /// A thread or a task that the daemon cannot do without has panicked.
    ThreadDied,
    /// There may be something new in the watch folder.
    WatchFolderTouched,
}

/// Unbounded, for what comes in is bounded where it comes from: connections by the engine's budget,
/// the disk by the same, the watch thread by the pace of its scans.
pub(crate) type EventReceiver = mpsc::UnboundedReceiver<Event>;

#[derive(Clone, Debug)]
pub(crate) struct EventSender {
    sender: mpsc::UnboundedSender<Event>,
    /// The first thread or task that panicked; readable while the main loop stops.
    died: Arc<OnceLock<String>>,
}

impl EventSender {
    pub(crate) fn new() -> (Self, EventReceiver) {
        let (sender, received) = mpsc::unbounded_channel();
        (Self { sender, died: Arc::default() }, received)
    }

    /// A thread or a task that the daemon cannot do without has panicked: the main loop ends.
    pub(crate) fn report_death(&self, name: &str) {
        let _ = self.died.set(name.to_owned()); // only the first is reported
        self.send(Event::ThreadDied);
    }

    /// Which thread or task the daemon ends for.
    pub(crate) fn died(&self) -> Option<&str> {
        self.died.get().map(String::as_str)
    }

    /// Whether the main loop has ended.
    pub(crate) fn is_closed(&self) -> bool {
        self.sender.is_closed()
    }

    pub(crate) fn send(&self, event: Event) {
        // Sent in vain when the main loop has ended.
        let _ = self.sender.send(event);
    }
}
