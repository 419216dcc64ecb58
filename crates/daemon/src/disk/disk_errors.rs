//! [`DiskErrors`]: the last error of the writer, for messages and for the retry of jobs. Owned by the main
//! loop.

use bergamot_jobs::retry::DiskFailure;
use bergamot_writer::DiskError;

#[derive(Debug, Default)]
pub(crate) struct DiskErrors {
    last: Option<(DiskFailure, String)>,
}

impl DiskErrors {
    pub(crate) fn note(&mut self, error: &DiskError) {
        self.last = Some((failure_of(error), format!("{}: {error}", error.code())));
    }

    /// With its code.
    pub(crate) fn text(&self) -> Option<&str> {
        self.last.as_ref().map(|(_, text)| text.as_str())
    }

    pub(crate) fn last(&self) -> DiskFailure {
        self.last.as_ref().map_or(DiskFailure::Transient, |(failure, _)| *failure)
    }
}

fn failure_of(error: &DiskError) -> DiskFailure {
    match error {
        DiskError::Broken { .. }
        | DiskError::Changed { .. }
        | DiskError::CopyDiffers { .. }
        | DiskError::Unsynced { .. }
        | DiskError::Vanished { .. } => DiskFailure::Transient,
        DiskError::BadName { .. }
        | DiskError::DestinationMissing { .. }
        | DiskError::FileTooLarge { .. }
        | DiskError::Full { .. }
        | DiskError::Mount(_)
        | DiskError::Obstructed { .. }
        | DiskError::ReadOnly { .. }
        | DiskError::Stopped { .. }
        | DiskError::TooManyFiles { .. } => DiskFailure::Lasting,
    }
}
