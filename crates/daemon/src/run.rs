//! [`Daemon`]: the main loop. It owns all parts of the state and runs as one task: events of threads, connections
//! and control interfaces come over one channel, and each is given to the parts it concerns.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use bergamot_engine::{DiskTrouble, Engine, Event as EngineEvent, Order};
use bergamot_jobs::machine::{Change, Event as JobEvent, StoreFailure};
use bergamot_jobs::{Jobs, Record};
use bergamot_net::{Buffer, BufferPool, Report};
use bergamot_post::Post;
use bergamot_queue::Ending;
use bergamot_rpc::Server;
use bergamot_types::{JobId, SplitMix};
use bergamot_writer::{Done, Outcome, Writer};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio::time::{sleep_until, timeout_at};
use tracing::{info, warn};

use crate::clock;
use crate::control::active_settings::ActiveSettings;
use crate::control::call::Waiter;
use crate::control::handle::Handle;
use crate::control::listen;
use crate::disk::directories::{self, Directories, KnownJobs};
use crate::disk::disk_info::DiskInfo;
use crate::disk::mount_guard::MountGuard;
use crate::download::disk_work::{DiskTask, DiskWork};
use crate::download::network::Network;
use crate::event::{Event, EventReceiver, EventSender};
use crate::events::progress::ProgressContext;
use crate::events::terminal::TerminalProgress;
use crate::feeds::poll::{FeedContext, FeedDriver};
use crate::feeds::rss::rss;
use crate::intake::new_job::NewJobs;
use crate::intake::url_client::Web;
use crate::intake::url_fetch::{FetchContext, Fetches};
use crate::intake::watch_folder::WatchFolder;
use crate::intake::watch_thread::WatchThread;
use crate::jobs::probes::{ProbeContext, Probes};
use crate::logging::recent::LogBook;
use crate::newsgroups::connections::SessionReport;
use crate::newsgroups::poll::{GroupContext, Newsgroups};
use crate::periodic::{Lane, Poll, Targets, end_once, new_targets, plan_once};
use crate::servers::Servers;
use crate::service_manager::ServiceManager;
use crate::service_thread::end_daemon;
use crate::settings::Settings;
use crate::shared::Current;
use crate::spool::journal_thread::JournalThread;
use crate::spool::load_queue::LoadQueue;
use crate::spool::persistent_state::{PersistentState, RETRY_EVERY};
use crate::spool::record_thread::RecordThread;
use crate::spool::state_thread::StateThread;
use crate::startup::claimant::claimant;
use crate::startup::offline_spool::open_spool;
use crate::startup::rebuild::rebuild;
use crate::views::counters;
use crate::views::files::FileViews;
use crate::views::observers::Observers;
use crate::views::periodic::TargetViews;
use crate::views::servers::quota_views;
use crate::views::view::View;
use bergamot_config::Verify;

/// Runs until a signal or a request stops it, or, if it only polls feeds, until none is due. Returns the names
/// of the feeds whose servers have refused the login.
pub async fn run(settings: Settings, log: LogBook) -> anyhow::Result<Vec<String>> {
    let (events, received) = EventSender::new();
    crate::signals::watch(events.clone())?;
    let mut daemon = Daemon::new(settings, events, log)?;
    daemon.run_loop(received).await?;
    Ok(daemon.feeds.refused())
}

pub(crate) struct Daemon {
    pub(crate) engine: Engine,
    pub(crate) engine_events: VecDeque<EngineEvent>, // that it has not handled
    pub(crate) post: Post,
    pub(crate) network: Network,
    pub(crate) disk: DiskWork,
    pub(crate) state: PersistentState,
    pub(crate) observers: Observers,
    pub(crate) settings: ActiveSettings,
    pub(crate) jobs: Jobs<Waiter>,
    pub(crate) load_queue: LoadQueue,
    pub(crate) handle: Handle,
    pub(crate) probes: Probes,
    pub(crate) newsgroups: Newsgroups,
    pub(crate) watch_folder: WatchFolder,
    pub(crate) targets: Targets,
    pub(crate) feeds: FeedDriver,
    pub(crate) fetches: Fetches,
    pub(crate) chance: SplitMix,
    pub(crate) service_manager: ServiceManager,
}

impl Daemon {
    fn new(settings: Settings, events: EventSender, log: LogBook) -> anyhow::Result<Self> {
        let (spool, found) = open_spool(&settings.state, &settings.config)?;
        let spool = Arc::new(spool);
        let mut servers = Servers::default();
        servers.replace(settings.servers)?;
        let names = servers.iter().map(|(_, server)| server.settings().name.clone()).collect();
        let (state_thread, saved) = StateThread::start(&settings.state, names, events.clone())
            .context("cannot start the state thread")?;
        let engine = bergamot_engine::Settings { used: saved.used, ..settings.engine };
        let done = events.clone();
        let on_death = events.clone();
        let writer = Writer::start_watched(
            bergamot_writer::Settings::default(),
            move |order| done.send(Event::Disk(order)),
            move |thread| end_daemon(thread, &on_death),
        );
        let now = clock::now();
        let job_settings = Current::new(settings.jobs);
        let new_jobs = NewJobs::new(spool.clone(), job_settings.clone());
        let active = ActiveSettings::new(
            (settings.config, settings.config_file),
            job_settings.clone(),
            settings.threads,
            settings.zone,
            settings.feeds_only,
        );
        let spool_view = Arc::new(new_jobs.clone());
        let jobs = Jobs::new(now, active.of_jobs(&servers), spool_view, found.records);
        // Before the first job of this run has a number.
        let known = KnownJobs::of(jobs.list(), spool.last_id());
        let intake =
            bergamot_watch::Settings { claimant: claimant(&settings.state), ..settings.intake };
        let waker = WatchThread::start(intake, new_jobs.clone(), events.clone());
        let journal_thread = JournalThread::start(spool.clone(), events.clone());
        let (mounts, mounts_warning) =
            MountGuard::open(&settings.state, active.config().storage.modes());
        let directories = jobs.list().directories();
        let record_thread =
            RecordThread::start(spool.clone(), directories, job_settings.clone(), events.clone());
        let directories = Directories::new(mounts.clone(), known, events.clone());
        directories.sweep(&job_settings.get());
        let disk_info = DiskInfo::new(mounts.clone());
        let handle = Handle {
            events: events.clone(),
            new_jobs: new_jobs.clone(),
            settings: job_settings.clone(),
            log,
            config: active.config_file().to_owned(),
            config_turn: Arc::default(),
            readers: Arc::new(Semaphore::new(MOST_READERS)),
            mounts,
            disk_info,
            directories: directories.clone(),
        };
        let polling = active.config().polling;
        let pool = BufferPool::new(engine.budget.0 as usize);
        let progress = TerminalProgress::new(settings.progress, settings.zone);
        let web = Web::new();
        let fetches = Fetches::new(web.clone(), new_jobs.clone(), spool.clone(), events.clone());
        let (config, feeds_only) = (active.config(), active.feeds_only());
        let record_thread = record_thread.context("cannot start the record thread")?;
        let journal_thread = journal_thread.context("cannot start the journal thread")?;
        let mut daemon = Self {
            chance: SplitMix::seeded(engine.seed),
            engine: Engine::new(now.instant, engine),
            engine_events: VecDeque::new(),
            post: Post::new(),
            network: Network::new(servers, pool, events.clone()),
            disk: DiskWork::new(writer.context("cannot start the writer")?),
            state: PersistentState::new(spool, record_thread, state_thread, journal_thread),
            observers: Observers::new(progress, polling.cadence, saved.volumes),
            jobs,
            load_queue: LoadQueue::new(directories, events.clone()),
            feeds: FeedDriver::new(saved.feeds, config, feeds_only, web, handle.clone()),
            handle,
            newsgroups: Newsgroups::new(config.groups.settings(), events),
            probes: Probes::default(),
            watch_folder: WatchFolder::new(waker.context("cannot start the watch thread")?),
            targets: new_targets(polling.queue),
            fetches,
            service_manager: ServiceManager::find(|name| std::env::var(name).ok()),
            settings: active,
        };
        for warning in saved.warnings.into_iter().chain(mounts_warning) {
            daemon.observers.warn(warning);
        }
        let config = daemon.settings.config();
        daemon.disk.set_reading_back(config.download.verify == Verify::Read);
        daemon.restore_choices(&saved.settings);
        let rebuilt = rebuild(&daemon.handle.new_jobs, &daemon.state.spool, &found.to_rebuild);
        rebuilt.records.into_iter().for_each(|record| daemon.jobs.insert(record));
        rebuilt.warnings.into_iter().for_each(|warning| daemon.observers.warn(warning));
        daemon.resume_queue(found.set_aside, &found.suspects, found.read_only);
        let unsettled = found.unsettled.iter();
        let unsettled = unsettled.filter_map(|job| daemon.jobs.list().record(*job).cloned());
        let incomplete = &daemon.jobs.settings().directories.incomplete;
        directories::settle(unsettled.collect(), incomplete, &daemon.handle.events);
        if !found.joined.is_empty() {
            daemon.state.record_thread.remove_all(found.joined);
        }
        if daemon.settings.feeds_only() {
            daemon.engine_events.push_back(EngineEvent::DownloadPaused);
        } else {
            daemon.set_scan_target();
        }
        let concurrency = daemon.settings.config().feeds_table.concurrency;
        daemon.targets.set_concurrency(Lane::Feeds, concurrency);
        let (feeds, mut with, _) = daemon.feeds();
        feeds.set_targets(&mut with);
        daemon.write_rss();
        Ok(daemon)
    }

    /// Goes on with what was queued.
    fn resume_queue(
        &mut self,
        set_aside: Vec<(PathBuf, String)>,
        suspects: &[JobId],
        read_only: Option<String>,
    ) {
        for (path, why) in set_aside {
            self.observers.warn(format!("{} was set aside: {why}", path.display()));
        }
        if let Some(why) = read_only {
            self.observers.warn(format!("no NZB can be taken: {why}"));
        }
        self.jobs.resume_queue(clock::now(), &self.engine, suspects);
    }

    async fn run_loop(&mut self, mut received: EventReceiver) -> anyhow::Result<()> {
        let listeners =
            listen::open(self.settings.config(), &self.handle, self.observers.hub()).await?;
        self.log_ready();
        self.service_manager.ready(self.status_line());
        self.run();
        loop {
            self.on_time();
            if self.handle.events.died().is_some()
                || self.settings.feeds_only() && self.feeds.are_done()
            {
                break;
            }
            tokio::select! {
                event = received.recv() => match event {
                    None | Some(Event::Stop) => break,
                    Some(event) => self.on(event),
                },
                () = wait_until(self.next_deadline()) => {}
            }
            // Queued events are handled in a batch before the deadlines are checked again.
            for _ in 0..LONGEST_BATCH {
                match received.try_recv() {
                    Ok(Event::Stop) => {
                        self.stop(received, listeners).await;
                        return self.how_it_ended();
                    }
                    Ok(event) => self.on(event),
                    Err(_) => break,
                }
            }
        }
        self.stop(received, listeners).await;
        self.how_it_ended()
    }

    fn how_it_ended(&self) -> anyhow::Result<()> {
        match self.handle.events.died() {
            Some(name) => anyhow::bail!("internal.panic: the thread {name} has died"),
            None => Ok(()),
        }
    }

    /// With a state directory that is not writable the daemon accepts no jobs; it only answers queries.
    fn log_ready(&self) {
        let (version, servers) = (env!("CARGO_PKG_VERSION"), self.network.servers().len());
        let state = &self.settings.config().directories.state;
        match counters::is_writable(state) {
            true => info!(version, servers, "ready"),
            false => warn!(
                version, servers, state = %state.display(),
                "up, but not ready: the state directory cannot be written to"
            ),
        }
    }

    /// The status line for systemd.
    pub(crate) fn status_line(&self) -> &'static str {
        match self.network.servers().len() {
            0 => "Waiting for a news server to be added",
            _ => "Ready",
        }
    }

    fn next_deadline(&self) -> Option<Instant> {
        let due = [self.engine.poll_timeout(), self.post.poll_timeout()];
        let planned = [self.targets.next_wake(), self.jobs.poll_timeout()];
        let to_be_kept = [self.state.next_deadline(), self.observers.next_deadline()];
        let watched = [self.service_manager.next_watchdog()];
        due.into_iter().chain(planned).chain(to_be_kept).chain(watched).flatten().min()
    }

    fn on_time(&mut self) {
        let now = clock::now().instant;
        if self.engine.poll_timeout().is_some_and(|at| now >= at) {
            self.notify_engine(EngineEvent::Timeout);
        }
        if self.post.poll_timeout().is_some_and(|at| now >= at) {
            self.notify_post(bergamot_post::Event::Timeout);
        }
        if self.jobs.poll_timeout().is_some_and(|at| now >= at) {
            self.tell_jobs(JobEvent::Timeout);
        }
        self.begin_what_is_due(now);
        for (job, number) in self.state.on_time(now) {
            self.disk.sync(job, number);
        }
        if let Some(volumes) = self.observers.traffic_mut().take_due(now) {
            self.state.state_thread.write_traffic(volumes);
        }
        if self.observers.take_queue_change() {
            self.find_current_job(now);
        }
        self.service_manager.notify_watchdog_if_due(now);
    }

    /// Begins whatever is due; each says later how it went.
    fn begin_what_is_due(&mut self, now: Instant) {
        loop {
            let taken = self.targets.take_due(now);
            if taken.is_empty() {
                return;
            }
            taken.into_iter().for_each(|target| self.begin(target));
        }
    }

    fn begin(&mut self, target: Poll) {
        let now = clock::now().instant;
        match target {
            Poll::CurrentJob => {
                self.find_current_job(now);
                self.targets.finished(now, target, &Ok::<(), ()>(()), &mut self.chance);
            }
            Poll::Feed(id) => {
                let (feeds, mut with, _) = self.feeds();
                feeds.begin(&mut with, id);
            }
            Poll::Group(number) => {
                let (newsgroups, mut with) = self.newsgroups();
                newsgroups.begin(&mut with, number);
                self.run();
            }
            Poll::Journals => {
                end_once(&mut self.targets, target);
                self.state.retry_journals();
            }
            Poll::Probe(job) => {
                let (probes, mut with) = self.probes();
                probes.begin(&mut with, job);
            }
            Poll::Progress(job) => {
                let (observers, mut with) = self.observers();
                observers.publish_progress(&mut with, job);
            }
            Poll::Rate => {
                let (observers, mut with) = self.observers();
                observers.publish_rate(&mut with);
            }
            Poll::Screen => {
                let (observers, mut with) = self.observers();
                observers.show_progress(&mut with);
            }
            Poll::Server(server) => {
                self.targets.finished(now, target, &Ok::<(), ()>(()), &mut self.chance);
                if self.engine.hold().is_none() {
                    self.notify_engine(EngineEvent::ServerProbeWanted(server));
                }
            }
            Poll::Url(job) => {
                let (fetches, mut context) = self.fetches();
                fetches.begin(&mut context, job);
            }
            Poll::WatchFolder => self.watch_folder.scan(),
        }
    }

    /// Which job is the current one, and whether jobs that wait are there, now that the queue is as it is.
    fn find_current_job(&mut self, now: Instant) {
        let check = self.settings.config().polling.active_check;
        let (observers, mut with) = self.observers();
        let current = observers.find_current_job(&mut with, now, check);
        let (probes, mut with) = self.probes();
        probes.set_targets(&mut with, now, current);
        self.run();
    }

    fn on(&mut self, event: Event) {
        match event {
            Event::Accepted(record) => drop(self.add_job(*record, false)),
            Event::Called(call) => call.answer(self),
            Event::Cleared { job, and_record: true, result } => {
                self.tell_jobs(JobEvent::Removed { job, result });
            }
            Event::Cleared { job, and_record: false, result } => {
                self.tell_jobs(JobEvent::FilesDeleted { job, result });
            }
            Event::Connection { connection, report } => self.on_report(connection, report),
            Event::Disk(done) => self.on_disk(done),
            Event::Feed(news) => {
                let (feeds, mut with, _) = self.feeds();
                feeds.on_event(&mut with, news);
            }
            Event::Fetched { job, fetched } => {
                let (fetches, mut context) = self.fetches();
                if let Some(event) = fetches.on_fetched(&mut context, job, *fetched) {
                    self.tell_jobs(event);
                }
            }
            Event::FoundDelivered(jobs) => self.tell_jobs(JobEvent::FoundDelivered(jobs)),
            Event::Session(returned) => self.on_session_report(*returned),
            Event::ReloadWanted => self.handle.begin_reload(),
            Event::JournalWritten(ticket) => {
                self.notify_post(bergamot_post::Event::TaskEnded { ticket, result: Ok(()) });
            }
            Event::Journals(result) => {
                let event = self.state.on_journals(result);
                if self.state.journal_error().is_some() {
                    self.do_once(Poll::Journals, clock::now().instant + RETRY_EVERY);
                }
                if let Some(event) = event {
                    self.observers.on_hold_changed();
                    self.notify_engine(event);
                }
            }
            Event::Loaded { job, number, loaded } => self.on_loaded(job, number, loaded),
            Event::Merged(merging) => self.on_merged(*merging),
            Event::Opened { number, opened } => self.on_opened(number, *opened),
            Event::Persisted { number, result } => self.on_persisted(number, result),
            Event::Recorded { job, is_over, result } => {
                self.tell_jobs(JobEvent::Written { job, is_over, result });
            }
            Event::Retracted { job, number } => self.disk.end_retraction(job, number),
            Event::SampleDrawn { job, drawn } => {
                let (probes, mut with) = self.probes();
                probes.on_sample_drawn(&mut with, job, drawn);
                self.run();
            }
            Event::Scanned { next } => {
                let (targets, chance) = (&mut self.targets, &mut self.chance);
                self.watch_folder.on_scanned(targets, chance, clock::now().instant, next);
            }
            Event::Settled(jobs) => self.on_settled(&jobs),
            Event::Split(splitting) => self.on_split(*splitting),
            Event::Stop | Event::ThreadDied => {} // handled by the loop itself
            Event::Surveyed(survey) => self.tell_jobs(JobEvent::Surveyed(survey)),
            Event::WatchFolderTouched => {
                self.targets.due_now(clock::now().instant, Poll::WatchFolder);
            }
        }
    }

    pub(crate) fn notify_engine(&mut self, event: EngineEvent) {
        self.engine_events.push_back(event);
        self.run();
    }

    /// Reports to the machine of jobs, and does what follows.
    pub(crate) fn tell_jobs(&mut self, event: JobEvent) {
        self.report_to_jobs(event);
        self.run();
    }

    /// The same while orders are carried out: what follows is done when there are no more of them.
    pub(crate) fn report_to_jobs(&mut self, event: JobEvent) {
        self.jobs.handle(clock::now(), &self.engine, event);
    }

    /// Runs the engine and the machine of jobs until neither has anything left to be done.
    pub(crate) fn run(&mut self) {
        loop {
            if let Some(event) = self.engine_events.pop_front() {
                self.run_engine(event);
            } else if let Some(action) = self.jobs.poll_action() {
                self.perform(action);
            } else {
                return;
            }
        }
    }

    fn run_engine(&mut self, event: EngineEvent) {
        if let EngineEvent::JobRemoved(job) = event {
            self.drive_post(bergamot_post::Event::JobRemoved(job));
        }
        self.engine.handle(clock::now(), event);
        while let Some(order) = self.engine.poll_order() {
            // What no longer holds is taken back before anything is done about it.
            if !matches!(order, Order::Note(_)) {
                self.retract();
            }
            self.carry_out(order);
        }
        self.retract();
    }

    /// What is used of the quotas is on disk, or could not be written.
    fn on_persisted(&mut self, number: u64, result: Result<(), StoreFailure>) {
        if let Err(why) = &result {
            warn!("what is used of the quotas could not be written: {why}");
        }
        let result = result.map_err(|_| DiskTrouble::Transient);
        self.notify_engine(EngineEvent::Persisted { number, result });
    }

    /// A connection for newsgroups reports a request that is over, or its own end.
    fn on_session_report(&mut self, returned: SessionReport) {
        let report = self.newsgroups.sessions().on_returned(returned);
        if let Some(server) = self.network.servers().get(report.server) {
            let name = &server.settings().name;
            self.observers.traffic_mut().count_headers(name, report.received);
        }
        if let Some(error) = report.error {
            self.network.note_error(report.server, error);
        }
        // The engine first: a server that backs off after that gets no further request.
        report.engine_events.into_iter().for_each(|event| self.notify_engine(event));
        let (newsgroups, mut with) = self.newsgroups();
        newsgroups.on_returned(&mut with, report.server, report.over);
        self.run();
    }

    pub(crate) fn view(&self) -> View<'_> {
        View {
            engine: &self.engine,
            post: &self.post,
            network: &self.network,
            disk: &self.disk,
            state: &self.state,
            observers: &self.observers,
            settings: &self.settings,
            jobs: self.jobs.list(),
            pauses: self.jobs.pauses(),
            probes: &self.probes,
            feeds: &self.feeds,
            fetches: &self.fetches,
            targets: &self.targets,
            load_trouble: self.jobs.load_trouble(),
            stuck: self.jobs.stuck_for_room(),
        }
    }

    pub(crate) fn files(&mut self) -> FileViews<'_> {
        let ids = self.observers.file_ids();
        FileViews { engine: &self.engine, jobs: self.jobs.list(), ids }
    }

    pub(crate) fn target_views(&self) -> TargetViews<'_> {
        let Self { targets, feeds, newsgroups, network, jobs, .. } = self;
        TargetViews { targets, feeds, newsgroups, network, timers: jobs.timers().collect() }
    }

    fn observers(&mut self) -> (&mut Observers, ProgressContext<'_>) {
        let Self { engine, jobs, targets, chance, .. } = self;
        (&mut self.observers, ProgressContext { engine, jobs: jobs.list(), targets, chance })
    }

    pub(crate) fn feeds(&mut self) -> (&mut FeedDriver, FeedContext<'_>, &ActiveSettings) {
        let Self { feeds, jobs, targets, chance, state, observers, settings, .. } = self;
        let (state_thread, hub) = (&state.state_thread, observers.hub());
        (feeds, FeedContext { jobs: jobs.list(), targets, chance, state_thread, hub }, settings)
    }

    pub(crate) fn fetches(&mut self) -> (&mut Fetches, FetchContext<'_>) {
        let Self { fetches, feeds, jobs, targets, chance, state, observers, settings, .. } = self;
        let (state_thread, hub) = (&state.state_thread, observers.hub());
        let with = FeedContext { jobs: jobs.list(), targets, chance, state_thread, hub };
        (fetches, FetchContext { feeds, with, settings: settings.jobs() })
    }

    pub(crate) fn probes(&mut self) -> (&mut Probes, ProbeContext<'_>) {
        let Self { probes, engine, engine_events, jobs, network, targets, chance, .. } = self;
        let (jobs, servers, hub) = (jobs.list(), network.servers(), self.observers.hub());
        let settings = self.settings.config().probes;
        let handle = &self.handle;
        let context = ProbeContext {
            engine,
            engine_events,
            jobs,
            servers,
            targets,
            chance,
            hub,
            settings,
            handle,
        };
        (probes, context)
    }

    pub(crate) fn newsgroups(&mut self) -> (&mut Newsgroups, GroupContext<'_>) {
        let Self { newsgroups, engine, engine_events, network, targets, chance, .. } = self;
        (newsgroups, GroupContext { engine, engine_events, network, targets, chance })
    }

    pub(crate) fn do_once(&mut self, target: Poll, at: Instant) {
        plan_once(&mut self.targets, target, at);
    }

    pub(crate) fn set_scan_target(&mut self) {
        let interval = self.settings.config().watch.scan_interval;
        let (now, paused) = (clock::now().instant, self.jobs.pauses().scan.is_some());
        WatchFolder::set_target(&mut self.targets, now, interval, paused);
    }

    pub(crate) fn rss(&self) -> String {
        rss(&self.settings.config().feeds_table.channel(), self.jobs.list())
    }

    /// Writes the file anew, if there is to be one.
    pub(crate) fn write_rss(&self) {
        if let Some(path) = &self.settings.config().feeds_table.output {
            self.state.state_thread.write_rss(path.clone(), self.rss());
        }
    }

    pub(crate) fn publish(&mut self, change: Change) {
        match change {
            Change::Added(job) => {
                if let Some(record) = self.jobs.list().record(job) {
                    self.observers.publish_added(record);
                }
            }
            Change::Ended(record) => {
                let category = self.settings.measured_category(record.category.as_deref());
                let state = self.view().state_of(&record);
                self.observers.counters_mut().on_end(category, state);
                self.publish_state(&record);
            }
            Change::Edited(job) => self.observers.publish_changed(job),
            Change::PauseEnded => drop(self.obey_pauses()),
            Change::Removed(job) => {
                self.probes.forget(job);
                self.observers.publish_removed(job);
            }
            Change::State(job) => {
                if let Some(record) = self.jobs.list().record(job) {
                    self.publish_state(record);
                }
            }
            Change::Room(trouble) => self.publish_disk(trouble),
        }
    }

    fn publish_state(&self, record: &Record) {
        if matches!(record.ending(), Some(Ending::Completed { .. })) {
            self.write_rss();
        }
        let reason = record.reason().or_else(|| self.jobs.list().held_for(record.id));
        self.observers.publish_state(record.id, self.view().state_of(record), reason);
    }

    pub(crate) fn publish_disk(&mut self, trouble: Option<String>) {
        let path = self.settings.jobs().directories.incomplete.to_string_lossy().into_owned();
        self.observers.publish_disk(path, trouble);
    }

    pub(crate) fn publish_quotas(&mut self) {
        self.observers.publish_quotas(quota_views(&mut self.engine, &self.network));
    }

    /// What is recorded on disk is kept; articles in flight are dropped, and fetched again after the next start.
    async fn stop(&mut self, mut received: EventReceiver, listeners: Server) {
        info!("stopping");
        self.service_manager.stopping();
        // Requests under way are answered while the connections close. After a panic the listeners stay
        // open for as long as the stop takes, so that `/readyz` can say what happened.
        let (closing, open) = match self.handle.events.died() {
            None => (Some(tokio::spawn(listeners.stop())), None),
            Some(_) => (None, Some(listeners)),
        };
        self.observers.terminal.clear();
        self.network.hang_up_all();
        let goodbyes = tokio::time::Instant::now() + GOODBYE_PATIENCE;
        while self.network.open_count() > 0 {
            match timeout_at(goodbyes, received.recv()).await {
                Ok(Some(Event::Connection { connection, report: Report::Ended { .. } })) => {
                    self.network.forget(connection);
                }
                Ok(Some(Event::Disk(done))) => self.on_disk_at_the_end(done),
                Ok(Some(_)) => {}
                Ok(None) | Err(_) => break,
            }
        }
        if !self.disk.shut_down() {
            warn!("the disk still holds on to a write");
        }
        while let Ok(event) = received.try_recv() {
            if let Event::Disk(done) = event {
                self.on_disk_at_the_end(done);
            }
        }
        // The loop has ended, so records that changed during their last write are written here.
        for record in self.jobs.unwritten() {
            self.state.record_thread.update(record.clone());
        }
        if let Some(records) = self.engine.closing_records(clock::now()) {
            self.state.state_thread.close(&records);
        }
        self.state.state_thread.write_traffic(self.observers.traffic_mut().take());
        self.state.stop();
        closing.inspect(JoinHandle::abort);
        drop(open);
        info!("stopped");
    }

    /// A file that got its name in the last moment is worth remembering.
    fn on_disk_at_the_end(&mut self, done: Done<Buffer>) {
        if let Some((DiskTask::FinishFile { file, read_back }, Ok(Outcome::Named(name)))) =
            self.disk.on_done(done)
        {
            self.note_finished(file, name.as_str(), read_back);
        }
    }
}

async fn wait_until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline.into()).await,
        None => std::future::pending().await,
    }
}

/// NZBs that are read at the same time: enough for a burst of small ones, few enough for large ones.
const MOST_READERS: usize = 16;

/// Enough to catch up, and not so much that a stop would have to wait.
const LONGEST_BATCH: usize = 256;

/// A stop has three seconds in all: for the servers, the writer (one second) and the state threads.
const GOODBYE_PATIENCE: Duration = Duration::from_millis(700);

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;
    use std::path::Path;

    use super::*;
    use crate::service_thread::service_thread;
    use bergamot_config::{Config, Environment};

    /// What `/readyz` answers over the socket.
    fn readiness(socket: &Path) -> std::io::Result<String> {
        let mut stream = UnixStream::connect(socket)?;
        stream
            .write_all(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_thread_that_dies_ends_the_daemon_with_an_error_that_names_it() {
        let home = tempfile::tempdir().expect("a directory");
        let socket = home.path().join("control.sock");
        let text = format!(
            "[directories]\nwatch = \"w\"\nincomplete = \"i\"\ncomplete = \"c\"\nstate = \"s\"\n\
             [control]\naddress = \"\"\nsocket = {:?}\n",
            socket.display().to_string()
        );
        let config = Config::parse(text.as_bytes(), home.path(), &Environment::default());
        let config = config.unwrap_or_else(|problems| panic!("{problems:?}"));
        let (events, received) = EventSender::new();
        let settings = Settings::new(&config, 2);
        let mut daemon =
            Daemon::new(settings, events.clone(), LogBook::default()).expect("it starts");
        service_thread("journals", &events, || panic!("on purpose")).expect("a thread");
        while events.died().is_none() {
            tokio::task::yield_now().await;
        }
        // The main loop does not run, as while it stops.
        let listeners =
            listen::open(daemon.settings.config(), &daemon.handle, daemon.observers.hub()).await;
        let listeners = listeners.expect("it can listen");
        let answer = tokio::task::spawn_blocking(move || readiness(&socket)).await;
        let answer = answer.expect("no panic").expect("it answers");
        assert!(answer.starts_with("HTTP/1.1 503") && answer.contains("journals"), "{answer}");
        listeners.stop().await;
        let error = daemon.run_loop(received).await.expect_err("a thread has died").to_string();
        assert_eq!(error, "internal.panic: the thread journals has died");
    }
}
