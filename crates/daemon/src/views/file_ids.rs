//! [`FileIds`]: the numbers of files that NZBGet's clients use. Part of `Observers`, in the main loop.

use std::collections::{BTreeMap, HashMap};

use bergamot_types::JobId;

/// A run of numbers for each job, assigned at its first request and valid until the daemon ends.
#[derive(Debug)]
pub(crate) struct FileIds {
    last: u32,
    first_of: HashMap<JobId, u32>,
    /// By the first number of each run: the job it belongs to, and the last number.
    runs: BTreeMap<u32, (JobId, u32)>,
}

impl Default for FileIds {
    fn default() -> Self {
        Self { last: BEFORE_FIRST, first_of: HashMap::new(), runs: BTreeMap::new() }
    }
}

impl FileIds {
    /// The number of the first file of the job; the others follow.
    pub(crate) fn first(&mut self, job: JobId, files: u32) -> u32 {
        if let Some(first) = self.first_of.get(&job) {
            return *first;
        }
        // They are signed where they are read. After two billion files we start over.
        if self.last > i32::MAX as u32 - files {
            *self = Self::default();
        }
        let first = self.last + 1;
        self.last += files;
        self.first_of.insert(job, first);
        self.runs.insert(first, (job, self.last));
        first
    }

    /// The job that the file belongs to, if its numbers are assigned.
    pub(crate) fn job_of(&self, file: u32) -> Option<JobId> {
        let (_, (job, last)) = self.runs.range(..=file).next_back()?;
        (file <= *last).then_some(*job)
    }

    pub(crate) fn forget(&mut self, job: JobId) {
        if let Some(first) = self.first_of.remove(&job) {
            self.runs.remove(&first);
        }
    }
}

/// Some programs take one for the number of a job; so high up there is none.
const BEFORE_FIRST: u32 = (1 << 30) - 1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_has_its_own_number() {
        let mut ids = FileIds::default();
        let base = 1 << 30;
        assert_eq!((ids.first(JobId(7), 3), ids.first(JobId(2), 5)), (base, base + 3));
        assert_eq!(ids.first(JobId(7), 3), base);
        let owners =
            [base - 1, base, base + 2, base + 3, base + 7, base + 8].map(|id| ids.job_of(id));
        let (seven, two) = (Some(JobId(7)), Some(JobId(2)));
        assert_eq!(owners, [None, seven, seven, two, two, None]);
        ids.forget(JobId(2));
        assert_eq!(ids.job_of(base + 3), None);
        assert_eq!(ids.first(JobId(3), 1), base + 8);
        ids.last = i32::MAX as u32;
        assert_eq!(ids.first(JobId(4), 2), base);
    }
}
