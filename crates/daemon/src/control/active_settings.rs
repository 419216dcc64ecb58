//! [`ActiveSettings`]: the configuration in force and what users changed at run time. Owned by the main loop.

use std::collections::BTreeMap;
use std::path::PathBuf;

use bergamot_config::Config;
use bergamot_limit::Zone;
use bergamot_types::{ByteRate, UnixTime};

use crate::control::call::Waiter;
use crate::settings::JobSettings;
use crate::shared::Current;

pub(crate) struct ActiveSettings {
    pub(crate) config: Config,
    pub(crate) config_file: PathBuf,
    pub(crate) job_settings: Current<JobSettings>,
    /// By a user; none is what the configuration says.
    pub(crate) chosen_rate: Option<ByteRate>,
    /// Servers that a user switched on or off, by name.
    pub(crate) switched: BTreeMap<String, bool>,
    /// How many threads read from sockets.
    pub(crate) threads: usize,
    /// For times in messages.
    pub(crate) zone: Zone,
    pub(crate) started: UnixTime,
    pub(crate) feeds_only: bool,
    /// They asked for a scan of the watch folder.
    pub(crate) scan_waiters: Vec<Waiter>,
}
