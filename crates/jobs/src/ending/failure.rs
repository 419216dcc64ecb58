//! [`JobFailure`]: the cause and the reason with which a job fails, from what the engine knows of it. Pure.

use bergamot_engine::Failure;
use bergamot_queue::{
    Cause, File, FileState, Job, Losses, Permille, Propagation, SegmentState, cause_of,
};
use bergamot_types::UnixTime;

use crate::record::Record;

/// Why a job fails, and what it lacks.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct JobFailure {
    pub cause: Cause,
    /// The code of the cause, and a sentence.
    pub reason: String,
    /// Message ids of articles that no server has, at most 1000.
    pub missing: Vec<String>,
}

impl JobFailure {
    /// `job` is what the engine has of it, and `disk_error` the last error of the disk, with its code.
    pub fn new(
        failure: Failure,
        job: Option<&Job>,
        record: Option<&Record>,
        disk_error: Option<&str>,
        rule: Propagation,
        now: UnixTime,
    ) -> Self {
        let files = job.map(Job::files).unwrap_or_default();
        let lost = || files.iter().flat_map(File::lost_ids);
        let cause = match failure {
            Failure::Disk => Cause::Disk,
            Failure::Health { .. } => Cause::Health,
            Failure::Processing(cause) => cause,
            Failure::ServersDown => Cause::ServersDown,
            Failure::Incomplete => cause_of(losses(files), is_recent(record, rule, now)),
        };
        let reason = match failure {
            Failure::Disk | Failure::Processing(Cause::Disk) => {
                disk_error.unwrap_or("disk.error").to_owned()
            }
            Failure::Processing(cause) => cause.to_string(),
            Failure::Health { health, critical } => {
                format!("job.health: {}", health_text(health, critical))
            }
            Failure::ServersDown | Failure::Incomplete => loss_text(files, cause, lost().count()),
        };
        let missing = lost().take(MOST_MISSING_LISTED).map(|id| id.to_string()).collect();
        Self { cause, reason, missing }
    }
}

/// In the words of NZBGet.
pub fn health_text(health: Permille, critical: Permille) -> String {
    format!("health {health}, and less than {critical} cannot be repaired")
}

fn is_recent(record: Option<&Record>, rule: Propagation, now: UnixTime) -> bool {
    record.is_some_and(|record| {
        record.held.is_some() || rule.is_recent(record.contents.newest_post, now)
    })
}

fn losses(files: &[File]) -> Losses {
    let mut losses = Losses::default();
    for file in files {
        for segment in 0..file.segment_count() {
            match file.segment(segment) {
                SegmentState::Written { .. } => losses.got += 1,
                SegmentState::Missing => losses.missing += 1,
                SegmentState::Damaged => losses.damaged += 1,
                SegmentState::Wanted => {}
            }
        }
    }
    losses
}

fn loss_text(files: &[File], cause: Cause, lost: usize) -> String {
    let holed = files.iter().filter(|file| file.state() == FileState::Holed).count();
    let unlisted: u64 = files.iter().map(|file| u64::from(file.listed().unlisted)).sum();
    let more = if unlisted > 0 { format!(", and the NZB lacks {unlisted}") } else { String::new() };
    let (code, all) = (cause.code(), files.len());
    format!("{code}: files incomplete: {holed} of {all}, articles lost: {lost}{more}")
}

/// A record must stay small; a longer list is of no use to anyone.
const MOST_MISSING_LISTED: usize = 1000;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use bergamot_types::JobId;

    use super::*;
    use crate::record::fingerprint::Fingerprint;

    const NOW: UnixTime = UnixTime(1_800_000_000);
    const RULE: Propagation =
        Propagation { age: Duration::from_secs(3600), hold: Duration::from_secs(600) };

    fn of(failure: Failure, disk_error: Option<&str>) -> (Cause, String) {
        let record = Record::new(JobId(1), "a", NOW, "", Fingerprint::default());
        let failure = JobFailure::new(failure, None, Some(&record), disk_error, RULE, NOW);
        (failure.cause, failure.reason)
    }

    #[test]
    fn each_failure_has_its_cause_and_names_its_code() {
        let (health, critical) = (Permille(700), Permille(900));
        for (failure, disk, cause, reason) in [
            (Failure::Disk, Some("disk.full: /x"), Cause::Disk, "disk.full: /x"),
            (Failure::Disk, None, Cause::Disk, "disk.error"),
            (Failure::Health { health, critical }, None, Cause::Health, "job.health: health "),
            (Failure::ServersDown, None, Cause::ServersDown, "job.servers_down: files incomplete"),
        ] {
            let (known, text) = of(failure, disk);
            assert_eq!(known, cause, "{text}");
            assert!(text.starts_with(reason), "{text}");
        }
    }
}
