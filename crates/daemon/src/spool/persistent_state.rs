//! [`PersistentState`]: the spool, the threads that write records, journals and other state, and the journal
//! entries that wait to be written. Owned by the main loop.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bergamot_engine::{Event as EngineEvent, Note};
use bergamot_jobs::machine::StoreFailure;
use bergamot_post::Ticket;
use bergamot_queue::FileKey;
use bergamot_store::{Finished, Journal, Spool};
use bergamot_types::{FileIdentity, JobId};
use tracing::{info, warn};

use crate::spool::journal_buffer::JournalBuffer;
use crate::spool::journal_thread::JournalThread;
use crate::spool::record_thread::RecordThread;
use crate::spool::state_thread::StateThread;

pub(crate) struct PersistentState {
    pub(crate) spool: Arc<Spool>,
    pub(crate) record_thread: RecordThread,
    pub(crate) state_thread: StateThread,
    journal_thread: JournalThread,
    buffer: JournalBuffer,
    /// Why no journal can be written.
    journal_error: Option<StoreFailure>,
}

impl PersistentState {
    pub(crate) fn new(
        spool: Arc<Spool>,
        record_thread: RecordThread,
        state_thread: StateThread,
        journal_thread: JournalThread,
    ) -> Self {
        Self {
            spool,
            record_thread,
            state_thread,
            journal_thread,
            buffer: JournalBuffer::default(),
            journal_error: None,
        }
    }

    /// From here on what is noted of the job goes to this journal.
    pub(crate) fn open_journal(&self, job: JobId, journal: Journal) {
        self.journal_thread.open(job, journal);
    }

    /// Writes what is noted; nothing is noted of the job any more.
    pub(crate) fn close_journal(&mut self, job: JobId) {
        self.write_notes_of(job);
        self.buffer.forget(job);
        self.journal_thread.close(job);
    }

    /// `identity` is that of the file that was written to, if it is known.
    pub(crate) fn note(&mut self, now: Instant, note: Note, identity: Option<FileIdentity>) {
        self.buffer.note(now, note, identity);
    }

    /// The file has its name; without this note it would be fetched again.
    pub(crate) fn note_named(&mut self, now: Instant, file: FileKey, finished: Finished) {
        self.buffer.note_named(now, file, finished);
        self.write_notes_of(file.job);
    }

    /// The file does not hold what it should: it has to be read back when its journal is opened next.
    pub(crate) fn note_distrusted(&mut self, now: Instant, file: FileKey) {
        self.buffer.note_distrusted(now, file);
        self.write_notes_of(file.job);
    }

    /// A job of which something noted no longer holds: [`retract`](Self::retract) comes next.
    pub(crate) fn next_to_retract(&mut self) -> Option<JobId> {
        self.buffer.next_taken_back()
    }

    /// Takes it back in the journal, under a number of [`Retractions`](crate::spool::retractions::Retractions).
    pub(crate) fn retract(&mut self, job: JobId, number: u64) {
        self.journal_thread.retract(job, number, self.buffer.take(job));
    }

    pub(crate) fn write_notes_of(&mut self, job: JobId) {
        self.journal_thread.append(job, self.buffer.take(job));
    }

    pub(crate) fn write_notes(&mut self) {
        for (job, entries) in self.buffer.take_all() {
            self.journal_thread.append(job, entries);
        }
    }

    /// Answered by `JournalWritten` when all that was noted of the job so far is in its journal.
    pub(crate) fn report_journal(&mut self, job: JobId, ticket: Ticket) {
        self.write_notes_of(job);
        self.journal_thread.report(job, ticket);
    }

    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.buffer.next_deadline()
    }

    /// Writes what has waited long enough. Returns the jobs whose files are to be synced now, each with a
    /// number for [`on_synced`](Self::on_synced).
    pub(crate) fn on_time(&mut self, now: Instant) -> Vec<(JobId, u64)> {
        if self.buffer.is_due(now) {
            self.write_notes();
        }
        let syncs = self.buffer.take_syncs(now);
        for (job, number) in &syncs {
            self.journal_thread.mark(*job, *number);
        }
        syncs
    }

    /// What was noted before that number was given survives a crash of the machine.
    pub(crate) fn on_synced(&self, job: JobId, number: u64) {
        self.journal_thread.vouch(job, number);
    }

    /// All journals can be written to, or one cannot. Returns what the engine has to know of it: downloads
    /// stop while a journal cannot be written, for whatever arrived then would be downloaded once more after a
    /// crash. As long as there is an error, it is to be tried again every [`RETRY_EVERY`].
    pub(crate) fn on_journals(&mut self, result: Result<(), StoreFailure>) -> Option<EngineEvent> {
        let had_error = self.journal_error.is_some();
        self.journal_error = result.err();
        match (&self.journal_error, had_error) {
            (Some(why), false) => {
                warn!("downloads stop, for the state cannot be written: {why}");
                Some(EngineEvent::StateUnwritable)
            }
            (None, true) => {
                info!("downloads go on, for the state can be written again");
                Some(EngineEvent::StateWritable)
            }
            (Some(_), true) | (None, false) => None,
        }
    }

    pub(crate) fn journal_error(&self) -> Option<&StoreFailure> {
        self.journal_error.as_ref()
    }

    pub(crate) fn retry_journals(&self) {
        self.journal_thread.retry();
    }

    /// Writes what is noted, and waits for the threads; the journal thread and the state thread write while the
    /// record thread does.
    pub(crate) fn stop(&mut self) {
        self.write_notes();
        self.journal_thread.stop(STATE_PATIENCE);
        self.record_thread.stop(RECORD_PATIENCE);
        self.state_thread.stop(STATE_PATIENCE);
    }
}

/// The retry interval after a failed write of a journal.
pub(crate) const RETRY_EVERY: Duration = Duration::from_secs(5);

/// What of the three seconds of a stop is left to these threads.
const RECORD_PATIENCE: Duration = Duration::from_millis(1000);
const STATE_PATIENCE: Duration = Duration::from_millis(200);
