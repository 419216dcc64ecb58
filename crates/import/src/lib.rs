//! Moving in: configurations of NZBGet and SABnzbd, in our own words.
//!
//! A reader for each of the two formats, a mapper from its options to ours, and a report that says of
//! each option that was set what became of it. Text in, text out: no file is opened here, and no secret
//! gets into the report.
//!
//! - [`nzbget`], [`sabnzbd`]: the two ways in; [`Kind`] tells them apart
//! - [`Imported`]: a configuration, and the [`Finding`]s
//! - [`QueuedNzb`]: what NZBGet has on its queue

#![forbid(unsafe_code)]

mod draft;
mod nzbget;
mod nzbget_conf;
mod nzbget_queue;
mod permissions;
mod report;
mod sab_ini;
mod sabnzbd;
mod tasks;
mod text;

pub use nzbget::nzbget;
pub use nzbget_queue::{QueuedNzb, queued_nzbs};
pub use report::{Fate, Finding};
pub use sabnzbd::sabnzbd;
use thiserror::Error;

use crate::draft::Draft;

/// What came of a foreign configuration.
#[derive(Clone, Debug)]
pub struct Imported {
    draft: Draft,
    pub findings: Vec<Finding>,
}

impl Imported {
    /// The configuration as TOML, with its secrets.
    pub fn config(&self) -> String {
        self.draft.written(true)
    }

    /// The same to be looked at, without them.
    pub fn shown_config(&self) -> String {
        self.draft.written(false)
    }
}

/// Which program a configuration belongs to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Kind {
    Nzbget,
    Sabnzbd,
}

impl Kind {
    /// By what is in it; names of files tell less.
    pub fn of(bytes: &[u8]) -> Result<Self, ImportError> {
        let text = text::decoded(bytes)?;
        let mut lines = text.lines().map(str::trim);
        if lines.clone().any(|line| line == "[misc]") {
            return Ok(Self::Sabnzbd);
        }
        let is_option = |line: &str| {
            let name = line.split_once('=').map(|(name, _)| name.trim().to_ascii_lowercase());
            name.is_some_and(|name| {
                name == "maindir" || name == "controlport" || name == "server1.host"
            })
        };
        if lines.any(is_option) { Ok(Self::Nzbget) } else { Err(ImportError::Unknown) }
    }
}

/// What only the one who calls can know.
#[derive(Clone, Debug, Default)]
pub struct Place {
    /// The home directory of whoever ran the other program.
    pub home: Option<String>,
    /// The path of the file, which NZBGet's variables may name.
    pub file: String,
    /// The time zone of its machine, by which it went.
    pub zone: Option<String>,
}

#[derive(Clone, Debug, Eq, Error, PartialEq)]
pub enum ImportError {
    #[error("it is neither a configuration of NZBGet nor one of SABnzbd")]
    Unknown,
    #[error("it has more than {limit} bytes")]
    TooLarge { limit: usize },
    #[error("it has more than {limit} lines")]
    TooManyLines { limit: usize },
}
