//! [`Retention`]: which ended jobs are removed from the history, by age and by number. Pure: the records,
//! the date and the monotonic instant are arguments.

use std::cmp::Reverse;
use std::time::{Duration, Instant};

use bergamot_types::{JobId, UnixTime};

use crate::ending::plausible_clock::{CONFIRMATION, Doubt, PlausibleClock};
use crate::record::Record;

/// How long history lasts. Ages are computed only from a date that a `PlausibleClock` confirms; the limit
/// by number does not depend on any date and holds from the start.
#[derive(Clone, Copy, Debug)]
pub struct Retention {
    keep: Duration,
    most: usize,
    clock: PlausibleClock,
}

/// What [`Retention::check`] found.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Expired {
    /// More have ended since than are kept.
    pub by_number: Vec<JobId>,
    /// They ended longer ago than jobs are kept.
    pub by_age: Vec<JobId>,
    /// There are jobs that are too old by a date that does not count yet; they stay.
    pub postponed: Option<Postponed>,
}

/// Jobs that are not removed by age for now.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Postponed {
    pub jobs: usize,
    pub doubt: Doubt,
    /// When to check again.
    pub until: Instant,
}

impl Retention {
    /// With the instant and the date of the start. Jobs that ended longer than `keep` ago are removed, and
    /// the oldest where there are more than `most`.
    pub fn new(instant: Instant, date: UnixTime, keep: Duration, most: usize) -> Self {
        Self { keep, most, clock: PlausibleClock::new(instant, date) }
    }

    /// Other settings; what is known of the clock stays.
    pub fn set(&mut self, keep: Duration, most: usize) {
        (self.keep, self.most) = (keep, most);
    }

    /// `records` are those of all jobs, queued and ended. Which of two ended jobs is older is told by their
    /// order in history, not by their dates.
    pub fn check<'a>(
        &mut self,
        instant: Instant,
        date: UnixTime,
        records: impl IntoIterator<Item = &'a Record>,
    ) -> Expired {
        let (mut ended, mut newest) = (Vec::new(), UnixTime(i64::MIN));
        for record in records {
            newest = newest.max(record.added);
            if let Some(outcome) = &record.outcome {
                newest = newest.max(outcome.ended);
                ended.push((Reverse(outcome.sequence), outcome.ended, record.id));
            }
        }
        ended.sort_unstable();
        let plausible = self.clock.check(instant, date, newest);
        let by_number = ended.split_off(self.most.min(ended.len()));
        let old: Vec<_> =
            ended.into_iter().filter(|(_, ended, _)| self.is_old(date, *ended)).collect();
        let ids = |jobs: Vec<(_, _, JobId)>| jobs.into_iter().map(|(_, _, job)| job).collect();
        let mut expired = Expired { by_number: ids(by_number), ..Expired::default() };
        match plausible {
            Ok(_) => expired.by_age = ids(old),
            Err(doubt) if !old.is_empty() => {
                let until = match doubt {
                    Doubt::Unconfirmed { until } => until,
                    Doubt::BeforeNewestRecord | Doubt::Jumped { .. } => instant + CONFIRMATION,
                };
                expired.postponed = Some(Postponed { jobs: old.len(), doubt, until });
            }
            Err(_) => {}
        }
        expired
    }

    /// One that ended in the future is not old.
    fn is_old(&self, date: UnixTime, ended: UnixTime) -> bool {
        let age = u64::try_from(date.0.saturating_sub(ended.0)).unwrap_or(0);
        age > self.keep.as_secs()
    }
}
