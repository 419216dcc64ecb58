//! [`PlausibleClock`]: whether the date may be used to compute the age of something that is deleted by
//! age. Pure: the date and the monotonic instant are arguments.
//!
//! A machine without a battery-backed clock starts in 1970 or at the date of its last shutdown, and a
//! wrong time server can set any date. Both are corrected within minutes as a rule, so a date counts only
//! after it has gone on without a jump for [`CONFIRMATION`].

use std::time::{Duration, Instant};

use bergamot_types::UnixTime;

/// Follows the date of one run of the daemon.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlausibleClock {
    /// The reading that later ones are compared with: that of the start, or the first after a jump. Not
    /// the last one, or many small steps would add up to any jump.
    date: UnixTime,
    instant: Instant,
}

/// Why the date does not count yet.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Doubt {
    /// It is earlier than a date that was written to disk before.
    BeforeNewestRecord,
    /// It changed by so much more or less than time passed, since the last reading that counted.
    Jumped { seconds: i64 },
    /// The start, or the last jump, was less than an hour ago. Until then.
    Unconfirmed { until: Instant },
}

impl PlausibleClock {
    pub(crate) fn new(instant: Instant, date: UnixTime) -> Self {
        Self { date, instant }
    }

    /// Takes a reading. `newest_record` is the latest date found in the records on disk.
    pub(crate) fn check(
        &mut self,
        instant: Instant,
        date: UnixTime,
        newest_record: UnixTime,
    ) -> Result<UnixTime, Doubt> {
        let passed = instant.saturating_duration_since(self.instant);
        let passed_seconds = i64::try_from(passed.as_secs()).unwrap_or(i64::MAX);
        let expected = self.date.0.saturating_add(passed_seconds);
        let seconds = date.0.saturating_sub(expected);
        if seconds.unsigned_abs() > LARGEST_STEP.as_secs() {
            *self = Self::new(instant, date);
            return Err(Doubt::Jumped { seconds });
        }
        if passed < CONFIRMATION {
            return Err(Doubt::Unconfirmed { until: self.instant + CONFIRMATION });
        }
        match date < newest_record {
            true => Err(Doubt::BeforeNewestRecord),
            false => Ok(date),
        }
    }
}

/// How long a date has to go on without a jump before it counts, after the start and after each jump.
pub(crate) const CONFIRMATION: Duration = Duration::from_secs(60 * 60);

/// Corrections by a time server or by hand are smaller than this. Also the machine's sleep counts as a
/// jump when it lasts longer, as the monotonic clock stands still meanwhile.
const LARGEST_STEP: Duration = Duration::from_secs(24 * 60 * 60);
