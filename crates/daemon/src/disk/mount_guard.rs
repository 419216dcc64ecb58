//! [`MountGuard`]: checks the disk of a configured directory before anything is made in it.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bergamot_storage::MountError;
use bergamot_store::{KnownMounts, StateFile};
use bergamot_writer::{DiskError, Modes, Root};

/// The one way in which the daemon makes a directory of the user's.
///
/// May be held by as many as need one; its methods block on the disk.
#[derive(Clone, Debug)]
pub(crate) struct MountGuard(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    file: StateFile<KnownMounts>,
    known: Mutex<KnownMounts>,
    modes: Modes,
}

impl MountGuard {
    /// What cannot be read is set aside, and the reason told; then everything is seen for the first time.
    pub(crate) fn open(state: &Path, modes: Modes) -> (Self, Option<String>) {
        let (file, known, told) = StateFile::open(state);
        (Self(Arc::new(Inner { file, known: Mutex::new(known), modes })), told)
    }

    /// The directory, which is made if need be. `configured` is the configured one it lies in, or is.
    pub(crate) fn root(&self, path: &Path, configured: &Path) -> Result<Root, DiskError> {
        // A share that is slow to answer must not keep others from theirs.
        let known = self.known().clone();
        let new = known.new_record(configured)?;
        let root = Root::create(path, self.0.modes.clone())?;
        if let Some(new) = new {
            let mut known = self.known();
            known.remember(configured, new);
            self.write(&known);
        }
        Ok(root)
    }

    /// Whether the directory still stands on the disk it was used with.
    pub(crate) fn check(&self, configured: &Path) -> Result<(), MountError> {
        let known = self.known().clone();
        known.check(configured)
    }

    /// From now on the directory belongs to the disk it stands on.
    pub(crate) fn accept(&self, configured: &Path) {
        let current = KnownMounts::current(configured);
        let mut known = self.known();
        known.accept(configured, current);
        self.write(&known);
    }

    fn write(&self, known: &KnownMounts) {
        if let Err(error) = self.0.file.write(known) {
            tracing::warn!(code = error.code(), "what the directories stand on: {error}");
        }
    }

    fn known(&self) -> MutexGuard<'_, KnownMounts> {
        // Each change is one insert or remove.
        self.0.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
