//! How often watchers are told how far jobs have come: of the one that matters now as often as people
//! can follow, of the others now and then, and only what changed.

use std::cell::Cell;
use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};

use bergamot_api::Event as News;
use bergamot_jobs::current_job;
use bergamot_poll::{Cadence, Promotion, Wanted};
use bergamot_types::JobId;

use crate::clock;
use crate::periodic::{Lane, Poll};
use crate::run::Daemon;

/// What was told last, and which job matters now.
#[derive(Debug)]
pub(crate) struct Published {
    progress: HashMap<JobId, (u64, u16)>,
    rate: (u64, Option<u64>),
    current: Option<(usize, JobId)>,
    promotion: Promotion<Poll>,
    queue_changed: Cell<bool>,
    was_watched: bool,
}

impl Published {
    pub(crate) fn new(cadence: Cadence) -> Self {
        Self {
            progress: HashMap::new(),
            rate: (0, None),
            current: None,
            promotion: Promotion::new(cadence),
            queue_changed: Cell::new(true),
            was_watched: false,
        }
    }

    /// The queue or a job in it is not what it was.
    pub(crate) fn on_queue_changed(&self) {
        self.queue_changed.set(true);
    }

    pub(crate) fn forget(&mut self, job: JobId) {
        self.progress.remove(&job);
    }
}

impl Daemon {
    /// Looks at the queue again if it changed, or if watchers have come or gone.
    pub(crate) fn see_to_publication(&mut self, now: Instant) {
        let is_watched = self.observers.hub.is_watched();
        let others =
            std::mem::replace(&mut self.observers.published.was_watched, is_watched) != is_watched;
        if self.observers.published.queue_changed.take() || others {
            self.look_for_current_job(now);
        }
    }

    /// Restores what a change that nobody told of may have left behind.
    pub(crate) fn check_current_job(&mut self) {
        let now = clock::now().instant;
        self.look_for_current_job(now);
        self.targets.finished(now, Poll::CurrentJob, &Ok::<(), ()>(()), &mut self.chance);
    }

    fn look_for_current_job(&mut self, now: Instant) {
        let check = Wanted {
            kind: Lane::Upkeep,
            interval: self.settings.config.polling.active_check,
            priority: 0,
            enabled: self.jobs.list().queued_count() > 0,
        };
        self.targets.set(now, Poll::CurrentJob, check);
        let current = current_job(self.jobs.list(), &self.engine);
        self.follow_screen(now);
        self.follow_progress(now, current);
        self.see_to_probes(now, current.map(|(_, job)| job));
        if std::mem::replace(&mut self.observers.published.current, current) != current {
            let computed_at = clock::now().date;
            let (order, job) = current.unzip();
            self.observers.hub.publish(News::QueueCurrent { job, order, computed_at });
        }
    }

    /// While somebody watches, every job whose articles are read in is looked at; none other moves.
    fn follow_progress(&mut self, now: Instant, current: Option<(usize, JobId)>) {
        let watched = self.observers.hub.is_watched();
        let moving = self.engine.jobs().map(|job| job.id()).filter(|_| watched);
        let mut wanted: BTreeSet<_> = moving.map(Poll::Progress).collect();
        let current = current.filter(|_| watched);
        let current = current.map(|(order, job)| (order, Poll::Progress(job)));
        wanted.extend(current.map(|(_, target)| target));
        let known = self.targets.targets().map(|(target, _)| target);
        let known: Vec<_> = known.filter(|it| matches!(it, Poll::Progress(_))).collect();
        for gone in known.iter().filter(|target| !wanted.contains(target)) {
            self.targets.remove(*gone);
        }
        for new in wanted.iter().filter(|target| !known.contains(target)) {
            self.targets.set(now, *new, self.observers.published.promotion.idle(Lane::Progress));
        }
        self.observers.published.promotion.set(now, &mut self.targets, Lane::Progress, current);
        self.follow_rate(now);
    }

    fn follow_screen(&mut self, now: Instant) {
        let (enabled, interval) =
            (self.engine.jobs().next().is_some(), self.observers.progress.cadence());
        let screen = Wanted { kind: Lane::Progress, interval, priority: 0, enabled };
        if self.targets.set(now, Poll::Screen, screen) && enabled {
            self.targets.due_now(now, Poll::Screen);
        }
        if !enabled {
            self.observers.progress.rest();
        }
    }

    pub(crate) fn speak(&mut self) {
        let now = clock::now().instant;
        self.observers.progress.speak(now, &self.engine, self.jobs.list());
        self.targets.finished(now, Poll::Screen, &Ok::<(), ()>(()), &mut self.chance);
    }

    /// Until nothing moves any more and that was told.
    fn follow_rate(&mut self, now: Instant) {
        let moves = self.engine.jobs().next().is_some() || self.observers.published.rate.0 > 0;
        let enabled = moves && self.observers.hub.is_watched();
        let rate = Wanted { kind: Lane::Progress, interval: RATE_INTERVAL, priority: 0, enabled };
        self.targets.set(now, Poll::Rate, rate);
    }

    pub(crate) fn tell_progress_of(&mut self, job: JobId) {
        let now = clock::now().instant;
        self.targets.finished(now, Poll::Progress(job), &Ok::<(), ()>(()), &mut self.chance);
        let Some(health) = self.engine.job(job).map(|job| job.health().0) else { return };
        let Some(record) = self.jobs.list().record(job) else { return };
        let remaining = self.remaining(record).bytes;
        let told = self.observers.published.progress.insert(job, (remaining, health));
        if told != Some((remaining, health)) {
            self.observers.hub.publish(News::JobProgress { job, remaining, health });
        }
    }

    pub(crate) fn tell_rate(&mut self) {
        let now = clock::now().instant;
        let rate = (self.observers.pace.rate(now), self.rate_limit().map(|limit| limit.0));
        if std::mem::replace(&mut self.observers.published.rate, rate) != rate {
            self.observers.hub.publish(News::Rate { rate: rate.0, limit: rate.1 });
        }
        self.targets.finished(now, Poll::Rate, &Ok::<(), ()>(()), &mut self.chance);
        self.follow_rate(now);
    }
}

const RATE_INTERVAL: Duration = Duration::from_millis(500);
