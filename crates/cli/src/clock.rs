//! The clock of the command line, the only file of the crate that reads it.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use bergamot_engine::Now;
use bergamot_types::UnixTime;

pub(crate) fn now() -> Now {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let date = UnixTime(i64::try_from(since.as_secs()).unwrap_or(i64::MAX));
    Now { instant: Instant::now(), date }
}
