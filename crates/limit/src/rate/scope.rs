//! [`Scope`]: the connections that share a rate: all, or those to one server.

use std::time::Instant;

use bergamot_types::ByteRate;

use crate::rate::bucket::Bucket;

/// What one rate governs; without a bucket it is unlimited.
#[derive(Debug, Default)]
pub(crate) struct Scope {
    bucket: Option<Bucket>,
    /// Connections that wait for a lease or hold one with an end.
    pub(crate) active: usize,
}

impl Scope {
    /// Whether the leases that are held now must be revoked.
    pub(crate) fn set_rate(&mut self, now: Instant, rate: Option<ByteRate>) -> bool {
        let rate = rate.filter(|rate| rate.0 > 0);
        match (&mut self.bucket, rate) {
            (_, None) => {
                self.bucket = None;
                false
            }
            (None, Some(rate)) => {
                self.bucket = Some(Bucket::new(now, rate));
                true
            }
            (Some(bucket), Some(rate)) => bucket.set_rate(now, rate),
        }
    }

    pub(crate) fn rate(&self) -> Option<ByteRate> {
        self.bucket.as_ref().map(Bucket::rate)
    }

    pub(crate) fn is_limited(&self) -> bool {
        self.bucket.is_some()
    }

    pub(crate) fn suggested_connections(&self) -> Option<usize> {
        let rate = self.rate()?.0;
        Some(usize::try_from((rate / LEAST_SHARE).max(1)).unwrap_or(usize::MAX))
    }

    pub(crate) fn advance(&mut self, now: Instant) {
        if let Some(bucket) = &mut self.bucket {
            bucket.advance(now);
        }
    }

    pub(crate) fn lease_size(&self) -> Option<u64> {
        self.bucket.as_ref().map(|bucket| bucket.lease_size(self.active))
    }

    pub(crate) fn is_ready(&self, bytes: u64) -> bool {
        self.bucket.as_ref().is_none_or(|bucket| bucket.is_ready(bytes))
    }

    /// When it is ready, `Some(None)` being always; `None` while that depends on others.
    pub(crate) fn ready_at(&self, bytes: u64) -> Option<Option<Instant>> {
        self.bucket.as_ref().map_or(Some(None), |bucket| bucket.ready_at(bytes).map(Some))
    }

    /// Whether there was a bucket to draw from.
    pub(crate) fn lease(&mut self, bytes: u64) -> bool {
        if let Some(bucket) = &mut self.bucket {
            bucket.lease(bytes);
        }
        self.bucket.is_some()
    }

    pub(crate) fn settle(&mut self, drawn: bool, bytes: u64, unspent: u64) {
        if let Some(bucket) = self.bucket.as_mut().filter(|_| drawn) {
            bucket.settle(bytes, unspent);
        }
    }
}

/// Bytes per second below which an article takes so long that servers close the connection.
const LEAST_SHARE: u64 = 64 << 10;
