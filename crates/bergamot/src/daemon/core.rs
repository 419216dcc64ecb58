//! The loop.

use std::collections::{HashMap, HashSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use bergamot_engine::{ConnectionId, Engine, Event, Fault, Ticket};
use bergamot_limit::Zone;
use bergamot_net::{Buffer, BufferPool, Connection, Report, Server};
use bergamot_poll::{Queue as PollQueue, Wanted};
use bergamot_queue::{FileKey, Part};
use bergamot_store::{JobState, Record, Spool};
use bergamot_types::{ByteCount, JobId, ServerId, Shown, SplitMix};
use bergamot_writer::{Done, Outcome, Writer};
use bergamot_yenc::Check;
use tokio::time::{sleep_until, timeout_at};
use tracing::{debug, field, info, warn};

use super::clerk::Clerk;
use super::desk::{Desk, DeskBell};
use super::happening::{Happening, Inbox, Outbox};
use super::jobs::{ActiveJob, Farewell, Jobs, Recording};
use super::keeper::{Keeper, Loaded, Ready, path_of};
use super::nzb_job::new_job;
use super::outages::Outages;
use super::settings::{JobSettings, Settings};
use super::trouble;
use crate::clock;
use crate::progress::Progress;

/// Runs until it is told to stop.
pub(crate) async fn run(settings: Settings) -> anyhow::Result<()> {
    let (outbox, inbox) = Outbox::new();
    crate::signals::watch(outbox.clone())?;
    let mut daemon = Daemon::new(settings, outbox)?;
    daemon.converse(inbox).await;
    Ok(())
}

pub(super) struct Daemon {
    pub(super) engine: Engine,
    pub(super) events: VecDeque<Event>, // for the engine
    pub(super) servers: Vec<Arc<Server>>,
    pub(super) connections: HashMap<ConnectionId, OpenConnection>,
    pub(super) greeted: HashSet<ServerId>, // people know that they can be reached
    pub(super) troubles: HashMap<ServerId, String>, // the last of each server, for people
    pub(super) outages: Outages,
    pub(super) pool: BufferPool,
    pub(super) decoded: HashMap<Ticket, Buffer>, // until the engine says what becomes of them
    pub(super) writer: Writer<Buffer>,
    pub(super) at_disk: HashMap<u64, AtDisk>,
    pub(super) last_disk_order: u64,
    pub(super) jobs: Jobs,
    pub(super) job_settings: Arc<JobSettings>,
    pub(super) keeper: Keeper,
    pub(super) clerk: Clerk,
    pub(super) zone: Zone, // in which people read the time
    pub(super) outbox: Outbox,
    pub(super) progress: Progress,
    bell: DeskBell,
    polls: PollQueue<Poll, ()>,
    chance: SplitMix,
    load_again: Option<Instant>, // when to try again to load jobs that could not be
    load_trouble: Option<String>, // why they could not, as far as people know
    records_again: Option<Instant>, // when to try again to write records that could not be
}

pub(super) struct OpenConnection {
    pub(super) handle: Connection,
    pub(super) server: ServerId,
    pub(super) ready: bool,
}

/// What the writer has been told to do.
#[derive(Debug)]
pub(super) enum AtDisk {
    DeleteFiles(JobId),
    FinishFile(FileKey),
    FinishJob { job: JobId, verified: bool },
    Reserve,
    Settle(Box<ActiveJob>),
    Write(Ticket),
}

/// What is done again and again.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Poll {
    WatchFolder,
}

impl Daemon {
    fn new(settings: Settings, outbox: Outbox) -> anyhow::Result<Self> {
        let spool_path = settings.state.join("spool");
        let (spool, found) = Spool::open(&spool_path)
            .map_err(|error| anyhow::anyhow!("{}: {error}", error.code()))
            .context("cannot open the spool")?;
        let spool = Arc::new(spool);
        let names = settings.servers.iter().map(|server| server.name.clone()).collect();
        let (clerk, used) = Clerk::start(&settings.state, names, outbox.clone())
            .context("cannot start the clerk")?;
        let engine = bergamot_engine::Settings { used, ..settings.engine };
        let servers = settings.servers.into_iter().map(|server| {
            let name = server.name.clone();
            Server::new(server).map(Arc::new).with_context(|| format!("server {name}"))
        });
        let servers = servers.collect::<anyhow::Result<Vec<_>>>()?;
        let done = outbox.clone();
        let writer = Writer::start(bergamot_writer::Settings::default(), move |order| {
            done.tell(Happening::Disk(order));
        });
        let (interval, jobs) = (settings.intake.interval, settings.jobs);
        let bell = Desk::start(settings.intake, spool.clone(), jobs.clone(), outbox.clone());
        let keeper = Keeper::start(spool, jobs.clone(), outbox.clone());
        let mut daemon = Self {
            pool: BufferPool::new(engine.budget.0 as usize),
            chance: SplitMix::seeded(engine.seed),
            engine: Engine::new(clock::now().instant, engine),
            events: VecDeque::new(),
            servers,
            connections: HashMap::new(),
            greeted: HashSet::new(),
            troubles: HashMap::new(),
            outages: Outages::default(),
            decoded: HashMap::new(),
            writer: writer.context("cannot start the writer")?,
            at_disk: HashMap::new(),
            last_disk_order: 0,
            jobs: Jobs::default(),
            job_settings: jobs,
            keeper: keeper.context("cannot start the keeper")?,
            clerk,
            zone: settings.zone,
            outbox,
            progress: Progress::new(settings.progress, settings.zone),
            bell: bell.context("cannot start the desk")?,
            polls: PollQueue::new(bergamot_poll::Settings::default()),
            load_again: None,
            load_trouble: None,
            records_again: None,
        };
        daemon.take_up(found.records, found.set_aside);
        let scan = Wanted { kind: (), interval, priority: 0, enabled: true };
        daemon.polls.set(clock::now().instant, Poll::WatchFolder, scan);
        Ok(daemon)
    }

    /// Goes on with what was queued.
    fn take_up(&mut self, records: Vec<Record>, set_aside: Vec<(PathBuf, String)>) {
        for (path, why) in set_aside {
            warn!(path = %path.display(), "set aside: {why}");
        }
        let queued = records.into_iter().filter(|record| record.state == JobState::Queued);
        queued.for_each(|record| self.jobs.wait(record));
        if self.jobs.waiting_count() > 0 {
            info!(jobs = self.jobs.waiting_count(), "going on with what was queued");
        }
    }

    async fn converse(&mut self, mut inbox: Inbox) {
        info!(version = env!("CARGO_PKG_VERSION"), servers = self.servers.len(), "ready");
        self.load_next();
        loop {
            self.on_time();
            tokio::select! {
                happening = inbox.recv() => match happening {
                    None | Some(Happening::Stop) => return self.stop(inbox).await,
                    Some(happening) => self.on(happening),
                },
                () = wait_until(self.next_deadline()) => {}
            }
            // What has piled up is dealt with before the clock is looked at again.
            for _ in 0..LONGEST_BATCH {
                match inbox.try_recv() {
                    Ok(Happening::Stop) => return self.stop(inbox).await,
                    Ok(happening) => self.on(happening),
                    Err(_) => break,
                }
            }
        }
    }

    fn next_deadline(&self) -> Option<Instant> {
        let engine = self.engine.poll_timeout();
        let progress = self.progress.next_draw(self.engine.jobs().next().is_some());
        let again = [self.load_again, self.records_again];
        let all = [engine, self.polls.next_wake(), progress].into_iter().chain(again);
        all.flatten().min()
    }

    fn on_time(&mut self) {
        let now = clock::now().instant;
        if self.engine.poll_timeout().is_some_and(|at| now >= at) {
            self.tell_engine(Event::Timeout);
        }
        for Poll::WatchFolder in self.polls.take_due(now) {
            self.bell.ring();
        }
        if self.records_again.is_some_and(|at| now >= at) {
            self.records_again = None;
            let stale: Vec<_> = self.jobs.active().map(|job| job.record.id).collect();
            stale.into_iter().for_each(|job| self.record(job));
        }
        if self.load_again.is_some_and(|at| now >= at) {
            self.load_again = None;
            self.load_next();
        }
        self.progress.draw_if_due(now, &self.engine, &self.jobs);
    }

    fn on(&mut self, happening: Happening) {
        match happening {
            Happening::Accepted(record) => self.on_accepted(*record),
            Happening::Connection { connection, report } => self.on_report(connection, report),
            Happening::Disk(done) => self.on_disk(done),
            Happening::Loaded { job, loaded } => self.on_loaded(job, loaded),
            Happening::Persisted { number, result } => self.on_persisted(number, result),
            Happening::Recorded { job, result } => self.on_recorded(job, result),
            Happening::Scanned { next } => {
                let now = clock::now().instant;
                self.polls.set_interval(now, Poll::WatchFolder, next);
                let ok = Ok::<(), ()>(());
                self.polls.finished(now, Poll::WatchFolder, &ok, &mut self.chance);
            }
            Happening::Stop => {}
            Happening::WatchFolderTouched => {
                self.polls.due_now(clock::now().instant, Poll::WatchFolder);
            }
        }
    }

    fn on_accepted(&mut self, record: Record) {
        info!(job = %record.id, name = %Shown(&record.name), category = record.category, "added");
        self.jobs.wait(record);
        self.load_next();
    }

    pub(super) fn load_next(&mut self) {
        if self.load_again.is_some() {
            return;
        }
        while let Some(record) = self.jobs.next_to_load() {
            self.keeper.load(record);
        }
    }

    fn on_loaded(&mut self, job: JobId, loaded: Loaded) {
        self.jobs.loaded(job);
        match loaded {
            Loaded::Ready(ready) => self.start_job(*ready),
            Loaded::Done(record) => {
                info!(job = %record.id, destination = record.destination, "had been completed");
            }
            Loaded::Failed(record) => {
                announce_failure(&record, Path::new(record.directory.as_deref().unwrap_or("")));
            }
            Loaded::Waits { record, why } => self.on_unloadable(*record, why),
        }
        self.load_next();
    }

    /// What hinders one job just now, hinders the others too; so they all wait, and people are told
    /// once.
    fn on_unloadable(&mut self, record: Record, why: String) {
        if self.load_trouble.as_ref() != Some(&why) {
            warn!(job = %record.id, name = %Shown(&record.name), "cannot be started yet: {why}");
        }
        self.load_trouble = Some(why);
        self.load_again = Some(clock::now().instant + DISK_PAUSE);
        self.jobs.wait(record);
    }

    fn start_job(&mut self, ready: Ready) {
        let Ready { record, nzb, directory, destination } = ready;
        self.load_trouble = None;
        let segments = nzb.segments();
        info!(job = %record.id, name = %Shown(&record.name), size = %ByteCount(nzb.bytes()), "started");
        let job = new_job(&record, nzb, self.job_settings.wants_par2_volumes);
        let started = clock::now().instant;
        self.jobs.start(ActiveJob {
            record,
            directory,
            destination,
            started,
            segments,
            recording: Recording::Current,
            losses_told: 0,
            paused: false,
            farewell: None,
        });
        self.tell_engine(Event::JobAdded(job));
    }

    fn on_report(&mut self, connection: ConnectionId, report: Report) {
        let event = match report {
            Report::Ended { why, unanswered } => {
                let Some(known) = self.connections.remove(&connection) else { return };
                if self.connections.is_empty() {
                    self.pool.clear(); // nothing will come for a while
                }
                debug!(server = self.name(known.server), %connection, code = why.code(), "{why}");
                let trouble = trouble::of_connection(&why, known.ready);
                self.troubles.insert(known.server, why.to_string());
                let unanswered = unanswered.into_iter().map(Ticket).collect();
                Event::Ended { connection, trouble, unanswered }
            }
            Report::Fetched { ticket, bytes, outcome } => {
                self.progress.on_bytes(bytes.as_ref().len());
                if let Some(fault) = &outcome.fault {
                    let server = self.connections.get(&connection).map(|known| known.server);
                    let server = server.map(|id| self.name(id));
                    let id = self.engine.article(Ticket(ticket)).map(field::display);
                    debug!(server, id, code = fault.code(), "{fault}");
                }
                self.decoded.insert(Ticket(ticket), bytes);
                let fault = outcome.fault.as_ref().map(|fault| match fault {
                    bergamot_yenc::Fault::TooLarge { needed, .. } => {
                        Fault::TooLarge { needed: *needed }
                    }
                    _ => Fault::Damaged,
                });
                Event::Fetched { ticket: Ticket(ticket), part: part_of(outcome.part), fault }
            }
            Report::Missing { ticket, reply } => {
                let id = self.engine.article(Ticket(ticket)).map(field::display);
                debug!(id, %reply, "missing");
                Event::Missing { ticket: Ticket(ticket) }
            }
            Report::Progress { ticket, received } => {
                Event::Progress { ticket: Ticket(ticket), received: ByteCount(received) }
            }
            Report::Ready => {
                if let Some(known) = self.connections.get_mut(&connection) {
                    known.ready = true;
                    let server = known.server;
                    if self.greeted.insert(server) {
                        info!(server = self.name(server), "connected");
                    }
                }
                Event::Connected { connection }
            }
            Report::Thirsty => Event::Thirsty { connection },
            Report::Unspent(bytes) => Event::Unspent { connection, bytes: ByteCount(bytes) },
            Report::Refused { ticket, reply } => {
                let id = self.engine.article(Ticket(ticket)).map(field::display);
                debug!(id, %reply, "refused");
                Event::Refused { ticket: Ticket(ticket) }
            }
        };
        self.tell_engine(event);
    }

    fn on_disk(&mut self, done: Done<Buffer>) {
        let Some(what) = self.at_disk.remove(&done.ticket) else { return };
        drop(done.bytes); // back to the pool
        if let Err(error) = &done.result {
            debug!(code = error.code(), "{error}");
        }
        let trouble = |result: &Result<Outcome, bergamot_writer::DiskError>| match result {
            Ok(_) => Ok(()),
            Err(error) => Err(trouble::of_disk(error)),
        };
        let result = trouble(&done.result);
        if let Err(error) = done.result.as_ref() {
            self.progress.on_disk_error(format!("{}: {error}", error.code()));
        }
        match (what, done.result) {
            (AtDisk::DeleteFiles(job), Err(error)) => {
                warn!(%job, code = error.code(), "its files could not be deleted: {error}");
            }
            (AtDisk::DeleteFiles(_), Ok(_)) => {}
            (AtDisk::FinishFile(file), named) => {
                if let Ok(Outcome::Named(name)) = named {
                    self.note_finished(file, name.as_str());
                }
                self.tell_engine(Event::FileFinished { file, result });
            }
            (AtDisk::FinishJob { job, verified }, named) => {
                if let Ok(Outcome::Named(name)) = named {
                    self.note_completed(job, verified, &name);
                }
                self.tell_engine(Event::JobMoved { job, result });
            }
            (AtDisk::Write(ticket), _) => self.tell_engine(Event::Written { ticket, result }),
            (AtDisk::Reserve, _) => {}
            (AtDisk::Settle(job), _) => announce(&job),
        }
    }

    fn note_completed(&mut self, job: JobId, verified: bool, name: &bergamot_types::SafeName) {
        let totals = self.engine.job(job).map(|job| job.totals()).unwrap_or_default();
        let Some(known) = self.jobs.get_mut(job) else { return };
        let path = path_of(&known.destination, name);
        known.farewell = Some(Farewell {
            size: ByteCount(totals.bytes_done),
            took: clock::now().instant - known.started,
            verified,
        });
        let state = if verified { JobState::Completed } else { JobState::CompletedUnverified };
        known.record.state = state;
        known.record.destination = Some(path);
        known.record.finished.clear();
        self.record(job);
    }

    /// Brings a job's record to the disk; changes while that is under way are written together.
    pub(super) fn record(&mut self, job: JobId) {
        let Some(known) = self.jobs.get_mut(job) else { return };
        known.recording = match known.recording {
            Recording::Current => {
                self.keeper.update(known.record.clone());
                Recording::Writing
            }
            Recording::Writing | Recording::Stale => Recording::Stale,
        };
    }

    fn on_recorded(&mut self, job: JobId, result: Result<(), String>) {
        let Some(known) = self.jobs.get_mut(job) else { return };
        let was = std::mem::replace(&mut known.recording, Recording::Current);
        if let Err(why) = result {
            warn!(%job, "the record could not be written: {why}");
            self.records_again = Some(clock::now().instant + DISK_PAUSE);
            return;
        }
        if was == Recording::Stale {
            return self.record(job);
        }
        if known.record.state != JobState::Queued {
            self.let_go(job);
        }
    }

    /// The end of a job is on record: nothing needs it any more.
    fn let_go(&mut self, job: JobId) {
        let Some(gone) = self.jobs.remove(job) else { return };
        if gone.record.state == JobState::Failed {
            announce_failure(&gone.record, gone.directory.path());
        } else {
            self.keeper.drop_nzb(job);
            self.settle(gone);
        }
        self.load_next();
    }

    pub(super) fn tell_engine(&mut self, event: Event) {
        self.events.push_back(event);
        while let Some(event) = self.events.pop_front() {
            self.engine.handle(clock::now(), event);
            while let Some(order) = self.engine.poll_order() {
                self.carry_out(order);
            }
        }
    }

    pub(super) fn name(&self, server: ServerId) -> &str {
        let position = usize::from(server.0).wrapping_sub(1);
        self.servers.get(position).map_or("?", |server| &server.settings().name)
    }

    /// What is on disk and on record is kept; what is under way is dropped and asked for again.
    async fn stop(&mut self, mut inbox: Inbox) {
        info!("stopping");
        self.progress.clear();
        for known in self.connections.values_mut() {
            known.handle.hang_up();
        }
        let goodbyes = tokio::time::Instant::now() + GOODBYE_PATIENCE;
        while !self.connections.is_empty() {
            match timeout_at(goodbyes, inbox.recv()).await {
                Ok(Some(Happening::Connection { connection, report: Report::Ended { .. } })) => {
                    self.connections.remove(&connection);
                }
                Ok(Some(Happening::Disk(done))) => self.on_disk_at_the_end(done),
                Ok(Some(_)) => {}
                Ok(None) | Err(_) => break,
            }
        }
        if !self.writer.shutdown() {
            warn!("the disk still holds on to a write");
        }
        while let Ok(happening) = inbox.try_recv() {
            if let Happening::Disk(done) = happening {
                self.on_disk_at_the_end(done);
            }
        }
        // Nobody is left to hear that a record is written and has to be written once more.
        let failed = self.records_again.is_some();
        let is_stale = |job: &&ActiveJob| failed || job.recording == Recording::Stale;
        let stale = self.jobs.active().filter(is_stale);
        stale.for_each(|job| self.keeper.update(job.record.clone()));
        if let Some(records) = self.engine.closing_records(clock::now()) {
            self.clerk.close(&records);
        }
        self.keeper.stop(KEEPER_PATIENCE);
        self.clerk.stop(CLERK_PATIENCE);
        info!("stopped");
    }

    /// A file that got its name in the last moment is worth remembering.
    fn on_disk_at_the_end(&mut self, done: Done<Buffer>) {
        if let Some(AtDisk::FinishFile(file)) = self.at_disk.remove(&done.ticket)
            && let Ok(Outcome::Named(name)) = done.result
        {
            self.note_finished(file, name.as_str());
        }
    }
}

/// The job lies where it belongs and is on record: whoever waits for it may take it.
fn announce(job: &ActiveJob) {
    let Some(farewell) = &job.farewell else { return };
    let path = job.record.destination.as_deref().unwrap_or_default();
    info!(
        job = %job.record.id, name = %Shown(&job.record.name), size = %farewell.size,
        seconds = format!("{:.1}", farewell.took.as_secs_f64()), verified = farewell.verified,
        path = %Shown(path), "complete"
    );
}

/// Only now may its NZB be dropped again: before, it would have been a duplicate.
fn announce_failure(record: &Record, directory: &Path) {
    let (path, reason) = (directory.to_string_lossy(), record.reason.as_deref().unwrap_or("?"));
    let name = Shown(&record.name);
    warn!(job = %record.id, %name, path = %Shown(&path), "failed: {reason}");
}

fn part_of(part: bergamot_yenc::Part) -> Part {
    Part {
        begin: part.range.as_ref().map(|range| range.start),
        length: part.length,
        file_size: part.file_size,
        number: part.number,
        verified: part.check == Check::Verified,
        name: part.name,
    }
}

async fn wait_until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline.into()).await,
        None => std::future::pending().await,
    }
}

/// Enough to catch up, and not so much that a stop would have to wait.
const LONGEST_BATCH: usize = 256;

/// How long to leave a disk alone that would not take a record or start a job.
const DISK_PAUSE: Duration = Duration::from_secs(5);

/// A stop has three seconds in all: for the servers, the writer (one second), the keeper, and the
/// clerk, who writes while the keeper does.
const GOODBYE_PATIENCE: Duration = Duration::from_millis(700);
const KEEPER_PATIENCE: Duration = Duration::from_millis(1000);
const CLERK_PATIENCE: Duration = Duration::from_millis(200);
