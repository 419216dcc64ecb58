//! [`Verdict`]: the result of an article, or what it waits for. Pure.

use bergamot_pool::{History, Route, Tries, Trouble};
use bergamot_queue::SegmentKey;
use bergamot_types::{JobId, ServerId};

use crate::article::{Location, Stage};
use crate::engine::Engine;
use crate::event::Now;
use crate::order::Ticket;

/// How it stands with an article.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Verdict {
    /// Copies came, and none was good. `kept`: the best of them lies in its place, for repair.
    Damaged { history: History, kept: bool },
    /// A good copy came from this server.
    Got { server: ServerId },
    /// No server has it.
    Missing { history: History },
    /// It may still come, from any of these.
    Waiting { servers: Vec<ServerId>, why: Wait, history: History },
}

/// What an article waits for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Wait {
    /// It was asked for, and the answer is due.
    Answer,
    /// Its file is to be resumed.
    File,
    /// Its job is to be resumed.
    Job,
    /// Everything is to be resumed.
    Paused,
    /// The pause after a broken connection is to end.
    Pause,
    /// A quota is to begin anew.
    Quota,
    /// The servers are to come out of their trouble; it is that of one of them.
    Server(Trouble),
    /// There is no server that could be asked.
    Servers,
    /// Others come first.
    Turn,
}

impl Engine {
    /// How it stands with an article that is still open; none if it is not, or its job is gone.
    pub fn verdict(&self, now: Now, key: SegmentKey) -> Option<Verdict> {
        if !self.queue.wants(key) {
            return None;
        }
        let troubled = self.retries.troubled.get(&key);
        let tries = troubled.map(|troubled| troubled.tries.clone()).unwrap_or_default();
        let history = self.history(now, key, &tries);
        let waiting = |servers, why| Some(Verdict::Waiting { servers, why, history });
        match self.stage(key) {
            Some(&Stage::Asked { server, .. }) => return waiting(vec![server], Wait::Answer),
            Some(&Stage::Writing { server, .. }) => return Some(Verdict::Got { server }),
            Some(Stage::Keeping) | None => {}
        }
        let (servers, trouble) = self.servers_awaited(now, key, &tries);
        let location = troubled.map(|troubled| troubled.location);
        let why = match trouble {
            _ if self.queue.is_paused(key.job) => Wait::Job,
            _ if self.queue.is_job_held(key.job) => Wait::Paused,
            _ if self.queue.is_held(key) => Wait::File,
            _ if matches!(location, Some(Location::Delayed { .. })) => Wait::Pause,
            _ if servers.is_empty() => Wait::Servers,
            Some(trouble) => Wait::Server(trouble),
            None if servers.iter().all(|server| self.pool.is_used_up(*server)) => Wait::Quota,
            None => Wait::Turn,
        };
        waiting(servers, why)
    }

    /// The final verdict on an article that no server can be asked for any more.
    pub(crate) fn last_verdict(
        &self,
        now: Now,
        key: SegmentKey,
        tries: &Tries,
        kept: bool,
    ) -> Verdict {
        let history = self.history(now, key, tries);
        if tries.had_a_copy() {
            Verdict::Damaged { history, kept }
        } else {
            Verdict::Missing { history }
        }
    }

    /// Counts what each server has done about an article that is settled.
    pub(crate) fn count_answers(&mut self, job: JobId, tries: &Tries, from: Option<ServerId>) {
        if let Some(server) = from {
            self.queue.note_server(job, server, true);
        }
        for server in tries.asked_in_vain().filter(|server| Some(*server) != from) {
            self.queue.note_server(job, server, false);
        }
    }

    /// A working connection was refused for no reason that anybody can read, when it had asked for
    /// this article. Mostly that says that there are too many connections; but should it be the
    /// article that the server cannot bear, it must not go round for ever. Whether it is charged.
    pub(crate) fn is_suspect(&mut self, ticket: Ticket, server: ServerId) -> bool {
        let Some(key) = self.tickets.get(&ticket).map(|article| article.key) else { return false };
        self.retries.troubled.entry(key).or_default().tries.refused(server)
            > UNCLEAR_REFUSALS_ALLOWED
    }

    fn stage(&self, key: SegmentKey) -> Option<&Stage> {
        let mut stages = self.tickets.values().filter(|it| it.key == key).map(|it| &it.stage);
        let first = stages.next();
        stages.find(|stage| matches!(stage, Stage::Writing { .. })).or(first)
    }

    fn history(&self, now: Now, key: SegmentKey, tries: &Tries) -> History {
        let posted = self.queue.file(key.file_key()).and_then(|file| file.listed().posted);
        self.pool.history(tries, posted, now.date)
    }

    /// Those who may still be asked, and the trouble they are in if all of them are.
    fn servers_awaited(
        &self,
        now: Now,
        key: SegmentKey,
        tries: &Tries,
    ) -> (Vec<ServerId>, Option<Trouble>) {
        let posted = self.queue.file(key.file_key()).and_then(|file| file.listed().posted);
        let servers = match self.pool.route(tries, posted, now.date) {
            Route::Ask(servers) => servers,
            Route::Exhausted => Vec::new(),
            Route::Wait => self.pool.waits_for(tries, posted, now.date),
        };
        let troubles: Option<Vec<_>> = servers.iter().map(|it| self.pool.trouble(*it)).collect();
        let trouble = troubles.and_then(|troubles| troubles.first().copied());
        (servers, trouble)
    }
}

/// How many unreadable refusals are put down to the number of connections.
const UNCLEAR_REFUSALS_ALLOWED: u8 = 2;
