//! The fields that `listgroups` and `history` share ("NZB fields").

use bergamot_api::view::{DupeMode, Job, Parameter, ServerArticles};
use bergamot_api::wire::{shown_value, without_keys};
use serde::{Serialize, Serializer};

use crate::dialect::nzbget::fields::{Fields, narrow, seconds, size};
use crate::dialect::nzbget::outcome::Outcome;

pub(super) fn put<S: Serializer>(fields: &mut Fields<S>, job: &Job, outcome: &Outcome) {
    fields
        .put("NZBID", job.id.0)
        .put("NZBName", &job.name)
        .put("NZBNicename", &job.name)
        .put("Kind", kind(job))
        .put("URL", shown_url(job))
        .put("NZBFilename", &job.nzb_name)
        .put("DestDir", directory(job))
        .put("FinalDir", "")
        .put("Category", job.category.as_deref().unwrap_or_default());
    put_statuses(fields, outcome);
    fields
        .put_size(size!("FileSize"), job.size)
        .put("FileCount", narrow(job.files))
        .put("MinPostTime", seconds(job.oldest_post))
        .put("MaxPostTime", seconds(job.newest_post))
        .put("TotalArticles", narrow(job.articles))
        .put("SuccessArticles", narrow(job.good_articles))
        .put("FailedArticles", narrow(job.failed_articles))
        .put("Health", job.health)
        .put("CriticalHealth", job.critical_health)
        .put("DupeKey", &job.dupe_key)
        .put("DupeScore", job.dupe_score)
        .put("DupeMode", dupe_mode(job.dupe_mode))
        .put("Deleted", outcome.delete != "NONE")
        .put_size(size!("DownloadedSize"), job.downloaded)
        .put("DownloadTimeSec", narrow(job.download_seconds))
        .put("PostTotalTimeSec", narrow(job.post_seconds))
        .put("ParTimeSec", 0)
        .put("RepairTimeSec", 0)
        .put("UnpackTimeSec", 0)
        .put("MessageCount", 0)
        .put("ExtraParBlocks", 0)
        .put("Parameters", each(&job.parameters, NameAndValue))
        .put("ScriptStatuses", [(); 0])
        .put("ServerStats", each(&job.servers, Stats));
}

fn put_statuses<S: Serializer>(fields: &mut Fields<S>, outcome: &Outcome) {
    fields
        .put("ParStatus", outcome.par)
        .put("ExParStatus", "NONE")
        .put("UnpackStatus", outcome.unpack)
        .put("MoveStatus", outcome.moved)
        .put("ScriptStatus", outcome.script)
        .put("DeleteStatus", outcome.delete)
        .put("MarkStatus", outcome.mark)
        .put("UrlStatus", outcome.url);
}

pub(super) fn kind(job: &Job) -> &'static str {
    if job.awaits_nzb() { "URL" } else { "NZB" }
}

/// Where its files are now.
pub(super) fn directory(job: &Job) -> &str {
    match &job.working_directory {
        Some(directory) if job.ended.is_none() => directory,
        _ => &job.destination,
    }
}

pub(super) fn shown_url(job: &Job) -> String {
    job.url.as_deref().map(without_keys).unwrap_or_default()
}

pub(super) fn dupe_mode(mode: DupeMode) -> &'static str {
    match mode {
        DupeMode::Score => "SCORE",
        DupeMode::All => "ALL",
        DupeMode::Force => "FORCE",
    }
}

/// A list in which each item is written in another shape.
pub(super) struct Each<'a, T, F>(&'a [T], F);

pub(super) fn each<'a, T, F, R>(list: &'a [T], shape: F) -> Each<'a, T, F>
where
    F: Fn(&'a T) -> R,
{
    Each(list, shape)
}

impl<'a, T, F: Fn(&'a T) -> R, R: Serialize> Serialize for Each<'a, T, F> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(self.0.iter().map(&self.1))
    }
}

struct NameAndValue<'a>(&'a Parameter);

impl Serialize for NameAndValue<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut fields = Fields::of(to);
        let Parameter { name, value } = self.0;
        fields.put("Name", name).put("Value", shown_value(name, value));
        fields.end()
    }
}

struct Stats<'a>(&'a ServerArticles);

impl Serialize for Stats<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut fields = Fields::of(to);
        fields
            .put("ServerID", self.0.server.0)
            .put("SuccessArticles", narrow(self.0.good))
            .put("FailedArticles", narrow(self.0.failed));
        fields.end()
    }
}
