//! [`Splitting`] and [`Merging`]: reads the NZBs of jobs that are split or merged, in a thread beside the main
//! loop.

use bergamot_api::Refusal;
use bergamot_jobs::Record;
use bergamot_jobs::edit::EditRefusal;
use bergamot_jobs::engine_job::{contents, new_files};
use bergamot_jobs::machine::MergedFiles;
use bergamot_nzb::Limits;
use bergamot_types::JobId;
use tokio::sync::oneshot;

use crate::control::call::Promise;
use crate::intake::new_job::{NewJobs, explained, explained_unread};
use crate::intake::nzb_to_job::{NzbReadError, fingerprint};

/// The job that others became, and when all of that is on disk.
pub(crate) type Joining = oneshot::Receiver<Joined>;
type Joined = Result<(JobId, Option<Promise>), Refusal>;

/// A new job of files of `job`, unless that was refused.
#[derive(Debug)]
pub(crate) struct Splitting {
    pub(crate) job: JobId,
    pub(crate) new: Result<Record, Refusal>,
    pub(crate) answer: oneshot::Sender<Joined>,
}

/// The files of all jobs that are to be part of the first, unless that was refused.
#[derive(Debug)]
pub(crate) struct Merging {
    pub(crate) jobs: Vec<JobId>,
    pub(crate) merged: Result<MergedFiles, Refusal>,
    pub(crate) answer: oneshot::Sender<Joined>,
}

impl NewJobs {
    /// Puts the new job into the spool.
    pub(crate) fn split(
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

    pub(crate) fn gather(&self, whole: &Record, donors: &[Record]) -> Result<MergedFiles, Refusal> {
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

fn unreadable(error: NzbReadError) -> Refusal {
    Refusal::Unavailable(explained_unread(&error))
}

fn unavailable(error: &bergamot_store::StoreError) -> Refusal {
    Refusal::Unavailable(format!("{}: {error}", error.code()))
}
