//! [`Published`]: the progress of jobs as it was last published to subscribers, and the intervals of publication: the
//! current job most often, the others less often, and only what changed. Part of [`Observers`], in the
//! main loop.

use std::cell::Cell;
use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};

use bergamot_api::Event as News;
use bergamot_engine::Engine;
use bergamot_jobs::{JobList, Remaining, current_job};
use bergamot_poll::{Cadence, Promotion, Wanted};
use bergamot_types::{JobId, SplitMix};

use crate::clock;
use crate::periodic::{Lane, Poll, Targets};
use crate::views::observers::Observers;

/// What was published last, and which job is the current one.
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

/// What the publication of progress needs of the main loop.
pub(crate) struct ProgressContext<'a> {
    pub(crate) engine: &'a Engine,
    pub(crate) jobs: &'a JobList,
    pub(crate) targets: &'a mut Targets,
    pub(crate) chance: &'a mut SplitMix,
}

impl ProgressContext<'_> {
    fn finished(&mut self, now: Instant, target: Poll) {
        self.targets.finished(now, target, &Ok::<(), ()>(()), self.chance);
    }

    fn rate_limit(&self) -> Option<u64> {
        self.engine.rate().map(|rate| rate.0).filter(|rate| *rate > 0)
    }
}

impl Observers {
    /// Whether the current job is to be determined again: the queue changed, or subscribers came or went.
    pub(crate) fn take_queue_change(&mut self) -> bool {
        let is_watched = self.hub().is_watched();
        let others = std::mem::replace(&mut self.published.was_watched, is_watched) != is_watched;
        self.published.queue_changed.take() || others
    }

    /// Determines the current job, and how often the progress of each job is published. Returns the current job.
    /// `check` is the interval at which that is repeated without a reported change, to correct for missed ones.
    pub(crate) fn find_current_job(
        &mut self,
        with: &mut ProgressContext<'_>,
        now: Instant,
        check: Duration,
    ) -> Option<JobId> {
        let check = Wanted {
            kind: Lane::Upkeep,
            interval: check,
            priority: 0,
            enabled: with.jobs.queued_count() > 0,
        };
        with.targets.set(now, Poll::CurrentJob, check);
        let current = current_job(with.jobs, with.engine);
        self.follow_screen(with, now);
        self.follow_progress(with, now, current);
        if std::mem::replace(&mut self.published.current, current) != current {
            let computed_at = clock::now().date;
            let (order, job) = current.unzip();
            self.hub().publish(News::QueueCurrent { job, order, computed_at });
        }
        current.map(|(_, job)| job)
    }

    /// While there are subscribers, every job that is loaded into the engine is checked; no other has progress.
    fn follow_progress(
        &mut self,
        with: &mut ProgressContext<'_>,
        now: Instant,
        current: Option<(usize, JobId)>,
    ) {
        let watched = self.hub().is_watched();
        let moving = with.engine.jobs().map(|job| job.id()).filter(|_| watched);
        let mut wanted: BTreeSet<_> = moving.map(Poll::Progress).collect();
        let current = current.filter(|_| watched);
        let current = current.map(|(order, job)| (order, Poll::Progress(job)));
        wanted.extend(current.map(|(_, target)| target));
        let known = with.targets.targets().map(|(target, _)| target);
        let known: Vec<_> = known.filter(|it| matches!(it, Poll::Progress(_))).collect();
        for gone in known.iter().filter(|target| !wanted.contains(target)) {
            with.targets.remove(*gone);
        }
        for new in wanted.iter().filter(|target| !known.contains(target)) {
            with.targets.set(now, *new, self.published.promotion.idle(Lane::Progress));
        }
        self.published.promotion.set(now, with.targets, Lane::Progress, current);
        self.follow_rate(with, now);
    }

    fn follow_screen(&mut self, with: &mut ProgressContext<'_>, now: Instant) {
        let (enabled, interval) = (with.engine.jobs().next().is_some(), self.terminal.cadence());
        let screen = Wanted { kind: Lane::Progress, interval, priority: 0, enabled };
        if with.targets.set(now, Poll::Screen, screen) && enabled {
            with.targets.due_now(now, Poll::Screen);
        }
        if !enabled {
            self.terminal.stop();
        }
    }

    /// Shows the progress on the terminal, or logs it.
    pub(crate) fn show_progress(&mut self, with: &mut ProgressContext<'_>) {
        let now = clock::now().instant;
        self.terminal.show(now, with.engine, with.jobs);
        with.finished(now, Poll::Screen);
    }

    /// Publishes the rate until it is zero and that was published.
    fn follow_rate(&mut self, with: &mut ProgressContext<'_>, now: Instant) {
        let moves = with.engine.jobs().next().is_some() || self.published.rate.0 > 0;
        let enabled = moves && self.hub().is_watched();
        let rate = Wanted { kind: Lane::Progress, interval: RATE_INTERVAL, priority: 0, enabled };
        with.targets.set(now, Poll::Rate, rate);
    }

    pub(crate) fn publish_progress(&mut self, with: &mut ProgressContext<'_>, job: JobId) {
        with.finished(clock::now().instant, Poll::Progress(job));
        let Some(known) = with.engine.job(job) else { return };
        let Some(record) = with.jobs.record(job) else { return };
        let (health, remaining) = (known.health().0, Remaining::of(record, Some(known)).bytes);
        let told = self.published.progress.insert(job, (remaining, health));
        if told != Some((remaining, health)) {
            self.hub().publish(News::JobProgress { job, remaining, health });
        }
    }

    pub(crate) fn publish_rate(&mut self, with: &mut ProgressContext<'_>) {
        let now = clock::now().instant;
        let rate = (self.rate_meter().rate(now), with.rate_limit());
        if std::mem::replace(&mut self.published.rate, rate) != rate {
            self.hub().publish(News::Rate { rate: rate.0, limit: rate.1 });
        }
        with.finished(now, Poll::Rate);
        self.follow_rate(with, now);
    }
}

const RATE_INTERVAL: Duration = Duration::from_millis(500);
