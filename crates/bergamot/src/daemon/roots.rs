//! The directories that jobs are written to, opened where a share that hangs holds nobody else.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Once, PoisonError};

use bergamot_store::Record;
use bergamot_types::JobId;
use bergamot_writer::{DiskError, Root};

use super::grounds::Grounds;
use super::happening::{Happening, Outbox};
use super::hindrance::Hindrance;
use super::loader::clear_up;
use super::looks::{Look, Looks};
use super::places::{PATIENCE, silence};
use super::settings::JobSettings;

/// May be held by as many as need one.
#[derive(Clone, Debug)]
pub(super) struct Roots {
    grounds: Grounds,
    looks: Looks<Result<Root, Hindrance>>,
    swept: Swept,
}

/// What a job is downloaded in, and where it goes.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(super) incomplete: Root,
    pub(super) destination: Root,
}

impl Roots {
    pub(super) fn new(grounds: Grounds) -> Self {
        Self { grounds, looks: Looks::default(), swept: Swept::default() }
    }

    /// For a job of that category; what is missing is made.
    pub(super) async fn open(
        &self,
        settings: &JobSettings,
        category: Option<&str>,
    ) -> Result<Opened, Hindrance> {
        let incomplete = self.root(&settings.incomplete, &settings.incomplete);
        let (incomplete, destination) =
            tokio::join!(incomplete, self.destination(settings, category));
        Ok(Opened { incomplete: incomplete?, destination: destination? })
    }

    /// Where finished jobs of that category go.
    pub(super) async fn destination(
        &self,
        settings: &JobSettings,
        category: Option<&str>,
    ) -> Result<Root, Hindrance> {
        self.root(&settings.destination(category), settings.ground(category)).await
    }

    /// Clears away half copies of earlier runs, each where it can be reached.
    pub(super) fn sweep(&self, settings: &JobSettings) {
        for path in settings.destinations().map(Path::to_owned) {
            let swept = self.swept.clone();
            // What is not there has nothing to be cleared away.
            in_a_thread("sweeper", move || drop(Root::open(&path).map(|root| swept.once(&root))));
        }
    }

    async fn root(&self, path: &Path, ground: &Path) -> Result<Root, Hindrance> {
        let (grounds, swept) = (self.grounds.clone(), self.swept.clone());
        let (path, ground) = (path.to_owned(), ground.to_owned());
        let directory = path.clone();
        let open = move || {
            let root = grounds.root(&directory, &ground)?;
            swept.once(&root);
            Ok(root)
        };
        match self.looks.look(&path, PATIENCE, open).await {
            Look::Seen(opened) => opened,
            Look::Silent(_) => Err(Hindrance::Disk(silence(&path))),
        }
    }
}

/// Which directories are free of half copies. Once something is moved there it is too late to look.
#[derive(Clone, Debug, Default)]
struct Swept(Arc<Mutex<HashMap<PathBuf, Arc<Once>>>>);

impl Swept {
    /// Whoever comes second waits for the first.
    fn once(&self, root: &Root) {
        let once = {
            let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            known.entry(root.path().to_owned()).or_insert_with(|| Arc::new(Once::new())).clone()
        };
        once.call_once(|| match root.sweep() {
            Ok(()) | Err(DiskError::Vanished { .. } | DiskError::DestinationMissing { .. }) => {}
            Err(error) => tracing::warn!(code = error.code(), "{error}"),
        });
    }
}

/// Takes the writer's marks off jobs that completed when the last daemon had no time for it any more;
/// each destination by itself, for it may hang.
pub(super) fn settle(records: Vec<Record>, incomplete: &Path, outbox: &Outbox) {
    let mut by_destination = BTreeMap::<PathBuf, Vec<Record>>::new();
    for record in records {
        let destination = record.destination().and_then(|path| Path::new(path).parent());
        let destination = destination.unwrap_or(Path::new("")).to_owned();
        by_destination.entry(destination).or_default().push(record);
    }
    for (destination, records) in by_destination {
        let (incomplete, outbox) = (incomplete.to_owned(), outbox.clone());
        in_a_thread("settler", move || {
            let settled = settled_in(&destination, &incomplete, &records);
            outbox.tell(Happening::Settled(settled));
        });
    }
}

/// Of its own, which ends with it: others would wait for more to do, and wake for that. If there is
/// none to be had, what it was to do is done at the next start.
fn in_a_thread(name: &str, work: impl FnOnce() + Send + 'static) {
    if let Err(error) = std::thread::Builder::new().name(name.to_owned()).spawn(work) {
        tracing::warn!("no thread for the {name}: {error}");
    }
}

fn settled_in(destination: &Path, incomplete: &Path, records: &[Record]) -> Vec<JobId> {
    let roots = Root::open(destination).and_then(|there| Ok((there, Root::open(incomplete)?)));
    let is_settled = |record: &&Record| match &roots {
        Ok((destination, incomplete)) => clear_up(record, incomplete, destination),
        Err(_) => true, // with the directory, the mark is gone
    };
    records.iter().filter(is_settled).map(|record| record.id).collect()
}
