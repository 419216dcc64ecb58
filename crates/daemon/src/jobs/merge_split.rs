//! Reads the NZBs of jobs that are merged or split, beside the main loop, and hands the result to
//! [`Jobs`](bergamot_jobs::Jobs).

use bergamot_api::Refusal;
use bergamot_jobs::Record;
use bergamot_jobs::edit::EditRefusal;
use bergamot_jobs::engine_job::{contents, new_files};
use bergamot_jobs::machine::{MergeRequest, MergedFiles, SplitRequest};
use bergamot_nzb::Limits;
use bergamot_types::JobId;
use tokio::sync::oneshot;

use crate::clock;
use crate::control::call::Promise;
use crate::event::Happening;
use crate::intake::new_job::{Reception, explained, explained_unread};
use crate::intake::nzb_to_job::{Unread, fingerprint};
use crate::run::Daemon;
use crate::service_thread::vital_blocking;

/// The job that others became, and when all of that is on disk.
pub(crate) type Joining = oneshot::Receiver<Joined>;
type Joined = Result<(JobId, Option<Promise>), Refusal>;

/// A new job of files of `job`, unless that was refused.
#[derive(Debug)]
pub(crate) struct Splitting {
    job: JobId,
    new: Result<Record, Refusal>,
    answer: oneshot::Sender<Joined>,
}

/// The files of all jobs that are to be part of the first, unless that was refused.
#[derive(Debug)]
pub(crate) struct Merging {
    jobs: Vec<JobId>,
    merged: Result<MergedFiles, Refusal>,
    answer: oneshot::Sender<Joined>,
}

impl Daemon {
    /// Makes a job of its own of files of which nothing has come yet.
    pub(crate) fn split(
        &mut self,
        job: JobId,
        files: Vec<u32>,
        name: &str,
    ) -> Result<Joining, Refusal> {
        let request = self.jobs.split(clock::now(), &self.engine, job, files, name)?;
        let SplitRequest { parent, files, new, check_begun } = request;
        let (answer, joining) = oneshot::channel();
        let (reception, outbox) = (self.reception.clone(), self.outbox.clone());
        vital_blocking("splitter", &self.outbox, move || {
            let new = reception.split(&parent, &files, new, check_begun);
            outbox.tell(Happening::Split(Box::new(Splitting { job, new, answer })));
        });
        self.run();
        Ok(joining)
    }

    pub(crate) fn on_split(&mut self, splitting: Splitting) {
        let Splitting { job, new, answer } = splitting;
        let ended = self.jobs.end_split(clock::now(), &self.engine, job, new);
        let joined = ended.map(|new| (new, self.written_promise(job)));
        let _ = answer.send(joined); // the caller may be gone
        self.run();
    }

    /// Makes all others part of the first, if nothing of them has come yet.
    pub(crate) fn merge(&mut self, jobs: Vec<JobId>) -> Result<Joining, Refusal> {
        let MergeRequest { whole, donors } = self.jobs.merge(clock::now(), &self.engine, &jobs)?;
        let (answer, joining) = oneshot::channel();
        let (reception, outbox) = (self.reception.clone(), self.outbox.clone());
        vital_blocking("merger", &self.outbox, move || {
            let merged = reception.gather(&whole, &donors);
            outbox.tell(Happening::Merged(Box::new(Merging { jobs, merged, answer })));
        });
        self.run();
        Ok(joining)
    }

    pub(crate) fn on_merged(&mut self, merging: Merging) {
        let Merging { jobs, merged, answer } = merging;
        let ended = self.jobs.end_merge(clock::now(), &self.engine, &jobs, merged);
        let joined = ended.map(|into| {
            self.observers.file_ids.forget(into);
            (into, self.written_promise(into))
        });
        let _ = answer.send(joined); // the caller may be gone
        self.run();
    }
}

impl Reception {
    /// Puts the new job into the spool.
    fn split(
        &self,
        parent: &Record,
        files: &[u32],
        mut new: Record,
        check_begun: bool,
    ) -> Result<Record, Refusal> {
        let nzb = self.nzb(parent).map_err(unreadable)?;
        if check_begun {
            let told = self.spool.begun_files(parent).map_err(|error| unavailable(&error))?;
            if let Some(file) = files.iter().find(|file| told.contains(file)) {
                let name = nzb.files.get(*file as usize).and_then(|file| file.name());
                return Err(EditRefusal::file_begun(parent.id, name).into());
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

    fn gather(&self, whole: &Record, donors: &[Record]) -> Result<MergedFiles, Refusal> {
        let nzb = self.nzb(whole).map_err(unreadable)?;
        let (mut files, mut segments) = (nzb.files.len(), nzb.segments());
        drop(nzb);
        let mut gathered = MergedFiles { listed: files as u32, files: Vec::new() };
        for donor in donors {
            let told = self.spool.begun_files(donor).map_err(|error| unavailable(&error))?;
            let nzb = self.nzb(donor).map_err(unreadable)?;
            if let Some(file) = told.first() {
                let name = nzb.files.get(*file as usize).and_then(|file| file.name());
                return Err(EditRefusal::file_begun(donor.id, name).into());
            }
            files += nzb.files.len();
            segments += nzb.segments();
            MergedFiles::check_size(files, segments)?;
            gathered.files.push(new_files(nzb));
        }
        Ok(gathered)
    }
}

fn unreadable(error: Unread) -> Refusal {
    Refusal::Unavailable(explained_unread(&error))
}

fn unavailable(error: &bergamot_store::StoreError) -> Refusal {
    Refusal::Unavailable(format!("{}: {error}", error.code()))
}
