//! [`ReadCredit`]: what one connection may read from its socket before it asks again. Pure; the
//! connection's task in `net` owns one, and so does every connection of the simulator.

use std::time::Instant;

use bergamot_types::ByteCount;

use crate::rate::lease::Credit;

/// The read credit of one connection.
///
/// It is empty at first. After every change (a grant, bytes read, time passed, an answer expected
/// or not any more) call [`poll_request`](Self::poll_request) until it returns `None` and pass each
/// request on to the [`Limiter`](crate::Limiter)'s owner. [`Wanted`](CreditRequest::Wanted) is
/// requested once and answered by [`grant`](Self::grant). Bytes that come unasked, such as
/// greetings, are read without credit.
#[derive(Debug, Default)]
pub struct ReadCredit {
    credit: Option<Credit>,
    is_requested: bool,
}

/// What a connection asks of the limiter.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum CreditRequest {
    /// There is something to read, and no credit to read it with.
    Wanted,
    /// Nothing is left to read, or the credit expired: so much of it was not used.
    Returned(ByteCount),
}

impl ReadCredit {
    pub fn grant(&mut self, credit: Credit) {
        self.credit = Some(credit);
        self.is_requested = false;
    }

    /// Takes the credit back; what is left of it has to be returned. A connection without credit has
    /// said so already: to return 0 bytes again would cancel a request that is still under way.
    pub fn revoke(&mut self) -> Option<CreditRequest> {
        self.credit.take().map(|credit| match credit {
            Credit::Bytes { most, .. } => CreditRequest::Returned(most),
            Credit::Unlimited => CreditRequest::Returned(ByteCount(0)),
        })
    }

    /// How many bytes may be read now; `expecting` if an answer is due.
    pub fn allowed(&self, now: Instant, expecting: bool) -> u64 {
        match self.credit {
            _ if !expecting => u64::MAX,
            Some(Credit::Bytes { most, until }) if now < until => most.0,
            Some(Credit::Unlimited) => u64::MAX,
            Some(Credit::Bytes { .. }) | None => 0,
        }
    }

    /// When the credit expires.
    pub fn expires(&self) -> Option<Instant> {
        match self.credit {
            Some(Credit::Bytes { until, .. }) => Some(until),
            Some(Credit::Unlimited) | None => None,
        }
    }

    pub fn spend(&mut self, bytes: u64) {
        if let Some(Credit::Bytes { most, .. }) = &mut self.credit {
            most.0 = most.0.saturating_sub(bytes);
        }
    }

    /// The next request to the limiter; each is returned once.
    pub fn poll_request(&mut self, now: Instant, expecting: bool) -> Option<CreditRequest> {
        match self.credit {
            Some(Credit::Bytes { .. }) if !expecting => self.revoke(),
            Some(Credit::Bytes { most, until }) if now >= until && most.0 > 0 => self.revoke(),
            _ if expecting && !self.is_requested && self.allowed(now, true) == 0 => {
                self.credit = None;
                self.is_requested = true;
                Some(CreditRequest::Wanted)
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
    fn without_credit_it_asks_once_and_reads_nothing_until_it_is_granted() {
        let (mut credit, now) = (ReadCredit::default(), Instant::now());
        assert_eq!(credit.allowed(now, false), u64::MAX, "a greeting needs no credit");
        assert_eq!(credit.poll_request(now, false), None);
        assert_eq!(credit.poll_request(now, true), Some(CreditRequest::Wanted));
        assert_eq!((credit.poll_request(now, true), credit.allowed(now, true)), (None, 0));
        let until = now + Duration::from_secs(1);
        credit.grant(Credit::Bytes { most: ByteCount(100), until });
        assert_eq!((credit.poll_request(now, true), credit.allowed(now, true)), (None, 100));
        credit.spend(100);
        assert_eq!(credit.poll_request(now, true), Some(CreditRequest::Wanted));
    }

    #[test]
    fn what_is_not_needed_or_too_old_goes_back() {
        let (mut credit, now) = (ReadCredit::default(), Instant::now());
        let until = now + Duration::from_secs(1);
        credit.grant(Credit::Bytes { most: ByteCount(100), until });
        credit.spend(30);
        assert_eq!(credit.poll_request(now, false), Some(CreditRequest::Returned(ByteCount(70))));
        assert_eq!(credit.poll_request(now, false), None);
        credit.grant(Credit::Bytes { most: ByteCount(100), until });
        assert_eq!(credit.allowed(until, true), 0);
        assert_eq!(credit.poll_request(until, true), Some(CreditRequest::Returned(ByteCount(100))));
        assert_eq!(credit.poll_request(until, true), Some(CreditRequest::Wanted));
    }

    #[test]
    fn unlimited_credit_lasts_until_it_is_revoked() {
        let (mut credit, now) = (ReadCredit::default(), Instant::now());
        credit.grant(Credit::Unlimited);
        credit.spend(u64::MAX);
        assert_eq!((credit.poll_request(now, true), credit.poll_request(now, false)), (None, None));
        assert_eq!(credit.revoke(), Some(CreditRequest::Returned(ByteCount(0))));
        assert_eq!(credit.poll_request(now, true), Some(CreditRequest::Wanted));
        assert_eq!(credit.revoke(), None, "what it asked for is still wanted");
    }

    #[test]
    fn a_revocation_that_crosses_a_request_leaves_it_standing() {
        let (mut credit, now) = (ReadCredit::default(), Instant::now());
        assert_eq!(credit.poll_request(now, true), Some(CreditRequest::Wanted));
        assert_eq!(credit.revoke(), None, "the request says that nothing is left");
    }
}
