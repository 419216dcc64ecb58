//! Which jobs are in hand, so that the next daemon knows with which this one died.
//!
//! Only the death of the process is held against a job, not that of the machine: so nothing here is
//! synced. A job that was let go of has proved to be harmless.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use bergamot_types::JobId;
use serde::{Deserialize, Serialize};

use crate::disk::checksummed::{Unsealed, seal, unseal};
use crate::disk::directory::Directory;
use crate::disk::durable::{at, draft_of};
use crate::error::StoreError;

#[derive(Debug, Default)]
pub(crate) struct Hand(BTreeMap<u32, Grip>);

#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
struct Grip {
    deaths: u32,
    held: bool,
}

impl Hand {
    /// What was held has seen one death more.
    pub(crate) fn read(directory: &dyn Directory, set_aside: &mut Vec<(PathBuf, String)>) -> Self {
        let mut grips = match Self::load(directory) {
            Ok(grips) => grips,
            Err(why) => {
                set_aside.push((directory.path().join(NAME), format!("is ignored: {why}")));
                BTreeMap::new()
            }
        };
        for grip in grips.values_mut().filter(|grip| grip.held) {
            *grip = Grip { deaths: grip.deaths.saturating_add(1), held: false };
        }
        Self(grips)
    }

    pub(crate) fn deaths(&self, job: JobId) -> u32 {
        self.0.get(&job.0).map_or(0, |grip| grip.deaths)
    }

    pub(crate) fn suspects(&self) -> Vec<JobId> {
        let suspects = self.0.iter().filter(|(_, grip)| grip.deaths >= MOST_DEATHS);
        suspects.map(|(job, _)| JobId(*job)).collect()
    }

    pub(crate) fn retain(&mut self, is_there: impl Fn(JobId) -> bool) {
        self.0.retain(|job, _| is_there(JobId(*job)));
    }

    pub(crate) fn take(&mut self, job: JobId) {
        self.0.entry(job.0).or_default().held = true;
    }

    /// Whether there was anything to let go of.
    pub(crate) fn let_go(&mut self, job: JobId) -> bool {
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

    fn load(directory: &dyn Directory) -> Result<BTreeMap<u32, Grip>, String> {
        let bytes = match directory.read(NAME, MOST_BYTES) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
            Err(error) => return Err(error.to_string()),
        };
        let (_, body) = unseal(WORD, VERSION, &bytes).map_err(|error| error.to_string())?;
        serde_json::from_str(body).map_err(|_| Unsealed::Damaged.to_string())
    }
}

/// Once may be chance.
const MOST_DEATHS: u32 = 2;

const MOST_BYTES: u64 = 1 << 20;
const NAME: &str = "in-hand";
const VERSION: u32 = 1;
const WORD: &str = "bergamot-hand";
