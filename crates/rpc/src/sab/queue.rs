//! `queue`

use serde::Serialize;

use crate::control::Control;
use crate::reply::Format;
use crate::sab::VERSION;
use crate::sab::mode::{Answer, Call};
use crate::sab::queued::{Filter, Scene, Slot, Window, is_in_queue, left, status};
use crate::sab::words;
use crate::view::{Facts, Job, Quota, Status};
use crate::wish::Which;

/// What the queue and `fullstatus` have in common.
#[derive(Serialize)]
pub(super) struct Header {
    version: &'static str,
    paused: bool,
    pause_int: String,
    paused_all: bool,
    diskspace1: String,
    diskspace2: String,
    diskspace1_norm: String,
    diskspace2_norm: String,
    diskspacetotal1: String,
    diskspacetotal2: String,
    speedlimit: String,
    speedlimit_abs: String,
    have_warnings: String,
    finishaction: Option<&'static str>,
    quota: String,
    have_quota: bool,
    left_quota: String,
    cache_art: String,
    cache_size: String,
}

/// Articles are not counted in memory, only their bytes; so they are taken for average ones.
const USUAL_ARTICLE: u64 = 750_000;

impl Header {
    pub(super) fn of(status: &Status, facts: &Facts, quotas: &[Quota]) -> Self {
        let quota = quotas.iter().find(|quota| quota.server.is_none());
        let left = quota.map_or(0, |quota| quota.limit.saturating_sub(quota.used));
        let (incomplete, complete) = (&status.incomplete_disk, &status.complete_disk);
        Self {
            version: VERSION,
            paused: status.download_paused.is_some(),
            pause_int: minutes_left(status),
            paused_all: status.download_paused.is_some() && status.post_paused.is_some(),
            diskspace1: words::gibibytes(incomplete.free),
            diskspace2: words::gibibytes(complete.free),
            diskspace1_norm: words::units(incomplete.free),
            diskspace2_norm: words::units(complete.free),
            diskspacetotal1: words::gibibytes(incomplete.total),
            diskspacetotal2: words::gibibytes(complete.total),
            speedlimit: percent_of_line(status.limit, facts.rate_limit),
            speedlimit_abs: status.limit.unwrap_or(0).to_string(),
            have_warnings: status.warnings.len().to_string(),
            finishaction: None,
            quota: words::units(quota.map_or(0, |quota| quota.limit)),
            have_quota: quota.is_some(),
            left_quota: words::units(left),
            cache_art: status.cached.div_ceil(USUAL_ARTICLE).to_string(),
            cache_size: words::units_of_bytes(status.cached),
        }
    }
}

/// How long a pause lasts that ends by itself, as `M:SS`.
fn minutes_left(status: &Status) -> String {
    let until = status.download_paused.as_ref().and_then(|paused| paused.until);
    match until {
        Some(until) => {
            let seconds = until.0.saturating_sub(status.now.0).max(0);
            format!("{}:{:02}", seconds / 60, seconds % 60)
        }
        None => "0".to_owned(),
    }
}

/// Of the line, where that is known; no limit is all of it.
fn percent_of_line(limit: Option<u64>, line: u64) -> String {
    let percent = limit.map(|limit| u128::from(limit) * 100);
    let percent = percent.and_then(|limit| limit.checked_div(u128::from(line)));
    percent.unwrap_or(100).min(100).to_string()
}

#[derive(Serialize)]
struct Queue {
    #[serde(flatten)]
    header: Header,
    kbpersec: String,
    speed: String,
    mbleft: String,
    mb: String,
    sizeleft: String,
    size: String,
    noofslots_total: usize,
    noofslots: usize,
    start: usize,
    limit: usize,
    finish: usize,
    status: &'static str,
    timeleft: String,
}

pub(super) async fn queue<C: Control>(call: Call<'_, C>) -> Answer {
    let state = call.control.status().await?;
    let facts = call.control.config().await?.facts;
    let quotas = call.control.quotas().await?;
    let mut jobs = call.control.queue(Which::default()).await?.items;
    jobs.retain(is_in_queue);
    let (filter, window) = (Filter::of(&call.given), Window::of(&call.given));
    let mut queue = Queue::of(&jobs, &state, Header::of(&state, &facts, &quotas), &window);
    let slots = chosen(jobs, &filter, &window, &mut queue);
    queue.finish = window.start + slots.len();
    let scene = Scene { now: state.now, rate: state.rate };
    let slots = Format::Json.write_list(slots, |format, text, (index, ahead, job)| {
        format.append(text, &Slot::of(job, *index, *ahead, &scene));
    });
    let mut head = serde_json::to_vec(&queue).expect("our own values have text for keys");
    head.pop(); // the slots come before the closing brace
    let head = [br#"{"queue":"#, head.as_slice(), br#","slots":"#].concat();
    Ok(slots.await.between(&head, b"}}"))
}

impl Queue {
    fn of(jobs: &[Job], state: &Status, header: Header, window: &Window) -> Self {
        let all: u64 = jobs.iter().map(|job| job.size).sum();
        let remaining: u64 = jobs.iter().map(left).sum();
        let status = match (header.paused, state.jobs - state.jobs_in_post.min(state.jobs)) {
            (true, _) => "Paused",
            (false, 0) => "Idle",
            (false, _) => "Downloading",
        };
        Self {
            header,
            kbpersec: words::kibibytes(state.rate),
            speed: words::units(state.rate),
            mbleft: words::mebibytes(remaining),
            mb: words::mebibytes(all),
            sizeleft: words::units_of_bytes(remaining),
            size: words::units_of_bytes(all),
            noofslots_total: jobs.len(),
            noofslots: 0,
            start: window.start,
            limit: window.limit,
            finish: 0,
            status,
            timeleft: words::time_left(remaining, state.rate),
        }
    }
}

/// Those asked for, each with its place and with what has to come until it is complete.
fn chosen(
    jobs: Vec<Job>,
    filter: &Filter,
    window: &Window,
    queue: &mut Queue,
) -> Vec<(usize, u64, Job)> {
    let (mut ahead, mut slots) = (0u64, Vec::new());
    for (index, job) in jobs.into_iter().enumerate() {
        ahead = ahead.saturating_add(if job.paused { 0 } else { left(&job) });
        if filter.takes(&job, status(&job)) {
            if window.has(queue.noofslots) {
                slots.push((index, ahead, job));
            }
            queue.noofslots += 1;
        }
    }
    slots
}
