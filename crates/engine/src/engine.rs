//! [`Engine`]: downloads articles. It owns the queue, the pool of servers, the connections, the tickets
//! of articles under way and all that follows from them; pure.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::{Duration, Instant};

use bergamot_limit::Limiter;
use bergamot_pool::{Attempt, Pool, Trouble};
use bergamot_queue::{DownloadState, Job, NewJob, Queue};
use bergamot_sched::Scheduler;
use bergamot_types::{ByteCount, ByteRate, JobId, MessageId, ServerId};
use tracing::{debug, trace};

use crate::allowance::Allowance;
use crate::article::health::JobEnds;
use crate::article::retries::Retries;
use crate::article::{Article, Blame};
use crate::control::Overrides;
use crate::disk::Disk;
use crate::disk::memory::ArticleMemory;
use crate::dispatch::end_game::EndGame;
use crate::dispatch::in_flight::InFlight;
use crate::errands::Errands;
use crate::event::{Event, Now};
use crate::order::{ConnectionId, Failure, Note, Notice, Order, Ticket};
use crate::probes::Probes;
use crate::settings::Settings;

/// Decides which article is requested on which connection, and what is done with the answer; without
/// sockets, files or a clock.
///
/// Drive it like this:
/// 1. call [`handle`](Self::handle) with one [`Event`] and the time, which never goes back,
/// 2. call [`poll_order`](Self::poll_order) until it returns `None`, and carry out what it returns in
///    that order; do not call `handle` before,
/// 3. arm one timer for [`poll_timeout`](Self::poll_timeout), replacing the last one, and tell
///    [`Event::Timeout`] when it fires.
///
/// Orders that must be answered, each exactly once:
///
/// | order | answered by |
/// |---|---|
/// | `Connect` | `Connected` and later `Ended`, or `Ended` alone |
/// | `Disconnect` | `Ended`, with what it was still asked in `unanswered` or not |
/// | `Fetch` | `Fetched`, `Missing` or `Refused`, in the order of the requests on the connection; or the `Ended` of its connection |
/// | `Stat` | `Present`, `Missing` or `Refused`; or the `Ended` of its connection |
/// | `Write` | `Written` |
/// | `FinishFile` | `FileFinished` |
/// | `JobDownloaded` | `JobProcessed`, or the `JobRemoved` of its job; until then the engine keeps the job and orders nothing more of it. With `Ok` it forgets the job, with a cause it orders `FailJob`. A step that fails with a transient error is repeated by the driver (`bergamot-post`), not by the engine |
/// | `FailJob` | `JobRemoved`; until then the engine keeps the job and orders nothing more of it but `DeleteFiles` |
/// | `Persist` | `Persisted`, in any order |
/// | `StartErrand` | `ErrandEnded`, and `ErrandConnected` before it if it came so far |
/// | `RecallErrand` | the `ErrandEnded` of the errand, at once |
/// | `Revoke` | `CreditReturned`, unless nothing is lent |
///
/// Not answered: `Admit` (before it the body of the ticket must not be read from its socket), `Discard`,
/// `DeleteFiles`, `Lend`, `Note`, `Probed`, `Reserve` and `Tell`. A `Reserve` that can never succeed may be
/// told as `FileFinished` with [`DiskTrouble::Permanent`](crate::DiskTrouble).
///
/// Events that are answered by an order before the next event: `Fetched` by `Write` or `Discard` of its
/// ticket. `ProbeWanted` is answered by `Probed` when every article of the sample is settled, unless
/// `ProbeDropped` or another `ProbeWanted` of the job comes first; `ErrandWanted` by `StartErrand` when
/// articles leave a connection free, unless `ErrandDropped` comes first.
///
/// Late and repeated answers: a ticket is known from `Fetch` or `Stat` to its answer, and after `Fetched`
/// to `Discard` or `Written`; a connection from `Connect` to `Ended`. What is told of a ticket, connection,
/// job, file, errand or record that the engine does not know any more is ignored, and the bytes of a
/// `Fetched` of that kind are ordered to be discarded. Numbers of tickets and connections are never used
/// again. After `JobRemoved` the answers to orders of that job are late ones.
///
/// Bounds: requests on a connection by [`Settings::pipeline`] and the scheduler's depth; decoded bytes by
/// [`Settings::budget`] (one article larger than all of it comes alone); connections by the servers'
/// settings and [`Settings::most_connections`]; records on their way to the disk by 4; questions of probes
/// on one connection by 32. All other lists grow with the jobs that were added, and shrink when those
/// are removed.
///
/// `bergamot-testkit`'s `drive::Contract` checks both sides of this in every test.
#[derive(Debug)]
pub struct Engine {
    pub(crate) settings: Settings,
    pub(crate) queue: Queue,
    pub(crate) pool: Pool,
    pub(crate) connections: BTreeMap<ConnectionId, Connection>,
    pub(crate) retries: Retries,
    pub(crate) tickets: HashMap<Ticket, Article>,
    pub(crate) limiter: Limiter<ConnectionId>,
    pub(crate) sched: Scheduler,
    pub(crate) end_game: EndGame,
    pub(crate) allowance: Allowance,
    pub(crate) memory: ArticleMemory,
    pub(crate) disk: Disk,
    pub(crate) jobs: JobEnds,
    pub(crate) overrides: Overrides,
    pub(crate) is_state_unwritable: bool,
    pub(crate) errands: Errands,
    pub(crate) probes: Probes,
    pub(crate) last_number: u64,
    pub(crate) orders: VecDeque<Order>,
}

#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) server: ServerId,
    pub(crate) working: bool,
    /// Else it gets no more requests, and is disconnected when it is done.
    pub(crate) stays: bool,
    pub(crate) is_closing: bool, // it was told
    pub(crate) has_answered: bool,
    pub(crate) in_flight: InFlight,
    pub(crate) idle_since: Option<Instant>,
}

impl Engine {
    /// `now` is when its rates begin to count.
    pub fn new(now: Instant, settings: Settings) -> Self {
        let mut pool = Pool::new(settings.servers.iter().cloned(), settings.seed);
        pool.set_article_retries(settings.article_retries);
        Self {
            queue: Queue::new(),
            connections: BTreeMap::new(),
            retries: Retries::new(pool.ids()),
            pool,
            tickets: HashMap::new(),
            limiter: Limiter::new(now, &settings.rates),
            sched: Scheduler::new(settings.servers.iter().map(|server| server.id)),
            end_game: EndGame::default(),
            allowance: Allowance::new(&settings),
            memory: ArticleMemory::new(settings.budget),
            disk: Disk::default(),
            jobs: JobEnds::default(),
            overrides: Overrides::default(),
            is_state_unwritable: false,
            errands: Errands::default(),
            probes: Probes::default(),
            last_number: 0,
            orders: VecDeque::new(),
            settings,
        }
    }

    pub fn handle(&mut self, now: Now, event: Event) {
        trace!(?event, "event");
        self.count(now, &event);
        match event {
            Event::Connected { connection } => self.on_connected(now, connection),
            Event::DiskReturned => self.on_disk_returned(),
            Event::DownloadPaused => self.on_download_paused(),
            Event::DownloadResumed => self.on_download_resumed(now),
            Event::Ended { connection, trouble, unanswered } => {
                self.on_ended(now, connection, trouble, &unanswered);
            }
            Event::ErrandConnected(errand) => self.on_errand_connected(now, errand),
            Event::ErrandDropped(errand) => self.on_errand_dropped(errand),
            Event::ErrandEnded { errand, trouble } => self.on_errand_ended(now, errand, trouble),
            Event::ErrandWanted { errand, servers } => self.on_errand_wanted(errand, servers),
            Event::Fetched { ticket, part, fault } => self.on_fetched(now, ticket, part, fault),
            Event::FileDropped(file) => self.on_file_dropped(file),
            Event::FileFinished { file, result } => self.on_file_finished(now, file, result),
            Event::FilePaused(file) => self.on_file_paused(file),
            Event::FileResumed(file) => self.on_file_resumed(now, file),
            Event::FilesAdded { job, more } => self.on_files_added(job, more),
            Event::FilesOrdered { job, order } => self.queue.order_files(job, &order),
            Event::JobAdded(job) => self.on_job_added(job),
            Event::JobPaused(job) => self.on_job_paused(job),
            Event::JobPlaced { job, priority, rank } => {
                self.on_job_placed(now, job, priority, rank);
            }
            Event::JobProcessed { job, result } => self.on_job_processed(job, result),
            Event::JobRemoved(job) => self.on_job_removed(job),
            Event::JobResumed(job) => self.on_job_resumed(now, job),
            Event::Missing { ticket } => self.on_missing(now, ticket),
            Event::Persisted { number, result } => self.on_persisted(now, number, result),
            Event::Present { ticket } => self.on_present(now, ticket),
            Event::ProbeDropped(job) => self.on_probe_dropped(job),
            Event::ProbeWanted { job, articles } => self.on_probe_wanted(job, articles),
            Event::Progress { ticket, received } => self.on_progress(now, ticket, received),
            Event::RateChanged(rate) => self.on_rate_changed(now, rate),
            Event::Refused { ticket } => self.on_refused(now, ticket),
            Event::ServerProbeWanted(server) => self.on_server_probe_wanted(server),
            Event::SettingsChanged(settings) => self.on_settings_changed(now, *settings),
            Event::StateUnwritable => self.is_state_unwritable = true,
            Event::StateWritable => self.is_state_unwritable = false,
            Event::CreditWanted { connection } => self.on_credit_wanted(now, connection),
            Event::Timeout => {}
            Event::CreditReturned { connection, bytes } => {
                self.on_credit_returned(now, connection, bytes)
            }
            Event::Written { ticket, result } => self.on_written(now, ticket, result),
        }
        self.on_time(now);
        self.check_allowance(now);
        self.admit_bodies(now);
        self.dispatch(now);
        self.dispatch_probes(now);
        self.run_errands(now);
        self.keep_records(now);
        self.pass_on_leases();
    }

    pub fn poll_order(&mut self) -> Option<Order> {
        self.orders.pop_front()
    }

    pub fn poll_timeout(&self) -> Option<Instant> {
        let idle = self.connections.iter().filter_map(|(id, known)| self.idle_until(*id, known));
        let delayed = self.retries.delayed.first().map(|(at, _)| *at);
        let disk = self.disk.next_try().into_iter().chain(self.memory.disk_due).min();
        let limits = [self.limiter.poll_timeout(), self.allowance.next_deadline()];
        let others = [self.pool.next_deadline(), disk, delayed, self.end_game.next_look()];
        let others = others.into_iter().chain([self.retries.next_probe_search]);
        idle.chain(others.chain(limits).flatten()).min()
    }

    pub fn job(&self, job: JobId) -> Option<&Job> {
        self.queue.job(job)
    }

    pub fn jobs(&self) -> impl Iterator<Item = &Job> {
        self.queue.jobs()
    }

    /// What it was told last.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The article that a ticket is for.
    pub fn article(&self, ticket: Ticket) -> Option<MessageId> {
        let key = self.tickets.get(&ticket)?.key;
        self.queue.file(key.file_key()).map(|file| file.message_id(key.segment))
    }

    /// How fast all connections together may read just now, if that is limited.
    pub fn rate(&self) -> Option<ByteRate> {
        self.limiter.global()
    }

    /// Bytes of the budget that articles hold at the moment.
    pub fn reserved(&self) -> ByteCount {
        ByteCount(self.memory.budget.used())
    }

    fn on_job_added(&mut self, job: NewJob) {
        let id = job.id;
        let replay = self.queue.add(job);
        for key in replay.refused {
            self.note(Note::Reopened { key });
        }
        for (file, layout) in replay.whole {
            self.finish_file(file, layout);
        }
        self.end_job_if_settled(id);
    }

    pub(crate) fn on_job_removed(&mut self, job: JobId) {
        self.queue.remove(job);
        self.jobs.forget(job);
        self.drop_work(job);
    }

    /// Nothing more is asked for, and nothing is tried again.
    fn drop_work(&mut self, job: JobId) {
        self.queue.pause(job);
        self.retries.forget_job(job);
        self.disk.forget(job);
    }

    pub(crate) fn end_job_if_settled(&mut self, job: JobId) {
        match self.queue.state(job) {
            None | Some(DownloadState::Downloading) => {}
            Some(DownloadState::Complete { verified }) => {
                if self.jobs.ended.insert(job) {
                    self.orders.push_back(Order::JobDownloaded { job, verified });
                }
            }
            Some(DownloadState::Incomplete) => self.fail_job(job, self.cause_of_loss(job)),
        }
    }

    /// A job that is gone may still be heard of by what was under way to the disk.
    pub(crate) fn fail_job(&mut self, job: JobId, failure: Failure) {
        if self.queue.job(job).is_some() && self.jobs.ended.insert(job) {
            self.drop_work(job);
            self.orders.push_back(Order::FailJob { job, failure });
        }
    }

    fn on_connected(&mut self, now: Now, connection: ConnectionId) {
        let known = self.connections.get_mut(&connection);
        let Some(known) = known.filter(|known| !known.is_closing) else { return };
        known.working = true;
        known.idle_since = Some(now.instant);
        let server = known.server;
        self.limiter.add(connection, server);
        if self.pool.on_connected(server) {
            self.on_server_works(now, server);
        }
    }

    /// Its trouble is over.
    pub(crate) fn on_server_works(&mut self, now: Now, server: ServerId) {
        self.notify(Notice::ServerWorks { server });
        self.reroute(now);
    }

    /// It is left alone for a while, in the trouble that the pool knows.
    pub(crate) fn on_server_rests(&mut self, now: Now, server: ServerId, again_in: Duration) {
        if let Some(trouble) = self.pool.trouble(server) {
            self.notify(Notice::ServerRests { server, trouble, again_in });
        }
        self.reroute(now);
    }

    fn on_ended(
        &mut self,
        now: Now,
        connection: ConnectionId,
        trouble: Trouble,
        unanswered: &[Ticket],
    ) {
        use bergamot_pool::Consequence;
        let Some(gone) = self.connections.remove(&connection) else { return };
        let server = gone.server;
        self.limiter.remove(connection);
        // Hanging up before anything was answered is no good order, or we would dial for ever.
        let useless = trouble == Trouble::Closed && gone.working && !gone.has_answered;
        let trouble = if useless { Trouble::OutOfStep } else { trouble };
        self.learn_from_end(now, &gone, trouble);
        let first = unanswered.first();
        let key = first.and_then(|ticket| self.tickets.get(ticket)).map(|article| article.key);
        let number = first.map_or(connection.0, |ticket| ticket.0);
        // Asked behind another one an article may be innocent, and so may the server be.
        let is_behind_answer = trouble == Trouble::OutOfStep && gone.has_answered;
        let attempt = Attempt { is_behind_answer, ..self.attempt(server, number, key) };
        let end = self.pool.on_ended(now.instant, server, gone.working, trouble, attempt);
        debug!(%server, %connection, ?trouble, ?end, "connection ended");
        // Only the article it broke on may be to blame; the others go back as they were.
        let blame = match trouble {
            Trouble::Broken => Blame::Charged,
            // That one was answered, so this cannot go on for ever.
            Trouble::OutOfStep if !gone.has_answered => Blame::Charged,
            Trouble::Refused if gone.working => match first {
                Some(ticket) if self.is_suspect(*ticket, server) => Blame::Charged,
                _ => Blame::Suspected,
            },
            _ => Blame::None,
        };
        self.take_probes_back(connection);
        // All it has not reported on, whether or not it had heard of it.
        for ticket in gone.in_flight.tickets() {
            self.take_back(now, ticket, if Some(&ticket) == first { blame } else { Blame::None });
        }
        match end {
            Consequence::GoesOn => {}
            Consequence::LowerCeiling(to) => self.notify(Notice::CeilingLowered { server, to }),
            Consequence::Rests(again_in) => self.on_server_rests(now, server, again_in),
        }
    }

    fn on_time(&mut self, now: Now) {
        self.reroute_as_articles_age(now);
        self.resume_disk_if_due(now);
        self.pool.on_time(now.instant);
        if self.limiter.poll_timeout().is_some_and(|at| now.instant >= at) {
            self.limiter.handle_timeout(now.instant);
        }
        self.ask_after_pauses(now);
        let is_done = |id: ConnectionId, known: &Connection| {
            let leaves = !known.stays && known.in_flight.is_empty() && !self.is_probing(id);
            leaves || self.idle_until(id, known).is_some_and(|end| now.instant >= end)
        };
        let done = self.connections.iter().filter(|(id, known)| is_done(**id, known));
        let done: Vec<_> = done.map(|(id, _)| *id).collect();
        done.into_iter().for_each(|connection| self.disconnect(connection));
    }

    /// When a connection has had nothing to do for too long. Questions without a body are something to
    /// do, however long they take.
    fn idle_until(&self, id: ConnectionId, known: &Connection) -> Option<Instant> {
        let since = known.idle_since.filter(|_| !self.is_probing(id))?;
        Some(since + self.settings.idle)
    }

    /// One connection shows it, and is kept as long as any that has nothing to do.
    fn on_server_probe_wanted(&mut self, server: ServerId) {
        let is_known = self.pool.ids().any(|id| id == server);
        if is_known && self.pool.open(server) == 0 && self.pool.room(server) > 0 {
            self.connect(server);
        }
    }

    /// Once; what it was asked comes back when it has ended.
    pub(crate) fn disconnect(&mut self, connection: ConnectionId) {
        let Some(known) = self.connections.get_mut(&connection) else { return };
        known.idle_since = None;
        if std::mem::replace(&mut known.is_closing, true) {
            return;
        }
        if std::mem::replace(&mut known.working, false) {
            self.pool.on_closing(known.server);
        }
        self.orders.push_back(Order::Disconnect { connection });
    }

    /// What waits in a server's line may become too old for it, or, where the clock is set, young
    /// enough for another one: then it would wait for ever.
    fn reroute_as_articles_age(&mut self, now: Now) {
        let minute = now.date.0.div_euclid(60);
        if std::mem::replace(&mut self.retries.routed_at, minute) != minute {
            self.reroute(now);
        }
    }

    pub(crate) fn note(&mut self, note: Note) {
        self.orders.push_back(Order::Note(note));
    }

    pub(crate) fn notify(&mut self, notice: Notice) {
        self.orders.push_back(Order::Tell(notice));
    }
}
