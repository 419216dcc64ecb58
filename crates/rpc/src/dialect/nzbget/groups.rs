//! `listgroups`, and the older `postqueue` and `urlqueue`, which are parts of it.

use bergamot_api::Control;
use bergamot_api::request::{JobFilter, ListKind};
use bergamot_api::view::{Job, JobState};
use bergamot_queue::Stage;
use serde::{Serialize, Serializer};

use crate::call::Call;
use crate::call::fault::Fault;
use crate::codec::reply::Reply;
use crate::dialect::nzbget::fields::{Fields, narrow, size};
use crate::dialect::nzbget::job_fields;
use crate::dialect::nzbget::outcome::Outcome;

struct Group<'a>(&'a Job);

impl Serialize for Group<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let job = self.0;
        let mut fields = Fields::of(to);
        fields
            .put("FirstID", job.id.0)
            .put("LastID", job.id.0)
            .put_size(size!("RemainingSize"), job.remaining)
            .put_size(size!("PausedSize"), job.paused_remaining)
            .put("RemainingFileCount", narrow(job.remaining_files))
            .put("RemainingParCount", narrow(job.remaining_par2_files))
            .put("MinPriority", job.priority)
            .put("MaxPriority", job.priority)
            .put("ActiveDownloads", narrow(job.active))
            .put("Status", status(job))
            .put("PostInfoText", stage_of(job).map_or("NONE".to_owned(), |stage| stage.to_string()))
            .put("PostStageProgress", job.stage_progress)
            .put("PostStageTimeSec", narrow(job.stage_seconds))
            .put("Log", [(); 0]);
        job_fields::put(&mut fields, job, &Outcome::of(job));
        fields.end()
    }
}

/// NZBGet's word for where a job is.
fn status(job: &Job) -> &'static str {
    match job.state {
        JobState::Post(Stage::Verifying) => "VERIFYING_SOURCES",
        JobState::Post(Stage::Repairing) => "REPAIRING",
        JobState::Post(Stage::Unpacking) => "UNPACKING",
        JobState::Post(Stage::Moving) => "MOVING",
        JobState::Post(Stage::Scripts) => "EXECUTING_SCRIPT",
        JobState::Completed { .. } | JobState::Failed(_) | JobState::Deleted(_) => "PP_FINISHED",
        JobState::Fetching => "FETCHING",
        JobState::Queued | JobState::Downloading if job.active > 0 => "DOWNLOADING",
        JobState::Queued | JobState::Downloading if is_paused(job) => "PAUSED",
        JobState::Queued | JobState::Downloading => "QUEUED",
    }
}

fn is_paused(job: &Job) -> bool {
    job.paused || (job.paused_remaining > 0 && job.paused_remaining == job.remaining)
}

fn stage_of(job: &Job) -> Option<Stage> {
    match job.state {
        JobState::Post(stage) => Some(stage),
        _ => None,
    }
}

pub(crate) async fn list_groups<C: Control>(call: Call<'_, C>) -> Result<Reply, Fault> {
    call.answer_jobs(
        ListKind::Queue,
        JobFilter::default(),
        |_| true,
        |format, text, job| {
            format.append(text, &Group(job));
        },
    )
    .await
}

struct PostJob<'a>(&'a Job);

impl Serialize for PostJob<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let job = self.0;
        let label = stage_of(job).map(|stage| stage.to_string()).unwrap_or_default();
        let mut fields = Fields::of(to);
        fields
            .put("ID", job.id.0)
            .put("InfoName", &job.name)
            .put("ParFilename", "")
            .put("Stage", status(job))
            .put("ProgressLabel", label)
            .put("FileProgress", job.stage_progress)
            .put("StageProgress", job.stage_progress)
            .put("TotalTimeSec", narrow(job.post_seconds))
            .put("StageTimeSec", narrow(job.stage_seconds))
            .put("Log", [(); 0]);
        job_fields::put(&mut fields, job, &Outcome::of(job));
        fields.end()
    }
}

pub(crate) async fn post_queue<C: Control>(call: Call<'_, C>) -> Result<Reply, Fault> {
    let in_post = |job: &Job| stage_of(job).is_some();
    call.answer_jobs(ListKind::Queue, JobFilter::default(), in_post, |format, text, job| {
        format.append(text, &PostJob(job));
    })
    .await
}

struct UrlJob<'a>(&'a Job);

impl Serialize for UrlJob<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut fields = Fields::of(to);
        fields
            .put("ID", self.0.id.0)
            .put("NZBFilename", &self.0.nzb_name)
            .put("URL", job_fields::shown_url(self.0))
            .put("Name", &self.0.name)
            .put("Category", self.0.category.as_deref().unwrap_or_default())
            .put("Priority", self.0.priority);
        fields.end()
    }
}

pub(crate) async fn url_queue<C: Control>(call: Call<'_, C>) -> Result<Reply, Fault> {
    let is_url = |job: &Job| job.state == JobState::Fetching;
    call.answer_jobs(ListKind::Queue, JobFilter::default(), is_url, |format, text, job| {
        format.append(text, &UrlJob(job));
    })
    .await
}
