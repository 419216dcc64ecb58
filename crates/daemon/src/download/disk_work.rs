//! [`DiskWork`]: the tasks that the writer's threads have been given, the open directories of jobs, the
//! checksums of files that are not finished and the last disk error. Owned by the main loop.

use std::collections::HashMap;
use std::sync::Arc;

use bergamot_engine::{Note, Ticket};
use bergamot_jobs::retry::DiskFailure;
use bergamot_jobs::{Check, Record};
use bergamot_net::Buffer;
use bergamot_queue::{FileKey, Layout};
use bergamot_store::Journal;
use bergamot_types::{ByteCount, FileIdentity, JobId, MessageId, SafeName};
use bergamot_writer::{DiskError, Done, JobDir, Order, Outcome, Piece, Root, Task, Writer};
use tracing::{debug, warn};

use crate::disk::disk_errors::DiskErrors;
use crate::download::open_job::{LoadedFiles, OpenJob, Summary};
use crate::download::part_checksums::PartChecksums;
use crate::post::move_job::Move;
use crate::spool::load::Ready;
use crate::spool::retractions::{HeldOrder, Retractions};

pub(crate) struct DiskWork {
    writer: Writer<Buffer>,
    tasks: HashMap<u64, DiskTask>,
    last_ticket: u64,
    errors: DiskErrors,
    checksums: PartChecksums,
    open_jobs: HashMap<JobId, OpenJob>,
    /// What was loaded for jobs, until it is known whether it is used.
    loaded: HashMap<JobId, LoadedFiles>,
    retractions: Retractions,
}

/// A task queued for or running on the writer's threads.
#[derive(Debug)]
pub(crate) enum DiskTask {
    /// Of a job that is gone, with its record or without.
    DeleteFiles {
        record: Box<Record>,
        and_record: bool,
    },
    FinishFile {
        file: FileKey,
        read_back: bool,
    },
    Move(Move),
    Sync {
        job: JobId,
        number: u64,
    },
    Reserve(FileKey),
    Settle {
        record: Box<Record>,
        summary: Option<Summary>,
    },
    Write {
        ticket: Ticket,
        file: FileKey,
    },
}

impl DiskWork {
    pub(crate) fn new(writer: Writer<Buffer>) -> Self {
        Self {
            writer,
            tasks: HashMap::new(),
            last_ticket: 0,
            errors: DiskErrors::default(),
            checksums: PartChecksums::default(),
            open_jobs: HashMap::new(),
            loaded: HashMap::new(),
            retractions: Retractions::default(),
        }
    }

    /// Whether all that was ordered is written.
    pub(crate) fn shut_down(&mut self) -> bool {
        self.writer.shutdown()
    }

    /// Keeps what the machine of jobs has no use for; returns the rest.
    pub(crate) fn keep_loaded(&mut self, ready: Ready) -> bergamot_jobs::machine::Ready {
        let Ready { record, nzb, directory, destination, recovered, journal } = ready;
        let is_read_back = recovered.finished.iter().all(|it| it.read_back);
        let loaded = LoadedFiles { directory, destination, is_read_back, journal };
        self.loaded.insert(record.id, loaded);
        self.checksums.restore(record.id, &recovered.written);
        let finished = recovered.finished.iter().map(|it| (it.file.index, it.file.verified));
        bergamot_jobs::machine::Ready {
            record,
            nzb,
            finished: finished.collect(),
            written: recovered.written,
            is_proven: recovered.is_proven,
        }
    }

    /// What was loaded for a job is used from here on; returns its journal.
    pub(crate) fn open_loaded(&mut self, job: JobId) -> Option<Journal> {
        let LoadedFiles { directory, destination, is_read_back, journal } =
            self.loaded.remove(&job)?;
        let open =
            OpenJob { directory, destination, losses_logged: 0, is_read_back, summary: None };
        self.open_jobs.insert(job, open);
        Some(journal)
    }

    /// What was loaded for a job is of no use.
    pub(crate) fn drop_loaded(&mut self, job: JobId) {
        self.loaded.remove(&job);
        self.checksums.forget(job);
    }

    /// It goes there when it is complete.
    pub(crate) fn set_destination(&mut self, job: JobId, destination: Arc<Root>) {
        if let Some(open) = self.open_jobs.get_mut(&job) {
            open.destination = destination;
        }
    }

    /// A job was moved; its summary is logged when it is settled.
    pub(crate) fn set_moved(&mut self, job: JobId, destination: Arc<Root>, summary: Summary) {
        if let Some(open) = self.open_jobs.get_mut(&job) {
            (open.destination, open.summary) = (destination, Some(summary));
        }
    }

    /// Tasks of the job that are under way keep its directory open until they end.
    pub(crate) fn close(&mut self, job: JobId) {
        self.open_jobs.remove(&job);
        self.checksums.forget(job);
    }

    /// Deletes the files of a job behind all that is still being written to them. Returns the record if the
    /// job is not open.
    pub(crate) fn delete_files(
        &mut self,
        record: Box<Record>,
        and_record: bool,
    ) -> Option<Box<Record>> {
        let job = record.id;
        if !self.open_jobs.contains_key(&job) {
            return Some(record);
        }
        self.order(job, DiskTask::DeleteFiles { record, and_record }, Task::Discard);
        None
    }

    /// Whether files are read back when they are finished.
    pub(crate) fn set_reading_back(&mut self, is_wanted: bool) {
        self.checksums.want(is_wanted);
    }

    /// Takes over what the engine notes of the parts of files. Returns which file was written to.
    pub(crate) fn on_note(&mut self, note: &Note) -> Option<FileIdentity> {
        match note {
            Note::Written { key, part } => {
                self.checksums.add(*key, part);
                self.open_jobs.get(&key.job)?.directory.identity_of(key.file)
            }
            Note::Reopened { key } => {
                self.checksums.remove(*key);
                None
            }
            Note::Forgotten { file } => {
                self.checksums.forget_file(*file);
                None
            }
        }
    }

    /// `false` if the job is gone.
    pub(crate) fn order(&mut self, job: JobId, what: DiskTask, task: Task<Buffer>) -> bool {
        let Some(directory) = self.open_jobs.get(&job).map(|known| known.directory.clone()) else {
            return false;
        };
        let order = HeldOrder { directory, what, task };
        if let Some(HeldOrder { directory, what, task }) = self.retractions.hold(job, order) {
            self.submit(directory, what, task);
        }
        true
    }

    fn submit(&mut self, dir: Arc<JobDir>, what: DiskTask, task: Task<Buffer>) {
        self.last_ticket += 1;
        let ticket = self.last_ticket;
        self.tasks.insert(ticket, what);
        self.writer.submit(Order { ticket, dir, task });
    }

    pub(crate) fn reserve(&mut self, file: FileKey, size: u64) {
        let task = Task::Reserve { file: file.file, size: ByteCount(size) };
        self.order(file.job, DiskTask::Reserve(file), task);
    }

    /// `false` if the job is gone.
    pub(crate) fn write(
        &mut self,
        ticket: Ticket,
        file: FileKey,
        offset: u64,
        bytes: Buffer,
    ) -> bool {
        let task = Task::Write { file: file.file, offset, bytes };
        self.order(file.job, DiskTask::Write { ticket, file }, task)
    }

    pub(crate) fn finish_file(&mut self, file: FileKey, layout: Layout, name: SafeName) {
        let (size, pieces) = match layout {
            Layout::InPlace { size } => (size, Vec::new()),
            Layout::Pieces(pieces) => {
                let size = pieces.iter().map(|piece| piece.length).sum();
                let piece = |piece: &bergamot_queue::Piece| Piece {
                    from: piece.offset,
                    length: piece.length,
                };
                (size, pieces.iter().map(piece).collect())
            }
        };
        let checksums =
            if pieces.is_empty() { self.checksums.of_whole(file, size) } else { Vec::new() };
        let what = DiskTask::FinishFile { file, read_back: !checksums.is_empty() };
        let task = Task::FinishFile {
            file: file.file,
            size: ByteCount(size),
            pieces,
            sums: checksums,
            name,
        };
        self.order(file.job, what, task);
    }

    /// A file has its name. Returns the status by which it is recognised after a restart.
    pub(crate) fn on_finished(
        &mut self,
        file: FileKey,
        read_back: bool,
    ) -> Option<bergamot_types::FileStatus> {
        self.checksums.forget_file(file);
        let open = self.open_jobs.get_mut(&file.job)?;
        open.is_read_back &= read_back;
        open.directory.finished_status(file.file)
    }

    pub(crate) fn sync(&mut self, job: JobId, number: u64) {
        self.order(job, DiskTask::Sync { job, number }, Task::Sync);
    }

    /// Takes the writer's mark off a job that is on record as complete, under that name, and closes it.
    /// `false` if it is not open.
    pub(crate) fn settle(&mut self, record: Box<Record>, name: SafeName) -> bool {
        let job = record.id;
        let Some(open) = self.open_jobs.remove(&job) else { return false };
        let task = Task::Settle { job, destination: open.destination, name };
        self.submit(open.directory, DiskTask::Settle { record, summary: open.summary }, task);
        true
    }

    /// Moves a job to its destination under that name. `false` if the job is gone.
    pub(crate) fn move_job(
        &mut self,
        ticket: bergamot_post::Ticket,
        job: JobId,
        verified: bool,
        name: SafeName,
    ) -> bool {
        let Some(open) = self.open_jobs.get(&job) else { return false };
        let check = Check::of(verified, open.is_read_back);
        let destination = open.destination.clone();
        let task = Task::FinishJob { job, destination: destination.clone(), name };
        self.order(job, DiskTask::Move(Move { ticket, job, check, destination }), task)
    }

    /// From here on orders for the job wait until that retraction is on disk; returns its number.
    pub(crate) fn begin_retraction(&mut self, job: JobId) -> u64 {
        self.retractions.begin(job)
    }

    pub(crate) fn end_retraction(&mut self, job: JobId, number: u64) {
        for HeldOrder { directory, what, task } in self.retractions.end(job, number) {
            self.submit(directory, what, task);
        }
    }

    /// A task has ended; an error is noted. None if it is not known.
    pub(crate) fn on_done(
        &mut self,
        done: Done<Buffer>,
    ) -> Option<(DiskTask, Result<Outcome, DiskError>)> {
        let what = self.tasks.remove(&done.ticket)?;
        if let Err(error) = &done.result {
            debug!(code = error.code(), "{error}");
            self.errors.note(error);
        }
        Some((what, done.result)) // the bytes go back to the pool
    }

    /// The last error, with its code.
    pub(crate) fn last_error(&self) -> Option<&str> {
        self.errors.text()
    }

    pub(crate) fn last_failure(&self) -> DiskFailure {
        self.errors.last()
    }

    pub(crate) fn log_loss(&mut self, job: JobId, id: &MessageId, what: &str) {
        let Some(known) = self.open_jobs.get_mut(&job) else { return };
        known.losses_logged += 1;
        match known.losses_logged {
            1..=LOSSES_LOGGED => warn!(%job, %id, "{what}"),
            _ => debug!(%job, %id, "{what}"),
        }
        if known.losses_logged == LOSSES_LOGGED {
            warn!(%job, "further articles that are lost are only counted");
        }
    }
}

/// A post that was taken down would fill the log with its articles.
const LOSSES_LOGGED: u32 = 20;
