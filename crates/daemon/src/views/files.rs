//! [`FileViews`]: the files of jobs as clients see them, with the numbers they know them by. Borrows what it
//! needs of the main loop; files of a job that is not loaded are read from its NZB beside the loop.

use std::collections::BTreeSet;

use bergamot_api::Refusal;
use bergamot_api::view::{self, File};
use bergamot_engine::Engine;
use bergamot_jobs::{FileChoices, JobList, Record};
use bergamot_nzb::{Nzb, NzbFile};
use bergamot_queue::{FileOrder, FileState, JobState};
use bergamot_types::JobId;

use crate::views::file_ids::FileIds;

pub(crate) struct FileViews<'a> {
    pub(crate) engine: &'a Engine,
    pub(crate) jobs: &'a JobList,
    pub(crate) ids: &'a mut FileIds,
}

impl FileViews<'_> {
    /// Of all jobs whose articles are read in.
    pub(crate) fn all(&mut self) -> Vec<File> {
        let jobs: Vec<JobId> = self.engine.jobs().map(|job| job.id()).collect();
        jobs.into_iter().flat_map(|job| self.known(job).unwrap_or_default()).collect()
    }

    pub(crate) fn of_job(&mut self, job: JobId) -> Result<Files, Refusal> {
        let record = self.jobs.record(job).ok_or(Refusal::NoSuchJob(job))?;
        let (count, record) = (record.listed_files(), record.clone());
        let is_queued = record.outcome.is_none() && record.life != JobState::Fetching;
        Ok(match self.known(job) {
            Some(files) => Files::Known(files),
            None if is_queued => {
                Files::InSpool { first: self.ids.first(job, count), record: Box::new(record) }
            }
            None => Files::Known(Vec::new()),
        })
    }

    pub(crate) fn jobs_of_files(&self, files: &[u64]) -> Vec<JobId> {
        let job_of = |file: &u64| self.ids.job_of(u32::try_from(*file).ok()?);
        let jobs: BTreeSet<JobId> = files.iter().filter_map(job_of).collect();
        jobs.into_iter().collect()
    }

    fn known(&mut self, job: JobId) -> Option<Vec<File>> {
        let count = self.engine.job(job)?.files().len() as u32;
        let first = self.ids.first(job, count);
        let choices = self.jobs.record(job).and_then(|record| record.file_choices.as_deref());
        let given_away = choices.map_or(&[][..], FileChoices::given_away);
        let known = self.engine.job(job)?;
        let own = known.order().files().iter().filter(|it| given_away.binary_search(it).is_err());
        let view = |&file: &u32| file_view(job, file, first + file, &known.files()[file as usize]);
        Some(own.map(view).collect())
    }
}

/// The files of a job, or where they are to be read.
#[derive(Debug)]
pub(crate) enum Files {
    Known(Vec<File>),
    /// The job waits for its turn; its first file has this number.
    InSpool {
        first: u32,
        record: Box<Record>,
    },
}

/// What the NZB of a job that waits says of its files.
pub(crate) fn listed_files(record: &Record, nzb: &Nzb, first: u32) -> Vec<File> {
    let (job, paused) = (record.id, record.paused);
    let choices = record.file_choices.as_deref().cloned().unwrap_or_default();
    let view = |index: u32, file: &NzbFile| {
        let is_dropped = choices.dropped().binary_search(&index).is_ok();
        let name = file.name().unwrap_or_default().to_owned();
        File {
            id: u64::from(first) + u64::from(index),
            job,
            index,
            subject: name.clone(),
            name,
            name_confirmed: false,
            size: file.bytes(),
            remaining: if is_dropped { 0 } else { file.bytes() },
            paused: paused || choices.paused().binary_search(&index).is_ok(),
            posted: file.date,
            active: 0,
            state: match is_dropped {
                true => view::FileState::Incomplete,
                false => view::FileState::Wanted,
            },
        }
    };
    let order = FileOrder::new(nzb.files.len() as u32, choices.order());
    let is_own = |file: &&u32| choices.given_away().binary_search(file).is_err();
    let own = order.files().iter().filter(is_own);
    own.map(|&file| view(file, &nzb.files[file as usize])).collect()
}

fn file_view(job: JobId, index: u32, id: u32, file: &bergamot_queue::File) -> File {
    let listed = file.listed();
    let inside = file.name_inside();
    let name = bergamot_nzb::better_name(listed.name.as_deref(), inside).unwrap_or_default();
    File {
        id: id.into(),
        job,
        index,
        name: name.to_owned(),
        name_confirmed: inside.is_some(),
        subject: listed.name.clone().unwrap_or_default(),
        size: listed.bytes.iter().map(|bytes| u64::from(*bytes)).sum(),
        remaining: file.bytes_left(),
        paused: file.is_paused(),
        posted: listed.posted,
        active: 0,
        state: match file.state() {
            FileState::HeldBack => view::FileState::HeldBack,
            FileState::Wanted => view::FileState::Wanted,
            FileState::Finishing => view::FileState::Finishing,
            FileState::Whole { .. } => view::FileState::Whole,
            FileState::Holed | FileState::Dropped => view::FileState::Incomplete,
        },
    }
}
