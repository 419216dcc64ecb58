//! Sums over the history, as the exporter of NZBGet makes them.

use std::collections::BTreeMap;

use crate::nzbget::Outcome;
use crate::view::Job;

/// Made of one job at a time, so that no list of all of them is needed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PastSums {
    pub(super) jobs: u64,
    pub(super) files: u64,
    pub(super) remaining_files: u64,
    pub(super) bytes: u64,
    pub(super) downloaded: u64,
    pub(super) articles: u64,
    pub(super) good_articles: u64,
    pub(super) failed_articles: u64,
    pub(super) download_seconds: u64,
    pub(super) post_seconds: u64,
    pub(super) categories: BTreeMap<String, u64>,
    pub(super) statuses: BTreeMap<(String, String), u64>,
    pub(super) par: BTreeMap<String, u64>,
    pub(super) unpack: BTreeMap<String, u64>,
}

impl PastSums {
    /// How many jobs of a long history are looked at, the newest first: a loop that downloads must not
    /// stand still for those who only count.
    pub const MOST: usize = 10_000;

    /// A category that nobody configured is `other`, for anybody may make one up.
    pub fn add(&mut self, job: &Job, category: &str) {
        let outcome = Outcome::of(job);
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
        let status = outcome.status(job).to_ascii_lowercase();
        let (status, reason) = status.split_once('/').unwrap_or((&status, ""));
        *self.statuses.entry((status.to_owned(), reason.to_owned())).or_default() += 1;
        *self.categories.entry(category.to_owned()).or_default() += 1;
        *self.par.entry(outcome.par.to_ascii_lowercase()).or_default() += 1;
        *self.unpack.entry(outcome.unpack.to_ascii_lowercase()).or_default() += 1;
    }
}
