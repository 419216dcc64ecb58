//! Converts configurations of NZBGet and SABnzbd to one of bergamot. Pure.
//!
//! There is a parser for each of the two formats, a mapper from its options to ours, and a report of how each
//! option that was set is converted. Text in, text out: no file is opened here, and the report contains no
//! secret.
//!
//! - [`nzbget`], [`sabnzbd`]: the two converters; [`Kind`] recognises the format
//! - [`Imported`]: a configuration, and the [`Finding`]s
//! - [`QueuedNzb`]: a job of NZBGet's queue

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

/// The result of a conversion.
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

    /// The configuration as TOML, without its secrets, for display.
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
    /// By its content; file names are not reliable.
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

/// What the caller knows about the machine.
#[derive(Clone, Debug, Default)]
pub struct Place {
    /// The home directory of the user of the other program.
    pub home: Option<String>,
    /// The path of the file, which NZBGet's variables may name.
    pub file: String,
    /// The time zone of its machine, which it used.
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
