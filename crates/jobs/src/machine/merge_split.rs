//! [`MergeSplit`]: jobs that become part of another, and files that become a job of their own. Pure.
//!
//! The driver reads their NZBs for that, which takes time. Meanwhile nothing is begun of what is going to
//! belong to another job. One record decides each ([`Kin`]): the job that others became is written before
//! anything is taken away from them.

use std::collections::{HashMap, HashSet};

use bergamot_engine::Event as EngineEvent;
use bergamot_nzb::Limits;
use bergamot_queue::{FileKey, FileOrder, JobState, MoreFiles, NewFile, Step};
use bergamot_types::{JobId, Shown};
use tracing::info;

use super::action::Change;
use super::core::{Core, Moment};
use super::timers::Timer;
use crate::edit::{EditRefusal, is_wanted};
use crate::list::queue_order::Target;
use crate::record::file_choices::FileChoices;
use crate::record::fingerprint::Fingerprint;
use crate::record::lineage::{Kin, Origin};
use crate::record::{Dupe, ITEM, Record};

/// Files that are to become a job of their own: the driver adds it to the spool with a part of the
/// parent's NZB, then calls [`end_split`](super::Jobs::end_split).
#[derive(Debug)]
pub struct SplitRequest {
    pub parent: Record,
    /// Rising.
    pub files: Vec<u32>,
    /// Without fingerprint and contents, which are computed from its NZB.
    pub new: Record,
    /// The parent is not in the engine, so its journal says which files are begun; those cannot be split.
    pub check_begun: bool,
}

/// Jobs that are to become part of another: the driver reads their NZBs, then calls
/// [`end_merge`](super::Jobs::end_merge).
#[derive(Debug)]
pub struct MergeRequest {
    pub whole: Record,
    pub donors: Vec<Record>,
}

/// What the NZBs of a [`MergeRequest`] hold.
#[derive(Debug)]
pub struct MergedFiles {
    /// How many files the job has that takes the others in.
    pub listed: u32,
    /// Of each of the others.
    pub files: Vec<Vec<NewFile>>,
}

impl MergedFiles {
    /// A job is not larger than one NZB may be.
    pub fn check_size(files: usize, segments: usize) -> Result<(), EditRefusal> {
        let limits = Limits::default();
        let (most_files, most_segments) = (limits.files, limits.segments);
        match files <= most_files && segments <= most_segments {
            true => Ok(()),
            false => Err(EditRefusal::TooLarge { files, segments, most_files, most_segments }),
        }
    }
}

/// What is under way.
#[derive(Debug, Default)]
pub(super) struct MergeSplit {
    leaving: HashMap<JobId, Vec<u32>>, // files that are to be a job of their own, rising
    merging: HashSet<JobId>,
}

impl MergeSplit {
    /// Files of the job that are not to be begun.
    pub(super) fn leaving(&self, job: JobId) -> &[u32] {
        self.leaving.get(&job).map_or(&[], Vec::as_slice)
    }

    pub(super) fn split<W>(
        &mut self,
        core: &mut Core<W>,
        at: Moment<'_>,
        job: JobId,
        mut files: Vec<u32>,
        name: &str,
    ) -> Result<SplitRequest, EditRefusal> {
        files.sort_unstable();
        files.dedup();
        self.check_joinable(core, job)?;
        let parent = core.list.record(job).ok_or(EditRefusal::NoSuchJob(job))?.clone();
        check_files(&parent, &files)?;
        if name.trim().is_empty() {
            return Err(EditRefusal::NoName);
        }
        let known = at.engine.job(job).map(|known| known.files());
        for file in files.iter().filter_map(|file| known?.get(*file as usize)) {
            if file.is_begun() {
                return Err(EditRefusal::file_begun(job, file.listed().name.as_deref()));
            }
        }
        let (is_loaded, new) = (known.is_some(), offspring(core, at, &parent, &files, name));
        for &file in files.iter().filter(|_| is_loaded) {
            core.tell(EngineEvent::FilePaused(FileKey { job, file }));
        }
        self.leaving.insert(job, files.clone());
        Ok(SplitRequest { parent, files, new, check_begun: !is_loaded })
    }

    /// The new job is in the spool, or could not be made.
    pub(super) fn end_split<W, E>(
        &mut self,
        core: &mut Core<W>,
        at: Moment<'_>,
        job: JobId,
        new: Result<Record, E>,
    ) -> Result<JobId, E> {
        let files = self.leaving.remove(&job).unwrap_or_default();
        match new {
            Ok(new) => Ok(part(core, at, job, &files, new)),
            Err(error) => {
                keep_files(core, at, job, &files);
                Err(error)
            }
        }
    }

    /// Makes all others part of the first, if nothing of them has come yet.
    pub(super) fn merge<W>(
        &mut self,
        core: &mut Core<W>,
        at: Moment<'_>,
        jobs: &[JobId],
    ) -> Result<MergeRequest, EditRefusal> {
        let [into, donors @ ..] = jobs else { return Err(EditRefusal::NoJobs) };
        if donors.is_empty() {
            return Err(EditRefusal::OneJob);
        }
        let mut seen = HashSet::new();
        if let Some(twice) = jobs.iter().find(|job| !seen.insert(**job)) {
            return Err(EditRefusal::BeingJoined(*twice));
        }
        jobs.iter().try_for_each(|job| self.check_joinable(core, *job))?;
        donors.iter().try_for_each(|donor| check_untouched(at, *donor))?;
        let record =
            |job: &JobId| core.list.record(*job).cloned().ok_or(EditRefusal::NoSuchJob(*job));
        let (whole, records) = (record(into)?, donors.iter().map(record));
        let records = records.collect::<Result<Vec<_>, _>>()?;
        donors.iter().for_each(|donor| set_apart(core, *donor));
        self.merging.extend(jobs);
        Ok(MergeRequest { whole, donors: records })
    }

    /// The NZBs of all jobs were read, or could not be.
    pub(super) fn end_merge<W, E: From<EditRefusal>>(
        &mut self,
        core: &mut Core<W>,
        at: Moment<'_>,
        jobs: &[JobId],
        merged: Result<MergedFiles, E>,
    ) -> Result<JobId, E> {
        self.merging.retain(|job| !jobs.contains(job));
        let [into, donors @ ..] = jobs else { return Err(EditRefusal::NoJobs.into()) };
        // What was done to the jobs meanwhile counts.
        let checked = jobs.iter().try_for_each(|job| self.check_joinable(core, *job));
        match checked.map_err(E::from).and(merged) {
            Ok(merged) => {
                take_in(core, at, *into, donors, merged);
                Ok(*into)
            }
            Err(refusal) => {
                donors.iter().for_each(|donor| core.list.end_merging(*donor));
                Err(refusal)
            }
        }
    }

    fn check_joinable<W>(&self, core: &Core<W>, job: JobId) -> Result<(), EditRefusal> {
        let record = core.list.record(job).ok_or(EditRefusal::NoSuchJob(job))?;
        let is_busy = self.leaving.contains_key(&job) || self.merging.contains(&job);
        Err(match record.life {
            _ if record.outcome.is_some() => EditRefusal::Ended(job),
            JobState::Fetching => EditRefusal::NzbNotFetched(job),
            _ if core.is_being_moved(job) => EditRefusal::BeingMoved(job),
            JobState::Post(_) => EditRefusal::BeingProcessed(job),
            _ if is_busy => EditRefusal::BeingJoined(job),
            _ => return Ok(()),
        })
    }
}

/// Right behind its parent, and like it, but for what makes jobs duplicates or belongs to one alone.
fn offspring<W>(
    core: &Core<W>,
    at: Moment<'_>,
    parent: &Record,
    files: &[u32],
    name: &str,
) -> Record {
    let source = format!("job {} {}", parent.id, Shown(name));
    let id = core.spool.next_id();
    let mut new = Record::new(id, name, at.now.date, &source, Fingerprint::default());
    new.category.clone_from(&parent.category);
    new.priority = parent.priority;
    new.rank = core.list.rank_behind(parent.id).unwrap_or(parent.rank);
    new.paused = parent.paused;
    new.password.clone_from(&parent.password);
    new.parameters = parent.parameters.clone();
    new.parameters.remove(ITEM);
    new.dupe = Dupe { mode: parent.dupe.mode, ..Dupe::default() };
    let origin = Some(Origin { job: parent.id, files: files.to_vec() });
    new.kin = Some(Box::new(Kin { origin, ..Kin::default() }));
    let choices = parent.file_choices.as_deref().cloned().unwrap_or_default();
    new.choose(|own| *own = choices_of(&choices, files, parent.listed_files()));
    new
}

/// The new job is in the spool: its files leave the old one, if that is still there.
fn part<W>(core: &mut Core<W>, at: Moment<'_>, job: JobId, files: &[u32], new: Record) -> JobId {
    let id = new.id;
    info!(%job, into = %id, name = %Shown(&new.name), files = files.len(), "split");
    let parent = core.list.record_mut(job);
    let has_no_room = parent.as_ref().is_some_and(|parent| parent.rank == new.rank);
    parent.map(|parent| parent.give_away_to(&new));
    core.spool.stay_below(new.rank);
    let priority = new.priority;
    core.list.insert(Box::new(new));
    if has_no_room {
        let changed = core.list.place(id, priority, Target::After(job));
        core.change(at, |edits| edits.on_placed(&changed));
    }
    core.let_propagate(at.now, id);
    core.changed(Change::Added(id));
    core.write(job);
    if at.engine.job(job).is_some() {
        for &file in files {
            core.tell(EngineEvent::FileDropped(FileKey { job, file }));
        }
    }
    core.changed(Change::Edited(job));
    id
}

/// They stay where they are after all.
fn keep_files<W>(core: &mut Core<W>, at: Moment<'_>, job: JobId, files: &[u32]) {
    if at.engine.job(job).is_none() {
        return;
    }
    let choices = core.list.record(job).and_then(|record| record.file_choices.as_deref());
    let paused = choices.map_or(Vec::new(), |choices| choices.paused().to_vec());
    for &file in files.iter().filter(|file| paused.binary_search(file).is_err()) {
        core.tell(EngineEvent::FileResumed(FileKey { job, file }));
    }
}

/// It is not to be begun; its empty directory goes with its record.
fn set_apart<W>(core: &mut Core<W>, job: JobId) {
    if core.list.active(job).is_some() {
        core.close(job);
        core.list.step(job, Step::PutBack);
        core.tell(EngineEvent::JobRemoved(job));
    }
    core.list.begin_merging(job);
}

fn take_in<W>(
    core: &mut Core<W>,
    at: Moment<'_>,
    into: JobId,
    donors: &[JobId],
    merged: MergedFiles,
) {
    let (mut listed, mut files, mut joined) = (merged.listed, Vec::new(), Vec::new());
    for (donor, mut new) in donors.iter().zip(merged.files) {
        let Some(other) = core.list.record(*donor).cloned() else { continue };
        let count = new.len() as u32;
        if let Some(whole) = core.list.record_mut(into) {
            whole.join(&other, listed, count);
        }
        listed += count;
        files.append(&mut new);
        info!(job = %donor, %into, name = %Shown(&other.name), "joined");
        core.list.forget(*donor);
        core.timers.remove(Timer::Rest(*donor));
        core.close(*donor);
        core.changed(Change::Removed(*donor));
        joined.push(other);
    }
    tell_engine(core, at, into, files);
    core.changed(Change::Edited(into));
    core.write(into);
    donors.iter().for_each(|donor| core.wait_for_whole(*donor, into));
    core.remove_joined(into, joined);
}

/// A job that is active goes on with all of its files.
fn tell_engine<W>(core: &mut Core<W>, at: Moment<'_>, job: JobId, files: Vec<NewFile>) {
    if core.list.active(job).is_none() || at.engine.job(job).is_none() {
        return;
    }
    core.list.add_segments(job, files.iter().map(|file| file.ids.len()).sum());
    let choices = core.list.record(job).and_then(|record| record.file_choices.as_deref());
    let choices = choices.cloned().unwrap_or_default();
    let more = MoreFiles {
        files,
        paused: choices.paused().to_vec(),
        dropped: choices.left_out(),
        order: choices.order().to_vec(),
        wants_extras: core.settings.wants_par2_volumes,
    };
    core.tell(EngineEvent::FilesAdded { job, more });
}

fn check_untouched(at: Moment<'_>, job: JobId) -> Result<(), EditRefusal> {
    let mut files = at.engine.job(job).into_iter().flat_map(|known| known.files());
    match files.find(|file| file.is_begun()) {
        Some(file) => Err(EditRefusal::file_begun(job, file.listed().name.as_deref())),
        None => Ok(()),
    }
}

/// All are there and wanted, and they are not all there is.
fn check_files(parent: &Record, files: &[u32]) -> Result<(), EditRefusal> {
    if let Some(file) = files.iter().find(|file| !is_wanted(parent, **file)) {
        return Err(EditRefusal::NoSuchFile(*file));
    }
    if files.is_empty() {
        return Err(EditRefusal::NoFiles);
    }
    let left_out = parent.file_choices.as_deref().map_or(Vec::new(), FileChoices::left_out);
    match left_out.len() + files.len() < parent.listed_files() as usize {
        true => Ok(()),
        false => Err(EditRefusal::NoOtherFiles(parent.id)),
    }
}

/// What was chosen for these files, by their new positions.
fn choices_of(parent: &FileChoices, files: &[u32], listed: u32) -> FileChoices {
    let place = |file: &u32| files.binary_search(file).ok().map(|place| place as u32);
    let mut choices = FileChoices::default();
    parent.paused().iter().filter_map(place).for_each(|file| choices.pause(file));
    let order = FileOrder::new(listed, parent.order());
    let order: Vec<u32> = order.files().iter().filter_map(place).collect();
    choices.set_order(FileOrder::new(files.len() as u32, &order).told());
    choices
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_chosen_for_files_goes_with_them_to_their_new_positions() {
        let mut parent = FileChoices::default();
        [1, 4].into_iter().for_each(|file| parent.pause(file));
        parent.set_order(&[5, 4]);
        let choices = choices_of(&parent, &[2, 4, 5], 7);
        assert_eq!((choices.paused(), choices.order()), (&[1][..], &[2, 1][..]));
    }

    #[test]
    fn joined_jobs_are_bounded_as_one_nzb_is() {
        let limits = Limits::default();
        assert!(MergedFiles::check_size(limits.files, limits.segments).is_ok());
        assert!(MergedFiles::check_size(limits.files + 1, 1).is_err());
        assert!(MergedFiles::check_size(1, limits.segments + 1).is_err());
    }
}
