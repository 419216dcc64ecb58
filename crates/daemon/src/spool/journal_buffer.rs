//! What is to go into the journals, until it does.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::{Duration, Instant};

use bergamot_engine::{Event, Note};
use bergamot_jobs::machine::StoreFailure;
use bergamot_queue::FileKey;
use bergamot_store::{Entry, Finished};
use bergamot_types::{FileIdentity, JobId};
use bergamot_writer::Task;
use tracing::{info, warn};

use crate::clock;
use crate::download::disk_work::AtDisk;
use crate::periodic::Poll;
use crate::run::Daemon;
use crate::spool::retractions::HeldOrder;

/// Entries that nobody has written down yet, and jobs whose files nobody has synced since.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    waiting: BTreeMap<JobId, Vec<Entry>>,
    write_at: Option<Instant>,
    taken_back: BTreeSet<JobId>, // among what waits is something that takes a claim back
    unsynced: BTreeSet<JobId>,
    identities: HashMap<FileKey, FileIdentity>, // of which the journals were told
    sync_at: Option<Instant>,
    last_mark: u64,
}

impl Notes {
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.write_at.into_iter().chain(self.sync_at).min()
    }

    fn add(&mut self, now: Instant, job: JobId, entry: Entry) {
        self.waiting.entry(job).or_default().push(entry);
        self.unsynced.insert(job);
        self.write_at.get_or_insert(now + WRITE_EVERY);
        self.sync_at.get_or_insert(now + SYNC_EVERY);
    }

    fn take(&mut self, job: JobId) -> Vec<Entry> {
        self.waiting.remove(&job).unwrap_or_default()
    }

    pub(crate) fn forget(&mut self, job: JobId) {
        self.waiting.remove(&job);
        self.unsynced.remove(&job);
        self.identities.retain(|file, _| file.job != job);
    }
}

impl Daemon {
    pub(crate) fn note(&mut self, note: Note) {
        let now = clock::now().instant;
        match note {
            Note::Written { key, part } => {
                self.note_identity(now, key.file_key());
                self.disk.sums.add(key, &part);
                let entry = Entry::Written { file: key.file, segment: key.segment, part };
                self.state.notes.add(now, key.job, entry);
            }
            Note::Reopened { key } => {
                self.disk.sums.remove(key);
                let entry = Entry::Reopened { file: key.file, segment: key.segment };
                self.state.notes.add(now, key.job, entry);
                self.state.notes.taken_back.insert(key.job);
            }
            Note::Forgotten { file } => {
                self.disk.sums.forget_file(file);
                self.state.notes.identities.remove(&file);
                self.state.notes.add(now, file.job, Entry::Forgotten { file: file.file });
                self.state.notes.taken_back.insert(file.job);
            }
        }
    }

    /// Tells the journal which file it is that is written to, where it does not know.
    fn note_identity(&mut self, now: Instant, file: FileKey) {
        let directory = self.disk.open_jobs.get(&file.job).map(|open| &open.directory);
        let identity = directory.and_then(|directory| directory.identity_of(file.file));
        if let Some(identity) = identity
            && self.state.notes.identities.insert(file, identity) != Some(identity)
        {
            self.state.notes.add(now, file.job, Entry::Opened { file: file.file, identity });
        }
    }

    /// The file does not hold what it should: it has to be read back when its journal is opened next.
    pub(crate) fn note_distrusted(&mut self, file: FileKey) {
        let entry = Entry::Opened { file: file.file, identity: FileIdentity::NONE };
        self.state.notes.add(clock::now().instant, file.job, entry);
        self.write_notes_of(file.job);
    }

    /// Takes back in the journals what no longer holds. Disk orders of those jobs wait for that.
    pub(crate) fn retract(&mut self) {
        while let Some(job) = self.state.notes.taken_back.pop_first() {
            let number = self.disk.retractions.begin(job);
            self.state.scribe.retract(job, number, self.state.notes.take(job));
        }
    }

    pub(crate) fn on_retracted(&mut self, job: JobId, number: u64) {
        for HeldOrder { directory, what, task } in self.disk.retractions.end(job, number) {
            self.submit(directory, what, task);
        }
    }

    /// The file has its name; without this note it would be fetched again.
    pub(crate) fn note_named(&mut self, file: FileKey, finished: Finished) {
        self.state.notes.identities.remove(&file);
        let entry = Entry::Finished { file: file.file, finished };
        self.state.notes.add(clock::now().instant, file.job, entry);
        self.write_notes_of(file.job);
    }

    pub(crate) fn write_notes_of(&mut self, job: JobId) {
        self.state.scribe.append(job, self.state.notes.take(job));
    }

    pub(crate) fn write_notes(&mut self) {
        self.state.notes.write_at = None;
        for (job, entries) in std::mem::take(&mut self.state.notes.waiting) {
            self.state.scribe.append(job, entries);
        }
    }

    pub(crate) fn notes_on_time(&mut self, now: Instant) {
        if self.state.notes.write_at.is_some_and(|at| now >= at) {
            self.write_notes();
        }
        if self.state.notes.sync_at.is_some_and(|at| now >= at) {
            self.write_notes();
            self.sync_files();
        }
    }

    /// Downloads stop while a journal cannot be written: whatever arrived then would be downloaded once more
    /// after a crash. They go on by themselves.
    pub(crate) fn on_journals(&mut self, result: Result<(), StoreFailure>) {
        let was_in_trouble = self.state.journal_trouble.is_some();
        self.state.journal_trouble = result.err();
        match (&self.state.journal_trouble, was_in_trouble) {
            (Some(why), false) => {
                warn!("downloads stop, for the state cannot be written: {why}");
                self.observers.held_since = clock::now().date;
                self.tell_engine(Event::StateUnwritable);
            }
            (None, true) => {
                info!("downloads go on, for the state can be written again");
                self.tell_engine(Event::StateWritable);
            }
            (Some(_), true) | (None, false) => {}
        }
        if self.state.journal_trouble.is_some() {
            self.do_once(Poll::Journals, clock::now().instant + RETRY_EVERY);
        }
    }

    /// What is noted so far is to outlive the machine.
    fn sync_files(&mut self) {
        self.state.notes.sync_at = None;
        for job in std::mem::take(&mut self.state.notes.unsynced) {
            self.state.notes.last_mark += 1;
            let number = self.state.notes.last_mark;
            self.state.scribe.mark(job, number);
            self.at_disk(job, AtDisk::Sync { job, number }, Task::Sync);
        }
    }
}

/// With the time it takes to come to it on a busy machine, this stays below the second of traffic that
/// a crash of the process may cost.
const WRITE_EVERY: Duration = Duration::from_millis(750);

/// With the time a sync takes, this stays below the five seconds that a crash of the machine may cost.
const SYNC_EVERY: Duration = Duration::from_secs(2);

/// How long a disk is left alone that would not take a note.
const RETRY_EVERY: Duration = Duration::from_secs(5);
