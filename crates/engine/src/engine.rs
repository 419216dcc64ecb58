//! The machine itself.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::time::{Duration, Instant};

use bergamot_queue::{
    FileKey, Job, JobState, Layout, NewJob, Part, Queue, SegmentKey, SegmentState,
};
use bergamot_types::{ByteCount, JobId, MessageId, ServerId, SplitMix};
use tracing::{debug, trace};

use crate::budget::Budget;
use crate::event::{DiskTrouble, Event, Fault, Now, Trouble};
use crate::order::{ConnectionId, Failure, Notice, Order, Ticket};
use crate::route::{Route, route};
use crate::server::{Consequence, Server};
use crate::settings::Settings;
use crate::tries::Tries;

/// After each `handle` call poll orders until there are none; then wait for an event or the timeout.
#[derive(Debug)]
pub struct Engine {
    settings: Settings,
    queue: Queue,
    servers: Vec<Server>,
    connections: BTreeMap<ConnectionId, Connection>,
    tries: HashMap<SegmentKey, Tries>,
    parked: Vec<SegmentKey>, // wait for a server that is excused
    tickets: HashMap<Ticket, Article>,
    budget: Budget,
    disk: Disk,
    ended: HashSet<JobId>, // jobs whose last order has gone out
    chance: SplitMix,
    last_number: u64,
    orders: VecDeque<Order>,
}

#[derive(Debug)]
struct Connection {
    server: usize, // its place in `servers`
    working: bool,
    has_answered: bool,
    in_flight: usize,
    idle_since: Option<Instant>,
}

/// An article under way, and what it holds.
#[derive(Debug)]
struct Article {
    key: SegmentKey,
    reserved: u64,
    stage: Stage,
}

#[derive(Debug)]
enum Stage {
    /// Asked of this server, over this connection.
    Asked {
        server: usize,
        connection: ConnectionId,
    },
    Writing {
        then: SegmentState,
    },
    /// A damaged copy is being kept until a better one comes; nothing follows from it.
    Keeping,
}

/// Whether the disk takes anything just now.
#[derive(Debug, Default)]
struct Disk {
    paused_until: Option<Instant>,
    was_paused: bool,
    unfinished: Vec<(FileKey, Layout)>, // files that could not get their names
    unmoved: Vec<JobId>,
}

impl Engine {
    pub fn new(settings: Settings) -> Self {
        Self {
            queue: Queue::new(),
            servers: settings.servers.iter().cloned().map(Server::new).collect(),
            connections: BTreeMap::new(),
            tries: HashMap::new(),
            parked: Vec::new(),
            tickets: HashMap::new(),
            budget: Budget::new(settings.budget.0),
            disk: Disk::default(),
            ended: HashSet::new(),
            chance: SplitMix::seeded(settings.seed),
            last_number: 0,
            orders: VecDeque::new(),
            settings,
        }
    }

    pub fn handle(&mut self, now: Now, event: Event) {
        trace!(?event, "event");
        match event {
            Event::Connected { connection } => self.on_connected(now, connection),
            Event::Ended { connection, trouble, unanswered } => {
                self.on_ended(now, connection, trouble, &unanswered);
            }
            Event::Fetched { ticket, part, fault } => self.on_fetched(now, ticket, &part, fault),
            Event::FileFinished { file, result } => self.on_file_finished(now, file, result),
            Event::JobAdded(job) => self.on_job_added(job),
            Event::JobMoved { job, result } => self.on_job_moved(now, job, result),
            Event::JobRemoved(job) => self.on_job_removed(job),
            Event::Missing { ticket } => self.on_missing(now, ticket),
            Event::Refused { ticket } => self.on_refused(now, ticket),
            Event::Timeout => {}
            Event::Written { ticket, result } => self.on_written(now, ticket, result),
        }
        self.on_time(now);
        self.pump(now);
    }

    pub fn poll_order(&mut self) -> Option<Order> {
        self.orders.pop_front()
    }

    pub fn poll_timeout(&self) -> Option<Instant> {
        let servers = self.servers.iter().filter_map(Server::next_deadline);
        let idle = self.connections.values().filter_map(|connection| connection.idle_since);
        let idle = idle.map(|since| since + self.settings.idle);
        servers.chain(idle).chain(self.disk.paused_until).min()
    }

    pub fn job(&self, job: JobId) -> Option<&Job> {
        self.queue.job(job)
    }

    pub fn jobs(&self) -> impl Iterator<Item = &Job> {
        self.queue.jobs()
    }

    /// The article that a ticket is for.
    pub fn article(&self, ticket: Ticket) -> Option<MessageId> {
        let key = self.tickets.get(&ticket)?.key;
        self.queue.file(key.file_key()).map(|file| file.message_id(key.segment))
    }

    /// Bytes of the budget that articles hold at the moment.
    pub fn reserved(&self) -> ByteCount {
        ByteCount(self.budget.used())
    }

    fn on_job_added(&mut self, job: NewJob) {
        let id = job.id;
        self.queue.add(job);
        self.end_job_if_settled(id);
    }

    fn on_job_removed(&mut self, job: JobId) {
        self.queue.remove(job);
        self.ended.remove(&job);
        self.tries.retain(|key, _| key.job != job);
        self.parked.retain(|key| key.job != job);
        self.disk.unfinished.retain(|(file, _)| file.job != job);
        self.disk.unmoved.retain(|unmoved| *unmoved != job);
    }

    fn on_connected(&mut self, now: Now, connection: ConnectionId) {
        let Some(known) = self.connections.get_mut(&connection) else { return };
        known.working = true;
        known.idle_since = Some(now.instant);
        let server = &mut self.servers[known.server];
        if server.on_connected() {
            let server = server.id();
            self.orders.push_back(Order::Tell(Notice::ServerWorks { server }));
            self.reroute(now);
        }
    }

    fn on_ended(
        &mut self,
        now: Now,
        connection: ConnectionId,
        trouble: Trouble,
        unanswered: &[Ticket],
    ) {
        let Some(gone) = self.connections.remove(&connection) else { return };
        let server = &mut self.servers[gone.server];
        let id = server.id();
        // Hanging up before anything was answered is no good order, or we would dial for ever.
        let useless = trouble == Trouble::Closed && gone.working && !gone.has_answered;
        let charged = if useless { Trouble::OutOfStep } else { trouble };
        let end = server.on_ended(now.instant, gone.working, charged, &mut self.chance);
        debug!(server = %id, %connection, ?trouble, ?end, "connection ended");
        // Only the article it broke on may be to blame; the others go back as they were.
        let blamed = match trouble {
            Trouble::Broken => unanswered.first(),
            // Asked behind another one it may be innocent. That one was answered, so this cannot go
            // on for ever.
            Trouble::OutOfStep if !gone.has_answered => unanswered.first(),
            _ => None,
        };
        for ticket in self.asked_over(connection) {
            let Some(key) = self.take_back(ticket) else { continue };
            let tries = self.tries.entry(key).or_default();
            if Some(&ticket) == blamed {
                tries.broke(id, self.settings.article_retries);
            }
            self.ask_again(now, key);
        }
        match end {
            Consequence::GoesOn => {}
            Consequence::LowerCeiling(to) => {
                self.orders.push_back(Order::Tell(Notice::CeilingLowered { server: id, to }));
            }
            Consequence::Rests(again_in) => {
                let notice = Notice::ServerRests { server: id, trouble: charged, again_in };
                self.orders.push_back(Order::Tell(notice));
                self.reroute(now);
            }
        }
    }

    fn on_missing(&mut self, now: Now, ticket: Ticket) {
        let Some((key, server)) = self.answered(now, ticket) else { return };
        self.servers[server].on_success();
        let id = self.servers[server].id();
        self.tries.entry(key).or_default().missing(id);
        self.ask_again(now, key);
    }

    fn on_refused(&mut self, now: Now, ticket: Ticket) {
        let Some((key, server)) = self.answered(now, ticket) else { return };
        let id = self.servers[server].id();
        self.tries.entry(key).or_default().broke(id, self.settings.article_retries);
        self.ask_again(now, key);
    }

    /// Releases what the ticket of an answer without a body held.
    fn answered(&mut self, now: Now, ticket: Ticket) -> Option<(SegmentKey, usize)> {
        let article = self.tickets.remove(&ticket)?;
        self.budget.release(article.reserved);
        let Stage::Asked { server, connection } = article.stage else { return None };
        self.free_slot(now, connection);
        Some((article.key, server))
    }

    fn on_fetched(&mut self, now: Now, ticket: Ticket, part: &Part, fault: Option<Fault>) {
        let Some(article) = self.tickets.get(&ticket) else {
            return self.orders.push_back(Order::Discard { ticket });
        };
        let Stage::Asked { server, connection } = article.stage else { return };
        let key = article.key;
        self.free_slot(now, connection);
        self.servers[server].on_success();
        if !self.queue.wants(key) {
            return self.discard(ticket);
        }
        match fault {
            Some(Fault::Damaged) => self.on_damaged(now, ticket, server, part, "it is damaged"),
            Some(Fault::TooLarge { needed }) => {
                self.on_too_large(now, ticket, server, part, needed)
            }
            None => self.on_good(now, ticket, server, part),
        }
    }

    /// The NZB was wrong about the size: asked for again with room enough, once.
    fn on_too_large(&mut self, now: Now, ticket: Ticket, server: usize, part: &Part, needed: u64) {
        let Some(article) = self.tickets.get(&ticket) else { return };
        let (key, had) = (article.key, article.reserved);
        if needed > LARGEST_ARTICLE || needed <= had {
            return self.on_damaged(now, ticket, server, part, "it is too large");
        }
        self.discard(ticket);
        self.tries.entry(key).or_default().needs = needed;
        self.ask_again(now, key);
    }

    fn on_good(&mut self, now: Now, ticket: Ticket, server: usize, part: &Part) {
        let Some(article) = self.tickets.get_mut(&ticket) else { return };
        let key = article.key;
        match self.queue.place(key, part) {
            None => self.discard(ticket),
            Some(Err(conflict)) => {
                let why = format!("{}: {conflict}", conflict.code());
                self.on_stranger(now, ticket, server, &why);
            }
            Some(Ok(placed)) => {
                article.stage =
                    Stage::Writing { then: SegmentState::Written { verified: part.verified } };
                let file = key.file_key();
                if let Some(size) = self.queue.size_to_reserve(file) {
                    self.orders.push_back(Order::Reserve { file, size });
                }
                self.orders.push_back(Order::Write { ticket, file, offset: placed.offset });
                for segment in placed.evicted.into_iter().chain(placed.vindicated) {
                    self.on_evicted(now, SegmentKey { segment, ..key });
                }
            }
        }
    }

    /// What was believed of a segment no longer is; if it is being written, that counts for nothing.
    fn on_evicted(&mut self, now: Now, key: SegmentKey) {
        for article in self.tickets.values_mut() {
            if article.key == key && matches!(article.stage, Stage::Writing { .. }) {
                article.stage = Stage::Keeping;
            }
        }
        self.ask_again(now, key);
    }

    /// The best damaged copy is kept in its place for repair, until a better one comes.
    fn on_damaged(&mut self, now: Now, ticket: Ticket, server: usize, part: &Part, why: &str) {
        let Some(article) = self.tickets.get_mut(&ticket) else { return };
        let key = article.key;
        let tries = self.tries.entry(key).or_default();
        let better = tries.best_damaged.is_none_or(|best| part.length > best);
        match self.queue.room_for_damaged(key, part).filter(|_| better) {
            Some(offset) => {
                tries.best_damaged = Some(part.length);
                article.stage = Stage::Keeping;
                self.orders.push_back(Order::Write { ticket, file: key.file_key(), offset });
            }
            None => self.discard(ticket),
        }
        self.on_bad_copy(now, key, server, why);
    }

    /// A sound article that is not the one that was asked for: no use to anyone.
    fn on_stranger(&mut self, now: Now, ticket: Ticket, server: usize, why: &str) {
        let Some(key) = self.tickets.get(&ticket).map(|article| article.key) else { return };
        self.discard(ticket);
        self.on_bad_copy(now, key, server, why);
    }

    fn on_bad_copy(&mut self, now: Now, key: SegmentKey, server: usize, why: &str) {
        let server = self.servers[server].id();
        self.tries.entry(key).or_default().damaged(server);
        if let Some(file) = self.queue.file(key.file_key()) {
            let id = file.message_id(key.segment);
            let why = why.to_owned();
            let notice = Notice::ArticleRefused { job: key.job, id, server, why };
            self.orders.push_back(Order::Tell(notice));
        }
        self.ask_again(now, key);
    }

    fn on_written(&mut self, now: Now, ticket: Ticket, result: Result<(), DiskTrouble>) {
        let Some(article) = self.tickets.remove(&ticket) else { return };
        self.budget.release(article.reserved);
        let key = article.key;
        match (result, article.stage) {
            (Ok(()), Stage::Writing { then }) => {
                self.disk_works();
                self.tries.remove(&key);
                self.resolve(key, then);
            }
            (Ok(()), _) => {}
            (Err(trouble), stage) => {
                if matches!(stage, Stage::Writing { .. }) {
                    self.queue.displace(key);
                    self.ask_again(now, key);
                }
                self.on_disk_trouble(now, key.job, trouble);
            }
        }
    }

    fn on_file_finished(&mut self, now: Now, file: FileKey, result: Result<(), DiskTrouble>) {
        match result {
            Ok(()) => self.disk_works(),
            Err(trouble) => return self.on_disk_trouble(now, file.job, trouble),
        }
        self.disk.unfinished.retain(|(unfinished, _)| *unfinished != file);
        self.queue.finish_file(file, true);
        self.end_job_if_settled(file.job);
    }

    fn on_job_moved(&mut self, now: Now, job: JobId, result: Result<(), DiskTrouble>) {
        match result {
            Ok(()) => self.on_job_removed(job),
            Err(DiskTrouble::Passing) => {
                self.disk.unmoved.push(job);
                self.pause_disk(now);
            }
            Err(DiskTrouble::Lasting) => self.fail_job(job, Failure::Disk),
        }
    }

    fn on_disk_trouble(&mut self, now: Now, job: JobId, trouble: DiskTrouble) {
        match trouble {
            DiskTrouble::Passing => self.pause_disk(now),
            DiskTrouble::Lasting => self.fail_job(job, Failure::Disk),
        }
    }

    fn pause_disk(&mut self, now: Now) {
        self.disk.paused_until = Some(now.instant + DISK_PAUSE);
        if !self.disk.was_paused {
            self.disk.was_paused = true;
            self.orders.push_back(Order::Tell(Notice::DiskPaused { again_in: DISK_PAUSE }));
        }
    }

    fn disk_works(&mut self) {
        if self.disk.was_paused {
            self.disk.was_paused = false;
            self.disk.paused_until = None;
            self.orders.push_back(Order::Tell(Notice::DiskResumed));
        }
    }

    /// What could not be done while the disk was in trouble is tried again.
    fn resume_disk(&mut self) {
        self.disk.paused_until = None;
        for (file, layout) in self.disk.unfinished.clone() {
            self.orders.push_back(Order::FinishFile { file, layout });
        }
        for job in std::mem::take(&mut self.disk.unmoved) {
            self.ended.remove(&job);
            self.end_job_if_settled(job);
        }
    }

    fn resolve(&mut self, key: SegmentKey, state: SegmentState) {
        if let Some(layout) = self.queue.resolve(key, state) {
            let file = key.file_key();
            self.disk.unfinished.push((file, layout.clone()));
            self.orders.push_back(Order::FinishFile { file, layout });
        }
        self.end_job_if_settled(key.job);
    }

    fn end_job_if_settled(&mut self, job: JobId) {
        match self.queue.state(job) {
            None | Some(JobState::Downloading) => {}
            Some(JobState::Complete { verified }) => {
                if self.ended.insert(job) {
                    self.orders.push_back(Order::FinishJob { job, verified });
                }
            }
            Some(JobState::Incomplete) => self.fail_job(job, Failure::Incomplete),
        }
    }

    fn fail_job(&mut self, job: JobId, failure: Failure) {
        if self.ended.insert(job) {
            self.orders.push_back(Order::FailJob { job, failure });
        }
    }

    /// What the connection was asked and has not reported on, whether or not it had heard of it.
    fn asked_over(&self, gone: ConnectionId) -> Vec<Ticket> {
        let over = |article: &Article| matches!(article.stage, Stage::Asked { connection, .. } if connection == gone);
        let asked = self.tickets.iter().filter(|(_, article)| over(article));
        let mut asked: Vec<_> = asked.map(|(ticket, _)| *ticket).collect();
        asked.sort_unstable();
        asked
    }

    /// Takes an unanswered article back from its connection, as if it had not been asked.
    fn take_back(&mut self, ticket: Ticket) -> Option<SegmentKey> {
        let article = self.tickets.remove(&ticket)?;
        self.budget.release(article.reserved);
        Some(article.key)
    }

    fn discard(&mut self, ticket: Ticket) {
        if let Some(article) = self.tickets.remove(&ticket) {
            self.budget.release(article.reserved);
        }
        self.orders.push_back(Order::Discard { ticket });
    }

    fn free_slot(&mut self, now: Now, connection: ConnectionId) {
        if let Some(connection) = self.connections.get_mut(&connection) {
            connection.has_answered = true;
            connection.in_flight -= 1;
            connection.idle_since = (connection.in_flight == 0).then_some(now.instant);
        }
    }

    /// Puts an article that did not come into the lines of those who may still have it.
    fn ask_again(&mut self, now: Now, key: SegmentKey) {
        if !self.queue.wants(key) {
            self.tries.remove(&key);
            return;
        }
        let posted = self.queue.file(key.file_key()).and_then(|file| file.listed().posted);
        let tries = self.tries.entry(key).or_default();
        match route(&self.servers, tries, posted, now.date) {
            Route::Ask(servers) => {
                tries.waiting = true;
                for server in &mut self.servers {
                    if servers.contains(&server.id()) {
                        server.line.push_back(key);
                    }
                }
            }
            Route::Exhausted => self.give_up(key),
            Route::Wait => self.parked.push(key),
        }
    }

    fn give_up(&mut self, key: SegmentKey) {
        let tries = self.tries.remove(&key).unwrap_or_default();
        let damaged = tries.best_damaged.is_some();
        if let Some(file) = self.queue.file(key.file_key()) {
            let id = file.message_id(key.segment);
            self.orders.push_back(Order::Tell(Notice::ArticleLost { job: key.job, id, damaged }));
        }
        self.resolve(key, if damaged { SegmentState::Damaged } else { SegmentState::Missing });
    }

    /// A server's state has changed: what waits may wait for the wrong one now.
    fn reroute(&mut self, now: Now) {
        let mut waiting = std::mem::take(&mut self.parked);
        for server in &mut self.servers {
            waiting.extend(server.line.drain(..));
        }
        waiting.sort_unstable();
        waiting.dedup();
        for key in waiting {
            if self.tries.get(&key).is_none_or(|tries| tries.waiting) || !self.is_asked(key) {
                self.ask_again(now, key);
            }
        }
    }

    fn is_asked(&self, key: SegmentKey) -> bool {
        self.tickets.values().any(|article| article.key == key)
    }

    fn on_time(&mut self, now: Now) {
        if self.disk.paused_until.is_some_and(|until| now.instant >= until) {
            self.resume_disk();
        }
        for server in &mut self.servers {
            server.on_time(now.instant);
        }
        let idle = self.settings.idle;
        let is_old = |connection: &&mut Connection| {
            connection.idle_since.is_some_and(|since| now.instant >= since + idle)
        };
        let mut old = Vec::new();
        for (id, connection) in &mut self.connections {
            if let Some(connection) = Some(connection).filter(is_old) {
                connection.idle_since = None;
                connection.working = false;
                self.servers[connection.server].working -= 1;
                old.push(*id);
            }
        }
        self.orders.extend(old.into_iter().map(|connection| Order::Disconnect { connection }));
    }

    /// Hands out work: one article to each connection, then the second to each, and so on.
    fn pump(&mut self, now: Now) {
        if self.disk.paused_until.is_some() {
            return;
        }
        self.lose_what_nobody_keeps(now);
        for depth in 0..self.settings.pipeline {
            let ready = |(id, connection): (&ConnectionId, &Connection)| {
                (connection.working && connection.in_flight == depth).then_some(*id)
            };
            let ready: Vec<_> = self.connections.iter().filter_map(ready).collect();
            for connection in ready {
                self.give_work(now, connection);
            }
        }
        self.open_connections(now);
    }

    /// Fresh articles that are too old for every server have been answered for.
    fn lose_what_nobody_keeps(&mut self, now: Now) {
        while let Some(key) = self.queue.peek_fresh() {
            if self.route_of_fresh(now, key) != Route::Exhausted {
                return;
            }
            self.queue.take_fresh();
            self.give_up(key);
        }
    }

    fn route_of_fresh(&self, now: Now, key: SegmentKey) -> Route {
        let posted = self.queue.file(key.file_key()).and_then(|file| file.listed().posted);
        route(&self.servers, &Tries::default(), posted, now.date)
    }

    fn give_work(&mut self, now: Now, connection: ConnectionId) {
        let Some(server) = self.connections.get(&connection).map(|known| known.server) else {
            return;
        };
        let Some((key, is_fresh)) = self.next_article(now, server) else { return };
        let Some(file) = self.queue.file(key.file_key()) else { return };
        let claimed = u64::from(file.claimed_bytes(key.segment));
        let needs = self.tries.get(&key).map_or(0, |tries| tries.needs);
        let reserve = reservation(claimed, needs);
        if !self.budget.reserve(reserve) {
            return;
        }
        let order = |ticket| Order::Fetch {
            connection,
            ticket,
            id: file.message_id(key.segment),
            groups: file.listed().groups.clone(),
            reserve: reserve as usize,
            limit: ByteCount(article_limit(claimed)),
        };
        let ticket = Ticket(self.last_number + 1);
        self.orders.push_back(order(ticket));
        self.last_number = ticket.0;
        if is_fresh {
            self.queue.take_fresh();
        } else {
            self.servers[server].line.pop_front();
            self.tries.entry(key).or_default().waiting = false;
        }
        let stage = Stage::Asked { server, connection };
        self.tickets.insert(ticket, Article { key, reserved: reserve, stage });
        if let Some(connection) = self.connections.get_mut(&connection) {
            connection.in_flight += 1;
            connection.idle_since = None;
        }
    }

    /// The article this server should be asked for next, and whether nobody was asked for it yet.
    fn next_article(&mut self, now: Now, server: usize) -> Option<(SegmentKey, bool)> {
        let id = self.servers[server].id();
        while let Some(&key) = self.servers[server].line.front() {
            let waits = |tries: &Tries| tries.waiting && !tries.answered(id);
            if self.tries.get(&key).is_some_and(waits) && self.queue.wants(key) {
                return Some((key, false));
            }
            self.servers[server].line.pop_front();
        }
        let key = self.queue.peek_fresh()?;
        match self.route_of_fresh(now, key) {
            Route::Ask(servers) if servers.contains(&id) => Some((key, true)),
            _ => None,
        }
    }

    fn open_connections(&mut self, now: Now) {
        for server in 0..self.servers.len() {
            let room = self.servers[server].room().min(self.room_in_account(server));
            if room == 0 {
                continue;
            }
            for _ in 0..self.work_for(now, server).min(room) {
                self.connect(server);
            }
        }
    }

    /// Servers of one account share what the provider allows it.
    fn room_in_account(&self, server: usize) -> usize {
        let Some(account) = self.servers[server].settings.account else { return usize::MAX };
        let sharing = self.servers.iter().filter(|other| other.settings.account == Some(account));
        let allowed = sharing.clone().map(|other| other.settings.connections).max().unwrap_or(0);
        allowed.saturating_sub(sharing.map(|other| other.open).sum())
    }

    /// How many connections more than those being opened could find something to do.
    fn work_for(&mut self, now: Now, server: usize) -> usize {
        let known = &self.servers[server];
        // A server in trouble is tried as long as there is anything at all it could do.
        if known.in_trouble() && !self.queue.is_empty() {
            return 1;
        }
        let opening = known.open - known.working;
        let enough = known.settings.connections * self.settings.pipeline;
        let waiting = known.line.len().min(enough);
        let fresh = match self.next_article(now, server) {
            Some((_, true)) => self.queue.fresh_up_to(enough),
            Some((_, false)) | None => 0,
        };
        (waiting + fresh).saturating_sub(opening)
    }

    fn connect(&mut self, server: usize) {
        self.last_number += 1;
        let connection = ConnectionId(self.last_number);
        let known = &mut self.servers[server];
        known.open += 1;
        let order = Order::Connect { connection, server: known.id() };
        self.orders.push_back(order);
        let opening = Connection {
            server,
            working: false,
            has_answered: false,
            in_flight: 0,
            idle_since: None,
        };
        self.connections.insert(connection, opening);
    }

    /// The server of a connection, for those who report about it.
    pub fn server_of(&self, connection: ConnectionId) -> Option<ServerId> {
        self.connections.get(&connection).map(|known| self.servers[known.server].id())
    }
}

/// Room for the decoded article: decoding makes it shorter than the NZB says it is, unless the NZB
/// is wrong, and then we know better from the first try.
fn reservation(claimed: u64, needs: u64) -> u64 {
    let guess = if claimed == 0 { UNKNOWN_ARTICLE } else { claimed };
    guess.max(needs).clamp(SMALLEST_RESERVATION, LARGEST_ARTICLE)
}

/// The most that is read of one body.
fn article_limit(claimed: u64) -> u64 {
    (4 * claimed).clamp(SMALLEST_LIMIT, LARGEST_ARTICLE)
}

const SMALLEST_RESERVATION: u64 = 16 << 10;
const UNKNOWN_ARTICLE: u64 = 1 << 20;
const SMALLEST_LIMIT: u64 = 4 << 20;
const LARGEST_ARTICLE: u64 = 32 << 20;

/// How long to leave a full or failing disk alone.
const DISK_PAUSE: Duration = Duration::from_secs(5);
