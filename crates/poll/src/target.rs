//! [`Target`]: one periodic task.

use std::time::{Duration, Instant};

/// A target as it stands.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Target<K> {
    pub kind: K,
    pub interval: Duration,
    /// Between targets due at the same instant the higher goes first.
    pub priority: i32,
    pub next_due: Instant,
    pub enabled: bool,
    pub last_status: Status,
    /// When the last run ended.
    pub last_run: Option<Instant>,
    /// In a row.
    pub failures: u32,
}

/// How the last run went.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Status {
    Never,
    Failed,
    Succeeded,
}

/// A target as it should be.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Wanted<K> {
    pub kind: K,
    pub interval: Duration,
    pub priority: i32,
    pub enabled: bool,
}

impl<K> Target<K> {
    /// Due at once.
    pub(crate) fn new(now: Instant, wanted: Wanted<K>) -> Self {
        Self {
            kind: wanted.kind,
            interval: wanted.interval,
            priority: wanted.priority,
            next_due: now,
            enabled: wanted.enabled,
            last_status: Status::Never,
            last_run: None,
            failures: 0,
        }
    }

    pub(crate) fn record(&mut self, now: Instant, succeeded: bool) {
        self.last_run = Some(now);
        self.last_status = if succeeded { Status::Succeeded } else { Status::Failed };
        self.failures = if succeeded { 0 } else { self.failures.saturating_add(1) };
    }

    pub(crate) fn jitter_limit(&self, most: Duration) -> Duration {
        most.min(self.interval / 10)
    }

    /// How long to rest after that many failures in a row.
    pub(crate) fn back_off(&self) -> Duration {
        let doublings = self.failures.saturating_sub(1).min(MOST_DOUBLINGS);
        let pause = FIRST_PAUSE.min(self.interval).saturating_mul(1 << doublings);
        pause.min(self.interval.saturating_mul(4))
    }
}

const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// A second doubled as often is a century; the cap of four intervals has long been reached.
const MOST_DOUBLINGS: u32 = 31;
