//! Why the spool did not do what it was told.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

#[derive(Debug, Error)]
pub enum StoreError {
    #[error("{path}: {error}")]
    Io { path: PathBuf, error: io::Error },
    #[error("{path} is used by another bergamot{by}")]
    Locked { path: PathBuf, by: String },
}

impl StoreError {
    pub fn code(&self) -> &'static str {
        match self {
            Self::Io { .. } => "state.io",
            Self::Locked { .. } => "state.locked",
        }
    }
}
