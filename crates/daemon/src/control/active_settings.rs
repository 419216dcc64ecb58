//! [`ActiveSettings`]: the configuration in force and what users changed at run time. Owned by the main loop.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bergamot_api::view::Reload;
use bergamot_config::{Change, Config, changes};
use bergamot_engine::QuotaRecords;
use bergamot_jobs::machine::JobDirectories;
use bergamot_jobs::{Paused, Pauses};
use bergamot_limit::Zone;
use bergamot_store::RuntimeSettings;
use bergamot_types::{ByteRate, ServerId, UnixTime};

use crate::clock;
use crate::servers::Servers;
use crate::settings::{JobSettings, Settings};
use crate::shared::Current;

pub(crate) struct ActiveSettings {
    config: Config,
    config_file: PathBuf,
    jobs: Current<JobSettings>,
    /// By a user; none is what the configuration says.
    chosen_rate: Option<ByteRate>,
    /// Servers that a user switched on or off, by name.
    switched: BTreeMap<String, bool>,
    /// How many threads read from sockets.
    threads: usize,
    /// For times in messages.
    zone: Zone,
    started: UnixTime,
    feeds_only: bool,
}

impl ActiveSettings {
    pub(crate) fn new(
        (config, config_file): (Config, PathBuf),
        jobs: Current<JobSettings>,
        threads: usize,
        zone: Zone,
        feeds_only: bool,
    ) -> Self {
        Self {
            config,
            config_file,
            jobs,
            chosen_rate: None,
            switched: BTreeMap::new(),
            threads,
            zone,
            started: clock::now().date,
            feeds_only,
        }
    }

    pub(crate) fn config(&self) -> &Config {
        &self.config
    }

    pub(crate) fn config_file(&self) -> &Path {
        &self.config_file
    }

    /// Those of jobs, as they are now.
    pub(crate) fn jobs(&self) -> Arc<JobSettings> {
        self.jobs.get()
    }

    pub(crate) fn zone(&self) -> Zone {
        self.zone
    }

    pub(crate) fn started(&self) -> UnixTime {
        self.started
    }

    /// The daemon reads the feeds that are due, and ends.
    pub(crate) fn feeds_only(&self) -> bool {
        self.feeds_only
    }

    /// The rate that a user has chosen, if any.
    pub(crate) fn chosen_rate(&self) -> Option<ByteRate> {
        self.chosen_rate
    }

    /// Until it is changed again; none is no limit.
    pub(crate) fn choose_rate(&mut self, rate: Option<ByteRate>) {
        self.chosen_rate = Some(rate.unwrap_or(ByteRate(0)));
    }

    pub(crate) fn switch_server(&mut self, name: String, active: bool) {
        self.switched.insert(name, active);
    }

    /// What the configuration says of the server counts again.
    pub(crate) fn forget_switch(&mut self, name: &str) {
        self.switched.remove(name);
    }

    /// What a user has said of the server, if anything.
    pub(crate) fn switch_of(&self, name: &str) -> Option<bool> {
        self.switched.get(name).copied()
    }

    pub(crate) fn has_switches(&self) -> bool {
        !self.switched.is_empty()
    }

    /// What users have chosen, for the next start.
    pub(crate) fn choices(&self, pauses: &Pauses) -> RuntimeSettings {
        let [download_paused, post_paused, scan_paused] =
            pauses.all().map(|(_, paused)| paused.map(stored_pause));
        RuntimeSettings {
            rate_limit: self.chosen_rate,
            servers: self.switched.clone(),
            download_paused,
            post_paused,
            scan_paused,
        }
    }

    pub(crate) fn restore(&mut self, choices: &RuntimeSettings) {
        self.chosen_rate = choices.rate_limit;
        self.switched = choices.servers.clone();
    }

    /// What another configuration changes.
    pub(crate) fn changes(&self, config: &Config) -> Reload {
        let mut reload = Reload::default();
        for Change { name, needs_restart } in changes(&self.config.listed, &config.listed) {
            let list = if needs_restart { &mut reload.needs_restart } else { &mut reload.applied };
            list.push(name);
        }
        reload
    }

    pub(crate) fn read(&self, config: &Config) -> Settings {
        Settings::new(config, self.threads)
    }

    /// Takes another configuration. Returns whether that ends what a user has chosen: the last change counts.
    pub(crate) fn replace(&mut self, config: Config, jobs: JobSettings) -> bool {
        // Jobs that run have their directories there.
        let incomplete = self.jobs().directories.incomplete.clone();
        let directories = JobDirectories { incomplete, ..jobs.directories };
        self.jobs.replace(JobSettings { directories, ..jobs });
        let has_other_rate = self.config.download.rate != config.download.rate;
        if has_other_rate {
            self.chosen_rate = None;
        }
        self.config = config;
        has_other_rate
    }

    /// The engine's: those of the configuration, with what users have switched. `used` is what is used of
    /// the quotas.
    pub(crate) fn engine(
        &self,
        servers: &Servers,
        used: QuotaRecords,
    ) -> bergamot_engine::Settings {
        let mut settings = self.read(&self.config).engine;
        for (server, (id, known)) in settings.servers.iter_mut().zip(servers.iter()) {
            server.id = id;
            server.active = self.switch_of(&known.settings().name).unwrap_or(server.active);
        }
        let ids: Vec<_> = servers.iter().map(|(id, _)| id).collect();
        let renumber = |place: ServerId| ids.get(usize::from(place.0) - 1).copied();
        settings.server_quotas = std::mem::take(&mut settings.server_quotas)
            .into_iter()
            .filter_map(|(place, quota)| Some((renumber(place)?, quota)))
            .collect();
        settings.rates.server_rates = std::mem::take(&mut settings.rates.server_rates)
            .into_iter()
            .filter_map(|(place, rate)| Some((renumber(place)?, rate)))
            .collect();
        bergamot_engine::Settings { used, ..settings }
    }

    /// Those of the machine of all jobs.
    pub(crate) fn of_jobs(&self, servers: &Servers) -> bergamot_jobs::machine::Settings {
        let (jobs, history) = (self.jobs(), &self.config.history);
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

    /// Clients may make up any category, so only those that are configured are measured by name.
    pub(crate) fn measured_category(&self, category: Option<&str>) -> String {
        match category.filter(|category| !category.is_empty()) {
            None => String::new(),
            Some(name) => self
                .jobs()
                .directories
                .category(name)
                .map_or_else(|| "other".to_owned(), |it| it.name.clone()),
        }
    }
}

fn stored_pause(paused: &Paused) -> bergamot_store::Pause {
    let Paused { by, since, until } = paused.clone();
    bergamot_store::Pause { by, since, until }
}

/// The pauses that were in force when the daemon stopped.
pub(crate) fn restored_pauses(settings: &RuntimeSettings) -> Pauses {
    let kept = [&settings.download_paused, &settings.post_paused, &settings.scan_paused];
    let paused =
        |it: &bergamot_store::Pause| Paused { by: it.by.clone(), since: it.since, until: it.until };
    Pauses::restore(clock::now(), kept.map(|kept| kept.as_ref().map(paused)))
}
