//! [`RuntimeSettings`]: settings that were changed while the daemon ran, in a state file.

use std::collections::BTreeMap;

use bergamot_types::{ByteRate, UnixTime};
use serde::{Deserialize, Serialize};

use crate::state::state_file::Kept;
use bergamot_jobs::serde_plain;

/// What differs from the configuration file until it is changed again.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default)]
pub struct RuntimeSettings {
    /// None: as configured. 0: none at all.
    #[serde(with = "serde_plain::optional")]
    pub rate_limit: Option<ByteRate>,
    pub download_paused: Option<Pause>,
    pub post_paused: Option<Pause>,
    pub scan_paused: Option<Pause>,
    /// Servers that were switched on or off, by their names.
    pub servers: BTreeMap<String, bool>,
}

/// A pause, with its author and what ends it.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Pause {
    pub by: String,
    #[serde(with = "serde_plain")]
    pub since: UnixTime,
    /// None: until it is ended by a request.
    #[serde(default, with = "serde_plain::optional")]
    pub until: Option<UnixTime>,
}

impl Kept for RuntimeSettings {
    const NAME: &'static str = "settings";
    const WORD: &'static str = "bergamot-settings";

    fn to_text(&self) -> String {
        serde_json::to_string(self).expect("settings have only what JSON can hold")
    }

    fn from_text(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::state_file::StateFile;

    #[test]
    fn what_was_changed_is_found() {
        let home = tempfile::tempdir().unwrap();
        let (file, found, told) = StateFile::<RuntimeSettings>::open(home.path());
        assert_eq!((found, told), (RuntimeSettings::default(), None));
        let pause = Pause { by: "ann".into(), since: UnixTime(7), until: Some(UnixTime(8)) };
        let settings = RuntimeSettings {
            rate_limit: Some(ByteRate(0)),
            download_paused: Some(pause.clone()),
            scan_paused: Some(Pause { until: None, ..pause }),
            servers: [("one".to_owned(), false)].into(),
            ..RuntimeSettings::default()
        };
        file.write(&settings).unwrap();
        assert_eq!(StateFile::<RuntimeSettings>::open(home.path()).1, settings);
    }
}
