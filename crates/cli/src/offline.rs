//! [`Offline`]: what some commands need of the daemon's crate while no daemon runs.
//!
//! The command line does not depend on that crate; the program implements this trait.

use bergamot_config::Config;

pub trait Offline {
    /// Runs a daemon that reads the feeds that are due and ends. Returns the names of the feeds whose servers
    /// refuse the login.
    fn run_feeds(&self, config: Config) -> anyhow::Result<Vec<String>>;

    /// As long as the spool is open no daemon can run on it.
    fn open_spool(&self, config: &Config) -> anyhow::Result<Box<dyn OfflineSpool>>;
}

/// The spool of a daemon that does not run.
pub trait OfflineSpool {
    /// Adds a job for the next start, behind all others of its priority.
    fn add(&self, job: &OfflineJob, nzb: &[u8]) -> anyhow::Result<()>;
}

/// The options of such a job besides its NZB.
#[derive(Clone, Debug)]
pub struct OfflineJob {
    pub file_name: String,
    /// Its source, to recognise it again.
    pub source: String,
    pub category: Option<String>,
    pub priority: i32,
    pub paused: bool,
}
