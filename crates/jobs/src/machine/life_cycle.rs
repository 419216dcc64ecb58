//! The life cycle of jobs: added, started, put back, ended, removed, retried. Methods of [`Core`]. Pure.

use std::collections::HashSet;
use std::time::Duration;

use bergamot_engine::{Event as EngineEvent, FORCE_PRIORITY, Failure, Now};
use bergamot_queue::{Cause, Deletion, DupeMode, Ending, JobState, Stage, Step};
use bergamot_types::{JobId, Shown};
use tracing::{debug, info, warn};

use super::action::{Action, Change};
use super::core::{Core, Moment};
use super::event::{Disk, Ready, StoreFailure};
use super::timers::Timer;
use crate::duplicates::{Rivals, rivals, stands_for_its_articles};
use crate::edit::{Delete, EditRefusal};
use crate::ending::failure::JobFailure;
use crate::ending::plausible_clock::Doubt;
use crate::ending::retention::{Expired, Postponed};
use crate::ending::retry;
use crate::engine_job::new_job;
use crate::list::job_list::{Active, Rest};
use crate::list::queue_order::Target;
use crate::record::Record;
use crate::record::file_choices::FileChoices;
use crate::record::outcome::{Check, Outcome};

impl<W> Core<W> {
    /// Goes on with what was queued when the process began.
    pub(super) fn resume_queue(&mut self, at: Moment<'_>, suspects: &[JobId]) {
        if self.list.queued_count() > 0 {
            info!(jobs = self.list.queued_count(), "going on with what was queued");
        }
        for &job in suspects {
            let cause = Cause::Crashed;
            let why = format!("{}: {}", cause.code(), cause.sentence());
            warn!(%job, "parked: {why}");
            self.end(at, job, Ending::Failed(cause), &why);
        }
        let queued: Vec<_> = self.list.queued().map(|it| (it.id, it.life)).collect();
        for (job, life) in queued {
            self.let_propagate(at.now, job);
            if life == JobState::Fetching && !self.settings.feeds_only {
                self.act(Action::Fetch(job));
            }
        }
        self.delete_leftovers();
        for job in self.failed_by_outage() {
            self.timers.set(Timer::Rest(job), at.now.instant + retry::FIRST_REST);
        }
        self.prune(at.now);
    }

    /// Returns the jobs that turn out to be of no use, itself perhaps.
    pub(super) fn add(&mut self, at: Moment<'_>, record: Record) -> Vec<JobId> {
        let (id, category) = (record.id, record.category.as_deref());
        match record.reason() {
            None => info!(job = %id, name = %Shown(&record.name), category, "added"),
            Some(why) => warn!(job = %id, name = %Shown(&record.name), category, "refused: {why}"),
        }
        let rivals = rivals(&self.list, &record, |job| self.is_being_moved(job));
        let twin = record.outcome.is_none().then(|| self.twin(&record)).flatten();
        let is_to_come = record.life == JobState::Fetching;
        self.list.insert(Box::new(record));
        self.let_propagate(at.now, id);
        self.changed(Change::Added(id));
        if is_to_come && !self.settings.feeds_only {
            self.act(Action::Fetch(id));
        }
        if let Some(twin) = twin {
            self.end_as_copy(at, id, twin);
            return vec![id];
        }
        let (why, useless) = match rivals {
            Rivals::Better => ("job.duplicate: a better one is there".to_owned(), vec![id]),
            Rivals::Worse(worse) => (format!("job.duplicate: job {id} is better"), worse),
        };
        for job in &useless {
            self.end_early(at, *job, Ending::Deleted(Deletion::Duplicate), &why);
        }
        useless
    }

    /// A job with the same articles that was added before.
    fn twin(&self, new: &Record) -> Option<JobId> {
        if new.dupe.mode == DupeMode::Force || self.settings.accept_duplicates {
            return None;
        }
        let stands = |job: &JobId| self.list.record(*job).is_some_and(stands_for_its_articles);
        let copies = self.spool.copies(new.fingerprint).into_iter();
        let mut copies = copies.map(|job| self.whole_of(job).unwrap_or(job));
        copies.find(|job| *job != new.id && stands(job))
    }

    /// The job that another has become part of, while the spool does not know that yet.
    fn whole_of(&self, job: JobId) -> Option<JobId> {
        if self.list.record(job).is_some() {
            return None;
        }
        let has = |record: &&Record| record.joined().iter().any(|joined| joined.job == job);
        self.list.queued().find(has).map(|record| record.id)
    }

    fn end_as_copy(&mut self, at: Moment<'_>, job: JobId, twin: JobId) {
        let why = format!("nzb.duplicate: job {twin} has the same articles");
        self.end(at, job, Ending::Deleted(Deletion::Copy), &why);
    }

    /// The NZB of a job has come. From here on it is a job like any other.
    pub(super) fn take_fetched(&mut self, at: Moment<'_>, record: Record, priority: Option<i32>) {
        let job = record.id;
        let is_wanted =
            |known: &Record| known.life == JobState::Fetching && known.outcome.is_none();
        if !self.list.record(job).is_some_and(is_wanted) {
            return;
        }
        info!(%job, name = %Shown(&record.name), size = %record.contents.bytes, "fetched");
        let twin = self.twin(&record);
        if let Some(known) = self.list.record_mut(job) {
            *known = record;
        }
        self.list.step(job, Step::Fetched);
        if let Some(twin) = twin {
            return self.end_as_copy(at, job, twin);
        }
        self.write(job);
        if let Some(priority) = priority {
            let changed = self.list.place(job, priority, Target::Here);
            self.change(at, |edits| edits.on_placed(&changed));
        }
        self.let_propagate(at.now, job);
        self.list.nzb_came(job);
        self.changed(Change::Edited(job));
        self.changed(Change::State(job));
    }

    /// A very fresh post waits until its articles may have reached every server.
    pub(super) fn let_propagate(&mut self, now: Now, job: JobId) {
        let Some(record) = self.list.record(job) else { return };
        let Some(posted) = record.contents.newest_post else { return };
        let age = u64::try_from(now.date.0.saturating_sub(posted.0)).unwrap_or(0);
        let left = self.settings.propagation_delay.saturating_sub(Duration::from_secs(age));
        if left > Duration::ZERO && record.priority < FORCE_PRIORITY && record.outcome.is_none() {
            self.rest(job, Rest { until: now.instant + left, failure: None });
        }
    }

    fn rest(&mut self, job: JobId, rest: Rest) {
        self.timers.remove(Timer::Rest(job));
        self.timers.set(Timer::Rest(job), rest.until);
        self.list.rest(job, rest);
    }

    /// It is loaded: its articles are given to the engine. `leaving` are files that are being split off.
    pub(super) fn start(&mut self, at: Moment<'_>, ready: Ready, leaving: &[u32]) {
        let Ready { record: loaded, nzb, finished, written, is_proven } = ready;
        let job = loaded.id;
        let Some(record) = self.list.record_mut(job) else { return };
        let is_new = record.directory != loaded.directory;
        (record.directory, record.finished) = (loaded.directory.clone(), loaded.finished.clone());
        if is_proven {
            record.returns = retry::returns_after_proof(record.returns);
        }
        // A change while it was loaded has overwritten what the loader wrote.
        let has_changed = *record != loaded;
        // Its destination is that of the category it had, or it has taken in others since.
        let is_outdated = record.category != loaded.category || record.kin != loaded.kin;
        if is_new {
            self.claim(job, loaded.directory.as_deref());
        }
        let Some(record) = self.list.record(job).filter(|_| !is_outdated) else {
            self.write(job);
            return self.act(Action::DropLoaded(job));
        };
        let segments = nzb.segments();
        let size = bergamot_types::ByteCount(nzb.bytes());
        info!(%job, name = %Shown(&record.name), %size, "started");
        let mut new = new_job(record, nzb, self.settings.wants_par2_volumes);
        (new.finished, new.written) = (finished, written);
        let (held, newest_post) = (record.held, record.contents.newest_post);
        let propagation = self.settings.propagation;
        new.health_exempt_until = propagation.exempt_until(held, newest_post, at.now.date);
        new.paused_files.extend(leaving);
        self.list.start(job, Active { started: at.now.instant, segments });
        self.act(Action::Open(job));
        self.check_room();
        if has_changed {
            self.write(job);
        }
        self.list.step(job, Step::Download);
        self.tell(EngineEvent::JobAdded(new));
        self.changed(Change::State(job));
    }

    /// A job has a directory that was just made: another that had one of that name has lost it.
    fn claim(&mut self, job: JobId, directory: Option<&str>) {
        let mut others = self.list.with_directory(directory);
        others.retain(|other| *other != job);
        for other in others {
            if let Some(record) = self.list.record_mut(other) {
                record.directory = None;
                record.finished.clear();
            }
            self.write(other);
        }
    }

    /// Its end was put on record while it was loaded.
    pub(super) fn note_ended_elsewhere(&mut self, now: Now, record: Record) {
        let job = record.id;
        let Some(known) = self.list.record_mut(job) else { return };
        (known.life, known.outcome) = (record.life, record.outcome.clone());
        (known.directory, known.finished) = (record.directory.clone(), record.finished.clone());
        // A change while it was loaded has overwritten that, or will.
        let has_changed = *known != record;
        self.list.retire(job);
        if has_changed || self.is_being_written(job) {
            self.write(job);
        }
        self.close(job);
        if matches!(record.ending(), Some(Ending::Completed { .. })) {
            self.act(Action::ForgetJournal(job));
        }
        if let Some(record) = self.list.record(job) {
            let record = Box::new(record.clone());
            self.changed(Change::Ended(record));
        }
        self.prune(now);
    }

    /// A step of post-processing has begun.
    pub(super) fn enter(&mut self, job: JobId, stage: Stage) {
        let record = self.list.record(job).filter(|record| record.outcome.is_none());
        if record.is_some_and(|record| record.life != JobState::Post(stage)) {
            self.list.step(job, Step::Enter(stage));
            self.changed(Change::State(job));
        }
    }

    pub(super) fn complete(&mut self, at: Moment<'_>, job: JobId, check: Check, path: String) {
        if self.list.active(job).is_none() {
            return;
        }
        let ending = Ending::Completed { verified: check.is_verified() };
        let outcome = self.outcome(at, job, ending, "");
        let (check, destination) = (Some(check), Some(path));
        self.end_as(job, Outcome { check, destination, ..outcome });
    }

    /// The engine fails a job: it ends, or rests and is tried again.
    pub(super) fn fail(&mut self, at: Moment<'_>, job: JobId, failure: Failure, disk: &Disk) {
        let propagation = self.settings.propagation;
        let JobFailure { cause, reason, missing } = JobFailure::new(
            failure,
            at.engine.job(job),
            self.list.record(job),
            disk.error.as_deref(),
            propagation,
            at.now.date,
        );
        let record = self.list.record_mut(job).filter(|record| record.outcome.is_none());
        let rest = record.and_then(|record| {
            retry::rest_after(record, cause, disk.failure, propagation, at.now.date)
        });
        if let Some(rest) = rest {
            self.write(job);
            return self.put_back(at.now, job, rest, cause, reason);
        }
        let outcome = self.outcome(at, job, Ending::Failed(cause), &reason);
        self.end_as(job, Outcome { missing, ..outcome });
        if cause == Cause::ServersDown
            && let Some(rest) = self.list.record(job).and_then(retry::rest_in_history)
        {
            self.timers.set(Timer::Rest(job), at.now.instant + rest);
        }
        self.tell(EngineEvent::JobRemoved(job));
    }

    /// Its articles may still come: it stays in the queue and is tried again later.
    fn put_back(&mut self, now: Now, job: JobId, pause: Duration, cause: Cause, why: String) {
        warn!(%job, again_in = ?pause, "put back: {why}");
        self.close(job);
        self.list.step(job, Step::PutBack);
        self.rest(job, Rest { until: now.instant + pause, failure: Some((cause, why)) });
        self.tell(EngineEvent::JobRemoved(job));
        self.changed(Change::State(job));
    }

    /// A job that runs gives up its turn; what it has written stays.
    pub(super) fn stop_for_room(&mut self, job: JobId, why: &str) {
        self.close(job);
        self.list.step(job, Step::PutBack);
        self.list.stop(job);
        self.hold_back(job, why);
        self.tell(EngineEvent::JobRemoved(job));
    }

    /// Takes a job out of the engine and ends it; its files stay.
    fn end_early(&mut self, at: Moment<'_>, job: JobId, ending: Ending, why: &str) {
        self.end(at, job, ending, why);
        if self.list.active(job).is_some() {
            self.tell(EngineEvent::JobRemoved(job));
        }
    }

    /// Puts on record how it ended; when that is on disk it becomes history.
    pub(super) fn end(&mut self, at: Moment<'_>, job: JobId, ending: Ending, why: &str) {
        let outcome = self.outcome(at, job, ending, why);
        self.end_as(job, outcome);
    }

    fn end_as(&mut self, job: JobId, outcome: Outcome) {
        if self.list.record(job).is_none_or(|record| record.outcome.is_some()) {
            return;
        }
        self.act(Action::StopFetching(job));
        self.list.step(job, Step::End);
        if let Ending::Completed { .. } = outcome.ending
            && let Some(record) = self.list.record_mut(job)
        {
            // It has left it, and another job may come to have one of that name.
            record.directory = None;
        }
        self.list.end(job, outcome);
        self.list.end_loading(job); // the result of a load that is under way is not wanted any more
        self.write(job);
    }

    /// A write that said that the job has ended is on disk.
    pub(super) fn on_end_written(&mut self, now: Now, job: JobId) {
        if self.has_ended(job) && self.list.is_queued(job) {
            self.let_go(now, job);
        }
    }

    /// The end of a job is on record: nothing needs it any more.
    fn let_go(&mut self, now: Now, job: JobId) {
        self.list.retire(job);
        self.check_room();
        let Some(record) = self.list.record(job).cloned().map(Box::new) else { return };
        self.changed(Change::Ended(record.clone()));
        match record.ending() {
            Some(Ending::Failed(_)) => self.log_failure(&record),
            Some(Ending::Deleted(_)) => info!(%job, name = %Shown(&record.name), "deleted"),
            // The journal stays until the job is settled, to tell the next process if it is not.
            _ => self.act(Action::Settle(record)),
        }
        self.close(job);
        self.prune(now);
    }

    /// Only now may its NZB be added again: before, it would have been a duplicate.
    pub(super) fn log_failure(&self, record: &Record) {
        let incomplete = &self.settings.directories.incomplete;
        let path = record.directory.as_deref().map(|name| incomplete.join(name));
        let path = path.unwrap_or_default().to_string_lossy().into_owned();
        let (name, reason) = (Shown(&record.name), record.reason().unwrap_or("?"));
        warn!(job = %record.id, %name, path = %Shown(&path), "failed: {reason}");
    }

    /// Removes ended jobs that the history need not keep, with the files of those that failed.
    pub(super) fn prune(&mut self, now: Now) {
        // One whose end is not on disk yet is still in the queue, and leaves that first.
        let queued = self.list.queued().filter(|record| record.outcome.is_none());
        let records = self.list.history().chain(queued);
        let Expired { by_number, by_age, postponed } =
            self.retention.check(now.instant, now.date, records);
        if let Some(Postponed { jobs, doubt, until }) = postponed {
            // One warning for each jump, and one while the check is planned.
            if !self.timers.is_set(Timer::History) || matches!(doubt, Doubt::Jumped { .. }) {
                log_postponed(jobs, doubt);
            }
            self.timers.set(Timer::History, until);
        }
        let mut removed = Vec::new();
        for (jobs, why) in
            [(by_number, "more jobs ended than history.most"), (by_age, "older than history.keep")]
        {
            for job in jobs {
                let Some(record) = self.list.record(job).cloned() else { continue };
                self.log_pruned(&record, why);
                removed.push(record);
                self.list.forget(job);
                self.timers.remove(Timer::Rest(job));
                self.changed(Change::Removed(job));
            }
        }
        if !removed.is_empty() {
            self.act(Action::RemoveAll(removed));
        }
    }

    /// Logs the names of deleted jobs, so that a user can find out why a download is gone.
    fn log_pruned(&self, record: &Record, why: &str) {
        let (job, name) = (record.id, Shown(&record.name));
        match record.directory.as_deref() {
            Some(directory) => {
                let path = self.settings.directories.incomplete.join(directory);
                let path = path.to_string_lossy();
                let path = Shown(&path);
                info!(%job, %name, %path, "removed from the history, and its downloaded files deleted: {why}");
            }
            None => debug!(%job, %name, "removed from the history: {why}"),
        }
    }

    /// With its files and its record.
    pub(super) fn remove(&mut self, job: JobId) {
        let Some(record) = self.list.record(job).cloned() else { return };
        let (is_active, record) = (self.list.active(job).is_some(), Box::new(record));
        self.expect_removal(job);
        if is_active {
            self.tell(EngineEvent::JobRemoved(job));
            self.act(Action::RemoveOpen(record));
        } else {
            self.act(Action::Remove(record));
        }
        self.list.forget(job);
        self.timers.remove(Timer::Rest(job));
        self.act(Action::StopFetching(job));
        self.close(job);
        self.changed(Change::Removed(job));
        self.check_room();
    }

    pub(super) fn delete(
        &mut self,
        at: Moment<'_>,
        job: JobId,
        delete: Delete,
    ) -> Result<(), EditRefusal> {
        if self.has_ended(job) {
            return Err(EditRefusal::JustEnded(job));
        }
        if self.is_being_moved(job) {
            return Err(EditRefusal::BeingMoved(job));
        }
        let ending = match delete {
            Delete::Finally => {
                info!(%job, "deleted with its record");
                self.remove(job);
                return Ok(());
            }
            Delete::AsDuplicate => Ending::Deleted(Deletion::Duplicate),
            Delete::Park | Delete::ToHistory => Ending::Deleted(Deletion::ByPerson),
        };
        let discard = !matches!(delete, Delete::Park);
        let outcome = self.outcome(at, job, ending, "");
        self.end_as(job, Outcome { discard, ..outcome });
        let is_active = self.list.active(job).is_some();
        if is_active {
            self.tell(EngineEvent::JobRemoved(job));
        }
        if discard && is_active {
            self.delete_open_files(job);
        } else if discard && let Some(record) = self.list.record(job) {
            let record = Box::new(record.clone());
            self.act(Action::DeleteFiles(record));
        }
        Ok(())
    }

    /// The files of an active job are deleted behind all that is still being written to them.
    pub(super) fn delete_open_files(&mut self, job: JobId) {
        let Some(record) = self.list.record_mut(job) else { return };
        if let Some(outcome) = record.outcome.as_mut() {
            outcome.discard = true;
        }
        let record = Box::new(record.clone());
        self.act(Action::DeleteOpenFiles(record));
        self.write(job);
    }

    pub(super) fn on_files_deleted(&mut self, job: JobId, result: &Result<(), StoreFailure>) {
        if let Err(why) = result {
            return debug!(%job, "its files were not deleted: {why}"); // once more at the next start
        }
        let Some(record) = self.list.record_mut(job) else { return };
        let Some(outcome) = record.outcome.as_mut().filter(|outcome| outcome.discard) else {
            return;
        };
        outcome.discard = false;
        record.directory = None;
        record.finished.clear();
        self.write(job);
    }

    /// Deletes what the last process had no time to, unless another job has the directory now.
    fn delete_leftovers(&mut self) {
        let taken: HashSet<_> = self.list.queued().map(|record| &record.directory).collect();
        let is_left = |record: &&Record| record.outcome.as_ref().is_some_and(|it| it.discard);
        let left = self.list.history().filter(is_left).filter(|it| !taken.contains(&it.directory));
        let left: Vec<_> = left.cloned().map(Box::new).collect();
        left.into_iter().for_each(|record| self.act(Action::DeleteFiles(record)));
    }

    /// A server delivers again: what failed while it did not may be had now.
    pub(super) fn retry_after_outage(&mut self) {
        for job in self.list.resting_for(Cause::ServersDown) {
            self.end_rest(job);
        }
        for job in self.failed_by_outage() {
            self.retry_if_failed_by_outage(job);
        }
    }

    pub(super) fn end_rest(&mut self, job: JobId) {
        self.timers.remove(Timer::Rest(job));
        self.list.end_rest(job);
    }

    fn failed_by_outage(&self) -> Vec<JobId> {
        let jobs = self.list.history().filter(|record| retry::is_failed_by_outage(record));
        jobs.map(|record| record.id).collect()
    }

    /// Unless that was done often enough.
    pub(super) fn retry_if_failed_by_outage(&mut self, job: JobId) {
        let record = self.list.record(job).filter(|record| retry::is_failed_by_outage(record));
        let record = record.filter(|record| retry::rest_in_history(record).is_some());
        let Some(returns) = record.map(|record| record.returns) else { return };
        match self.try_again(job, false) {
            Ok(()) => {
                if let Some(record) = self.list.record_mut(job) {
                    record.returns = retry::returns_from_history(returns);
                }
                self.write(job);
                self.changed(Change::State(job));
            }
            Err(why) => debug!(%job, "not tried again: {why}"),
        }
    }

    /// From the history back into the queue, at its end.
    pub(super) fn try_again(
        &mut self,
        job: JobId,
        from_the_start: bool,
    ) -> Result<(), EditRefusal> {
        if self.list.is_queued(job) {
            return Err(EditRefusal::JustEnded(job));
        }
        let record = self.list.record(job).ok_or(EditRefusal::NoSuchJob(job))?;
        let is_fetched = !record.lacks_nzb();
        if is_fetched && record.nzbs().iter().any(|nzb| !self.spool.has_nzb(*nzb)) {
            return Err(EditRefusal::NzbGone(job));
        }
        if !from_the_start && matches!(record.ending(), Some(Ending::Completed { .. })) {
            return Err(EditRefusal::Complete(job));
        }
        self.act(Action::ForgetCrashes(job));
        self.timers.remove(Timer::Rest(job));
        let rank = self.spool.next_rank();
        let record = self.list.record_mut(job).ok_or(EditRefusal::NoSuchJob(job))?;
        record.rank = rank;
        record.paused = false;
        (record.starts, record.returns, record.held) = (0, 0, None);
        let is_discarded = record.outcome.as_ref().is_some_and(|outcome| outcome.discard);
        if from_the_start || is_discarded {
            let old = Box::new(record.clone());
            record.choose(FileChoices::forget);
            record.directory = None;
            record.finished.clear();
            self.act(Action::DropJournal(job));
            self.act(Action::DeleteFiles(old));
        }
        info!(%job, from_the_start, "tried again");
        self.list.revive(job);
        if !is_fetched {
            self.act(Action::Fetch(job));
        }
        self.write(job);
        Ok(())
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
