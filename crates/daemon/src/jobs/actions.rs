//! Carries out the actions of [`Jobs`](bergamot_jobs::Jobs) and reports to it what comes of them. Runs in the
//! main loop.

use bergamot_engine::Order;
use bergamot_jobs::machine::{Action, Change, Event, Loaded as LoadedJob, Ready as ReadyJob};
use bergamot_jobs::{Check, Record};
use bergamot_types::{ByteCount, JobId, SafeName, Shown};
use bergamot_writer::Task;
use tracing::info;

use crate::clock;
use crate::control::call::Waiter;
use crate::disk::directories;
use crate::download::disk_work::AtDisk;
use crate::download::open_job::{LoadedFiles, OpenJob, Summary};
use crate::run::Daemon;
use crate::spool::load::{Loaded, Ready};

impl Daemon {
    /// Reports to the machine, and does what follows.
    pub(crate) fn tell_jobs(&mut self, event: Event) {
        self.report_to_jobs(event);
        self.run();
    }

    /// The same while orders are carried out: what follows is done when there are no more of them.
    pub(crate) fn report_to_jobs(&mut self, event: Event) {
        self.jobs.handle(clock::now(), &self.engine, event);
    }

    /// Runs the engine and the machine of jobs until neither has anything left to be done.
    pub(crate) fn run(&mut self) {
        loop {
            if let Some(event) = self.events.pop_front() {
                self.tell_one(event);
            } else if let Some(action) = self.jobs.poll_action() {
                self.perform(action);
            } else {
                return;
            }
        }
    }

    fn tell_one(&mut self, event: bergamot_engine::Event) {
        if let bergamot_engine::Event::JobRemoved(job) = event {
            self.drive_post(bergamot_post::Event::JobRemoved(job));
        }
        self.engine.handle(clock::now(), event);
        while let Some(order) = self.engine.poll_order() {
            // What no longer holds is taken back before anything is done about it.
            if !matches!(order, Order::Note(_)) {
                self.retract();
            }
            self.carry_out(order);
        }
        self.retract();
    }

    fn perform(&mut self, action: Action<Waiter>) {
        let keeper = &self.state.keeper;
        match action {
            Action::Answer { waiter, result } => drop(waiter.send(result)), // the caller may be gone
            Action::Changed(change) => self.publish(change),
            Action::Close(job) => self.close(job),
            Action::DeleteFiles(record) => keeper.delete_files(*record),
            Action::DeleteOpenFiles(record) => self.delete_open_files(record, false),
            Action::DropJournal(job) => keeper.drop_journal(job),
            Action::DropLoaded(job) => {
                self.disk.loaded.remove(&job);
                self.disk.sums.forget(job);
            }
            Action::Fetch(job) => self.plan_fetch(job),
            Action::ForgetCrashes(job) => keeper.absolve(job),
            Action::ForgetJournal(job) => keeper.forget_journal(job),
            Action::Load { job, number, category } => self.open_directories(job, number, category),
            Action::Open(job) => self.open(job),
            Action::Remove(record) => keeper.remove(*record),
            Action::RemoveOpen(record) => self.delete_open_files(record, true),
            Action::RemoveAll(records) => keeper.remove_all(records),
            Action::Settle(job) => self.settle(job),
            Action::StopFetching(job) => self.stop_fetching(job),
            Action::Survey(request) => self.survey(request),
            Action::Tell(event) => self.events.push_back(event),
            Action::Write(record) => keeper.update(*record),
        }
    }

    fn publish(&mut self, change: Change) {
        match change {
            Change::Added { job, is_refused } => {
                self.tally_arrival(is_refused);
                self.tell_added(job);
            }
            Change::Ended(job) => {
                self.tally_end(job);
                self.tell_state(job);
            }
            Change::Edited(job) => self.tell_changed(job),
            Change::PauseEnded => drop(self.obey_pauses()),
            Change::Removed(job) => self.tell_removed(job),
            Change::State(job) => self.tell_state(job),
            Change::Room(trouble) => self.tell_disk(trouble),
        }
    }

    /// What is only needed while a job is downloaded.
    fn close(&mut self, job: JobId) {
        self.write_notes_of(job);
        self.state.notes.forget(job);
        self.disk.sums.forget(job);
        self.disk.open_jobs.remove(&job);
        self.state.scribe.close(job);
        self.observers.file_ids.forget(job);
        self.observers.published.forget(job);
    }

    /// What was loaded is used from here on.
    fn open(&mut self, job: JobId) {
        let Some(loaded) = self.disk.loaded.remove(&job) else { return };
        let LoadedFiles { directory, destination, is_read_back, journal } = loaded;
        self.state.scribe.adopt(job, journal);
        let open =
            OpenJob { directory, destination, losses_logged: 0, is_read_back, summary: None };
        self.disk.open_jobs.insert(job, open);
    }

    /// Behind all that is still being written to them.
    fn delete_open_files(&mut self, record: Box<Record>, and_record: bool) {
        let job = record.id;
        let what = AtDisk::DeleteFiles { record: record.clone(), and_record };
        if self.at_disk(job, what, Task::Discard) {
            return;
        }
        match and_record {
            true => self.state.keeper.remove(*record),
            false => self.state.keeper.delete_files(*record),
        }
    }

    pub(crate) fn on_loaded(&mut self, job: JobId, number: u64, loaded: Loaded) {
        if !self.jobs.expects_load(job, number) {
            return;
        }
        self.state.keeper.heard(job);
        let loaded = match loaded {
            Loaded::Done(record) => LoadedJob::Done(record),
            Loaded::Failed(record) => LoadedJob::Failed(record),
            Loaded::Held { why } => LoadedJob::Held { why },
            Loaded::Ready(ready) => LoadedJob::Ready(Box::new(self.take_loaded(*ready))),
            Loaded::Waits { why } => LoadedJob::Waits { why },
        };
        self.tell_jobs(Event::Loaded { job, number, loaded });
    }

    /// Keeps what the machine has no use for, until it says what becomes of the job.
    fn take_loaded(&mut self, ready: Ready) -> ReadyJob {
        let Ready { record, nzb, directory, destination, recovered, journal } = ready;
        let is_read_back = recovered.finished.iter().all(|it| it.read_back);
        let loaded = LoadedFiles { directory, destination, is_read_back, journal };
        self.disk.loaded.insert(record.id, loaded);
        self.disk.sums.restore(record.id, &recovered.written);
        let finished = recovered.finished.iter().map(|it| (it.file.index, it.file.verified));
        ReadyJob {
            record,
            nzb,
            finished: finished.collect(),
            written: recovered.written,
            is_proven: recovered.is_proven,
        }
    }

    /// The files of a job are at the destination: what is logged of it when that is on record.
    pub(crate) fn note_moved(&mut self, job: JobId, check: Check) {
        let totals = self.engine.job(job).map(|job| job.totals()).unwrap_or_default();
        let Some(active) = self.jobs.list().active(job) else { return };
        let took = clock::now().instant - active.started;
        if let Some(open) = self.disk.open_jobs.get_mut(&job) {
            open.summary = Some(Summary { size: ByteCount(totals.bytes_done), took, check });
        }
    }

    /// Takes the writer's mark off a job that is on record as complete.
    fn settle(&mut self, job: JobId) {
        let Some(open) = self.disk.open_jobs.remove(&job) else {
            return self.state.keeper.forget_journal(job);
        };
        let name = self.jobs.list().record(job).and_then(|record| record.destination());
        let name = name.and_then(|path| std::path::Path::new(path).file_name()?.to_str());
        let Some(name) = name.and_then(SafeName::recorded) else { return };
        let task = Task::Settle { job, destination: open.destination, name };
        let what = AtDisk::Settle { job, summary: open.summary };
        self.submit(open.directory, what, task);
    }

    /// The same for jobs that completed when the last process had no time for it any more.
    pub(crate) fn settle_again(&self, unsettled: &[JobId]) {
        let records = unsettled.iter().filter_map(|job| self.jobs.list().record(*job).cloned());
        let incomplete = &self.jobs.settings().directories.incomplete;
        directories::settle(records.collect(), incomplete, &self.outbox);
    }

    /// Their journals are not needed any more. One that is tried again has another by now.
    pub(crate) fn on_settled(&self, jobs: &[JobId]) {
        let record = |job: &JobId| self.jobs.list().record(*job);
        let is_over = |job: &&JobId| record(job).is_none_or(|record| record.outcome.is_some());
        jobs.iter().filter(is_over).for_each(|job| self.state.keeper.forget_journal(*job));
    }
}

/// The job lies where it belongs and is on record: other programs may take it.
pub(crate) fn log_completed(record: &Record, summary: Summary) {
    let path = record.destination().unwrap_or_default();
    info!(
        job = %record.id, name = %Shown(&record.name), size = %summary.size,
        seconds = format!("{:.1}", summary.took.as_secs_f64()),
        verified = summary.check.is_verified(), check = summary.check.word(),
        path = %Shown(path), "complete"
    );
}
