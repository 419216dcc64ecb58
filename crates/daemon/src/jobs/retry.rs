//! Retries of failed jobs in the main loop: `Daemon` plans and begins what `bergamot_jobs::retry` decides.

use std::time::Duration;

use bergamot_jobs::retry;
use bergamot_queue::Cause;
use bergamot_types::JobId;
use tracing::debug;

use crate::clock;
use crate::periodic::Poll;
use crate::run::Daemon;

impl Daemon {
    /// How long a job that failed rests before it is tried again, if it is to be.
    pub(crate) fn rest_after(&mut self, job: JobId, cause: Cause) -> Option<Duration> {
        let (disk, propagation) =
            (self.disk.last_failure(), self.settings.config().download.propagation);
        let record = self.jobs.record_mut(job)?;
        let rest = retry::rest_after(record, cause, disk, propagation, clock::now().date)?;
        self.record(job);
        Some(rest)
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

    pub(crate) fn plan_retry_after_outage(&mut self, job: JobId) {
        let rest = self.jobs.record(job).and_then(retry::rest_in_history);
        if let Some(rest) = rest {
            self.do_once(Poll::Rest(job), clock::now().instant + rest);
        }
    }

    pub(crate) fn plan_retries_at_start(&mut self) {
        for job in self.jobs_failed_by_outage() {
            self.do_once(Poll::Rest(job), clock::now().instant + retry::FIRST_REST);
        }
    }

    fn jobs_failed_by_outage(&self) -> Vec<JobId> {
        let jobs = self.jobs.history().filter(|record| retry::is_failed_by_outage(record));
        jobs.map(|record| record.id).collect()
    }

    /// Unless that was done often enough.
    pub(crate) fn retry_if_failed_by_outage(&mut self, job: JobId) {
        let record = self.jobs.record(job).filter(|record| retry::is_failed_by_outage(record));
        let record = record.filter(|record| retry::rest_in_history(record).is_some());
        let Some(returns) = record.map(|record| record.returns) else { return };
        match self.try_again(job, false) {
            Ok(_) => {
                if let Some(record) = self.jobs.record_mut(job) {
                    record.returns = retry::returns_from_history(returns);
                }
                self.record(job);
                self.load_next();
            }
            Err(why) => debug!(%job, "not tried again: {why}"),
        }
    }
}
