//! [`KnownMounts`]: the disks that the configured directories were first used with, in a state file.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use bergamot_storage::{MountCheck, MountError, MountRecord, Mounts, check_mount, fstab_mounts};
use serde::{Deserialize, Serialize};

use crate::state::state_file::{Kept, StateFile, StateFileError};

/// By the directories as they are configured. Its methods read the kernel's table of mounts, and may block
/// where something is mounted on demand.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(transparent)]
pub struct KnownMounts(BTreeMap<PathBuf, MountRecord>);

impl KnownMounts {
    /// Reads the state file without changing it.
    pub fn peek(state: &Path) -> Result<Self, StateFileError> {
        StateFile::peek(state)
    }

    /// Whether the directory is still on the disk it was first used with.
    pub fn check(&self, directory: &Path) -> Result<(), MountError> {
        self.new_record(directory).map(drop)
    }

    /// The same, and the record to store, if the directory has none or is on a nearer mount.
    pub fn new_record(&self, directory: &Path) -> Result<Option<MountRecord>, MountError> {
        let known = self.0.get(directory);
        let in_fstab = if known.is_some() { Vec::new() } else { in_fstab() };
        let path = directory.to_owned();
        match check_mount(&real(directory), known, &mounts(), &in_fstab) {
            MountCheck::Unchanged => Ok(None),
            MountCheck::New(new) => Ok(Some(new)),
            MountCheck::Replaced { was, is } => {
                Err(MountError::OtherDisk { path, was: was.into(), is: is.into() })
            }
            MountCheck::Unmounted(mount) => Err(MountError::Unmounted { path, mount }),
        }
    }

    pub fn remember(&mut self, directory: &Path, new: MountRecord) {
        self.0.insert(directory.to_owned(), new);
    }

    /// The current mount of the directory.
    pub fn current(directory: &Path) -> Option<MountRecord> {
        match check_mount(&real(directory), None, &mounts(), &[]) {
            MountCheck::New(new) => Some(new),
            MountCheck::Unchanged | MountCheck::Replaced { .. } | MountCheck::Unmounted(_) => None,
        }
    }

    /// Replaces the record of the directory by its current mount; without one the record is removed.
    pub fn accept(&mut self, directory: &Path, current: Option<MountRecord>) {
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

fn in_fstab() -> Vec<PathBuf> {
    fstab_mounts(&read("/etc/fstab"))
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
