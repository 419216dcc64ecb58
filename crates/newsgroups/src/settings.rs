//! [`Settings`]: how much is read and cached.

use std::time::Duration;

use bergamot_types::ByteCount;

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Settings {
    /// How many of its newest headers are read when a group is first asked for, and at most at once.
    pub first_read: u64,
    /// What the headers of all groups may take.
    pub budget: ByteCount,
    /// A group is looked at once in this time, however often it is asked for.
    pub debounce: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self { first_read: 5_000, budget: ByteCount(16 << 20), debounce: Duration::from_secs(1) }
    }
}
