//! [`MountGuard`]: the known mounts of the configured directories, each checked before anything is created in it.
//! Shared by all threads that create directories; its methods block on the disk.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bergamot_storage::MountError;
use bergamot_store::{KnownMounts, StateFile};
use bergamot_writer::{DiskError, Modes, Root};

/// All directories that the user has configured are created through it.
#[derive(Clone, Debug)]
pub(crate) struct MountGuard(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    file: StateFile<KnownMounts>,
    known: Mutex<KnownMounts>,
    modes: Modes,
}

impl MountGuard {
    /// A state file that cannot be read is set aside and the reason returned; then every mount counts as new.
    pub(crate) fn open(state: &Path, modes: Modes) -> (Self, Option<String>) {
        let (file, known, told) = StateFile::open(state);
        (Self(Arc::new(Inner { file, known: Mutex::new(known), modes })), told)
    }

    /// Opens the directory, and creates it if need be. `configured` is the configured directory, equal to it or above.
    pub(crate) fn root(&self, path: &Path, configured: &Path) -> Result<Root, DiskError> {
        // The lock is not held during the check: a slow share must not block the others.
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
