//! Reads records of version 1, which were TOML.
//!
//! They are converted when they are read, and written in the current version.

use bergamot_queue::{Cause, Ending};
use bergamot_types::{JobId, Secret, UnixTime};
use serde::Deserialize;

use bergamot_jobs::Outcome;
use bergamot_jobs::{FinishedFile, Record, serde_plain};

/// None if it is no such record.
pub(crate) fn read(body: &str) -> Option<Record> {
    let old: Old = toml::from_str(body).ok()?;
    let fingerprint = old.fingerprint.parse().ok()?;
    let mut record = Record::new(old.id, &old.name, old.added, &old.source, fingerprint);
    record.category = old.category.as_deref().map(Into::into);
    record.priority = old.priority;
    record.password = old.password.as_deref().map(Secret::new);
    record.directory = old.directory.as_deref().map(Into::into);
    let reason = old.reason.unwrap_or_default();
    let ending = match old.state {
        State::Queued => {
            record.finished = old.finished;
            return Some(record);
        }
        State::Completed => Ending::Completed { verified: true },
        State::CompletedUnverified => Ending::Completed { verified: false },
        State::Failed => Ending::Failed(cause(&reason)),
    };
    // When it ended was not kept, only the order in which jobs came.
    let mut outcome = Outcome::new(ending, old.added, &reason);
    outcome.sequence = u64::from(old.id.0);
    outcome.destination = old.destination;
    outcome.missing = old.missing;
    record.end(outcome);
    Some(record)
}

fn cause(reason: &str) -> Cause {
    let code = reason.split(':').next().unwrap_or_default();
    match (Cause::from_code(code), code.split('.').next()) {
        (Some(cause), _) => cause,
        (None, Some("disk")) => Cause::Disk,
        (None, Some("nzb")) => Cause::Refused,
        (None, _) => Cause::Incomplete,
    }
}

#[derive(Deserialize)]
struct Old {
    #[serde(with = "serde_plain")]
    id: JobId,
    name: String,
    category: Option<String>,
    priority: i32,
    #[serde(with = "serde_plain")]
    added: UnixTime,
    source: String,
    fingerprint: String,
    password: Option<String>,
    directory: Option<String>,
    state: State,
    reason: Option<String>,
    destination: Option<String>,
    #[serde(default)]
    missing: Vec<String>,
    #[serde(default)]
    finished: Vec<FinishedFile>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum State {
    Queued,
    Completed,
    CompletedUnverified,
    Failed,
}

pub(crate) const VERSION: u32 = 1;

#[cfg(test)]
mod tests {
    use bergamot_queue::JobState;

    use super::*;
    use crate::record_file::{decode, encode};

    /// As that version wrote it, byte for byte.
    const QUEUED: &[u8] = include_bytes!("../tests/version1/queued.job");
    const FAILED: &[u8] = include_bytes!("../tests/version1/failed.job");

    #[test]
    fn a_queued_job_of_version_1_goes_on() {
        let record = decode(QUEUED).unwrap();
        assert_eq!((record.id, &*record.name), (JobId(7), "a \"name\" = [odd]\n"));
        assert_eq!((record.rank, record.life, record.priority), (7, JobState::Queued, -100));
        assert_eq!(record.password.as_ref().unwrap().reveal(), "secret word");
        assert_eq!(record.fingerprint.to_string(), "00112233445566778899aabbccddeeff");
        assert_eq!(record.finished[0].name, "f.rar");
        assert_eq!(decode(encode(&record).as_bytes()).unwrap(), record, "and is of today");
    }

    #[test]
    fn a_failed_job_of_version_1_is_history() {
        let record = decode(FAILED).unwrap();
        let outcome = record.outcome.unwrap();
        assert_eq!((record.life, outcome.sequence), (JobState::Ended, 8));
        assert_eq!(outcome.ending, Ending::Failed(Cause::Health));
        assert_eq!(outcome.reason, "job.health: 80.0 % is left, 90.0 % would be needed");
        assert_eq!(outcome.missing, ["a@x", "b@x"]);
    }

    #[test]
    fn old_reasons_tell_their_causes() {
        for (reason, expected) in [
            ("job.incomplete: 3 articles", Cause::Incomplete),
            ("disk.full: /downloads", Cause::Disk),
            ("nzb.xml: line 3", Cause::Refused),
            ("state.missing: it is gone", Cause::Missing),
            ("", Cause::Incomplete),
        ] {
            assert_eq!(cause(reason), expected, "{reason}");
        }
    }
}
