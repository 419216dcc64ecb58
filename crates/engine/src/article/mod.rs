//! [`Article`]: one article under way, from the request to the write, and the methods of [`Engine`] that
//! handle its answer. Pure.

pub(crate) mod health;
pub(crate) mod retries;
pub(crate) mod suspicion;

use std::time::{Duration, Instant};

use bergamot_pool::{Attempt, Consequence, Route, Tries};
use bergamot_queue::{FileKey, Part, SegmentKey, SegmentState};
use bergamot_types::ServerId;

use crate::article::suspicion::Suspicion;
use crate::dispatch::{LARGEST_ARTICLE, size_of};
use crate::engine::Engine;
use crate::event::{Fault, Now};
use crate::order::{ConnectionId, Note, Notice, Order, Ticket};

/// An article under way, and what it holds.
#[derive(Debug)]
pub(crate) struct Article {
    pub(crate) key: SegmentKey,
    /// Room for its body, and how much of it is reserved so far: none or all.
    pub(crate) needs: u64,
    pub(crate) reserved: u64,
    /// What has come beyond that, and counts against quotas already.
    pub(crate) surplus: u64,
    pub(crate) stage: Stage,
}

impl Article {
    pub(crate) fn is_asked(&self) -> bool {
        matches!(self.stage, Stage::Asked { .. })
    }
}

#[derive(Debug)]
pub(crate) enum Stage {
    Asked {
        server: ServerId,
        connection: ConnectionId,
    },
    Writing {
        server: ServerId,
        part: Part,
    },
    /// A damaged copy is being kept until a better one comes; nothing follows from it.
    Keeping,
}

/// What an article has to do with the end of the connection that was asked for it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Blame {
    None,
    /// It may be the reason: others are asked for before it is asked for again.
    Suspected,
    Charged,
}

/// An article that did not come at the first asking.
#[derive(Debug, Default)]
pub(crate) struct Troubled {
    pub(crate) tries: Tries,
    pub(crate) location: Location,
    /// What an article that outgrew its reservation needs.
    pub(crate) needs: u64,
    /// The length of the best damaged copy, which lies in its place.
    best_damaged: Option<u64>,
    pub(crate) suspicion: Suspicion,
    /// A server that may have one of its other ids could not be asked.
    is_by_outage: bool,
}

impl Troubled {
    /// Whether it waits in the line of this server, among others.
    pub(crate) fn waits_for(&self, server: ServerId) -> bool {
        self.location == Location::InLine && !self.tries.answered(server)
    }
}

/// Where such an article is; it is in one place only.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) enum Location {
    /// Asked for, or being written.
    #[default]
    UnderWay,
    /// Waits out a pause.
    Delayed { until: Instant },
    /// In the lines of the servers that may be asked for it. A line may hold it after it has left.
    InLine,
    /// Waits for a server that is excused.
    Parked,
}

impl Engine {
    pub(crate) fn on_missing(&mut self, now: Now, ticket: Ticket) {
        if self.on_probe_missing(now, ticket) {
            return;
        }
        let Some((key, server)) = self.answered(now, ticket) else { return };
        if self.pool.on_missing(server) {
            self.on_server_works(now, server);
        }
        self.retries.troubled.entry(key).or_default().tries.missing(server);
        self.ask_again(now, key);
    }

    pub(crate) fn on_refused(&mut self, now: Now, ticket: Ticket) {
        if self.on_probe_refused(now, ticket) {
            return;
        }
        let Some((key, server)) = self.answered(now, ticket) else { return };
        let attempt = self.attempt(server, ticket.0, Some(key));
        let end = self.pool.on_request_failed(now.instant, server, attempt);
        self.on_failed_at(now, key, server);
        if let Consequence::Rests(again_in) = end {
            self.on_server_rests(now, server, again_in);
        }
    }

    /// What failed, when it is no longer under way.
    pub(crate) fn attempt(
        &self,
        server: ServerId,
        number: u64,
        key: Option<SegmentKey>,
    ) -> Attempt {
        let mut of_server = self.connections.values().filter(|known| known.server == server);
        let of_key = |key: SegmentKey| {
            u64::from(key.job.0) << 40 ^ u64::from(key.file) << 20 ^ u64::from(key.segment)
        };
        Attempt {
            number,
            newest: self.last_number,
            article: key.map(of_key),
            others_under_way: of_server.any(|known| !known.in_flight.is_empty()),
            is_behind_answer: false,
        }
    }

    /// Releases what the ticket of an answer without a body held.
    fn answered(&mut self, now: Now, ticket: Ticket) -> Option<(SegmentKey, ServerId)> {
        let article = self.close_ticket(ticket)?;
        let Stage::Asked { server, connection } = article.stage else { return None };
        self.free_slot(now, connection, ticket, false);
        Some((article.key, server))
    }

    pub(crate) fn on_fetched(
        &mut self,
        now: Now,
        ticket: Ticket,
        part: Part,
        fault: Option<Fault>,
    ) {
        let Some(article) = self.tickets.get(&ticket) else {
            return self.orders.push_back(Order::Discard { ticket });
        };
        let Stage::Asked { server, connection } = article.stage else { return };
        let key = article.key;
        self.free_slot(now, connection, ticket, true);
        if self.pool.on_delivered(server, ticket.0) {
            self.on_server_works(now, server);
        }
        if !self.queue.wants(key) || self.is_being_written(key) {
            return self.discard(ticket);
        }
        match fault {
            Some(Fault::Damaged) => self.on_damaged(now, ticket, server, &part, "it is damaged"),
            Some(Fault::TooLarge { needed }) => {
                self.on_too_large(now, ticket, server, &part, needed);
            }
            None => self.on_good(now, ticket, server, part),
        }
    }

    /// The NZB was wrong about the size: asked for again with room enough, once.
    fn on_too_large(
        &mut self,
        now: Now,
        ticket: Ticket,
        server: ServerId,
        part: &Part,
        needed: u64,
    ) {
        let Some(article) = self.tickets.get(&ticket) else { return };
        let (key, had) = (article.key, article.reserved);
        if needed > LARGEST_ARTICLE || needed <= had {
            return self.on_damaged(now, ticket, server, part, "it is too large");
        }
        self.discard(ticket);
        self.retries.troubled.entry(key).or_default().needs = needed;
        self.ask_again(now, key);
    }

    fn on_good(&mut self, now: Now, ticket: Ticket, server: ServerId, mut part: Part) {
        let Some(article) = self.tickets.get_mut(&ticket) else { return };
        let key = article.key;
        let is_accepted = self.retries.troubled.get(&key).is_some_and(Troubled::is_accepted);
        let mut placed = self.queue.place(key, &part);
        if is_accepted
            && let Some(Err(conflict)) = &placed
            && conflict.is_suspicion()
        {
            part.verified = false;
            placed = self.queue.accept(key, &part);
        }
        match placed {
            None => self.discard(ticket),
            Some(Err(conflict)) => self.on_misfit(now, ticket, server, &conflict),
            Some(Ok(placed)) => {
                let length = part.length;
                article.stage = Stage::Writing { server, part };
                let file = key.file_key();
                // What may be asked for twice is counted as the NZB claims it, so this is too: else
                // an NZB that claims too little would let too much be asked for twice.
                let claimed = self.queue.file(file).map_or(0, |file| size_of(file, key.segment));
                self.end_game.spare.on_fetched(length.min(claimed));
                if let Some(size) = self.queue.size_to_reserve(file) {
                    self.orders.push_back(Order::Reserve { file, size });
                }
                let again = placed.evicted.into_iter().chain(placed.refused_in_error);
                let again: Vec<_> = again.map(|segment| SegmentKey { segment, ..key }).collect();
                // Before it is written, for it may come to lie over what was noted of them.
                again.iter().for_each(|&key| self.note(Note::Reopened { key }));
                self.write(now, ticket, placed.offset);
                again.into_iter().for_each(|key| self.on_evicted(now, key));
                self.reset_tries(now, file, &placed.reset_tries);
            }
        }
    }

    /// Copies of these were refused because of a wrong claim of the file's size: their servers may be asked
    /// again.
    fn reset_tries(&mut self, now: Now, file: FileKey, segments: &[u32]) {
        if segments.is_empty() {
            return;
        }
        for &segment in segments {
            let key = SegmentKey { job: file.job, file: file.file, segment };
            if let Some(troubled) = self.retries.troubled.get_mut(&key) {
                troubled.tries = Tries::default();
            }
            self.forget_suspicion(key);
        }
        self.reroute(now);
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
    fn on_damaged(&mut self, now: Now, ticket: Ticket, server: ServerId, part: &Part, why: &str) {
        let Some(article) = self.tickets.get_mut(&ticket) else { return };
        let key = article.key;
        let troubled = self.retries.troubled.entry(key).or_default();
        let better = troubled.best_damaged.is_none_or(|best| part.length > best);
        match self.queue.room_for_damaged(key, part).filter(|_| better) {
            Some(offset) => {
                troubled.best_damaged = Some(part.length);
                article.stage = Stage::Keeping;
                self.write(now, ticket, offset);
            }
            None => self.discard(ticket),
        }
        self.retries.troubled.entry(key).or_default().tries.damaged(server);
        self.on_bad_copy(now, key, server, why);
    }

    pub(crate) fn on_bad_copy(&mut self, now: Now, key: SegmentKey, server: ServerId, why: &str) {
        if let Some(file) = self.queue.file(key.file_key()) {
            let id = file.message_id(key.segment);
            self.notify(Notice::ArticleRefused { job: key.job, id, server, why: why.to_owned() });
        }
        self.ask_again(now, key);
    }

    /// Takes an unanswered article back from its connection.
    pub(crate) fn take_back(&mut self, now: Now, ticket: Ticket, blame: Blame) {
        let Some(article) = self.close_ticket(ticket) else { return };
        let Stage::Asked { server, .. } = article.stage else { return };
        match blame {
            Blame::None => self.ask_again(now, article.key),
            Blame::Suspected => self.ask_later(now, article.key, server),
            Blame::Charged => self.on_failed_at(now, article.key, server),
        }
    }

    /// A request for the article failed.
    fn on_failed_at(&mut self, now: Now, key: SegmentKey, server: ServerId) {
        let (newest, delivered) = (self.last_number, self.pool.newest_delivered(server));
        let troubled = self.retries.troubled.entry(key).or_default();
        troubled.tries.broke(server, self.settings.article_retries, newest, delivered);
        self.ask_later(now, key, server);
    }

    /// Asks for it again after a pause, which grows: when a whole server goes, all its connections go at
    /// once, and an article must not use up its retries on those that are only about to. Where the
    /// server is known to be out of order, others are asked at once.
    fn ask_later(&mut self, now: Now, key: SegmentKey, server: ServerId) {
        if self.pool.is_out_of_order(server) {
            return self.ask_again(now, key);
        }
        let troubled = self.retries.troubled.entry(key).or_default();
        let breaks = troubled.tries.failures_at(server).max(1);
        let pause = ARTICLE_RETRY_DELAY * (1 << (breaks - 1).min(MOST_DELAY_DOUBLINGS));
        let until = now.instant + pause;
        troubled.location = Location::Delayed { until };
        self.retries.delayed.insert((until, key));
    }

    pub(crate) fn ask_after_pauses(&mut self, now: Now) {
        while let Some(&(until, key)) = self.retries.delayed.first()
            && now.instant >= until
        {
            self.retries.delayed.pop_first();
            // Two copies may have broken, each with its own pause; the last one counts.
            let location = self.retries.troubled.get(&key).map(|troubled| troubled.location);
            if location == Some(Location::Delayed { until }) {
                self.ask_again(now, key);
            }
        }
    }

    fn write(&mut self, now: Now, ticket: Ticket, offset: u64) {
        let Some(article) = self.tickets.get(&ticket) else { return };
        self.memory.backlog.on_write(now.instant, article.reserved);
        self.orders.push_back(Order::Write { ticket, file: article.key.file_key(), offset });
    }

    pub(crate) fn discard(&mut self, ticket: Ticket) {
        self.close_ticket(ticket);
        self.orders.push_back(Order::Discard { ticket });
    }

    /// The ticket is done with, and gives back what it held.
    pub(crate) fn close_ticket(&mut self, ticket: Ticket) -> Option<Article> {
        let article = self.tickets.remove(&ticket)?;
        self.memory.budget.release(article.reserved);
        self.end_game.on_ticket_gone(article.key);
        Some(article)
    }

    /// Puts an article that did not come into the lines of those who may still have it.
    pub(crate) fn ask_again(&mut self, now: Now, key: SegmentKey) {
        self.retries.suspects.remove(key);
        if !self.queue.wants(key) {
            self.retries.troubled.remove(&key);
            return;
        }
        if self.holds_back(key) {
            return;
        }
        let posted = self.queue.file(key.file_key()).and_then(|file| file.listed().posted);
        let other_copy = self.is_under_way(key);
        let troubled = self.retries.troubled.entry(key).or_default();
        if other_copy {
            troubled.location = Location::UnderWay;
            return;
        }
        match self.pool.route(&troubled.tries, posted, now.date) {
            Route::Ask(servers) => {
                troubled.location = Location::InLine;
                for server in servers {
                    self.retries.queues.entry(server).or_default().push_back(key);
                }
            }
            Route::Exhausted => self.on_exhausted(now, key),
            Route::Wait
                if troubled.is_suspected()
                    && self.pool.waits_for_quota(&troubled.tries, posted, now.date) =>
            {
                self.on_exhausted(now, key);
            }
            Route::Wait => {
                troubled.location = Location::Parked;
                self.retries.parked.push(key);
            }
        }
    }

    /// Every server has answered for the id that the segment is asked for by. Where the NZB lists another
    /// one that was not tried, that is asked for as if it were fresh.
    fn on_exhausted(&mut self, now: Now, key: SegmentKey) {
        if self.goes_on_to_next_id(now, key) {
            return self.ask_again(now, key);
        }
        match self.waits_to_be_accepted(key) {
            true => self.accept_suspects(now, key.file_key()),
            false => self.give_up(now, key),
        }
    }

    fn goes_on_to_next_id(&mut self, now: Now, key: SegmentKey) -> bool {
        let id = |engine: &Self| {
            engine.queue.file(key.file_key()).map(|file| file.message_id(key.segment))
        };
        let Some(before) = id(self) else { return false };
        if !self.queue.choose_next_id(key) {
            return false;
        }
        let posted = self.queue.file(key.file_key()).and_then(|file| file.listed().posted);
        let troubled = self.retries.troubled.entry(key).or_default();
        let tries = std::mem::take(&mut troubled.tries);
        troubled.is_by_outage |= self.pool.is_outage(&tries, posted, now.date);
        self.count_answers(key.job, &tries, None);
        if let Some(id) = id(self) {
            self.notify(Notice::AlternateChosen { job: key.job, id, before });
        }
        true
    }

    pub(crate) fn give_up(&mut self, now: Now, key: SegmentKey) {
        let troubled = self.retries.troubled.remove(&key).unwrap_or_default();
        let damaged = troubled.best_damaged.is_some();
        if let Some(file) = self.queue.file(key.file_key()) {
            let (id, posted) = (file.message_id(key.segment), file.listed().posted);
            let verdict = self.last_verdict(now, key, &troubled.tries, damaged);
            let is_outage = self.pool.is_outage(&troubled.tries, posted, now.date);
            if is_outage || troubled.is_by_outage {
                self.jobs.losses.note_outage(key.job);
            }
            self.notify(Notice::ArticleLost { job: key.job, id, verdict });
        }
        self.count_answers(key.job, &troubled.tries, None);
        self.resolve(key, if damaged { SegmentState::Damaged } else { SegmentState::Missing });
        self.check_health(now, key.job);
        self.accept_suspects(now, key.file_key());
    }

    /// A server's state has changed: what waits may wait for the wrong one now.
    pub(crate) fn reroute(&mut self, now: Now) {
        let mut waiting = std::mem::take(&mut self.retries.parked);
        for line in self.retries.queues.values_mut() {
            waiting.extend(line.drain(..));
        }
        waiting.sort_unstable();
        waiting.dedup();
        for key in waiting {
            let location = self.retries.troubled.get(&key).map(|troubled| troubled.location);
            if let Some(Location::InLine | Location::Parked) = location {
                self.ask_again(now, key);
            }
        }
    }
}

/// Before an article is asked for again on a new connection; doubled each time.
const ARTICLE_RETRY_DELAY: Duration = Duration::from_millis(250);
const MOST_DELAY_DOUBLINGS: u16 = 6;
