//! What control interfaces change while the daemon runs, beside the jobs: pauses, rates, servers, the
//! configuration, feeds and newsgroups. `Daemon` gives each change to the parts it concerns. Main loop.

use std::time::Duration;

use bergamot_api::Refusal;
use bergamot_api::feeds::{FeedChoice, FeedRetry};
use bergamot_api::metrics::Measured;
use bergamot_api::newsgroup::{Group, GroupQuery};
use bergamot_api::request::{Part, Pause};
use bergamot_api::view::{Page, Reload};
use bergamot_config::{Config, Verify};
use bergamot_engine::Event as EngineEvent;
use bergamot_newsgroups::{Failure, Need};
use bergamot_store::RuntimeSettings;
use bergamot_types::{ByteRate, GroupName, ServerId};
use tokio::sync::oneshot;
use tracing::{info, warn};

use crate::clock;
use crate::control::active_settings::restored_pauses;
use crate::control::call::Promise;
use crate::intake::url_fetch::Fetches;
use crate::run::Daemon;
use crate::views::servers::quota_views;

impl Daemon {
    pub(crate) fn pause(&mut self, pause: &Pause) -> Promise {
        self.pauses.pause(clock::now(), pause);
        let parts: Vec<_> = pause.parts.iter().map(|part| part.word()).collect();
        info!(by = pause.author, "paused: {}", parts.join(", "));
        self.obey_pauses()
    }

    pub(crate) fn resume(&mut self, parts: &[Part]) -> Promise {
        self.pauses.resume(parts);
        let parts: Vec<_> = parts.iter().map(|part| part.word()).collect();
        info!("resumed: {}", parts.join(", "));
        self.obey_pauses()
    }

    /// What no user has paused stays as it is, also where a quota, the timetable or the disk holds it
    /// back: those end by themselves.
    pub(crate) fn resume_in(&mut self, pause: Duration) -> Promise {
        if self.pauses.end_after(clock::now(), pause) {
            info!(?pause, "to be resumed");
        }
        self.obey_pauses()
    }

    /// Ends the pauses whose time has come.
    pub(crate) fn end_pauses(&mut self) {
        if self.pauses.end_due(clock::now().instant) {
            info!("resumed, as it was set");
            self.obey_pauses();
        }
    }

    /// The engine and the watch folder do as the pauses say, now and after a restart.
    pub(crate) fn obey_pauses(&mut self) -> Promise {
        let event = match self.pauses.download {
            Some(_) => EngineEvent::DownloadPaused,
            None => EngineEvent::DownloadResumed,
        };
        self.notify_engine(event);
        self.set_scan_target();
        self.observers.publish_pauses(&self.pauses);
        self.write_choices()
    }

    /// Until it is changed again; none is no limit.
    pub(crate) fn set_rate(&mut self, rate: Option<ByteRate>) -> Promise {
        self.settings.choose_rate(rate);
        match rate {
            Some(rate) => info!("limited to {rate}"),
            None => info!("the limit is lifted"),
        }
        self.notify_engine(EngineEvent::RateChanged(self.settings.chosen_rate()));
        self.write_choices()
    }

    pub(crate) fn switch_servers(
        &mut self,
        switches: &[(ServerId, bool)],
    ) -> Result<Promise, Refusal> {
        for (place, active) in switches {
            let server = self.network.configured(*place);
            let name = server.ok_or(Refusal::NoSuchServer(place.0))?.settings().name.clone();
            info!(server = name, active, "switched");
            self.settings.switch_server(name, *active);
        }
        self.obey_settings();
        Ok(self.write_choices())
    }

    /// What the configuration says of these servers counts again.
    pub(crate) fn forget_switches(&mut self, places: &[usize]) -> Promise {
        for place in places.iter().filter_map(|place| u16::try_from(*place).ok()) {
            if let Some(server) = self.network.configured(ServerId(place)) {
                self.settings.forget_switch(&server.settings().name);
            }
        }
        self.obey_settings();
        self.write_choices()
    }

    /// Writes down what users have chosen.
    fn write_choices(&mut self) -> Promise {
        let (sender, promise) = oneshot::channel();
        self.state.state_thread.write_settings(self.settings.choices(&self.pauses), sender);
        promise
    }

    /// Takes another configuration, as far as that can be done while running.
    pub(crate) fn apply(&mut self, config: Config) -> Result<Reload, Refusal> {
        self.service_manager.reloading();
        let reload = self.take_config(config);
        self.service_manager.ready(self.status_line());
        reload
    }

    fn take_config(&mut self, config: Config) -> Result<Reload, Refusal> {
        let reload = self.settings.changes(&config);
        let settings = self.settings.read(&config);
        self.network
            .replace_servers(settings.servers)
            .map_err(|error| Refusal::Invalid(format!("{error:#}")))?;
        self.state.state_thread.set_names(self.network.servers().names());
        self.observers.counters_mut().forget_past();
        self.retention.set(settings.retention.keep, settings.retention.most);
        self.storage.set_reserve(config.storage.reserve);
        if self.settings.replace(config, settings.jobs) {
            drop(self.write_choices());
        }
        let config = self.settings.config();
        self.disk.set_reading_back(config.download.verify == Verify::Read);
        let (feeds, mut with, settings) = self.feeds();
        feeds.apply(&mut with, settings.config());
        Fetches::try_all(&mut self.targets);
        self.write_rss();
        self.obey_settings();
        self.load_next();
        info!(applied = reload.applied.len(), "the configuration was read again");
        if !reload.needs_restart.is_empty() {
            warn!("only a restart applies {}", reload.needs_restart.join(", "));
        }
        Ok(reload)
    }

    /// What users had chosen when the daemon stopped.
    pub(crate) fn restore_choices(&mut self, choices: &RuntimeSettings) {
        self.pauses = restored_pauses(choices);
        self.settings.restore(choices);
        if *choices == RuntimeSettings::default() {
            return;
        }
        if self.pauses.download.is_some() {
            self.notify_engine(EngineEvent::DownloadPaused);
        }
        if self.settings.chosen_rate().is_some() {
            self.notify_engine(EngineEvent::RateChanged(self.settings.chosen_rate()));
        }
        if self.settings.has_switches() {
            self.obey_settings();
        }
        info!("what was chosen before the restart still holds");
    }

    /// Gives the engine its settings.
    fn obey_settings(&mut self) {
        let used = self.state.state_thread.records();
        let settings = self.settings.engine(self.network.servers(), used);
        self.notify_engine(EngineEvent::SettingsChanged(Box::new(settings)));
        let (newsgroups, mut with) = self.newsgroups();
        newsgroups.resend(&mut with);
        self.run_engine();
    }

    pub(crate) fn reset_traffic(
        &mut self,
        server: Option<ServerId>,
        only_custom: bool,
    ) -> Result<(), Refusal> {
        let name = match server {
            None => None,
            Some(place) => {
                let server = self.network.configured(place);
                Some(server.ok_or(Refusal::NoSuchServer(place.0))?.settings().name.as_str())
            }
        };
        self.observers.traffic_mut().reset(name, only_custom);
        self.state.state_thread.write_traffic(self.observers.traffic_mut().take());
        Ok(())
    }

    pub(crate) fn measure(&mut self) -> Measured {
        let version = self.jobs.history_version();
        let past = match self.observers.counters().past(version) {
            Some(past) => past.clone(),
            None => {
                let past = self.view().past_sums();
                self.observers.counters_mut().set_past(version, past.clone());
                past
            }
        };
        let quotas = quota_views(&mut self.engine, &self.network);
        self.view().measure(past, quotas)
    }

    /// Tries again what was given up of a feed.
    pub(crate) fn retry_feed(
        &mut self,
        choice: &FeedChoice,
    ) -> Result<(FeedRetry, Vec<Promise>), Refusal> {
        let (feeds, mut with, _) = self.feeds();
        let (items, given_up) = feeds.retry(&mut with, choice)?;
        let mut promises: Vec<_> = feeds.promise(&mut with).into_iter().collect();
        for job in &given_up {
            promises.extend(self.try_again(*job, false)?);
        }
        Ok((FeedRetry { items, jobs: given_up.len() }, promises))
    }

    pub(crate) fn list_groups(
        &mut self,
        query: GroupQuery,
    ) -> oneshot::Receiver<Result<Page<Group>, Failure>> {
        let (newsgroups, mut with) = self.newsgroups();
        let answer = newsgroups.list_groups(&mut with, query);
        self.run_engine();
        answer
    }

    pub(crate) fn request_group(
        &mut self,
        group: &GroupName,
        need: Need,
    ) -> oneshot::Receiver<Result<(), Failure>> {
        let (newsgroups, mut with) = self.newsgroups();
        let answer = newsgroups.request(&mut with, group, need);
        self.run_engine();
        answer
    }
}
