//! [`now`]: the clocks of the daemon; the only module of the crate that reads them for the machines. Called from any
//! thread.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use bergamot_engine::Now;
use bergamot_types::UnixTime;

pub(crate) fn now() -> Now {
    Now { instant: Instant::now(), date: date() }
}

fn date() -> UnixTime {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    UnixTime(since.map_or(0, |since| i64::try_from(since.as_secs()).unwrap_or(i64::MAX)))
}

/// Something that differs from run to run, for jitter.
pub(crate) fn seed() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_nanos() as u64 ^ u64::from(std::process::id())
}

/// A random id of this run of the daemon.
pub(crate) fn boot() -> String {
    format!("{:016x}", seed())
}
