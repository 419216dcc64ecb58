//! What watchers are told as it happens.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use bergamot_rpc::Event as News;
use bergamot_rpc::view::Disk;
use bergamot_rpc::wish::Part;
use bergamot_types::{JobId, ServerId};

use super::core::Daemon;
use crate::clock;

/// What was told last, so that only what changed is told.
#[derive(Debug, Default)]
pub(super) struct Told {
    progress: HashMap<JobId, (u64, u16)>,
    rate: (u64, Option<u64>),
    next: Option<Instant>,
}

impl Told {
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.next
    }

    pub(super) fn forget(&mut self, job: JobId) {
        self.progress.remove(&job);
    }
}

impl Daemon {
    pub(super) fn tell_added(&self, job: JobId) {
        let Some(record) = self.jobs.record(job) else { return };
        self.hub.publish(News::JobAdded {
            job,
            name: record.name.to_string(),
            category: record.category.as_deref().map(str::to_owned),
            size: record.contents.bytes.0,
        });
    }

    pub(super) fn tell_state(&self, job: JobId) {
        let Some(record) = self.jobs.record(job) else { return };
        let reason = record.reason().filter(|reason| !reason.is_empty()).map(str::to_owned);
        self.hub.publish(News::JobState { job, state: self.state_of(record), reason });
    }

    pub(super) fn tell_changed(&self, job: JobId) {
        self.hub.publish(News::JobChanged { job });
    }

    pub(super) fn tell_removed(&mut self, job: JobId) {
        self.told.forget(job);
        self.hub.publish(News::JobRemoved { job });
    }

    pub(super) fn tell_server(&self, id: ServerId, trouble: Option<String>) {
        let (server, name) = (self.shown_id(id), self.name(id).to_owned());
        self.hub.publish(match trouble {
            Some(trouble) => News::ServerDown { server, name, trouble },
            None => News::ServerUp { server, name },
        });
    }

    /// It takes nothing, and why; or it works again.
    pub(super) fn tell_disk(&mut self, trouble: Option<String>) {
        self.held_since = clock::now().date;
        let path = self.job_settings.get().incomplete.to_string_lossy().into_owned();
        // How full it is, it may not say just now.
        self.hub.publish(News::Disk { disk: Disk { path, ..Disk::default() }, trouble });
    }

    pub(super) fn tell_quotas(&mut self) {
        self.held_since = clock::now().date;
        self.quota_views().into_iter().for_each(|quota| self.hub.publish(News::Quota(quota)));
    }

    pub(super) fn tell_pauses(&self) {
        let pauses = [
            (Part::Download, &self.pauses.download),
            (Part::Post, &self.pauses.post),
            (Part::Scan, &self.pauses.scan),
        ];
        for (part, paused) in pauses {
            self.hub.publish(News::Pause { part, paused: paused.clone() });
        }
    }

    /// Twice a second while somebody watches and something moves; else nothing wakes for this.
    pub(super) fn tell_progress(&mut self, now: Instant) {
        let is_busy = self.engine.jobs().next().is_some() && self.hub.is_watched();
        if !is_busy {
            self.told.next = None;
            return;
        }
        if self.told.next.is_some_and(|next| now < next) {
            return;
        }
        self.told.next = Some(now + CADENCE);
        let jobs: Vec<_> = self.engine.jobs().map(|job| (job.id(), job.health().0)).collect();
        for (job, health) in jobs {
            let Some(record) = self.jobs.record(job) else { continue };
            let remaining = self.left(record).remaining;
            if self.told.progress.insert(job, (remaining, health)) != Some((remaining, health)) {
                self.hub.publish(News::JobProgress { job, remaining, health });
            }
        }
        let rate = (self.pace.rate(now), self.rate_limit().map(|limit| limit.0));
        if std::mem::replace(&mut self.told.rate, rate) != rate {
            self.hub.publish(News::Rate { rate: rate.0, limit: rate.1 });
        }
    }
}

/// As fast as people can follow.
const CADENCE: Duration = Duration::from_millis(500);
