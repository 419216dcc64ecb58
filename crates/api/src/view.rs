//! The views of the daemon that [`Control`](crate::Control) returns: plain values, owned by the caller.
//!
//! Their serialised form is that of the native dialect; the other dialects are written from the same values. Sizes are in
//! bytes. Times are seconds since 1970 here and RFC 3339 on the wire.

use std::time::Duration;

pub use bergamot_jobs::explain::{Evidence, Explanation};
pub use bergamot_queue::DupeMode;
use bergamot_queue::{Cause, Deletion, Outlook, Stage};
use bergamot_types::{JobId, ServerId, UnixTime};
use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize, Serializer};

/// A part of a list, and how long the whole is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Page<T> {
    pub total: usize,
    pub items: Vec<T>,
}

/// A list that may be long: its first jobs as they are, and the ids of those behind them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Listing {
    /// Of the whole list, of which this may be a part.
    pub total: usize,
    pub first: Vec<Job>,
    pub rest: Vec<JobId>,
}

impl Listing {
    /// So many jobs are seen at one moment. Some hundred microseconds of the daemon's loop, and as many
    /// kilobytes of views.
    pub const AT_ONCE: usize = 128;
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Status {
    pub version: String,
    #[serde(with = "crate::wire::time")]
    pub now: UnixTime,
    #[serde(with = "crate::wire::time")]
    pub started: UnixTime,
    /// Of this start of the machine and of the daemon; events are numbered within it.
    pub boot: String,
    pub last_event: u64,
    pub rate: u64,
    pub average_rate: u64,
    /// Set by a user, a timetable or the configuration; none is unlimited.
    pub limit: Option<u64>,
    pub jobs: usize,
    pub jobs_in_post: usize,
    pub urls: usize,
    pub remaining: u64,
    /// Of jobs that run even when everything is paused.
    pub forced_remaining: u64,
    pub paused_remaining: u64,
    /// Since the start.
    pub downloaded: u64,
    pub downloaded_today: u64,
    pub downloaded_this_month: u64,
    /// Since the start, while something was being downloaded.
    pub download_seconds: u64,
    /// Held in memory between the network and the disk.
    pub cached: u64,
    pub connections: usize,
    pub download_paused: Option<Paused>,
    pub post_paused: Option<Paused>,
    pub scan_paused: Option<Paused>,
    pub quota_reached: bool,
    /// A feed is being read.
    pub feed_active: bool,
    /// Nothing is being downloaded, for any reason.
    pub standing_by: bool,
    pub complete_disk: Disk,
    pub incomplete_disk: Disk,
    /// What was repaired or set aside at the start, and what is wrong now.
    pub warnings: Vec<String>,
}

/// A pause: what caused it and what ends it.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Paused {
    /// A user (with dialect and name), the timetable, the quota or the disk.
    pub by: String,
    #[serde(with = "crate::wire::time")]
    pub since: UnixTime,
    /// When it ends by itself.
    #[serde(with = "crate::wire::optional_time")]
    pub until: Option<UnixTime>,
    /// What ends it.
    pub ends: String,
}

impl From<&bergamot_jobs::Paused> for Paused {
    fn from(paused: &bergamot_jobs::Paused) -> Self {
        let bergamot_jobs::Paused { by, since, until } = paused;
        Self { by: by.clone(), since: *since, until: *until, ends: paused.ends().to_owned() }
    }
}

#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize)]
pub struct Disk {
    pub path: String,
    pub free: u64,
    pub total: u64,
    /// What is kept free of it.
    pub reserve: u64,
    /// Why nothing can be written there.
    pub trouble: Option<String>,
}

/// What a disk took, and how long that was.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct DiskSpeed {
    pub written: u64,
    pub took: Duration,
}

/// A job, queued or ended.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Job {
    #[serde(with = "crate::wire::job_id")]
    pub id: JobId,
    pub name: String,
    /// Of the NZB as it came.
    pub nzb_name: String,
    /// Shown without the keys it may hold.
    #[serde(serialize_with = "crate::wire::optional_url::serialize")]
    pub url: Option<String>,
    pub category: Option<String>,
    pub priority: i32,
    pub state: JobState,
    /// Why the disk does not take it yet: a code and a sentence.
    pub waits_for: Option<String>,
    pub paused: bool,
    #[serde(with = "crate::wire::time")]
    pub added: UnixTime,
    pub size: u64,
    pub remaining: u64,
    /// The share of `remaining` that is not scheduled: the job is paused, or recovery files are held
    /// back.
    pub paused_remaining: u64,
    pub downloaded: u64,
    pub files: u32,
    pub remaining_files: u32,
    pub remaining_par2_files: u32,
    pub articles: u32,
    pub good_articles: u32,
    pub failed_articles: u32,
    /// Requests under way.
    pub active: u32,
    /// In thousandths.
    pub health: u16,
    pub critical_health: u16,
    /// The result of the probe of a sample of its articles, while it waited.
    pub probe: Option<Probe>,
    #[serde(with = "crate::wire::optional_time")]
    pub oldest_post: Option<UnixTime>,
    #[serde(with = "crate::wire::optional_time")]
    pub newest_post: Option<UnixTime>,
    /// Where its files are while it is being downloaded.
    pub working_directory: Option<String>,
    /// Where its files are, or will be.
    pub destination: String,
    pub dupe_key: String,
    pub dupe_score: i32,
    pub dupe_mode: DupeMode,
    pub parameters: Vec<Parameter>,
    pub servers: Vec<ServerArticles>,
    /// Of the stage it is in, in thousandths.
    pub stage_progress: u16,
    pub stage_seconds: u64,
    pub download_seconds: u64,
    pub post_seconds: u64,
    pub ended: Option<Ended>,
}

impl Job {
    /// Whether it is still a URL whose NZB has not been fetched, or ended as one.
    pub fn awaits_nzb(&self) -> bool {
        let never_came = self.ended.is_some() && self.url.is_some() && self.files == 0;
        self.state == JobState::Fetching || never_came
    }
}

/// How many articles of a sample were there.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
pub struct Probe {
    #[serde(serialize_with = "crate::wire::outlook")]
    pub outlook: Outlook,
    pub present: u32,
    pub missing: u32,
    /// Articles for which no server could be asked that is not metered.
    pub unknown: u32,
    #[serde(with = "crate::wire::time")]
    pub at: UnixTime,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "is", content = "what")]
pub enum JobState {
    Queued,
    Downloading,
    /// An NZB that is still being fetched from its URL.
    Fetching,
    Post(Stage),
    Completed {
        verified: bool,
    },
    Failed(Cause),
    Deleted(Deletion),
}

/// How it came out.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ended {
    #[serde(with = "crate::wire::time")]
    pub at: UnixTime,
    /// A code and a sentence, where it failed.
    pub reason: Option<String>,
    /// Of a completed job, which check its files have passed: `none`, `crc` (each article as it came) or
    /// `read` (also each file, read back from the disk).
    pub check: Option<&'static str>,
    pub mark: Option<Mark>,
    pub hidden: bool,
    /// What is missing can be tried for again.
    pub can_retry: bool,
    /// Some of the articles that could not be had.
    pub missing: Vec<String>,
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mark {
    Bad,
    Good,
    Success,
}

impl From<Mark> for bergamot_jobs::Mark {
    fn from(mark: Mark) -> Self {
        match mark {
            Mark::Bad => Self::Bad,
            Mark::Good => Self::Good,
            Mark::Success => Self::Success,
        }
    }
}

impl From<Parameter> for bergamot_jobs::edit::Edit {
    fn from(Parameter { name, value }: Parameter) -> Self {
        Self::SetParameter { name, value }
    }
}

#[derive(Clone, Debug, Deserialize, Eq, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Parameter {
    pub name: String,
    pub value: String,
}

impl Serialize for Parameter {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Self { name, value } = self;
        let mut fields = to.serialize_struct("Parameter", 2)?;
        fields.serialize_field("name", name)?;
        fields.serialize_field("value", crate::wire::shown_value(name, value))?;
        fields.end()
    }
}

#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct ServerArticles {
    #[serde(with = "crate::wire::server_id")]
    pub server: ServerId,
    pub good: u32,
    pub failed: u32,
}

/// A file of a job that is queued.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct File {
    /// The id of the NZBGet dialect, computed from the job and the index.
    pub id: u64,
    #[serde(with = "crate::wire::job_id")]
    pub job: JobId,
    /// The index in the NZB.
    pub index: u32,
    pub name: String,
    /// The name is that of the articles, not guessed from the subject.
    pub name_confirmed: bool,
    pub subject: String,
    pub size: u64,
    pub remaining: u64,
    pub paused: bool,
    #[serde(with = "crate::wire::optional_time")]
    pub posted: Option<UnixTime>,
    pub active: u32,
    pub state: FileState,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileState {
    Wanted,
    /// Recovery data that is fetched only if it is needed.
    HeldBack,
    Finishing,
    Whole,
    Incomplete,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Server {
    #[serde(with = "crate::wire::server_id")]
    pub id: ServerId,
    pub name: String,
    pub host: String,
    pub port: u16,
    pub tls: bool,
    pub active: bool,
    pub level: u16,
    pub connections: usize,
    /// What the server turned out to allow, where that is less.
    pub learned_connections: Option<usize>,
    pub open: usize,
    pub working: usize,
    pub rate: u64,
    pub latency_ms: Option<u64>,
    /// Why no request is sent to it now.
    pub trouble: Option<String>,
    #[serde(with = "crate::wire::optional_time")]
    pub rests_until: Option<UnixTime>,
    pub downloaded: u64,
    pub good_articles: u64,
    pub failed_articles: u64,
}

/// What came from a server, over time. The rings are as long as NZBGet's.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Volume {
    /// None is all of them together.
    #[serde(with = "crate::wire::optional_server_id")]
    pub server: Option<ServerId>,
    pub now: i64,
    /// In days since 1970.
    pub first_day: i64,
    pub total: u64,
    pub custom: u64,
    pub custom_since: i64,
    pub reset: i64,
    pub second: usize,
    pub minute: usize,
    pub hour: usize,
    pub day: usize,
    pub seconds: Vec<u64>,
    pub minutes: Vec<u64>,
    pub hours: Vec<u64>,
    pub days: Vec<u64>,
    pub articles: Vec<DayArticles>,
}

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize)]
pub struct DayArticles {
    pub good: u64,
    pub failed: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Quota {
    /// None is all of them together.
    pub server: Option<String>,
    /// `day`, `month` or `ever`.
    pub period: String,
    pub limit: u64,
    pub used: u64,
    pub reached: bool,
    #[serde(with = "crate::wire::optional_time")]
    pub renews: Option<UnixTime>,
}

#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct LogLine {
    pub id: u64,
    pub kind: LogKind,
    #[serde(with = "crate::wire::time")]
    pub at: UnixTime,
    pub text: String,
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LogKind {
    Debug,
    Detail,
    Info,
    Warning,
    Error,
}

/// The configuration in force, without secrets.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Config {
    /// Every key with its value as text, in the order of the file.
    pub values: Vec<ConfigValue>,
    /// The values that other dialects show.
    pub facts: Facts,
}

#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct ConfigValue {
    pub key: String,
    pub value: String,
    pub secret: bool,
    /// Takes effect only after a restart.
    pub needs_restart: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Facts {
    pub binary: String,
    pub config_file: String,
    pub main_directory: String,
    pub destination: String,
    pub incomplete: String,
    pub watch: String,
    pub state: String,
    pub temporary: String,
    pub log_file: String,
    pub keep_history_days: u32,
    pub watch_interval: u64,
    pub rate_limit: u64,
    pub daily_quota: u64,
    pub monthly_quota: u64,
    pub quota_start_day: u8,
    pub reserve: u64,
    pub health_action: String,
    pub duplicates_refused: bool,
    pub control_address: String,
    pub control_port: u16,
    pub servers: Vec<ServerFacts>,
    pub categories: Vec<CategoryFacts>,
    pub feeds: Vec<FeedFacts>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ServerFacts {
    pub name: String,
    pub active: bool,
    pub level: u16,
    pub optional: bool,
    pub group: u32,
    pub host: String,
    pub port: u16,
    pub tls: bool,
    pub has_username: bool,
    pub join_group: bool,
    /// Empty is any.
    pub cipher: String,
    pub certificates_checked: bool,
    /// `auto`, `ipv4` or `ipv6`.
    pub ip_version: String,
    pub connections: usize,
    pub retention: u32,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CategoryFacts {
    pub name: String,
    /// As configured; empty where it is the name below the common destination.
    pub destination: String,
    pub aliases: Vec<String>,
    /// Of new jobs.
    pub priority: i32,
}

/// A feed as other dialects show it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FeedFacts {
    pub name: String,
    /// Without the keys it may hold.
    pub url: String,
    pub rules: String,
    /// None follows the pace of the feed.
    pub interval_minutes: Option<u64>,
    pub backlog: bool,
    pub paused: bool,
    pub category: String,
    pub priority: i32,
}

/// Whether the daemon can work. An answer implies that the queue is loaded.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Readiness {
    Ready,
    NoServers,
    StateUnwritable,
    /// This thread or task has panicked, and the daemon ends.
    Broken {
        thread: String,
    },
}

/// What a reload did.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize)]
pub struct Reload {
    pub applied: Vec<String>,
    pub needs_restart: Vec<String>,
}
