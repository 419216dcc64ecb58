//! [`Control`]: the trait that the daemon implements and all dialects call; [`Refusal`]: its error.

use std::future::Future;
use std::time::Duration;

use bergamot_jobs::edit::EditRefusal;
use bergamot_types::{ByteRate, JobId, ServerId};
use thiserror::Error;

use crate::feeds::{Feed, FeedChoice, FeedError, FeedItem, FeedPreview, FeedRetry};
use crate::metrics::Measured;
use crate::newsgroup::{Group, GroupQuery, HeaderPage, HeaderQuery, PostJob, PostPage, PostQuery};
use crate::request::{
    DiskTest, Edit, JobFilter, ListKind, LogQuery, NewJob, NewServer, Part, Pause, ServerProbe,
    Setting,
};
use crate::targets::Target;
use crate::view::{
    Config, Disk, DiskSpeed, Explanation, File, Job, Listing, LogLine, Page, Quota, Readiness,
    Reload, Server, Status, Volume,
};

/// The daemon, as its control interfaces see it.
///
/// Every method waits for the daemon's loop, and those that change something also for the disk: an
/// answer is a promise.
pub trait Control: Send + Sync + 'static {
    fn status(&self) -> impl Future<Output = Result<Status, Refusal>> + Send;

    /// The queue, in its order.
    fn queue(&self, which: JobFilter) -> impl Future<Output = Result<Page<Job>, Refusal>> + Send;

    /// Jobs that ended, the newest first.
    fn history(&self, which: JobFilter) -> impl Future<Output = Result<Page<Job>, Refusal>> + Send;

    /// The same lists as far as they fit an answer at once, and what else is on them.
    fn list(
        &self,
        list: ListKind,
        which: JobFilter,
    ) -> impl Future<Output = Result<Listing, Refusal>> + Send;

    /// The current state of jobs of a listing. A job that has left the queue is returned as it ended; a job
    /// that was deleted without a trace, or is back in the queue, is left out.
    fn listed(
        &self,
        list: ListKind,
        jobs: Vec<JobId>,
    ) -> impl Future<Output = Result<Vec<Job>, Refusal>> + Send;

    /// One job, queued or ended.
    fn job(&self, id: JobId) -> impl Future<Output = Result<Job, Refusal>> + Send;

    /// The files of one job that is queued, or of all whose articles are read in.
    fn files(&self, job: Option<JobId>) -> impl Future<Output = Result<Vec<File>, Refusal>> + Send;

    /// Whose these are, by the numbers that `files` gave them.
    fn jobs_of_files(
        &self,
        files: Vec<u64>,
    ) -> impl Future<Output = Result<Vec<JobId>, Refusal>> + Send;

    /// When this returns, the job outlives the process and the power. One that was refused as a
    /// duplicate, or whose NZB cannot be read, is in the history under the id returned.
    fn add(&self, new: NewJob) -> impl Future<Output = Result<JobId, Refusal>> + Send;

    /// What became of each job, in the order asked.
    fn edit(
        &self,
        jobs: Vec<JobId>,
        edit: Edit,
    ) -> impl Future<Output = Result<Vec<Result<(), Refusal>>, Refusal>> + Send;

    /// Moves files of which nothing was downloaded yet into a new job right after theirs.
    fn split(
        &self,
        job: JobId,
        files: Vec<u32>,
        name: String,
    ) -> impl Future<Output = Result<JobId, Refusal>> + Send;

    /// Merges the other jobs, of which nothing was downloaded yet, into the first.
    fn merge(&self, jobs: Vec<JobId>) -> impl Future<Output = Result<(), Refusal>> + Send;

    fn pause(&self, pause: Pause) -> impl Future<Output = Result<(), Refusal>> + Send;

    fn resume(&self, parts: Vec<Part>) -> impl Future<Output = Result<(), Refusal>> + Send;

    /// Ends every pause set by a user after that time.
    fn resume_in(&self, pause: Duration) -> impl Future<Output = Result<(), Refusal>> + Send;

    /// The limit of all servers together; none lifts it.
    fn limit(&self, rate: Option<ByteRate>) -> impl Future<Output = Result<(), Refusal>> + Send;

    fn servers(&self) -> impl Future<Output = Result<Vec<Server>, Refusal>> + Send;

    fn switch_servers(
        &self,
        switches: Vec<(ServerId, bool)>,
    ) -> impl Future<Output = Result<(), Refusal>> + Send;

    /// Connects and logs in; the refusal names the failure.
    fn test_server(&self, probe: ServerProbe) -> impl Future<Output = Result<(), Refusal>> + Send;

    /// The same for a server as it is configured.
    fn check_server(&self, server: ServerId) -> impl Future<Output = Result<(), Refusal>> + Send;

    /// Writes a server into the configuration and takes it into use.
    fn add_server(&self, server: NewServer) -> impl Future<Output = Result<(), Refusal>> + Send;

    /// Writes keys of the configuration, all of them or none, and takes up what can be.
    fn save_config(
        &self,
        settings: Vec<Setting>,
    ) -> impl Future<Output = Result<(), Refusal>> + Send;

    /// Takes the server of that name out of both.
    fn remove_server(&self, name: String) -> impl Future<Output = Result<(), Refusal>> + Send;

    /// Of all servers together first, then of each.
    fn volumes(&self) -> impl Future<Output = Result<Vec<Volume>, Refusal>> + Send;

    /// Sets counters back: of one server or all, the custom one or all of them.
    fn reset_volumes(
        &self,
        server: Option<ServerId>,
        only_custom: bool,
    ) -> impl Future<Output = Result<(), Refusal>> + Send;

    /// What the scheduler does again and again, the soonest first.
    fn targets(&self) -> impl Future<Output = Result<Vec<Target>, Refusal>> + Send;

    /// The directories that jobs are written to.
    fn disks(&self) -> impl Future<Output = Result<Vec<Disk>, Refusal>> + Send;

    /// What one of them, or each, stands on now is the right disk.
    fn accept_disks(
        &self,
        path: Option<String>,
    ) -> impl Future<Output = Result<(), Refusal>> + Send;

    /// Writes to a directory that jobs are written to, and leaves nothing there.
    fn test_disk(&self, trial: DiskTest)
    -> impl Future<Output = Result<DiskSpeed, Refusal>> + Send;

    /// Of all servers together first, then of each that has one.
    fn quotas(&self) -> impl Future<Output = Result<Vec<Quota>, Refusal>> + Send;

    /// Why the queue, or one job, stands as it does.
    fn explain(
        &self,
        job: Option<JobId>,
    ) -> impl Future<Output = Result<Explanation, Refusal>> + Send;

    fn log(&self, query: LogQuery) -> impl Future<Output = Result<Vec<LogLine>, Refusal>> + Send;

    /// Appends a line of a client to the log.
    fn write_log(
        &self,
        kind: crate::view::LogKind,
        text: String,
    ) -> impl Future<Output = Result<(), Refusal>> + Send;

    fn clear_log(&self) -> impl Future<Output = Result<(), Refusal>> + Send;

    /// As it is in force, without its secrets.
    fn config(&self) -> impl Future<Output = Result<Config, Refusal>> + Send;

    /// Reads the configuration file again and applies what can be applied.
    fn reload(&self) -> impl Future<Output = Result<Reload, Refusal>> + Send;

    /// Scans the watch folder now; returns when the scan has ended.
    fn scan(&self) -> impl Future<Output = Result<(), Refusal>> + Send;

    fn feeds(&self) -> impl Future<Output = Result<Vec<Feed>, Refusal>> + Send;

    /// What a feed offers just now, and what would become of it; nothing changes by that.
    fn feed_items(
        &self,
        feed: FeedChoice,
    ) -> impl Future<Output = Result<Vec<FeedItem>, Refusal>> + Send;

    /// The same for a feed that is not configured.
    fn preview_feed(
        &self,
        trial: FeedPreview,
    ) -> impl Future<Output = Result<Vec<FeedItem>, Refusal>> + Send;

    /// Reads one feed or all of them now, before they are due; returns when that has begun.
    fn fetch_feeds(
        &self,
        feed: Option<FeedChoice>,
    ) -> impl Future<Output = Result<(), Refusal>> + Send;

    /// Tries again what was given up of a feed: items, and jobs whose NZB did not come.
    fn retry_feed(
        &self,
        feed: FeedChoice,
    ) -> impl Future<Output = Result<FeedRetry, Refusal>> + Send;

    /// What went wrong, the newest first.
    fn feed_errors(&self) -> impl Future<Output = Result<Vec<FeedError>, Refusal>> + Send;

    /// What was downloaded, as RSS.
    fn rss(&self) -> impl Future<Output = Result<String, Refusal>> + Send;

    /// Groups that a server has, by name.
    fn groups(
        &self,
        query: GroupQuery,
    ) -> impl Future<Output = Result<Page<Group>, Refusal>> + Send;

    /// Headers of a group, which is kept fresh from then on.
    fn headers(
        &self,
        query: HeaderQuery,
    ) -> impl Future<Output = Result<HeaderPage, Refusal>> + Send;

    /// Posts of a group, made of its headers.
    fn posts(&self, query: PostQuery) -> impl Future<Output = Result<PostPage, Refusal>> + Send;

    /// Downloads a post, as [`Control::add`] does an NZB.
    fn queue_post(&self, post: PostJob) -> impl Future<Output = Result<JobId, Refusal>> + Send;

    /// All there is to measure.
    fn measure(&self) -> impl Future<Output = Result<Measured, Refusal>> + Send;

    /// Whether it can do its work.
    fn readiness(&self) -> impl Future<Output = Result<Readiness, Refusal>> + Send;

    fn shut_down(&self) -> impl Future<Output = Result<(), Refusal>> + Send;
}

/// Why the daemon did not do what it was asked.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
pub enum Refusal {
    #[error("there is no job {0}")]
    NoSuchJob(JobId),
    #[error("there is no file {0}")]
    NoSuchFile(u64),
    #[error("there is no feed {0}")]
    NoSuchFeed(String),
    #[error("there is no group {0}")]
    NoSuchGroup(String),
    #[error("there is no option {0}")]
    NoSuchOption(String),
    #[error("there is no post {0}")]
    NoSuchPost(String),
    #[error("there is no server {0}")]
    NoSuchServer(u16),
    /// Nothing is fetched from there.
    #[error("{0}")]
    ForbiddenUrl(String),
    /// It cannot be done to a job in its state.
    #[error("{0}")]
    Impossible(String),
    /// What was given cannot be used.
    #[error("{0}")]
    Invalid(String),
    /// An option of the configuration that cannot be changed from here.
    #[error("{option} cannot be set: {why}")]
    NotSettable { option: String, why: String },
    /// A news server rejects the login, or requires one.
    #[error("{0}")]
    ServerLogin(String),
    /// The disk or a server is in the way; it may work later.
    #[error("{0}")]
    Unavailable(String),
    /// bergamot has no such thing (yet).
    #[error("{0} is not there")]
    Unsupported(&'static str),
    /// The configuration file.
    #[error("{0}")]
    Unwritable(String),
    #[error("the daemon is stopping")]
    Stopping,
}

impl From<EditRefusal> for Refusal {
    fn from(refusal: EditRefusal) -> Self {
        match refusal {
            EditRefusal::NoSuchJob(job) => Self::NoSuchJob(job),
            EditRefusal::NoSuchFile(file) => Self::NoSuchFile(file.into()),
            EditRefusal::Unsupported(what) => Self::Unsupported(what),
            EditRefusal::NoName
            | EditRefusal::NoJobs
            | EditRefusal::OneJob
            | EditRefusal::NoFiles => Self::Invalid(refusal.to_string()),
            _ => Self::Impossible(refusal.to_string()),
        }
    }
}
