//! Jobs that come back by themselves after something failed them that may pass.

use std::time::Duration;

use bergamot_queue::{Cause, Ending, HoldVerdict, Retry};
use bergamot_types::JobId;
use tracing::debug;

use super::core::Daemon;
use crate::clock;

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
            Retry::ByPerson if cause == Cause::Propagating => return self.propagation_pause(job),
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

    /// A server delivers again: what failed while it did not may be had now.
    pub(super) fn retry_jobs_failed_by_outage(&mut self) {
        for job in self.jobs.resting_for(Cause::ServersDown) {
            self.jobs.end_rest(job);
        }
        self.load_next();
        let failed = |ending| ending == Some(Ending::Failed(Cause::ServersDown));
        let jobs = self.jobs.past().filter(|record| failed(record.ending()));
        for job in jobs.map(|record| record.id).collect::<Vec<_>>() {
            if let Err(why) = self.try_again(job, false) {
                debug!(%job, "not tried again: {why}");
            }
        }
    }

    /// How long a job of a recent post waits before it is asked for again; none when it was held long enough.
    fn propagation_pause(&mut self, job: JobId) -> Option<Duration> {
        let (rule, now) = (self.config.download.propagation, clock::now().date);
        let record = self.jobs.record_mut(job)?;
        match rule.judge(record.held, record.contents.newest_post, now) {
            HoldVerdict::Ask { held, pause } => {
                record.held = Some(held);
                self.record(job);
                Some(pause)
            }
            HoldVerdict::Over | HoldVerdict::Settled => None,
        }
    }
}

/// A name that the file system refuses, or a file too large for it, stays so.
fn may_pass(reason: &str) -> bool {
    let codes = ["disk.error", "disk.unsynced", "disk.vanished", "file.changed"];
    codes.iter().any(|code| reason.starts_with(code))
}

/// A job was put back because its files seemed to be others, and they hold what they should: inode numbers
/// have changed, which some file systems do at any time. That return does not count.
pub(super) fn returns_after_proof(returns: u32) -> u32 {
    returns.saturating_sub(1)
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
        assert!(may_pass("file.changed: /a: is not as it was written"));
        for reason in ["disk.file_too_large: x", "disk.obstructed: x", "fs.bad_name: x", ""] {
            assert!(!may_pass(reason), "{reason}");
        }
        let seconds = |returns| pause_before(returns).map(|pause| pause.as_secs());
        assert_eq!([0, 1, 2, 3].map(seconds), [Some(5), Some(30), Some(180), None]);
        assert_eq!([0, 1, 3].map(returns_after_proof), [0, 0, 2], "nothing had changed");
    }
}
