//! Jobs that come back by themselves after something failed them that may pass.

use std::time::Duration;

use bergamot_jobs::Record;
use bergamot_queue::{Cause, Ending, HoldVerdict, Retry};
use bergamot_types::JobId;
use tracing::debug;

use crate::clock;
use crate::periodic::Poll;
use crate::run::Daemon;

impl Daemon {
    /// How long a job that failed rests before it is tried again, if it is to be. How often that was
    /// so is on record, so that it does not go on for ever.
    pub(crate) fn return_pause(
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
    pub(crate) fn retry_jobs_failed_by_outage(&mut self) {
        for job in self.jobs.resting_for(Cause::ServersDown) {
            self.jobs.end_rest(job);
        }
        self.load_next();
        for job in self.jobs_failed_by_outage() {
            self.retry_if_failed_by_outage(job);
        }
    }

    /// The servers may deliver again without anything showing it: with an empty queue nothing is asked of
    /// them. So jobs that ended in an outage are tried again after a while, and after a start.
    pub(crate) fn plan_retry_after_outage(&mut self, job: JobId) {
        let returns = self.jobs.record(job).map_or(0, |record| record.returns);
        if let Some(pause) = pause_in_history(returns) {
            self.do_once(Poll::Rest(job), clock::now().instant + pause);
        }
    }

    pub(crate) fn plan_retries_at_start(&mut self) {
        for job in self.jobs_failed_by_outage() {
            self.do_once(Poll::Rest(job), clock::now().instant + FIRST_PAUSE);
        }
    }

    fn jobs_failed_by_outage(&self) -> Vec<JobId> {
        let jobs = self.jobs.history().filter(|record| is_failed_by_outage(record));
        jobs.map(|record| record.id).collect()
    }

    /// Unless that was done often enough.
    pub(crate) fn retry_if_failed_by_outage(&mut self, job: JobId) {
        let Some(record) = self.jobs.record(job).filter(|record| is_failed_by_outage(record))
        else {
            return;
        };
        let returns = record.returns;
        if pause_in_history(returns).is_none() {
            return;
        }
        match self.try_again(job, false) {
            Ok(_) => {
                if let Some(record) = self.jobs.record_mut(job) {
                    record.returns = returns.max(MOST_RETURNS) + 1;
                }
                self.record(job);
                self.load_next();
            }
            Err(why) => debug!(%job, "not tried again: {why}"),
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

fn is_failed_by_outage(record: &Record) -> bool {
    record.ending() == Some(Ending::Failed(Cause::ServersDown))
}

/// How long a job that ended in an outage stays in history: 10 minutes, twice as long each time up to an
/// hour, for a day in all. None behind that.
fn pause_in_history(returns: u32) -> Option<Duration> {
    let before = returns.saturating_sub(MOST_RETURNS);
    let pause = FIRST_PAUSE_IN_HISTORY * (1 << before.min(LONGEST_DOUBLING));
    (before < MOST_RETURNS_FROM_HISTORY).then_some(pause.min(LONGEST_PAUSE_IN_HISTORY))
}

/// A job was put back because its files seemed to be others, and they hold what they should: inode numbers
/// have changed, which some file systems do at any time. That return does not count.
pub(crate) fn returns_after_proof(returns: u32) -> u32 {
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

const FIRST_PAUSE_IN_HISTORY: Duration = Duration::from_mins(10);
const LONGEST_PAUSE_IN_HISTORY: Duration = Duration::from_hours(1);
const LONGEST_DOUBLING: u32 = 3;
const MOST_RETURNS_FROM_HISTORY: u32 = 26;

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

    #[test]
    fn a_job_that_ended_in_an_outage_is_tried_again_for_a_day() {
        let pauses: Vec<_> = (0..100).map_while(|count| pause_in_history(3 + count)).collect();
        let minutes = pauses.iter().map(|pause| pause.as_secs() / 60);
        assert_eq!(minutes.take(5).collect::<Vec<_>>(), [10, 20, 40, 60, 60]);
        let hours = pauses.iter().sum::<Duration>().as_secs() / 3600;
        assert_eq!(hours, 24);
    }
}
