//! What people change while the daemon runs, and what outlives it.

use std::time::Duration;

use bergamot_api::request::{Part, Pause};
use bergamot_api::view::{Config as ConfigView, ConfigValue, Reload};
use bergamot_api::{Control, Refusal};
use bergamot_engine::Event;
use bergamot_store::RuntimeSettings;
use bergamot_types::{ByteRate, ServerId};
use tokio::sync::oneshot;
use tracing::{info, warn};

use crate::clock;
use crate::control::call::Promise;
use crate::run::Daemon;
use crate::settings::{JobSettings, Settings};
use bergamot_config::{Change, Config, Listed, Verify, changes};
use bergamot_jobs::machine::{Event as JobEvent, JobDirectories};
use bergamot_jobs::{Paused, Pauses};

impl Daemon {
    pub(crate) fn pause(&mut self, pause: &Pause) -> Promise {
        self.jobs.pause(clock::now(), pause);
        self.obey_pauses()
    }

    pub(crate) fn resume(&mut self, parts: &[Part]) -> Promise {
        self.jobs.resume(parts);
        self.obey_pauses()
    }

    /// What nobody has paused stays as it is, also where a quota, the timetable or the disk holds it
    /// back: those end by themselves.
    pub(crate) fn resume_in(&mut self, pause: Duration) -> Promise {
        self.jobs.resume_in(clock::now(), pause);
        self.obey_pauses()
    }

    /// The engine and the watch folder do as the pauses say, now and after a restart.
    pub(crate) fn obey_pauses(&mut self) -> Promise {
        self.run();
        self.set_scan_target(clock::now().instant, self.jobs.pauses().scan.is_some());
        self.tell_pauses();
        self.keep_choices()
    }

    /// Until it is changed again; none is what the configuration says.
    pub(crate) fn set_rate(&mut self, rate: Option<ByteRate>) -> Promise {
        self.settings.chosen_rate = Some(rate.unwrap_or(ByteRate(0)));
        match rate {
            Some(rate) => info!("limited to {rate}"),
            None => info!("the limit is lifted"),
        }
        self.tell_engine(Event::RateChanged(self.settings.chosen_rate));
        self.keep_choices()
    }

    /// What holds for all servers together, if anything does.
    pub(crate) fn rate_limit(&self) -> Option<ByteRate> {
        self.engine.rate().filter(|rate| rate.0 > 0)
    }

    pub(crate) fn switch_servers(
        &mut self,
        switches: &[(ServerId, bool)],
    ) -> Result<Promise, Refusal> {
        for (place, active) in switches {
            let Some(id) = self.network.servers.at_place(place.0) else {
                return Err(Refusal::NoSuchServer(place.0));
            };
            let name = self.name(id).to_owned();
            info!(server = name, active, "switched");
            self.settings.switched.insert(name, *active);
        }
        self.obey_settings();
        Ok(self.keep_choices())
    }

    /// The last word is that of the configuration now.
    pub(crate) fn forget_switches(&mut self, places: &[usize]) -> Promise {
        for place in places {
            let id =
                u16::try_from(*place).ok().and_then(|place| self.network.servers.at_place(place));
            let name = id.map(|id| self.name(id).to_owned());
            name.and_then(|name| self.settings.switched.remove(&name));
        }
        self.obey_settings();
        self.keep_choices()
    }

    /// What people have chosen outlives the daemon.
    fn keep_choices(&mut self) -> Promise {
        let (sender, promise) = oneshot::channel();
        let mut settings = RuntimeSettings {
            rate_limit: self.settings.chosen_rate,
            servers: self.settings.switched.clone(),
            ..RuntimeSettings::default()
        };
        let [download, post, scan] = self.jobs.pauses().all().map(|(_, paused)| paused.map(kept));
        (settings.download_paused, settings.post_paused, settings.scan_paused) =
            (download, post, scan);
        self.state.clerk.keep_settings(settings, sender);
        promise
    }

    /// Looks into the watch folder now; the promise comes true when that look has ended.
    pub(crate) fn scan_now(&mut self) -> Promise {
        let (sender, promise) = oneshot::channel();
        self.settings.scan_waiters.push(sender);
        self.ring();
        promise
    }

    pub(crate) fn config_view(&self) -> ConfigView {
        let value = |listed: &Listed| ConfigValue {
            key: listed.key.clone(),
            value: listed.value.clone(),
            secret: listed.is_secret,
            needs_restart: listed.needs_restart(),
        };
        ConfigView {
            values: self.settings.config.listed.iter().map(value).collect(),
            facts: self.facts(),
        }
    }

    /// Reads the configuration again, beside the loop.
    pub(crate) fn reload(&self) {
        let handle = self.handle.clone();
        tokio::spawn(async move {
            if let Err(refusal) = handle.reload().await {
                warn!("the configuration stays as it was: {refusal}");
            }
        });
    }

    /// Takes another configuration, as far as that can be done while running.
    pub(crate) fn apply(&mut self, config: Config) -> Result<Reload, Refusal> {
        self.supervisor.reloading();
        let reload = self.take_config(config);
        self.supervisor.ready(self.supervised_status());
        reload
    }

    fn take_config(&mut self, config: Config) -> Result<Reload, Refusal> {
        let mut reload = Reload::default();
        for Change { name, needs_restart } in changes(&self.settings.config.listed, &config.listed)
        {
            let list = if needs_restart { &mut reload.needs_restart } else { &mut reload.applied };
            list.push(name);
        }
        let settings = Settings::new(&config, self.settings.threads);
        self.network
            .servers
            .replace(settings.servers.clone())
            .map_err(|error| Refusal::Invalid(format!("{error:#}")))?;
        let mut names = Vec::new();
        for (id, server) in self.network.servers.iter() {
            let at = usize::from(id.0);
            names.resize(names.len().max(at), String::new());
            names[at - 1] = server.settings().name.clone();
        }
        self.state.clerk.set_names(names);
        self.settings.job_settings.replace(JobSettings {
            // Jobs that run have their directories there.
            directories: JobDirectories {
                incomplete: self.jobs.settings().directories.incomplete.clone(),
                ..settings.jobs.directories
            },
            ..settings.jobs
        });
        self.forget_past_sums();
        if self.settings.config.download.rate != config.download.rate {
            self.settings.chosen_rate = None; // the last word counts
            drop(self.keep_choices());
        }
        self.settings.config = config;
        self.disk.sums.want(self.settings.config.download.verify == Verify::Read);
        self.apply_feeds();
        self.keep_rss();
        self.obey_settings();
        let settings = self.settings.of_jobs(&self.network.servers);
        self.tell_jobs(JobEvent::SettingsChanged(Box::new(settings)));
        info!(applied = reload.applied.len(), "the configuration was read again");
        if !reload.needs_restart.is_empty() {
            warn!("only a restart applies {}", reload.needs_restart.join(", "));
        }
        Ok(reload)
    }

    /// What people had chosen when the daemon stopped.
    pub(crate) fn take_up_choices(&mut self, settings: &RuntimeSettings) {
        self.jobs.restore_pauses(restored(settings));
        self.settings.chosen_rate = settings.rate_limit;
        self.settings.switched = settings.servers.clone();
        if *settings == RuntimeSettings::default() {
            return;
        }
        if self.settings.chosen_rate.is_some() {
            self.tell_engine(Event::RateChanged(self.settings.chosen_rate));
        }
        if !self.settings.switched.is_empty() {
            self.obey_settings();
        }
        info!("what was chosen before the restart still holds");
    }

    /// Gives the engine its settings: those of the file, with what people have switched.
    pub(crate) fn obey_settings(&mut self) {
        let mut settings = Settings::new(&self.settings.config, self.settings.threads).engine;
        for (server, (id, known)) in settings.servers.iter_mut().zip(self.network.servers.iter()) {
            server.id = id;
            if let Some(active) = self.settings.switched.get(&known.settings().name) {
                server.active = *active;
            }
        }
        let ids: Vec<_> = self.network.servers.iter().map(|(id, _)| id).collect();
        let renumber = |place: ServerId| ids.get(usize::from(place.0) - 1).copied();
        settings.server_quotas = std::mem::take(&mut settings.server_quotas)
            .into_iter()
            .filter_map(|(place, quota)| Some((renumber(place)?, quota)))
            .collect();
        settings.rates.server_rates = std::mem::take(&mut settings.rates.server_rates)
            .into_iter()
            .filter_map(|(place, rate)| Some((renumber(place)?, rate)))
            .collect();
        settings.used = self.state.clerk.records();
        self.tell_engine(Event::SettingsChanged(Box::new(settings)));
        self.send_errands_anew();
    }
}

fn kept(paused: &Paused) -> bergamot_store::Pause {
    let Paused { by, since, until } = paused.clone();
    bergamot_store::Pause { by, since, until }
}

fn restored(settings: &RuntimeSettings) -> Pauses {
    let kept = [&settings.download_paused, &settings.post_paused, &settings.scan_paused];
    let paused =
        |it: &bergamot_store::Pause| Paused { by: it.by.clone(), since: it.since, until: it.until };
    Pauses::restore(clock::now(), kept.map(|kept| kept.as_ref().map(paused)))
}
