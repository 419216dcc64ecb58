//! Jobs that cannot be made whole any more.
//!
//! Whoever is short of recovery data learns it from the next lost article on, not after the last of
//! them: nothing more is fetched of a job that cannot complete, unless that is wanted.

use std::collections::HashSet;

use bergamot_types::JobId;

use crate::engine::Engine;
use crate::order::{Failure, Notice, Order};

/// What becomes of a job that cannot be made whole any more.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum HealthAction {
    /// It ends as failed, and what there is of it is deleted.
    Delete,
    /// It goes on to its end.
    None,
    /// It ends as failed, and what there is of it stays. Nobody need be there to decide.
    #[default]
    Park,
    /// It waits until it is resumed, and is not held up again.
    Pause,
}

/// The jobs that were found to be beyond repair: each is acted upon once.
#[derive(Debug, Default)]
pub(crate) struct Beyond(HashSet<JobId>);

impl Beyond {
    pub(crate) fn forget(&mut self, job: JobId) {
        self.0.remove(&job);
    }
}

impl Engine {
    /// After an article of the job was lost.
    pub(crate) fn check_health(&mut self, job: JobId) {
        let Some(known) = self.queue.job(job) else { return };
        let (health, critical) = (known.health(), known.critical_health());
        if health >= critical || self.ended.contains(&job) || !self.beyond.0.insert(job) {
            return;
        }
        let action = self.settings.health_action;
        self.tell(Notice::BeyondRepair { job, health, critical, action });
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
