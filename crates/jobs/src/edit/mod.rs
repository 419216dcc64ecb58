//! [`Edits`]: what a user may do to jobs of the queue and the history, as changes of the [`JobList`] and
//! what follows from them. Pure.
//!
//! - `request`: what may be asked; `refusal`: why it was not done
//! - `order`: moving and sorting; `files`: the files of one job

mod files;
mod order;
mod refusal;
mod request;

use bergamot_engine::{Engine, Event, FORCE_PRIORITY};
use bergamot_queue::{Deletion, Ending};
use bergamot_types::{JobId, Secret};

use crate::list::job_list::JobList;
use crate::list::queue_order::Target;
use crate::record::{PASSWORD, Record};

pub use files::is_wanted;
pub use refusal::EditRefusal;
pub use request::{Delete, Edit, FileEdit, HistoryEdit, Place, SortKey};

/// What follows from a change that was made, in this order.
#[derive(Debug, Default)]
pub struct Effects {
    /// What the engine has to hear of it.
    pub engine: Vec<Event>,
    /// Jobs whose records have to be written.
    pub write: Vec<JobId>,
}

/// Edits the jobs of a list. `engine` says what of them has come already.
#[derive(Debug)]
pub struct Edits<'a> {
    jobs: &'a mut JobList,
    engine: &'a Engine,
    effects: Effects,
}

impl<'a> Edits<'a> {
    pub fn new(jobs: &'a mut JobList, engine: &'a Engine) -> Self {
        Self { jobs, engine, effects: Effects::default() }
    }

    /// What has to be done behind all edits so far.
    pub fn into_effects(self) -> Effects {
        self.effects
    }

    fn record_mut(&mut self, job: JobId) -> Result<&mut Record, EditRefusal> {
        self.jobs.record_mut(job).ok_or(EditRefusal::NoSuchJob(job))
    }

    fn write(&mut self, job: JobId) {
        if !self.effects.write.contains(&job) {
            self.effects.write.push(job);
        }
    }

    pub fn pause(&mut self, job: JobId, paused: bool) -> Result<(), EditRefusal> {
        self.record_mut(job)?;
        self.jobs.set_paused(job, paused);
        if self.jobs.active(job).is_some() {
            let event = if paused { Event::JobPaused(job) } else { Event::JobResumed(job) };
            self.effects.engine.push(event);
        }
        self.write(job);
        Ok(())
    }

    /// A priority that a user sets counts before the one that comes with the NZB. A forced job does not
    /// rest.
    pub fn set_priority(&mut self, job: JobId, priority: i32) -> Result<(), EditRefusal> {
        self.record_mut(job)?.priority_is_open = false;
        let changed = self.jobs.place(job, priority, Target::Here);
        if priority >= FORCE_PRIORITY {
            self.jobs.end_rest(job);
        }
        self.on_placed(&changed);
        self.write(job);
        Ok(())
    }

    pub fn set_name(&mut self, job: JobId, name: &str) -> Result<(), EditRefusal> {
        if name.trim().is_empty() {
            return Err(EditRefusal::NoName);
        }
        self.record_mut(job)?.name = name.into();
        self.write(job);
        Ok(())
    }

    /// None, or blank, is no category.
    pub fn set_category(&mut self, job: JobId, category: Option<&str>) -> Result<(), EditRefusal> {
        let category = category.filter(|name| !name.trim().is_empty());
        self.record_mut(job)?.category = category.map(Into::into);
        self.write(job);
        Ok(())
    }

    /// An empty value removes it.
    pub fn set_parameter(
        &mut self,
        job: JobId,
        name: &str,
        value: &str,
    ) -> Result<(), EditRefusal> {
        let record = self.record_mut(job)?;
        if name == PASSWORD {
            record.password = Some(value).filter(|value| !value.is_empty()).map(Secret::new);
        }
        match value.is_empty() {
            true => record.parameters.remove(name),
            false => record.parameters.set(name, value),
        }
        self.write(job);
        Ok(())
    }

    /// Dupe key, score and mode.
    pub fn set_dupe(&mut self, job: JobId, edit: &Edit) -> Result<(), EditRefusal> {
        let dupe = &mut self.record_mut(job)?.dupe;
        match edit {
            Edit::SetDupeKey(key) => dupe.key = key.as_str().into(),
            Edit::SetDupeScore(score) => dupe.score = *score,
            Edit::SetDupeMode(mode) => dupe.mode = *mode,
            _ => return Ok(()),
        }
        self.write(job);
        Ok(())
    }

    /// Marks of a job in the history.
    pub fn edit_history(&mut self, job: JobId, edit: &HistoryEdit) -> Result<(), EditRefusal> {
        let record = self.record_mut(job)?;
        let lacks_nzb = record.lacks_nzb();
        let outcome = record.outcome.as_mut().ok_or(EditRefusal::NotEnded(job))?;
        match edit {
            HistoryEdit::Backup(backup) => match outcome.ending {
                Ending::Deleted(Deletion::ByPerson | Deletion::Duplicate) if !lacks_nzb => {
                    let deletion = if *backup { Deletion::Duplicate } else { Deletion::ByPerson };
                    outcome.ending = Ending::Deleted(deletion);
                }
                _ => return Err(EditRefusal::NoBackup(job)),
            },
            HistoryEdit::Hide => outcome.hidden = true,
            HistoryEdit::Mark(mark) => outcome.mark = *mark,
            HistoryEdit::Process => return Err(EditRefusal::Unsupported("post-processing")),
            // Those end or begin a job; the caller does that.
            HistoryEdit::Delete | HistoryEdit::Redownload | HistoryEdit::Retry => return Ok(()),
        }
        self.write(job);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use bergamot_engine::Settings;
    use bergamot_types::UnixTime;

    use super::*;
    use crate::list::job_list::Active;
    use crate::record::outcome::{Mark, Outcome};
    use crate::{Fingerprint, Rest};

    const ONE: JobId = JobId(1);

    pub(super) fn engine() -> Engine {
        Engine::new(Instant::now(), Settings::default())
    }

    pub(super) fn list(count: u32) -> JobList {
        let mut jobs = JobList::default();
        for id in 1..=count {
            let name = format!("job {id}");
            let record = Record::new(JobId(id), &name, UnixTime(0), "", Fingerprint::default());
            jobs.insert(Box::new(record));
        }
        jobs
    }

    #[test]
    fn the_engine_hears_of_a_pause_only_of_an_active_job() {
        let (mut jobs, engine) = (list(1), engine());
        let mut edits = Edits::new(&mut jobs, &engine);
        edits.pause(ONE, true).unwrap();
        let effects = edits.into_effects();
        assert_eq!((effects.engine.len(), effects.write), (0, vec![ONE]));
        assert!(jobs.loadable().next().is_none());
        jobs.start(ONE, Active { started: Instant::now(), segments: 1 });
        let mut edits = Edits::new(&mut jobs, &engine);
        edits.pause(ONE, false).unwrap();
        assert!(matches!(edits.into_effects().engine[..], [Event::JobResumed(ONE)]));
    }

    #[test]
    fn a_forced_job_does_not_rest_and_goes_first() {
        let (mut jobs, engine) = (list(3), engine());
        jobs.rest(JobId(3), Rest { until: Instant::now(), failure: None });
        let mut edits = Edits::new(&mut jobs, &engine);
        edits.set_priority(JobId(3), FORCE_PRIORITY).unwrap();
        assert_eq!(edits.into_effects().write, [JobId(3)]);
        assert_eq!(jobs.loadable().next().map(|record| record.id), Some(JobId(3)));
        jobs.check();
    }

    #[test]
    fn a_job_is_described_anew() {
        let (mut jobs, engine) = (list(1), engine());
        let mut edits = Edits::new(&mut jobs, &engine);
        assert_eq!(edits.set_name(ONE, " "), Err(EditRefusal::NoName));
        assert_eq!(edits.set_name(JobId(9), "a"), Err(EditRefusal::NoSuchJob(JobId(9))));
        edits.set_name(ONE, "new").unwrap();
        edits.set_category(ONE, Some("tv")).unwrap();
        edits.set_parameter(ONE, PASSWORD, "hunter2").unwrap();
        edits.set_dupe(ONE, &Edit::SetDupeScore(5)).unwrap();
        assert_eq!(edits.into_effects().write, [ONE], "once for all");
        let record = jobs.record(ONE).unwrap();
        assert_eq!((&*record.name, record.category.as_deref()), ("new", Some("tv")));
        assert_eq!(record.password.as_ref().map(Secret::reveal), Some("hunter2"));
        let mut edits = Edits::new(&mut jobs, &engine);
        edits.set_parameter(ONE, PASSWORD, "").unwrap();
        edits.set_category(ONE, Some(" ")).unwrap();
        let record = jobs.record(ONE).unwrap();
        assert_eq!((record.password.is_none(), &record.category), (true, &None));
    }

    #[test]
    fn only_a_deleted_job_is_a_backup() {
        let (mut jobs, engine) = (list(1), engine());
        let mark = HistoryEdit::Mark(Mark::Bad);
        let edited = Edits::new(&mut jobs, &engine).edit_history(ONE, &mark);
        assert_eq!(edited, Err(EditRefusal::NotEnded(ONE)));
        for (ending, is_backup) in [
            (Ending::Deleted(Deletion::ByPerson), true),
            (Ending::Completed { verified: true }, false),
        ] {
            let mut record = jobs.record(ONE).unwrap().clone();
            record.end(Outcome::new(ending, UnixTime(0), ""));
            let mut jobs = JobList::default();
            jobs.insert(Box::new(record));
            let mut edits = Edits::new(&mut jobs, &engine);
            edits.edit_history(ONE, &mark).unwrap();
            assert_eq!(edits.edit_history(ONE, &HistoryEdit::Backup(true)).is_ok(), is_backup);
        }
    }
}
