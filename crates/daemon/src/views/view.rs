//! [`View`]: the state of the main loop, borrowed to be shown. The views of jobs are in `jobs.rs`, those of
//! servers in `servers.rs`, the whole daemon's status and the explanations here. Runs in the main loop.

use std::time::Instant;

use bergamot_api::Refusal;
use bergamot_api::metrics::{Measured, PastSums, Process, QueueSums};
use bergamot_api::view::{Disk, Explanation, JobState, Paused, Quota, Status};
use bergamot_engine::{Engine, Hold, ServerStatus, Wait};
use bergamot_jobs::explain::{JobSituation, ServerState, Situation};
use bergamot_jobs::{JobList, Pauses, Record};
use bergamot_post::Post;
use bergamot_types::{ByteRate, JobId, ServerId, UnixTime};

use crate::clock;
use crate::control::active_settings::ActiveSettings;
use crate::download::disk_work::DiskWork;
use crate::download::network::Network;
use crate::feeds::poll::FeedDriver;
use crate::intake::url_fetch::Fetches;
use crate::jobs::probes::Probes;
use crate::periodic::Targets;
use crate::spool::persistent_state::PersistentState;
use crate::views::loss_text;
use crate::views::observers::Observers;

#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    pub(crate) engine: &'a Engine,
    pub(crate) post: &'a Post,
    pub(crate) network: &'a Network,
    pub(crate) disk: &'a DiskWork,
    pub(crate) state: &'a PersistentState,
    pub(crate) observers: &'a Observers,
    pub(crate) settings: &'a ActiveSettings,
    pub(crate) jobs: &'a JobList,
    pub(crate) pauses: &'a Pauses,
    pub(crate) probes: &'a Probes,
    pub(crate) feeds: &'a FeedDriver,
    pub(crate) fetches: &'a Fetches,
    pub(crate) targets: &'a Targets,
    pub(crate) load_trouble: Option<&'a str>,
    /// Why no job can begin, if it is for want of room.
    pub(crate) stuck: Option<&'a str>,
}

impl View<'_> {
    pub(crate) fn status(&self) -> Status {
        let now = clock::now();
        let (sums, pace) = (self.sums(), self.observers.rate_meter());
        Status {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            now: now.date,
            started: self.settings.started(),
            boot: self.observers.hub().boot().to_owned(),
            last_event: self.observers.hub().position().sequence,
            rate: pace.rate(now.instant),
            average_rate: pace.average(),
            limit: self.rate_limit().map(|rate| rate.0),
            jobs: self.jobs.queued_count(),
            jobs_in_post: sums.in_post,
            urls: sums.urls,
            remaining: sums.remaining,
            forced_remaining: sums.forced,
            paused_remaining: sums.paused,
            downloaded: pace.total(),
            downloaded_today: self.observers.traffic().today(now.date),
            downloaded_this_month: self.observers.traffic().this_month(now.date),
            download_seconds: pace.busy_seconds(),
            cached: self.engine.reserved().0,
            connections: self.network.open_count(),
            download_paused: self.download_pause(),
            post_paused: self.pauses.post.as_ref().map(Into::into),
            scan_paused: self.pauses.scan.as_ref().map(Into::into),
            quota_reached: self.quota_is_reached(),
            feed_active: self.feeds.is_active(),
            standing_by: self.engine.servers().all(|server| server.in_flight == 0),
            // Reading the free space may block, so it is filled in outside the loop.
            complete_disk: Disk::default(),
            incomplete_disk: Disk::default(),
            warnings: self.present_warnings(),
        }
    }

    /// Those of the start, and what is wrong just now.
    fn present_warnings(&self) -> Vec<String> {
        let journals = self.state.journal_error().into_iter();
        let journals = journals.map(|why| format!("downloads stop: state.unwritable: {why}"));
        self.observers.warnings().iter().cloned().chain(journals).collect()
    }

    fn sums(&self) -> QueueTotals {
        let mut sums = QueueTotals::default();
        for record in self.jobs.queued() {
            let left = self.remaining(record);
            sums.remaining += left.bytes;
            sums.paused += left.paused;
            sums.forced +=
                if record.priority >= bergamot_engine::FORCE_PRIORITY { left.bytes } else { 0 };
            sums.in_post += usize::from(record.outcome.is_some());
            sums.urls += usize::from(record.life == bergamot_queue::JobState::Fetching);
        }
        sums
    }

    pub(crate) fn quota_is_reached(&self) -> bool {
        matches!(self.engine.hold(), Some(Hold::Quota { .. }))
    }

    /// What stops all downloads at present, as a pause; the first thing that a status display shows.
    pub(crate) fn download_pause(&self) -> Option<Paused> {
        if self.pauses.download.is_some() {
            return self.pauses.download.as_ref().map(Into::into);
        }
        let is_stuck = self.stuck.is_some();
        let (by, until, ends) = match self.engine.hold().or(is_stuck.then_some(Hold::Disk))? {
            Hold::Disk => ("the disk", None, "room on the disk"),
            Hold::Paused => return None,
            Hold::Quota { until } => ("the quota", until, "the next period of the quota"),
            Hold::Schedule { until } => ("the schedule", until, "the schedule"),
            Hold::Unrecorded => ("the disk", None, "a state directory that can be written to"),
        };
        Some(Paused {
            by: by.to_owned(),
            since: self.observers.held_since(),
            until,
            ends: ends.to_owned(),
        })
    }

    /// What holds for all servers together, if anything does.
    pub(crate) fn rate_limit(&self) -> Option<ByteRate> {
        self.engine.rate().filter(|rate| rate.0 > 0)
    }

    pub(crate) fn explain_queue(&self) -> Explanation {
        self.situation().explain()
    }

    pub(crate) fn explain_job(&self, job: JobId) -> Result<Explanation, Refusal> {
        let record = self.jobs.record(job).ok_or(Refusal::NoSuchJob(job))?;
        Ok(self.job_situation(record).explain(&self.situation()))
    }

    fn situation(&self) -> Situation {
        let now = clock::now();
        let hold = self.engine.hold().filter(|hold| *hold != Hold::Paused);
        let until = |until: Option<UnixTime>| match until {
            Some(at) => format!(" until {}", self.settings.zone().written(at)),
            None => String::new(),
        };
        let hold = hold.map(|hold| match hold {
            Hold::Disk => ("disk", self.last_disk_error()),
            Hold::Paused | Hold::Unrecorded => match self.state.journal_error() {
                Some(why) => ("disk", format!("what arrives cannot be put on record: {why}")),
                None => ("disk", "what is used of the quota cannot be written down".to_owned()),
            },
            Hold::Quota { until: at } => ("quota", format!("the quota is reached{}", until(at))),
            Hold::Schedule { until: at } => {
                ("schedule", format!("the schedule says so{}", until(at)))
            }
        });
        Situation {
            jobs: self.jobs.queued_count(),
            all_are_paused: self.jobs.queued().all(|record| record.paused),
            requests: self.engine.servers().map(|server| server.in_flight).sum(),
            rate: self.observers.rate_meter().rate(now.instant),
            limit: self.rate_limit().map(|rate| rate.0),
            pause: self.pauses.download.clone(),
            hold,
            loading: self.load_trouble.map(str::to_owned),
            disk: self.stuck.map(str::to_owned),
            servers: self
                .engine
                .servers()
                .map(|status| self.server_state(now.instant, &status))
                .collect(),
        }
    }

    fn last_disk_error(&self) -> String {
        self.disk.last_error().unwrap_or("the disk takes nothing").to_owned()
    }

    fn server_state(&self, now: Instant, status: &ServerStatus) -> ServerState {
        let rests = status.rests_until.map(|until| until.saturating_duration_since(now).as_secs());
        ServerState {
            name: self.network.name(status.id).to_owned(),
            active: status.active,
            working: status.working,
            allowed: status.ceiling,
            configured: status.configured,
            rate: self.rate_of(status),
            rests: rests.map(|seconds| {
                (
                    self.network.trouble_text(status).unwrap_or_else(|| "it rests".to_owned()),
                    seconds,
                )
            }),
        }
    }

    fn job_situation(&self, record: &Record) -> JobSituation {
        let status = self.engine.job_status(clock::now(), record.id);
        let view = self.job_view(record);
        let ahead = self.jobs.queued().take_while(|other| other.id != record.id).count();
        let waits = status.as_ref().and_then(|status| {
            let (wait, servers) = status.wait.as_ref()?;
            let why = self.spoken_wait(*wait, servers)?;
            Some((status.waiting.max(1), why))
        });
        let rest = self.jobs.resting(record.id);
        let rests_for = rest.and_then(|rest| rest.failure.as_ref());
        let ended = view.ended.as_ref().map(|ended| match &ended.reason {
            Some(reason) => format!("It ended: {reason}"),
            None => "It is complete.".to_owned(),
        });
        JobSituation {
            paused: record.paused,
            ahead,
            requests: status.as_ref().map_or(0, |status| status.in_flight),
            remaining: view.remaining,
            lost: view.failed_articles,
            articles: view.articles,
            health: view.health,
            critical: view.critical_health,
            waiting: waits.into_iter().collect(),
            rests: rest
                .map(|it| it.until.saturating_duration_since(clock::now().instant).as_secs()),
            rests_for: rests_for.map(|(_, why)| why.clone()),
            held: self.jobs.held_for(record.id).map(str::to_owned),
            sample: view.probe.map(|it| (it.missing, it.present + it.missing + it.unknown)),
            ended,
            is_moving: matches!(view.state, JobState::Post(_)),
            fetching: (view.state == JobState::Fetching)
                .then(|| self.fetches.explain(self.targets, record.id)),
        }
    }

    /// None where it says nothing of this job alone.
    fn spoken_wait(&self, wait: Wait, servers: &[ServerId]) -> Option<String> {
        let names: Vec<_> = servers.iter().map(|id| self.network.name(*id)).collect();
        Some(match wait {
            Wait::Answer | Wait::Job | Wait::Paused | Wait::Turn => return None,
            Wait::File => "their files are paused".to_owned(),
            Wait::Pause => {
                "a connection broke on them, and they are asked for again soon".to_owned()
            }
            Wait::Quota => format!("the quota of {} is reached", names.join(", ")),
            Wait::Server(trouble) => {
                format!("{}: {}", names.join(", "), loss_text::trouble_text(trouble))
            }
            Wait::Servers => "there is no server that could be asked".to_owned(),
        })
    }

    /// What `/metrics` shows. The figures of disks and of the process are read outside the loop.
    pub(crate) fn measure(&self, past: PastSums, quotas: Vec<Quota>) -> Measured {
        let mut queue = QueueSums::default();
        for record in self.jobs.queued() {
            queue.add(self.state_of(record), record.paused, record.contents.bytes.0);
        }
        Measured {
            ended: self.observers.counters().ended(),
            status: self.status(),
            servers: self.server_views(),
            queue,
            past,
            arrivals: self.observers.counters().arrivals(),
            process: Process::default(),
            quotas,
        }
    }

    pub(crate) fn past_sums(&self) -> PastSums {
        let mut past = PastSums::default();
        let shown = |record: &&Record| record.outcome.as_ref().is_some_and(|it| !it.hidden);
        for record in self.jobs.history().filter(shown).take(PastSums::MOST) {
            let category = self.settings.measured_category(record.category.as_deref());
            past.add(&self.job_view(record), &category);
        }
        past
    }
}

#[derive(Default)]
struct QueueTotals {
    remaining: u64,
    paused: u64,
    forced: u64,
    in_post: usize,
    urls: usize,
}
