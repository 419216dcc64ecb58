//! Metrics under bergamot's own names.

use bergamot_api::metrics::Measured;
use bergamot_api::view::{Quota, Server, Status};

use crate::metrics::page::Page;

/// Calls of one method, since the start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Requests {
    pub(crate) dialect: &'static str,
    pub(crate) method: &'static str,
    pub(crate) good: u64,
    pub(crate) failed: u64,
}

pub(super) fn write(page: &mut Page, measured: &Measured, requests: &[Requests]) {
    let status = &measured.status;
    page.gauge("bergamot_build_info", "Always 1; the version is its label.")
        .of(&[("version", &status.version)], 1);
    downloads(page, status);
    servers(page, &measured.servers);
    queue(page, measured);
    jobs(page, measured);
    disks(page, status);
    quotas(page, &measured.quotas);
    calls(page, status, requests);
    process(page, measured);
}

fn downloads(page: &mut Page, status: &Status) {
    page.gauge("bergamot_download_rate_bytes", "Bytes per second over the last seconds.")
        .is(status.rate);
    page.gauge("bergamot_download_limit_bytes", "The limit of all servers together; 0 is none.")
        .is(status.limit.unwrap_or(0));
    page.gauge("bergamot_paused", "Whether the part is paused, for any reason.")
        .of(&[("part", "download")], u8::from(status.download_paused.is_some()))
        .of(&[("part", "post")], u8::from(status.post_paused.is_some()))
        .of(&[("part", "scan")], u8::from(status.scan_paused.is_some()));
    page.gauge("bergamot_cache_bytes", "Articles in memory, between the network and the disk.")
        .is(status.cached);
    page.gauge("bergamot_warnings", "Current warnings.").is(status.warnings.len());
}

fn servers(page: &mut Page, servers: &[Server]) {
    let mut each = |name: &str, help: &str, value: fn(&Server) -> f64| {
        let mut family = page.gauge(name, help);
        for server in servers {
            family.of(&[("server", &server.name)], value(server));
        }
    };
    each("bergamot_server_up", "Whether the server is active and works.", |server| {
        f64::from(u8::from(server.active && server.trouble.is_none()))
    });
    each("bergamot_server_rate_bytes", "Bytes per second from the server.", |server| {
        server.rate as f64
    });
    each("bergamot_server_latency_seconds", "Time to the first byte of an answer.", |server| {
        server.latency_ms.unwrap_or(0) as f64 / 1000.0
    });
    each(
        "bergamot_connections_allowed",
        "Connections that the server allows, as far as is known.",
        |server| server.learned_connections.unwrap_or(server.connections) as f64,
    );
    let mut family = page
        .gauge("bergamot_connections", "Open connections, and those that are ready for requests.");
    for server in servers {
        family.of(&[("server", &server.name), ("state", "open")], server.open);
        family.of(&[("server", &server.name), ("state", "working")], server.working);
    }
    let mut family = page.counter("bergamot_download_bytes", "Bytes downloaded from the server.");
    for server in servers {
        family.of(&[("server", &server.name)], server.downloaded);
    }
    let mut family = page.counter(
        "bergamot_articles",
        "Articles downloaded from the server, and those it did not have.",
    );
    for server in servers {
        family.of(&[("server", &server.name), ("result", "ok")], server.good_articles);
        family.of(&[("server", &server.name), ("result", "failed")], server.failed_articles);
    }
}

fn queue(page: &mut Page, measured: &Measured) {
    let (queue, status) = (&measured.queue, &measured.status);
    page.gauge("bergamot_queue_jobs", "Jobs in the queue, by state.")
        .of(&[("state", "downloading")], queue.downloading)
        .of(&[("state", "fetching")], queue.fetching)
        .of(&[("state", "paused")], queue.paused)
        .of(&[("state", "post")], queue.post)
        .of(&[("state", "queued")], queue.queued);
    page.gauge(
        "bergamot_queue_bytes",
        "Bytes of all jobs, bytes still to download, and bytes of paused jobs.",
    )
    .of(&[("kind", "total")], queue.bytes)
    .of(&[("kind", "remaining")], status.remaining)
    .of(&[("kind", "paused")], status.paused_remaining);
}

fn jobs(page: &mut Page, measured: &Measured) {
    page.counter("bergamot_jobs_added", "NZBs that were added since the start.")
        .is(measured.arrivals.added);
    page.counter(
        "bergamot_jobs_refused",
        "NZBs that were refused as invalid or duplicate since the start.",
    )
    .is(measured.arrivals.refused);
    let mut family =
        page.counter("bergamot_jobs", "Jobs that ended since the start, by configured category.");
    for ended in &measured.ended {
        family.of(&[("category", &ended.category), ("result", ended.result)], ended.count);
    }
    page.gauge("bergamot_history_jobs", "Jobs in the history that are not hidden.")
        .is(measured.past.jobs);
}

fn disks(page: &mut Page, status: &Status) {
    let disks = [("complete", &status.complete_disk), ("incomplete", &status.incomplete_disk)];
    let mut family =
        page.gauge("bergamot_disk_free_bytes", "Free space of the volume of the directory.");
    for (name, disk) in disks {
        family.of(&[("dir", name)], disk.free);
    }
    let mut family =
        page.gauge("bergamot_disk_total_bytes", "Size of the volume of the directory.");
    for (name, disk) in disks {
        family.of(&[("dir", name)], disk.total);
    }
}

/// A quota of all servers together has no name.
fn quotas(page: &mut Page, quotas: &[Quota]) {
    let mut each = |name: &str, help: &str, value: fn(&Quota) -> u64| {
        let mut family = page.gauge(name, help);
        for quota in quotas {
            let server = quota.server.as_deref().unwrap_or_default();
            family.of(&[("server", server), ("period", &quota.period)], value(quota));
        }
    };
    each("bergamot_quota_bytes", "Bytes allowed in the period.", |quota| quota.limit);
    each("bergamot_quota_used_bytes", "Bytes used in the period.", |quota| quota.used);
    each("bergamot_quota_reached", "Whether the quota is reached.", |quota| quota.reached.into());
}

fn calls(page: &mut Page, status: &Status, requests: &[Requests]) {
    let mut family =
        page.counter("bergamot_rpc_requests", "Calls of all dialects since the start.");
    for Requests { dialect, method, good, failed } in requests {
        for (result, count) in [("ok", *good), ("error", *failed)] {
            if count > 0 {
                let labels = [("dialect", *dialect), ("method", *method), ("result", result)];
                family.of(&labels, count);
            }
        }
    }
    page.counter("bergamot_events", "Events that were published since the start.")
        .is(status.last_event);
}

/// The names that every exporter has for these.
fn process(page: &mut Page, measured: &Measured) {
    let process = &measured.process;
    page.counter("process_cpu_seconds", "Processor time of the process.").is(process.cpu_seconds);
    page.gauge("process_open_fds", "Open descriptors.").is(process.open_files);
    page.gauge("process_resident_memory_bytes", "Resident memory.").is(process.resident_bytes);
    page.gauge("process_virtual_memory_bytes", "Virtual memory.").is(process.virtual_bytes);
    page.gauge("process_threads", "Threads.").is(process.threads);
    page.gauge("process_start_time_seconds", "Start time of the process, in seconds since 1970.")
        .is(measured.status.started.0);
}
