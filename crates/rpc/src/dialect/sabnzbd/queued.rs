//! [`Slot`]: a job of the queue with SABnzbd's field names.

use bergamot_api::view::{Job, JobState};
use bergamot_api::wire::is_password;
use bergamot_queue::Stage;
use bergamot_types::UnixTime;
use serde::Serialize;

use crate::dialect::sabnzbd::format;
use crate::dialect::sabnzbd::params::{Params, jobs};
use crate::dialect::sabnzbd::queue_edit::unpack_options;

/// All fields of a slot that clients read; some require every one.
#[derive(Serialize)]
pub(super) struct Slot<'a> {
    index: usize,
    nzo_id: String,
    unpackopts: &'a str,
    priority: &'static str,
    script: &'static str,
    filename: &'a str,
    labels: [&'static str; 0],
    password: &'static str,
    cat: &'a str,
    mbleft: String,
    mb: String,
    size: String,
    sizeleft: String,
    percentage: String,
    mbmissing: String,
    direct_unpack: Option<&'static str>,
    status: &'static str,
    timeleft: String,
    avg_age: String,
    time_added: i64,
}

/// What is the same for all slots of an answer.
pub(super) struct Scene {
    pub(super) now: UnixTime,
    pub(super) rate: u64,
}

impl<'a> Slot<'a> {
    /// `ahead` is what has to come before the job is complete, with what it lacks itself.
    pub(super) fn of(job: &'a Job, index: usize, ahead: u64, scene: &Scene) -> Self {
        let has_password = job.parameters.iter().any(|parameter| is_password(&parameter.name));
        Self {
            index,
            nzo_id: format::nzo_id(job.id),
            unpackopts: unpack_options(job),
            priority: format::priority_name(job.priority),
            script: "None",
            filename: &job.name,
            labels: [],
            password: if has_password { "***" } else { "" },
            cat: category_of(job),
            mbleft: format::mebibytes(left(job)),
            mb: format::mebibytes(job.size),
            size: format::units_of_bytes(job.size),
            sizeleft: format::units_of_bytes(left(job)),
            percentage: format::percentage(job.size, left(job)),
            mbmissing: format::mebibytes(missing(job)),
            direct_unpack: None,
            status: status(job),
            timeleft: format::time_left(ahead, scene.rate),
            avg_age: format::age(job.oldest_post, scene.now),
            time_added: job.added.0,
        }
    }
}

/// SABnzbd has no category for those without one.
pub(super) fn category_of(job: &Job) -> &str {
    job.category.as_deref().filter(|category| !category.is_empty()).unwrap_or("*")
}

/// Recovery files that are held back do not count; those of a paused job do.
pub(super) fn left(job: &Job) -> u64 {
    if job.paused { job.remaining } else { job.remaining.saturating_sub(job.paused_remaining) }
}

/// By the average size of its articles.
fn missing(job: &Job) -> u64 {
    let failed = u128::from(job.size) * u128::from(job.failed_articles);
    let missing = failed.checked_div(u128::from(job.articles)).unwrap_or(0);
    u64::try_from(missing).unwrap_or(u64::MAX)
}

/// Jobs in post-processing are listed with the history there.
pub(super) fn is_in_queue(job: &Job) -> bool {
    matches!(job.state, JobState::Queued | JobState::Downloading | JobState::Fetching)
}

/// Sonarr fails on any other word than those of its list, so all of them are written here.
pub(super) fn status(job: &Job) -> &'static str {
    match job.state {
        JobState::Fetching => "Grabbing",
        JobState::Queued | JobState::Downloading if job.paused => "Paused",
        JobState::Queued | JobState::Downloading if job.active > 0 => "Downloading",
        JobState::Queued | JobState::Downloading => "Queued",
        JobState::Post(Stage::Verifying) => "Verifying",
        JobState::Post(Stage::Repairing) => "Repairing",
        JobState::Post(Stage::Unpacking) => "Extracting",
        JobState::Post(Stage::Moving) => "Moving",
        JobState::Post(Stage::Scripts) => "Running",
        JobState::Completed { .. } => "Completed",
        JobState::Failed(_) | JobState::Deleted(_) => "Failed",
    }
}

/// Which jobs of a list are wanted.
pub(super) struct Filter {
    search: String,
    categories: Vec<String>,
    statuses: Vec<String>,
    priorities: Vec<i32>,
    jobs: Option<Vec<bergamot_types::JobId>>,
}

impl Filter {
    pub(super) fn of(params: &Params) -> Self {
        let lower = |name| params.list(name).into_iter().map(str::to_lowercase).collect::<Vec<_>>();
        let mut categories = lower("cat");
        categories.extend(lower("category"));
        let numbers = params.list("priority").into_iter().filter_map(|text| text.parse().ok());
        let ids = params.list("nzo_ids");
        Self {
            search: params.text("search").to_lowercase(),
            categories,
            statuses: lower("status"),
            priorities: numbers.collect(),
            jobs: (!ids.is_empty()).then(|| jobs(&ids)),
        }
    }

    pub(super) fn takes(&self, job: &Job, status: &str) -> bool {
        let in_list = |list: &[String], text: &str| {
            list.is_empty() || list.iter().any(|known| *known == text.to_lowercase())
        };
        let number = format::priority_number(job.priority);
        job.name.to_lowercase().contains(&self.search)
            && in_list(&self.categories, category_of(job))
            && in_list(&self.statuses, status)
            && (self.priorities.is_empty() || self.priorities.contains(&number))
            && self.jobs.as_ref().is_none_or(|jobs| jobs.contains(&job.id))
    }
}

/// `start` and `limit`; no limit is all of them, and so is 0.
pub(super) struct Window {
    pub(super) start: usize,
    pub(super) limit: usize,
}

impl Window {
    pub(super) fn of(params: &Params) -> Self {
        let start = params.number("start").unwrap_or(0);
        Self { start, limit: params.number("limit").unwrap_or(0) }
    }

    pub(super) fn has(&self, place: usize) -> bool {
        let most = if self.limit == 0 { usize::MAX } else { self.limit };
        (self.start..self.start.saturating_add(most)).contains(&place)
    }
}
