//! Jobs that are joined and split.
//!
//! Their NZBs have to be read for that, beside the loop. Meanwhile nothing is begun of what is going to
//! belong to another job. One record decides each ([`bergamot_jobs::Kin`]): the job that others became
//! is written before anything is taken away from them.

use std::collections::{HashMap, HashSet};

use bergamot_api::Refusal;
use bergamot_engine::Event as EngineEvent;
use bergamot_jobs::{Dupe, FileChoices, Fingerprint, Kin, Origin, Record};
use bergamot_nzb::Limits;
use bergamot_queue::{FileKey, FileOrder, JobState, MoreFiles, NewFile, Step};
use bergamot_types::{JobId, Shown};
use tokio::sync::oneshot;
use tracing::info;

use crate::clock;
use crate::control::call::Promise;
use crate::event::Event;
use crate::feeds::poll::ITEM;
use crate::intake::new_job::{NewJobs, explained};
use crate::intake::nzb_to_job::{contents, fingerprint, new_files};
use crate::run::Daemon;
use crate::service_thread::service_blocking;
use bergamot_jobs::edit::is_wanted;
use bergamot_jobs::queue_order::Target;

/// The job that others became, and when all of that is on disk.
pub(crate) type Joining = oneshot::Receiver<Joined>;
type Joined = Result<(JobId, Option<Promise>), Refusal>;

/// What is under way.
#[derive(Debug, Default)]
pub(crate) struct Joinings {
    leaving: HashMap<JobId, Vec<u32>>, // files that are to be a job of their own, rising
    merging: HashSet<JobId>,
    /// What is left of jobs that are part of others, until the disk has it that they are.
    left: Vec<Record>,
}

impl Joinings {
    /// Files of the job that are not to be begun.
    pub(crate) fn leaving(&self, job: JobId) -> &[u32] {
        self.leaving.get(&job).map_or(&[], Vec::as_slice)
    }
}

/// Files of a job that are one of their own now, unless that was refused.
#[derive(Debug)]
pub(crate) struct Splitting {
    job: JobId,
    files: Vec<u32>,
    new: Result<Record, Refusal>,
    answer: oneshot::Sender<Joined>,
}

/// The files of all jobs that are to be part of another, unless that was refused.
#[derive(Debug)]
pub(crate) struct Merging {
    into: JobId,
    donors: Vec<JobId>,
    gathered: Result<Gathered, Refusal>,
    answer: oneshot::Sender<Joined>,
}

#[derive(Debug)]
struct Gathered {
    /// How many files the job has that takes the others in.
    listed: u32,
    /// Of each of the others.
    files: Vec<Vec<NewFile>>,
}

impl Daemon {
    /// Makes a job of its own of files of which nothing has come yet.
    pub(crate) fn split(
        &mut self,
        job: JobId,
        mut files: Vec<u32>,
        name: String,
    ) -> Result<Joining, Refusal> {
        files.sort_unstable();
        files.dedup();
        self.check_joinable(job)?;
        let parent = self.jobs.record(job).ok_or(Refusal::NoSuchJob(job))?.clone();
        check_files(&parent, &files)?;
        if name.trim().is_empty() {
            return Err(Refusal::Invalid("a job needs a name".to_owned()));
        }
        let known = self.engine.job(job).map(|known| known.files());
        for file in files.iter().filter_map(|file| known?.get(*file as usize)) {
            if file.is_begun() {
                return Err(begun(job, file.listed().name.as_deref()));
            }
        }
        let (is_loaded, new) = (known.is_some(), self.offspring(&parent, &files, &name));
        for &file in files.iter().filter(|_| is_loaded) {
            self.notify_engine(EngineEvent::FilePaused(FileKey { job, file }));
        }
        self.joinings.leaving.insert(job, files.clone());
        let (answer, joining) = oneshot::channel();
        let (new_jobs, events) = (self.new_jobs.clone(), self.events.clone());
        service_blocking("splitter", &self.events, move || {
            let new = new_jobs.split(&parent, &files, new, is_loaded);
            events.send(Event::Split(Box::new(Splitting { job, files, new, answer })));
        });
        Ok(joining)
    }

    /// Right behind its parent, and like it, but for what makes jobs rivals or belongs to one alone.
    fn offspring(&self, parent: &Record, files: &[u32], name: &str) -> Record {
        let source = format!("job {} {}", parent.id, Shown(name));
        let (id, now) = (self.state.spool.next_id(), clock::now().date);
        let mut new = Record::new(id, name, now, &source, Fingerprint::default());
        new.category.clone_from(&parent.category);
        new.priority = parent.priority;
        new.rank = self.jobs.rank_behind(parent.id).unwrap_or(parent.rank);
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

    pub(crate) fn on_split(&mut self, splitting: Splitting) {
        let Splitting { job, files, new, answer } = splitting;
        self.joinings.leaving.remove(&job);
        let joined = match new {
            Ok(new) => Ok((new.id, self.part(job, &files, new))),
            Err(refusal) => {
                self.keep_files(job, &files);
                Err(refusal)
            }
        };
        // Whoever asked may have left meanwhile.
        let _ = answer.send(joined);
        self.load_next();
    }

    /// The new job is in the spool: its files leave the old one, if that is still there.
    fn part(&mut self, job: JobId, files: &[u32], new: Record) -> Option<Promise> {
        let id = new.id;
        info!(%job, into = %id, name = %Shown(&new.name), files = files.len(), "split");
        let parent = self.jobs.record_mut(job);
        let has_no_room = parent.as_ref().is_some_and(|parent| parent.rank == new.rank);
        parent.map(|parent| parent.give_away_to(&new));
        self.new_jobs.stay_below(new.rank);
        let priority = new.priority;
        self.jobs.insert(Box::new(new));
        if has_no_room {
            let changed = self.jobs.place(id, priority, Target::After(job));
            self.change(|edits| edits.on_placed(&changed));
        }
        self.let_propagate(id);
        self.publish_added(id);
        let promise = self.promise(job);
        if self.engine.job(job).is_some() {
            for &file in files {
                self.notify_engine(EngineEvent::FileDropped(FileKey { job, file }));
            }
        }
        self.publish_changed(job);
        promise
    }

    /// They stay where they are after all.
    fn keep_files(&mut self, job: JobId, files: &[u32]) {
        let choices = self.jobs.record(job).and_then(|record| record.file_choices.as_deref());
        let paused = choices.map_or(Vec::new(), |choices| choices.paused().to_vec());
        for &file in files.iter().filter(|file| paused.binary_search(file).is_err()) {
            self.notify_engine(EngineEvent::FileResumed(FileKey { job, file }));
        }
    }

    /// Makes all others part of the first, if nothing of them has come yet.
    pub(crate) fn merge(&mut self, jobs: &[JobId]) -> Result<Joining, Refusal> {
        let [into, donors @ ..] = jobs else {
            return Err(Refusal::Invalid("no jobs are given".to_owned()));
        };
        if donors.is_empty() {
            return Err(Refusal::Invalid("two jobs are needed, or more".to_owned()));
        }
        jobs.iter().try_for_each(|job| self.check_joinable(*job))?;
        donors.iter().try_for_each(|donor| self.check_untouched(*donor))?;
        let record = |job: &JobId| self.jobs.record(*job).cloned().ok_or(Refusal::NoSuchJob(*job));
        let (whole, records) = (record(into)?, donors.iter().map(record));
        let records = records.collect::<Result<Vec<_>, _>>()?;
        donors.iter().for_each(|donor| self.set_apart(*donor));
        self.joinings.merging.extend(jobs);
        let (into, donors) = (*into, donors.to_vec());
        let (answer, joining) = oneshot::channel();
        let (new_jobs, events) = (self.new_jobs.clone(), self.events.clone());
        service_blocking("merger", &self.events, move || {
            let gathered = new_jobs.gather(&whole, &records);
            events.send(Event::Merged(Box::new(Merging { into, donors, gathered, answer })));
        });
        Ok(joining)
    }

    /// It is not to be begun; its empty directory goes with what is left of it.
    fn set_apart(&mut self, job: JobId) {
        if self.jobs.active(job).is_some() {
            self.put_away(job);
            self.jobs.step(job, Step::PutBack);
            self.notify_engine(EngineEvent::JobRemoved(job));
        }
        self.disk.close(job);
        self.jobs.begin_merging(job);
    }

    pub(crate) fn on_merged(&mut self, merging: Merging) {
        let Merging { into, donors, gathered, answer } = merging;
        let all = || std::iter::once(into).chain(donors.iter().copied());
        for job in all() {
            self.joinings.merging.remove(&job);
        }
        // What people did meanwhile counts.
        let checked = all().try_for_each(|job| self.check_joinable(job));
        let joined = match checked.and(gathered) {
            Ok(gathered) => Ok((into, self.take_all_in(into, &donors, gathered))),
            Err(refusal) => {
                donors.iter().for_each(|donor| self.jobs.end_merging(*donor));
                Err(refusal)
            }
        };
        // Whoever asked may have left meanwhile.
        let _ = answer.send(joined);
        self.load_next();
    }

    fn take_all_in(
        &mut self,
        into: JobId,
        donors: &[JobId],
        gathered: Gathered,
    ) -> Option<Promise> {
        let mut listed = gathered.listed;
        let mut files = Vec::new();
        for (donor, mut new) in donors.iter().zip(gathered.files) {
            let Some(other) = self.jobs.record(*donor).cloned() else { continue };
            let count = new.len() as u32;
            self.jobs.record_mut(into)?.join(&other, listed, count);
            listed += count;
            files.append(&mut new);
            info!(job = %donor, %into, name = %Shown(&other.name), "joined");
            self.take_away(other);
        }
        self.observers.file_ids().forget(into);
        self.show_engine(into, files);
        self.publish_changed(into);
        self.promise(into)
    }

    /// It is none of its own any more. Its record stays until that of the other is on disk.
    fn take_away(&mut self, record: Record) {
        let job = record.id;
        self.jobs.forget(job);
        self.disk.close(job);
        self.pending_writes.forget(job);
        self.put_away(job);
        self.publish_removed(job);
        self.joinings.left.push(record);
    }

    /// A job that is under way goes on with all of its files.
    fn show_engine(&mut self, job: JobId, files: Vec<NewFile>) {
        if self.jobs.active(job).is_none() {
            return;
        }
        self.jobs.add_segments(job, files.iter().map(|file| file.ids.len()).sum());
        let choices = self.jobs.record(job).and_then(|record| record.file_choices.as_deref());
        let choices = choices.cloned().unwrap_or_default();
        let more = MoreFiles {
            files,
            paused: choices.paused().to_vec(),
            dropped: choices.left_out(),
            order: choices.order().to_vec(),
            wants_extras: self.settings.jobs().wants_par2_volumes,
        };
        self.notify_engine(EngineEvent::FilesAdded { job, more });
    }

    /// Removes what is left of jobs that the disk knows as part of others.
    pub(crate) fn clear_behind_joined(&mut self) {
        let spool = &self.state.spool;
        let known = self.joinings.left.extract_if(.., |record| spool.is_part(record.id));
        let known: Vec<_> = known.collect();
        if !known.is_empty() {
            self.state.record_thread.remove_all(known);
        }
    }

    fn check_joinable(&self, job: JobId) -> Result<(), Refusal> {
        let record = self.jobs.record(job).ok_or(Refusal::NoSuchJob(job))?;
        let is_busy = self.joinings.leaving.contains_key(&job);
        let why = match record.life {
            _ if record.outcome.is_some() => format!("job {job} has ended"),
            JobState::Fetching => format!("the NZB of job {job} has not come yet"),
            _ if self.is_being_moved(job) => format!("job {job} is being moved"),
            JobState::Post(_) => format!("job {job} is being processed"),
            _ if is_busy || self.joinings.merging.contains(&job) => {
                format!("job {job} is being joined or split")
            }
            _ => return Ok(()),
        };
        Err(Refusal::Impossible(why))
    }

    fn check_untouched(&self, job: JobId) -> Result<(), Refusal> {
        let mut files = self.engine.job(job).into_iter().flat_map(|known| known.files());
        match files.find(|file| file.is_begun()) {
            Some(file) => Err(begun(job, file.listed().name.as_deref())),
            None => Ok(()),
        }
    }
}

impl NewJobs {
    /// Puts the new job into the spool. Of one that is loaded the engine knows what is begun.
    fn split(
        &self,
        parent: &Record,
        files: &[u32],
        mut new: Record,
        is_loaded: bool,
    ) -> Result<Record, Refusal> {
        let nzb = self.nzb(parent).map_err(Refusal::Unavailable)?;
        if !is_loaded {
            let told = self.spool.begun_files(parent).map_err(|error| unavailable(&error))?;
            if let Some(file) = files.iter().find(|file| told.contains(file)) {
                let name = nzb.files.get(*file as usize).and_then(|file| file.name());
                return Err(begun(parent.id, name));
            }
        }
        let chosen = files.iter().filter_map(|file| nzb.files.get(*file as usize));
        let text = bergamot_nzb::rewrite(&new.name, chosen);
        let read = bergamot_nzb::read(text.as_bytes(), &Limits::default());
        let read = read.map_err(|error| Refusal::Invalid(explained(&error)))?;
        (new.fingerprint, new.contents) = (fingerprint(&read), contents(&read));
        self.spool(&new, &mut text.as_bytes()).map_err(|error| unavailable(&error))?;
        Ok(new)
    }

    fn gather(&self, whole: &Record, donors: &[Record]) -> Result<Gathered, Refusal> {
        let nzb = self.nzb(whole).map_err(Refusal::Unavailable)?;
        let (mut files, mut segments) = (nzb.files.len(), nzb.segments());
        drop(nzb);
        let mut gathered = Gathered { listed: files as u32, files: Vec::new() };
        for donor in donors {
            let told = self.spool.begun_files(donor).map_err(|error| unavailable(&error))?;
            let nzb = self.nzb(donor).map_err(Refusal::Unavailable)?;
            if let Some(file) = told.first() {
                let name = nzb.files.get(*file as usize).and_then(|file| file.name());
                return Err(begun(donor.id, name));
            }
            files += nzb.files.len();
            segments += nzb.segments();
            check_bounds(files, segments)?;
            gathered.files.push(new_files(nzb));
        }
        Ok(gathered)
    }
}

/// One job holds no more than one NZB may.
fn check_bounds(files: usize, segments: usize) -> Result<(), Refusal> {
    let limits = Limits::default();
    if files <= limits.files && segments <= limits.segments {
        return Ok(());
    }
    Err(Refusal::Impossible(format!(
        "a job has at most {} files and {} articles, together they have {files} and {segments}",
        limits.files, limits.segments
    )))
}

/// All are there and wanted, and they are not all there is.
fn check_files(parent: &Record, files: &[u32]) -> Result<(), Refusal> {
    if let Some(file) = files.iter().find(|file| !is_wanted(parent, **file)) {
        return Err(Refusal::NoSuchFile((*file).into()));
    }
    if files.is_empty() {
        return Err(Refusal::Invalid("no files are given".to_owned()));
    }
    let left_out = parent.file_choices.as_deref().map_or(Vec::new(), FileChoices::left_out);
    match left_out.len() + files.len() < parent.listed_files() as usize {
        true => Ok(()),
        false => Err(Refusal::Impossible(format!("job {} has no other files", parent.id))),
    }
}

/// What was said of these files, by their new places.
fn choices_of(parent: &FileChoices, files: &[u32], listed: u32) -> FileChoices {
    let place = |file: &u32| files.binary_search(file).ok().map(|place| place as u32);
    let mut choices = FileChoices::default();
    parent.paused().iter().filter_map(place).for_each(|file| choices.pause(file));
    let order = FileOrder::new(listed, parent.order());
    let order: Vec<u32> = order.files().iter().filter_map(place).collect();
    choices.set_order(FileOrder::new(files.len() as u32, &order).told());
    choices
}

fn begun(job: JobId, name: Option<&str>) -> Refusal {
    let name = Shown(name.unwrap_or("a file")).to_string();
    Refusal::Impossible(format!("{name} of job {job} is already downloaded, or a part of it"))
}

fn unavailable(error: &bergamot_store::StoreError) -> Refusal {
    Refusal::Unavailable(format!("{}: {error}", error.code()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_said_of_files_goes_with_them_to_their_new_places() {
        let mut parent = FileChoices::default();
        [1, 4].into_iter().for_each(|file| parent.pause(file));
        parent.set_order(&[5, 4]);
        let choices = choices_of(&parent, &[2, 4, 5], 7);
        assert_eq!((choices.paused(), choices.order()), (&[1][..], &[2, 1][..]));
    }

    #[test]
    fn joined_jobs_are_bounded_as_one_nzb_is() {
        let limits = Limits::default();
        assert!(check_bounds(limits.files, limits.segments).is_ok());
        assert!(check_bounds(limits.files + 1, 1).is_err());
        assert!(check_bounds(1, limits.segments + 1).is_err());
    }
}
