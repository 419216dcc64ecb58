//! What the daemon answers, as far as it is shown to people.
//!
//! Read leniently: a newer daemon may say more than is known here.

use bergamot_types::UnixTime;
use chrono::DateTime;
use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::exit::Exit;
use super::failure::Failure;

/// An answer, taken apart.
pub(super) fn read<T: DeserializeOwned>(answer: &Value) -> Result<T, Failure> {
    Ok(T::deserialize(answer)?)
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Moment(pub(super) UnixTime);

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let moment = DateTime::parse_from_rfc3339(&text).map_err(D::Error::custom)?;
        Ok(Self(UnixTime(moment.timestamp())))
    }
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Page<T> {
    pub(super) total: usize,
    pub(super) items: Vec<T>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Job {
    pub(super) id: u32,
    pub(super) name: String,
    pub(super) url: Option<String>,
    pub(super) category: Option<String>,
    pub(super) priority: i32,
    pub(super) state: State,
    #[serde(default)]
    pub(super) waits_for: Option<String>,
    pub(super) paused: bool,
    pub(super) added: Moment,
    pub(super) size: u64,
    pub(super) remaining: u64,
    pub(super) files: u32,
    pub(super) remaining_files: u32,
    pub(super) articles: u32,
    pub(super) failed_articles: u32,
    pub(super) health: u16,
    pub(super) critical_health: u16,
    #[serde(default)]
    pub(super) probe: Option<Probe>,
    pub(super) working_directory: Option<String>,
    pub(super) destination: String,
    pub(super) download_seconds: u64,
    pub(super) ended: Option<Ended>,
}

/// What a sample of its articles said.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq)]
pub(super) struct Probe {
    pub(super) outlook: String,
    pub(super) present: u32,
    pub(super) missing: u32,
    pub(super) unknown: u32,
}

#[derive(Clone, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "kebab-case", tag = "is", content = "what")]
pub(super) enum State {
    Queued,
    Downloading,
    Fetching,
    Post(String),
    Completed { verified: bool },
    Failed(String),
    Deleted(String),
}

impl State {
    /// What the shell is told of a job in this state; none as long as it has not ended.
    pub(super) fn exit(&self) -> Option<Exit> {
        match self {
            Self::Queued | Self::Downloading | Self::Fetching | Self::Post(_) => None,
            Self::Completed { .. } => Some(Exit::Ok),
            Self::Failed(cause) => Some(Exit::of_cause(cause)),
            Self::Deleted(_) => Some(Exit::JobFailed),
        }
    }
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Ended {
    pub(super) at: Moment,
    pub(super) reason: Option<String>,
    pub(super) can_retry: bool,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct File {
    pub(super) name: String,
    pub(super) size: u64,
    pub(super) remaining: u64,
    pub(super) paused: bool,
    pub(super) state: String,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Status {
    pub(super) version: String,
    pub(super) now: Moment,
    pub(super) started: Moment,
    pub(super) rate: u64,
    pub(super) limit: Option<u64>,
    pub(super) jobs: usize,
    pub(super) remaining: u64,
    pub(super) downloaded: u64,
    pub(super) downloaded_today: u64,
    pub(super) downloaded_this_month: u64,
    pub(super) connections: usize,
    pub(super) download_paused: Option<Paused>,
    pub(super) post_paused: Option<Paused>,
    pub(super) scan_paused: Option<Paused>,
    pub(super) quota_reached: bool,
    pub(super) complete_disk: Disk,
    pub(super) incomplete_disk: Disk,
    pub(super) warnings: Vec<String>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Paused {
    pub(super) by: String,
    pub(super) until: Option<Moment>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Disk {
    pub(super) path: String,
    pub(super) free: u64,
    pub(super) total: u64,
    #[serde(default)]
    pub(super) reserve: u64,
    #[serde(default)]
    pub(super) trouble: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Server {
    pub(super) id: u16,
    pub(super) name: String,
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) tls: bool,
    pub(super) active: bool,
    pub(super) level: u16,
    pub(super) connections: usize,
    pub(super) open: usize,
    pub(super) working: usize,
    pub(super) rate: u64,
    pub(super) trouble: Option<String>,
    pub(super) rests_until: Option<Moment>,
    pub(super) downloaded: u64,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Quota {
    pub(super) server: Option<String>,
    pub(super) period: String,
    pub(super) limit: u64,
    pub(super) used: u64,
    pub(super) reached: bool,
    pub(super) renews: Option<Moment>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Explanation {
    pub(super) code: String,
    pub(super) sentence: String,
    pub(super) evidence: Vec<Evidence>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Evidence {
    pub(super) about: String,
    pub(super) who: Option<String>,
    pub(super) fact: String,
    pub(super) value: Option<f64>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct LogLine {
    pub(super) id: u64,
    pub(super) kind: String,
    pub(super) at: Moment,
    pub(super) text: String,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Reload {
    pub(super) applied: Vec<String>,
    pub(super) needs_restart: Vec<String>,
}

/// What became of each of several jobs.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Results {
    pub(super) results: Vec<JobResult>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct JobResult {
    pub(super) job: u32,
    pub(super) ok: bool,
    #[serde(default)]
    pub(super) code: String,
    #[serde(default)]
    pub(super) error: String,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn states_are_read_and_say_how_it_ended() {
        for (state, exit) in [
            (json!({ "is": "queued" }), None),
            (json!({ "is": "post", "what": "moving" }), None),
            (json!({ "is": "completed", "what": { "verified": true } }), Some(Exit::Ok)),
            (json!({ "is": "failed", "what": "incomplete" }), Some(Exit::Incomplete)),
            (json!({ "is": "deleted", "what": "by-person" }), Some(Exit::JobFailed)),
        ] {
            assert_eq!(read::<State>(&state).unwrap().exit(), exit, "{state}");
        }
        assert!(read::<State>(&json!({ "is": "elsewhere" })).is_err());
    }
}
