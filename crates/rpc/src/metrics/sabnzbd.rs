//! Metrics under the names of exportarr for SABnzbd.

use bergamot_api::metrics::Measured;
use bergamot_api::view::Server;

use crate::dialect::sabnzbd::VERSION;
use crate::metrics::page::Page;

pub(super) fn write(page: &mut Page, measured: &Measured) {
    let status = &measured.status;
    let word = match (status.download_paused.is_some(), measured.queue.downloading) {
        (true, _) => "Paused",
        (false, 0) => "Idle",
        (false, _) => "Downloading",
    };
    page.gauge("sabnzbd_info", "Always 1; the values are its labels.")
        .of(&[TARGET, ("version", VERSION), ("status", word)], 1);
    queue(page, measured, word);
    folders(page, measured);
    servers(page, &measured.servers);
}

fn queue(page: &mut Page, measured: &Measured, word: &str) {
    let status = &measured.status;
    let quota = measured.quotas.iter().find(|quota| quota.server.is_none());
    let left = quota.map_or(0, |quota| quota.limit.saturating_sub(quota.used));
    let number = match word {
        "Idle" => 1,
        "Paused" => 2,
        _ => 3,
    };
    let paused = status.download_paused.is_some();
    let mut is = |name: &str, help: &str, value: u64| {
        page.gauge(&format!("sabnzbd_{name}"), help).of(&[TARGET], value);
    };
    is(
        "downloaded_bytes",
        "Bytes downloaded.",
        measured.servers.iter().map(|it| it.downloaded).sum(),
    );
    is("paused", "Whether downloads are paused.", paused.into());
    is(
        "paused_all",
        "Whether everything is paused.",
        (paused && status.post_paused.is_some()).into(),
    );
    is("pause_duration_seconds", "Time until the pause ends.", pause_left(measured));
    is("remaining_quota_bytes", "Bytes left of the quota.", left);
    is("quota_bytes", "The quota.", quota.map_or(0, |quota| quota.limit));
    is(
        "article_cache_articles",
        "Articles in memory, estimated from their bytes.",
        status.cached / USUAL_ARTICLE,
    );
    is("article_cache_bytes", "Bytes of articles in memory.", status.cached);
    is("speed_bps", "Bytes per second.", status.rate);
    is("remaining_bytes", "Bytes left in the queue.", status.remaining);
    is("total_bytes", "The size of the queue.", measured.queue.bytes);
    is("queue_length", "Jobs in the queue.", status.jobs as u64);
    is("status", "0 unknown, 1 idle, 2 paused, 3 downloading.", number);
    is(
        "time_estimate_seconds",
        "Estimated time for the queue.",
        status.remaining.checked_div(status.rate).unwrap_or(0),
    );
    is("warnings", "Current warnings.", status.warnings.len() as u64);
}

fn pause_left(measured: &Measured) -> u64 {
    let status = &measured.status;
    let until = status.download_paused.as_ref().and_then(|paused| paused.until);
    until.map_or(0, |until| u64::try_from(until.0 - status.now.0).unwrap_or(0))
}

fn folders(page: &mut Page, measured: &Measured) {
    let status = &measured.status;
    let disks = [("complete", &status.complete_disk), ("download", &status.incomplete_disk)];
    let mut family = page.gauge("sabnzbd_disk_used_bytes", "Used space, by folder.");
    for (folder, disk) in disks {
        family.of(&[TARGET, ("folder", folder)], disk.total.saturating_sub(disk.free));
    }
    let mut family = page.gauge("sabnzbd_disk_total_bytes", "Size of the volume, by folder.");
    for (folder, disk) in disks {
        family.of(&[TARGET, ("folder", folder)], disk.total);
    }
}

fn servers(page: &mut Page, servers: &[Server]) {
    let mut each = |name: &str, help: &str, value: fn(&Server) -> u64| {
        let mut family = page.gauge(&format!("sabnzbd_server_{name}"), help);
        for server in servers {
            family.of(&[TARGET, ("server", &server.name)], value(server));
        }
    };
    each("downloaded_bytes", "Bytes downloaded from the server.", |server| server.downloaded);
    each("articles_total", "Articles requested from the server.", |server| {
        server.good_articles + server.failed_articles
    });
    each("articles_success", "Articles that were downloaded.", |server| server.good_articles);
}

/// Its dashboards distinguish instances by this label; here there is one.
const TARGET: (&str, &str) = ("target", "bergamot");
const USUAL_ARTICLE: u64 = 750_000;
