//! [`LoadQueue`]: jobs on their way from the spool into the engine: their directories are opened, then they
//! are loaded by the record thread. Owned by the main loop.
//!
//! Only the first may hang, so it is done in a task of its own, beside the thread that writes the records.

use std::collections::VecDeque;
use std::sync::Arc;

use bergamot_types::JobId;

use crate::disk::directories::{Directories, Opened};
use crate::event::{Event, EventSender};
use crate::service_thread::service_task;
use crate::settings::JobSettings;
use crate::spool::load_error::LoadError;

/// Jobs whose directories are being opened. They are loaded in the order in which that was begun: a share
/// that hangs delays the others by one timeout.
#[derive(Debug)]
pub(crate) struct LoadQueue {
    directories: Directories,
    events: EventSender,
    openings: VecDeque<Opening>,
}

#[derive(Debug)]
pub(crate) struct Opening {
    pub(crate) number: u64, // of the attempt
    pub(crate) job: JobId,
    /// By which the destination was opened.
    pub(crate) category: Option<Arc<str>>,
    pub(crate) opened: Option<Result<Opened, LoadError>>,
}

impl LoadQueue {
    pub(crate) fn new(directories: Directories, events: EventSender) -> Self {
        Self { directories, events, openings: VecDeque::new() }
    }

    /// Opens the directories of a job, in a task.
    pub(crate) fn open(
        &mut self,
        job: JobId,
        number: u64,
        category: Option<Arc<str>>,
        settings: Arc<JobSettings>,
    ) {
        self.begin(job, number, category.clone());
        let (directories, events) = (self.directories.clone(), self.events.clone());
        service_task("opener", &self.events, async move {
            let opened = Box::new(directories.open(&settings, category.as_deref()).await);
            events.send(Event::Opened { number, opened });
        });
    }

    /// Returns the jobs whose turn it is to be loaded.
    pub(crate) fn on_opened(
        &mut self,
        number: u64,
        opened: Result<Opened, LoadError>,
    ) -> Vec<Opening> {
        self.end(number, opened);
        std::iter::from_fn(|| self.next()).collect()
    }

    /// One that came back to the queue meanwhile is opened anew, and only that counts.
    fn begin(&mut self, job: JobId, number: u64, category: Option<Arc<str>>) {
        self.openings.retain(|opening| opening.job != job);
        self.openings.push_back(Opening { number, job, category, opened: None });
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::directories::KnownJobs;
    use crate::disk::mount_guard::MountGuard;

    #[test]
    fn jobs_are_loaded_in_their_order_and_each_once() {
        let state = tempfile::tempdir().unwrap();
        let (mounts, _) = MountGuard::open(state.path(), bergamot_writer::Modes::default());
        let (known, (events, _inbox)) = (KnownJobs::default(), EventSender::new());
        let mut queue = LoadQueue::new(Directories::new(mounts, known, events.clone()), events);
        let opened = || Err(LoadError::Passing("it was tried".to_owned()));
        for job in 1..=3 {
            queue.begin(JobId(job), job.into(), None);
        }
        queue.end(2, opened());
        queue.end(3, opened());
        assert!(queue.next().is_none(), "the first is still being opened");
        queue.begin(JobId(2), 4, None);
        queue.end(1, opened());
        queue.end(2, opened());
        let mut next = || queue.next().map(|opening| opening.job.0);
        assert_eq!([next(), next(), next()], [Some(1), Some(3), None]);
        queue.end(4, opened());
        assert_eq!(queue.next().map(|opening| opening.job), Some(JobId(2)));
    }
}
