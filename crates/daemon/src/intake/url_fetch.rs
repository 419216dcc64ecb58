//! Jobs whose NZB is still to come from its address.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bergamot_feed::{CallId, Failure, FailureKind, Headers, HostRefusal, ItemKey, NzbOutcome};
use bergamot_jobs::Record;
use bergamot_jobs::machine::Event;
use bergamot_poll::Wanted;
use bergamot_queue::JobState;
use bergamot_store::Spool;
use bergamot_types::{JobId, Url};
use tokio::task::AbortHandle;
use tracing::warn;

use crate::clock;
use crate::event::Happening;
use crate::feeds::poll::{ITEM, instant_of};
use crate::intake::new_job::provisional_name;
use crate::intake::url_client::{Account, Again, Fetched, Missed};
use crate::intake::url_response::Arrived;
use crate::periodic::{Lane, Poll};
use crate::run::Daemon;
use crate::service_thread::vital_task;

/// How it stands with what is fetched.
#[derive(Debug, Default)]
pub(crate) struct Fetches {
    attempts: HashMap<JobId, Attempts>,
    running: HashMap<JobId, AbortHandle>,
    calls: HashMap<JobId, CallId>, // which hold their hosts
}

/// Those that came to nothing.
#[derive(Debug, Default)]
struct Attempts {
    count: u32,
    why: String, // the last one did
    /// What the disk did not take of it, in bytes: no host is asked again before it does.
    unwritten: Option<u64>,
}

impl Daemon {
    /// How it stands with the NZB of a job that waits for it.
    pub(crate) fn fetching(&self, job: JobId) -> String {
        let under_way = "Its NZB is being fetched from its address.".to_owned();
        let target = self.targets.target(Poll::Url(job));
        let now = clock::now().instant;
        let wait = target.map(|target| target.next_due.saturating_duration_since(now).as_secs());
        match (self.fetches.attempts.get(&job), wait) {
            _ if self.fetches.running.contains_key(&job) => under_way,
            (Some(Attempts { why, .. }), Some(seconds)) => {
                format!("Its NZB did not come: {why}. Asked again in {seconds} s.")
            }
            (None, Some(1..)) => "Its NZB waits until its host may be asked.".to_owned(),
            _ => under_way,
        }
    }

    pub(crate) fn plan_fetch(&mut self, job: JobId) {
        self.stop_fetching(job);
        let wanted = Wanted { kind: Lane::Urls, interval: FIRST_PAUSE, priority: 0, enabled: true };
        self.targets.set(clock::now().instant, Poll::Url(job), wanted);
    }

    /// Begins to fetch, beside the loop.
    pub(crate) fn fetch(&mut self, job: JobId) {
        let Some((record, url)) = self.to_be_fetched(job) else { return self.stop_fetching(job) };
        if !self.may_fetch(&record, &url) {
            return;
        }
        let (web, outbox) = (self.web.clone(), self.outbox.clone());
        let (reception, reach) =
            (self.reception.clone(), self.settings.job_settings.get().reach(&url));
        let unwritten = self.fetches.attempts.get(&job).and_then(|attempts| attempts.unwritten);
        let spool = self.state.spool.clone();
        let running = vital_task("fetch", &self.outbox, async move {
            let others = outbox.clone();
            let accept = move |other| others.tell(Happening::Accepted(Box::new(other)));
            let unpack = move |response| reception.unpack(&record, response, &accept);
            let fetched = match has_room(spool, job, unwritten).await {
                Ok(()) => web.fetch(&url, reach, unpack).await,
                Err(missed) => Fetched { headers: Headers::default(), result: Err(missed) },
            };
            outbox.tell(Happening::Fetched { job, fetched: Box::new(fetched) });
        });
        self.fetches.running.insert(job, running);
    }

    /// A host is asked once at a time, and left alone when it wants to be, by feeds and jobs alike.
    fn may_fetch(&mut self, record: &Record, url: &Url) -> bool {
        let (now, job) = (clock::now(), record.id);
        let until = match self.feeds.machine.begin_nzb(now.date, url, job) {
            Ok(call) => {
                self.fetches.calls.insert(job, call);
                return true;
            }
            // People may try what is closed to feeds.
            Err(HostRefusal::Denied { .. }) if item_of(record).is_none() => return true,
            Err(HostRefusal::Denied { .. }) => now.instant + LONG_PAUSE,
            Err(HostRefusal::Held { until, .. }) => instant_of(until),
            Err(HostRefusal::Busy(_)) => now.instant + UNTIL_WOKEN,
        };
        self.targets.put_off(Poll::Url(job), until);
        false
    }

    fn end_call(&mut self, job: JobId, headers: &Headers, outcome: NzbOutcome) {
        if let Some(call) = self.fetches.calls.remove(&job) {
            self.feeds.machine.end_nzb(clock::now().date, call, headers, outcome);
            self.tell_feeds();
        }
    }

    /// What was closed may be open now.
    pub(crate) fn try_all_fetches(&mut self) {
        let now = clock::now().instant;
        let is_fetch = |target: &Poll| matches!(target, Poll::Url(_));
        let fetches: Vec<_> = self.targets.targets().map(|(id, _)| id).filter(is_fetch).collect();
        for target in fetches {
            self.targets.due_now(now, target);
        }
    }

    /// None if it has come or ended, or has no address that could be asked.
    fn to_be_fetched(&self, job: JobId) -> Option<(Record, Url)> {
        let record = self.jobs.list().record(job)?;
        let is_wanted = record.life == JobState::Fetching && record.outcome.is_none();
        let url = Url::parse(record.url.as_deref()?).ok()?;
        is_wanted.then(|| (record.clone(), url))
    }

    /// Nobody waits for its NZB any more.
    pub(crate) fn stop_fetching(&mut self, job: JobId) {
        self.fetches.attempts.remove(&job);
        if let Some(running) = self.fetches.running.remove(&job) {
            running.abort();
        }
        self.feeds.machine.forget_nzb(job);
        self.end_call(job, &Headers::default(), NzbOutcome::Fine);
        self.targets.remove(Poll::Url(job));
        self.targets.put_off(Poll::Url(job), clock::now().instant);
    }

    pub(crate) fn on_fetched(&mut self, job: JobId, fetched: Fetched<Arrived>) {
        let Some((record, url)) = self.to_be_fetched(job) else { return self.drop_what_came(job) };
        let Fetched { headers, result } = fetched;
        match result {
            Ok(arrived) => {
                self.end_call(job, &headers, NzbOutcome::Fine);
                self.stop_fetching(job);
                self.take_in(record, &url, arrived);
            }
            Err(missed) => self.on_missed(&record, &headers, &missed),
        }
    }

    /// Somebody deleted the job meanwhile.
    fn drop_what_came(&self, job: JobId) {
        if self.jobs.list().record(job).is_none() {
            let spool = self.state.spool.clone();
            // What cannot be removed is set aside at the next start.
            tokio::task::spawn_blocking(move || drop(spool.drop_nzb(job)));
        }
    }

    /// From here on it is a job like any other.
    fn take_in(&mut self, mut record: Record, url: &Url, arrived: Arrived) {
        let brings_category = record.category.is_none();
        fill_in(&mut record, url, arrived);
        let settings = self.settings.job_settings.get();
        let known = record.category.as_deref().and_then(|name| settings.directories.category(name));
        let priority = known.map(|known| known.priority);
        let priority = priority.filter(|_| brings_category && record.priority_is_open);
        record.priority_is_open = false;
        record.category = known.map(|known| known.name.as_str().into()).or(record.category);
        self.state.spool.expect(&record);
        self.tell_jobs(Event::NzbFetched { record: Box::new(record), priority });
    }

    fn on_missed(&mut self, record: &Record, headers: &Headers, missed: &Missed) {
        let (now, job, item) = (clock::now().instant, record.id, item_of(record));
        let outcome = host_outcome(missed, item.as_ref());
        let unwritten = match missed.again {
            Again::OnceWritable(size) => Some(size),
            _ => None,
        };
        // What a feed has taken waits as long as its host wants it to, and no address is to blame for
        // the disk.
        let patience = match &outcome {
            _ if unwritten.is_some() => Some(DISK_PAUSE),
            _ if item.is_none() => None,
            NzbOutcome::Denied { .. } => Some(LONG_PAUSE),
            NzbOutcome::Fine => None,
            NzbOutcome::Limited(pause) => Some(*pause),
        };
        self.end_call(job, headers, outcome);
        self.fetches.running.remove(&job);
        let known = self.fetches.attempts.entry(job).or_default();
        known.count += u32::from(patience.is_none());
        known.why.clone_from(&missed.why);
        known.unwritten = unwritten;
        let attempts = known.count;
        let pause = match (patience, missed.again) {
            (Some(pause), _) | (None, Again::After(pause)) => pause,
            _ => FIRST_PAUSE * 3_u32.saturating_pow(attempts.saturating_sub(1)),
        };
        let is_last = attempts >= MOST_ATTEMPTS || missed.again == Again::Never;
        if is_last && patience.is_none() {
            let reason = missed.why.clone();
            return self.tell_jobs(Event::FetchFailed { job, cause: missed.cause, reason });
        }
        warn!(%job, again_in = ?pause, "not fetched: {}", missed.why);
        self.targets.finished_until(now, Poll::Url(job), &Err::<(), ()>(()), now + pause);
    }
}

/// Each fetch counts with the indexer, so it is not tried on a disk that is known to be full.
async fn has_room(spool: Arc<Spool>, job: JobId, size: Option<u64>) -> Result<(), Missed> {
    let Some(size) = size else { return Ok(()) };
    let tried = tokio::task::spawn_blocking(move || spool.try_room(job, size)).await;
    match tried {
        Ok(Err(error)) => Err(Missed {
            again: Again::OnceWritable(size),
            ..Missed::soon(format!("{}: {error}", error.code()))
        }),
        _ => Ok(()),
    }
}

/// The item of a feed that the job was made of.
pub(crate) fn item_of(record: &Record) -> Option<ItemKey> {
    record.parameters.get(ITEM)?.parse().ok()
}

/// What is said to the account of a feed holds for the feed and its host; people may know better.
fn host_outcome(missed: &Missed, item: Option<&ItemKey>) -> NzbOutcome {
    match (missed.again, missed.account, item) {
        (Again::After(pause), ..) => NzbOutcome::Limited(pause),
        (_, Account::UsedUp(pause), Some(_)) => NzbOutcome::Limited(pause),
        (_, Account::Denied, Some(item)) => {
            let (kind, code) = (FailureKind::Denied, "feed.denied".into());
            let failure = Failure { kind, code, message: missed.why.as_str().into() };
            NzbOutcome::Denied { feed: item.feed.clone(), failure }
        }
        _ => NzbOutcome::Fine,
    }
}

/// What people have said counts before what came with the NZB.
fn fill_in(record: &mut Record, url: &Url, arrived: Arrived) {
    record.fingerprint = arrived.fingerprint;
    record.contents = arrived.contents;
    if *record.name == *provisional_name(url) && !arrived.name.trim().is_empty() {
        record.name = arrived.name.into();
    }
    if record.category.is_none() {
        record.category = arrived.category.map(Into::into);
    }
    if record.password.is_none() {
        record.password = arrived.password;
    }
    for (name, value) in &arrived.parameters {
        if record.parameters.get(name).is_none() {
            record.parameters.set(name, value);
        }
    }
}

/// For what waits for somebody else, who wakes it.
const LONG_PAUSE: Duration = Duration::from_secs(60 * 60);

/// For what the disk has no room for.
const DISK_PAUSE: Duration = Duration::from_secs(5);

/// For what waits for its turn at a host, should nobody wake it.
const UNTIL_WOKEN: Duration = Duration::from_secs(60);

/// Then three times as long each time.
const FIRST_PAUSE: Duration = Duration::from_secs(10);

const MOST_ATTEMPTS: u32 = 5;
