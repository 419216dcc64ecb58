//! [`Remaining`]: what is still to be downloaded of a job. Pure.

use bergamot_queue::{File, FileState, Job};

use crate::record::Record;

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Remaining {
    pub bytes: u64,
    /// Of those, what is paused or held back.
    pub paused: u64,
    pub files: u32,
    pub par2_files: u32,
}

impl Remaining {
    /// `job` is what the engine has of it; until then the NZB's own figures count.
    pub fn of(record: &Record, job: Option<&Job>) -> Self {
        if record.outcome.is_some() {
            return Self::default();
        }
        let contents = &record.contents;
        let (files, par2_files) = (contents.files, contents.par2_files);
        let listed = Self { bytes: contents.bytes.0, paused: 0, files, par2_files };
        let mut left = job.map_or(listed, Self::in_engine);
        if record.paused {
            left.paused = left.bytes;
        }
        left
    }

    fn in_engine(job: &Job) -> Self {
        let (totals, sizes) = (job.totals(), job.sizes());
        let bytes = sizes.all.saturating_sub(totals.bytes_done + sizes.failed);
        let held_back = sizes.all.saturating_sub(totals.bytes);
        let paused = job.files().iter().filter(|file| file.is_paused());
        let paused: u64 = paused.map(File::bytes_left).sum();
        let is_open = |file: &&File| {
            !matches!(file.state(), FileState::Whole { .. } | FileState::Holed | FileState::Dropped)
        };
        let open = || job.files().iter().filter(is_open);
        Self {
            bytes,
            paused: held_back.saturating_add(paused).min(bytes),
            files: open().count() as u32,
            par2_files: open().filter(|file| file.listed().is_par2).count() as u32,
        }
    }
}
