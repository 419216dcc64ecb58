//! `history`, and edits of jobs that ended.

use bergamot_api::request::{Edit, HistoryEdit};
use bergamot_api::view::{Job, JobState, Mark};
use bergamot_api::wire::without_keys;
use bergamot_api::{Control, Refusal};
use bergamot_queue::{Cause, Deletion};
use bergamot_types::{JobId, fnv32};
use serde::Serialize;
use serde_json::json;

use crate::codec::reply::Format;
use crate::dialect::sabnzbd::VERSION;
use crate::dialect::sabnzbd::error::SabError;
use crate::dialect::sabnzbd::format;
use crate::dialect::sabnzbd::merged_list::{Parts, write_list};
use crate::dialect::sabnzbd::mode::{Answer, Call, answer, done};
use crate::dialect::sabnzbd::params::jobs;
use crate::dialect::sabnzbd::queue_edit::{changed, unpack_options};
use crate::dialect::sabnzbd::queued::{Filter, Window, category_of, is_in_queue, status};
use crate::dialect::sabnzbd::volumes::Sums;

#[derive(Serialize)]
struct Slot<'a> {
    completed: i64,
    name: &'a str,
    nzb_name: &'a str,
    category: &'a str,
    pp: &'static str,
    script: &'static str,
    report: &'static str,
    url: String,
    status: &'static str,
    nzo_id: String,
    storage: &'a str,
    path: &'a str,
    script_line: &'static str,
    download_time: u64,
    postproc_time: u64,
    stage_log: Vec<Stage>,
    downloaded: u64,
    completeness: Option<u64>,
    fail_message: &'a str,
    url_info: &'static str,
    bytes: u64,
    size: String,
    meta: Option<&'static str>,
    series: &'a str,
    duplicate_key: &'a str,
    md5sum: &'static str,
    password: &'static str,
    action_line: String,
    loaded: bool,
    retry: bool,
    archive: bool,
    time_added: i64,
}

#[derive(Serialize)]
struct Stage {
    name: &'static str,
    actions: Vec<String>,
}

impl<'a> Slot<'a> {
    fn of(job: &'a Job) -> Self {
        let ended = job.ended.as_ref();
        Self {
            completed: ended.map_or(job.added, |ended| ended.at).0,
            name: &job.name,
            nzb_name: &job.nzb_name,
            category: category_of(job),
            pp: pp_letters(job),
            script: "None",
            report: "",
            url: job.url.as_deref().map(without_keys).unwrap_or_default(),
            status: past_status(job),
            nzo_id: format::nzo_id(job.id),
            storage: storage(job),
            path: job.working_directory.as_deref().unwrap_or_else(|| storage(job)),
            script_line: "",
            download_time: job.download_seconds,
            postproc_time: job.post_seconds,
            stage_log: stages(job),
            downloaded: job.downloaded,
            completeness: None,
            fail_message: fail_message(job),
            url_info: "",
            bytes: job.size,
            size: format::units_of_bytes(job.size),
            meta: None,
            series: &job.dupe_key,
            duplicate_key: &job.dupe_key,
            md5sum: "",
            password: "",
            action_line: action_line(job),
            loaded: false,
            retry: ended.is_some_and(|ended| ended.can_retry),
            archive: ended.is_some_and(|ended| ended.hidden),
            time_added: job.added.0,
        }
    }
}

/// A user's mark overrides the outcome.
fn past_status(job: &Job) -> &'static str {
    match job.ended.as_ref().and_then(|ended| ended.mark) {
        Some(Mark::Good | Mark::Success) => "Completed",
        Some(Mark::Bad) => "Failed",
        None => status(job),
    }
}

/// Where its files are to be found; Sonarr imports from there.
fn storage(job: &Job) -> &str {
    match past_status(job) {
        "Completed" => &job.destination,
        _ => job.working_directory.as_deref().unwrap_or_default(),
    }
}

fn fail_message(job: &Job) -> &str {
    if past_status(job) != "Failed" {
        return "";
    }
    match job.state {
        // The one failure that Sonarr does not answer with another download.
        JobState::Failed(Cause::Disk) => DISK_FULL,
        _ => {
            let reason = job.ended.as_ref().and_then(|ended| ended.reason.as_deref());
            reason.filter(|reason| !reason.is_empty()).unwrap_or("it was marked as bad")
        }
    }
}

fn pp_letters(job: &Job) -> &'static str {
    match unpack_options(job) {
        "1" => "R",
        "2" => "U",
        "3" => "D",
        _ => "",
    }
}

fn stages(job: &Job) -> Vec<Stage> {
    let text = format!(
        "{} of {} articles came, {} did not",
        job.good_articles, job.articles, job.failed_articles
    );
    vec![Stage { name: "Download", actions: vec![text] }]
}

fn action_line(job: &Job) -> String {
    match job.state {
        JobState::Post(stage) => format!("{stage}: {} %", job.stage_progress / 10),
        _ => String::new(),
    }
}

#[derive(Serialize)]
struct Head {
    total_size: String,
    month_size: String,
    week_size: String,
    day_size: String,
    ppslots: usize,
    noofslots: usize,
    last_history_update: u32,
    version: &'static str,
}

pub(super) async fn history<C: Control>(call: Call<'_, C>) -> Answer {
    let params = &call.params;
    let (filter, window) = (Filter::of(params), Window::of(params));
    let failed_only = params.flag("failed_only");
    let mut print = 0;
    let (mut ppslots, mut noofslots, mut slots) = (0, 0, Vec::new());
    each(call.control, params.flag("archive"), |job| {
        print = fingerprint(print, &job);
        ppslots += usize::from(job.ended.is_none());
        let status = past_status(&job);
        if filter.takes(&job, status) && (!failed_only || status == "Failed") {
            if window.has(noofslots) {
                slots.push(job);
            }
            noofslots += 1;
        }
    })
    .await?;
    let last_history_update = print >> 1; // clients may hold it in a signed number
    if params.number("last_history_update") == Some(last_history_update) {
        return answer(&json!({ "history": false }));
    }
    let volumes = call.control.volumes().await?;
    let all = volumes.iter().find(|volume| volume.server.is_none());
    let sums = all.map(Sums::of).unwrap_or_default();
    let head = Head {
        total_size: format::units(sums.total),
        month_size: format::units(sums.month),
        week_size: format::units(sums.week),
        day_size: format::units(sums.day),
        ppslots,
        noofslots,
        last_history_update,
        version: VERSION,
    };
    let slots = write_list(slots, |text, job| Format::Json.append(text, &Slot::of(job)));
    let mut text = serde_json::to_vec(&head).expect("our own values have text for keys");
    text.pop(); // the slots come before the closing brace
    let text = [br#"{"history":"#, text.as_slice(), br#","slots":"#].concat();
    Ok(slots.await.between(&text, b"}}").text)
}

/// Jobs in post-processing, then those that ended; a job that ends in between is returned in its earlier
/// state. SABnzbd's history does not contain jobs that a user deleted from the queue.
async fn each<C: Control>(
    control: &C,
    hidden: bool,
    mut take: impl FnMut(Job),
) -> Result<(), SabError> {
    let mut parts = Parts::default();
    let mut in_post = Vec::new();
    Parts::default()
        .each(
            |which| control.queue(which),
            false,
            |job| {
                if !is_in_queue(&job) {
                    in_post.push(job);
                }
            },
        )
        .await?;
    in_post.into_iter().filter(|job| parts.is_new(job)).for_each(&mut take);
    let past = |job: Job| {
        let is_marked = job.ended.as_ref().is_some_and(|ended| ended.mark.is_some());
        if is_marked || job.state != JobState::Deleted(Deletion::ByPerson) {
            take(job);
        }
    };
    Ok(parts.each(|which| control.history(which), hidden, past).await?)
}

/// Changes with the list; `before` is that of the jobs before this one.
fn fingerprint(before: u32, job: &Job) -> u32 {
    let ended = job.ended.as_ref();
    let numbers = [
        before.into(),
        job.id.0.into(),
        ended.map_or(0, |ended| ended.at.0 as u64),
        past_status(job).len() as u64 + u64::from(job.stage_progress),
        u64::from(ended.is_some_and(|ended| ended.hidden)),
    ];
    fnv32(numbers.into_iter().flat_map(u64::to_le_bytes))
}

pub(super) async fn delete<C: Control>(call: Call<'_, C>) -> Answer {
    let found = match call.params.value()? {
        "all" => with_status(call.control, None).await?,
        "failed" => with_status(call.control, Some("Failed")).await?,
        "completed" => with_status(call.control, Some("Completed")).await?,
        _ => jobs(&call.params.list("value")),
    };
    // Files are deleted only if both parameters are given: that cannot be undone.
    let edit = match (call.params.text("archive"), call.params.text("del_files")) {
        ("0", "1") => HistoryEdit::Delete,
        _ => HistoryEdit::Hide,
    };
    if !found.is_empty() {
        call.control.edit(found, Edit::History(edit)).await?;
    }
    done()
}

pub(super) async fn mark_as_completed<C: Control>(call: Call<'_, C>) -> Answer {
    call.params.value()?;
    let jobs = jobs(&call.params.list("value"));
    if jobs.is_empty() {
        return Err(SabError::NoSuchItem);
    }
    changed(call.control, jobs, Edit::History(HistoryEdit::Mark(Mark::Success.into()))).await?;
    done()
}

pub(super) async fn retry<C: Control>(call: Call<'_, C>) -> Answer {
    let job = format::job_of(call.params.value()?).ok_or(SabError::NoSuchItem)?;
    let outcomes = call.control.edit(vec![job], Edit::History(HistoryEdit::Retry)).await?;
    match outcomes.into_iter().next().unwrap_or(Err(Refusal::NoSuchJob(job))) {
        Ok(()) => answer(&json!({ "status": true, "nzo_id": format::nzo_id(job) })),
        Err(refusal) => Err(refusal.into()),
    }
}

pub(super) async fn retry_all<C: Control>(call: Call<'_, C>) -> Answer {
    let mut jobs = Vec::new();
    each(call.control, false, |job| {
        let can_retry = job.ended.as_ref().is_some_and(|ended| ended.can_retry);
        if can_retry && past_status(&job) == "Failed" {
            jobs.push(job.id);
        }
    })
    .await?;
    if !jobs.is_empty() {
        call.control.edit(jobs, Edit::History(HistoryEdit::Retry)).await?;
    }
    done()
}

async fn with_status<C: Control>(
    control: &C,
    status: Option<&str>,
) -> Result<Vec<JobId>, SabError> {
    let mut jobs = Vec::new();
    each(control, false, |job| {
        if job.ended.is_some() && status.is_none_or(|status| past_status(&job) == status) {
            jobs.push(job.id);
        }
    })
    .await?;
    Ok(jobs)
}

/// To the letter.
const DISK_FULL: &str = "Unpacking failed, write error or disk is full?";
