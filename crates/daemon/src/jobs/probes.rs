//! Whether jobs that wait are there at all, as far as a sample tells, and servers that nobody asks.
//!
//! A post that was taken down is known before its turn comes. The first jobs of the queue that have
//! not begun are looked at every few minutes, the next one as soon as it is the next.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use bergamot_api::Event as News;
use bergamot_api::view;
use bergamot_engine::{Census, Event as EngineEvent};
use bergamot_jobs::probes::{JobSample, draw_sample, to_probe};
use bergamot_poll::Wanted;
use bergamot_queue::{Outlook, Permille};
use bergamot_types::{JobId, ServerId, SplitMix};
use tracing::{debug, warn};

use crate::clock;
use crate::event::Event;
use crate::periodic::{Lane, Poll};
use crate::run::Daemon;
use crate::service_thread::service_blocking;

/// What the samples said.
#[derive(Debug, Default)]
pub(crate) struct Probes {
    outlooks: BTreeMap<JobId, view::Probe>,
    critical: BTreeMap<JobId, Permille>, // of those that are under way
    next_up: Option<JobId>,
}

impl Probes {
    /// What the last sample of the job said.
    pub(crate) fn of(&self, job: JobId) -> Option<view::Probe> {
        self.outlooks.get(&job).copied()
    }

    pub(crate) fn forget(&mut self, job: JobId) {
        self.outlooks.remove(&job);
    }
}

impl Daemon {
    /// JobFilter jobs and servers are looked at, now that the queue is as it is.
    pub(crate) fn see_to_probes(&mut self, now: Instant, current: Option<JobId>) {
        let settings = self.settings.config().probes;
        let waiting = to_probe(&self.jobs, &self.engine, current);
        let next_up = waiting.first().copied();
        let probe = |job: JobId| {
            let priority = i32::from(Some(job) == next_up);
            let (kind, interval) = (Lane::Probe, settings.interval);
            (Poll::Probe(job), Wanted { kind, interval, priority, enabled: true })
        };
        let wanted = waiting.into_iter().filter(|_| settings.enabled).map(probe);
        // Most small jobs have come and gone by then.
        let soon = now + A_MOMENT;
        let is_probe = |target| matches!(target, Poll::Probe(_));
        let (gone, _) = self.targets.reconcile(soon, is_probe, wanted);
        for target in gone {
            if let Poll::Probe(job) = target {
                self.stop_probing(job);
            }
        }
        if std::mem::replace(&mut self.probes.next_up, next_up) != next_up
            && let Some(job) = next_up
        {
            self.targets.due_now(soon, Poll::Probe(job));
        }
        self.see_to_server_probes(now, settings.enabled);
    }

    fn stop_probing(&mut self, job: JobId) {
        let now = clock::now().instant;
        self.targets.remove(Poll::Probe(job));
        self.targets.put_off(Poll::Probe(job), now);
        self.probes.critical.remove(&job);
        self.notify_engine(EngineEvent::ProbeDropped(job));
    }

    /// Reads the NZB beside the loop.
    pub(crate) fn begin_probe(&mut self, job: JobId) {
        let Some(record) = self.jobs.record(job).cloned() else {
            return self.end_probe(job, Err(()));
        };
        let (new_jobs, events) = (self.new_jobs.clone(), self.events.clone());
        let mut chance = SplitMix::seeded(self.chance.up_to(u64::MAX));
        service_blocking("sampler", &self.events, move || {
            let drawn = new_jobs.nzb(&record).map(|nzb| draw_sample(&nzb, &mut chance));
            events.send(Event::SampleDrawn { job, drawn });
        });
    }

    pub(crate) fn on_sample_drawn(&mut self, job: JobId, drawn: Result<JobSample, String>) {
        if self.targets.target(Poll::Probe(job)).is_none() {
            return;
        }
        match drawn {
            Ok(sample) => {
                self.probes.critical.insert(job, sample.critical);
                self.notify_engine(EngineEvent::ProbeWanted { job, articles: sample.articles });
            }
            Err(why) => {
                debug!(%job, "cannot be probed: {why}");
                self.end_probe(job, Err(()));
            }
        }
    }

    pub(crate) fn on_probed(&mut self, job: JobId, census: Census) {
        let Some(critical) = self.probes.critical.remove(&job) else { return };
        self.end_probe(job, Ok(()));
        let Census { present, missing, unknown } = census;
        if present + missing == 0 {
            return; // nobody could say anything
        }
        let outlook = Outlook::of(present, missing, unknown, critical);
        debug!(%job, present, missing, unknown, ?outlook, "probed");
        let at = clock::now().date;
        let probe = view::Probe { outlook, present, missing, unknown, at };
        let before = self.probes.outlooks.insert(job, probe).map(|before| before.outlook);
        if before == Some(probe.outlook) {
            return;
        }
        if outlook == Outlook::Hopeless {
            let name = self.jobs.record(job).map(|record| record.name.to_string());
            warn!(%job, name, "{missing} of {} articles are nowhere to be had", present + missing);
        }
        self.observers.hub().publish(News::JobOutlook { job, probe });
    }

    fn end_probe(&mut self, job: JobId, result: Result<(), ()>) {
        let now = clock::now().instant;
        self.targets.finished(now, Poll::Probe(job), &result, &mut self.chance);
    }

    /// While there are jobs, so that a wrong password is known before it is needed.
    fn see_to_server_probes(&mut self, now: Instant, enabled: bool) {
        let enabled = enabled && self.jobs.queued_count() > 0;
        let probe = Wanted { kind: Lane::Upkeep, interval: SERVER_INTERVAL, priority: 0, enabled };
        let wanted = self.network.servers().iter().map(|(server, _)| (Poll::Server(server), probe));
        let is_server = |target| matches!(target, Poll::Server(_));
        self.targets.reconcile(now, is_server, wanted);
    }

    /// One that is in use, or known to be in trouble, tells by itself.
    pub(crate) fn probe_server(&mut self, server: ServerId) {
        let now = clock::now().instant;
        self.targets.finished(now, Poll::Server(server), &Ok::<(), ()>(()), &mut self.chance);
        if self.engine.hold().is_none() {
            self.notify_engine(EngineEvent::ServerProbeWanted(server));
        }
    }
}

/// A sample of what is over in no time would cost more than it tells.
const A_MOMENT: Duration = Duration::from_secs(1);

/// Servers that nobody had a reason to ask.
const SERVER_INTERVAL: Duration = Duration::from_secs(3600);
