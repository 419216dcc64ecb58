//! Automatic retry of jobs that failed with a transient error: when, and how often. Pure.
//!
//! How often a job was retried is on its record, so that a restart does not begin anew.

use std::time::Duration;

use bergamot_queue::{Cause, Ending, HoldVerdict, Propagation, Retry};
use bergamot_types::UnixTime;

use crate::record::Record;

/// Whether what the disk answered may be different later.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum DiskFailure {
    /// A name that the file system refuses, or a file too large for it.
    Lasting,
    /// An I/O error, a share that is remounted, a file that was changed by another program.
    Transient,
}

/// How long a job that has failed rests before it is tried again; none if it ends. Notes the retry on the
/// record, which has to be written then.
pub fn rest_after(
    record: &mut Record,
    cause: Cause,
    disk: DiskFailure,
    propagation: Propagation,
    now: UnixTime,
) -> Option<Duration> {
    match cause.retry() {
        Retry::ByPerson if cause == Cause::Propagating => {
            return rest_for_propagation(record, propagation, now);
        }
        Retry::WhenDiskReturns if disk == DiskFailure::Transient => {}
        Retry::WhenServersReturn => {}
        Retry::ByPerson | Retry::Never | Retry::WhenDiskReturns => return None,
    }
    let rest = rest_before(record.returns)?;
    record.returns += 1;
    Some(rest)
}

/// A recent post is asked for again until it was held long enough.
fn rest_for_propagation(record: &mut Record, rule: Propagation, now: UnixTime) -> Option<Duration> {
    match rule.judge(record.held, record.contents.newest_post, now) {
        HoldVerdict::Ask { held, pause } => {
            record.held = Some(held);
            Some(pause)
        }
        HoldVerdict::Over | HoldVerdict::Settled => None,
    }
}

/// It is in the history because no server delivered.
pub fn is_failed_by_outage(record: &Record) -> bool {
    record.ending() == Some(Ending::Failed(Cause::ServersDown))
}

/// How long a job that an outage failed stays in the history before it is tried again: 10 minutes, twice as
/// long each time up to an hour, for a day in all. None after that.
///
/// With an empty queue no server is asked for anything, so nothing else shows that they deliver again.
pub fn rest_in_history(record: &Record) -> Option<Duration> {
    let before = record.returns.saturating_sub(MOST_RETRIES);
    let rest = FIRST_REST_IN_HISTORY * (1 << before.min(MOST_DOUBLINGS));
    (before < MOST_RETRIES_FROM_HISTORY).then_some(rest.min(LONGEST_REST_IN_HISTORY))
}

/// The count of a job that comes back from the history by itself.
pub fn returns_from_history(returns: u32) -> u32 {
    returns.max(MOST_RETRIES) + 1
}

/// A job was put back because its files seemed to be others, and they hold what they should: inode numbers
/// have changed, which some file systems do at any time. That retry does not count.
pub fn returns_after_proof(returns: u32) -> u32 {
    returns.saturating_sub(1)
}

/// None when it was retried often enough.
fn rest_before(returns: u32) -> Option<Duration> {
    (returns < MOST_RETRIES).then(|| FIRST_REST * REST_FACTOR.pow(returns))
}

/// 5 s, 30 s, 3 min: a cable that was pulled, a share that is remounted, a NAS that restarts. Jobs that an
/// outage failed before a restart are tried again as soon.
pub const FIRST_REST: Duration = Duration::from_secs(5);
const REST_FACTOR: u32 = 6;
const MOST_RETRIES: u32 = 3;

const FIRST_REST_IN_HISTORY: Duration = Duration::from_mins(10);
const LONGEST_REST_IN_HISTORY: Duration = Duration::from_hours(1);
const MOST_DOUBLINGS: u32 = 3;
const MOST_RETRIES_FROM_HISTORY: u32 = 26;

#[cfg(test)]
mod tests {
    use bergamot_types::JobId;

    use super::*;
    use crate::record::fingerprint::Fingerprint;

    const NOW: UnixTime = UnixTime(1_800_000_000);
    const RULE: Propagation =
        Propagation { age: Duration::from_secs(3600), hold: Duration::from_secs(600) };

    fn record() -> Record {
        Record::new(JobId(1), "a", NOW, "a.nzb", Fingerprint::default())
    }

    fn rests(record: &mut Record, cause: Cause, disk: DiskFailure) -> Vec<u64> {
        let rest = || rest_after(record, cause, disk, RULE, NOW).map(|rest| rest.as_secs());
        std::iter::from_fn(rest).take(10).collect()
    }

    #[test]
    fn transient_errors_are_retried_three_times() {
        assert_eq!(rests(&mut record(), Cause::Disk, DiskFailure::Transient), [5, 30, 180]);
        assert_eq!(rests(&mut record(), Cause::ServersDown, DiskFailure::Lasting), [5, 30, 180]);
        for cause in [Cause::Disk, Cause::Move, Cause::Missing, Cause::Refused, Cause::Health] {
            assert!(rests(&mut record(), cause, DiskFailure::Lasting).is_empty(), "{cause:?}");
        }
        assert_eq!([0, 1, 3].map(returns_after_proof), [0, 0, 2], "nothing had changed");
    }

    #[test]
    fn a_recent_post_is_asked_for_again_and_an_older_one_is_not() {
        let mut recent = record();
        recent.contents.newest_post = Some(UnixTime(NOW.0 - 60));
        let rest = rest_after(&mut recent, Cause::Propagating, DiskFailure::Lasting, RULE, NOW);
        assert_eq!((rest, recent.held.is_some()), (Some(Duration::from_secs(60)), true));
        let mut old = record();
        old.contents.newest_post = Some(UnixTime(NOW.0 - 7200));
        let rest = rest_after(&mut old, Cause::Propagating, DiskFailure::Lasting, RULE, NOW);
        assert_eq!((rest, old.returns), (None, 0));
    }

    #[test]
    fn a_job_that_an_outage_failed_is_tried_again_for_a_day() {
        let mut record = record();
        record.returns = MOST_RETRIES;
        let mut rests = Vec::new();
        while let Some(rest) = rest_in_history(&record) {
            rests.push(rest);
            record.returns = returns_from_history(record.returns);
        }
        let minutes = rests.iter().map(|rest| rest.as_secs() / 60);
        assert_eq!(minutes.take(5).collect::<Vec<_>>(), [10, 20, 40, 60, 60]);
        let hours = rests.iter().sum::<Duration>().as_secs() / 3600;
        assert_eq!(hours, 24);
    }
}
