//! [`Lock`]: the file lock by which one daemon owns a spool.

use std::fs::File;
use std::io::{self, Read, Seek, Write};

use rustix::fs::{FlockOperation, OFlags, flock};

use crate::disk::directory::{Directory, Folder};
use crate::disk::durable::at;
use crate::error::StoreError;

/// Held as long as this lives, and gone with the process.
#[derive(Debug)]
pub(crate) struct Lock(File);

/// The inner error is why there is no lock on a read-only file system: no other daemon can write there
/// either.
pub(crate) fn lock(folder: &Folder) -> Result<Result<Lock, StoreError>, StoreError> {
    let path = folder.path().join(NAME);
    let file = match folder.file(NAME, OFlags::RDWR | OFlags::CREATE) {
        Ok(file) => file,
        Err(error) => match at(&path)(error) {
            error @ (StoreError::ReadOnly { .. } | StoreError::Full { .. }) => {
                return Ok(Err(error));
            }
            error => return Err(error),
        },
    };
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Ok(Lock(file))),
        Err(rustix::io::Errno::WOULDBLOCK) => {
            let by = holder(&file);
            Err(StoreError::Locked { path: folder.path().to_owned(), by })
        }
        Err(error) => Err(at(&path)(error.into())),
    }
}

impl Lock {
    /// Writes the holder, for display only: on a full disk it says nothing. Over a share a process
    /// number alone would mislead.
    pub(crate) fn sign(&self) {
        let _ = self.try_to_sign();
    }

    fn try_to_sign(&self) -> io::Result<()> {
        let mut file = &self.0;
        let host = rustix::system::uname();
        file.set_len(0)?;
        file.rewind()?;
        writeln!(file, "process {} on {}", std::process::id(), host.nodename().to_string_lossy())
    }
}

fn holder(file: &File) -> String {
    let mut text = String::new();
    // The lock is held, whatever stands in the file.
    let _ = file.take(LONGEST_SIGNATURE).read_to_string(&mut text);
    text.lines().next().map_or(String::new(), |holder| format!(" ({holder})"))
}

const LONGEST_SIGNATURE: u64 = 256;
const NAME: &str = "lock";
