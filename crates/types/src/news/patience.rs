//! [`Patience`]: how long to wait for an answer, and how fast it must arrive.

use std::time::Duration;

use crate::amount::ByteRate;

/// The timeouts of one article request; past them the connection counts as dead.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Patience {
    /// Without a single byte.
    pub silence: Duration,
    /// Once the article has begun; slower than this is no better than silence.
    pub pace: ByteRate,
}
