//! [`PendingWrites`]: which job records are on their way to the disk, and who waits for them. Pure.

use std::collections::HashMap;

use bergamot_types::JobId;

/// A record that changes while it is being written is written once more, however often it changed.
///
/// `W` is the waiter of a caller that wants to know when its change is on disk. Each waiter is handed back
/// exactly once, by [`written`](Self::written) or by [`forget`](Self::forget).
#[derive(Debug)]
pub(crate) struct PendingWrites<W>(HashMap<JobId, Pending<W>>);

#[derive(Debug)]
struct Pending<W> {
    state: State,
    waiting: Vec<W>,    // for what is being written
    waiting_on: Vec<W>, // for what has changed since
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum State {
    Writing,
    Stale,
    /// It could not be written.
    Failed,
}

/// What is to be done when a record was written.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Next {
    /// It could not be; try later.
    Later,
    /// It has changed since: write it again.
    Again,
    /// The record on disk is the one in memory.
    Nothing,
}

impl<W> Default for PendingWrites<W> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<W> PendingWrites<W> {
    /// The record has changed; returns whether it has to be sent to the disk now.
    pub(crate) fn changed(&mut self, job: JobId) -> bool {
        match self.0.get_mut(&job) {
            None => {
                let (waiting, waiting_on) = (Vec::new(), Vec::new());
                self.0.insert(job, Pending { state: State::Writing, waiting, waiting_on });
                true
            }
            Some(pending) if pending.state == State::Failed => {
                pending.state = State::Writing;
                pending.waiting.append(&mut pending.waiting_on);
                true
            }
            Some(pending) => {
                pending.state = State::Stale;
                false
            }
        }
    }

    /// Whether the record is on its way to the disk, or could not be written.
    pub(crate) fn is_pending(&self, job: JobId) -> bool {
        self.0.contains_key(&job)
    }

    /// Waits for what was changed last. Returns the waiter if that is on disk already.
    pub(crate) fn wait(&mut self, job: JobId, waiter: W) -> Option<W> {
        let Some(pending) = self.0.get_mut(&job) else { return Some(waiter) };
        match pending.state {
            State::Writing => pending.waiting.push(waiter),
            State::Stale | State::Failed => pending.waiting_on.push(waiter),
        }
        None
    }

    /// A write has ended. Returns what is to be done, and the waiters that its result is for.
    pub(crate) fn written(&mut self, job: JobId, succeeded: bool) -> (Next, Vec<W>) {
        let Some(pending) = self.0.get_mut(&job) else { return (Next::Nothing, Vec::new()) };
        let mut waiters = std::mem::take(&mut pending.waiting);
        match (succeeded, pending.state) {
            (false, state) => {
                if state == State::Stale {
                    waiters.append(&mut pending.waiting_on);
                }
                pending.state = State::Failed;
                (Next::Later, waiters)
            }
            (true, State::Stale) => {
                pending.state = State::Writing;
                pending.waiting = std::mem::take(&mut pending.waiting_on);
                (Next::Again, waiters)
            }
            (true, _) => {
                self.0.remove(&job);
                (Next::Nothing, waiters)
            }
        }
    }

    /// The job is gone, and its record with it. Returns all that wait for it.
    pub(crate) fn forget(&mut self, job: JobId) -> Vec<W> {
        let Some(Pending { mut waiting, waiting_on, .. }) = self.0.remove(&job) else {
            return Vec::new();
        };
        waiting.extend(waiting_on);
        waiting
    }

    /// Those that could not be written.
    pub(crate) fn failed(&self) -> Vec<JobId> {
        self.those(|state| state == State::Failed)
    }

    /// Those whose last change was not sent to the disk.
    pub(crate) fn unsent(&self) -> Vec<JobId> {
        self.those(|state| state != State::Writing)
    }

    /// By their numbers: the same events lead to the same writes in the same order.
    fn those(&self, is_meant: impl Fn(State) -> bool) -> Vec<JobId> {
        let those = self.0.iter().filter(|(_, it)| is_meant(it.state));
        let mut jobs: Vec<_> = those.map(|(job, _)| *job).collect();
        jobs.sort_unstable();
        jobs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const JOB: JobId = JobId(1);

    #[test]
    fn many_changes_in_a_row_cost_one_more_write() {
        let mut writes = PendingWrites::default();
        assert_eq!(writes.wait(JOB, "early"), Some("early"));
        assert!(writes.changed(JOB));
        assert_eq!(writes.wait(JOB, "first"), None);
        assert!(!writes.changed(JOB) && !writes.changed(JOB));
        assert_eq!(writes.wait(JOB, "second"), None);
        assert_eq!(writes.written(JOB, true), (Next::Again, vec!["first"]));
        assert_eq!(writes.written(JOB, true), (Next::Nothing, vec!["second"]));
    }

    #[test]
    fn what_could_not_be_written_is_told_and_tried_again() {
        let mut writes = PendingWrites::default();
        writes.changed(JOB);
        writes.wait(JOB, "first");
        assert_eq!(writes.written(JOB, false), (Next::Later, vec!["first"]));
        assert_eq!((writes.failed(), writes.unsent()), (vec![JOB], vec![JOB]));
        assert!(writes.changed(JOB));
        assert_eq!(writes.written(JOB, true), (Next::Nothing, vec![]));
        assert!(writes.failed().is_empty());
    }

    #[test]
    fn what_could_not_be_written_is_in_order() {
        let mut writes = PendingWrites::<()>::default();
        let jobs: Vec<_> = (1..50).map(JobId).collect();
        for &job in &jobs {
            writes.changed(job);
            writes.written(job, false);
        }
        assert_eq!((&writes.failed(), &writes.unsent()), (&jobs, &jobs));
    }

    #[test]
    fn who_waits_for_a_job_that_is_gone_is_handed_back() {
        let mut writes = PendingWrites::default();
        writes.changed(JOB);
        writes.wait(JOB, "first");
        writes.changed(JOB);
        writes.wait(JOB, "second");
        assert_eq!(writes.forget(JOB), ["first", "second"]);
        assert_eq!(writes.written(JOB, true), (Next::Nothing, vec![]));
    }
}
