//! [`Probes`]: samples of articles of jobs that wait, and whether servers have them. Pure.
//!
//! A question without a body costs a line each way, so it needs no connection of its own: it is put
//! behind the articles of one that is open, one at a time, and only where nothing is open is one
//! opened, after the articles have all they want. Servers that count what they give are not asked.

use std::collections::{BTreeMap, HashMap, VecDeque};

use bergamot_pool::{Route, Tries};
use bergamot_types::{JobId, MessageId, ServerId, UnixTime};

use crate::engine::Engine;
use crate::event::Now;
use crate::order::{ConnectionId, Order, Ticket};

/// An article whose presence says something of its job.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Sampled {
    pub id: MessageId,
    pub posted: Option<UnixTime>,
}

/// What became of a sample.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Census {
    pub present: u32,
    /// Nowhere to be had.
    pub missing: u32,
    /// A server that counts what it gives may have them, or one that broke off instead of saying.
    pub unknown: u32,
}

#[derive(Debug, Default)]
pub(crate) struct Probes {
    jobs: BTreeMap<JobId, Probe>,
    last: u64,
    asked: HashMap<Ticket, Asked>,
}

#[derive(Debug)]
struct Probe {
    number: u64,
    waiting: VecDeque<Question>,
    left: usize, // questions that are not settled
    census: Census,
}

#[derive(Debug)]
struct Question {
    article: Sampled,
    tries: Tries,
}

#[derive(Debug)]
struct Asked {
    job: JobId,
    probe: u64, // an earlier one of the job may have been dropped
    question: Question,
    connection: ConnectionId,
    server: ServerId,
}

enum Candidates {
    Nobody,
    /// Not now.
    Wait,
    These(Vec<ServerId>),
}

impl Engine {
    /// In place of what was asked for the job before.
    pub(crate) fn on_probe_wanted(&mut self, job: JobId, articles: Vec<Sampled>) {
        self.on_probe_dropped(job);
        let left = articles.len();
        let question = |article| Question { article, tries: Tries::default() };
        let waiting = articles.into_iter().map(question).collect();
        self.probes.last += 1;
        let number = self.probes.last;
        self.probes.jobs.insert(job, Probe { number, waiting, left, census: Census::default() });
        self.end_probe_if_settled(job);
    }

    /// What is under way still comes, and is ignored.
    pub(crate) fn on_probe_dropped(&mut self, job: JobId) {
        self.probes.jobs.remove(&job);
    }

    pub(crate) fn on_present(&mut self, now: Now, ticket: Ticket) {
        if let Some(asked) = self.take_probe(now, ticket) {
            self.settle(asked.job, asked.probe, |census| census.present += 1);
        }
    }

    /// Whether the ticket was that of a probe.
    pub(crate) fn on_probe_missing(&mut self, now: Now, ticket: Ticket) -> bool {
        let Some(Asked { job, probe, mut question, server, .. }) = self.take_probe(now, ticket)
        else {
            return false;
        };
        question.tries.missing(server);
        self.ask_probe_again(job, probe, question);
        true
    }

    /// Some other answer tells as little as a connection that breaks.
    pub(crate) fn on_probe_refused(&mut self, now: Now, ticket: Ticket) -> bool {
        let Some(asked) = self.take_probe(now, ticket) else { return false };
        self.blame(asked);
        true
    }

    pub(crate) fn take_probes_back(&mut self, connection: ConnectionId) {
        let lost = self.probes.asked.extract_if(|_, asked| asked.connection == connection);
        let mut lost: Vec<_> = lost.collect();
        lost.sort_unstable_by_key(|(ticket, _)| *ticket);
        lost.into_iter().for_each(|(_, asked)| self.blame(asked));
    }

    fn blame(&mut self, asked: Asked) {
        let Asked { job, probe, mut question, server, .. } = asked;
        question.tries.charge(server, MOST_PROBE_FAILURES);
        self.ask_probe_again(job, probe, question);
    }

    fn ask_probe_again(&mut self, job: JobId, number: u64, question: Question) {
        let probe = self.probes.jobs.get_mut(&job);
        if let Some(probe) = probe.filter(|probe| probe.number == number) {
            probe.waiting.push_back(question);
        }
    }

    fn take_probe(&mut self, now: Now, ticket: Ticket) -> Option<Asked> {
        let asked = self.probes.asked.remove(&ticket)?;
        if let Some(known) = self.connections.get_mut(&asked.connection) {
            known.has_answered = true;
            if known.idle_since.is_some() {
                known.idle_since = Some(now.instant);
            }
        }
        Some(asked)
    }

    /// After the articles have all they want.
    pub(crate) fn dispatch_probes(&mut self, now: Now) {
        if self.probes.jobs.is_empty() || self.hold().is_some() {
            return;
        }
        let jobs: Vec<_> = self.probes.jobs.keys().copied().collect();
        for job in jobs {
            let mut in_vain = 0;
            while in_vain < MOST_IN_VAIN {
                let Some(probe) = self.probes.jobs.get_mut(&job) else { break };
                let Some(question) = probe.waiting.pop_front() else { break };
                let number = probe.number;
                in_vain += usize::from(!self.put(now, job, number, question));
            }
        }
    }

    /// Whether the question is on its way, or settled.
    fn put(&mut self, now: Now, job: JobId, probe: u64, question: Question) -> bool {
        let servers = match self.probe_candidates(now, &question) {
            Candidates::Nobody => {
                self.settle_unasked(now, job, probe, &question);
                return true;
            }
            Candidates::Wait => Vec::new(),
            Candidates::These(servers) => servers,
        };
        let Some(connection) = self.connection_for_probe(&servers) else {
            self.open_for_probe(&servers);
            self.ask_probe_again(job, probe, question);
            return false;
        };
        self.last_number += 1;
        let ticket = Ticket(self.last_number);
        let id = question.article.id.clone();
        self.orders.push_back(Order::Stat { connection, ticket, id });
        let server = self.connections[&connection].server;
        self.probes.asked.insert(ticket, Asked { job, probe, question, connection, server });
        true
    }

    fn probe_candidates(&self, now: Now, question: &Question) -> Candidates {
        match self.pool.route_anew(&question.tries, question.article.posted, now.date) {
            Route::Ask(servers) => {
                let free = servers.into_iter().filter(|server| !self.gives_by_measure(*server));
                let free: Vec<_> = free.collect();
                if free.is_empty() { Candidates::Nobody } else { Candidates::These(free) }
            }
            Route::Exhausted => Candidates::Nobody,
            Route::Wait => Candidates::Wait,
        }
    }

    fn settle_unasked(&mut self, now: Now, job: JobId, probe: u64, question: &Question) {
        let route = self.pool.route_anew(&question.tries, question.article.posted, now.date);
        let broke = self.pool.ids().any(|server| question.tries.breaks_at(server) > 0);
        let nowhere = route == Route::Exhausted && !broke;
        self.settle(job, probe, |census| {
            let count = if nowhere { &mut census.missing } else { &mut census.unknown };
            *count += 1;
        });
    }

    fn settle(&mut self, job: JobId, number: u64, count: impl FnOnce(&mut Census)) {
        let probe = self.probes.jobs.get_mut(&job);
        if let Some(probe) = probe.filter(|probe| probe.number == number) {
            count(&mut probe.census);
            probe.left -= 1;
        }
        self.end_probe_if_settled(job);
    }

    fn end_probe_if_settled(&mut self, job: JobId) {
        let Some(probe) = self.probes.jobs.get(&job).filter(|probe| probe.left == 0) else {
            return;
        };
        let census = probe.census;
        self.probes.jobs.remove(&job);
        self.orders.push_back(Order::Probed { job, census });
    }

    /// One that has nothing else to do takes many at a time, any other one.
    fn connection_for_probe(&self, servers: &[ServerId]) -> Option<ConnectionId> {
        let room = |id: &ConnectionId, idle: bool| {
            let asked = self.probes.asked.values().filter(|asked| asked.connection == *id).count();
            let most = if idle { MOST_AT_ONCE } else { 1 };
            (asked < most).then_some(asked)
        };
        let open = self
            .connections
            .iter()
            .filter(|(_, known)| known.working && known.stays && servers.contains(&known.server));
        let with_room = open.filter_map(|(id, known)| {
            let length = known.in_flight.len();
            Some((length, room(id, length == 0)?, *id))
        });
        with_room.min().map(|(_, _, id)| id)
    }

    /// Articles have opened what they need by now.
    fn open_for_probe(&mut self, servers: &[ServerId]) {
        let is_open = |server: &ServerId| self.connections.values().any(|it| it.server == *server);
        if servers.iter().any(is_open) {
            return;
        }
        let with_room = servers.iter().copied().find(|server| self.pool.room(*server) > 0);
        if let Some(server) = with_room {
            self.connect(server);
        }
    }

    pub(crate) fn is_probing(&self, connection: ConnectionId) -> bool {
        self.probes.asked.values().any(|asked| asked.connection == connection)
    }
}

/// Questions at a time on a connection that does nothing else: enough for any round trip.
const MOST_AT_ONCE: usize = 32;
/// Questions of a job that no server can be asked just now and that are looked at all the same, after each
/// event: articles are what events are about.
const MOST_IN_VAIN: usize = 8;
/// A server that breaks off more often on one article is asked no more.
const MOST_PROBE_FAILURES: u8 = 2;
