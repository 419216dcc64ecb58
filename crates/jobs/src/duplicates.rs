//! [`rivals`]: which jobs a new one is a duplicate of. Pure.

use bergamot_queue::{DupeMode, Ending};
use bergamot_types::JobId;

use crate::list::job_list::JobList;
use crate::record::Record;

/// Jobs of the dupe key of a new one.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Rivals {
    /// One of them is at least as good, so the new one is of no use.
    Better,
    /// The new one is better; these are of no use.
    Worse(Vec<JobId>),
}

/// By dupe key and score. A job that `is_being_moved` cannot be ended any more.
pub(crate) fn rivals(
    jobs: &JobList,
    new: &Record,
    is_being_moved: impl Fn(JobId) -> bool,
) -> Rivals {
    if new.dupe.key.is_empty() || new.dupe.mode != DupeMode::Score || new.outcome.is_some() {
        return Rivals::Worse(Vec::new());
    }
    let is_same = |other: &&Record| {
        other.dupe.key == new.dupe.key && other.id != new.id && !is_being_moved(other.id)
    };
    let is_better = |other: &Record| other.dupe.score >= new.dupe.score;
    let succeeded = |other: &Record| matches!(other.ending(), Some(Ending::Completed { .. }));
    // One that has ended stays in the queue until that is on disk.
    let mut past = jobs.history().chain(jobs.queued()).filter(is_same);
    let goes_on = |other: &&Record| other.outcome.is_none();
    let queued: Vec<_> = jobs.queued().filter(is_same).filter(goes_on).collect();
    let a_better = queued.iter().any(|other| is_better(other))
        || past.any(|other| succeeded(other) && is_better(other));
    match a_better {
        true => Rivals::Better,
        false => Rivals::Worse(queued.into_iter().map(|other| other.id).collect()),
    }
}

/// A job of the same articles is a duplicate as long as it can still end well, or has.
pub(crate) fn stands_for_its_articles(record: &Record) -> bool {
    matches!(record.ending(), None | Some(Ending::Completed { .. }))
}

#[cfg(test)]
mod tests {
    use bergamot_queue::{Cause, Deletion};
    use bergamot_types::UnixTime;

    use super::*;
    use crate::{Dupe, Fingerprint, Outcome};

    fn record(id: u32, key: &str, score: i32) -> Record {
        let mut record = Record::new(JobId(id), "a", UnixTime(0), "a", Fingerprint::default());
        record.dupe = Dupe { key: key.into(), score, mode: DupeMode::Score };
        record
    }

    fn ended(id: u32, score: i32, ending: Ending) -> Record {
        let mut record = record(id, "show", score);
        record.end(Outcome { sequence: id.into(), ..Outcome::new(ending, UnixTime(1), "") });
        record
    }

    fn list(records: impl IntoIterator<Item = Record>) -> JobList {
        let mut jobs = JobList::default();
        records.into_iter().for_each(|record| jobs.insert(Box::new(record)));
        jobs
    }

    #[test]
    fn a_better_job_of_the_key_is_kept_and_the_others_are_not() {
        let jobs = list([record(1, "show", 5), record(2, "other", 9), record(3, "show", 7)]);
        let judge = |new: &Record| rivals(&jobs, new, |_| false);
        assert_eq!(judge(&record(9, "show", 7)), Rivals::Better, "the first of equals");
        assert_eq!(judge(&record(9, "show", 8)), Rivals::Worse(vec![JobId(1), JobId(3)]));
        assert_eq!(judge(&record(9, "", 8)), Rivals::Worse(vec![]));
        let mut forced = record(9, "show", 1);
        forced.dupe.mode = DupeMode::Force;
        assert_eq!(judge(&forced), Rivals::Worse(vec![]));
        let moving = rivals(&jobs, &record(9, "show", 8), |job| job == JobId(3));
        assert_eq!(moving, Rivals::Worse(vec![JobId(1)]));
    }

    #[test]
    fn a_job_whose_end_is_not_on_disk_yet_counts_as_ended() {
        for (ending, judged) in [
            (Ending::Completed { verified: true }, Rivals::Better),
            (Ending::Deleted(Deletion::ByPerson), Rivals::Worse(vec![])),
        ] {
            let mut jobs = list([record(1, "show", 5)]);
            jobs.end(JobId(1), Outcome::new(ending, UnixTime(1), ""));
            assert_eq!(rivals(&jobs, &record(9, "show", 5), |_| false), judged, "{ending:?}");
        }
    }

    #[test]
    fn only_a_job_that_succeeded_stands_in_the_way_from_the_history() {
        for (ending, is_better) in [
            (Ending::Completed { verified: true }, true),
            (Ending::Failed(Cause::Incomplete), false),
            (Ending::Deleted(Deletion::Duplicate), false),
        ] {
            let jobs = list([ended(1, 5, ending)]);
            let judged = rivals(&jobs, &record(9, "show", 5), |_| false) == Rivals::Better;
            assert_eq!(judged, is_better, "{ending:?}");
            let judged = rivals(&jobs, &record(9, "show", 6), |_| false);
            assert_eq!(judged, Rivals::Worse(vec![]), "{ending:?}");
        }
    }
}
