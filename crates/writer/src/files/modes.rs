//! [`Modes`]: the permissions of files and directories that are created.

use std::collections::HashSet;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use rustix::fs::{Mode, fchmod, fstat, open};
use tracing::warn;

use crate::files::folder::FOLDER;

/// As configured, whatever the umask; none is what the umask leaves.
///
/// A share may refuse to set modes: that is reported once for each volume and is no error.
#[derive(Clone, Debug, Default)]
pub struct Modes {
    file: Option<u32>,
    directory: Option<u32>,
    refused: Arc<Mutex<HashSet<u64>>>, // devices that a warning was logged for
}

impl Modes {
    pub fn new(file: Option<u32>, directory: Option<u32>) -> Self {
        Self { file, directory, refused: Arc::default() }
    }

    pub(crate) fn set_on_file(&self, file: impl AsFd, path: &Path) {
        self.set(self.file, file, path);
    }

    pub(crate) fn sets_directories(&self) -> bool {
        self.directory.is_some()
    }

    pub(crate) fn set_on_directory(&self, directory: impl AsFd, path: &Path) {
        self.set(self.directory, directory, path);
    }

    /// The path is the user's own.
    pub(crate) fn set_on_new_directory(&self, path: &Path) {
        if self.sets_directories()
            && let Ok(directory) = open(path, FOLDER, Mode::empty())
        {
            self.set_on_directory(directory, path);
        }
    }

    fn set(&self, wanted: Option<u32>, on: impl AsFd, path: &Path) {
        let Some(mode) = wanted else { return };
        let stat = fstat(&on).ok();
        // A directory that hands its group on to what is in it goes on doing so.
        let inherited = stat.map_or(0, |stat| stat.st_mode & SET_GROUP);
        let Err(errno) = fchmod(&on, Mode::from_raw_mode(mode | inherited)) else { return };
        let device = stat.map_or(0, |stat| stat.st_dev);
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        if refused.insert(device) {
            let path = path.display();
            warn!(%path, "permissions cannot be set on this volume ({errno}); its own rules hold");
        }
    }
}

const SET_GROUP: u32 = 0o2000;
