//! [`Disk`]: pauses after disk errors and files that are being finished; with the methods of [`Engine`]
//! that handle the results of the disk. Pure.

mod backlog;
mod budget;
pub(crate) mod memory;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use bergamot_queue::{Cause, FileKey, Layout, SegmentKey, SegmentState};
use bergamot_types::{DiskTrouble, JobId};

use crate::article::Stage;
use crate::engine::Engine;
use crate::event::Now;
use crate::order::{Failure, Note, Notice, Order, Ticket};

/// Whether the disk takes anything just now, and what it still owes.
#[derive(Debug, Default)]
pub(crate) struct Disk {
    paused_until: Option<Instant>,
    full: bool, // until somebody says that there is room
    was_paused: bool,
    finishing: BTreeMap<FileKey, Finishing>,
    losses: BTreeMap<FileKey, u8>, // how often the disk lost what a file held
}

/// A file that is to get its name.
#[derive(Debug)]
struct Finishing {
    layout: Layout,
    failed: bool,
}

impl Disk {
    /// Nothing is fetched, for it could not be written.
    pub(crate) fn is_paused(&self) -> bool {
        self.full || self.paused_until.is_some()
    }

    /// When something is to be tried again.
    pub(crate) fn next_try(&self) -> Option<Instant> {
        self.paused_until
    }

    /// The pause is over, and nothing has been written since.
    pub(crate) fn awaits_first_write(&self) -> bool {
        self.was_paused && !self.is_paused()
    }

    pub(crate) fn forget(&mut self, job: JobId) {
        self.finishing.retain(|file, _| file.job != job);
        self.losses.retain(|file, _| file.job != job);
    }
}

impl Engine {
    pub(crate) fn on_written(&mut self, now: Now, ticket: Ticket, result: Result<(), DiskTrouble>) {
        let Some(article) = self.close_ticket(ticket) else { return };
        self.memory.backlog.on_written(now.instant, article.reserved);
        let key = article.key;
        match (result, article.stage) {
            (Ok(()), Stage::Writing { server, part }) => {
                self.disk_works();
                let troubled = self.retries.troubled.remove(&key).unwrap_or_default();
                self.count_answers(key.job, &troubled.tries, Some(server));
                let state = SegmentState::Written { verified: part.verified };
                if self.queue.wants(key) {
                    self.note(Note::Written { key, part });
                }
                self.resolve(key, state);
                self.accept_suspects(now, key.file_key());
            }
            (Ok(()), _) => {}
            (Err(trouble), stage) => {
                if matches!(stage, Stage::Writing { .. }) {
                    self.queue.displace(key);
                    self.ask_again(now, key);
                }
                self.on_disk_trouble(now, key.job, trouble);
            }
        }
    }

    /// Records what became of a segment; if that made its file whole, the file gets its name.
    pub(crate) fn resolve(&mut self, key: SegmentKey, state: SegmentState) {
        if let Some(layout) = self.queue.resolve(key, state) {
            self.finish_file(key.file_key(), layout);
        }
        self.end_job_if_settled(key.job);
    }

    pub(crate) fn finish_file(&mut self, file: FileKey, layout: Layout) {
        let finishing = Finishing { layout: layout.clone(), failed: false };
        self.disk.finishing.insert(file, finishing);
        self.orders.push_back(Order::FinishFile { file, layout });
    }

    pub(crate) fn on_file_finished(
        &mut self,
        now: Now,
        file: FileKey,
        result: Result<(), DiskTrouble>,
    ) {
        match result {
            Ok(()) => self.disk_works(),
            Err(DiskTrouble::Unsynced) => return self.on_unsynced(now, file),
            Err(trouble) => {
                if let Some(finishing) = self.disk.finishing.get_mut(&file) {
                    finishing.failed = true;
                }
                return self.on_disk_trouble(now, file.job, trouble);
            }
        }
        self.disk.finishing.remove(&file);
        self.queue.finish_file(file, true);
        self.end_job_if_settled(file.job);
    }

    /// The file is fetched anew, a few times; then the disk is not fit for it.
    fn on_unsynced(&mut self, now: Now, file: FileKey) {
        self.disk.finishing.remove(&file);
        let losses = self.disk.losses.entry(file).or_default();
        *losses += 1;
        if *losses > MOST_SYNC_LOSSES {
            return self.fail_job(file.job, Failure::Disk);
        }
        self.queue.forget_file(file);
        self.note(Note::Forgotten { file });
        self.forget_what_is_under_way(file);
        self.pause_disk(now);
    }

    /// All of the file is asked for anew, so whatever is still on its way, a second copy of what had
    /// been written, belongs to no job any more and is discarded when it comes.
    fn forget_what_is_under_way(&mut self, file: FileKey) {
        for article in self.tickets.values_mut().filter(|it| it.key.file_key() == file) {
            article.key.job = NO_JOB;
        }
        self.end_game.forget(file);
        self.retries.forget_file(file);
    }

    pub(crate) fn on_job_processed(&mut self, job: JobId, result: Result<(), Cause>) {
        match result {
            Ok(()) => {
                self.disk_works();
                self.on_job_removed(job);
            }
            Err(cause) => {
                self.jobs.ended.remove(&job);
                self.fail_job(job, Failure::Processing(cause));
            }
        }
    }

    fn on_disk_trouble(&mut self, now: Now, job: JobId, trouble: DiskTrouble) {
        match trouble {
            DiskTrouble::Full => self.hold_disk(),
            DiskTrouble::Transient | DiskTrouble::Unsynced => self.pause_disk(now),
            DiskTrouble::Permanent => self.fail_job(job, Failure::Disk),
        }
    }

    fn pause_disk(&mut self, now: Now) {
        self.disk.paused_until = Some(now.instant + DISK_RETRY_DELAY);
        self.tell_disk_paused(Some(DISK_RETRY_DELAY));
    }

    fn hold_disk(&mut self) {
        self.disk.full = true;
        self.tell_disk_paused(None);
    }

    fn tell_disk_paused(&mut self, again_in: Option<Duration>) {
        if !std::mem::replace(&mut self.disk.was_paused, true) {
            self.notify(Notice::DiskPaused { again_in });
        }
    }

    pub(crate) fn on_disk_returned(&mut self) {
        if std::mem::take(&mut self.disk.full) && !self.disk.is_paused() {
            self.finish_again();
        }
    }

    /// A write that succeeds during a pause was under way before it and proves nothing.
    fn disk_works(&mut self) {
        if self.disk.awaits_first_write() {
            self.disk.was_paused = false;
            self.notify(Notice::DiskResumed);
        }
    }

    /// What could not be done while the disk was in trouble is tried again.
    pub(crate) fn resume_disk_if_due(&mut self, now: Now) {
        if self.disk.paused_until.is_none_or(|until| now.instant < until) {
            return;
        }
        self.disk.paused_until = None;
        if !self.disk.full {
            self.finish_again();
        }
    }

    fn finish_again(&mut self) {
        for (&file, finishing) in &mut self.disk.finishing {
            if std::mem::take(&mut finishing.failed) {
                let layout = finishing.layout.clone();
                self.orders.push_back(Order::FinishFile { file, layout });
            }
        }
    }
}

/// How long to leave a full or failing disk alone.
const DISK_RETRY_DELAY: Duration = Duration::from_secs(5);

/// How often one file may be lost by its disk before its job is given up.
const MOST_SYNC_LOSSES: u8 = 2;

/// No job has this number: spools count from 1.
const NO_JOB: JobId = JobId(0);
