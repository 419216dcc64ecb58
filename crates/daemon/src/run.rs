//! The loop.

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use bergamot_engine::{Engine, Event};
use bergamot_jobs::Jobs;
use bergamot_jobs::machine::Event as JobEvent;
use bergamot_net::{Buffer, BufferPool, Report};
use bergamot_post::Post;
use bergamot_rpc::{Hub, Server};
use bergamot_types::{JobId, ServerId, SplitMix};
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
use crate::disk::directories::{KnownJobs, Roots};
use crate::disk::disk_info::Places;
use crate::disk::mount_guard::MountGuard;
use crate::download::disk_work::{AtDisk, DiskWork};
use crate::download::network::Network;
use crate::event::{Happening, Inbox, Outbox};
use crate::events::progress::Published;
use crate::events::terminal::Progress;
use crate::feeds::poll::FeedRoom;
use crate::intake::new_job::Reception;
use crate::intake::url_client::Web;
use crate::intake::url_fetch::Fetches;
use crate::intake::watch_thread::{Desk, DeskBell};
use crate::jobs::probes::Probes;
use crate::logging::recent::LogBook;
use crate::newsgroups::poll::Newsgroups;
use crate::periodic::{Lane, Poll, Targets, new_targets};
use crate::servers::Servers;
use crate::service_manager::Supervisor;
use crate::service_thread::end_daemon;
use crate::settings::Settings;
use crate::shared::Current;
use crate::spool::journal_buffer::Notes;
use crate::spool::journal_thread::Scribe;
use crate::spool::load_queue::LoadQueue;
use crate::spool::persistent_state::PersistentState;
use crate::spool::record_thread::Keeper;
use crate::spool::state_thread::Clerk;
use crate::startup::claimant::claimant;
use crate::startup::offline_spool::open_spool;
use crate::views::counters::{self, Tallies};
use crate::views::file_ids::FileIds;
use crate::views::observers::Observers;
use crate::views::rate::Pace;
use crate::views::traffic::Volumes;
use bergamot_config::Verify;

/// Runs until it is told to stop, or until no feed is due where that is all it does. Returns the names
/// of the feeds whose servers have refused the login.
pub async fn run(settings: Settings, log: LogBook) -> anyhow::Result<Vec<String>> {
    let (outbox, inbox) = Outbox::new();
    crate::signals::watch(outbox.clone())?;
    let mut daemon = Daemon::new(settings, outbox, log)?;
    daemon.converse(inbox).await?;
    Ok(daemon.refused_feeds())
}

pub(crate) struct Daemon {
    pub(crate) engine: Engine,
    pub(crate) events: VecDeque<Event>, // for the engine
    pub(crate) post: Post,
    pub(crate) network: Network,
    pub(crate) disk: DiskWork,
    pub(crate) state: PersistentState,
    pub(crate) observers: Observers,
    pub(crate) settings: ActiveSettings,
    pub(crate) jobs: Jobs<Waiter>,
    pub(crate) reception: Reception,
    pub(crate) outbox: Outbox,
    pub(crate) handle: Handle, // for those who want to talk to it
    pub(crate) probes: Probes,
    pub(crate) newsgroups: Newsgroups,
    bell: DeskBell,
    pub(crate) targets: Targets,
    pub(crate) feeds: FeedRoom,
    pub(crate) web: Web,
    pub(crate) fetches: Fetches,
    pub(crate) chance: SplitMix,
    pub(crate) supervisor: Supervisor,
    pub(crate) load_queue: LoadQueue,
}

impl Daemon {
    fn new(settings: Settings, outbox: Outbox, log: LogBook) -> anyhow::Result<Self> {
        let (spool, found) = open_spool(&settings.state, &settings.config)?;
        let spool = Arc::new(spool);
        let mut servers = Servers::default();
        servers.replace(settings.servers)?;
        let names = servers.iter().map(|(_, server)| server.settings().name.clone()).collect();
        let (clerk, left) = Clerk::start(&settings.state, names, outbox.clone())
            .context("cannot start the clerk")?;
        let engine = bergamot_engine::Settings { used: left.used, ..settings.engine };
        let done = outbox.clone();
        let on_death = outbox.clone();
        let writer = Writer::start_watched(
            bergamot_writer::Settings::default(),
            move |order| done.tell(Happening::Disk(order)),
            move |thread| end_daemon(thread, &on_death),
        );
        let now = clock::now();
        let job_settings = Current::new(settings.jobs);
        let reception = Reception::new(spool.clone(), job_settings.clone());
        let active = ActiveSettings {
            config: settings.config,
            config_file: settings.config_file,
            job_settings: job_settings.clone(),
            chosen_rate: None,
            switched: BTreeMap::new(),
            threads: settings.threads,
            zone: settings.zone,
            started: now.date,
            feeds_only: settings.feeds_only,
            scan_waiters: Vec::new(),
        };
        let spool_view = Arc::new(reception.clone());
        let jobs = Jobs::new(now, active.of_jobs(&servers), spool_view, found.records);
        // Before the first job of this run has a number.
        let known = KnownJobs::of(jobs.list(), spool.last_id());
        let intake =
            bergamot_watch::Settings { claimant: claimant(&settings.state), ..settings.intake };
        let bell = Desk::start(intake, reception.clone(), outbox.clone());
        let scribe = Scribe::start(spool.clone(), outbox.clone());
        let (grounds, grounds_told) =
            MountGuard::open(&settings.state, active.config.storage.modes());
        let directories = jobs.list().directories();
        let keeper =
            Keeper::start(spool.clone(), directories, job_settings.clone(), outbox.clone());
        let roots = Roots::new(grounds.clone(), known, outbox.clone());
        roots.sweep(&job_settings.get());
        let places = Places::new(grounds.clone());
        let handle = Handle {
            outbox: outbox.clone(),
            reception: reception.clone(),
            settings: job_settings.clone(),
            log,
            config: active.config_file.clone(),
            config_turn: Arc::default(),
            readers: Arc::new(Semaphore::new(MOST_READERS)),
            grounds,
            places: places.clone(),
            roots: roots.clone(),
        };
        let polling = active.config.polling;
        let pool = BufferPool::new(engine.budget.0 as usize);
        let mut daemon = Self {
            handle,
            chance: SplitMix::seeded(engine.seed),
            engine: Engine::new(now.instant, engine),
            events: VecDeque::new(),
            post: Post::new(),
            network: Network::new(servers, pool),
            disk: DiskWork::new(writer.context("cannot start the writer")?),
            state: PersistentState {
                spool,
                keeper: keeper.context("cannot start the keeper")?,
                clerk,
                scribe: scribe.context("cannot start the scribe")?,
                notes: Notes::default(),
                journal_trouble: None,
            },
            observers: Observers {
                progress: Progress::new(settings.progress, settings.zone),
                pace: Pace::new(now.instant),
                file_ids: FileIds::default(),
                hub: Hub::new(clock::boot()),
                published: Published::new(polling.cadence),
                volumes: Volumes::new(left.volumes),
                tallies: Tallies::default(),
                held_since: now.date,
                warnings: Vec::new(),
            },
            jobs,
            reception,
            outbox,
            feeds: FeedRoom::new(left.feeds, &active.config, active.feeds_only),
            newsgroups: Newsgroups::new(active.config.groups.settings()),
            probes: Probes::default(),
            bell: bell.context("cannot start the desk")?,
            targets: new_targets(polling.queue),
            web: Web::new(),
            fetches: Fetches::default(),
            supervisor: Supervisor::find(|name| std::env::var(name).ok()),
            load_queue: LoadQueue::new(roots),
            settings: active,
        };
        for told in left.told.into_iter().chain(grounds_told) {
            warn!("{told}");
            daemon.observers.warnings.push(told);
        }
        daemon.disk.sums.want(daemon.settings.config.download.verify == Verify::Read);
        daemon.take_up_choices(&left.settings);
        daemon.rebuild(&found.to_rebuild);
        daemon.take_up(found.set_aside, &found.suspects, found.read_only);
        daemon.settle_again(&found.unsettled);
        if !found.joined.is_empty() {
            daemon.state.keeper.remove_all(found.joined);
        }
        if daemon.settings.feeds_only {
            daemon.events.push_back(Event::DownloadPaused);
        } else {
            daemon.set_scan_target(now.instant, daemon.jobs.pauses().scan.is_some());
        }
        daemon.targets.set_concurrency(Lane::Feeds, daemon.settings.config.feeds_table.concurrency);
        daemon.set_feed_targets();
        daemon.keep_rss();
        Ok(daemon)
    }

    /// Goes on with what was queued.
    fn take_up(
        &mut self,
        set_aside: Vec<(PathBuf, String)>,
        suspects: &[JobId],
        read_only: Option<String>,
    ) {
        for (path, why) in set_aside {
            warn!(path = %path.display(), "set aside: {why}");
            self.observers.warnings.push(format!("{} was set aside: {why}", path.display()));
        }
        if let Some(why) = read_only {
            warn!("no NZB can be taken: {why}");
            self.observers.warnings.push(format!("no NZB can be taken: {why}"));
        }
        self.jobs.resume_queue(clock::now(), &self.engine, suspects);
    }

    async fn converse(&mut self, mut inbox: Inbox) -> anyhow::Result<()> {
        let doors = listen::open(&self.settings.config, &self.handle, &self.observers.hub).await?;
        self.tell_ready();
        self.supervisor.ready(self.supervised_status());
        self.run();
        loop {
            self.on_time();
            if self.outbox.died().is_some() || self.settings.feeds_only && self.feeds_are_done() {
                break;
            }
            tokio::select! {
                happening = inbox.recv() => match happening {
                    None | Some(Happening::Stop) => break,
                    Some(happening) => self.on(happening),
                },
                () = wait_until(self.next_deadline()) => {}
            }
            // What has piled up is dealt with before the clock is looked at again.
            for _ in 0..LONGEST_BATCH {
                match inbox.try_recv() {
                    Ok(Happening::Stop) => {
                        self.stop(inbox, doors).await;
                        return self.how_it_ended();
                    }
                    Ok(happening) => self.on(happening),
                    Err(_) => break,
                }
            }
        }
        self.stop(inbox, doors).await;
        self.how_it_ended()
    }

    fn how_it_ended(&self) -> anyhow::Result<()> {
        match self.outbox.died() {
            Some(name) => anyhow::bail!("internal.panic: the thread {name} has died"),
            None => Ok(()),
        }
    }

    /// What cannot be written down is not taken: it can be asked, and that is all.
    fn tell_ready(&self) {
        let (version, servers) = (env!("CARGO_PKG_VERSION"), self.network.servers.len());
        let state = &self.settings.config.directories.state;
        match counters::is_writable(state) {
            true => info!(version, servers, "ready"),
            false => warn!(
                version, servers, state = %state.display(),
                "up, but not ready: the state directory cannot be written to"
            ),
        }
    }

    /// One line for those who ask what started it.
    pub(crate) fn supervised_status(&self) -> &'static str {
        match self.network.servers.len() {
            0 => "Waiting for a news server to be added",
            _ => "Ready",
        }
    }

    fn next_deadline(&self) -> Option<Instant> {
        let due = [self.engine.poll_timeout(), self.post.poll_timeout()];
        let planned = [self.targets.next_wake(), self.jobs.poll_timeout()];
        let to_be_kept = [self.state.notes.next_deadline(), self.observers.volumes.next_deadline()];
        let watched = [self.supervisor.next_sign()];
        due.into_iter().chain(planned).chain(to_be_kept).chain(watched).flatten().min()
    }

    fn on_time(&mut self) {
        let now = clock::now().instant;
        if self.engine.poll_timeout().is_some_and(|at| now >= at) {
            self.tell_engine(Event::Timeout);
        }
        if self.post.poll_timeout().is_some_and(|at| now >= at) {
            self.tell_post(bergamot_post::Event::Timeout);
        }
        if self.jobs.poll_timeout().is_some_and(|at| now >= at) {
            self.tell_jobs(JobEvent::Timeout);
        }
        self.begin_what_is_due(now);
        self.notes_on_time(now);
        self.keep_volumes_if_due(now);
        self.see_to_publication(now);
        self.supervisor.give_sign_if_due(now);
    }

    pub(crate) fn ring(&self) {
        self.bell.ring();
    }

    fn on(&mut self, happening: Happening) {
        match happening {
            Happening::Accepted(record) => drop(self.add_job(*record, false)),
            Happening::Called(call) => call.answer(self),
            Happening::Cleared { job, and_record: true, result } => {
                self.tell_jobs(JobEvent::Removed { job, result });
            }
            Happening::Cleared { job, and_record: false, result } => {
                self.tell_jobs(JobEvent::FilesDeleted { job, result });
            }
            Happening::Connection { connection, report } => self.on_report(connection, report),
            Happening::Disk(done) => self.on_disk(done),
            Happening::Feed(news) => self.on_feed(news),
            Happening::Fetched { job, fetched } => self.on_fetched(job, *fetched),
            Happening::FoundDelivered(jobs) => self.tell_jobs(JobEvent::FoundDelivered(jobs)),
            Happening::ErrandReturned(returned) => self.on_errand_returned(*returned),
            Happening::ReloadWanted => self.reload(),
            Happening::JournalWritten(ticket) => self.on_journal_written(ticket),
            Happening::Journals(result) => self.on_journals(result),
            Happening::Loaded { job, number, loaded } => self.on_loaded(job, number, loaded),
            Happening::Merged(merging) => self.on_merged(*merging),
            Happening::Opened { number, opened } => self.on_opened(number, *opened),
            Happening::Persisted { number, result } => self.on_persisted(number, result),
            Happening::Recorded { job, is_over, result } => {
                self.tell_jobs(JobEvent::Written { job, is_over, result });
            }
            Happening::Retracted { job, number } => self.on_retracted(job, number),
            Happening::SampleDrawn { job, drawn } => self.on_sample_drawn(job, drawn),
            Happening::Scanned { next } => self.on_scanned(next),
            Happening::Settled(jobs) => self.on_settled(&jobs),
            Happening::Split(splitting) => self.on_split(*splitting),
            Happening::Stop | Happening::ThreadDied => {} // looked at by the loop
            Happening::Surveyed(survey) => self.tell_jobs(JobEvent::Surveyed(survey)),
            Happening::WatchFolderTouched => {
                self.targets.due_now(clock::now().instant, Poll::WatchFolder);
            }
        }
    }

    pub(crate) fn tell_engine(&mut self, event: Event) {
        self.events.push_back(event);
        self.run();
    }

    pub(crate) fn name(&self, server: ServerId) -> &str {
        self.network.servers.get(server).map_or("?", |server| &server.settings().name)
    }

    /// What is on disk and on record is kept; what is under way is dropped and asked for again.
    async fn stop(&mut self, mut inbox: Inbox, doors: Server) {
        info!("stopping");
        self.supervisor.stopping();
        // Requests under way are answered while the connections say goodbye. After a panic the doors stay
        // open for as long as the stop takes, so that `/readyz` can say what happened.
        let (closing, open) = match self.outbox.died() {
            None => (Some(tokio::spawn(doors.stop())), None),
            Some(_) => (None, Some(doors)),
        };
        self.observers.progress.clear();
        for known in self.network.connections.values_mut() {
            known.handle.hang_up();
        }
        let goodbyes = tokio::time::Instant::now() + GOODBYE_PATIENCE;
        while !self.network.connections.is_empty() {
            match timeout_at(goodbyes, inbox.recv()).await {
                Ok(Some(Happening::Connection { connection, report: Report::Ended { .. } })) => {
                    self.network.connections.remove(&connection);
                }
                Ok(Some(Happening::Disk(done))) => self.on_disk_at_the_end(done),
                Ok(Some(_)) => {}
                Ok(None) | Err(_) => break,
            }
        }
        if !self.disk.writer.shutdown() {
            warn!("the disk still holds on to a write");
        }
        while let Ok(happening) = inbox.try_recv() {
            if let Happening::Disk(done) = happening {
                self.on_disk_at_the_end(done);
            }
        }
        // Nobody is left to hear that a record is written and has to be written once more.
        for record in self.jobs.unwritten() {
            self.state.keeper.update(record.clone());
        }
        if let Some(records) = self.engine.closing_records(clock::now()) {
            self.state.clerk.close(&records);
        }
        self.write_notes();
        self.keep_volumes();
        self.state.scribe.stop(CLERK_PATIENCE);
        self.state.keeper.stop(KEEPER_PATIENCE);
        self.state.clerk.stop(CLERK_PATIENCE);
        closing.inspect(JoinHandle::abort);
        drop(open);
        info!("stopped");
    }

    /// A file that got its name in the last moment is worth remembering.
    fn on_disk_at_the_end(&mut self, done: Done<Buffer>) {
        if let Some(AtDisk::FinishFile { file, read_back }) = self.disk.at_disk.remove(&done.ticket)
            && let Ok(Outcome::Named(name)) = done.result
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

/// A stop has three seconds in all: for the servers, the writer (one second), the keeper, and the
/// clerk, who writes while the keeper does.
const GOODBYE_PATIENCE: Duration = Duration::from_millis(700);
const KEEPER_PATIENCE: Duration = Duration::from_millis(1000);
const CLERK_PATIENCE: Duration = Duration::from_millis(200);

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;
    use std::path::Path;

    use super::*;
    use crate::service_thread::vital_thread;
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
        let (outbox, inbox) = Outbox::new();
        let settings = Settings::new(&config, 2);
        let mut daemon =
            Daemon::new(settings, outbox.clone(), LogBook::default()).expect("it starts");
        vital_thread("scribe", &outbox, || panic!("on purpose")).expect("a thread");
        while outbox.died().is_none() {
            tokio::task::yield_now().await;
        }
        // The main loop does not run, as while it stops.
        let doors =
            listen::open(&daemon.settings.config, &daemon.handle, &daemon.observers.hub).await;
        let doors = doors.expect("it can listen");
        let answer = tokio::task::spawn_blocking(move || readiness(&socket)).await;
        let answer = answer.expect("no panic").expect("it answers");
        assert!(answer.starts_with("HTTP/1.1 503") && answer.contains("scribe"), "{answer}");
        doors.stop().await;
        let error = daemon.converse(inbox).await.expect_err("a thread has died").to_string();
        assert_eq!(error, "internal.panic: the thread scribe has died");
    }
}
