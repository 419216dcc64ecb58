//! [`Observers`]: the counters and measurements shown to users, with the event hub and the terminal they are sent to.
//! Owned by the main loop. What is sent, and how often, is decided in `events/`.

use std::time::Instant;

use bergamot_poll::Cadence;
use bergamot_rpc::Hub;
use bergamot_store::ServerVolumes;
use bergamot_types::{JobId, UnixTime};
use tracing::warn;

use crate::clock;
use crate::events::progress::Published;
use crate::events::terminal::TerminalProgress;
use crate::views::counters::Counters;
use crate::views::file_ids::FileIds;
use crate::views::rate::RateMeter;
use crate::views::traffic::Traffic;

pub(crate) struct Observers {
    file_ids: FileIds,
    pub(crate) terminal: TerminalProgress,
    rate_meter: RateMeter,
    hub: Hub,
    pub(crate) published: Published,
    traffic: Traffic,
    counters: Counters,
    held_since: UnixTime,
    warnings: Vec<String>,
}

impl Observers {
    pub(crate) fn new(
        terminal: TerminalProgress,
        cadence: Cadence,
        traffic: ServerVolumes,
    ) -> Self {
        let now = clock::now();
        Self {
            file_ids: FileIds::default(),
            terminal,
            rate_meter: RateMeter::new(now.instant),
            hub: Hub::new(clock::boot()),
            published: Published::new(cadence),
            traffic: Traffic::new(traffic),
            counters: Counters::default(),
            held_since: now.date,
            warnings: Vec::new(),
        }
    }

    pub(crate) fn hub(&self) -> &Hub {
        &self.hub
    }

    pub(crate) fn rate_meter(&self) -> &RateMeter {
        &self.rate_meter
    }

    pub(crate) fn traffic(&self) -> &Traffic {
        &self.traffic
    }

    pub(crate) fn traffic_mut(&mut self) -> &mut Traffic {
        &mut self.traffic
    }

    pub(crate) fn counters(&self) -> &Counters {
        &self.counters
    }

    pub(crate) fn counters_mut(&mut self) -> &mut Counters {
        &mut self.counters
    }

    pub(crate) fn file_ids(&mut self) -> &mut FileIds {
        &mut self.file_ids
    }

    /// An article came, good or bad, or did not.
    pub(crate) fn count_article(&mut self, server: Option<&str>, bytes: usize, good: bool) {
        self.terminal.on_bytes(bytes);
        self.rate_meter.on_bytes(clock::now().instant, bytes as u64);
        if let Some(server) = server {
            self.traffic.count(server, bytes as u64, good);
        }
    }

    /// When the counters of traffic have to be written.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.traffic.next_deadline()
    }

    /// Downloads were held or released by something other than a user.
    pub(crate) fn on_hold_changed(&mut self) {
        self.held_since = clock::now().date;
    }

    pub(crate) fn held_since(&self) -> UnixTime {
        self.held_since
    }

    /// Logs a warning of the start; it is also shown later.
    pub(crate) fn warn(&mut self, text: String) {
        warn!("{text}");
        self.warnings.push(text);
    }

    /// Those of the start.
    pub(crate) fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// A job is not downloaded any more.
    pub(crate) fn forget(&mut self, job: JobId) {
        self.file_ids.forget(job);
        self.published.forget(job);
    }
}
