//! Edits of jobs in the main loop: `Daemon` applies what `bergamot_jobs::edit` changes, and ends, removes
//! and retries jobs.

use std::sync::Arc;

use bergamot_api::Refusal;
use bergamot_engine::Event as EngineEvent;
use bergamot_jobs::edit::{Delete, Edit, EditRefusal, Edits, Effects, HistoryEdit};
use bergamot_jobs::{FileChoices, Outcome, Record};
use bergamot_queue::{Deletion, Ending};
use bergamot_types::JobId;
use bergamot_writer::Root;
use tracing::info;

use crate::control::call::Promise;
use crate::run::Daemon;

/// When the change is on disk, if that has to be waited for.
pub(crate) type Edited = Result<Option<Promise>, Refusal>;

impl Daemon {
    /// `root` is the destination of the category that jobs are given, if that is what is wanted.
    pub(crate) fn edit(
        &mut self,
        jobs: &[JobId],
        edit: &Edit,
        root: Option<&Arc<Root>>,
    ) -> Vec<Edited> {
        let edited = match edit {
            Edit::Move(place) => {
                let moved = self.change(|edits| edits.move_jobs(jobs, *place));
                let moved = moved.into_iter().zip(jobs);
                moved.map(|(moved, job)| self.when_written(*job, moved)).collect()
            }
            Edit::Sort { by, descending } => {
                // Records are written in order: the last that changed stands for all.
                let last = self.change(|edits| edits.sort(jobs, *by, *descending));
                vec![Ok(last.and_then(|job| self.written_promise(job)))]
            }
            edit => jobs.iter().map(|job| self.edit_one(*job, edit, root)).collect(),
        };
        for (job, edited) in jobs.iter().zip(&edited) {
            if edited.is_ok() {
                self.publish_changed(*job);
            }
        }
        self.load_next();
        edited
    }

    /// Makes changes, and does what follows from them.
    pub(crate) fn change<T>(&mut self, change: impl FnOnce(&mut Edits<'_>) -> T) -> T {
        let mut edits = Edits::new(&mut self.jobs, &self.engine);
        let changed = change(&mut edits);
        let Effects { engine, write } = edits.into_effects();
        for job in write {
            self.new_jobs.stay_below(self.jobs.record(job).map_or(0, |record| record.rank));
            self.record(job);
        }
        engine.into_iter().for_each(|event| self.notify_engine(event));
        changed
    }

    fn when_written(&mut self, job: JobId, changed: Result<(), EditRefusal>) -> Edited {
        changed?;
        Ok(self.written_promise(job))
    }

    fn edit_one(&mut self, job: JobId, edit: &Edit, root: Option<&Arc<Root>>) -> Edited {
        let record = self.jobs.record(job).ok_or(Refusal::NoSuchJob(job))?;
        let (is_queued, has_ended) = (self.jobs.is_queued(job), record.outcome.is_some());
        let changed = match edit {
            // Some clients confuse the two lists when they delete.
            Edit::Delete(delete) if is_queued => return self.delete(job, *delete),
            Edit::Delete(Delete::Finally) | Edit::History(HistoryEdit::Delete) if !is_queued => {
                return Ok(self.remove(job));
            }
            Edit::History(HistoryEdit::Delete) => return self.delete(job, Delete::Finally),
            Edit::History(_) if !has_ended => Err(EditRefusal::NotEnded(job)),
            Edit::History(HistoryEdit::Redownload) => return self.try_again(job, true),
            Edit::History(HistoryEdit::Retry) => return self.try_again(job, false),
            Edit::History(edit) => self.change(|edits| edits.edit_history(job, edit)),
            Edit::SetName(name) => self.change(|edits| edits.set_name(job, name)),
            Edit::SetCategory(category) => self.set_category(job, category.as_deref(), root),
            Edit::SetParameter { name, value } => {
                self.change(|edits| edits.set_parameter(job, name, value))
            }
            Edit::SetDupeKey(_) | Edit::SetDupeScore(_) | Edit::SetDupeMode(_) => {
                self.change(|edits| edits.set_dupe(job, edit))
            }
            _ if has_ended => Err(EditRefusal::Ended(job)),
            Edit::Pause => self.change(|edits| edits.pause(job, true)),
            Edit::Resume => self.change(|edits| edits.pause(job, false)),
            Edit::SetPriority(priority) => self.change(|edits| edits.set_priority(job, *priority)),
            Edit::Files { files, what } => {
                let leaving = self.joinings.leaving(job).to_vec();
                self.change(|edits| edits.edit_files(job, files, *what, &leaving))
            }
            Edit::Delete(_) | Edit::Move(_) | Edit::Sort { .. } => Err(EditRefusal::NotQueued(job)),
        };
        self.when_written(job, changed)
    }

    fn set_category(
        &mut self,
        job: JobId,
        category: Option<&str>,
        root: Option<&Arc<Root>>,
    ) -> Result<(), EditRefusal> {
        let is_ending = self.jobs.is_queued(job)
            && self.jobs.record(job).is_some_and(|record| record.outcome.is_some());
        if is_ending || self.is_being_moved(job) {
            return Err(EditRefusal::BeingMoved(job));
        }
        if let Some(root) = root {
            self.disk.set_destination(job, root.clone());
        }
        let settings = self.settings.jobs();
        let known = category.and_then(|name| settings.category(name));
        let known = known.map(|known| known.name.as_str());
        self.change(|edits| edits.set_category(job, known.or(category)))
    }

    fn delete(&mut self, job: JobId, delete: Delete) -> Edited {
        if self.jobs.record(job).is_some_and(|record| record.outcome.is_some()) {
            return Err(EditRefusal::JustEnded(job).into());
        }
        if self.is_being_moved(job) {
            return Err(EditRefusal::BeingMoved(job).into());
        }
        let ending = match delete {
            Delete::Finally => {
                info!(%job, "deleted with its record");
                return Ok(self.remove(job));
            }
            Delete::AsDuplicate => Ending::Deleted(Deletion::Duplicate),
            Delete::Park | Delete::ToHistory => Ending::Deleted(Deletion::ByPerson),
        };
        let discard = !matches!(delete, Delete::Park);
        let outcome = self.outcome(job, ending, "");
        self.end_as(job, Outcome { discard, ..outcome });
        let is_active = self.jobs.active(job).is_some();
        if is_active {
            self.notify_engine(EngineEvent::JobRemoved(job));
        }
        match (discard, is_active) {
            (false, _) => {}
            (true, true) => self.discard(job, false),
            (true, false) => {
                if let Some(record) = self.jobs.record(job) {
                    self.state.record_thread.delete_files(record.clone());
                }
            }
        }
        Ok(self.written_promise(job))
    }

    /// From the history back into the queue, at its end.
    pub(crate) fn try_again(&mut self, job: JobId, from_the_start: bool) -> Edited {
        if self.jobs.is_queued(job) {
            return Err(EditRefusal::JustEnded(job).into());
        }
        let is_fetched = self.jobs.record(job).is_some_and(|record| !record.lacks_nzb());
        let nzbs = self.jobs.record(job).map_or(Vec::new(), Record::nzbs);
        if is_fetched && nzbs.iter().any(|nzb| self.state.spool.nzb(*nzb).is_err()) {
            return Err(EditRefusal::NzbGone(job).into());
        }
        let ending = self.jobs.record(job).and_then(Record::ending);
        if !from_the_start && matches!(ending, Some(Ending::Completed { .. })) {
            return Err(EditRefusal::Complete(job).into());
        }
        self.state.record_thread.forget_crashes(job);
        let rank = self.new_jobs.next_rank();
        let Some(record) = self.jobs.record_mut(job) else { return Err(Refusal::NoSuchJob(job)) };
        record.rank = rank;
        record.paused = false;
        (record.starts, record.returns, record.held) = (0, 0, None);
        let is_discarded = record.outcome.as_ref().is_some_and(|outcome| outcome.discard);
        if from_the_start || is_discarded {
            let old = record.clone();
            record.choose(FileChoices::forget);
            record.directory = None;
            record.finished.clear();
            self.state.record_thread.start_anew(old);
        }
        info!(%job, from_the_start, "tried again");
        self.jobs.revive(job);
        if !is_fetched {
            self.plan_fetch(job);
        }
        Ok(self.promise(job))
    }
}
