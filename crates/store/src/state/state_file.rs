//! [`StateFile`]: one checksummed document beside the spool, replaced atomically; used on the state thread.

use std::io::{self, ErrorKind};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::disk::checksummed::{Unsealed, seal, unseal};
use crate::disk::directory::{Directory, Folder};
use crate::disk::durable::{at, publish_now, sync_names};
use crate::error::StoreError;

/// A document that a [`StateFile`] holds.
pub trait Kept: Default {
    /// The name of the file.
    const NAME: &'static str;
    /// The first word of the file.
    const WORD: &'static str;

    fn to_text(&self) -> String;
    fn from_text(text: &str) -> Option<Self>;
}

/// A file in the state directory, which is guarded by the lock of the spool. Its methods block on the disk.
#[derive(Debug)]
pub struct StateFile<T> {
    directory: PathBuf,
    name: Box<str>,
    newer: Option<u32>, // the version of a newer bergamot, whose file is not ours to change
    kept: PhantomData<fn() -> T>,
}

impl<T: Kept> StateFile<T> {
    /// The file, its document, and a warning if that could not be read. An unreadable file is renamed to
    /// `*.damaged` and never prevents a start; one of a newer version is left alone.
    pub fn open(directory: &Path) -> (Self, T, Option<String>) {
        Self::open_as(directory, T::NAME)
    }

    /// The same for one of several files of a kind.
    pub fn open_as(directory: &Path, name: &str) -> (Self, T, Option<String>) {
        let mut file = Self::called(directory, name);
        let told = match file.read() {
            Ok(kept) => return (file, kept, None),
            Err(StateFileError::Newer(version)) => {
                file.newer = Some(version);
                file.error_of(version).to_string()
            }
            Err(why) => file.set_aside(&why),
        };
        (file, T::default(), Some(told))
    }

    fn called(directory: &Path, name: &str) -> Self {
        Self { directory: directory.to_owned(), name: name.into(), newer: None, kept: PhantomData }
    }

    /// The document, without changing anything on the disk.
    pub fn peek(directory: &Path) -> Result<T, StateFileError> {
        Self::called(directory, T::NAME).read()
    }

    /// Replaces the document; it is fsynced before this returns.
    pub fn write(&self, kept: &T) -> Result<(), StoreError> {
        if let Some(version) = self.newer {
            return Err(self.error_of(version));
        }
        let folder = Folder::open(&self.directory).map_err(at(&self.directory))?;
        publish_now(&folder, &self.name, seal(T::WORD, VERSION, &kept.to_text()).as_bytes())?;
        folder.keep_reserve();
        Ok(())
    }

    fn read(&self) -> Result<T, StateFileError> {
        if !self.directory.exists() {
            return Ok(T::default());
        }
        let folder = Folder::open(&self.directory)?;
        let bytes = match (&folder as &dyn Directory).read(&self.name, MOST_BYTES) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(T::default()),
            bytes => bytes?,
        };
        let (_, text) = unseal(T::WORD, VERSION, &bytes)?;
        T::from_text(text).ok_or(StateFileError::Damaged)
    }

    /// Removes the file and fsyncs the directory.
    pub fn remove(&self) -> Result<(), StoreError> {
        let folder = Folder::open(&self.directory).map_err(at(&self.directory))?;
        match folder.remove(&self.name) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(at(self.directory.join(&*self.name))(error))
            }
            _ => sync_names(&folder),
        }
    }

    fn error_of(&self, version: u32) -> StoreError {
        StoreError::Newer { path: self.directory.join(&*self.name), version, known: VERSION }
    }

    fn set_aside(&self, why: &StateFileError) -> String {
        let path = self.directory.join(&*self.name);
        let aside = path.with_added_extension("damaged");
        match std::fs::rename(&path, &aside) {
            Ok(()) => format!("{} is set aside: {why}", aside.display()),
            Err(error) => format!("{}: {why}; it stays: {error}", path.display()),
        }
    }
}

/// Why a state file cannot be used.
#[derive(Debug, Error)]
pub enum StateFileError {
    #[error("it is damaged")]
    Damaged,
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("it was written by a newer bergamot (version {0})")]
    Newer(u32),
}

impl From<Unsealed> for StateFileError {
    fn from(error: Unsealed) -> Self {
        match error {
            Unsealed::Damaged => Self::Damaged,
            Unsealed::Newer(version) => Self::Newer(version),
        }
    }
}

const VERSION: u32 = 1;

/// Far more than the counters of a hundred servers over eleven years.
const MOST_BYTES: u64 = 64 << 20;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::usage::Usage;

    #[test]
    fn what_a_newer_bergamot_wrote_is_left_alone() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join(Usage::NAME);
        let newer = seal(Usage::WORD, 2, "whatever");
        std::fs::write(&path, &newer).unwrap();
        let (file, usage, told) = StateFile::<Usage>::open(home.path());
        assert_eq!(usage, Usage::default());
        assert!(told.unwrap().ends_with("a newer bergamot (version 2; this one knows 1)"));
        assert_eq!(file.write(&usage).unwrap_err().code(), "state.newer");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), newer);
    }

    #[test]
    fn what_is_damaged_is_set_aside_but_not_by_a_peek() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join(Usage::NAME);
        std::fs::write(&path, "whatever").unwrap();
        let peeked = StateFile::<Usage>::peek(home.path());
        assert!(matches!(peeked, Err(StateFileError::Damaged)));
        assert!(path.exists());
        assert!(StateFile::<Usage>::open(home.path()).2.is_some());
        assert!(!path.exists());
        assert_eq!(StateFile::<Usage>::peek(home.path()).unwrap(), Usage::default());
    }
}
