//! What people do to jobs.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::sync::Arc;

use bergamot_api::Refusal;
use bergamot_api::request::{Delete, Edit, FileEdit, HistoryEdit, Place, SortKey};
use bergamot_api::view::{Mark, Parameter};
use bergamot_engine::{Event, FORCE_PRIORITY};
use bergamot_jobs::{FileChoices, Outcome, Record};
use bergamot_queue::{Deletion, Ending, FileKey, FileOrder, FileState, JobState};
use bergamot_types::{JobId, Secret};
use bergamot_writer::Root;
use tracing::info;

use crate::control::call::Promise;
use crate::intake::new_job::PASSWORD;
use crate::run::Daemon;
use bergamot_jobs::queue_order::Target;

/// When the change is on disk, if that has to be waited for.
pub(crate) type Edited = Result<Option<Promise>, Refusal>;

impl Daemon {
    /// `root` is where jobs of the category go that they are given, if that is what is wanted.
    pub(crate) fn edit(
        &mut self,
        jobs: &[JobId],
        edit: &Edit,
        root: Option<&Arc<Root>>,
    ) -> Vec<Edited> {
        let edited = match edit {
            Edit::Move(place) => self.move_jobs(jobs, *place),
            Edit::Sort { by, descending } => vec![self.sort(jobs, *by, *descending)],
            edit => jobs.iter().map(|job| self.edit_one(*job, edit, root)).collect(),
        };
        for (job, edited) in jobs.iter().zip(&edited) {
            if edited.is_ok() {
                self.tell_changed(*job);
            }
        }
        self.load_next();
        edited
    }

    fn edit_one(&mut self, job: JobId, edit: &Edit, root: Option<&Arc<Root>>) -> Edited {
        let record = self.jobs.record(job).ok_or(Refusal::NoSuchJob(job))?;
        let is_queued = self.jobs.is_queued(job);
        match edit {
            // Some clients confuse the two lists when they delete.
            Edit::Delete(delete) if is_queued => self.delete(job, *delete),
            Edit::Delete(Delete::Finally) | Edit::History(HistoryEdit::Delete) if !is_queued => {
                Ok(self.remove(job))
            }
            Edit::History(HistoryEdit::Delete) => self.delete(job, Delete::Finally),
            Edit::History(edit) => self.edit_history(job, edit),
            Edit::SetName(_)
            | Edit::SetCategory(_)
            | Edit::SetParameter(_)
            | Edit::SetDupeKey(_)
            | Edit::SetDupeScore(_)
            | Edit::SetDupeMode(_) => self.describe(job, edit, root),
            _ if record.outcome.is_some() => {
                Err(Refusal::Impossible(format!("job {job} has ended")))
            }
            Edit::Pause => Ok(self.pause_job(job, true)),
            Edit::Resume => Ok(self.pause_job(job, false)),
            Edit::SetPriority(priority) => {
                self.close_priority(job);
                let changed = self.jobs.place(job, *priority, Target::Here);
                if *priority >= FORCE_PRIORITY {
                    self.jobs.end_rest(job);
                    self.load_next();
                }
                Ok(self.placed(changed, job))
            }
            Edit::Files { files, what } => self.edit_files(job, files, *what),
            Edit::Delete(_) | Edit::Move(_) | Edit::Sort { .. } => {
                Err(Refusal::Impossible(format!("job {job} is not one for that")))
            }
        }
    }

    /// What people say of it counts before what comes with the NZB.
    fn close_priority(&mut self, job: JobId) {
        if let Some(record) = self.jobs.record_mut(job) {
            record.priority_is_open = false;
        }
    }

    pub(crate) fn pause_job(&mut self, job: JobId, paused: bool) -> Option<Promise> {
        self.jobs.set_paused(job, paused);
        if self.jobs.active(job).is_some() {
            let event = if paused { Event::JobPaused(job) } else { Event::JobResumed(job) };
            self.tell_engine(event);
        }
        self.promise(job)
    }

    /// What is known of a job beside its place.
    fn describe(&mut self, job: JobId, edit: &Edit, root: Option<&Arc<Root>>) -> Edited {
        let settings = self.job_settings.get();
        let is_ending = self.jobs.is_queued(job)
            && self.jobs.record(job).is_some_and(|record| record.outcome.is_some());
        if matches!(edit, Edit::SetCategory(_)) && (is_ending || self.is_being_moved(job)) {
            return Err(Refusal::Impossible(format!("job {job} is being moved")));
        }
        if let (Edit::SetCategory(_), Some(root), Some(open)) =
            (edit, root, self.open_jobs.get_mut(&job))
        {
            open.destination = root.clone();
        }
        let record = self.jobs.record_mut(job).ok_or(Refusal::NoSuchJob(job))?;
        match edit {
            Edit::SetName(name) if name.trim().is_empty() => {
                return Err(Refusal::Invalid("a job needs a name".to_owned()));
            }
            Edit::SetName(name) => record.name = name.as_str().into(),
            Edit::SetCategory(category) => {
                let category = category.as_deref().filter(|name| !name.trim().is_empty());
                let known = category.and_then(|name| settings.category(name));
                let known = known.map(|known| known.name.as_str());
                record.category = known.or(category).map(Into::into);
            }
            Edit::SetParameter(parameter) => set_parameter(record, parameter),
            Edit::SetDupeKey(key) => record.dupe.key = key.as_str().into(),
            Edit::SetDupeScore(score) => record.dupe.score = *score,
            Edit::SetDupeMode(mode) => record.dupe.mode = *mode,
            _ => {}
        }
        Ok(self.promise(job))
    }

    fn delete(&mut self, job: JobId, delete: Delete) -> Edited {
        if self.jobs.record(job).is_some_and(|record| record.outcome.is_some()) {
            return Err(Refusal::Impossible(format!("job {job} has just ended")));
        }
        if self.is_being_moved(job) {
            return Err(Refusal::Impossible(format!("job {job} is being moved")));
        }
        let ending = match delete {
            Delete::Finally => {
                info!(%job, "deleted without a trace");
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
            self.tell_engine(Event::JobRemoved(job));
        }
        match (discard, is_active) {
            (false, _) => {}
            (true, true) => self.discard(job, false),
            (true, false) => {
                if let Some(record) = self.jobs.record(job) {
                    self.keeper.delete_files(record.clone());
                }
            }
        }
        Ok(self.written_promise(job))
    }

    fn edit_history(&mut self, job: JobId, edit: &HistoryEdit) -> Edited {
        let record = self.jobs.record_mut(job).ok_or(Refusal::NoSuchJob(job))?;
        let lacks_nzb = record.lacks_nzb();
        let Some(outcome) = &mut record.outcome else {
            return Err(Refusal::Impossible(format!("job {job} has not ended")));
        };
        match edit {
            HistoryEdit::Backup(backup) => match outcome.ending {
                Ending::Deleted(Deletion::ByPerson | Deletion::Duplicate) if !lacks_nzb => {
                    let deletion = if *backup { Deletion::Duplicate } else { Deletion::ByPerson };
                    outcome.ending = Ending::Deleted(deletion);
                }
                _ => {
                    let why = format!("job {job} was not deleted, so it is no backup");
                    return Err(Refusal::Impossible(why));
                }
            },
            HistoryEdit::Hide => outcome.hidden = true,
            HistoryEdit::Mark(mark) => {
                outcome.mark = match mark {
                    Mark::Bad => bergamot_jobs::Mark::Bad,
                    Mark::Good => bergamot_jobs::Mark::Good,
                    Mark::Success => bergamot_jobs::Mark::Success,
                }
            }
            HistoryEdit::Redownload => return self.try_again(job, true),
            HistoryEdit::Retry => return self.try_again(job, false),
            HistoryEdit::Process => return Err(Refusal::Unsupported("post-processing")),
            HistoryEdit::Delete => return Ok(self.remove(job)),
        }
        Ok(self.promise(job))
    }

    /// From history back into the queue, at its end.
    pub(crate) fn try_again(&mut self, job: JobId, from_the_start: bool) -> Edited {
        if self.jobs.is_queued(job) {
            return Err(Refusal::Impossible(format!("job {job} has just ended")));
        }
        let is_fetched = self.jobs.record(job).is_some_and(|record| !record.lacks_nzb());
        let nzbs = self.jobs.record(job).map_or(Vec::new(), Record::nzbs);
        if is_fetched && nzbs.iter().any(|nzb| self.spool.nzb(*nzb).is_err()) {
            return Err(Refusal::Impossible(format!("the NZB of job {job} is gone")));
        }
        let ending = self.jobs.record(job).and_then(Record::ending);
        if !from_the_start && matches!(ending, Some(Ending::Completed { .. })) {
            let why = format!("job {job} is complete: nothing is missing, but it can begin anew");
            return Err(Refusal::Impossible(why));
        }
        self.keeper.absolve(job);
        let rank = self.reception.next_rank();
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
            self.keeper.start_anew(old);
        }
        info!(%job, from_the_start, "tried again");
        self.jobs.revive(job);
        if !is_fetched {
            self.plan_fetch(job);
        }
        Ok(self.promise(job))
    }

    fn move_jobs(&mut self, jobs: &[JobId], place: Place) -> Vec<Edited> {
        // To the top the last goes first, so that they keep their order.
        let reversed = matches!(place, Place::Top | Place::After(_))
            || matches!(place, Place::By(offset) if offset > 0);
        let mut ordered: Vec<_> = jobs.iter().copied().enumerate().collect();
        if reversed {
            ordered.reverse();
        }
        let mut edited: Vec<_> =
            ordered.into_iter().map(|(at, job)| (at, self.move_one(job, place))).collect();
        edited.sort_by_key(|(at, _)| *at);
        edited.into_iter().map(|(_, edited)| edited).collect()
    }

    fn move_one(&mut self, job: JobId, place: Place) -> Edited {
        if !self.jobs.is_queued(job) {
            return Err(Refusal::NoSuchJob(job));
        }
        let to = match place {
            Place::Top => Target::Top,
            Place::Bottom => Target::Bottom,
            Place::Before(other) | Place::After(other) if !self.jobs.is_queued(other) => {
                return Err(Refusal::NoSuchJob(other));
            }
            Place::Before(other) => Target::Before(other),
            Place::After(other) => Target::After(other),
            Place::By(offset) => match self.neighbour(job, offset) {
                Some(to) => to,
                None => return Ok(None),
            },
        };
        let priority = self.jobs.record(job).map_or(0, |record| record.priority);
        let changed = self.jobs.place(job, priority, to);
        Ok(self.placed(changed, job))
    }

    /// Where so many places down, or up, are.
    fn neighbour(&self, job: JobId, offset: i64) -> Option<Target> {
        let order: Vec<_> = self.jobs.queued().map(|record| record.id).collect();
        let at = order.iter().position(|other| *other == job)? as i64;
        let target = at.saturating_add(offset).clamp(0, order.len() as i64 - 1);
        let other = order[target as usize];
        match target.cmp(&at) {
            std::cmp::Ordering::Less => Some(Target::Before(other)),
            std::cmp::Ordering::Equal => None,
            std::cmp::Ordering::Greater => Some(Target::After(other)),
        }
    }

    /// The places of these jobs have changed; the promise is that of the one that was meant.
    pub(crate) fn placed(&mut self, changed: Vec<JobId>, meant: JobId) -> Option<Promise> {
        for job in changed.into_iter().filter(|job| *job != meant) {
            self.tell_place(job);
            self.record(job);
        }
        self.reception.stay_below(self.jobs.record(meant).map_or(0, |record| record.rank));
        self.tell_place(meant);
        self.promise(meant)
    }

    fn tell_place(&mut self, job: JobId) {
        if self.jobs.active(job).is_some()
            && let Some(Record { priority, rank, .. }) = self.jobs.record(job)
        {
            let event = Event::JobPlaced { job, priority: *priority, rank: *rank };
            self.tell_engine(event);
        }
    }

    /// Jobs of one priority change places with each other.
    fn sort(&mut self, jobs: &[JobId], by: SortKey, descending: bool) -> Edited {
        let named: HashSet<_> = jobs.iter().copied().collect();
        let is_meant = |record: &&Record| named.is_empty() || named.contains(&record.id);
        let meant: Vec<_> = self.jobs.queued().filter(is_meant).collect();
        let mut ranks: BTreeMap<i32, VecDeque<i64>> = BTreeMap::new();
        for record in &meant {
            ranks.entry(record.priority).or_default().push_back(record.rank);
        }
        let mut keyed: Vec<_> = meant
            .iter()
            .map(|record| (self.sort_key(record, by), record.priority, record.id))
            .collect();
        keyed.sort();
        if descending {
            keyed.reverse();
        }
        let mut last = None;
        for (_, priority, job) in keyed {
            let rank = ranks.get_mut(&priority).and_then(VecDeque::pop_front);
            if rank.is_some_and(|rank| self.jobs.set_rank(job, rank)) {
                last = self.placed(Vec::new(), job);
            }
        }
        Ok(last)
    }

    fn sort_key(&self, record: &Record, by: SortKey) -> (i128, String) {
        match by {
            SortKey::Name => (0, record.name.to_lowercase()),
            SortKey::Category => (0, record.category.as_deref().unwrap_or_default().to_lowercase()),
            SortKey::Priority => (-i128::from(record.priority), String::new()),
            SortKey::Size => (record.contents.bytes.0.into(), String::new()),
            SortKey::Left => (self.left(record).remaining.into(), String::new()),
        }
    }

    fn edit_files(&mut self, job: JobId, files: &[u32], what: FileEdit) -> Edited {
        let record = self.jobs.record(job).ok_or(Refusal::NoSuchJob(job))?;
        if record.life == JobState::Fetching {
            return Err(Refusal::Impossible(format!("the NZB of job {job} has not come yet")));
        }
        if let Some(file) = files.iter().find(|file| !has_file(record, **file)) {
            return Err(Refusal::NoSuchFile((*file).into()));
        }
        let leaving = self.joinings.leaving(job);
        if files.iter().any(|file| leaving.binary_search(file).is_ok()) {
            return Err(Refusal::Impossible(format!("files of job {job} are being split off")));
        }
        if let FileEdit::Top | FileEdit::Bottom | FileEdit::By(_) | FileEdit::Reorder = what {
            return self.order_files(job, files, what);
        }
        let is_loaded = self.engine.job(job).is_some();
        for &file in files {
            let key = FileKey { job, file };
            let (event, choose): (_, fn(&mut FileChoices, u32)) = match what {
                FileEdit::Pause => (Event::FilePaused(key), FileChoices::pause),
                FileEdit::Resume => (Event::FileResumed(key), FileChoices::resume),
                FileEdit::Delete => (Event::FileDropped(key), FileChoices::drop),
                FileEdit::Bottom | FileEdit::By(_) | FileEdit::Reorder | FileEdit::Top => continue,
            };
            if let Some(record) = self.jobs.record_mut(job) {
                record.choose(|choices| choose(choices, file));
            }
            // One that waits for its turn is read in with what its record says.
            if is_loaded {
                self.tell_engine(event);
            }
        }
        Ok(self.promise(job))
    }

    /// Places are counted among the files that are still to come: people see no others.
    fn order_files(&mut self, job: JobId, files: &[u32], what: FileEdit) -> Edited {
        let record = self.jobs.record(job).ok_or(Refusal::NoSuchJob(job))?;
        let choices = record.file_choices.as_deref().cloned().unwrap_or_default();
        let mut order = FileOrder::new(record.listed_files(), choices.order());
        let known = self.engine.job(job);
        let counts = |file: u32| match known.and_then(|known| known.files().get(file as usize)) {
            Some(known) => is_to_come(known.state()),
            None => is_wanted(record, file),
        };
        match what {
            FileEdit::Bottom => order.move_by(files, i64::MAX, counts),
            FileEdit::By(places) => order.move_by(files, places, counts),
            FileEdit::Reorder => order.put_first(files),
            FileEdit::Top => order.move_by(files, i64::MIN, counts),
            FileEdit::Delete | FileEdit::Pause | FileEdit::Resume => {}
        }
        let order = order.told().to_vec();
        if let Some(record) = self.jobs.record_mut(job) {
            record.choose(|choices| choices.set_order(&order));
        }
        if self.engine.job(job).is_some() {
            self.tell_engine(Event::FilesOrdered { job, order });
        }
        Ok(self.promise(job))
    }
}

/// Whether it has such a file, be it one that nobody wants.
fn has_file(record: &Record, file: u32) -> bool {
    let choices = record.file_choices.as_deref();
    let is_given = |choices: &FileChoices| choices.given_away().binary_search(&file).is_ok();
    file < record.listed_files() && !choices.is_some_and(is_given)
}

/// Whether it has such a file, and somebody wants it.
pub(crate) fn is_wanted(record: &Record, file: u32) -> bool {
    let choices = record.file_choices.as_deref();
    let is_dropped = |choices: &FileChoices| choices.dropped().binary_search(&file).is_ok();
    has_file(record, file) && !choices.is_some_and(is_dropped)
}

fn is_to_come(state: FileState) -> bool {
    matches!(state, FileState::Finishing | FileState::HeldBack | FileState::Wanted)
}

fn set_parameter(record: &mut Record, parameter: &Parameter) {
    if parameter.name == PASSWORD {
        let password = Some(&parameter.value).filter(|value| !value.is_empty());
        record.password = password.map(|value| Secret::new(value.as_str()));
    }
    match parameter.value.is_empty() {
        true => record.parameters.remove(&parameter.name),
        false => record.parameters.set(&parameter.name, &parameter.value),
    }
}
