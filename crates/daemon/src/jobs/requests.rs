//! Requests of control interfaces about jobs, and the promises that their changes are on disk. Runs in the
//! main loop.

use std::sync::Arc;

use bergamot_api::Refusal;
use bergamot_jobs::Record;
use bergamot_jobs::edit::{Edit, EditRefusal, Place};
use bergamot_types::JobId;
use bergamot_writer::Root;
use tokio::sync::oneshot;

use crate::clock;
use crate::control::call::Promise;
use crate::run::Daemon;

/// When the change is on disk, if that has to be waited for.
pub(crate) type Edited = Result<Option<Promise>, Refusal>;

impl Daemon {
    /// A new job is in the spool. Returns what is to be waited for.
    pub(crate) fn add_job(&mut self, record: Record, at_top: bool) -> Vec<Promise> {
        let job = record.id;
        let useless = self.jobs.add(clock::now(), &self.engine, record);
        let mut promises: Vec<_> =
            useless.into_iter().filter_map(|job| self.written_promise(job)).collect();
        if at_top {
            let moved = self.edit(&[job], &Edit::Move(Place::Top), None);
            promises.extend(moved.into_iter().filter_map(|moved| moved.ok().flatten()));
        }
        self.run();
        promises
    }

    /// `root` is the destination of the category that jobs are given, if that is what is wanted.
    pub(crate) fn edit(
        &mut self,
        jobs: &[JobId],
        edit: &Edit,
        root: Option<&Arc<Root>>,
    ) -> Vec<Edited> {
        let edited = self.jobs.edit(clock::now(), &self.engine, jobs, edit);
        for (job, edited) in jobs.iter().zip(&edited) {
            let open = self.disk.open_jobs.get_mut(job).filter(|_| edited.is_ok());
            if let (Some(root), Some(open)) = (root, open) {
                open.destination = root.clone();
            }
        }
        let promised = edited.into_iter().map(|edited| self.promise(edited)).collect();
        self.run();
        promised
    }

    fn promise(&mut self, edited: Result<Option<JobId>, EditRefusal>) -> Edited {
        Ok(edited?.and_then(|job| self.written_promise(job)))
    }

    /// Comes true when the last change of the record is on disk; none if it is already.
    pub(crate) fn written_promise(&mut self, job: JobId) -> Option<Promise> {
        let (waiter, promise) = oneshot::channel();
        self.jobs.await_write(job, waiter).is_none().then_some(promise)
    }
}
