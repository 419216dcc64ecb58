//! [`MoveJob`]: the last step, which moves a job to its destination. Pure.
//!
//! The journal is written first: a daemon that is killed during the move has to know the files as
//! finished, or it would download them again.

use std::time::Duration;

use bergamot_queue::{Cause, Stage};
use bergamot_types::DiskTrouble;

use super::{Download, Next, Step, Task};

pub(super) fn new(download: Download) -> Option<Box<dyn Step>> {
    Some(Box::new(MoveJob { verified: download.verified, state: State::Journal, failures: 0 }))
}

#[derive(Debug)]
struct MoveJob {
    verified: bool,
    state: State,
    failures: u32,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum State {
    Journal,
    Moving,
}

impl Step for MoveJob {
    fn stage(&self) -> Stage {
        Stage::Moving
    }

    fn begin(&mut self) -> Task {
        self.state = State::Journal;
        Task::WriteJournal
    }

    fn on_task_ended(&mut self, result: Result<(), DiskTrouble>) -> Next {
        match (self.state, result) {
            // A journal that could not be written was given up: the move need not wait for it.
            (State::Journal, _) => {
                self.state = State::Moving;
                Next::Start(Task::Move { verified: self.verified })
            }
            (State::Moving, Ok(())) => Next::Done,
            (State::Moving, Err(DiskTrouble::Permanent)) => Next::Failed(Cause::Disk),
            // A destination that is full holds up no other job.
            (
                State::Moving,
                Err(DiskTrouble::Full | DiskTrouble::Transient | DiskTrouble::Unsynced),
            ) => {
                let doublings = self.failures.min(MOST_MOVE_DOUBLINGS);
                self.failures += 1;
                Next::Again((MOVE_RETRY_DELAY * (1 << doublings)).min(LONGEST_MOVE_DELAY))
            }
        }
    }
}

/// The first wait before a job is moved again.
const MOVE_RETRY_DELAY: Duration = Duration::from_secs(5);

/// A destination that is not there may be a share that is mounted some day.
const LONGEST_MOVE_DELAY: Duration = Duration::from_secs(60);
const MOST_MOVE_DOUBLINGS: u32 = 4;

#[cfg(test)]
mod tests {
    use super::*;

    fn step() -> Box<dyn Step> {
        new(Download { verified: true }).expect("every job is moved")
    }

    #[test]
    fn the_journal_is_written_before_the_move() {
        let mut step = step();
        assert_eq!(step.begin(), Task::WriteJournal);
        assert_eq!(step.on_task_ended(Ok(())), Next::Start(Task::Move { verified: true }));
        assert_eq!(step.on_task_ended(Ok(())), Next::Done);
    }

    #[test]
    fn a_move_that_may_succeed_later_begins_again_after_longer_and_longer() {
        for trouble in [DiskTrouble::Full, DiskTrouble::Transient, DiskTrouble::Unsynced] {
            let mut step = step();
            for seconds in [5, 10, 20, 40, 60, 60, 60] {
                assert_eq!(step.begin(), Task::WriteJournal, "each time");
                step.on_task_ended(Ok(()));
                let again = Next::Again(Duration::from_secs(seconds));
                assert_eq!(step.on_task_ended(Err(trouble)), again);
            }
        }
    }

    #[test]
    fn a_move_that_can_never_succeed_fails_the_job() {
        let mut step = step();
        step.begin();
        step.on_task_ended(Ok(()));
        let failed = Next::Failed(Cause::Disk);
        assert_eq!(step.on_task_ended(Err(DiskTrouble::Permanent)), failed);
    }
}
