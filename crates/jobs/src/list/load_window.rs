//! [`next_to_load`]: which job is read in next, and when there is enough in memory. Pure.

use bergamot_types::JobId;

use crate::list::job_list::JobList;

/// The first job that may be loaded, unless the jobs before it are enough to keep every connection busy.
pub(crate) fn next_to_load(jobs: &JobList) -> Option<JobId> {
    let next = jobs.loadable().next()?;
    let is_before = |priority: i32| priority >= next.priority;
    let active = || jobs.active_jobs().filter_map(|(id, active)| Some((jobs.record(id)?, active)));
    let busy = || active().filter(|(record, _)| !record.paused && is_before(record.priority));
    // A paused job gives the connections nothing to do, and still takes its memory.
    let all: usize = active().map(|(_, active)| active.segments).sum();
    if all >= MOST_SEGMENTS && busy().next().is_some() {
        return None;
    }
    let segments: usize = busy().map(|(_, active)| active.segments).sum();
    let loading = jobs.loading().filter(|record| is_before(record.priority)).count();
    let is_enough = segments >= ENOUGH_SEGMENTS || busy().count() + loading >= ENOUGH_JOBS;
    (!is_enough).then_some(next.id)
}

/// Two of the largest posts; memory for more would be wasted.
const ENOUGH_SEGMENTS: usize = 100_000;

/// With paused jobs among them.
const MOST_SEGMENTS: usize = 4 * ENOUGH_SEGMENTS;

/// Small jobs end quickly: enough of them must be in memory to keep every connection busy.
const ENOUGH_JOBS: usize = 64;

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use bergamot_types::UnixTime;

    use super::*;
    use crate::list::job_list::Active;
    use crate::{Fingerprint, Record};

    fn list(priorities: &[i32]) -> JobList {
        let mut jobs = JobList::default();
        for (id, priority) in (1..).zip(priorities) {
            let mut record =
                Record::new(JobId(id), "a", UnixTime(0), "a.nzb", Fingerprint::default());
            record.priority = *priority;
            jobs.insert(Box::new(record));
        }
        jobs
    }

    fn start(jobs: &mut JobList, job: u32, segments: usize) {
        jobs.begin_to_load(JobId(job));
        jobs.start(JobId(job), Active { started: Instant::now(), segments });
    }

    #[test]
    fn two_large_jobs_are_enough_and_a_higher_priority_is_loaded_all_the_same() {
        let mut jobs = list(&[0, 0, 0]);
        assert_eq!(next_to_load(&jobs), Some(JobId(1)));
        start(&mut jobs, 1, ENOUGH_SEGMENTS);
        assert_eq!(next_to_load(&jobs), None);
        jobs.place(JobId(3), 50, crate::list::queue_order::Target::Here);
        assert_eq!(next_to_load(&jobs), Some(JobId(3)));
    }

    #[test]
    fn many_small_jobs_are_loaded_at_once_and_not_more() {
        let mut jobs = list(&[0; 100]);
        let mut loaded = 0;
        while let Some(job) = next_to_load(&jobs) {
            start(&mut jobs, job.0, 1);
            loaded += 1;
        }
        assert_eq!(loaded, ENOUGH_JOBS);
    }

    #[test]
    fn paused_jobs_do_not_count_as_busy_until_they_fill_the_memory() {
        let mut jobs = list(&[0, 0, 0, 0]);
        start(&mut jobs, 1, ENOUGH_SEGMENTS);
        jobs.set_paused(JobId(1), true);
        assert_eq!(next_to_load(&jobs), Some(JobId(2)));
        start(&mut jobs, 2, 3 * ENOUGH_SEGMENTS);
        jobs.set_paused(JobId(2), true);
        assert_eq!(next_to_load(&jobs), Some(JobId(3)), "else nothing would ever move");
        start(&mut jobs, 3, 1);
        assert_eq!(next_to_load(&jobs), None);
    }
}
