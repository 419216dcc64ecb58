//! [`CrashGuard`]: the jobs that the daemon is loading, in a file of the spool, so that the next start knows
//! with which job the process crashed.
//!
//! Only a crash of the process counts, not one of the machine: so nothing here is fsynced. A job that was
//! released did not crash the process, and its count is forgotten.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use bergamot_types::JobId;
use serde::{Deserialize, Serialize};

use crate::disk::checksummed::{seal, unseal};
use crate::disk::directory::Directory;
use crate::disk::durable::{at, draft_of};
use crate::error::StoreError;
use crate::state::state_file::StateFileError;

#[derive(Debug, Default)]
pub(crate) struct CrashGuard(BTreeMap<u32, JobUse>);

#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
struct JobUse {
    #[serde(rename = "deaths")]
    crashes: u32,
    #[serde(rename = "held")]
    in_use: bool,
}

impl CrashGuard {
    /// Reads the file; each job that was in use counts one crash more.
    pub(crate) fn read(directory: &dyn Directory, set_aside: &mut Vec<(PathBuf, String)>) -> Self {
        let mut jobs = match Self::load(directory) {
            Ok(jobs) => jobs,
            Err(why) => {
                set_aside.push((directory.path().join(NAME), format!("is ignored: {why}")));
                BTreeMap::new()
            }
        };
        for job in jobs.values_mut().filter(|job| job.in_use) {
            *job = JobUse { crashes: job.crashes.saturating_add(1), in_use: false };
        }
        Self(jobs)
    }

    pub(crate) fn crashes(&self, job: JobId) -> u32 {
        self.0.get(&job.0).map_or(0, |job| job.crashes)
    }

    pub(crate) fn suspects(&self) -> Vec<JobId> {
        let suspects = self.0.iter().filter(|(_, job)| job.crashes >= MOST_CRASHES);
        suspects.map(|(job, _)| JobId(*job)).collect()
    }

    pub(crate) fn retain(&mut self, is_there: impl Fn(JobId) -> bool) {
        self.0.retain(|job, _| is_there(JobId(*job)));
    }

    pub(crate) fn enter(&mut self, job: JobId) {
        self.0.entry(job.0).or_default().in_use = true;
    }

    /// Forgets the job; `false` if it was not known.
    pub(crate) fn release(&mut self, job: JobId) -> bool {
        self.0.remove(&job.0).is_some()
    }

    pub(crate) fn write(&self, directory: &dyn Directory) -> Result<(), StoreError> {
        let body = serde_json::to_string(&self.0).expect("numbers are JSON");
        let draft = draft_of(NAME);
        let sealed = seal(WORD, VERSION, &body);
        let written = directory.write(&draft, &mut sealed.as_bytes());
        let written = written.and_then(|()| directory.rename(&draft, NAME));
        written.map_err(at(directory.path().join(NAME)))
    }

    fn load(directory: &dyn Directory) -> Result<BTreeMap<u32, JobUse>, StateFileError> {
        let bytes = match directory.read(NAME, MOST_BYTES) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
            Err(error) => return Err(error.into()),
        };
        let (_, body) = unseal(WORD, VERSION, &bytes)?;
        serde_json::from_str(body).map_err(|_| StateFileError::Damaged)
    }
}

/// One crash may have another cause.
const MOST_CRASHES: u32 = 2;

const MOST_BYTES: u64 = 1 << 20;
const NAME: &str = "in-hand";
const VERSION: u32 = 1;
const WORD: &str = "bergamot-hand";
