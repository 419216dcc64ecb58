//! Jobs that come back by themselves after something failed them that may pass.

use std::time::Duration;

use bergamot_queue::{Cause, Retry};
use bergamot_types::JobId;

use super::core::Daemon;

impl Daemon {
    /// How long a job that failed rests before it is tried again, if it is to be. How often that was
    /// so is on record, so that it does not go on for ever.
    pub(super) fn return_pause(
        &mut self,
        job: JobId,
        cause: Cause,
        reason: &str,
    ) -> Option<Duration> {
        match cause.retry() {
            Retry::After(pause) => return Some(pause),
            Retry::WhenDiskReturns if may_pass(reason) => {}
            Retry::WhenServersReturn => {}
            Retry::ByPerson | Retry::Never | Retry::WhenDiskReturns => return None,
        }
        let record = self.jobs.record_mut(job)?;
        let pause = pause_before(record.returns)?;
        record.returns += 1;
        self.record(job);
        Some(pause)
    }
}

/// A name that the file system refuses, or a file too large for it, stays so.
fn may_pass(reason: &str) -> bool {
    ["disk.error", "disk.unsynced", "disk.vanished"].iter().any(|code| reason.starts_with(code))
}

/// None when it has come back often enough.
fn pause_before(returns: u32) -> Option<Duration> {
    (returns < MOST_RETURNS).then(|| FIRST_PAUSE * FACTOR.pow(returns))
}

/// 5 s, 30 s, 3 min: a cable that was pulled, a share that is remounted, a NAS that restarts.
const FIRST_PAUSE: Duration = Duration::from_secs(5);
const FACTOR: u32 = 6;
const MOST_RETURNS: u32 = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_pass_is_tried_again_and_not_for_ever() {
        assert!(may_pass("disk.vanished: /a: vanished while in use"));
        for reason in ["disk.file_too_large: x", "disk.obstructed: x", "fs.bad_name: x", ""] {
            assert!(!may_pass(reason), "{reason}");
        }
        let seconds = |returns| pause_before(returns).map(|pause| pause.as_secs());
        assert_eq!([0, 1, 2, 3].map(seconds), [Some(5), Some(30), Some(180), None]);
    }
}
