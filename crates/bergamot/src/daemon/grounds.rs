//! What the directories stand on: remembered from their first use, looked at before anything is made.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bergamot_storage::{Ground, Mounts, Verdict, judge, promised_mounts};
use bergamot_store::{Kept, StateFile};
use bergamot_writer::{DiskError, Modes, Root};
use serde::{Deserialize, Serialize};

/// The one way in which the daemon makes a directory of the user's.
///
/// May be held by as many as need one; its methods block on the disk.
#[derive(Clone, Debug)]
pub(crate) struct Grounds(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    file: StateFile<Remembered>,
    known: Mutex<Remembered>,
    modes: Modes,
}

/// By the directories as they are configured.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(transparent)]
pub(crate) struct Remembered(BTreeMap<PathBuf, Ground>);

impl Remembered {
    /// For somebody who changes nothing; or why it cannot be read.
    pub(crate) fn look(state: &Path) -> Result<Self, String> {
        StateFile::look(state)
    }

    /// Whether what a directory stood on is still there.
    pub(crate) fn check(&self, ground: &Path) -> Result<(), DiskError> {
        self.judged(ground).map(drop)
    }

    /// What is to be remembered of it, if that is news.
    fn judged(&self, ground: &Path) -> Result<Option<Ground>, DiskError> {
        let known = self.0.get(ground);
        let promised = if known.is_some() { Vec::new() } else { promised() };
        let path = ground.to_owned();
        match judge(&real(ground), known, &mounts(), &promised) {
            Verdict::Firm => Ok(None),
            Verdict::New(new) => Ok(Some(new)),
            Verdict::Replaced { was, is } => {
                Err(DiskError::OtherDisk { path, was: spoken(&was), is: spoken(&is) })
            }
            Verdict::Unmounted(mount) => Err(DiskError::Unmounted { path, mount }),
        }
    }
}

impl Kept for Remembered {
    const NAME: &'static str = "grounds";
    const WORD: &'static str = "bergamot-grounds";

    fn to_text(&self) -> String {
        serde_json::to_string(self).expect("paths of a configuration are UTF-8")
    }

    fn from_text(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }
}

impl Grounds {
    /// What cannot be read is set aside, and the reason told; then everything is seen for the first time.
    pub(crate) fn open(state: &Path, modes: Modes) -> (Self, Option<String>) {
        let (file, known, told) = StateFile::open(state);
        (Self(Arc::new(Inner { file, known: Mutex::new(known), modes })), told)
    }

    /// The directory, which is made if need be. `ground` is the configured one it lies in, or is.
    pub(crate) fn root(&self, path: &Path, ground: &Path) -> Result<Root, DiskError> {
        let new = self.judged(ground)?;
        let root = Root::create(path, self.0.modes.clone())?;
        if let Some(new) = new {
            self.remember(ground, new);
        }
        Ok(root)
    }

    /// Whether what a directory stood on is still there.
    pub(crate) fn check(&self, ground: &Path) -> Result<(), DiskError> {
        self.judged(ground).map(drop)
    }

    /// From now on it is what it stands on.
    pub(crate) fn accept(&self, ground: &Path) {
        let mounts = mounts();
        self.known().0.remove(ground);
        if let Verdict::New(new) = judge(&real(ground), None, &mounts, &[]) {
            self.remember(ground, new);
        }
    }

    fn judged(&self, ground: &Path) -> Result<Option<Ground>, DiskError> {
        // A share that is slow to answer must not keep others from theirs.
        let known = self.known().clone();
        known.judged(ground)
    }

    fn remember(&self, ground: &Path, new: Ground) {
        let mut known = self.known();
        known.0.insert(ground.to_owned(), new);
        if let Err(error) = self.0.file.write(&known) {
            tracing::warn!(code = error.code(), "what the directories stand on: {error}");
        }
    }

    fn known(&self) -> MutexGuard<'_, Remembered> {
        // Each change is one insert or remove.
        self.0.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn spoken(ground: &Ground) -> String {
    let Ground { root, kind, .. } = ground;
    match root == Path::new("/") {
        true => kind.clone(),
        false => format!("{} of a disk with {kind}", root.display()),
    }
}

/// Without links, as far as the path is there; the kernel's table has none.
fn real(path: &Path) -> PathBuf {
    // What is mounted on demand is mounted by whoever walks through, and so is in the table from then on.
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
