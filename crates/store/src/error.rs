//! [`StoreError`]: why a file of the state directory cannot be read or written.

use std::io::{self, ErrorKind};
use std::path::PathBuf;

use bergamot_jobs::machine::StoreFailure;
use thiserror::Error;

/// The daemon acts by variant: it holds what it would take in while the disk is `Full` or `ReadOnly`,
/// and does not start on state that is `Locked` or `Newer`.
#[derive(Debug, Error)]
pub enum StoreError {
    #[error("{path} is damaged: its checksum is wrong")]
    Damaged { path: PathBuf },
    #[error("{path}: no space is left: {error}")]
    Full { path: PathBuf, error: io::Error },
    #[error("{path}: {error}")]
    Io { path: PathBuf, error: io::Error },
    #[error("{path} is used by another bergamot{by}")]
    Locked { path: PathBuf, by: String },
    #[error("{path} was written by a newer bergamot (version {version}; this one knows {known})")]
    Newer { path: PathBuf, version: u32, known: u32 },
    #[error("{path} cannot be written to: {error}")]
    ReadOnly { path: PathBuf, error: io::Error },
    /// Not tried, because something else could not be written there and has to be first.
    #[error("{path} cannot be written to, and nothing new is taken until it can: {why}")]
    Unwritable { path: PathBuf, why: String },
}

impl From<&StoreError> for StoreFailure {
    fn from(error: &StoreError) -> Self {
        Self { code: error.code(), message: error.to_string() }
    }
}

impl StoreError {
    pub fn new(path: PathBuf, error: io::Error) -> Self {
        match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Self::Full { path, error },
            ErrorKind::ReadOnlyFilesystem | ErrorKind::PermissionDenied => {
                Self::ReadOnly { path, error }
            }
            _ => Self::Io { path, error },
        }
    }

    pub fn code(&self) -> &'static str {
        match self {
            Self::Damaged { .. } => "state.damaged",
            Self::Full { .. } => "state.full",
            Self::Io { .. } => "state.io",
            Self::Locked { .. } => "state.locked",
            Self::Newer { .. } => "state.newer",
            Self::ReadOnly { .. } => "state.read_only",
            Self::Unwritable { .. } => "state.unwritable",
        }
    }
}
