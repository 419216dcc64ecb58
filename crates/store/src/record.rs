//! What is known of a job.

use bergamot_types::{JobId, UnixTime};
use serde::{Deserialize, Serialize};

/// One job's record, as it lies in the spool.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Record {
    #[serde(with = "as_number")]
    pub id: JobId,
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<String>,
    pub priority: i32,
    /// When it was added, in seconds since 1970.
    #[serde(with = "as_seconds")]
    pub added: UnixTime,
    /// Where the NZB came from, to recognise it after a crash between spooling and marking it.
    pub source: String,
    /// A digest of its message-ids: the same articles under another name are the same job.
    pub fingerprint: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password: Option<String>,
    /// Its directory below the incomplete one, once it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    pub state: JobState,
    /// A code and a sentence, where it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Where the finished files lie.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destination: Option<String>,
    /// Articles that could not be had; the first of them, if there are many.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub finished: Vec<FinishedFile>,
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum JobState {
    Queued,
    /// Complete, and every byte passed a check.
    Completed,
    /// Complete, with parts that carried no checksum.
    CompletedUnverified,
    Failed,
}

/// A file of the job that lies finished in the job's directory.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct FinishedFile {
    /// Its place in the NZB.
    pub index: u32,
    pub name: String,
    pub verified: bool,
}

mod as_number {
    use bergamot_types::JobId;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(id: &JobId, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u32(id.0)
    }

    pub(super) fn deserialize<'d, D: Deserializer<'d>>(deserializer: D) -> Result<JobId, D::Error> {
        u32::deserialize(deserializer).map(JobId)
    }
}

mod as_seconds {
    use bergamot_types::UnixTime;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(
        time: &UnixTime,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_i64(time.0)
    }

    pub(super) fn deserialize<'d, D: Deserializer<'d>>(
        deserializer: D,
    ) -> Result<UnixTime, D::Error> {
        i64::deserialize(deserializer).map(UnixTime)
    }
}
