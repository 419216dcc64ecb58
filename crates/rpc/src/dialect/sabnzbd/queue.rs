//! `queue`: the queue and its totals.

use bergamot_api::Control;
use bergamot_api::view::{Facts, Job, Quota, Status};
use serde::Serialize;

use crate::codec::reply::Format;
use crate::dialect::sabnzbd::VERSION;
use crate::dialect::sabnzbd::format;
use crate::dialect::sabnzbd::merged_list::{Parts, write_list};
use crate::dialect::sabnzbd::mode::{Answer, Call};
use crate::dialect::sabnzbd::queued::{Filter, Scene, Slot, Window, is_in_queue, left, status};

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
            diskspace1: format::gibibytes(incomplete.free),
            diskspace2: format::gibibytes(complete.free),
            diskspace1_norm: format::units(incomplete.free),
            diskspace2_norm: format::units(complete.free),
            diskspacetotal1: format::gibibytes(incomplete.total),
            diskspacetotal2: format::gibibytes(complete.total),
            speedlimit: percent_of_line(status.limit, facts.rate_limit),
            speedlimit_abs: status.limit.unwrap_or(0).to_string(),
            have_warnings: status.warnings.len().to_string(),
            finishaction: None,
            quota: format::units(quota.map_or(0, |quota| quota.limit)),
            have_quota: quota.is_some(),
            left_quota: format::units(left),
            cache_art: status.cached.div_ceil(USUAL_ARTICLE).to_string(),
            cache_size: format::units_of_bytes(status.cached),
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

/// In percent of the configured bandwidth, if there is one; no limit is 100 %.
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
    let (filter, window) = (Filter::of(&call.params), Window::of(&call.params));
    let mut extract = Extract::default();
    let take = |job| extract.take(job, &filter, &window);
    Parts::default().each(|which| call.control.queue(which), false, take).await?;
    let queue = Queue::of(&extract, &state, Header::of(&state, &facts, &quotas), &window);
    let scene = Scene { now: state.now, rate: state.rate };
    let slots = write_list(extract.slots, |text, (index, ahead, job)| {
        Format::Json.append(text, &Slot::of(job, *index, *ahead, &scene));
    });
    let mut head = serde_json::to_vec(&queue).expect("our own values have text for keys");
    head.pop(); // the slots come before the closing brace
    let head = [br#"{"queue":"#, head.as_slice(), br#","slots":"#].concat();
    Ok(slots.await.between(&head, b"}}").text)
}

/// The jobs of the page, and the totals of all jobs.
#[derive(Default)]
struct Extract {
    /// Each with its index and the bytes left until it is complete.
    slots: Vec<(usize, u64, Job)>,
    found: usize,
    jobs: usize,
    size: u64,
    left: u64,
    ahead: u64,
}

impl Extract {
    fn take(&mut self, job: Job, filter: &Filter, window: &Window) {
        if !is_in_queue(&job) {
            return;
        }
        let (index, left) = (self.jobs, left(&job));
        self.jobs += 1;
        self.size = self.size.saturating_add(job.size);
        self.left = self.left.saturating_add(left);
        self.ahead = self.ahead.saturating_add(if job.paused { 0 } else { left });
        if filter.takes(&job, status(&job)) {
            if window.has(self.found) {
                self.slots.push((index, self.ahead, job));
            }
            self.found += 1;
        }
    }
}

impl Queue {
    fn of(extract: &Extract, state: &Status, header: Header, window: &Window) -> Self {
        let status = match (header.paused, state.jobs - state.jobs_in_post.min(state.jobs)) {
            (true, _) => "Paused",
            (false, 0) => "Idle",
            (false, _) => "Downloading",
        };
        Self {
            header,
            kbpersec: format::kibibytes(state.rate),
            speed: format::units(state.rate),
            mbleft: format::mebibytes(extract.left),
            mb: format::mebibytes(extract.size),
            sizeleft: format::units_of_bytes(extract.left),
            size: format::units_of_bytes(extract.size),
            noofslots_total: extract.jobs,
            noofslots: extract.found,
            start: window.start,
            limit: window.limit,
            finish: window.start.saturating_add(extract.slots.len()),
            status,
            timeleft: format::time_left(extract.left, state.rate),
        }
    }
}
