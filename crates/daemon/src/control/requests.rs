//! The changes that control interfaces request: of jobs, pauses, rates, servers, the configuration, feeds and
//! newsgroups. Methods of `Daemon`, in the main loop: each change goes to the parts it concerns, and is acknowledged
//! when it is on disk.

use std::sync::Arc;
use std::time::Duration;

use bergamot_api::Refusal;
use bergamot_api::feeds::{FeedChoice, FeedRetry};
use bergamot_api::metrics::Measured;
use bergamot_api::newsgroup::{Group, GroupQuery};
use bergamot_api::request::{Part, Pause};
use bergamot_api::view::{Page, Reload};
use bergamot_config::{Config, Verify};
use bergamot_engine::Event as EngineEvent;
use bergamot_jobs::Record;
use bergamot_jobs::edit::{Edit, EditRefusal, HistoryEdit, Place};
use bergamot_jobs::machine::{Event as JobEvent, MergeRequest, SplitRequest};
use bergamot_newsgroups::{Failure, Need};
use bergamot_store::RuntimeSettings;
use bergamot_types::{ByteRate, GroupName, JobId, ServerId};
use bergamot_writer::Root;
use tokio::sync::oneshot;
use tracing::{info, warn};

use crate::clock;
use crate::control::active_settings::restored_pauses;
use crate::control::call::Promise;
use crate::event::Event;
use crate::intake::url_fetch::Fetches;
use crate::jobs::merge_split::{Joining, Merging, Splitting};
use crate::run::Daemon;
use crate::service_thread::service_blocking;
use crate::views::servers::quota_views;

/// When the change is on disk, if that has to be waited for.
pub(crate) type Edited = Result<Option<Promise>, Refusal>;

impl Daemon {
    /// A new job is in the spool. Returns what is to be waited for.
    pub(crate) fn add_job(&mut self, record: Record, at_top: bool) -> Vec<Promise> {
        let job = record.id;
        self.observers.counters_mut().on_arrival(record.outcome.is_some());
        let useless = self.jobs.add(clock::now(), &self.engine, record);
        let mut promises: Vec<_> =
            useless.into_iter().filter_map(|job| self.written_promise(job)).collect();
        if at_top {
            let moved = self.edit(&[job], &Edit::Move(Place::Top), None);
            promises.extend(moved.into_iter().filter_map(|moved| moved.ok().flatten()));
        }
        self.run();
        promises
    }

    /// `root` is the destination of the category that jobs are given, if that is what is wanted.
    pub(crate) fn edit(
        &mut self,
        jobs: &[JobId],
        edit: &Edit,
        root: Option<&Arc<Root>>,
    ) -> Vec<Edited> {
        let edited = self.jobs.edit(clock::now(), &self.engine, jobs, edit);
        for (job, edited) in jobs.iter().zip(&edited) {
            if let (Some(root), Ok(_)) = (root, edited) {
                self.disk.set_destination(*job, root.clone());
            }
        }
        let promised = edited.into_iter().map(|edited| self.promise(edited)).collect();
        self.run();
        promised
    }

    fn promise(&mut self, edited: Result<Option<JobId>, EditRefusal>) -> Edited {
        Ok(edited?.and_then(|job| self.written_promise(job)))
    }

    /// Comes true when the last change of the record is on disk; none if it is already.
    pub(crate) fn written_promise(&mut self, job: JobId) -> Option<Promise> {
        let (waiter, promise) = oneshot::channel();
        self.jobs.await_write(job, waiter).is_none().then_some(promise)
    }

    /// Makes a job of its own of files of which nothing has come yet.
    pub(crate) fn split(
        &mut self,
        job: JobId,
        files: Vec<u32>,
        name: &str,
    ) -> Result<Joining, Refusal> {
        let request = self.jobs.split(clock::now(), &self.engine, job, files, name)?;
        let SplitRequest { parent, files, new, check_begun } = request;
        let (answer, joining) = oneshot::channel();
        let (new_jobs, events) = (self.handle.new_jobs.clone(), self.handle.events.clone());
        service_blocking("splitter", &self.handle.events, move || {
            let new = new_jobs.split(&parent, &files, new, check_begun);
            events.send(Event::Split(Box::new(Splitting { job, new, answer })));
        });
        self.run();
        Ok(joining)
    }

    pub(crate) fn on_split(&mut self, splitting: Splitting) {
        let Splitting { job, new, answer } = splitting;
        let ended = self.jobs.end_split(clock::now(), &self.engine, job, new);
        let joined = ended.map(|new| (new, self.written_promise(job)));
        let _ = answer.send(joined); // the caller may be gone
        self.run();
    }

    /// Makes all others part of the first, if nothing of them has come yet.
    pub(crate) fn merge(&mut self, jobs: Vec<JobId>) -> Result<Joining, Refusal> {
        let MergeRequest { whole, donors } = self.jobs.merge(clock::now(), &self.engine, &jobs)?;
        let (answer, joining) = oneshot::channel();
        let (new_jobs, events) = (self.handle.new_jobs.clone(), self.handle.events.clone());
        service_blocking("merger", &self.handle.events, move || {
            let merged = new_jobs.gather(&whole, &donors);
            events.send(Event::Merged(Box::new(Merging { jobs, merged, answer })));
        });
        self.run();
        Ok(joining)
    }

    pub(crate) fn on_merged(&mut self, merging: Merging) {
        let Merging { jobs, merged, answer } = merging;
        let ended = self.jobs.end_merge(clock::now(), &self.engine, &jobs, merged);
        let joined = ended.map(|into| {
            self.observers.file_ids().forget(into);
            (into, self.written_promise(into))
        });
        let _ = answer.send(joined); // the caller may be gone
        self.run();
    }

    pub(crate) fn pause(&mut self, pause: &Pause) -> Promise {
        self.jobs.pause(clock::now(), pause);
        self.obey_pauses()
    }

    pub(crate) fn resume(&mut self, parts: &[Part]) -> Promise {
        self.jobs.resume(parts);
        self.obey_pauses()
    }

    /// What no user has paused stays as it is, also where a quota, the timetable or the disk holds it
    /// back: those end by themselves.
    pub(crate) fn resume_in(&mut self, pause: Duration) -> Promise {
        self.jobs.resume_in(clock::now(), pause);
        self.obey_pauses()
    }

    /// The engine and the watch folder do as the pauses say, now and after a restart.
    pub(crate) fn obey_pauses(&mut self) -> Promise {
        self.run();
        self.set_scan_target();
        self.observers.publish_pauses(self.jobs.pauses());
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
        self.state.state_thread.write_settings(self.settings.choices(self.jobs.pauses()), sender);
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
        let settings = self.settings.of_jobs(self.network.servers());
        self.tell_jobs(JobEvent::SettingsChanged(Box::new(settings)));
        info!(applied = reload.applied.len(), "the configuration was read again");
        if !reload.needs_restart.is_empty() {
            warn!("only a restart applies {}", reload.needs_restart.join(", "));
        }
        Ok(reload)
    }

    /// What users had chosen when the daemon stopped.
    pub(crate) fn restore_choices(&mut self, choices: &RuntimeSettings) {
        self.jobs.restore_pauses(restored_pauses(choices));
        self.settings.restore(choices);
        if *choices == RuntimeSettings::default() {
            return;
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
        self.run();
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
        let version = self.jobs.list().history_version();
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
            for edited in self.edit(&[*job], &Edit::History(HistoryEdit::Retry), None) {
                promises.extend(edited?);
            }
        }
        Ok((FeedRetry { items, jobs: given_up.len() }, promises))
    }

    pub(crate) fn list_groups(
        &mut self,
        query: GroupQuery,
    ) -> oneshot::Receiver<Result<Page<Group>, Failure>> {
        let (newsgroups, mut with) = self.newsgroups();
        let answer = newsgroups.list_groups(&mut with, query);
        self.run();
        answer
    }

    pub(crate) fn request_group(
        &mut self,
        group: &GroupName,
        need: Need,
    ) -> oneshot::Receiver<Result<(), Failure>> {
        let (newsgroups, mut with) = self.newsgroups();
        let answer = newsgroups.request(&mut with, group, need);
        self.run();
        answer
    }
}
