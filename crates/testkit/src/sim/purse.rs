//! The right to read, as a connection of the net keeps it.

use std::time::Duration;

/// What a connection may read before it asks again.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Lease {
    Bytes { most: u64, until: Duration },
    Unlimited,
}

/// Follows the rules of the net's own: it asks when an answer is due and nothing is left, and gives
/// back what is not needed or too old.
#[derive(Debug, Default)]
pub(crate) struct Purse {
    lease: Option<Lease>,
    asked: bool,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Plea {
    More,
    CreditReturned(u64),
}

impl Purse {
    pub(crate) fn fill(&mut self, lease: Lease) {
        self.lease = Some(lease);
        self.asked = false;
    }

    pub(crate) fn revoke(&mut self) -> Option<Plea> {
        self.lease.take().map(|lease| match lease {
            Lease::Bytes { most, .. } => Plea::CreditReturned(most),
            Lease::Unlimited => Plea::CreditReturned(0),
        })
    }

    pub(crate) fn allowed(&self, now: Duration) -> u64 {
        match self.lease {
            Some(Lease::Bytes { most, until }) if now < until => most,
            Some(Lease::Unlimited) => u64::MAX,
            Some(Lease::Bytes { .. }) | None => 0,
        }
    }

    pub(crate) fn expires(&self) -> Option<Duration> {
        match self.lease {
            Some(Lease::Bytes { until, .. }) => Some(until),
            Some(Lease::Unlimited) | None => None,
        }
    }

    pub(crate) fn spend(&mut self, bytes: u64) {
        if let Some(Lease::Bytes { most, .. }) = &mut self.lease {
            *most = most.saturating_sub(bytes);
        }
    }

    /// What is to be said, once, in the present state of things; `expecting` if an answer is due.
    pub(crate) fn plea(&mut self, now: Duration, expecting: bool) -> Option<Plea> {
        match self.lease {
            Some(Lease::Bytes { .. }) if !expecting => self.revoke(),
            Some(Lease::Bytes { most, until }) if now >= until && most > 0 => self.revoke(),
            _ if expecting && !self.asked && self.allowed(now) == 0 => {
                self.lease = None;
                self.asked = true;
                Some(Plea::More)
            }
            _ => None,
        }
    }
}
