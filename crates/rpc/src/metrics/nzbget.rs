//! Metrics under the names of frebib/nzbget-exporter, so that its dashboards work unchanged.
//!
//! Including its quirks: the two `active` gauges show whether something is paused, and all metrics are gauges.

use std::collections::BTreeMap;

use bergamot_api::metrics::Measured;
use bergamot_api::metrics::PastSums;
use bergamot_api::view::Status;

use crate::dialect::nzbget::{Outcome, VERSION};
use crate::metrics::page::Page;

pub(super) fn write(page: &mut Page, measured: &Measured) {
    page.gauge("nzbget_version", "Always 1; the version is its label.")
        .of(&[("version", VERSION)], 1);
    status(page, measured);
    servers(page, measured);
    history(page, &measured.past);
}

fn status(page: &mut Page, measured: &Measured) {
    let status = &measured.status;
    let quota = |period: &str| {
        let quotas = measured.quotas.iter().filter(|quota| quota.server.is_none());
        quotas.filter(|quota| quota.period == period).map(|quota| quota.limit).next().unwrap_or(0)
    };
    let mut is = |name: &str, help: &str, value: u64| {
        page.gauge(&format!("nzbget_{name}"), help).is(value);
    };
    is("article_cache_bytes", "Articles in memory.", status.cached);
    is("disk_free_bytes", "Free space for finished jobs.", status.complete_disk.free);
    is("disk_min_bytes", "Space that is kept free.", status.complete_disk.reserve);
    is("download_limit", "The limit in bytes per second.", status.limit.unwrap_or(0));
    is("download_paused", "Whether downloads are paused.", status.download_paused.is_some().into());
    is("download_time_seconds", "Download time since the start.", status.download_seconds);
    is("downloaded_total_bytes", "Bytes downloaded since the start.", status.downloaded);
    is("forced_bytes", "Bytes left of forced jobs.", status.forced_remaining);
    is("post_job_count", "Jobs in post-processing.", status.jobs_in_post as u64);
    is("post_active", "Whether post-processing is paused.", status.post_paused.is_some().into());
    is("quota_day_bytes", "The quota of a day.", quota("day"));
    is("quota_month_bytes", "The quota of a month.", quota("month"));
    is("quota_reached", "Whether a quota is reached.", status.quota_reached.into());
    is("queue_remaining_bytes", "Bytes left in the queue.", status.remaining);
    is("resume_time", "Time at which a pause ends, in seconds since 1970.", resume_time(status));
    is("scan_active", "Whether the watch folder is paused.", status.scan_paused.is_some().into());
    is("standby", "Whether nothing is being downloaded.", status.standing_by.into());
    is("start_time_seconds", "Start time, in seconds since 1970.", seconds(status.started.0));
    is("thread_count", "Connections.", status.connections as u64);
    is("url_count", "URLs whose NZB is being fetched.", status.urls as u64);
}

fn resume_time(status: &Status) -> u64 {
    let pauses = [&status.download_paused, &status.post_paused, &status.scan_paused];
    let until = pauses.into_iter().flatten().filter_map(|paused| paused.until).min();
    until.map_or(0, |until| seconds(until.0))
}

fn seconds(time: i64) -> u64 {
    u64::try_from(time).unwrap_or(0)
}

fn servers(page: &mut Page, measured: &Measured) {
    type Value = fn(&bergamot_api::view::Server) -> u64;
    let families: [(&str, &str, Value); 4] = [
        ("active", "Whether the server is active.", |server| server.active.into()),
        ("total_bytes", "Bytes downloaded from the server.", |server| server.downloaded),
        ("total_article_success", "Articles downloaded from the server.", |server| {
            server.good_articles
        }),
        ("total_article_failed", "Articles that the server did not have.", |server| {
            server.failed_articles
        }),
    ];
    for (name, help, value) in families {
        let mut family = page.gauge(&format!("nzbget_news_server_{name}"), help);
        for server in &measured.servers {
            let labels = [("id", &*server.id.0.to_string()), ("server", &*server.name)];
            family.of(&labels, value(server));
        }
    }
}

fn history(page: &mut Page, past: &PastSums) {
    counted(page, "category_count", "category", "Jobs by category.", &past.categories);
    let mut is = |name: &str, help: &str, value: u64| {
        page.gauge(&format!("nzbget_history_{name}"), help).is(value);
    };
    is("file_size_total_bytes", "The size of all jobs.", past.bytes);
    is("file_count", "Files of all jobs.", past.files);
    is("file_remaining_count", "Files that are left.", past.remaining_files);
    is("article_count", "Articles of all jobs.", past.articles);
    is("article_success_count", "Articles that were downloaded.", past.good_articles);
    is("article_failed_count", "Articles that could not be downloaded.", past.failed_articles);
    is("download_time_seconds", "Download time of all jobs.", past.download_seconds);
    is("download_size_bytes", "Bytes downloaded of all jobs.", past.downloaded);
    is("post_process_time_seconds", "Post-processing time of all jobs.", past.post_seconds);
    is("par_time_seconds", "Verification time of all jobs.", 0);
    is("par_repair_time_seconds", "Repair time of all jobs.", 0);
    is("unpack_time_seconds", "Unpacking time of all jobs.", 0);
    let counts = StatusCounts::of(past);
    let mut family = page.gauge("nzbget_history_status_count", "Jobs by result.");
    for ((status, reason), count) in &counts.statuses {
        family.of(&[("reason", reason), ("status", status)], count);
    }
    counted(page, "par_status_count", "status", "Jobs by result of the repair.", &counts.par);
    counted(page, "unpack_status_count", "status", "Jobs by result of unpacking.", &counts.unpack);
}

/// Jobs of the history by NZBGet's words for how they ended.
#[derive(Default)]
struct StatusCounts {
    /// By the two halves of `SUCCESS/HEALTH`.
    statuses: BTreeMap<(String, String), u64>,
    par: BTreeMap<String, u64>,
    unpack: BTreeMap<String, u64>,
}

impl StatusCounts {
    fn of(past: &PastSums) -> Self {
        let mut counts = Self::default();
        for (ending, jobs) in &past.endings {
            let outcome = Outcome::of_ending(ending);
            let status = outcome.status(ending).to_ascii_lowercase();
            let (status, reason) = status.split_once('/').unwrap_or((&status, ""));
            *counts.statuses.entry((status.to_owned(), reason.to_owned())).or_default() += jobs;
            *counts.par.entry(outcome.par.to_ascii_lowercase()).or_default() += jobs;
            *counts.unpack.entry(outcome.unpack.to_ascii_lowercase()).or_default() += jobs;
        }
        counts
    }
}

fn counted(page: &mut Page, name: &str, label: &str, help: &str, counts: &BTreeMap<String, u64>) {
    let mut family = page.gauge(&format!("nzbget_history_{name}"), help);
    for (value, count) in counts {
        family.of(&[(label, value)], count);
    }
}
