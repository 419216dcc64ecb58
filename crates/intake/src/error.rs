//! What is wrong in the watch folder.

use std::fmt;
use std::path::{Path, PathBuf};

use bergamot_types::Shown;
use rustix::io::Errno;
use thiserror::Error;

#[derive(Clone, Debug, Eq, Error, Hash, PartialEq)]
pub enum WatchError {
    #[error("{}: the watch folder cannot be read ({errno})", shown(path))]
    FolderUnreadable { path: PathBuf, errno: Errno },
    #[error("{}: the watch folder is missing", shown(path))]
    Missing { path: PathBuf },
    #[error("{}: not a folder", shown(path))]
    NotAFolder { path: PathBuf },
    #[error("{}: {what} is not read", shown(path))]
    NotPlain { path: PathBuf, what: &'static str },
    #[error("{}: more than {limit} files; the rest is left for later", shown(path))]
    TooMany { path: PathBuf, limit: usize },
    #[error("{}: cannot be renamed to show what became of it ({errno})", shown(path))]
    Unmarkable { path: PathBuf, errno: Errno },
    #[error("{}: cannot be read ({errno})", shown(path))]
    Unreadable { path: PathBuf, errno: Errno },
    #[error("{}: gone, or another file now", shown(path))]
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

/// Names here come from anyone who may write to the share.
fn shown(path: &Path) -> impl fmt::Display {
    Shown(&path.to_string_lossy()).to_string()
}
