//! [`AcknowledgedState`]: a model of the queue from the acknowledged changes, compared with the daemon's own
//! [`Listing`] after a kill.

use std::collections::{BTreeMap, BTreeSet};

use bergamot_rpc::{Client, ClientError};
use serde_json::{Value, json};

/// A job as far as a restart may not change it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Entry {
    pub name: String,
    pub priority: i64,
    pub paused: bool,
    /// A parameter that clients know their jobs by.
    pub drone: String,
    /// Its files, in their order, if they were listed.
    pub files: Vec<u64>,
}

/// The queue in its order, and how the jobs of history ended, by name.
#[derive(Debug)]
pub struct Listing {
    pub queue: Vec<Entry>,
    pub past: BTreeMap<String, Ended>,
    ids: BTreeMap<String, u64>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Ended {
    Completed,
    Deleted,
    Failed,
    /// Failed because the daemon crashed repeatedly while it was loaded.
    Parked,
}

/// A change requested of the daemon.
#[derive(Clone, Debug)]
pub struct Change {
    pub name: String,
    /// How the job is afterwards; none if it is out of the queue.
    pub after: Option<Entry>,
    /// It is the first of its priority then.
    pub leads: bool,
}

/// Use it for tests that kill the daemon while clients change the queue: [`ask`](Self::ask) before each request,
/// [`done`](Self::done) or [`refused`](Self::refused) after its answer, [`compare`](Self::compare) after each start.
///
/// A change that was requested and not answered may be done or not.
#[derive(Debug, Default)]
pub struct AcknowledgedState {
    queue: Vec<Entry>,
    past: BTreeSet<String>,
    parked: BTreeMap<String, Entry>,
    ids: BTreeMap<String, u64>,
    pending: Option<(Change, Answer)>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Answer {
    Done,
    NoneYet,
}

impl Listing {
    /// The queue first: a job that ends between the two questions is then in both answers, and never
    /// in neither.
    ///
    /// # Panics
    /// When an answer is not understood, or names a job twice.
    pub fn ask(client: &mut Client) -> Result<Self, ClientError> {
        Self::ask_with(client, |_, _| Ok(Vec::new()))
    }

    /// With the files of each job, for which their NZBs may have to be read.
    ///
    /// # Panics
    /// As [`Listing::ask`].
    pub fn ask_all(client: &mut Client) -> Result<Self, ClientError> {
        Self::ask_with(client, files)
    }

    fn ask_with(
        client: &mut Client,
        files: impl Fn(&mut Client, u64) -> Result<Vec<u64>, ClientError>,
    ) -> Result<Self, ClientError> {
        let queue = client.call("queue.list", json!({ "limit": MOST_JOBS }))?;
        let queued: Vec<_> = items(&queue)
            .iter()
            .map(|job| Ok(Entry { files: files(client, id(job))?, ..entry(job) }))
            .collect::<Result<_, ClientError>>()?;
        let past = client.call("history.list", json!({ "limit": MOST_JOBS }))?;
        let (queue, past) = (items(&queue), items(&past));
        let ids = queue.iter().chain(past).map(|job| (name(job), id(job))).collect();
        let ended = past.iter().map(ended);
        let past_names: Vec<_> = past.iter().map(name).collect();
        let past: BTreeMap<_, _> = past_names.iter().cloned().zip(ended).collect();
        assert_eq!(past.len(), past_names.len(), "no job ends twice: {past_names:?}");
        let queue: Vec<_> =
            queued.into_iter().filter(|entry| !past.contains_key(&entry.name)).collect();
        let names: BTreeSet<_> = queue.iter().map(|entry| &entry.name).collect();
        assert_eq!(names.len(), queue.len(), "no job is there twice: {queue:?}");
        Ok(Self { queue, past, ids })
    }
}

impl AcknowledgedState {
    pub fn queue(&self) -> &[Entry] {
        &self.queue
    }

    /// The number the daemon gave a job.
    pub fn id(&self, name: &str) -> Option<u64> {
        self.ids.get(name).copied()
    }

    /// One that the daemon parked, if there is any.
    pub fn parked(&self) -> Option<Entry> {
        self.parked.values().next().cloned()
    }

    /// The change is sent: from here on it may be done.
    pub fn ask(&mut self, change: Change) {
        self.pending = Some((change, Answer::NoneYet));
    }

    pub fn done(&mut self) {
        if let Some((_, answer)) = &mut self.pending {
            *answer = Answer::Done;
        }
    }

    pub fn refused(&mut self) {
        self.pending = None;
    }

    /// The error says which acknowledged change is missing, or which other one was made.
    pub fn compare(&mut self, listing: Listing) -> Result<(), String> {
        let Listing { mut queue, past, ids } = listing;
        // The files of a job that is just ending cannot be listed any more.
        for entry in queue.iter_mut().filter(|entry| entry.files.is_empty()) {
            if let Some(known) = self.queue.iter().find(|known| known.name == entry.name) {
                entry.files.clone_from(&known.files);
            }
        }
        let pending = self.pending.take();
        let in_question = pending.as_ref().map(|(change, _)| change.name.clone());
        self.compare_ids(ids)?;
        self.compare_past(&past, in_question.as_ref())?;
        let expected = self.queue.iter().filter(|entry| !past.contains_key(&entry.name));
        let is_meant = |entry: &&Entry| Some(&entry.name) == in_question.as_ref();
        let (was, untouched): (Vec<_>, Vec<_>) = expected.partition(is_meant);
        let (is, rest): (Vec<_>, Vec<_>) = queue.iter().partition(is_meant);
        ensure(rest == untouched, || {
            format!("{untouched:?} is now {rest:?}; in question: {pending:?}")
        })?;
        if let Some((change, answer)) = pending {
            let (is, was) = (is.first().copied(), was.first().copied());
            let is_done = past.contains_key(&change.name)
                || is == change.after.as_ref() && (!change.leads || leads(&queue, is));
            let is_untouched =
                answer == Answer::NoneYet && (is == was || is == change.after.as_ref());
            ensure(is_done || is_untouched, || format!("{change:?} ({answer:?}): {queue:?}"))?;
            if is.is_some() {
                self.parked.remove(&change.name);
            }
        }
        self.queue = queue;
        Ok(())
    }

    fn compare_ids(&mut self, ids: BTreeMap<String, u64>) -> Result<(), String> {
        for (name, id) in ids {
            let known = *self.ids.entry(name.clone()).or_insert(id);
            ensure(id == known, || format!("{name} had the number {known}, now it has {id}"))?;
        }
        Ok(())
    }

    /// Nothing leaves history, and only what was queued comes into it.
    fn compare_past(
        &mut self,
        past: &BTreeMap<String, Ended>,
        in_question: Option<&String>,
    ) -> Result<(), String> {
        for name in &self.past {
            ensure(past.contains_key(name), || format!("{name} had ended, and is not history"))?;
        }
        for (name, ended) in past {
            if self.past.contains(name) {
                continue;
            }
            let queued = self.queue.iter().find(|entry| entry.name == *name);
            let is_in_question = in_question == Some(name);
            let is_expected = matches!(ended, Ended::Completed | Ended::Parked) && queued.is_some();
            let was_parked = self.parked.contains_key(name);
            ensure(is_expected || is_in_question || was_parked, || {
                format!("{name} is history: {ended:?}")
            })?;
            match (ended, queued) {
                (Ended::Parked, Some(entry)) => {
                    drop(self.parked.insert(name.clone(), entry.clone()))
                }
                (Ended::Parked, None) => {}
                _ => drop(self.past.insert(name.clone())),
            }
        }
        Ok(())
    }
}

fn ensure(holds: bool, what: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(what()) }
}

fn leads(queue: &[Entry], entry: Option<&Entry>) -> bool {
    let first = |entry: &Entry| queue.iter().find(|it| it.priority == entry.priority);
    entry.is_none_or(|entry| first(entry) == Some(entry))
}

fn items(page: &Value) -> &[Value] {
    page["items"].as_array().expect("a page has items")
}

fn name(job: &Value) -> String {
    job["name"].as_str().expect("a job has a name").to_owned()
}

fn id(job: &Value) -> u64 {
    job["id"].as_u64().expect("a job has a number")
}

fn entry(job: &Value) -> Entry {
    let parameters = job["parameters"].as_array().expect("a job has parameters");
    let drone = parameters.iter().find(|it| it["name"] == "drone").map(|it| &it["value"]);
    Entry {
        name: name(job),
        priority: job["priority"].as_i64().expect("a job has a priority"),
        paused: job["paused"].as_bool().expect("a job is paused or not"),
        drone: drone.and_then(Value::as_str).unwrap_or_default().to_owned(),
        files: Vec::new(),
    }
}

/// None of a job that has ended meanwhile.
fn files(client: &mut Client, job: u64) -> Result<Vec<u64>, ClientError> {
    let files = match client.call("job.files", json!({ "job": job })) {
        Err(ClientError::Refused { .. }) => return Ok(Vec::new()),
        files => files?,
    };
    let files = files.as_array().expect("a list of files").iter();
    Ok(files.map(|file| file["index"].as_u64().expect("a file has a place")).collect())
}

fn ended(job: &Value) -> Ended {
    let state = &job["state"];
    match (state["is"].as_str(), state["what"].as_str()) {
        (Some("completed"), _) => Ended::Completed,
        (Some("deleted"), _) => Ended::Deleted,
        (Some("failed"), Some("crashed")) => Ended::Parked,
        _ => Ended::Failed,
    }
}

/// All of them.
const MOST_JOBS: usize = 100_000;
