//! [`LoadError`]: why a job cannot be downloaded. Pure.

use std::io;

use bergamot_engine::DiskTrouble;
use bergamot_queue::Cause;
use bergamot_store::StoreError;
use bergamot_writer::DiskError;

use crate::intake::nzb_to_job::NzbReadError;

/// Why a job cannot be downloaded.
#[derive(Clone, Debug)]
pub(crate) enum LoadError {
    /// Its own: others may have another.
    Disk(String),
    Lasting(Cause, String),
    Passing(String),
}

impl LoadError {
    /// A file of the job could not be read. Others need not wait for that.
    pub(crate) fn of_read(error: DiskError) -> Self {
        match error.into() {
            Self::Passing(why) => Self::Disk(why),
            error => error,
        }
    }

    pub(crate) fn why(&self) -> &str {
        match self {
            Self::Disk(why) | Self::Lasting(_, why) | Self::Passing(why) => why,
        }
    }
}

impl From<DiskError> for LoadError {
    fn from(error: DiskError) -> Self {
        let waits_for_a_disk = matches!(
            error,
            DiskError::DestinationMissing { .. } | DiskError::Full { .. } | DiskError::Mount(_)
        );
        if waits_for_a_disk {
            return Self::Disk(format!("{}: {error}", error.code()));
        }
        let why = format!("{}: {error}", error.code());
        match error.trouble() {
            DiskTrouble::Permanent => Self::Lasting(Cause::Disk, why),
            DiskTrouble::Full | DiskTrouble::Transient | DiskTrouble::Unsynced => {
                Self::Passing(why)
            }
        }
    }
}

impl From<StoreError> for LoadError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Io { error, path } if error.kind() == io::ErrorKind::NotFound => {
                let why = format!("state.missing: {}: {error}", path.display());
                Self::Lasting(Cause::Missing, why)
            }
            error @ StoreError::Damaged { .. } => {
                Self::Lasting(Cause::StateDamaged, format!("{}: {error}", error.code()))
            }
            error => Self::Passing(format!("{}: {error}", error.code())),
        }
    }
}

impl From<NzbReadError> for LoadError {
    fn from(error: NzbReadError) -> Self {
        match error {
            NzbReadError::Nzb(error) => {
                Self::Lasting(Cause::Refused, format!("{}: {error}", error.code()))
            }
            NzbReadError::Store(error) => error.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use rustix::io::Errno;

    use super::*;

    #[test]
    fn a_job_whose_files_cannot_be_read_waits_by_itself() {
        for error in [
            DiskError::Broken { path: "a".into(), errno: Errno::IO },
            DiskError::TooManyFiles { path: "a".into(), errno: Errno::MFILE },
        ] {
            let error = LoadError::of_read(error);
            assert!(matches!(error, LoadError::Disk(_)), "{error:?}");
        }
    }
}
