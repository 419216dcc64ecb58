//! The scribe: keeps the journals of the jobs that are being downloaded, in a thread of its own.
//!
//! What was written to the files of a job goes to its journal within a second, which is enough to
//! outlive the process. Every few seconds the files are synced, and the scribe vouches for what was
//! noted before that: so much outlives the machine.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use bergamot_jobs::machine::StoreFailure;
use bergamot_post::Ticket;
use bergamot_store::{Entry, Journal, JournalMark, Spool, StoreError};
use bergamot_types::JobId;
use tracing::{error, warn};

use crate::event::{Happening, Outbox};
use crate::service_thread::vital_thread;

/// Errands are done in the order they are given.
#[derive(Debug)]
pub(crate) struct Scribe(mpsc::Sender<Errand>);

enum Errand {
    Adopt {
        job: JobId,
        journal: Box<Journal>,
    },
    Append {
        job: JobId,
        entries: Vec<Entry>,
        /// The number of the retraction that they make.
        retraction: Option<u64>,
    },
    Close {
        job: JobId,
    },
    /// What is noted so far will be on disk when that number is vouched for.
    Mark {
        job: JobId,
        number: u64,
    },
    /// Tell when everything appended for the job so far has been written.
    Report {
        job: JobId,
        ticket: Ticket,
    },
    /// What could not be written may be now.
    Retry,
    Stop(mpsc::Sender<()>),
    Vouch {
        job: JobId,
        number: u64,
    },
}

impl Scribe {
    pub(crate) fn start(spool: Arc<Spool>, outbox: Outbox) -> io::Result<Self> {
        let (sender, errands) = mpsc::channel();
        let on_panic = outbox.clone();
        let worker = Worker { books: HashMap::new(), spool, outbox, is_in_trouble: false };
        vital_thread("scribe", &on_panic, move || worker.run(&errands))?;
        Ok(Self(sender))
    }

    /// From here on it writes to this journal.
    pub(crate) fn adopt(&self, job: JobId, journal: Journal) {
        self.send(Errand::Adopt { job, journal: Box::new(journal) });
    }

    pub(crate) fn append(&self, job: JobId, entries: Vec<Entry>) {
        if !entries.is_empty() {
            self.send(Errand::Append { job, entries, retraction: None });
        }
    }

    /// The same for what takes a claim back: it has to be on disk before the bytes it speaks of change.
    /// Answered by [`Happening::Retracted`] when it is, or when the journal was given up.
    pub(crate) fn retract(&self, job: JobId, number: u64, entries: Vec<Entry>) {
        self.send(Errand::Append { job, entries, retraction: Some(number) });
    }

    /// Answered by [`Happening::JournalWritten`] once everything appended for the job so far is written, or
    /// its journal was given up.
    pub(crate) fn report(&self, job: JobId, ticket: Ticket) {
        self.send(Errand::Report { job, ticket });
    }

    /// After [`Happening::Journals`] said that something could not be written; it is answered by another.
    pub(crate) fn retry(&self) {
        self.send(Errand::Retry);
    }

    pub(crate) fn mark(&self, job: JobId, number: u64) {
        self.send(Errand::Mark { job, number });
    }

    /// All files of the job were synced after that mark was set.
    pub(crate) fn vouch(&self, job: JobId, number: u64) {
        self.send(Errand::Vouch { job, number });
    }

    pub(crate) fn close(&self, job: JobId) {
        self.send(Errand::Close { job });
    }

    pub(crate) fn stop(&self, patience: Duration) {
        let (sender, done) = mpsc::channel();
        self.send(Errand::Stop(sender));
        let _ = done.recv_timeout(patience);
    }

    fn send(&self, errand: Errand) {
        // The scribe ends only with the daemon.
        let _ = self.0.send(errand);
    }
}

struct Worker {
    books: HashMap<JobId, Book>,
    spool: Arc<Spool>,
    outbox: Outbox,
    /// Downloads are stopped because a journal could not be written.
    is_in_trouble: bool,
}

struct Book {
    journal: Journal,
    marks: HashMap<u64, JournalMark>,
    /// What could not be written yet. Bounded by what was under way when downloads stopped.
    unwritten: Vec<Entry>,
    /// A report waits for that.
    awaited: Option<Ticket>,
}

impl Book {
    fn new(journal: Journal) -> Self {
        Self { journal, marks: HashMap::new(), unwritten: Vec::new(), awaited: None }
    }

    /// Adds entries behind those that could not be written before.
    fn append(&mut self, entries: Vec<Entry>) -> Result<(), StoreError> {
        self.unwritten.extend(entries);
        self.journal.append(&self.unwritten)?;
        self.unwritten.clear();
        Ok(())
    }
}

impl Worker {
    fn run(mut self, errands: &mpsc::Receiver<Errand>) {
        while let Ok(errand) = errands.recv() {
            match errand {
                Errand::Adopt { job, journal } => {
                    self.books.insert(job, Book::new(*journal));
                }
                Errand::Append { job, entries, retraction } => {
                    let is_written = self.write(job, |book| book.append(entries));
                    if !is_written && retraction.is_some() {
                        self.give_up_journal(job);
                    }
                    self.answer_reports();
                    if let Some(number) = retraction {
                        self.outbox.tell(Happening::Retracted { job, number });
                    }
                }
                Errand::Close { job } => drop(self.books.remove(&job)),
                Errand::Mark { job, number } => {
                    if let Some(book) = self.books.get_mut(&job) {
                        book.marks.insert(number, book.journal.mark());
                    }
                }
                Errand::Report { job, ticket } => self.report(job, ticket),
                Errand::Retry => self.retry(),
                Errand::Stop(done) => {
                    let _ = done.send(());
                    return;
                }
                Errand::Vouch { job, number } => {
                    self.write(job, |book| match book.marks.remove(&number) {
                        Some(mark) => book.journal.vouch(mark),
                        None => Ok(()),
                    });
                }
            }
        }
    }

    /// Downloads stop while something cannot be noted: after a crash it would be downloaded once more.
    fn write(
        &mut self,
        job: JobId,
        write: impl FnOnce(&mut Book) -> Result<(), StoreError>,
    ) -> bool {
        let Some(book) = self.books.get_mut(&job) else { return true };
        let written = write(book);
        if let Err(error) = &written {
            warn!(%job, code = error.code(), "the journal could not be written: {error}");
        }
        // What was written into the room set aside for it has to be the last.
        let has_room = || self.spool.keep_room();
        if let Err(error) = written.as_ref().map_or_else(|_| Ok(()), |()| has_room()) {
            self.tell_trouble(&error);
        }
        if let Err(error) = &written {
            self.tell_trouble(error);
        }
        written.is_ok()
    }

    fn tell_trouble(&mut self, error: &StoreError) {
        if !std::mem::replace(&mut self.is_in_trouble, true) {
            self.tell(Err(error.into()));
        }
    }

    fn tell(&self, result: Result<(), StoreFailure>) {
        self.spool.set_unwritable(result.as_ref().err().map(ToString::to_string));
        self.outbox.tell(Happening::Journals(result));
    }

    /// Writes what could not be written. Downloads go on when all of it is on the disk.
    fn retry(&mut self) {
        let written =
            self.books.values_mut().try_for_each(|book| match book.unwritten.is_empty() {
                true => Ok(()),
                false => book.append(Vec::new()),
            });
        let result = written.and_then(|()| self.spool.keep_room());
        self.is_in_trouble = result.is_err();
        self.tell(result.map_err(|error| (&error).into()));
        self.answer_reports();
    }

    /// Without a journal there is nothing to wait for.
    fn report(&mut self, job: JobId, ticket: Ticket) {
        match self.books.get_mut(&job) {
            Some(book) if !book.unwritten.is_empty() => book.awaited = Some(ticket),
            _ => self.outbox.tell(Happening::JournalWritten(ticket)),
        }
    }

    fn answer_reports(&mut self) {
        for book in self.books.values_mut().filter(|book| book.unwritten.is_empty()) {
            if let Some(ticket) = book.awaited.take() {
                self.outbox.tell(Happening::JournalWritten(ticket));
            }
        }
    }

    /// A journal that claims what no longer holds is worse than none.
    fn give_up_journal(&mut self, job: JobId) {
        let book = self.books.remove(&job);
        match self.spool.drop_journal(job) {
            Ok(()) => warn!(%job, "its journal is given up: after a crash it begins anew"),
            Err(error) => error!(%job, code = error.code(), "its journal claims too much: {error}"),
        }
        if let Some(ticket) = book.and_then(|book| book.awaited) {
            self.outbox.tell(Happening::JournalWritten(ticket));
        }
    }
}

#[cfg(test)]
mod tests {
    use bergamot_jobs::{Fingerprint, Record};
    use bergamot_store::BootId;
    use bergamot_types::UnixTime;

    use super::*;

    #[test]
    fn what_could_not_be_written_is_reported_when_it_is() {
        let home = tempfile::tempdir().unwrap();
        let spool = Arc::new(Spool::open(home.path()).unwrap().0);
        let job = JobId(1);
        let record = Record::new(job, "a", UnixTime(0), "a.nzb", Fingerprint::default());
        let (mut journal, _) = spool.journal(&record, BootId::read()).unwrap();
        let before = names(home.path());
        journal.append(&[Entry::Reopened { file: 0, segment: 0 }]).unwrap();
        let path = names(home.path()).into_iter().find(|name| !before.contains(name)).unwrap();
        let (outbox, mut inbox) = Outbox::new();
        let scribe = Scribe::start(spool, outbox).unwrap();
        scribe.adopt(job, journal);
        // Nothing can be appended to a directory.
        std::fs::remove_file(&path).unwrap();
        std::fs::create_dir(&path).unwrap();
        scribe.append(job, vec![Entry::Reopened { file: 0, segment: 1 }]);
        scribe.report(job, Ticket(1));
        assert!(matches!(inbox.blocking_recv(), Some(Happening::Journals(Err(_)))));
        std::fs::remove_dir(&path).unwrap();
        scribe.retry();
        assert!(matches!(inbox.blocking_recv(), Some(Happening::Journals(Ok(())))));
        assert!(matches!(inbox.blocking_recv(), Some(Happening::JournalWritten(Ticket(1)))));
        scribe.report(job, Ticket(2));
        assert!(matches!(inbox.blocking_recv(), Some(Happening::JournalWritten(Ticket(2)))));
    }

    fn names(path: &std::path::Path) -> Vec<std::path::PathBuf> {
        std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect()
    }
}
