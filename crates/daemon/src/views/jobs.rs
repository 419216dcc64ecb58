//! The views of jobs: methods of [`View`], in the main loop.

use bergamot_api::Refusal;
use bergamot_api::request::{JobFilter, ListKind};
use bergamot_api::view::{Ended, Job, JobState, Listing, Mark, Page, Parameter, ServerArticles};
use bergamot_jobs::{Check, Record, Remaining};
use bergamot_queue::{Ending, Permille, Stage};
use bergamot_types::{JobId, SafeName, ServerId};

use crate::clock;
use crate::views::view::View;

impl View<'_> {
    /// All that is wanted of the queue or the history, as it is now.
    pub(crate) fn page(&self, shelf: ListKind, which: &JobFilter) -> Page<Job> {
        let (total, wanted) = self.wanted(shelf, which);
        Page { total, items: wanted.into_iter().map(|record| self.job_view(record)).collect() }
    }

    /// The same, with no more views than are made quickly; of the others only the ids.
    pub(crate) fn listing(&self, shelf: ListKind, which: &JobFilter) -> Listing {
        let (total, wanted) = self.wanted(shelf, which);
        let (first, rest) = wanted.split_at(wanted.len().min(Listing::AT_ONCE));
        Listing {
            total,
            first: first.iter().map(|record| self.job_view(record)).collect(),
            rest: rest.iter().map(|record| record.id).collect(),
        }
    }

    /// A job that has left the queue since is listed as ended, so that it is always in at least one of two lists that
    /// are read at the same time. Jobs that were deleted, or are back in the queue, are left out.
    pub(crate) fn listed(&self, shelf: ListKind, ids: &[JobId]) -> Vec<Job> {
        let records = ids.iter().filter_map(|id| self.jobs.record(*id));
        let is_there = |record: &&Record| match shelf {
            ListKind::History => !self.jobs.is_queued(record.id),
            ListKind::Queue => true,
        };
        records.filter(is_there).map(|record| self.job_view(record)).collect()
    }

    /// The jobs of the requested page, and the number of all that match.
    fn wanted(&self, shelf: ListKind, which: &JobFilter) -> (usize, Vec<&Record>) {
        let hidden = |record: &Record| record.outcome.as_ref().is_some_and(|it| it.hidden);
        let wanted = |record: &&Record| is_wanted(record, which);
        let in_sight = |record: &&Record| which.hidden || !hidden(record);
        match shelf {
            ListKind::History => part(self.jobs.history().filter(wanted).filter(in_sight), which),
            ListKind::Queue => part(self.jobs.queued().filter(wanted), which),
        }
    }

    pub(crate) fn one_job(&self, job: JobId) -> Result<Job, Refusal> {
        self.jobs.record(job).map(|record| self.job_view(record)).ok_or(Refusal::NoSuchJob(job))
    }

    pub(crate) fn job_view(&self, record: &Record) -> Job {
        let left = self.remaining(record);
        let active = self.jobs.active(record.id);
        let known = self.engine.job(record.id);
        let outcome = record.outcome.as_deref();
        let totals = known.map(|job| job.totals());
        let health = known.map(|job| (job.health(), job.critical_health()));
        let health = health.or(outcome.map(|it| (it.health, it.critical_health)));
        let now = clock::now().instant;
        let stage = self.post.status(record.id);
        Job {
            id: record.id,
            name: record.name.to_string(),
            nzb_name: format!("{}.nzb", record.name),
            url: record.url.as_deref().map(str::to_owned),
            category: record.category.as_deref().map(str::to_owned),
            priority: record.priority,
            state: self.state_of(record),
            waits_for: self.jobs.held_for(record.id).map(str::to_owned),
            paused: record.paused,
            added: record.added,
            size: record.contents.bytes.0,
            remaining: left.bytes,
            paused_remaining: left.paused,
            downloaded: outcome
                .map(|it| it.downloaded.0)
                .or(totals.map(|it| it.bytes_done))
                .unwrap_or(0),
            files: record.contents.files,
            remaining_files: left.files,
            remaining_par2_files: left.par2_files,
            articles: record.contents.articles,
            good_articles: outcome
                .map(|it| it.articles_ok)
                .or(totals.map(|it| it.segments_done))
                .unwrap_or(0),
            failed_articles: outcome
                .map(|it| it.articles_failed)
                .or(totals.map(|it| it.segments_lost))
                .unwrap_or(0),
            active: self.in_flight(record.id) as u32,
            health: health.map_or(1000, |(health, _)| health.0),
            critical_health: health.map_or(1000, |(_, critical)| critical.0),
            probe: self.probes.of(record.id),
            oldest_post: record.contents.oldest_post,
            newest_post: record.contents.newest_post,
            working_directory: self.working_directory(record),
            destination: self.destination_of(record),
            dupe_key: record.dupe.key.to_string(),
            dupe_score: record.dupe.score,
            dupe_mode: record.dupe.mode,
            parameters: record
                .parameters
                .iter()
                .map(|(name, value)| Parameter { name: name.to_owned(), value: value.to_owned() })
                .collect(),
            servers: self.server_articles(record),
            stage_progress: self.stage_progress(record),
            stage_seconds: stage.map_or(0, |stage| (now - stage.since).as_secs()),
            download_seconds: outcome
                .map(|it| it.download_seconds)
                .or(active.map(|it| (now - it.started).as_secs()))
                .unwrap_or(0),
            post_seconds: outcome.map_or(0, |it| it.post_seconds),
            ended: outcome.filter(|_| !self.jobs.is_queued(record.id)).map(|it| Ended {
                at: it.ended,
                reason: Some(it.reason.clone()).filter(|reason| !reason.is_empty()),
                check: it.check.map(Check::word),
                mark: mark(it.mark),
                hidden: it.hidden,
                can_retry: matches!(it.ending, Ending::Failed(_)),
                missing: it.missing.clone(),
            }),
        }
    }

    /// In thousandths. A job whose end is not on disk yet has completed its last stage.
    fn stage_progress(&self, record: &Record) -> u16 {
        let is_ending = record.outcome.is_some() && self.jobs.is_queued(record.id);
        match self.post.status(record.id) {
            Some(status) => status.progress.0,
            None if is_ending => Permille::ALL.0,
            None => 0,
        }
    }

    fn in_flight(&self, job: JobId) -> usize {
        self.engine.job_status(clock::now(), job).map_or(0, |status| status.in_flight)
    }

    /// A job whose end is not on disk yet is shown as being moved.
    pub(crate) fn state_of(&self, record: &Record) -> JobState {
        let ended = record.outcome.as_ref().filter(|_| !self.jobs.is_queued(record.id));
        match (ended.map(|outcome| outcome.ending), record.life) {
            (Some(Ending::Completed { verified }), _) => JobState::Completed { verified },
            (Some(Ending::Failed(cause)), _) => JobState::Failed(cause),
            (Some(Ending::Deleted(deletion)), _) => JobState::Deleted(deletion),
            (None, bergamot_queue::JobState::Fetching) => JobState::Fetching,
            (None, bergamot_queue::JobState::Post(stage)) => JobState::Post(stage),
            (None, bergamot_queue::JobState::Ended) => JobState::Post(Stage::Moving),
            (None, _) if self.in_flight(record.id) > 0 => JobState::Downloading,
            (None, _) => JobState::Queued,
        }
    }

    pub(crate) fn remaining(&self, record: &Record) -> Remaining {
        Remaining::of(record, self.engine.job(record.id))
    }

    pub(crate) fn working_directory(&self, record: &Record) -> Option<String> {
        let name = record.directory.as_deref()?;
        Some(self.settings.jobs().directories.incomplete.join(name).to_string_lossy().into_owned())
    }

    fn destination_of(&self, record: &Record) -> String {
        if let Some(known) = record.destination() {
            return known.to_owned();
        }
        let directory = self.settings.jobs().directories.destination(record.category.as_deref());
        directory.join(SafeName::from_raw(&record.name).as_str()).to_string_lossy().into_owned()
    }

    fn server_articles(&self, record: &Record) -> Vec<ServerArticles> {
        if let Some(job) = self.engine.job(record.id) {
            let count = |(server, count): (ServerId, bergamot_queue::ServerCount)| ServerArticles {
                server: self.network.shown_id(server),
                good: count.got,
                failed: count.failed,
            };
            return job.servers().map(count).collect();
        }
        let servers = record.outcome.iter().flat_map(|outcome| &outcome.servers);
        let known = servers.filter_map(|(name, count)| {
            let server = self.network.servers().by_name(name)?;
            Some(ServerArticles {
                server: self.network.shown_id(server),
                good: count.ok,
                failed: count.failed,
            })
        });
        known.collect()
    }
}

fn part<'a>(all: impl Iterator<Item = &'a Record>, which: &JobFilter) -> (usize, Vec<&'a Record>) {
    let wanted = which.offset..which.offset.saturating_add(which.limit.unwrap_or(usize::MAX));
    let (mut total, mut part) = (0, Vec::new());
    for record in all {
        if wanted.contains(&total) {
            part.push(record);
        }
        total += 1;
    }
    (total, part)
}

fn is_wanted(record: &Record, which: &JobFilter) -> bool {
    let in_category = which.category.as_ref().is_none_or(|category| {
        record.category.as_deref().unwrap_or_default().eq_ignore_ascii_case(category)
    });
    let found = which
        .search
        .as_ref()
        .is_none_or(|text| record.name.to_lowercase().contains(&text.to_lowercase()));
    in_category && found
}

fn mark(mark: bergamot_jobs::Mark) -> Option<Mark> {
    match mark {
        bergamot_jobs::Mark::None => None,
        bergamot_jobs::Mark::Bad => Some(Mark::Bad),
        bergamot_jobs::Mark::Good => Some(Mark::Good),
        bergamot_jobs::Mark::Success => Some(Mark::Success),
    }
}
