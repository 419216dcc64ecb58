//! `status`, `version`, `sysinfo` and `systemhealth`: the state of the daemon as a whole.

use bergamot_api::Control;
use bergamot_api::view::{Server, Status};
use bergamot_types::UnixTime;
use serde::{Serialize, Serializer};
use serde_json::json;

use crate::call::Call;
use crate::call::fault::Fault;
use crate::codec::reply::Reply;
use crate::dialect::nzbget::fields::{Fields, halves, narrow, seconds, size};
use crate::dialect::nzbget::job_fields::each;

/// Clients take the part before the first `-` for a version of NZBGet, and require 16 or more.
pub(crate) const VERSION: &str = concat!("26.0-bergamot-", env!("CARGO_PKG_VERSION"));

struct StatusFields<'a>(&'a Status, &'a [Server]);

impl Serialize for StatusFields<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Self(status, servers) = self;
        let mut fields = Fields::of(to);
        put_sizes(&mut fields, status);
        put_rates(&mut fields, status);
        put_pauses(&mut fields, status);
        fields.put("NewsServers", each(servers, NewsServer));
        fields.end()
    }
}

fn put_sizes<S: Serializer>(fields: &mut Fields<S>, status: &Status) {
    fields
        .put_size(size!("RemainingSize"), status.remaining)
        .put_size(size!("ForcedSize"), status.forced_remaining)
        .put_size(size!("DownloadedSize"), status.downloaded)
        .put_size(size!("MonthSize"), status.downloaded_this_month)
        .put_size(size!("DaySize"), status.downloaded_today)
        .put_size(size!("ArticleCache"), status.cached)
        .put_size(size!("FreeDiskSpace"), status.complete_disk.free)
        .put_size(size!("TotalDiskSpace"), status.complete_disk.total)
        .put_size(size!("FreeInterDiskSpace"), status.incomplete_disk.free)
        .put_size(size!("TotalInterDiskSpace"), status.incomplete_disk.total);
}

fn put_rates<S: Serializer>(fields: &mut Fields<S>, status: &Status) {
    fields
        .put("DownloadRate", narrow(status.rate))
        .put_halves(halves!("DownloadRate"), status.rate)
        .put("AverageDownloadRate", narrow(status.average_rate))
        .put_halves(halves!("AverageDownloadRate"), status.average_rate)
        .put("DownloadLimit", narrow(status.limit.unwrap_or(0)))
        .put("ThreadCount", narrow(status.connections))
        .put("ParJobCount", narrow(status.jobs_in_post))
        .put("PostJobCount", narrow(status.jobs_in_post))
        .put("UrlCount", narrow(status.urls))
        .put("UpTimeSec", narrow(status.now.0.saturating_sub(status.started.0).max(0)))
        .put("DownloadTimeSec", narrow(status.download_seconds));
}

fn put_pauses<S: Serializer>(fields: &mut Fields<S>, status: &Status) {
    let download = status.download_paused.is_some();
    fields
        .put("ServerPaused", download)
        .put("DownloadPaused", download)
        .put("Download2Paused", download)
        .put("ServerStandBy", status.standing_by)
        .put("PostPaused", status.post_paused.is_some())
        .put("ScanPaused", status.scan_paused.is_some())
        .put("QuotaReached", status.quota_reached)
        .put("FeedActive", status.feed_active)
        .put("ServerTime", seconds(Some(status.now)))
        .put("ResumeTime", seconds(resume_time(status)))
        .put("QueueScriptCount", 0);
}

fn resume_time(status: &Status) -> Option<UnixTime> {
    let pauses = [&status.download_paused, &status.post_paused, &status.scan_paused];
    pauses.into_iter().flatten().filter_map(|paused| paused.until).min()
}

struct NewsServer<'a>(&'a Server);

impl Serialize for NewsServer<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut fields = Fields::of(to);
        fields.put("ID", self.0.id.0).put("Active", self.0.active);
        fields.end()
    }
}

pub(crate) async fn status<C: Control>(call: Call<'_, C>) -> Result<Reply, Fault> {
    let status = call.control.status().await?;
    let servers = call.control.servers().await?;
    call.answer(&StatusFields(&status, &servers))
}

pub(crate) async fn version<C: Control>(call: Call<'_, C>) -> Result<Reply, Fault> {
    call.answer(&VERSION)
}

/// Only values that need no request to another host.
pub(crate) async fn sys_info<C: Control>(call: Call<'_, C>) -> Result<Reply, Fault> {
    call.answer(&json!({
        "OS": { "Name": std::env::consts::OS, "Version": "" },
        "CPU": { "Model": "", "Arch": std::env::consts::ARCH },
        "Network": { "PublicIP": "", "PrivateIP": "" },
        "Tools": [],
        "Libraries": [],
    }))
}

pub(crate) async fn system_health<C: Control>(call: Call<'_, C>) -> Result<Reply, Fault> {
    let warnings = call.control.status().await?.warnings;
    let alerts: Vec<_> = warnings
        .iter()
        .map(|text| json!({ "Name": "", "Status": { "Severity": "Warning", "Message": text } }))
        .collect();
    call.answer(&json!({
        "Status": if alerts.is_empty() { "Ok" } else { "Warning" },
        "Alerts": alerts,
        "Sections": [],
    }))
}
