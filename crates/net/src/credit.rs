//! The right to read.

use std::time::Instant;

/// What a connection may read from its socket before it asks again.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Credit {
    /// At most so many bytes, and none after `until`.
    Bytes { most: u64, until: Instant },
    /// Without counting, until it is revoked.
    Unlimited,
}

/// The purse of one connection. It is empty at first and asks for credit when there is something
/// to read; what is small and comes unasked, such as greetings, is read without.
#[derive(Debug, Default)]
pub(crate) struct Purse {
    credit: Option<Credit>,
    asked: bool,
}

/// What the purse has to say to whoever gives credit.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Plea {
    /// There is something to read and nothing to read it with.
    More,
    /// Nothing is left to read; this much was not needed.
    CreditReturned(u64),
}

impl Purse {
    pub(crate) fn fill(&mut self, credit: Credit) {
        self.credit = Some(credit);
        self.asked = false;
    }

    /// Takes the credit back; what is left of it has to be settled. Who holds none has said so
    /// already: to settle again would undo a plea for more that is still under way.
    pub(crate) fn revoke(&mut self) -> Option<Plea> {
        self.credit.take().map(|credit| match credit {
            Credit::Bytes { most, .. } => Plea::CreditReturned(most),
            Credit::Unlimited => Plea::CreditReturned(0),
        })
    }

    /// How much may be read now; `expecting` if an answer is due.
    pub(crate) fn allowed(&self, now: Instant, expecting: bool) -> u64 {
        match self.credit {
            _ if !expecting => u64::MAX,
            Some(Credit::Bytes { most, until }) if now < until => most,
            Some(Credit::Unlimited) => u64::MAX,
            Some(Credit::Bytes { .. }) | None => 0,
        }
    }

    /// When the credit runs out by itself.
    pub(crate) fn expires(&self) -> Option<Instant> {
        match self.credit {
            Some(Credit::Bytes { until, .. }) => Some(until),
            Some(Credit::Unlimited) | None => None,
        }
    }

    pub(crate) fn spend(&mut self, bytes: u64) {
        if let Some(Credit::Bytes { most, .. }) = &mut self.credit {
            *most = most.saturating_sub(bytes);
        }
    }

    /// What is to be said, once, in the present state of things.
    pub(crate) fn plea(&mut self, now: Instant, expecting: bool) -> Option<Plea> {
        match self.credit {
            Some(Credit::Bytes { .. }) if !expecting => self.revoke(),
            Some(Credit::Bytes { most, until }) if now >= until && most > 0 => self.revoke(),
            _ if expecting && !self.asked && self.allowed(now, true) == 0 => {
                self.credit = None;
                self.asked = true;
                Some(Plea::More)
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn an_empty_purse_asks_once_and_reads_nothing_until_it_is_filled() {
        let (mut purse, now) = (Purse::default(), Instant::now());
        assert_eq!(purse.allowed(now, false), u64::MAX, "a greeting needs no credit");
        assert_eq!(purse.plea(now, false), None);
        assert_eq!(purse.plea(now, true), Some(Plea::More));
        assert_eq!((purse.plea(now, true), purse.allowed(now, true)), (None, 0));
        let until = now + Duration::from_secs(1);
        purse.fill(Credit::Bytes { most: 100, until });
        assert_eq!((purse.plea(now, true), purse.allowed(now, true)), (None, 100));
        purse.spend(100);
        assert_eq!(purse.plea(now, true), Some(Plea::More));
    }

    #[test]
    fn what_is_not_needed_or_too_old_goes_back() {
        let (mut purse, now) = (Purse::default(), Instant::now());
        let until = now + Duration::from_secs(1);
        purse.fill(Credit::Bytes { most: 100, until });
        purse.spend(30);
        assert_eq!(purse.plea(now, false), Some(Plea::CreditReturned(70)));
        assert_eq!(purse.plea(now, false), None);
        purse.fill(Credit::Bytes { most: 100, until });
        assert_eq!(purse.allowed(until, true), 0);
        assert_eq!(purse.plea(until, true), Some(Plea::CreditReturned(100)));
        assert_eq!(purse.plea(until, true), Some(Plea::More));
    }

    #[test]
    fn unlimited_credit_lasts_until_it_is_revoked() {
        let (mut purse, now) = (Purse::default(), Instant::now());
        purse.fill(Credit::Unlimited);
        purse.spend(u64::MAX);
        assert_eq!((purse.plea(now, true), purse.plea(now, false)), (None, None));
        assert_eq!(purse.revoke(), Some(Plea::CreditReturned(0)));
        assert_eq!(purse.plea(now, true), Some(Plea::More));
        assert_eq!(purse.revoke(), None, "what it asked for is still wanted");
    }

    #[test]
    fn a_revocation_that_crosses_a_plea_for_more_leaves_it_standing() {
        let (mut purse, now) = (Purse::default(), Instant::now());
        assert_eq!(purse.plea(now, true), Some(Plea::More));
        assert_eq!(purse.revoke(), None, "the plea says that nothing is left");
    }
}
