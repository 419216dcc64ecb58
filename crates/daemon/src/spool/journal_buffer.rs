//! [`JournalBuffer`]: entries for the journals until the journal thread gets them, and the jobs whose files have to
//! be synced. Owned by the main loop, without threads or files of its own.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::{Duration, Instant};

use bergamot_engine::Note;
use bergamot_queue::FileKey;
use bergamot_store::{Entry, Finished};
use bergamot_types::{FileIdentity, JobId};

#[derive(Debug, Default)]
pub(crate) struct JournalBuffer {
    waiting: BTreeMap<JobId, Vec<Entry>>,
    write_at: Option<Instant>,
    taken_back: BTreeSet<JobId>, // among what waits is something that takes a claim back
    unsynced: BTreeSet<JobId>,
    identities: HashMap<FileKey, FileIdentity>, // as recorded in the journals
    sync_at: Option<Instant>,
    last_mark: u64,
}

impl JournalBuffer {
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.write_at.into_iter().chain(self.sync_at).min()
    }

    /// `identity` is that of the file that was written to, if it is known.
    pub(crate) fn note(&mut self, now: Instant, note: Note, identity: Option<FileIdentity>) {
        match note {
            Note::Written { key, part } => {
                self.note_identity(now, key.file_key(), identity);
                let entry = Entry::Written { file: key.file, segment: key.segment, part };
                self.add(now, key.job, entry);
            }
            Note::Reopened { key } => {
                let entry = Entry::Reopened { file: key.file, segment: key.segment };
                self.add(now, key.job, entry);
                self.taken_back.insert(key.job);
            }
            Note::Forgotten { file } => {
                self.identities.remove(&file);
                self.add(now, file.job, Entry::Forgotten { file: file.file });
                self.taken_back.insert(file.job);
            }
        }
    }

    /// Records the identity of the file that is written to, if the journal does not have it.
    fn note_identity(&mut self, now: Instant, file: FileKey, identity: Option<FileIdentity>) {
        if let Some(identity) = identity
            && self.identities.insert(file, identity) != Some(identity)
        {
            self.add(now, file.job, Entry::Opened { file: file.file, identity });
        }
    }

    pub(crate) fn note_distrusted(&mut self, now: Instant, file: FileKey) {
        let entry = Entry::Opened { file: file.file, identity: FileIdentity::NONE };
        self.add(now, file.job, entry);
    }

    pub(crate) fn note_named(&mut self, now: Instant, file: FileKey, finished: Finished) {
        self.identities.remove(&file);
        self.add(now, file.job, Entry::Finished { file: file.file, finished });
    }

    fn add(&mut self, now: Instant, job: JobId, entry: Entry) {
        self.waiting.entry(job).or_default().push(entry);
        self.unsynced.insert(job);
        self.write_at.get_or_insert(now + WRITE_EVERY);
        self.sync_at.get_or_insert(now + SYNC_EVERY);
    }

    /// A job whose buffered entries retract earlier ones.
    pub(crate) fn next_taken_back(&mut self) -> Option<JobId> {
        self.taken_back.pop_first()
    }

    pub(crate) fn take(&mut self, job: JobId) -> Vec<Entry> {
        self.waiting.remove(&job).unwrap_or_default()
    }

    pub(crate) fn take_all(&mut self) -> BTreeMap<JobId, Vec<Entry>> {
        self.write_at = None;
        std::mem::take(&mut self.waiting)
    }

    /// Whether entries have waited long enough.
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        self.next_deadline().is_some_and(|at| now >= at)
    }

    /// The jobs whose files are to be synced now, each with the number of its mark.
    pub(crate) fn take_syncs(&mut self, now: Instant) -> Vec<(JobId, u64)> {
        if self.sync_at.is_none_or(|at| now < at) {
            return Vec::new();
        }
        self.sync_at = None;
        let unsynced = std::mem::take(&mut self.unsynced).into_iter();
        let mark = |job| {
            self.last_mark += 1;
            (job, self.last_mark)
        };
        unsynced.map(mark).collect()
    }

    pub(crate) fn forget(&mut self, job: JobId) {
        self.waiting.remove(&job);
        self.unsynced.remove(&job);
        self.identities.retain(|file, _| file.job != job);
    }
}

/// With the time it takes to come to it on a busy machine, this stays below the second of traffic that
/// a crash of the process may cost.
const WRITE_EVERY: Duration = Duration::from_millis(750);

/// With the time a sync takes, this stays below the five seconds that a crash of the machine may cost.
const SYNC_EVERY: Duration = Duration::from_secs(2);
