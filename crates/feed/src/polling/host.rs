//! [`Host`]: the calls and waits of one host, which several feeds may share.

use std::collections::BTreeSet;
use std::time::Duration;

use bergamot_types::{JobId, UnixTime, Url};

use super::memory::Waits;
use super::pace::LONGEST_WAIT;

#[derive(Debug, Default)]
pub(super) struct Host {
    /// One call at a time.
    pub(super) is_busy: bool,
    pub(super) waits: Waits,
    /// Refusals for too many calls, in a row.
    pub(super) limited: u32,
    /// The feed (by its key) that was refused for good.
    pub(super) denied_by: Option<Box<str>>,
    /// Jobs that want their NZB from it, and since when.
    pub(super) waiting: BTreeSet<(UnixTime, JobId)>,
}

/// Two services on one machine are two hosts: what one refuses, the other may grant.
pub(super) fn host_of(url: &Url) -> Box<str> {
    url.authority().into()
}

impl Host {
    pub(super) fn leave_alone(&mut self, now: UnixTime, wait: Duration) {
        self.waits.calls = self.waits.calls.max(Some(later(now, wait)));
    }

    pub(super) fn leave_grabs_alone(&mut self, now: UnixTime, wait: Duration) {
        self.waits.grabs = self.waits.grabs.max(Some(later(now, wait)));
    }

    /// When a call is allowed, if not now.
    pub(super) fn waits_until(&self, now: UnixTime, is_nzb: bool) -> Option<UnixTime> {
        let grabs = if is_nzb { self.waits.grabs } else { None };
        let until = self.waits.calls.max(grabs)?;
        // No wait is that long, so the calendar was set back since.
        let latest = later(now, LONGEST_WAIT);
        (now < until && until <= latest).then_some(until)
    }

    pub(super) fn is_open(&self, now: UnixTime) -> bool {
        self.denied_by.is_none() && self.waits_until(now, true).is_none()
    }

    pub(super) fn is_idle(&self, now: UnixTime) -> bool {
        let is_left_alone = !self.is_busy && self.waiting.is_empty();
        is_left_alone && self.is_open(now)
    }
}

pub(super) fn later(now: UnixTime, wait: Duration) -> UnixTime {
    // Rounded up: a second too early would be asked to wait again.
    let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
    UnixTime(now.0.saturating_add(i64::try_from(seconds).unwrap_or(i64::MAX)))
}
