//! Edits of the files of one job: pause, resume, drop, order. Pure.

use bergamot_engine::Event;
use bergamot_queue::{FileKey, FileOrder, FileState, JobState};
use bergamot_types::JobId;

use super::{EditRefusal, Edits, FileEdit};
use crate::record::Record;
use crate::record::file_choices::FileChoices;

impl Edits<'_> {
    /// `leaving` are files that are being split off, rising.
    pub fn edit_files(
        &mut self,
        job: JobId,
        files: &[u32],
        what: FileEdit,
        leaving: &[u32],
    ) -> Result<(), EditRefusal> {
        let record = self.jobs.record(job).ok_or(EditRefusal::NoSuchJob(job))?;
        if record.life == JobState::Fetching {
            return Err(EditRefusal::NzbNotFetched(job));
        }
        if let Some(file) = files.iter().find(|file| !has_file(record, **file)) {
            return Err(EditRefusal::NoSuchFile(*file));
        }
        if files.iter().any(|file| leaving.binary_search(file).is_ok()) {
            return Err(EditRefusal::BeingSplit(job));
        }
        match what {
            FileEdit::Top | FileEdit::Bottom | FileEdit::By(_) | FileEdit::Reorder => {
                self.order_files(job, files, what)?;
            }
            FileEdit::Pause | FileEdit::Resume | FileEdit::Delete => {
                files.iter().try_for_each(|file| self.choose_file(job, *file, what))?;
            }
        }
        self.write(job);
        Ok(())
    }

    fn choose_file(&mut self, job: JobId, file: u32, what: FileEdit) -> Result<(), EditRefusal> {
        let key = FileKey { job, file };
        let (event, choose): (_, fn(&mut FileChoices, u32)) = match what {
            FileEdit::Pause => (Event::FilePaused(key), FileChoices::pause),
            FileEdit::Resume => (Event::FileResumed(key), FileChoices::resume),
            FileEdit::Delete => (Event::FileDropped(key), FileChoices::drop),
            FileEdit::Bottom | FileEdit::By(_) | FileEdit::Reorder | FileEdit::Top => return Ok(()),
        };
        self.record_mut(job)?.choose(|choices| choose(choices, file));
        // A job that waits for its turn is loaded with what its record says.
        if self.engine.job(job).is_some() {
            self.effects.engine.push(event);
        }
        Ok(())
    }

    /// Positions are counted among the files that are still to come: views list no others.
    fn order_files(
        &mut self,
        job: JobId,
        files: &[u32],
        what: FileEdit,
    ) -> Result<(), EditRefusal> {
        let record = self.jobs.record(job).ok_or(EditRefusal::NoSuchJob(job))?;
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
        self.record_mut(job)?.choose(|choices| choices.set_order(&order));
        if self.engine.job(job).is_some() {
            self.effects.engine.push(Event::FilesOrdered { job, order });
        }
        Ok(())
    }
}

/// Whether the job has such a file, also one that is not wanted.
fn has_file(record: &Record, file: u32) -> bool {
    let choices = record.file_choices.as_deref();
    let is_given = |choices: &FileChoices| choices.given_away().binary_search(&file).is_ok();
    file < record.listed_files() && !choices.is_some_and(is_given)
}

/// Whether the job has such a file, and it is wanted.
pub fn is_wanted(record: &Record, file: u32) -> bool {
    let choices = record.file_choices.as_deref();
    let is_dropped = |choices: &FileChoices| choices.dropped().binary_search(&file).is_ok();
    has_file(record, file) && !choices.is_some_and(is_dropped)
}

fn is_to_come(state: FileState) -> bool {
    matches!(state, FileState::Finishing | FileState::HeldBack | FileState::Wanted)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{engine, list};
    use super::*;

    const ONE: JobId = JobId(1);

    #[test]
    fn files_are_paused_dropped_and_put_in_order_on_the_record() {
        let (mut jobs, engine) = (list(1), engine());
        jobs.record_mut(ONE).unwrap().contents.files = 4;
        let mut edits = Edits::new(&mut jobs, &engine);
        edits.edit_files(ONE, &[1, 2], FileEdit::Pause, &[]).unwrap();
        edits.edit_files(ONE, &[2], FileEdit::Resume, &[]).unwrap();
        edits.edit_files(ONE, &[3], FileEdit::Delete, &[]).unwrap();
        edits.edit_files(ONE, &[2], FileEdit::Top, &[]).unwrap();
        let refused = edits.edit_files(ONE, &[4], FileEdit::Pause, &[]);
        assert_eq!(refused, Err(EditRefusal::NoSuchFile(4)));
        let refused = edits.edit_files(ONE, &[1], FileEdit::Pause, &[0, 1]);
        assert_eq!(refused, Err(EditRefusal::BeingSplit(ONE)));
        let effects = edits.into_effects();
        assert_eq!((effects.engine.len(), effects.write), (0, vec![ONE]), "it is not loaded");
        let record = jobs.record(ONE).unwrap();
        let choices = record.file_choices.as_deref().unwrap();
        assert_eq!((choices.paused(), choices.dropped()), (&[1][..], &[3][..]));
        assert_eq!(choices.order().first(), Some(&2));
        assert!(is_wanted(record, 0) && !is_wanted(record, 3) && !is_wanted(record, 9));
    }
}
