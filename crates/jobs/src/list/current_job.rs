//! [`current_job`]: the job that matters most to a watcher, by its order in the queue. Pure.

use bergamot_engine::Engine;
use bergamot_poll::{Stage, current_item};
use bergamot_types::JobId;

use crate::list::job_list::JobList;

/// The first job that is downloaded, else the first of the queue, with its place from 0. Jobs that have
/// ended leave the queue, so the first that is left is the next after the last.
pub fn current_job(jobs: &JobList, engine: &Engine) -> Option<(usize, JobId)> {
    let front: Vec<_> = jobs.queued().take(LOOK_AHEAD).map(|record| record.id).collect();
    let stage = |job: &JobId| match engine.job(*job) {
        Some(known) if !known.is_paused() => Stage::Active,
        _ => Stage::Waiting,
    };
    let order = current_item(&front.iter().map(stage).collect::<Vec<_>>())?;
    Some((order, front[order]))
}

/// Jobs that are active are among the first of the queue.
const LOOK_AHEAD: usize = 1_000;

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use bergamot_engine::{Event, Now, Settings};
    use bergamot_queue::NewJob;
    use bergamot_types::UnixTime;

    use super::*;
    use crate::{Fingerprint, Record};

    #[test]
    fn a_job_that_is_downloaded_comes_before_those_that_wait() {
        let now = Now { instant: Instant::now(), date: UnixTime(0) };
        let (mut jobs, mut engine) =
            (JobList::default(), Engine::new(now.instant, Settings::default()));
        assert_eq!(current_job(&jobs, &engine), None);
        for id in 1..=3 {
            let record = Record::new(JobId(id), "a", UnixTime(0), "", Fingerprint::default());
            jobs.insert(Box::new(record));
        }
        assert_eq!(current_job(&jobs, &engine), Some((0, JobId(1))));
        engine.handle(now, Event::JobAdded(NewJob::new(JobId(2), Vec::new())));
        assert_eq!(current_job(&jobs, &engine), Some((1, JobId(2))));
        engine.handle(now, Event::JobPaused(JobId(2)));
        assert_eq!(current_job(&jobs, &engine), Some((0, JobId(1))));
    }
}
