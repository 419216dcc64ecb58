//! [`Lease`]: bytes that a connection may read.

use std::time::Instant;

use bergamot_types::ByteCount;

/// What a connection may read from its socket before it asks again.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Lease<C> {
    pub connection: C,
    pub credit: Credit,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Credit {
    /// At most so many, and none after `until`: then what is left goes back.
    Bytes { most: ByteCount, until: Instant },
    /// Without counting, until it is revoked.
    Unlimited,
}
