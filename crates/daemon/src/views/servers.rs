//! What can be seen of servers and quotas.

use std::collections::BTreeSet;
use std::time::Instant;

use bergamot_api::Refusal;
use bergamot_api::view::{self, Explanation, File, Job, Paused, Quota, Server};
use bergamot_engine::{Hold, ServerStatus, Wait};
use bergamot_jobs::{FileChoices, Record};
use bergamot_limit::Period;
use bergamot_net::Encryption;
use bergamot_nzb::{Nzb, NzbFile};
use bergamot_queue::{FileOrder, FileState, JobState};
use bergamot_types::{JobId, ServerId, UnixTime};

use crate::clock;
use crate::run::Daemon;
use crate::views::loss_text;
use bergamot_jobs::explain::{JobSituation, ServerState, Situation};

impl Daemon {
    /// The number that programs know a server by: its place in the configuration.
    pub(crate) fn shown_id(&self, id: ServerId) -> ServerId {
        ServerId(self.network.servers.place(id).unwrap_or(0))
    }

    /// The server at that place of the configuration.
    pub(crate) fn configured(
        &self,
        place: ServerId,
    ) -> Result<std::sync::Arc<bergamot_net::Server>, Refusal> {
        let server =
            self.network.servers.at_place(place.0).and_then(|id| self.network.servers.get(id));
        server.cloned().ok_or(Refusal::NoSuchServer(place.0))
    }

    pub(crate) fn server_views(&self) -> Vec<Server> {
        let known: Vec<ServerStatus> = self.engine.servers().collect();
        let configured = self.settings.config.servers.iter().zip(self.network.servers.iter());
        let mut views = Vec::new();
        for (server, (id, net)) in configured {
            let Some(status) = known.iter().find(|status| status.id == id) else { continue };
            let volume = self.observers.volumes.of(&server.name, clock::now().date);
            views.push(Server {
                id: self.shown_id(id),
                name: server.name.clone(),
                host: net.settings().host.clone(),
                port: net.settings().port,
                tls: net.settings().encryption != Encryption::None,
                active: status.active,
                level: u16::try_from(server.role.level).unwrap_or(u16::MAX),
                connections: status.configured,
                learned_connections: Some(status.ceiling).filter(|it| *it < status.configured),
                open: status.open,
                working: status.working,
                rate: self.rate_of(status),
                latency_ms: status.first_byte.map(|time| time.as_millis() as u64),
                trouble: self.trouble_of(status),
                rests_until: status.rests_until.map(date_of),
                downloaded: volume.bytes,
                good_articles: volume.good,
                failed_articles: volume.failed,
            });
        }
        views
    }

    /// Of all its connections that have something to do.
    fn rate_of(&self, status: &ServerStatus) -> u64 {
        let busy = status.working.min(status.in_flight) as u64;
        status.rate.map_or(0, |rate| rate.0.saturating_mul(busy))
    }

    pub(crate) fn trouble_of(&self, status: &ServerStatus) -> Option<String> {
        let spoken = loss_text::spoken(status.trouble?);
        match self.network.troubles.get(&status.id) {
            Some(why) => Some(format!("{spoken}: {why}")),
            None => Some(spoken.to_owned()),
        }
    }

    pub(crate) fn quota_views(&mut self) -> Vec<Quota> {
        let usage = self.engine.quotas(clock::now());
        let mut views = Vec::new();
        for (server, usages) in usage {
            let server = server.map(|id| self.name(id).to_owned());
            views.extend(usages.iter().map(|usage| Quota {
                server: server.clone(),
                period: period(usage.allowance.period).to_owned(),
                limit: usage.allowance.most.0,
                used: usage.used.0,
                reached: usage.used >= usage.allowance.most,
                renews: usage.window.map(|window| window.end),
            }));
        }
        views
    }

    pub(crate) fn quota_is_reached(&self) -> bool {
        matches!(self.engine.hold(), Some(Hold::Quota { .. }))
    }

    /// Whatever keeps everything from being downloaded, as a pause: people ask for that first.
    pub(crate) fn download_pause(&self) -> Option<Paused> {
        if self.jobs.pauses().download.is_some() {
            return self.jobs.pauses().download.as_ref().map(Into::into);
        }
        let is_stuck = self.jobs.stuck_for_room().is_some();
        let (by, until, ends) = match self.engine.hold().or(is_stuck.then_some(Hold::Disk))? {
            Hold::Disk => ("the disk", None, "room on the disk"),
            Hold::Paused => return None,
            Hold::Quota { until } => ("the quota", until, "the next period of the quota"),
            Hold::Schedule { until } => ("the schedule", until, "the schedule"),
            Hold::Unrecorded => ("the disk", None, "a state directory that can be written to"),
        };
        Some(Paused {
            by: by.to_owned(),
            since: self.observers.held_since,
            until,
            ends: ends.to_owned(),
        })
    }

    pub(crate) fn one_job(&self, job: JobId) -> Result<Job, Refusal> {
        self.jobs
            .list()
            .record(job)
            .map(|record| self.job_view(record))
            .ok_or(Refusal::NoSuchJob(job))
    }

    /// Of all jobs whose articles are read in.
    pub(crate) fn file_views(&mut self) -> Vec<File> {
        let jobs: Vec<JobId> = self.engine.jobs().map(|job| job.id()).collect();
        jobs.into_iter().flat_map(|job| self.known_files(job).unwrap_or_default()).collect()
    }

    pub(crate) fn files_of(&mut self, job: JobId) -> Result<Files, Refusal> {
        let record = self.jobs.list().record(job).ok_or(Refusal::NoSuchJob(job))?;
        let (count, record) = (record.listed_files(), record.clone());
        let is_queued = record.outcome.is_none() && record.life != JobState::Fetching;
        Ok(match self.known_files(job) {
            Some(files) => Files::Known(files),
            None if is_queued => Files::InSpool {
                first: self.observers.file_ids.first(job, count),
                record: Box::new(record),
            },
            None => Files::Known(Vec::new()),
        })
    }

    pub(crate) fn jobs_of_files(&self, files: &[u64]) -> Vec<JobId> {
        let job_of = |file: &u64| self.observers.file_ids.job_of(u32::try_from(*file).ok()?);
        let jobs: BTreeSet<JobId> = files.iter().filter_map(job_of).collect();
        jobs.into_iter().collect()
    }

    fn known_files(&mut self, job: JobId) -> Option<Vec<File>> {
        let count = self.engine.job(job)?.files().len() as u32;
        let first = self.observers.file_ids.first(job, count);
        let choices =
            self.jobs.list().record(job).and_then(|record| record.file_choices.as_deref());
        let given_away = choices.map_or(&[][..], FileChoices::given_away);
        let known = self.engine.job(job)?;
        let own = known.order().files().iter().filter(|it| given_away.binary_search(it).is_err());
        let view = |&file: &u32| file_view(job, file, first + file, &known.files()[file as usize]);
        Some(own.map(view).collect())
    }

    pub(crate) fn explain_queue(&self) -> Explanation {
        self.situation().explain()
    }

    pub(crate) fn explain_job(&self, job: JobId) -> Result<Explanation, Refusal> {
        let record = self.jobs.list().record(job).ok_or(Refusal::NoSuchJob(job))?;
        Ok(self.job_situation(record).explain(&self.situation()))
    }

    fn situation(&self) -> Situation {
        let now = clock::now();
        let hold = self.engine.hold().filter(|hold| *hold != Hold::Paused);
        let until = |until: Option<UnixTime>| match until {
            Some(at) => format!(" until {}", self.settings.zone.written(at)),
            None => String::new(),
        };
        let hold = hold.map(|hold| match hold {
            Hold::Disk => ("disk", self.last_disk_error()),
            Hold::Paused | Hold::Unrecorded => match &self.state.journal_trouble {
                Some(why) => ("disk", format!("what arrives cannot be put on record: {why}")),
                None => ("disk", "what is used of the quota cannot be written down".to_owned()),
            },
            Hold::Quota { until: at } => ("quota", format!("the quota is reached{}", until(at))),
            Hold::Schedule { until: at } => {
                ("schedule", format!("the schedule says so{}", until(at)))
            }
        });
        Situation {
            jobs: self.jobs.list().queued_count(),
            all_are_paused: self.jobs.list().queued().all(|record| record.paused),
            requests: self.engine.servers().map(|server| server.in_flight).sum(),
            rate: self.observers.pace.rate(now.instant),
            limit: self.rate_limit().map(|rate| rate.0),
            pause: self.jobs.pauses().download.clone(),
            hold,
            loading: self.jobs.load_trouble().map(str::to_owned),
            disk: self.jobs.stuck_for_room().map(str::to_owned),
            servers: self
                .engine
                .servers()
                .map(|status| self.server_state(now.instant, &status))
                .collect(),
        }
    }

    fn last_disk_error(&self) -> String {
        self.disk.disk_errors.text().unwrap_or("the disk takes nothing").to_owned()
    }

    fn server_state(&self, now: Instant, status: &ServerStatus) -> ServerState {
        let rests = status.rests_until.map(|until| until.saturating_duration_since(now).as_secs());
        ServerState {
            name: self.name(status.id).to_owned(),
            active: status.active,
            working: status.working,
            allowed: status.ceiling,
            configured: status.configured,
            rate: self.rate_of(status),
            rests: rests.map(|seconds| {
                (self.trouble_of(status).unwrap_or_else(|| "it rests".to_owned()), seconds)
            }),
        }
    }

    fn job_situation(&self, record: &Record) -> JobSituation {
        let status = self.engine.job_status(clock::now(), record.id);
        let view = self.job_view(record);
        let ahead = self.jobs.list().queued().take_while(|other| other.id != record.id).count();
        let waits = status.as_ref().and_then(|status| {
            let (wait, servers) = status.wait.as_ref()?;
            let why = self.spoken_wait(*wait, servers)?;
            Some((status.waiting.max(1), why))
        });
        let rest = self.jobs.list().resting(record.id);
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
            held: self.jobs.list().held_for(record.id).map(str::to_owned),
            sample: view.probe.map(|it| (it.missing, it.present + it.missing + it.unknown)),
            ended,
            is_moving: matches!(view.state, view::JobState::Post(_)),
            fetching: (view.state == view::JobState::Fetching).then(|| self.fetching(record.id)),
        }
    }

    /// None where it says nothing of this job alone.
    fn spoken_wait(&self, wait: Wait, servers: &[ServerId]) -> Option<String> {
        let names: Vec<_> = servers.iter().map(|id| self.name(*id)).collect();
        Some(match wait {
            Wait::Answer | Wait::Job | Wait::Paused | Wait::Turn => return None,
            Wait::File => "their files are paused".to_owned(),
            Wait::Pause => {
                "a connection broke on them, and they are asked for again soon".to_owned()
            }
            Wait::Quota => format!("the quota of {} is reached", names.join(", ")),
            Wait::Server(trouble) => {
                format!("{}: {}", names.join(", "), loss_text::spoken(trouble))
            }
            Wait::Servers => "there is no server that could be asked".to_owned(),
        })
    }
}

/// The files of a job, or where they are to be read.
#[derive(Debug)]
pub(crate) enum Files {
    Known(Vec<File>),
    /// The job waits for its turn; its first file has this number.
    InSpool {
        first: u32,
        record: Box<Record>,
    },
}

/// What the NZB of a job that waits says of its files.
pub(crate) fn listed_files(record: &Record, nzb: &Nzb, first: u32) -> Vec<File> {
    let (job, paused) = (record.id, record.paused);
    let choices = record.file_choices.as_deref().cloned().unwrap_or_default();
    let view = |index: u32, file: &NzbFile| {
        let is_dropped = choices.dropped().binary_search(&index).is_ok();
        let name = file.name().unwrap_or_default().to_owned();
        File {
            id: u64::from(first) + u64::from(index),
            job,
            index,
            subject: name.clone(),
            name,
            name_confirmed: false,
            size: file.bytes(),
            remaining: if is_dropped { 0 } else { file.bytes() },
            paused: paused || choices.paused().binary_search(&index).is_ok(),
            posted: file.date,
            active: 0,
            state: match is_dropped {
                true => view::FileState::Incomplete,
                false => view::FileState::Wanted,
            },
        }
    };
    let order = FileOrder::new(nzb.files.len() as u32, choices.order());
    let is_own = |file: &&u32| choices.given_away().binary_search(file).is_err();
    let own = order.files().iter().filter(is_own);
    own.map(|&file| view(file, &nzb.files[file as usize])).collect()
}

fn file_view(job: JobId, index: u32, id: u32, file: &bergamot_queue::File) -> File {
    let listed = file.listed();
    let inside = file.name_inside();
    let name = bergamot_nzb::better_name(listed.name.as_deref(), inside).unwrap_or_default();
    File {
        id: id.into(),
        job,
        index,
        name: name.to_owned(),
        name_confirmed: inside.is_some(),
        subject: listed.name.clone().unwrap_or_default(),
        size: listed.bytes.iter().map(|bytes| u64::from(*bytes)).sum(),
        remaining: file.bytes_left(),
        paused: file.is_paused(),
        posted: listed.posted,
        active: 0,
        state: match file.state() {
            FileState::HeldBack => view::FileState::HeldBack,
            FileState::Wanted => view::FileState::Wanted,
            FileState::Finishing => view::FileState::Finishing,
            FileState::Whole { .. } => view::FileState::Whole,
            FileState::Holed | FileState::Dropped => view::FileState::Incomplete,
        },
    }
}

fn period(period: Period) -> &'static str {
    match period {
        Period::Day => "day",
        Period::Week { .. } => "week",
        Period::Month { .. } => "month",
        Period::Ever => "ever",
    }
}

/// When an instant ahead of us will be, by the calendar.
fn date_of(instant: Instant) -> UnixTime {
    let now = clock::now();
    let ahead = instant.saturating_duration_since(now.instant).as_secs();
    UnixTime(now.date.0.saturating_add(ahead as i64))
}
