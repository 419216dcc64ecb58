//! The lives of jobs: accepted, loaded, started, ended, and what is on record of that.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bergamot_engine::{Event as EngineEvent, FORCE_PRIORITY};
use bergamot_jobs::duplicates::{Rivals, rivals, stands_for_its_articles};
use bergamot_jobs::retry::returns_after_proof;
use bergamot_jobs::{
    Active, Check, Doubt, Expired, Outcome, Postponed, Record, Rest, ServerArticles,
};
use bergamot_queue::{Cause, Deletion, DupeMode, Ending, JobState, Step};
use bergamot_types::{ByteCount, JobId, SafeName, Shown};
use bergamot_writer::Root;
use tokio::sync::oneshot;
use tracing::{debug, info, warn};

use crate::clock;
use crate::control::call::Promise;
use crate::disk::directories;
use crate::download::disk_work::DiskTask;
use crate::download::open_job::{OpenJob, Summary};
use crate::intake::nzb_to_job::new_job;
use crate::periodic::Poll;
use crate::run::Daemon;
use crate::spool::load::{Loaded, Ready, path_of};
use bergamot_jobs::pending_writes::Next;

impl Daemon {
    /// It is in the spool; it, or others, may turn out to be of no use, and that is to be waited for.
    pub(crate) fn on_accepted(&mut self, record: Record) -> Vec<Promise> {
        let (id, category) = (record.id, record.category.as_deref());
        match record.reason() {
            None => info!(job = %id, name = %Shown(&record.name), category, "added"),
            Some(why) => warn!(job = %id, name = %Shown(&record.name), category, "refused: {why}"),
        }
        self.observers.counters_mut().on_arrival(&record);
        let is_new = record.outcome.is_none();
        let rivals = rivals(&self.jobs, &record, |job| self.is_being_moved(job));
        let twin = is_new.then(|| self.twin(&record)).flatten();
        let is_to_come = record.life == JobState::Fetching;
        self.jobs.insert(Box::new(record));
        self.let_propagate(id);
        self.publish_added(id);
        if is_to_come && !self.settings.feeds_only() {
            self.plan_fetch(id);
        }
        if let Some(twin) = twin {
            let why = format!("nzb.duplicate: job {twin} has the same articles");
            self.end(id, Ending::Deleted(Deletion::Copy), &why);
            return self.written_promise(id).into_iter().collect();
        }
        let (why, useless) = match rivals {
            Rivals::Better => ("job.duplicate: a better one is there".to_owned(), vec![id]),
            Rivals::Worse(worse) => (format!("job.duplicate: job {id} is better"), worse),
        };
        for job in &useless {
            self.end_early(*job, Ending::Deleted(Deletion::Duplicate), &why);
        }
        self.load_next();
        useless.into_iter().filter_map(|job| self.written_promise(job)).collect()
    }

    /// One with the same articles that was taken at the same moment, and came in before.
    pub(crate) fn twin(&self, new: &Record) -> Option<JobId> {
        let is_welcome = new.dupe.mode == DupeMode::Force || self.settings.jobs().accept_duplicates;
        let copies = if is_welcome { Vec::new() } else { self.state.spool.copies(new.fingerprint) };
        copies.into_iter().find(|job| self.jobs.record(*job).is_some_and(stands_for_its_articles))
    }

    /// A very fresh post waits until its articles may have reached every server.
    pub(crate) fn let_propagate(&mut self, job: JobId) {
        let (delay, now) = (self.settings.config().download.propagation_delay, clock::now());
        let Some(record) = self.jobs.record(job) else { return };
        let Some(posted) = record.contents.newest_post else { return };
        let age = u64::try_from(now.date.0.saturating_sub(posted.0)).unwrap_or(0);
        let left = delay.saturating_sub(Duration::from_secs(age));
        if left > Duration::ZERO && record.priority < FORCE_PRIORITY && record.outcome.is_none() {
            self.jobs.rest(job, Rest { until: now.instant + left, failure: None });
            self.do_once(Poll::Rest(job), now.instant + left);
        }
    }

    pub(crate) fn on_loaded(&mut self, job: JobId, number: u64, loaded: Loaded) {
        if !self.loading.take_result(job, number) {
            // The attempt that is under way may have a directory of the same name, which has to stay.
            return;
        }
        self.state.record_thread.directory_known(job);
        // It may have ended meanwhile.
        if self.jobs.end_loading(job) {
            match loaded {
                Loaded::Ready(ready) => self.start_job(*ready),
                Loaded::Done(record) => {
                    info!(job = %job, destination = record.destination(), "had been completed");
                    self.note_ended_elsewhere(*record);
                }
                Loaded::Failed(record) => {
                    announce_failure(&record, Path::new(record.directory.as_deref().unwrap_or("")));
                    self.note_ended_elsewhere(*record);
                }
                Loaded::Held { why } => self.hold_back(job, why),
                Loaded::Waits { record, why } => self.on_unloadable(&record, why),
            }
        } else if let Loaded::Ready(ready) = loaded
            && self.jobs.record(job).is_none_or(|record| record.directory.is_none())
        {
            self.state.record_thread.delete_files(ready.record);
        }
        self.load_next();
    }

    /// The record thread has put its end on record.
    fn note_ended_elsewhere(&mut self, record: Record) {
        let job = record.id;
        let Some(known) = self.jobs.record_mut(job) else { return };
        (known.life, known.outcome) = (record.life, record.outcome.clone());
        (known.directory, known.finished) = (record.directory.clone(), record.finished.clone());
        // Whoever changed it while it was loaded has overwritten that.
        let has_changed = *known != record;
        self.jobs.retire(job);
        self.disk.close(job);
        self.count_end(job);
        if has_changed {
            self.record(job);
        }
        self.put_away(job);
        if matches!(self.jobs.record(job).and_then(Record::ending), Some(Ending::Completed { .. }))
        {
            self.state.record_thread.forget_journal(job);
        }
        self.publish_state(job);
        self.prune();
    }

    /// What hinders one job just now, hinders the others too; so they all wait, and people are told
    /// once.
    fn on_unloadable(&mut self, record: &Record, why: String) {
        if self.load_trouble.as_ref() != Some(&why) {
            warn!(job = %record.id, name = %Shown(&record.name), "cannot be started yet: {why}");
        }
        self.load_trouble = Some(why);
        self.do_once(Poll::Loading, clock::now().instant + DISK_PAUSE);
    }

    fn start_job(&mut self, ready: Ready) {
        let Ready { record: loaded, nzb, directory, destination, recovered, journal } = ready;
        let job = loaded.id;
        self.load_trouble = None;
        let Some(record) = self.jobs.record_mut(job) else { return };
        let is_new = record.directory != loaded.directory;
        (record.directory, record.finished) = (loaded.directory.clone(), loaded.finished.clone());
        if recovered.is_proven {
            record.returns = returns_after_proof(record.returns);
        }
        // Whoever changed it while it was loaded has overwritten that.
        let has_changed = *record != loaded;
        // Its destination is that of the category it had, or it has taken in others since.
        let is_outdated = record.category != loaded.category || record.kin != loaded.kin;
        if is_new {
            self.claim(job, loaded.directory.as_deref());
        }
        if is_outdated {
            self.record(job);
            return;
        }
        let Some(record) = self.jobs.record(job) else { return };
        let segments = nzb.segments();
        info!(%job, name = %Shown(&record.name), size = %ByteCount(nzb.bytes()), "started");
        let written = recovered.written.clone();
        let is_read_back = recovered.finished.iter().all(|it| it.read_back);
        let mut new = new_job(record, nzb, recovered, self.settings.jobs().wants_par2_volumes);
        let propagation = self.settings.config().download.propagation;
        let newest_post = record.contents.newest_post;
        new.health_exempt_until =
            propagation.exempt_until(record.held, newest_post, clock::now().date);
        new.paused_files.extend(self.joinings.leaving(job));
        self.state.open_journal(job, journal);
        let started = clock::now().instant;
        self.jobs.start(job, Active { started, segments });
        let open =
            OpenJob { directory, destination, losses_logged: 0, is_read_back, summary: None };
        self.disk.open(job, open, &written);
        self.announce_room();
        if has_changed {
            self.record(job);
        }
        self.jobs.step(job, Step::Download);
        self.notify_engine(EngineEvent::JobAdded(new));
        self.publish_state(job);
    }

    /// A job has a directory that was just made: whoever had one of that name before has lost it.
    fn claim(&mut self, job: JobId, directory: Option<&str>) {
        let mut others = self.jobs.with_directory(directory);
        others.retain(|other| *other != job);
        for other in others {
            if let Some(record) = self.jobs.record_mut(other) {
                record.directory = None;
                record.finished.clear();
            }
            self.record(other);
        }
    }

    pub(crate) fn note_completed(
        &mut self,
        job: JobId,
        check: Check,
        destination: Arc<Root>,
        name: &SafeName,
    ) {
        let totals = self.engine.job(job).map(|job| job.totals()).unwrap_or_default();
        self.note_room_taken(&destination);
        let Some(started) = self.jobs.active(job).map(|active| active.started) else { return };
        if self.disk.open_job(job).is_none() {
            return;
        }
        let path = path_of(&destination, name);
        let summary = Summary {
            size: ByteCount(totals.bytes_done),
            took: clock::now().instant - started,
            check,
        };
        self.disk.set_moved(job, destination, summary);
        let ending = Ending::Completed { verified: check.is_verified() };
        let mut outcome = self.outcome(job, ending, "");
        outcome.check = Some(check);
        outcome.destination = Some(path);
        self.end_as(job, outcome);
    }

    /// Its articles may still come: it stays in the queue and is tried again later.
    pub(crate) fn put_back(&mut self, job: JobId, pause: Duration, cause: Cause, why: &str) {
        warn!(%job, again_in = ?pause, "put back: {why}");
        self.put_away(job);
        self.jobs.step(job, Step::PutBack);
        let until = clock::now().instant + pause;
        self.disk.close(job);
        self.jobs.rest(job, Rest { until, failure: Some((cause, why.to_owned())) });
        self.do_once(Poll::Rest(job), until);
        self.engine_events.push_back(EngineEvent::JobRemoved(job));
        self.publish_state(job);
        self.load_next();
    }

    /// Takes a job out of the engine and ends it; what it has downloaded stays where it is.
    pub(crate) fn end_early(&mut self, job: JobId, ending: Ending, why: &str) {
        self.end(job, ending, why);
        if self.jobs.active(job).is_some() {
            self.notify_engine(EngineEvent::JobRemoved(job));
        }
    }

    /// Puts on record how it ended; when that is on disk it becomes history.
    pub(crate) fn end(&mut self, job: JobId, ending: Ending, why: &str) {
        let outcome = self.outcome(job, ending, why);
        self.end_as(job, outcome);
    }

    pub(crate) fn end_as(&mut self, job: JobId, outcome: Outcome) {
        if self.jobs.record(job).is_none_or(|record| record.outcome.is_some()) {
            return;
        }
        self.stop_fetching(job);
        self.jobs.step(job, Step::End);
        let Some(record) = self.jobs.record_mut(job) else { return };
        if let Ending::Completed { .. } = outcome.ending {
            // It has left it, and another job may come to have one of that name.
            record.directory = None;
        }
        record.end(outcome);
        self.jobs.end_loading(job); // the result of a load that is under way is not wanted any more
        self.record(job);
    }

    /// With what is known of it so far.
    pub(crate) fn outcome(&self, job: JobId, ending: Ending, why: &str) -> Outcome {
        let sequence = self.state.spool.next_sequence();
        let outcome = Outcome { sequence, ..Outcome::new(ending, clock::now().date, why) };
        let Some(known) = self.engine.job(job) else { return outcome };
        let totals = known.totals();
        let took =
            self.jobs.active(job).map_or(Duration::ZERO, |it| clock::now().instant - it.started);
        let server = |(server, count): (_, bergamot_queue::ServerCount)| {
            let articles = ServerArticles { ok: count.got, failed: count.failed };
            (self.network.name(server).to_owned(), articles)
        };
        Outcome {
            downloaded: ByteCount(totals.bytes_done),
            download_seconds: took.as_secs(),
            articles_ok: totals.segments_done,
            articles_failed: totals.segments_lost,
            health: known.health(),
            critical_health: known.critical_health(),
            servers: known.servers().map(server).collect(),
            ..outcome
        }
    }

    /// Brings a job's record to the disk; changes while that is under way are written together.
    pub(crate) fn record(&mut self, job: JobId) {
        let Some(record) = self.jobs.record(job) else { return };
        if self.pending_writes.changed(job) {
            self.state.record_thread.update(record.clone());
        }
    }

    /// The same, for somebody who waits for it.
    pub(crate) fn promise(&mut self, job: JobId) -> Option<Promise> {
        self.record(job);
        self.written_promise(job)
    }

    /// Comes true when the last change of the record is on disk; none if it is already.
    pub(crate) fn written_promise(&mut self, job: JobId) -> Option<Promise> {
        let (waiter, promise) = oneshot::channel();
        self.pending_writes.wait(job, waiter).is_none().then_some(promise)
    }

    fn answer_waiters(&mut self, job: JobId, result: &Result<(), String>) -> Next {
        let (next, waiters) = self.pending_writes.written(job, result.is_ok());
        for waiter in waiters {
            let _ = waiter.send(result.clone()); // the caller may have gone away
        }
        next
    }

    /// `is_over`: what was written says that the job has ended.
    pub(crate) fn on_recorded(&mut self, job: JobId, is_over: bool, result: Result<(), String>) {
        if let Err(why) = &result {
            warn!(%job, "the record could not be written: {why}");
        }
        match self.answer_waiters(job, &result) {
            Next::Later => self.do_once(Poll::Records, clock::now().instant + DISK_PAUSE),
            Next::Again => {
                if let Some(record) = self.jobs.record(job) {
                    self.state.record_thread.update(record.clone());
                }
            }
            Next::Nothing => {}
        }
        if result.is_ok() {
            self.clear_behind_joined();
        }
        let is_still_over = self.jobs.record(job).is_some_and(|record| record.outcome.is_some());
        if result.is_ok() && is_over && is_still_over && self.jobs.is_queued(job) {
            self.let_go(job);
        }
    }

    pub(crate) fn write_records_again(&mut self) {
        for job in self.pending_writes.failed() {
            self.record(job);
        }
    }

    /// The end of a job is on record: nothing needs it any more.
    fn let_go(&mut self, job: JobId) {
        self.jobs.retire(job);
        let open = self.disk.close(job);
        self.announce_room();
        self.count_end(job);
        self.put_away(job);
        self.publish_state(job);
        let Some(record) = self.jobs.record(job) else { return };
        let path = open.as_ref().map(|open| open.directory.path().to_owned());
        match record.ending() {
            Some(Ending::Failed(_)) => announce_failure(record, &path.unwrap_or_default()),
            Some(Ending::Deleted(_)) => info!(%job, name = %Shown(&record.name), "deleted"),
            // The journal stays until the job is settled, to tell the next daemon if it is not.
            _ => match open {
                Some(open) => self.settle(job, open),
                None => self.state.record_thread.forget_journal(job),
            },
        }
        self.prune();
        self.load_next();
    }

    /// What is only needed while a job is downloaded.
    pub(crate) fn put_away(&mut self, job: JobId) {
        self.forget_files_of(job);
        self.disk.forget_checksums(job);
        self.state.close_journal(job);
        self.observers.forget(job);
    }

    /// Removes ended jobs that the history need not keep, with what was downloaded of those that failed.
    pub(crate) fn prune(&mut self) {
        let now = clock::now();
        let records = self.jobs.history().chain(self.jobs.queued());
        let Expired { by_number, by_age, postponed } =
            self.retention.check(now.instant, now.date, records);
        if let Some(Postponed { jobs, doubt, until }) = postponed {
            // One warning for each jump, and one while the check is planned.
            if self.targets.target(Poll::History).is_none() || matches!(doubt, Doubt::Jumped { .. })
            {
                log_postponed(jobs, doubt);
            }
            self.do_once(Poll::History, until);
        }
        let why =
            [(by_number, "more jobs ended than history.most"), (by_age, "older than history.keep")];
        let mut removed = Vec::new();
        for (job, why) in
            why.into_iter().flat_map(|(jobs, why)| jobs.into_iter().map(move |job| (job, why)))
        {
            let Some(record) = self.jobs.record(job).cloned() else { continue };
            log_pruned(&record, &self.settings.jobs().incomplete, why);
            removed.push(record);
            self.jobs.forget(job);
            self.publish_removed(job);
        }
        if !removed.is_empty() {
            self.state.record_thread.remove_all(removed);
        }
    }

    /// Without a trace, beginning with its files.
    pub(crate) fn remove(&mut self, job: JobId) -> Option<Promise> {
        let record = self.jobs.record(job)?.clone();
        let is_active = self.jobs.active(job).is_some();
        self.pending_writes.changed(job);
        let promise = self.written_promise(job);
        if is_active {
            self.notify_engine(EngineEvent::JobRemoved(job));
            self.discard(job, true);
        } else {
            self.state.record_thread.remove(record);
            self.jobs.forget(job);
        }
        self.stop_fetching(job);
        self.put_away(job);
        self.publish_removed(job);
        promise
    }

    /// Its files are deleted behind all that is still being written to them.
    pub(crate) fn discard(&mut self, job: JobId, and_record: bool) {
        let Some(record) = self.jobs.record(job).cloned() else { return };
        let what = DiskTask::DeleteFiles { record: Box::new(record), and_record };
        self.disk.order(job, what, bergamot_writer::Task::Discard);
        if and_record {
            self.jobs.forget(job);
            self.disk.close(job);
        } else if let Some(outcome) = self.jobs.record_mut(job).and_then(|it| it.outcome.as_mut()) {
            outcome.discard = true;
            self.record(job);
        }
    }

    /// Clears up behind jobs that completed when the last daemon had no time for it any more.
    pub(crate) fn settle_again(&self, unsettled: &[JobId]) {
        let records = unsettled.iter().filter_map(|job| self.jobs.record(*job).cloned());
        directories::settle(records.collect(), &self.settings.jobs().incomplete, &self.events);
    }

    /// Their journals have told what was left of them. One that is tried again has another by now.
    pub(crate) fn on_settled(&self, jobs: &[JobId]) {
        let is_over =
            |job: &&JobId| self.jobs.record(**job).is_none_or(|record| record.outcome.is_some());
        jobs.iter().filter(is_over).for_each(|job| self.state.record_thread.forget_journal(*job));
    }

    /// What was to be deleted of a deleted job is gone.
    pub(crate) fn note_discarded(&mut self, job: JobId) {
        let Some(record) = self.jobs.record_mut(job) else { return };
        let Some(outcome) = record.outcome.as_mut().filter(|outcome| outcome.discard) else {
            return;
        };
        outcome.discard = false;
        record.directory = None;
        record.finished.clear();
        self.record(job);
    }

    /// Deletes what the last daemon had no time to, unless another job has taken the place meanwhile.
    pub(crate) fn discard_remnants(&mut self) {
        let taken: HashSet<_> = self.jobs.queued().map(|record| &record.directory).collect();
        let is_left = |record: &&Record| record.outcome.as_ref().is_some_and(|it| it.discard);
        let left = self.jobs.history().filter(is_left).filter(|it| !taken.contains(&it.directory));
        for record in left {
            self.state.record_thread.delete_files(record.clone());
        }
    }

    pub(crate) fn on_cleared(&mut self, job: JobId, and_record: bool, result: &Result<(), String>) {
        if let Err(why) = result {
            warn!(%job, "not removed: {why}");
        }
        if and_record {
            self.answer_waiters(job, result);
            self.pending_writes.forget(job);
        } else if result.is_ok() {
            self.note_discarded(job);
        }
    }
}

/// The job lies where it belongs and is on record: whoever waits for it may take it.
pub(crate) fn announce(record: &Record, summary: Summary) {
    let path = record.destination().unwrap_or_default();
    info!(
        job = %record.id, name = %Shown(&record.name), size = %summary.size,
        seconds = format!("{:.1}", summary.took.as_secs_f64()),
        verified = summary.check.is_verified(), check = summary.check.word(),
        path = %Shown(path), "complete"
    );
}

/// Only now may its NZB be dropped again: before, it would have been a duplicate.
fn announce_failure(record: &Record, directory: &Path) {
    let (path, reason) = (directory.to_string_lossy(), record.reason().unwrap_or("?"));
    let name = Shown(&record.name);
    warn!(job = %record.id, %name, path = %Shown(&path), "failed: {reason}");
}

/// What is deleted is named, so that a person can see where a download has gone.
fn log_pruned(record: &Record, incomplete: &Path, why: &str) {
    let (job, name) = (record.id, Shown(&record.name));
    match record.directory.as_deref() {
        Some(directory) => {
            let path = incomplete.join(directory).to_string_lossy().into_owned();
            let path = Shown(&path);
            info!(%job, %name, %path, "removed from the history, and its downloaded files deleted: {why}");
        }
        None => debug!(%job, %name, "removed from the history: {why}"),
    }
}

fn log_postponed(jobs: usize, doubt: Doubt) {
    match doubt {
        Doubt::BeforeNewestRecord => warn!(
            jobs,
            "no job is removed from the history by age: the clock is before the newest date on record"
        ),
        Doubt::Jumped { seconds } => warn!(
            jobs,
            hours = seconds / 3600,
            "the clock jumped; no job is removed from the history by age until it has run an hour"
        ),
        Doubt::Unconfirmed { .. } => debug!(
            jobs,
            "no job is removed from the history by age until the clock has run an hour"
        ),
    }
}

/// How long to leave a disk alone that would not take a record or start a job.
const DISK_PAUSE: Duration = Duration::from_secs(5);
