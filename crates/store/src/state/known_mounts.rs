//! [`KnownMounts`]: the disks that the configured directories were first used with, in a state file.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use bergamot_storage::{Ground, MountError, Mounts, Verdict, judge, promised_mounts};
use serde::{Deserialize, Serialize};

use crate::state::state_file::{Kept, StateFile, StateFileError};

/// By the directories as they are configured. Its methods read the kernel's table of mounts, and may block
/// where something is mounted on demand.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(transparent)]
pub struct KnownMounts(BTreeMap<PathBuf, Ground>);

impl KnownMounts {
    /// Reads the state file without changing it.
    pub fn peek(state: &Path) -> Result<Self, StateFileError> {
        StateFile::peek(state)
    }

    /// Whether the directory still stands on the disk it was used with.
    pub fn check(&self, directory: &Path) -> Result<(), MountError> {
        self.judge(directory).map(drop)
    }

    /// The same, and what is to be remembered of the directory, if that is news.
    pub fn judge(&self, directory: &Path) -> Result<Option<Ground>, MountError> {
        let known = self.0.get(directory);
        let promised = if known.is_some() { Vec::new() } else { promised() };
        let path = directory.to_owned();
        match judge(&real(directory), known, &mounts(), &promised) {
            Verdict::Firm => Ok(None),
            Verdict::New(new) => Ok(Some(new)),
            Verdict::Replaced { was, is } => {
                Err(MountError::OtherDisk { path, was: was.into(), is: is.into() })
            }
            Verdict::Unmounted(mount) => Err(MountError::Unmounted { path, mount }),
        }
    }

    pub fn remember(&mut self, directory: &Path, new: Ground) {
        self.0.insert(directory.to_owned(), new);
    }

    /// What the directory stands on now, if it is mounted.
    pub fn current(directory: &Path) -> Option<Ground> {
        match judge(&real(directory), None, &mounts(), &[]) {
            Verdict::New(new) => Some(new),
            Verdict::Firm | Verdict::Replaced { .. } | Verdict::Unmounted(_) => None,
        }
    }

    /// The directory belongs to what it stands on now; without that it is as if it was never used.
    pub fn accept(&mut self, directory: &Path, current: Option<Ground>) {
        self.0.remove(directory);
        if let Some(current) = current {
            self.remember(directory, current);
        }
    }
}

impl Kept for KnownMounts {
    const NAME: &'static str = "grounds";
    const WORD: &'static str = "bergamot-grounds";

    fn to_text(&self) -> String {
        serde_json::to_string(self).expect("paths of a configuration are UTF-8")
    }

    fn from_text(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }
}

/// Without links, as far as the path is there; the kernel's table has none.
fn real(path: &Path) -> PathBuf {
    // A lookup below it mounts what is mounted on demand, so that it is in the table from then on.
    let _ = path.join(".").metadata();
    for above in path.ancestors() {
        if let Ok(real) = above.canonicalize() {
            return real.join(path.strip_prefix(above).unwrap_or(Path::new("")));
        }
    }
    path.to_owned()
}

fn mounts() -> Mounts {
    Mounts::parse(&read("/proc/self/mountinfo"))
}

fn promised() -> Vec<PathBuf> {
    promised_mounts(&read("/etc/fstab"))
}

/// What cannot be read says nothing.
fn read(path: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let file = File::open(path).map(|file| file.take(MOST_BYTES));
    let _ = file.and_then(|mut file| file.read_to_end(&mut bytes));
    bytes
}

/// Of a table of mounts: thousands of them.
const MOST_BYTES: u64 = 4 << 20;
