//! Which records are on their way to the disk, and who waits for them.

use std::collections::HashMap;

use bergamot_types::JobId;
use tokio::sync::oneshot;

use crate::control::call::Promise;

/// A record that changes while it is being written is written once more, however often it changed.
#[derive(Debug, Default)]
pub(crate) struct Recordings(HashMap<JobId, Recording>);

#[derive(Debug, Default)]
struct Recording {
    state: State,
    waiting: Vec<Waiter>,    // for what is being written
    waiting_on: Vec<Waiter>, // for what has changed since
}

type Waiter = oneshot::Sender<Result<(), String>>;

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
enum State {
    #[default]
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
    /// It has changed since.
    Once,
    /// The record on disk is the one in memory.
    Nothing,
}

impl Recordings {
    /// The record has changed; whether it has to be sent to the disk now.
    pub(crate) fn changed(&mut self, job: JobId) -> bool {
        match self.0.get_mut(&job) {
            None => {
                self.0.insert(job, Recording::default());
                true
            }
            Some(recording) if recording.state == State::Failed => {
                recording.state = State::Writing;
                recording.waiting.append(&mut recording.waiting_on);
                true
            }
            Some(recording) => {
                recording.state = State::Stale;
                false
            }
        }
    }

    /// Of what was changed last; none if it is on disk already.
    pub(crate) fn promise(&mut self, job: JobId) -> Option<Promise> {
        let recording = self.0.get_mut(&job)?;
        let (sender, promise) = oneshot::channel();
        match recording.state {
            State::Writing => recording.waiting.push(sender),
            State::Stale | State::Failed => recording.waiting_on.push(sender),
        }
        Some(promise)
    }

    pub(crate) fn written(&mut self, job: JobId, result: &Result<(), String>) -> Next {
        let Some(recording) = self.0.get_mut(&job) else { return Next::Nothing };
        for waiter in recording.waiting.drain(..) {
            // Whoever asked may have left meanwhile.
            let _ = waiter.send(result.clone());
        }
        if result.is_err() {
            let was_stale = recording.state == State::Stale;
            recording.state = State::Failed;
            if was_stale {
                recording.waiting_on.drain(..).for_each(|waiter| {
                    let _ = waiter.send(result.clone());
                });
            }
            return Next::Later;
        }
        if recording.state == State::Stale {
            recording.state = State::Writing;
            recording.waiting = std::mem::take(&mut recording.waiting_on);
            return Next::Once;
        }
        self.0.remove(&job);
        Next::Nothing
    }

    /// The job is gone, and its record with it.
    pub(crate) fn forget(&mut self, job: JobId) {
        self.0.remove(&job);
    }

    /// Those that could not be written.
    pub(crate) fn failed(&self) -> Vec<JobId> {
        self.those(|state| state == State::Failed)
    }

    /// Those whose last change nobody has sent to the disk.
    pub(crate) fn unsent(&self) -> Vec<JobId> {
        self.those(|state| state != State::Writing)
    }

    fn those(&self, wanted: impl Fn(State) -> bool) -> Vec<JobId> {
        self.0.iter().filter(|(_, it)| wanted(it.state)).map(|(job, _)| *job).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const JOB: JobId = JobId(1);

    #[test]
    fn many_changes_in_a_row_cost_one_more_write() {
        let mut recordings = Recordings::default();
        assert!(recordings.promise(JOB).is_none());
        assert!(recordings.changed(JOB));
        let mut first = recordings.promise(JOB).unwrap();
        assert!(!recordings.changed(JOB) && !recordings.changed(JOB));
        let mut second = recordings.promise(JOB).unwrap();
        assert_eq!(recordings.written(JOB, &Ok(())), Next::Once);
        assert_eq!(first.try_recv().unwrap(), Ok(()));
        assert!(second.try_recv().is_err(), "not yet");
        assert_eq!(recordings.written(JOB, &Ok(())), Next::Nothing);
        assert_eq!(second.try_recv().unwrap(), Ok(()));
    }

    #[test]
    fn what_could_not_be_written_is_told_and_tried_again() {
        let mut recordings = Recordings::default();
        recordings.changed(JOB);
        let mut promise = recordings.promise(JOB).unwrap();
        let full = Err("full".to_owned());
        assert_eq!(recordings.written(JOB, &full), Next::Later);
        assert_eq!(promise.try_recv().unwrap(), full);
        assert_eq!((recordings.failed(), recordings.unsent()), (vec![JOB], vec![JOB]));
        assert!(recordings.changed(JOB));
        assert_eq!(recordings.written(JOB, &Ok(())), Next::Nothing);
        assert_eq!(recordings.failed(), []);
    }
}
