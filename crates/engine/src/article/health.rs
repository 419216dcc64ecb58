//! [`JobEnds`]: which jobs have ended or are beyond repair, and the [`HealthAction`] that follows. Pure.
//!
//! A lack of recovery data is acted upon from the next lost article on, not after the last of
//! them: nothing more is fetched of a job that cannot complete, unless that is wanted.

use std::collections::HashSet;

use bergamot_types::JobId;

use crate::engine::Engine;
use crate::event::Now;
use crate::order::{Failure, Notice, Order};

/// What becomes of a job that cannot be made whole any more.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum HealthAction {
    /// It ends as failed, and what there is of it is deleted.
    Delete,
    /// It goes on to its end.
    None,
    /// It ends as failed, and what there is of it stays; no user has to decide.
    #[default]
    Park,
    /// It waits until it is resumed, and is not held up again.
    Pause,
}

/// How jobs end, as far as that is known before they do.
#[derive(Debug, Default)]
pub(crate) struct JobEnds {
    /// Jobs whose last order has gone out.
    pub(crate) ended: HashSet<JobId>,
    pub(crate) losses: Losses,
}

impl JobEnds {
    pub(crate) fn forget(&mut self, job: JobId) {
        self.ended.remove(&job);
        self.losses.forget(job);
    }
}

/// What is known of the losses of jobs.
#[derive(Debug, Default)]
pub(crate) struct Losses {
    /// Jobs that were found to be beyond repair: each is acted upon once.
    beyond_repair: HashSet<JobId>,
    /// Jobs that lost an article which a server may have that could not be asked.
    by_outage: HashSet<JobId>,
}

impl Losses {
    pub(crate) fn forget(&mut self, job: JobId) {
        self.beyond_repair.remove(&job);
        self.by_outage.remove(&job);
    }

    pub(crate) fn note_outage(&mut self, job: JobId) {
        self.by_outage.insert(job);
    }
}

impl Engine {
    /// Why a job that is settled and not whole failed.
    pub(crate) fn cause_of_loss(&self, job: JobId) -> Failure {
        match self.jobs.losses.by_outage.contains(&job) {
            true => Failure::ServersDown,
            false => Failure::Incomplete,
        }
    }

    /// After an article of the job was lost.
    pub(crate) fn check_health(&mut self, now: Now, job: JobId) {
        let Some(known) = self.queue.job(job) else { return };
        if known.health_exempt_until().is_some_and(|until| now.date < until) {
            return;
        }
        let (health, critical) = (known.health(), known.critical_health());
        let is_known = health >= critical || self.jobs.ended.contains(&job);
        if is_known || !self.jobs.losses.beyond_repair.insert(job) {
            return;
        }
        let action = self.settings.health_action;
        // Nothing is deleted, nor held against the post, that a server may still bring.
        if self.jobs.losses.by_outage.contains(&job) && action != HealthAction::None {
            return self.fail_job(job, Failure::ServersDown);
        }
        self.notify(Notice::BeyondRepair { job, health, critical, action });
        match action {
            HealthAction::Delete => {
                self.fail_job(job, Failure::Health { health, critical });
                self.orders.push_back(Order::DeleteFiles { job });
            }
            HealthAction::None => {}
            HealthAction::Park => self.fail_job(job, Failure::Health { health, critical }),
            HealthAction::Pause => self.on_job_paused(job),
        }
    }
}
