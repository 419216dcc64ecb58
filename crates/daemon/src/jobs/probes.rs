//! [`Probes`]: what samples of the first jobs of the queue said, and which jobs and servers are probed. Owned
//! by the main loop; NZBs are read beside it.
//!
//! A post that was taken down is known before its turn comes: the first jobs of the queue that have not
//! begun are sampled every few minutes, the next one as soon as it is the next.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use bergamot_api::Event as News;
use bergamot_api::view;
use bergamot_config::Probes as ProbeSettings;
use bergamot_engine::{Census, Engine, Event as EngineEvent};
use bergamot_jobs::JobList;
use bergamot_jobs::probes::{JobSample, draw_sample, to_probe};
use bergamot_poll::Wanted;
use bergamot_queue::{Outlook, Permille};
use bergamot_rpc::Hub;
use bergamot_types::{JobId, SplitMix};
use tracing::{debug, warn};

use crate::clock;
use crate::control::handle::Handle;
use crate::event::Event;
use crate::intake::new_job::explained_unread;
use crate::intake::nzb_to_job::NzbReadError;
use crate::periodic::{Lane, Poll, Targets};
use crate::servers::Servers;
use crate::service_thread::service_blocking;

/// What the samples said.
#[derive(Debug, Default)]
pub(crate) struct Probes {
    outlooks: BTreeMap<JobId, view::Probe>,
    critical: BTreeMap<JobId, Permille>, // of those that are under way
    next_up: Option<JobId>,
}

/// What probes need of the main loop.
pub(crate) struct ProbeContext<'a> {
    pub(crate) engine: &'a Engine,
    pub(crate) engine_events: &'a mut VecDeque<EngineEvent>,
    pub(crate) jobs: &'a JobList,
    pub(crate) servers: &'a Servers,
    pub(crate) targets: &'a mut Targets,
    pub(crate) chance: &'a mut SplitMix,
    pub(crate) hub: &'a Hub,
    pub(crate) settings: ProbeSettings,
    pub(crate) handle: &'a Handle,
}

impl Probes {
    /// What the last sample of the job said.
    pub(crate) fn of(&self, job: JobId) -> Option<view::Probe> {
        self.outlooks.get(&job).copied()
    }

    pub(crate) fn forget(&mut self, job: JobId) {
        self.outlooks.remove(&job);
    }

    /// Decides which jobs and servers are probed, now that the queue is as it is.
    pub(crate) fn set_targets(
        &mut self,
        with: &mut ProbeContext<'_>,
        now: Instant,
        current: Option<JobId>,
    ) {
        let settings = with.settings;
        let waiting = to_probe(with.jobs, with.engine, current);
        let next_up = waiting.first().copied();
        let probe = |job: JobId| {
            let priority = i32::from(Some(job) == next_up);
            let (kind, interval) = (Lane::Probe, settings.interval);
            (Poll::Probe(job), Wanted { kind, interval, priority, enabled: true })
        };
        let wanted = waiting.into_iter().filter(|_| settings.enabled).map(probe);
        // Most small jobs are complete by then.
        let soon = now + A_MOMENT;
        let is_probe = |target| matches!(target, Poll::Probe(_));
        let (gone, _) = with.targets.reconcile(soon, is_probe, wanted);
        for target in gone {
            if let Poll::Probe(job) = target {
                self.stop(with, job);
            }
        }
        if std::mem::replace(&mut self.next_up, next_up) != next_up
            && let Some(job) = next_up
        {
            with.targets.due_now(soon, Poll::Probe(job));
        }
        set_server_targets(with, now);
    }

    fn stop(&mut self, with: &mut ProbeContext<'_>, job: JobId) {
        let now = clock::now().instant;
        with.targets.remove(Poll::Probe(job));
        with.targets.put_off(Poll::Probe(job), now);
        self.critical.remove(&job);
        with.engine_events.push_back(EngineEvent::ProbeDropped(job));
    }

    /// Reads the NZB beside the loop.
    pub(crate) fn begin(&self, with: &mut ProbeContext<'_>, job: JobId) {
        let Some(record) = with.jobs.record(job).cloned() else {
            return end(with, job, Err(()));
        };
        let (new_jobs, events) = (with.handle.new_jobs.clone(), with.handle.events.clone());
        let mut chance = SplitMix::seeded(with.chance.up_to(u64::MAX));
        service_blocking("sampler", &with.handle.events, move || {
            let drawn = new_jobs.nzb(&record).map(|nzb| draw_sample(&nzb, &mut chance));
            events.send(Event::SampleDrawn { job, drawn });
        });
    }

    pub(crate) fn on_sample_drawn(
        &mut self,
        with: &mut ProbeContext<'_>,
        job: JobId,
        drawn: Result<JobSample, NzbReadError>,
    ) {
        if with.targets.target(Poll::Probe(job)).is_none() {
            return;
        }
        match drawn {
            Ok(sample) => {
                self.critical.insert(job, sample.critical);
                with.engine_events
                    .push_back(EngineEvent::ProbeWanted { job, articles: sample.articles });
            }
            Err(error) => {
                debug!(%job, "cannot be probed: {}", explained_unread(&error));
                end(with, job, Err(()));
            }
        }
    }

    pub(crate) fn on_probed(&mut self, with: &mut ProbeContext<'_>, job: JobId, census: Census) {
        let Some(critical) = self.critical.remove(&job) else { return };
        end(with, job, Ok(()));
        let Census { present, missing, unknown } = census;
        if present + missing == 0 {
            return; // no server could say anything
        }
        let outlook = Outlook::of(present, missing, unknown, critical);
        debug!(%job, present, missing, unknown, ?outlook, "probed");
        let at = clock::now().date;
        let probe = view::Probe { outlook, present, missing, unknown, at };
        let before = self.outlooks.insert(job, probe).map(|before| before.outlook);
        if before == Some(probe.outlook) {
            return;
        }
        if outlook == Outlook::Hopeless {
            let name = with.jobs.record(job).map(|record| record.name.to_string());
            warn!(%job, name, "{missing} of {} articles are nowhere to be had", present + missing);
        }
        with.hub.publish(News::JobOutlook { job, probe });
    }
}

fn end(with: &mut ProbeContext<'_>, job: JobId, result: Result<(), ()>) {
    let now = clock::now().instant;
    with.targets.finished(now, Poll::Probe(job), &result, with.chance);
}

/// Servers are probed while there are jobs, so that a wrong password is known before it is needed. One that is
/// in use, or has a known error, needs no probe: its connections report its state.
fn set_server_targets(with: &mut ProbeContext<'_>, now: Instant) {
    let enabled = with.settings.enabled && with.jobs.queued_count() > 0;
    let probe = Wanted { kind: Lane::Upkeep, interval: SERVER_INTERVAL, priority: 0, enabled };
    let wanted = with.servers.iter().map(|(server, _)| (Poll::Server(server), probe));
    let is_server = |target| matches!(target, Poll::Server(_));
    with.targets.reconcile(now, is_server, wanted);
}

/// The delay of the first sample: most small jobs are complete by then, and sampling them would cost more than
/// it is worth.
const A_MOMENT: Duration = Duration::from_secs(1);

/// Between two probes of a server that is not in use.
const SERVER_INTERVAL: Duration = Duration::from_secs(3600);
