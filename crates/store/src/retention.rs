//! How long history lasts.

use std::cmp::Reverse;
use std::time::Duration;

use bergamot_types::{JobId, UnixTime};

use crate::record::Record;

/// Jobs that ended longer ago than `keep`, and the oldest where there are more than `most`. Which is
/// older is told by their order in history; a clock that was set tells nothing.
pub fn expired<'a>(
    records: impl IntoIterator<Item = &'a Record>,
    now: UnixTime,
    keep: Duration,
    most: usize,
) -> Vec<JobId> {
    let ended = records.into_iter().filter_map(|record| {
        let outcome = record.outcome.as_ref()?;
        Some((Reverse(outcome.sequence), outcome.ended, record.id))
    });
    let mut ended: Vec<_> = ended.collect();
    ended.sort_unstable();
    let is_old = |ended: UnixTime| {
        // One that ended in the future is not old.
        let age = u64::try_from(now.0.saturating_sub(ended.0)).unwrap_or(0);
        age > keep.as_secs()
    };
    let expired = ended.into_iter().enumerate();
    let expired = expired.filter(|(place, (_, ended, _))| *place >= most || is_old(*ended));
    expired.map(|(_, (_, _, job))| job).collect()
}

#[cfg(test)]
mod tests {
    use bergamot_queue::Ending;

    use super::*;
    use crate::fingerprint::Fingerprint;
    use crate::outcome::Outcome;

    fn record(id: u32, ended: i64, sequence: u64) -> Record {
        let print = Fingerprint::default();
        let mut record = Record::new(JobId(id), "", UnixTime(0), "", print);
        let ending = Ending::Completed { verified: true };
        record.end(Outcome { sequence, ..Outcome::new(ending, UnixTime(ended), "") });
        record
    }

    #[test]
    fn history_is_kept_by_age_and_by_number() {
        let queued = Record::new(JobId(9), "", UnixTime(-9999), "", Fingerprint::default());
        let records = [record(1, 100, 1), record(2, 5000, 2), record(3, 300, 3), queued];
        let expired = |now, keep, most| {
            let expired = expired(&records, UnixTime(now), Duration::from_secs(keep), most);
            expired.into_iter().map(|job| job.0).collect::<Vec<_>>()
        };
        assert_eq!(expired(400, 1000, 10), [0; 0]);
        assert_eq!(expired(400, 100, 10), [1], "2 ended in the future, by the clock of today");
        assert_eq!(expired(400, 1000, 2), [1]);
        assert_eq!(expired(400, 1000, 0), [3, 2, 1]);
        assert_eq!(expired(i64::MIN, 0, 10), [0; 0]);
        assert_eq!(expired(i64::MAX, u64::MAX, usize::MAX), [0; 0]);
    }
}
