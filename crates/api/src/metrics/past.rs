//! [`PastSums`]: sums over the history, as the exporter of NZBGet shows them.

use std::collections::BTreeMap;

use crate::view::{Job, JobState, Mark};

/// Added up one job at a time, so that no list of all of them is needed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PastSums {
    pub jobs: u64,
    pub files: u64,
    pub remaining_files: u64,
    pub bytes: u64,
    pub downloaded: u64,
    pub articles: u64,
    pub good_articles: u64,
    pub failed_articles: u64,
    pub download_seconds: u64,
    pub post_seconds: u64,
    pub categories: BTreeMap<String, u64>,
    /// How many jobs ended in each way; there are fewer than two hundred ways.
    pub endings: Vec<(Ending, u64)>,
}

impl PastSums {
    /// How many jobs of a long history are summed up, the newest first: the sum is made in the
    /// daemon's loop.
    pub const MOST: usize = 10_000;

    /// `category` is one that is configured, or `other`: a client may invent any number of them.
    pub fn add(&mut self, job: &Job, category: &str) {
        self.jobs += 1;
        self.files += u64::from(job.files);
        self.remaining_files += u64::from(job.remaining_files);
        self.bytes += job.size;
        self.downloaded += job.downloaded;
        self.articles += u64::from(job.articles);
        self.good_articles += u64::from(job.good_articles);
        self.failed_articles += u64::from(job.failed_articles);
        self.download_seconds += job.download_seconds;
        self.post_seconds += job.post_seconds;
        *self.categories.entry(category.to_owned()).or_default() += 1;
        self.count(Ending::of(job));
    }

    fn count(&mut self, ending: Ending) {
        match self.endings.iter_mut().find(|(known, _)| *known == ending) {
            Some((_, count)) => *count += 1,
            None => self.endings.push((ending, 1)),
        }
    }
}

/// How a job ended: all that a dialect needs to find its own words for it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Ending {
    pub state: JobState,
    pub mark: Option<Mark>,
    pub has_failed_articles: bool,
    /// See [`Job::awaits_nzb`].
    pub awaits_nzb: bool,
    pub health: HealthClass,
}

impl Ending {
    pub fn of(job: &Job) -> Self {
        Self {
            state: job.state,
            mark: job.ended.as_ref().and_then(|ended| ended.mark),
            has_failed_articles: job.failed_articles > 0,
            awaits_nzb: job.awaits_nzb(),
            health: HealthClass::of(job.health, job.critical_health),
        }
    }
}

/// How much of a job is there, compared with what can be repaired.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum HealthClass {
    /// Less than its recovery files could repair.
    Critical,
    Reduced,
    Full,
}

impl HealthClass {
    /// Of a job's health and its critical health, both in thousandths.
    pub fn of(health: u16, critical: u16) -> Self {
        if health < critical {
            Self::Critical
        } else if health < 1000 {
            Self::Reduced
        } else {
            Self::Full
        }
    }
}
