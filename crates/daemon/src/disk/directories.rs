//! [`Directories`]: opens the directories that jobs are written to, each in a thread of its own at most once at a
//! time, so that a share that hangs blocks nothing else. Shared by the main loop and the tasks of requests.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Once, PoisonError};

use bergamot_jobs::Record;
use bergamot_types::{JobId, SafeName};
use bergamot_writer::{DiskError, Root};

use crate::disk::disk_info::{PATIENCE, silence};
use crate::disk::hang_guard::{Answer, HangGuard};
use crate::disk::mount_guard::MountGuard;
use crate::event::{Event, EventSender};
use crate::service_thread::service_thread;
use crate::settings::JobSettings;
use crate::spool::load::clear_up;
use crate::spool::load_error::LoadError;
use bergamot_jobs::JobList;

/// May be held by as many as need one.
#[derive(Clone, Debug)]
pub(crate) struct Directories {
    mounts: MountGuard,
    guard: HangGuard<Result<Root, LoadError>>,
    swept: Swept,
    known: Arc<KnownJobs>,
    events: EventSender,
}

/// The jobs and directories in the records when the daemon started: any other directory was left by a daemon that
/// was killed.
#[derive(Debug, Default)]
pub(crate) struct KnownJobs {
    /// That have not ended.
    pub(crate) queued: HashSet<JobId>,
    /// The highest number that was given to a job; jobs of this run have higher ones.
    pub(crate) last: Option<JobId>,
    /// Names of directories that jobs have, be they ended or not.
    pub(crate) directories: HashSet<Box<str>>,
    /// The names that directories would be given of jobs that have none.
    pub(crate) wanted: HashSet<Box<str>>,
}

impl KnownJobs {
    pub(crate) fn of(jobs: &JobList, last: JobId) -> Self {
        let lacks_directory = |record: &&Record| record.directory.is_none();
        let wanted = jobs.queued().filter(lacks_directory);
        let wanted = wanted.map(|record| SafeName::from_raw(&record.name).as_str().into());
        Self {
            queued: jobs.queued().map(|record| record.id).collect(),
            last: Some(last),
            directories: jobs.directories(),
            wanted: wanted.collect(),
        }
    }

    /// Made for a job that has no directory by its record.
    fn is_leftover(&self, name: &str) -> bool {
        let stem = name.strip_suffix(')').and_then(|rest| rest.rsplit_once(" ("));
        let stem = stem.filter(|(_, number)| number.parse::<u32>().is_ok()).map(|(stem, _)| stem);
        let is_wanted = |name: &str| self.wanted.contains(name);
        !self.directories.contains(name) && (is_wanted(name) || stem.is_some_and(is_wanted))
    }
}

/// What jobs use a directory for.
#[derive(Clone, Debug)]
enum Use {
    Incomplete,
    /// Of jobs that are downloaded in that directory.
    Destination(PathBuf),
}

/// What a job is downloaded in, and where it goes.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) incomplete: Root,
    pub(crate) destination: Root,
}

impl Directories {
    pub(crate) fn new(mounts: MountGuard, known: KnownJobs, events: EventSender) -> Self {
        let (guard, swept, known) = (HangGuard::default(), Swept::default(), Arc::new(known));
        Self { mounts, guard, swept, known, events }
    }

    /// For a job of that category; what is missing is made.
    pub(crate) async fn open(
        &self,
        settings: &JobSettings,
        category: Option<&str>,
    ) -> Result<Opened, LoadError> {
        let incomplete = self.root(
            &settings.directories.incomplete,
            &settings.directories.incomplete,
            Use::Incomplete,
        );
        let (incomplete, destination) =
            tokio::join!(incomplete, self.destination(settings, category));
        Ok(Opened { incomplete: incomplete?, destination: destination? })
    }

    /// Where finished jobs of that category go.
    pub(crate) async fn destination(
        &self,
        settings: &JobSettings,
        category: Option<&str>,
    ) -> Result<Root, LoadError> {
        let used_for = Use::Destination(settings.directories.incomplete.clone());
        self.root(
            &settings.directories.destination(category),
            settings.directories.configured(category),
            used_for,
        )
        .await
    }

    /// Clears away what earlier runs have left when they were killed, each where it can be reached.
    pub(crate) fn sweep(&self, settings: &JobSettings) {
        let destination = |path: &Path| {
            (path.to_owned(), Use::Destination(settings.directories.incomplete.clone()))
        };
        let incomplete = (settings.directories.incomplete.clone(), Use::Incomplete);
        for (path, used_for) in
            settings.directories.destinations().map(destination).chain([incomplete])
        {
            let directories = self.clone();
            // What is not there has nothing to be cleared away.
            in_a_thread("sweeper", &self.events, move || {
                drop(Root::open(&path).map(|root| directories.sweep_once(&root, &used_for)));
            });
        }
    }

    async fn root(&self, path: &Path, configured: &Path, used_for: Use) -> Result<Root, LoadError> {
        let directories = self.clone();
        let (path, configured) = (path.to_owned(), configured.to_owned());
        let directory = path.clone();
        let open = move || {
            let root = directories.mounts.root(&directory, &configured)?;
            directories.sweep_once(&root, &used_for);
            Ok(root)
        };
        match self.guard.run(&path, PATIENCE, open).await {
            Answer::Received(opened) => opened,
            Answer::Silent(_) => Err(LoadError::Disk(silence(&path))),
        }
    }

    fn sweep_once(&self, root: &Root, used_for: &Use) {
        self.swept.once(root, || {
            let swept = match used_for {
                Use::Incomplete => root.remove_empty(|name| self.known.is_leftover(name)),
                Use::Destination(incomplete) => {
                    self.sweep_marks_beside(root, incomplete);
                    root.sweep()
                }
            };
            warn_of_sweep(swept);
        });
    }

    /// Every directory of the destination is listed for that, and there may be thousands: no download
    /// waits for it.
    fn sweep_marks_beside(&self, destination: &Root, incomplete: &Path) {
        let directories = self.clone();
        let (destination, incomplete) = (destination.clone(), incomplete.to_owned());
        in_a_thread("mark-sweeper", &self.events, move || {
            warn_of_sweep(directories.sweep_marks(&destination, &incomplete));
        });
    }

    /// A mark of a job that has not ended says that the job was delivered. Any other of an earlier run is of
    /// no use; those of this run are settled when the end of the job is on record.
    fn sweep_marks(&self, destination: &Root, incomplete: &Path) -> Result<(), DiskError> {
        let incomplete = Root::open(incomplete)?;
        let mut delivered = Vec::new();
        let mut marked = destination.marked(&incomplete)?;
        marked.retain(|(_, job)| Some(*job) <= self.known.last);
        for (name, job) in marked {
            match self.known.queued.contains(&job) {
                true => delivered.push(job),
                false => destination.settle(&name, &incomplete, job)?,
            }
        }
        if !delivered.is_empty() {
            self.events.send(Event::FoundDelivered(delivered));
        }
        Ok(())
    }
}

fn warn_of_sweep(swept: Result<(), DiskError>) {
    match swept {
        Ok(()) | Err(DiskError::Vanished { .. } | DiskError::DestinationMissing { .. }) => {}
        Err(error) => tracing::warn!(code = error.code(), "{error}"),
    }
}

/// Which directories were swept. Once something is moved or made there it is too late to look.
#[derive(Clone, Debug, Default)]
struct Swept(Arc<Mutex<HashMap<PathBuf, Arc<Once>>>>);

impl Swept {
    /// Runs `sweep` once per directory; concurrent callers block until it has ended.
    fn once(&self, root: &Root, sweep: impl FnOnce()) {
        let once = {
            let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            known.entry(root.path().to_owned()).or_insert_with(|| Arc::new(Once::new())).clone()
        };
        once.call_once(sweep);
    }
}

/// Takes the writer's marks off jobs that completed when the last daemon had no time for it any more;
/// each destination by itself, for it may hang.
pub(crate) fn settle(records: Vec<Record>, incomplete: &Path, events: &EventSender) {
    let mut by_destination = BTreeMap::<PathBuf, Vec<Record>>::new();
    for record in records {
        let destination = record.destination().and_then(|path| Path::new(path).parent());
        let destination = destination.unwrap_or(Path::new("")).to_owned();
        by_destination.entry(destination).or_default().push(record);
    }
    for (destination, records) in by_destination {
        let (incomplete, done) = (incomplete.to_owned(), events.clone());
        in_a_thread("settler", events, move || {
            let settled = settled_in(&destination, &incomplete, &records);
            done.send(Event::Settled(settled));
        });
    }
}

/// Of its own, which ends with it: others would wait for more to do, and wake for that. If there is
/// none to be had, what it was to do is done at the next start.
fn in_a_thread(name: &'static str, events: &EventSender, work: impl FnOnce() + Send + 'static) {
    if let Err(error) = service_thread(name, events, work) {
        tracing::warn!("no thread for the {name}: {error}");
    }
}

fn settled_in(destination: &Path, incomplete: &Path, records: &[Record]) -> Vec<JobId> {
    let directories =
        Root::open(destination).and_then(|there| Ok((there, Root::open(incomplete)?)));
    let is_settled = |record: &&Record| match &directories {
        Ok((destination, incomplete)) => clear_up(record, incomplete, destination),
        Err(_) => true, // with the directory, the mark is gone
    };
    records.iter().filter(is_settled).map(|record| record.id).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use bergamot_writer::Modes;

    use super::*;

    #[test]
    fn marks_of_jobs_that_are_moved_meanwhile_stay() {
        let home = tempfile::tempdir().unwrap();
        let [from, to, state] = ["from", "to", "state"].map(|name| {
            let path = home.path().join(name);
            std::fs::create_dir(&path).unwrap();
            path
        });
        let [incomplete, destination] = [&from, &to].map(|path| Root::open(path).unwrap());
        let [ended, queued, new] = [3, 4, 6].map(JobId);
        for job in [ended, queued, new] {
            let name = SafeName::from_raw(&job.to_string());
            let directory = incomplete.job_dir(&name).unwrap();
            directory.move_to(&destination, &name, job, &AtomicBool::new(false)).unwrap();
        }
        let (events, mut received) = EventSender::new();
        let (mounts, _) = MountGuard::open(&state, Modes::default());
        let known =
            KnownJobs { queued: [queued].into(), last: Some(JobId(5)), ..KnownJobs::default() };
        Directories::new(mounts, known, events).sweep_marks(&destination, &from).unwrap();
        let is_marked = |job| destination.moved(&incomplete, job).unwrap().is_some();
        assert_eq!([ended, queued, new].map(is_marked), [false, true, true]);
        let told = received.try_recv().unwrap();
        assert!(matches!(told, Event::FoundDelivered(jobs) if jobs == [queued]));
    }
}
