//! [`ServerStatus`] and [`JobStatus`]: read-only views of the engine, cheap enough to be built often. Pure.

use std::time::{Duration, Instant};

use bergamot_limit::Usage;
use bergamot_pool::Trouble;
use bergamot_queue::SegmentKey;
use bergamot_types::{ByteRate, JobId, ServerId};

use crate::article::{Location, Stage};
use crate::engine::Engine;
use crate::event::Now;
use crate::verdict::{Verdict, Wait};

/// How it stands with a server.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerStatus {
    pub id: ServerId,
    pub active: bool,
    /// Connections that are open, being opened or closed.
    pub open: usize,
    /// Those that can be asked.
    pub working: usize,
    /// How many it may have by the settings.
    pub configured: usize,
    /// And how many by what its provider allows, as far as that is known.
    pub ceiling: usize,
    /// Articles it was asked for and has not answered for.
    pub in_flight: usize,
    /// What hinders it, until it has worked again.
    pub trouble: Option<Trouble>,
    /// Until then it is not tried again.
    pub rests_until: Option<Instant>,
    /// Its quota is reached.
    pub is_used_up: bool,
    /// As measured on one connection of late.
    pub rate: Option<ByteRate>,
    pub first_byte: Option<Duration>,
}

/// How it stands with a job.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct JobStatus {
    /// Articles that were asked for and are not there.
    pub in_flight: usize,
    /// Articles on their way to the disk.
    pub writing: usize,
    /// What the NZB claims of those that were not requested, paused files aside.
    pub fresh_bytes: u64,
    /// Articles that did not come at the first asking and wait to be asked for again.
    pub waiting: usize,
    pub lost: u32,
    /// What the first article waits for that is not under way, and from whom it may come.
    pub wait: Option<(Wait, Vec<ServerId>)>,
}

impl Engine {
    /// In the order of the settings.
    pub fn servers(&self) -> impl Iterator<Item = ServerStatus> + '_ {
        self.pool.ids().map(|id| self.server_status(id))
    }

    fn server_status(&self, id: ServerId) -> ServerStatus {
        let settings = self.pool.settings(id);
        let lines = self.connections.values().filter(|known| known.server == id);
        ServerStatus {
            id,
            active: settings.active,
            open: self.pool.open(id),
            working: self.pool.working(id),
            configured: settings.connections,
            ceiling: self.pool.ceiling(id),
            in_flight: lines.map(|known| known.in_flight.len()).sum(),
            trouble: self.pool.trouble(id),
            rests_until: self.pool.rests_until(id),
            is_used_up: self.pool.is_used_up(id),
            rate: self.sched.rate(id).map(|rate| ByteRate(rate as u64)),
            first_byte: Some(self.sched.first_byte(id)).filter(|time| *time > Duration::ZERO),
        }
    }

    pub fn job_status(&self, now: Now, job: JobId) -> Option<JobStatus> {
        let known = self.queue.job(job)?;
        let stages = self.tickets.values().filter(|it| it.key.job == job).map(|it| &it.stage);
        let in_flight = stages.clone().filter(|it| matches!(it, Stage::Asked { .. })).count();
        let waits = |location| location != Location::UnderWay;
        let waiting = self.retries.troubled.iter().filter(|(key, _)| key.job == job);
        let waiting = waiting.filter(|(_, it)| waits(it.location)).map(|(key, _)| *key);
        let unasked = known.first_unasked();
        let unasked = unasked.map(|(file, segment)| SegmentKey { job, file, segment });
        let first = waiting.clone().min().or(unasked);
        Some(JobStatus {
            in_flight,
            writing: stages.count() - in_flight,
            fresh_bytes: self.queue.fresh_bytes(job),
            waiting: waiting.count(),
            lost: known.totals().segments_lost,
            wait: first.and_then(|key| self.wait_of(now, key)),
        })
    }

    fn wait_of(&self, now: Now, key: SegmentKey) -> Option<(Wait, Vec<ServerId>)> {
        match self.verdict(now, key)? {
            Verdict::Waiting { servers, why, .. } => Some((why, servers)),
            Verdict::Damaged { .. } | Verdict::Got { .. } | Verdict::Missing { .. } => None,
        }
    }

    /// How it stands with each quota there is: of one server, or of all together.
    pub fn quotas(&mut self, now: Now) -> Vec<(Option<ServerId>, Vec<Usage>)> {
        self.allowance.usage(now.date)
    }
}
