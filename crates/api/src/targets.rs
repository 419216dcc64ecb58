//! [`Target`]: the view of one recurring activity of the scheduler.

use bergamot_types::UnixTime;
use serde::Serialize;

#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Target {
    pub kind: TargetKind,
    /// Of which feed, group, server or job, where there are several.
    pub subject: Option<String>,
    pub enabled: bool,
    pub running: bool,
    /// Between targets that are due together the higher goes first.
    pub priority: i32,
    /// None for what is done once.
    pub interval_ms: Option<u64>,
    /// None while it runs or is switched off.
    #[serde(with = "crate::wire::optional_time")]
    pub next_due: Option<UnixTime>,
    pub last_result: LastResult,
    #[serde(with = "crate::wire::optional_time")]
    pub last_run: Option<UnixTime>,
    /// In a row.
    pub failures: u32,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TargetKind {
    /// Whether the current job is still the current one.
    CurrentJob,
    Feed,
    Group,
    /// Jobs that stay in the history because the clock is in doubt.
    History,
    /// Journals that could not be written.
    Journals,
    /// Jobs that could not be read in.
    Loading,
    /// Whether a waiting job is there.
    Probe,
    Progress,
    Rate,
    /// Records that could not be written.
    Records,
    /// A job that waits for a time.
    Rest,
    /// The progress at a terminal or in the log.
    Screen,
    Server,
    /// The room on the disks.
    Storage,
    /// The NZB of a job.
    Url,
    WatchFolder,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LastResult {
    Failed,
    Never,
    Ok,
}
