//! `DaemonId`: the id under which this daemon claims files of the watch folder, kept in a state file. Read before the
//! main loop runs.

use std::path::Path;

use bergamot_store::{Kept, StateFile};
use bergamot_watch::Claimant;
use tracing::warn;

#[derive(Debug, Default)]
struct DaemonId(Option<u64>);

impl Kept for DaemonId {
    const NAME: &'static str = "daemon-id";
    const WORD: &'static str = "bergamot-daemon-id";

    fn to_text(&self) -> String {
        format!("{:016x}", self.0.unwrap_or_default())
    }

    fn from_text(text: &str) -> Option<Self> {
        u64::from_str_radix(text.trim(), 16).ok().map(|id| Self(Some(id)))
    }
}

/// The same at every start on the same state. Where it cannot be kept, what a killed daemon had claimed
/// is found by its age.
pub(crate) fn claimant(state: &Path) -> Claimant {
    let (file, DaemonId(kept), told) = StateFile::open(state);
    if let Some(told) = told {
        warn!("{told}");
    }
    let id = kept.unwrap_or_else(|| {
        let id = new_id();
        if let Err(error) = file.write(&DaemonId(Some(id))) {
            warn!(code = error.code(), "the id of this daemon is not kept: {error}");
        }
        id
    });
    Claimant::new(id)
}

fn new_id() -> u64 {
    let mut bytes = [0; 8];
    // Without random numbers there is no encryption either, and no server is reached.
    let _ = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty());
    u64::from_ne_bytes(bytes) ^ u64::from(std::process::id())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_is_the_same_at_every_start_and_another_for_another_state() {
        let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let first = claimant(one.path());
        assert_eq!(claimant(one.path()), first);
        assert_ne!(claimant(other.path()), first);
    }
}
