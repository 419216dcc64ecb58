//! [`Settings`]: how many targets run at once, and how exact their times are.

use std::time::Duration;

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Settings {
    /// The most that one call of `take_due` gives.
    pub burst: usize,
    /// The most of one kind that run at once, unless that kind has a number of its own.
    pub concurrency: usize,
    /// The most that is added to an interval by chance; never more than a tenth of the interval.
    pub jitter: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self { burst: 2, concurrency: 4, jitter: Duration::from_millis(150) }
    }
}
