//! The parameters of requests to [`Control`](crate::Control): plain values, already checked by the dialect.

use std::time::Duration;

use bergamot_types::{ByteCount, JobId, Secret, Url};

use crate::view::{DupeMode, Parameter};

pub use bergamot_jobs::edit::{Delete, Edit, FileEdit, HistoryEdit, Place, SortKey};
pub use bergamot_jobs::{Part, Pause};

/// Some of the jobs of a list.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct JobFilter {
    pub offset: usize,
    /// All, if there is none.
    pub limit: Option<usize>,
    pub category: Option<String>,
    /// A part of the name, in any case.
    pub search: Option<String>,
    /// Include jobs of the history that were hidden.
    pub hidden: bool,
}

/// Where a job is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ListKind {
    History,
    Queue,
}

/// An NZB to download.
#[derive(Clone, Debug)]
pub struct NewJob {
    /// The name of the file, with or without `.nzb`; may be empty where there is a URL.
    pub name: String,
    pub content: Content,
    pub category: Option<String>,
    /// That of the category, if there is none.
    pub priority: Option<i32>,
    pub at_top: bool,
    pub paused: bool,
    pub dupe_key: String,
    pub dupe_score: i32,
    pub dupe_mode: DupeMode,
    pub password: Option<Secret>,
    pub parameters: Vec<Parameter>,
    /// Take the category from the NZB itself where none is given.
    pub auto_category: bool,
}

#[derive(Clone)]
pub enum Content {
    /// The path of an NZB on this machine; the daemon decides which directories are allowed.
    Local(String),
    Nzb(Vec<u8>),
    Url(Url),
}

impl std::fmt::Debug for Content {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Local(path) => write!(f, "Local({path:?})"),
            Self::Nzb(bytes) => write!(f, "Nzb({} bytes)", bytes.len()),
            Self::Url(url) => url.fmt(f),
        }
    }
}

#[derive(Clone, Debug)]
pub struct ServerProbe {
    pub host: String,
    pub port: u16,
    pub tls: bool,
    pub username: String,
    pub password: Secret,
    pub timeout: Duration,
    /// How much of the certificate has to be right.
    pub certificates: Certificates,
    /// Whether the host may be in a private network. Callers without full control must not explore it.
    pub may_be_private: bool,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Certificates {
    Unchecked,
    WithoutName,
    Strict,
}

/// A disk to be tried out.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct DiskTest {
    /// A directory.
    pub path: String,
    /// What is written at once, in bytes.
    pub buffer: usize,
    pub most: ByteCount,
    pub patience: Duration,
}

/// A news server for the configuration; a value that is none has its default there.
#[derive(Clone, Debug, Default)]
pub struct NewServer {
    pub name: String,
    pub host: String,
    pub port: Option<u16>,
    pub username: Option<String>,
    pub password: Option<Secret>,
    pub encryption: Option<String>,
    pub connections: Option<u16>,
    pub level: Option<u32>,
    pub optional: Option<bool>,
    pub retention: Option<u32>,
}

/// A key of the configuration, and what is to stand there.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Setting {
    /// The name of the option in the client's dialect, for error messages.
    pub option: String,
    pub table: &'static str,
    /// From 1, of tables that may be there several times.
    pub number: Option<usize>,
    pub key: &'static str,
    pub value: SettingValue,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub enum SettingValue {
    Flag(bool),
    Number(i64),
    Secret(Secret),
    Text(String),
    Texts(Vec<String>),
}

/// Lines of the log.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct LogQuery {
    /// Those of one job alone.
    pub job: Option<JobId>,
    pub lines: Lines,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Lines {
    /// With this number or a higher one, at most so many of them.
    From {
        id: u64,
        most: usize,
    },
    Last(usize),
}
