//! The way of a job from the spool into the engine: its directories are opened, then it is loaded.
//!
//! Only the first may hang, so it is done beside the record thread, who writes everybody's records.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use bergamot_types::JobId;

use crate::disk::directories::{Directories, Opened};
use crate::event::Event;
use crate::run::Daemon;
use crate::service_thread::service_task;
use crate::spool::load_error::LoadError;

/// Whose directories are being opened. Jobs are loaded in the order in which that was begun: a share
/// that is silent costs the others the patience there is with it, once.
#[derive(Debug)]
pub(crate) struct Loading {
    directories: Directories,
    openings: VecDeque<Opening>,
    last: u64,
    /// The last attempt to load each job, as long as nothing came of it.
    attempts: HashMap<JobId, u64>,
}

#[derive(Debug)]
struct Opening {
    number: u64,
    job: JobId,
    category: Option<Arc<str>>,
    opened: Option<Result<Opened, LoadError>>,
}

impl Loading {
    pub(crate) fn new(directories: Directories) -> Self {
        Self { directories, openings: VecDeque::new(), last: 0, attempts: HashMap::new() }
    }

    /// One that came back to the queue meanwhile is opened anew, and only that counts.
    fn begin(&mut self, job: JobId, category: Option<Arc<str>>) -> u64 {
        self.last += 1;
        self.openings.retain(|opening| opening.job != job);
        let opening = Opening { number: self.last, job, category, opened: None };
        self.openings.push_back(opening);
        self.attempts.insert(job, self.last);
        self.last
    }

    /// Something came of an attempt. Whether that still counts: a job that ended while its files were read
    /// back, and was tried again, has another attempt under way.
    pub(crate) fn take_result(&mut self, job: JobId, number: u64) -> bool {
        let is_outdated = self.attempts.get(&job).is_some_and(|last| *last != number);
        if !is_outdated {
            self.attempts.remove(&job);
        }
        !is_outdated
    }

    fn end(&mut self, number: u64, opened: Result<Opened, LoadError>) {
        if let Some(known) = self.openings.iter_mut().find(|known| known.number == number) {
            known.opened = Some(opened);
        }
    }

    fn next(&mut self) -> Option<Opening> {
        let is_open = self.openings.front().is_some_and(|first| first.opened.is_some());
        if is_open { self.openings.pop_front() } else { None }
    }
}

impl Daemon {
    pub(crate) fn begin_to_load(&mut self, job: JobId) {
        let Some(record) = self.jobs.begin_to_load(job) else { return };
        let category = record.category;
        let number = self.loading.begin(job, category.clone());
        let (directories, settings) = (self.loading.directories.clone(), self.settings.jobs());
        let events = self.events.clone();
        service_task("opener", &self.events, async move {
            let opened = Box::new(directories.open(&settings, category.as_deref()).await);
            events.send(Event::Opened { number, opened });
        });
    }

    /// The last daemon was killed before their ends were on record: they are looked at now, though they
    /// may be paused or far back in the queue.
    pub(crate) fn on_found_delivered(&mut self, jobs: &[JobId]) {
        for &job in jobs {
            let is_waiting = self.jobs.is_queued(job)
                && self.jobs.active(job).is_none()
                && !self.jobs.is_loading(job)
                && self.jobs.record(job).is_some_and(|record| record.outcome.is_none());
            if is_waiting {
                self.begin_to_load(job);
            }
        }
    }

    pub(crate) fn on_opened(&mut self, number: u64, opened: Result<Opened, LoadError>) {
        self.loading.end(number, opened);
        while let Some(opening) = self.loading.next() {
            self.load(opening);
        }
    }

    fn load(&mut self, Opening { number, job, category, opened }: Opening) {
        let Some(opened) = opened else { return };
        let Some(record) = self.jobs.record(job).filter(|_| self.jobs.is_loading(job)) else {
            return;
        };
        if record.category == category {
            return self.state.record_thread.load(number, record.clone(), opened);
        }
        // It goes elsewhere by now.
        self.jobs.end_loading(job);
        self.load_next();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::directories::KnownJobs;
    use crate::disk::mount_guard::MountGuard;
    use crate::event::EventSender;

    #[test]
    fn jobs_are_loaded_in_their_order_and_each_once() {
        let state = tempfile::tempdir().unwrap();
        let (mounts, _) = MountGuard::open(state.path(), bergamot_writer::Modes::default());
        let (known, (events, _inbox)) = (KnownJobs::default(), EventSender::new());
        let mut loading = Loading::new(Directories::new(mounts, known, events));
        let opened = || Err(LoadError::Passing("it was tried".to_owned()));
        let [one, two, three] = [1, 2, 3].map(|job| loading.begin(JobId(job), None));
        loading.end(two, opened());
        loading.end(three, opened());
        assert!(loading.next().is_none(), "the first is still being opened");
        let again = loading.begin(JobId(2), None);
        loading.end(one, opened());
        loading.end(two, opened());
        let mut next = || loading.next().map(|opening| opening.job.0);
        assert_eq!([next(), next(), next()], [Some(1), Some(3), None]);
        loading.end(again, opened());
        assert_eq!(loading.next().map(|opening| opening.job), Some(JobId(2)));
        assert!(!loading.take_result(JobId(2), two), "another attempt is under way");
        assert!(loading.take_result(JobId(2), again));
        assert!(loading.take_result(JobId(1), one));
    }
}
