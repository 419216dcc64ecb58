//! [`RecordThread`]: loads jobs from the spool and writes their records, in a thread of its own.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use bergamot_jobs::Record;
use bergamot_store::{Spool, StoreError};
use bergamot_types::{JobId, SafeName};
use bergamot_writer::{DiskError, Root};

use crate::disk::directories::Opened;
use crate::download::error_class::store_failure;
use crate::event::{Event, EventSender};
use crate::service_thread::service_thread;
use crate::settings::JobSettings;
use crate::shared::Current;
use crate::spool::load::{Loader, Prepared};
use crate::spool::load_error::LoadError;

enum Command {
    ForgetCrashes(JobId),
    /// Deletes the files of a job that is gone, and, if so, its record.
    Clear {
        record: Box<Record>,
        and_record: bool,
    },
    ClearAll(Vec<Record>),
    /// What the journal of a job says does not hold any more.
    DropJournal(JobId),
    /// The journal of a job that ended is not needed any more.
    ForgetJournal(JobId),
    /// The main loop knows which directory the job was given.
    DirectoryKnown(JobId),
    Load(Load),
    /// The files of a job that had to be read were.
    Read(Box<Prepared>),
    Stop(mpsc::Sender<()>),
    Update(Box<Record>),
}

struct Load {
    number: u64, // of the attempt
    record: Box<Record>,
    opened: Result<Opened, LoadError>,
}

/// Sends commands to the record thread; their results are sent to the main loop as events.
#[derive(Debug)]
pub(crate) struct RecordThread(mpsc::Sender<Command>);

impl RecordThread {
    /// `directories` are the names of those that jobs have.
    pub(crate) fn start(
        spool: Arc<Spool>,
        directories: HashSet<Box<str>>,
        settings: Current<JobSettings>,
        events: EventSender,
    ) -> std::io::Result<Self> {
        let (sender, commands) = mpsc::channel();
        let itself = sender.clone();
        let loader = Loader::new(spool.clone(), directories);
        let on_death = events.clone();
        let (given, reading) = (Given::default(), Reading::default());
        let worker = Worker { spool, loader, settings, events, given, reading, itself };
        service_thread("records", &on_death, move || worker.run(&commands))?;
        Ok(Self(sender))
    }

    /// From and to directories that were opened in a thread that may wait for them.
    pub(crate) fn load(&self, number: u64, record: Record, opened: Result<Opened, LoadError>) {
        self.send(Command::Load(Load { number, record: Box::new(record), opened }));
    }

    pub(crate) fn update(&self, record: Record) {
        self.send(Command::Update(Box::new(record)));
    }

    /// Removes a job that is not needed any more; its record goes last.
    pub(crate) fn remove(&self, record: Record) {
        self.send(Command::Clear { record: Box::new(record), and_record: true });
    }

    /// The same for many, without an event for each.
    pub(crate) fn remove_all(&self, records: Vec<Record>) {
        self.send(Command::ClearAll(records));
    }

    /// The job is loaded, and its record in memory names its directory from here on.
    pub(crate) fn directory_known(&self, job: JobId) {
        self.send(Command::DirectoryKnown(job));
    }

    /// It is to be tried again: that it crashed earlier daemons does not count any more.
    pub(crate) fn forget_crashes(&self, job: JobId) {
        self.send(Command::ForgetCrashes(job));
    }

    /// A job is to be downloaded again from the beginning: the entries of its journal are void.
    pub(crate) fn drop_journal(&self, job: JobId) {
        self.send(Command::DropJournal(job));
    }

    pub(crate) fn forget_journal(&self, job: JobId) {
        self.send(Command::ForgetJournal(job));
    }

    /// Deletes what was downloaded of a job that is history.
    pub(crate) fn delete_files(&self, record: Record) {
        self.send(Command::Clear { record: Box::new(record), and_record: false });
    }

    /// Waits until every record is on disk, but not for ever.
    pub(crate) fn stop(&self, patience: Duration) {
        let (sender, done) = mpsc::channel();
        self.send(Command::Stop(sender));
        // A disk that hangs has had its time; the records it holds are whole, if older.
        let _ = done.recv_timeout(patience);
    }

    fn send(&self, command: Command) {
        // The record thread ends only with the daemon.
        let _ = self.0.send(command);
    }
}

struct Worker {
    spool: Arc<Spool>,
    loader: Loader,
    settings: Current<JobSettings>,
    events: EventSender,
    given: Given,
    reading: Reading,
    /// For what is done beside it.
    itself: mpsc::Sender<Command>,
}

/// Directories that jobs were given and of which the main loop does not know yet. Records that it sends
/// meanwhile do not name them; without this, a kill would leave a directory that no record names.
#[derive(Debug, Default)]
struct Given(HashMap<JobId, Box<str>>);

impl Given {
    fn complete(&self, mut record: Box<Record>) -> Box<Record> {
        if record.directory.is_none() {
            record.directory = self.0.get(&record.id).cloned();
        }
        record
    }
}

/// Loads of jobs whose files are being read back. The result of one is discarded once the job has ended, lost its
/// journal or files, or is loaded anew: its journal and record have changed by then.
#[derive(Debug, Default)]
struct Reading(HashMap<JobId, u64>);

impl Reading {
    fn begin(&mut self, job: JobId, number: u64) {
        self.0.insert(job, number);
    }

    fn cancel(&mut self, job: JobId) {
        self.0.remove(&job);
    }

    /// Whether it counts.
    fn end(&mut self, job: JobId, number: u64) -> bool {
        let counts = self.0.get(&job) == Some(&number);
        if counts {
            self.0.remove(&job);
        }
        counts
    }
}

/// Commands after which records have to be on the disk, which waits as long for one as for many.
#[derive(Default)]
struct Round {
    loads: Vec<Load>,
    updates: Vec<Record>,
    forgotten: Vec<JobId>, // their journals are deleted; jobs end while others are loaded
}

impl Round {
    /// Gives back what is not of this round, and comes after it. So does what is of a job that is being
    /// loaded, for its record changes by that.
    fn take(&mut self, command: Command, given: &mut Given) -> Option<Command> {
        match command {
            Command::Load(load) if self.loads.len() < MOST_LOADS && !self.has(load.record.id) => {
                self.loads.push(load);
            }
            Command::Update(record)
                if self.updates.len() < MOST_UPDATES && !self.loads(record.id) =>
            {
                self.updates.push(*given.complete(record));
            }
            Command::DirectoryKnown(job) if !self.loads(job) => drop(given.0.remove(&job)),
            Command::ForgetJournal(job)
                if self.forgotten.len() < MOST_UPDATES && !self.loads(job) =>
            {
                self.forgotten.push(job);
            }
            other => return Some(other),
        }
        None
    }

    fn loads(&self, job: JobId) -> bool {
        self.loads.iter().any(|load| load.record.id == job)
    }

    fn has(&self, job: JobId) -> bool {
        self.loads(job)
            || self.forgotten.contains(&job)
            || self.updates.iter().any(|record| record.id == job)
    }
}

impl Worker {
    fn run(mut self, commands: &mpsc::Receiver<Command>) {
        let mut next = None;
        while let Some(command) = next.take().or_else(|| commands.recv().ok()) {
            match command {
                Command::ForgetCrashes(job) => {
                    // If that cannot be written, the job is parked again.
                    let _ = self.spool.ended(job);
                }
                Command::Clear { record, and_record } => self.clear(record, and_record),
                Command::ClearAll(records) => self.clear_all(records),
                Command::DropJournal(job) => {
                    self.reading.cancel(job);
                    self.note_journal(job, self.spool.drop_journal(job));
                }
                Command::ForgetJournal(_)
                | Command::DirectoryKnown(_)
                | Command::Load(_)
                | Command::Update(_) => {
                    next = self.round(command, commands);
                }
                Command::Read(prepared) => self.go_on_with(*prepared),
                Command::Stop(done) => {
                    let _ = done.send(());
                    return;
                }
            }
        }
    }

    /// Does with it all others of the same kind that wait. Returns the command that came behind them.
    fn round(&mut self, first: Command, commands: &mpsc::Receiver<Command>) -> Option<Command> {
        let (mut round, mut next) = (Round::default(), Some(first));
        while let Some(command) = next {
            next = round.take(command, &mut self.given);
            if next.is_some() {
                break;
            }
            next = commands.try_recv().ok();
        }
        self.carry_out(round);
        next
    }

    /// What others have come to goes first: a job that is loaded may get the directory of one that
    /// has left it, and clients wait for records.
    fn carry_out(&mut self, Round { loads, updates, forgotten }: Round) {
        self.update(updates);
        self.load(loads);
        for job in forgotten {
            self.reading.cancel(job);
            self.note_journal(job, self.spool.forget_journal(job));
        }
    }

    fn update(&mut self, records: Vec<Record>) {
        let failures = self.write(&records.iter().collect::<Vec<_>>());
        for record in records {
            let (job, is_over) = (record.id, record.outcome.is_some());
            if is_over {
                self.reading.cancel(job);
            }
            let failure = failures.get(&job);
            let result = failure.map_or(Ok(()), |error| Err(error.into()));
            self.events.send(Event::Recorded { job, is_over, result });
        }
    }

    fn load(&mut self, loads: Vec<Load>) {
        loads.iter().for_each(|load| self.reading.cancel(load.record.id));
        let mut prepared = self.prepare(loads);
        sync_new_directories(&mut prepared);
        let records: Vec<_> = prepared.iter().filter_map(Prepared::unwritten).collect();
        let mut failures = self.write(&records);
        for mut job in prepared {
            if let Some(error) = failures.remove(&job.record.id) {
                job.fail(error.into());
            }
            if let Some(directory) = job.new_directory() {
                self.given.0.insert(job.record.id, directory.as_str().into());
            }
            if job.has_suspects() {
                self.reading.begin(job.record.id, job.number);
                self.read_beside(job);
                continue;
            }
            self.report_loaded(job);
        }
    }

    /// Files may be large, and others wait for their records: so it is done in a thread of its own, which
    /// ends with it.
    fn read_beside(&mut self, mut prepared: Prepared) {
        let itself = self.itself.clone();
        let (sender, received) = mpsc::channel::<Box<Prepared>>();
        let read = move || {
            while let Ok(mut prepared) = received.recv() {
                prepared.read_suspects();
                // The record thread ends only with the daemon.
                let _ = itself.send(Command::Read(prepared));
            }
        };
        match service_thread("read-back", &self.events, read) {
            Ok(()) => drop(sender.send(Box::new(prepared))),
            Err(error) => {
                let job = prepared.record.id;
                tracing::warn!(%job, "no thread to read its files in: {error}");
                prepared.read_suspects();
                self.go_on_with(prepared);
            }
        }
    }

    /// Unless something happened to the job meanwhile.
    fn go_on_with(&mut self, prepared: Prepared) {
        let job = prepared.record.id;
        if self.reading.end(job, prepared.number) && self.spool.is_present(job) {
            self.report_loaded(prepared);
        }
    }

    fn report_loaded(&self, prepared: Prepared) {
        let (job, number) = (prepared.record.id, prepared.number);
        let loaded = self.loader.finish(prepared);
        self.events.send(Event::Loaded { job, number, loaded });
    }

    fn write(&self, records: &[&Record]) -> BTreeMap<JobId, StoreError> {
        match records.is_empty() {
            true => BTreeMap::new(),
            false => self.spool.update_all(records),
        }
    }

    /// If reading one of them in kills the daemon, it is known at the next start which it was.
    fn prepare(&self, loads: Vec<Load>) -> Vec<Prepared> {
        let (mut prepared, mut before) = (Vec::with_capacity(loads.len()), None);
        for Load { number, record, opened } in loads {
            let job = record.id;
            let _ = self.spool.begin(job, before.replace(job));
            prepared.push(self.loader.prepare(number, record, opened));
        }
        if let Some(last) = before {
            let _ = self.spool.ended(last);
        }
        prepared
    }

    fn clear(&mut self, record: Box<Record>, and_record: bool) {
        self.reading.cancel(record.id);
        let record = self.given.complete(record);
        let deleted = self.delete(&record);
        self.given.0.remove(&record.id);
        if let Err(error) = &deleted {
            tracing::warn!(job = %record.id, code = error.code(), "its files stay: {error}");
        }
        let result = match and_record {
            true => {
                let removed = self.spool.remove(&[record.id]);
                removed.map_err(|error| (&error).into())
            }
            false => deleted.map_err(|error| store_failure(&error)),
        };
        self.events.send(Event::Cleared { job: record.id, and_record, result });
    }

    fn clear_all(&mut self, records: Vec<Record>) {
        let jobs: Vec<_> = records.iter().map(|record| record.id).collect();
        for record in records {
            self.reading.cancel(record.id);
            let record = self.given.complete(Box::new(record));
            if let Err(error) = self.delete(&record) {
                tracing::warn!(job = %record.id, code = error.code(), "its files stay: {error}");
            }
            self.given.0.remove(&record.id);
        }
        if let Err(error) = self.spool.remove(&jobs) {
            tracing::warn!(code = error.code(), "{} jobs stay on record: {error}", jobs.len());
        }
    }

    fn note_journal(&self, job: JobId, result: Result<(), StoreError>) {
        if let Err(error) = result {
            tracing::warn!(%job, code = error.code(), "its journal stays: {error}");
        }
    }

    /// Only files in the job's own directory.
    fn delete(&self, record: &Record) -> Result<(), DiskError> {
        let Some(name) = record.directory.as_deref().and_then(SafeName::recorded) else {
            return Ok(());
        };
        let opened = Root::open(&self.settings.get().directories.incomplete)
            .and_then(|root| root.reopen(&name));
        match opened {
            Ok(directory) => directory.discard(),
            Err(DiskError::Vanished { .. } | DiskError::DestinationMissing { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// Each place once. Where that fails, no job begins that has a new directory there.
fn sync_new_directories(prepared: &mut [Prepared]) {
    let mut synced = BTreeMap::<PathBuf, Option<LoadError>>::new();
    for job in prepared {
        let Some(root) = job.new_ground() else { continue };
        let failure = synced
            .entry(root.path().to_owned())
            .or_insert_with(|| root.sync().err().map(LoadError::from));
        if let Some(error) = failure {
            let error = error.clone();
            job.fail(error);
        }
    }
}

/// Records that are written with one sync of the directory.
const MOST_UPDATES: usize = 256;

/// Jobs that are loaded together: the first of them begins with the last.
const MOST_LOADS: usize = 16;

#[cfg(test)]
mod tests {
    use bergamot_jobs::Fingerprint;
    use bergamot_types::UnixTime;

    use super::*;

    fn record(job: u32) -> Box<Record> {
        let print = Fingerprint::default();
        Box::new(Record::new(JobId(job), "a", UnixTime(0), "a.nzb", print))
    }

    fn load(job: u32) -> Command {
        let opened = Err(LoadError::Passing("it was not opened".to_owned()));
        Command::Load(Load { number: 0, record: record(job), opened })
    }

    fn update(job: u32) -> Command {
        Command::Update(record(job))
    }

    #[test]
    fn a_round_takes_what_does_not_depend_on_each_other() {
        let (mut round, mut given) = (Round::default(), Given::default());
        let mut take = |command| round.take(command, &mut given);
        let forget = |job| Command::ForgetJournal(JobId(job));
        for command in [load(1), update(2), forget(4), load(3), update(2)] {
            assert!(take(command).is_none());
        }
        assert!(take(update(1)).is_some(), "its record is being made");
        assert!(take(load(1)).is_some());
        assert!(take(forget(3)).is_some(), "it is being read");
        assert!(take(load(2)).is_some(), "it begins with what is being written");
        assert!(take(load(4)).is_some(), "it may have begun another journal");
        assert!(take(Command::DropJournal(JobId(9))).is_some(), "all before it come first");
    }

    #[test]
    fn only_the_last_attempt_of_a_job_that_has_not_ended_counts() {
        let (mut reading, job) = (Reading::default(), JobId(1));
        reading.begin(job, 1);
        reading.cancel(job);
        reading.begin(job, 2);
        assert!(!reading.end(job, 1), "it is loaded anew");
        assert!(reading.end(job, 2));
        reading.begin(job, 3);
        reading.cancel(job);
        assert!(!reading.end(job, 3), "it has ended");
    }

    #[test]
    fn a_round_has_an_end() {
        let (mut round, mut given) = (Round::default(), Given::default());
        let loads = (0..100).take_while(|job| round.take(load(*job), &mut given).is_none());
        assert_eq!(loads.count(), MOST_LOADS);
        let updates = (1000..2000).take_while(|job| round.take(update(*job), &mut given).is_none());
        assert_eq!(updates.count(), MOST_UPDATES);
    }

    #[test]
    fn a_record_that_was_sent_before_its_directory_was_known_names_it_all_the_same() {
        let (mut round, mut given) = (Round::default(), Given::default());
        given.0.insert(JobId(1), "a (2)".into());
        for command in [update(1), Command::DirectoryKnown(JobId(1)), update(1)] {
            assert!(round.take(command, &mut given).is_none());
        }
        let named = round.updates.iter().map(|record| record.directory.as_deref());
        assert_eq!(named.collect::<Vec<_>>(), [Some("a (2)"), None]);
    }
}
