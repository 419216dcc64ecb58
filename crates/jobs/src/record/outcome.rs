//! What became of a job.

use std::collections::BTreeMap;

use bergamot_queue::{Ending, Permille};
use bergamot_types::{ByteCount, UnixTime};
use serde::{Deserialize, Serialize};

use super::serde_plain;

/// How a job ended, and what it took.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Outcome {
    #[serde(with = "serde_plain")]
    pub ended: UnixTime,
    /// Its place in history; clocks are set back, this is not.
    pub sequence: u64,
    pub ending: Ending,
    /// A code and a sentence, where it failed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Where the finished files lie.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destination: Option<String>,
    /// How the files of a completed job were checked; older records do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<Check>,
    /// Articles that could not be had; the first of them, if there are many.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    #[serde(with = "serde_plain")]
    pub downloaded: ByteCount,
    pub download_seconds: u64,
    pub post_seconds: u64,
    pub articles_ok: u32,
    pub articles_failed: u32,
    #[serde(with = "serde_plain")]
    pub health: Permille,
    #[serde(with = "serde_plain")]
    pub critical_health: Permille,
    /// By the names of the servers, which outlive their numbers.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub servers: BTreeMap<String, ServerArticles>,
    #[serde(default)]
    pub mark: Mark,
    /// Kept for the duplicate check only; people do not see it.
    #[serde(default)]
    pub hidden: bool,
    /// What was downloaded is to be deleted, and may be there yet.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub discard: bool,
}

/// Which check all files of a job have passed.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Check {
    /// Some article had no checksum of its own.
    None,
    /// Every article agreed with its checksum before it was written, and the files that were delivered are
    /// those that were written.
    Crc,
    /// Besides that, every file was read from the disk and compared with its articles.
    Read,
}

impl Check {
    pub fn of(verified: bool, read_back: bool) -> Self {
        match (verified, read_back) {
            (false, _) => Self::None,
            (true, false) => Self::Crc,
            (true, true) => Self::Read,
        }
    }

    pub fn is_verified(self) -> bool {
        self != Self::None
    }

    /// As interfaces and logs show it.
    pub fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Crc => "crc",
            Self::Read => "read",
        }
    }
}

/// How many articles of a job a server had, and had not.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct ServerArticles {
    pub ok: u32,
    pub failed: u32,
}

/// What people think of a job that ended.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mark {
    #[default]
    None,
    Bad,
    Good,
    Success,
}

impl Outcome {
    /// The rest is for whoever knows it to fill in.
    pub fn new(ending: Ending, ended: UnixTime, reason: &str) -> Self {
        Self {
            ended,
            sequence: 0,
            ending,
            reason: reason.to_owned(),
            destination: None,
            check: None,
            missing: Vec::new(),
            downloaded: ByteCount(0),
            download_seconds: 0,
            post_seconds: 0,
            articles_ok: 0,
            articles_failed: 0,
            health: Permille::ALL,
            critical_health: Permille::ALL,
            servers: BTreeMap::new(),
            mark: Mark::None,
            hidden: false,
            discard: false,
        }
    }
}
