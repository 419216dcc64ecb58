//! [`JournalThread`]: writes the journals of the jobs that are being downloaded, in a thread of its own.
//!
//! What was written to the files of a job goes to its journal within a second, which is enough to
//! survive a crash of the process. Every few seconds the files are fsynced, and then a mark in the journal says
//! that all entries before it survive a crash of the machine.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use bergamot_jobs::machine::StoreFailure;
use bergamot_post::Ticket;
use bergamot_store::{Entry, Journal, JournalMark, Spool, StoreError};
use bergamot_types::JobId;
use tracing::{error, warn};

use crate::event::{Event, EventSender};
use crate::service_thread::service_thread;

/// Commands are done in the order they are given.
#[derive(Debug)]
pub(crate) struct JournalThread(mpsc::Sender<Command>);

enum Command {
    Open {
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
    /// Report when everything appended for the job so far has been written.
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

impl JournalThread {
    pub(crate) fn start(spool: Arc<Spool>, events: EventSender) -> io::Result<Self> {
        let (sender, commands) = mpsc::channel();
        let on_panic = events.clone();
        let worker = Worker { journals: HashMap::new(), spool, events, is_in_trouble: false };
        service_thread("journals", &on_panic, move || worker.run(&commands))?;
        Ok(Self(sender))
    }

    /// From here on it writes to this journal.
    pub(crate) fn open(&self, job: JobId, journal: Journal) {
        self.send(Command::Open { job, journal: Box::new(journal) });
    }

    pub(crate) fn append(&self, job: JobId, entries: Vec<Entry>) {
        if !entries.is_empty() {
            self.send(Command::Append { job, entries, retraction: None });
        }
    }

    /// The same for what takes a claim back: it has to be on disk before the bytes it speaks of change.
    /// Answered by [`Event::Retracted`] when it is, or when the journal was given up.
    pub(crate) fn retract(&self, job: JobId, number: u64, entries: Vec<Entry>) {
        self.send(Command::Append { job, entries, retraction: Some(number) });
    }

    /// Answered by [`Event::JournalWritten`] once everything appended for the job so far is written, or
    /// its journal was given up.
    pub(crate) fn report(&self, job: JobId, ticket: Ticket) {
        self.send(Command::Report { job, ticket });
    }

    /// After [`Event::Journals`] said that something could not be written; it is answered by another.
    pub(crate) fn retry(&self) {
        self.send(Command::Retry);
    }

    pub(crate) fn mark(&self, job: JobId, number: u64) {
        self.send(Command::Mark { job, number });
    }

    /// All files of the job were synced after that mark was set.
    pub(crate) fn vouch(&self, job: JobId, number: u64) {
        self.send(Command::Vouch { job, number });
    }

    pub(crate) fn close(&self, job: JobId) {
        self.send(Command::Close { job });
    }

    pub(crate) fn stop(&self, patience: Duration) {
        let (sender, done) = mpsc::channel();
        self.send(Command::Stop(sender));
        let _ = done.recv_timeout(patience);
    }

    fn send(&self, command: Command) {
        // The journal thread ends only with the daemon.
        let _ = self.0.send(command);
    }
}

struct Worker {
    journals: HashMap<JobId, OpenJournal>,
    spool: Arc<Spool>,
    events: EventSender,
    /// Downloads are stopped because a journal could not be written.
    is_in_trouble: bool,
}

struct OpenJournal {
    journal: Journal,
    marks: HashMap<u64, JournalMark>,
    /// What could not be written yet. Bounded by what was under way when downloads stopped.
    unwritten: Vec<Entry>,
    /// A report waits for that.
    awaited: Option<Ticket>,
}

impl OpenJournal {
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
    fn run(mut self, commands: &mpsc::Receiver<Command>) {
        while let Ok(command) = commands.recv() {
            match command {
                Command::Open { job, journal } => {
                    self.journals.insert(job, OpenJournal::new(*journal));
                }
                Command::Append { job, entries, retraction } => {
                    let is_written = self.write(job, |open| open.append(entries));
                    if !is_written && retraction.is_some() {
                        self.give_up_journal(job);
                    }
                    self.answer_reports();
                    if let Some(number) = retraction {
                        self.events.send(Event::Retracted { job, number });
                    }
                }
                Command::Close { job } => drop(self.journals.remove(&job)),
                Command::Mark { job, number } => {
                    if let Some(open) = self.journals.get_mut(&job) {
                        open.marks.insert(number, open.journal.mark());
                    }
                }
                Command::Report { job, ticket } => self.report(job, ticket),
                Command::Retry => self.retry(),
                Command::Stop(done) => {
                    let _ = done.send(());
                    return;
                }
                Command::Vouch { job, number } => {
                    self.write(job, |open| match open.marks.remove(&number) {
                        Some(mark) => open.journal.vouch(mark),
                        None => Ok(()),
                    });
                }
            }
        }
    }

    /// Downloads stop while a journal cannot be written: after a crash the articles would be downloaded again.
    fn write(
        &mut self,
        job: JobId,
        write: impl FnOnce(&mut OpenJournal) -> Result<(), StoreError>,
    ) -> bool {
        let Some(open) = self.journals.get_mut(&job) else { return true };
        let written = write(open);
        if let Err(error) = &written {
            warn!(%job, code = error.code(), "the journal could not be written: {error}");
        }
        // What was written into the room set aside for it has to be the last.
        let has_room = || self.spool.keep_room();
        if let Err(error) = written.as_ref().map_or_else(|_| Ok(()), |()| has_room()) {
            self.report_error(&error);
        }
        if let Err(error) = &written {
            self.report_error(error);
        }
        written.is_ok()
    }

    fn report_error(&mut self, error: &StoreError) {
        if !std::mem::replace(&mut self.is_in_trouble, true) {
            self.report_writable(Err(error.into()));
        }
    }

    fn report_writable(&self, result: Result<(), StoreFailure>) {
        self.spool.set_unwritable(result.as_ref().err().map(ToString::to_string));
        self.events.send(Event::Journals(result));
    }

    /// Writes what could not be written. Downloads go on when all of it is on the disk.
    fn retry(&mut self) {
        let written =
            self.journals.values_mut().try_for_each(|open| match open.unwritten.is_empty() {
                true => Ok(()),
                false => open.append(Vec::new()),
            });
        let result = written.and_then(|()| self.spool.keep_room());
        self.is_in_trouble = result.is_err();
        self.report_writable(result.map_err(|error| (&error).into()));
        self.answer_reports();
    }

    /// Without a journal there is nothing to wait for.
    fn report(&mut self, job: JobId, ticket: Ticket) {
        match self.journals.get_mut(&job) {
            Some(open) if !open.unwritten.is_empty() => open.awaited = Some(ticket),
            _ => self.events.send(Event::JournalWritten(ticket)),
        }
    }

    fn answer_reports(&mut self) {
        for open in self.journals.values_mut().filter(|open| open.unwritten.is_empty()) {
            if let Some(ticket) = open.awaited.take() {
                self.events.send(Event::JournalWritten(ticket));
            }
        }
    }

    /// A journal that claims what no longer holds is worse than none.
    fn give_up_journal(&mut self, job: JobId) {
        let open = self.journals.remove(&job);
        match self.spool.drop_journal(job) {
            Ok(()) => warn!(%job, "its journal is given up: after a crash it begins anew"),
            Err(error) => error!(%job, code = error.code(), "its journal claims too much: {error}"),
        }
        if let Some(ticket) = open.and_then(|open| open.awaited) {
            self.events.send(Event::JournalWritten(ticket));
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
        let (events, mut received) = EventSender::new();
        let thread = JournalThread::start(spool, events).unwrap();
        thread.open(job, journal);
        // Nothing can be appended to a directory.
        std::fs::remove_file(&path).unwrap();
        std::fs::create_dir(&path).unwrap();
        thread.append(job, vec![Entry::Reopened { file: 0, segment: 1 }]);
        thread.report(job, Ticket(1));
        assert!(matches!(received.blocking_recv(), Some(Event::Journals(Err(_)))));
        std::fs::remove_dir(&path).unwrap();
        thread.retry();
        assert!(matches!(received.blocking_recv(), Some(Event::Journals(Ok(())))));
        assert!(matches!(received.blocking_recv(), Some(Event::JournalWritten(Ticket(1)))));
        thread.report(job, Ticket(2));
        assert!(matches!(received.blocking_recv(), Some(Event::JournalWritten(Ticket(2)))));
    }

    fn names(path: &std::path::Path) -> Vec<std::path::PathBuf> {
        std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect()
    }
}
