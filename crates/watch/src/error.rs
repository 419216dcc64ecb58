//! [`WatchError`]: what is wrong with the watch folder.

use std::path::{Path, PathBuf};

use rustix::io::Errno;
use thiserror::Error;

/// The path is added where the error is shown: an untrusted name must be made printable first.
#[derive(Clone, Debug, Eq, Error, Hash, PartialEq)]
pub enum WatchError {
    #[error("the watch folder cannot be read ({errno})")]
    FolderUnreadable { path: PathBuf, errno: Errno },
    #[error("the watch folder is missing")]
    Missing { path: PathBuf },
    #[error("not a folder")]
    NotAFolder { path: PathBuf },
    #[error("{what} is not read")]
    NotPlain { path: PathBuf, what: &'static str },
    #[error("more than {limit} files; the rest is left for later")]
    TooMany { path: PathBuf, limit: usize },
    #[error("cannot be renamed to show what became of it ({errno})")]
    Unmarkable { path: PathBuf, errno: Errno },
    #[error("cannot be read ({errno})")]
    Unreadable { path: PathBuf, errno: Errno },
    #[error("gone, or another file now")]
    Vanished { path: PathBuf },
}

impl WatchError {
    /// Stable, as the interfaces show it.
    pub fn code(&self) -> &'static str {
        match self {
            Self::FolderUnreadable { .. } => "watch.folder_unreadable",
            Self::Missing { .. } => "watch.missing",
            Self::NotAFolder { .. } => "watch.not_a_folder",
            Self::NotPlain { .. } => "watch.not_plain",
            Self::TooMany { .. } => "watch.too_many",
            Self::Unmarkable { .. } => "watch.unmarkable",
            Self::Unreadable { .. } => "watch.unreadable",
            Self::Vanished { .. } => "watch.vanished",
        }
    }

    pub fn path(&self) -> &Path {
        match self {
            Self::FolderUnreadable { path, .. }
            | Self::Missing { path }
            | Self::NotAFolder { path }
            | Self::NotPlain { path, .. }
            | Self::TooMany { path, .. }
            | Self::Unmarkable { path, .. }
            | Self::Unreadable { path, .. }
            | Self::Vanished { path } => path,
        }
    }
}
