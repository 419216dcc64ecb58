//! [`ActiveSettings`]: the configuration in force and what users changed at run time. Owned by the main loop.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use bergamot_config::Config;
use bergamot_limit::Zone;
use bergamot_types::{ByteRate, UnixTime};

use crate::control::call::Waiter;
use crate::servers::Servers;
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

impl ActiveSettings {
    /// Those of the machine of all jobs.
    pub(crate) fn of_jobs(&self, servers: &Servers) -> bergamot_jobs::machine::Settings {
        let jobs = self.job_settings.get();
        let history = &self.config.history;
        let names = servers.iter().map(|(id, server)| (id, server.settings().name.clone()));
        bergamot_jobs::machine::Settings {
            directories: jobs.directories.clone(),
            accept_duplicates: jobs.accept_duplicates,
            wants_par2_volumes: jobs.wants_par2_volumes,
            propagation_delay: self.config.download.propagation_delay,
            propagation: self.config.download.propagation,
            reserve: jobs.reserve,
            keep: Duration::from_secs(u64::from(history.keep_days) * 24 * 60 * 60),
            most_kept: history.most,
            feeds_only: self.feeds_only,
            server_names: names.collect(),
        }
    }
}
