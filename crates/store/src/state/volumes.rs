//! [`ServerVolumes`]: the bytes received from each server, in a state file.

use std::collections::BTreeMap;

use bergamot_limit::Volumes;
use serde::{Deserialize, Serialize};

use crate::state::state_file::Kept;

/// The counters of all servers.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default)]
pub struct ServerVolumes {
    pub all: Volumes,
    /// By the names of the servers, which outlive their numbers.
    pub servers: BTreeMap<String, Volumes>,
}

impl Kept for ServerVolumes {
    const NAME: &'static str = "volumes";
    const WORD: &'static str = "bergamot-volumes";

    fn to_text(&self) -> String {
        serde_json::to_string(self).expect("counters have only what JSON can hold")
    }

    fn from_text(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }
}

#[cfg(test)]
mod tests {
    use bergamot_types::{ByteCount, UnixTime};

    use super::*;
    use crate::state::state_file::StateFile;

    #[test]
    fn counters_outlive_the_process() {
        let home = tempfile::tempdir().unwrap();
        let (file, mut volumes, _) = StateFile::<ServerVolumes>::open(home.path());
        volumes.all.note_bytes(UnixTime(1_800_000_000), ByteCount(7));
        volumes.servers.insert("one".to_owned(), volumes.all.clone());
        volumes.servers.insert("two".to_owned(), Volumes::default());
        file.write(&volumes).unwrap();
        assert_eq!(StateFile::<ServerVolumes>::open(home.path()).1, volumes);
    }
}
