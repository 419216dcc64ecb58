//! The daemon's responses, as far as the pages show them.
//!
//! These are not the types of `bergamot-api`: they contain only the fields that are shown, and words instead of enums, so
//! that a command line can talk to a newer or an older daemon.

use bergamot_types::UnixTime;
use chrono::DateTime;
use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::exit::Exit;
use crate::failure::Failure;

/// Deserialises an answer.
pub(crate) fn read<T: DeserializeOwned>(answer: &Value) -> Result<T, Failure> {
    Ok(T::deserialize(answer)?)
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment(pub(crate) UnixTime);

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let moment = DateTime::parse_from_rfc3339(&text).map_err(D::Error::custom)?;
        Ok(Self(UnixTime(moment.timestamp())))
    }
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Page<T> {
    pub(crate) total: usize,
    pub(crate) items: Vec<T>,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Job {
    pub(crate) id: u32,
    pub(crate) name: String,
    pub(crate) url: Option<String>,
    pub(crate) category: Option<String>,
    pub(crate) priority: i32,
    pub(crate) state: State,
    #[serde(default)]
    pub(crate) waits_for: Option<String>,
    pub(crate) paused: bool,
    pub(crate) added: Moment,
    pub(crate) size: u64,
    pub(crate) remaining: u64,
    pub(crate) files: u32,
    pub(crate) remaining_files: u32,
    pub(crate) articles: u32,
    pub(crate) failed_articles: u32,
    pub(crate) health: u16,
    pub(crate) critical_health: u16,
    #[serde(default)]
    pub(crate) probe: Option<Probe>,
    pub(crate) working_directory: Option<String>,
    pub(crate) destination: String,
    pub(crate) download_seconds: u64,
    pub(crate) ended: Option<Ended>,
}

/// The result of a probe of its articles.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq)]
pub(crate) struct Probe {
    pub(crate) outlook: String,
    pub(crate) present: u32,
    pub(crate) missing: u32,
    pub(crate) unknown: u32,
}

#[derive(Clone, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "kebab-case", tag = "is", content = "what")]
pub(crate) enum State {
    Queued,
    Downloading,
    Fetching,
    Post(String),
    Completed { verified: bool },
    Failed(String),
    Deleted(String),
}

impl State {
    /// The exit code for a job in this state; none before it has ended.
    pub(crate) fn exit(&self) -> Option<Exit> {
        match self {
            Self::Queued | Self::Downloading | Self::Fetching | Self::Post(_) => None,
            Self::Completed { .. } => Some(Exit::Ok),
            Self::Failed(cause) => Some(Exit::of_cause(cause)),
            Self::Deleted(_) => Some(Exit::JobFailed),
        }
    }
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Ended {
    pub(crate) at: Moment,
    pub(crate) reason: Option<String>,
    pub(crate) can_retry: bool,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct File {
    pub(crate) name: String,
    pub(crate) size: u64,
    pub(crate) remaining: u64,
    pub(crate) paused: bool,
    pub(crate) state: String,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Status {
    pub(crate) version: String,
    pub(crate) now: Moment,
    pub(crate) started: Moment,
    pub(crate) rate: u64,
    pub(crate) limit: Option<u64>,
    pub(crate) jobs: usize,
    pub(crate) remaining: u64,
    pub(crate) downloaded: u64,
    pub(crate) downloaded_today: u64,
    pub(crate) downloaded_this_month: u64,
    pub(crate) connections: usize,
    pub(crate) download_paused: Option<Paused>,
    pub(crate) post_paused: Option<Paused>,
    pub(crate) scan_paused: Option<Paused>,
    pub(crate) quota_reached: bool,
    pub(crate) complete_disk: Disk,
    pub(crate) incomplete_disk: Disk,
    pub(crate) warnings: Vec<String>,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Paused {
    pub(crate) by: String,
    pub(crate) until: Option<Moment>,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Disk {
    pub(crate) path: String,
    pub(crate) free: u64,
    pub(crate) total: u64,
    #[serde(default)]
    pub(crate) reserve: u64,
    #[serde(default)]
    pub(crate) trouble: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Server {
    pub(crate) id: u16,
    pub(crate) name: String,
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) tls: bool,
    pub(crate) active: bool,
    pub(crate) level: u16,
    pub(crate) connections: usize,
    pub(crate) open: usize,
    pub(crate) working: usize,
    pub(crate) rate: u64,
    pub(crate) trouble: Option<String>,
    pub(crate) rests_until: Option<Moment>,
    pub(crate) downloaded: u64,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Quota {
    pub(crate) server: Option<String>,
    pub(crate) period: String,
    pub(crate) limit: u64,
    pub(crate) used: u64,
    pub(crate) reached: bool,
    pub(crate) renews: Option<Moment>,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Explanation {
    pub(crate) code: String,
    pub(crate) sentence: String,
    pub(crate) evidence: Vec<Evidence>,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Evidence {
    pub(crate) about: String,
    pub(crate) who: Option<String>,
    pub(crate) fact: String,
    pub(crate) value: Option<f64>,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct LogLine {
    pub(crate) id: u64,
    pub(crate) kind: String,
    pub(crate) at: Moment,
    pub(crate) text: String,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Reload {
    pub(crate) applied: Vec<String>,
    pub(crate) needs_restart: Vec<String>,
}

/// What became of each of several jobs.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Results {
    pub(crate) results: Vec<JobResult>,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct JobResult {
    pub(crate) job: u32,
    pub(crate) ok: bool,
    #[serde(default)]
    pub(crate) code: String,
    #[serde(default)]
    pub(crate) error: String,
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
