//! [`Fetches`]: the jobs whose NZB is still to come from its address, and the attempts to fetch it. Owned by
//! the main loop; each fetch is a task of its own.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bergamot_feed::{CallId, Failure, FailureKind, Headers, HostRefusal, ItemKey, NzbOutcome};
use bergamot_jobs::machine::Event as JobEvent;
use bergamot_jobs::{JobList, Record};
use bergamot_poll::Wanted;
use bergamot_queue::JobState;
use bergamot_store::Spool;
use bergamot_types::{JobId, Url};
use tokio::task::AbortHandle;
use tracing::warn;

use crate::clock;
use crate::event::{Event, EventSender};
use crate::feeds::poll::{FeedContext, FeedDriver, ITEM, instant_of};
use crate::intake::new_job::{NewJobs, provisional_name};
use crate::intake::url_client::{Account, FetchError, Fetched, Retry, Web};
use crate::intake::url_response::FetchedNzb;
use crate::periodic::{Lane, Poll, Targets};
use crate::service_thread::service_task;
use crate::settings::JobSettings;

#[derive(Debug)]
pub(crate) struct Fetches {
    web: Web,
    new_jobs: NewJobs,
    spool: Arc<Spool>,
    events: EventSender,
    attempts: HashMap<JobId, Attempts>,
    running: HashMap<JobId, AbortHandle>,
    calls: HashMap<JobId, CallId>, // which hold their hosts
}

/// Those that came to nothing.
#[derive(Debug, Default)]
struct Attempts {
    count: u32,
    why: String, // the last one did
    /// Bytes that could not be written to the disk: no request is sent again before there is room for them.
    unwritten: Option<u64>,
}

/// What fetches need of the main loop: hosts are shared with the feeds.
pub(crate) struct FetchContext<'a> {
    pub(crate) feeds: &'a mut FeedDriver,
    pub(crate) with: FeedContext<'a>,
    pub(crate) settings: Arc<JobSettings>,
}

impl Fetches {
    pub(crate) fn new(web: Web, new_jobs: NewJobs, spool: Arc<Spool>, events: EventSender) -> Self {
        let (attempts, running, calls) = (HashMap::new(), HashMap::new(), HashMap::new());
        Self { web, new_jobs, spool, events, attempts, running, calls }
    }

    /// What the NZB of a job that waits for it waits for.
    pub(crate) fn explain(&self, targets: &Targets, job: JobId) -> String {
        let under_way = "Its NZB is being fetched from its address.".to_owned();
        let target = targets.target(Poll::Url(job));
        let now = clock::now().instant;
        let wait = target.map(|target| target.next_due.saturating_duration_since(now).as_secs());
        match (self.attempts.get(&job), wait) {
            _ if self.running.contains_key(&job) => under_way,
            (Some(Attempts { why, .. }), Some(seconds)) => {
                format!("Its NZB did not come: {why}. Asked again in {seconds} s.")
            }
            (None, Some(1..)) => "Its NZB waits until its host may be asked.".to_owned(),
            _ => under_way,
        }
    }

    pub(crate) fn plan(&mut self, context: &mut FetchContext<'_>, job: JobId) {
        self.stop(context, job);
        let wanted = Wanted { kind: Lane::Urls, interval: FIRST_PAUSE, priority: 0, enabled: true };
        context.with.targets.set(clock::now().instant, Poll::Url(job), wanted);
    }

    /// Begins to fetch in a task, if a request to its host is allowed now.
    pub(crate) fn begin(&mut self, context: &mut FetchContext<'_>, job: JobId) {
        let Some((record, url)) = to_be_fetched(context.with.jobs, job) else {
            return self.stop(context, job);
        };
        if !self.may_fetch(context, &record, &url) {
            return;
        }
        let reach = context.settings.reach(&url);
        let (web, events) = (self.web.clone(), self.events.clone());
        let (new_jobs, spool) = (self.new_jobs.clone(), self.spool.clone());
        let unwritten = self.attempts.get(&job).and_then(|attempts| attempts.unwritten);
        let running = service_task("fetch", &self.events, async move {
            let others = events.clone();
            let accept = move |other| others.send(Event::Accepted(Box::new(other)));
            let unpack = move |response| new_jobs.unpack(&record, response, &accept);
            let fetched = match has_room(spool, job, unwritten).await {
                Ok(()) => web.fetch(&url, reach, unpack).await,
                Err(missed) => Fetched { headers: Headers::default(), result: Err(missed) },
            };
            events.send(Event::Fetched { job, fetched: Box::new(fetched) });
        });
        self.running.insert(job, running);
    }

    /// One request per host at a time, and none during its back-off; feeds and jobs share this limit.
    fn may_fetch(&mut self, context: &mut FetchContext<'_>, record: &Record, url: &Url) -> bool {
        let (now, job) = (clock::now(), record.id);
        let until = match context.feeds.begin_nzb(now.date, url, job) {
            Ok(call) => {
                self.calls.insert(job, call);
                return true;
            }
            // A user may try what is closed to feeds.
            Err(HostRefusal::Denied { .. }) if item_of(record).is_none() => return true,
            Err(HostRefusal::Denied { .. }) => now.instant + LONG_PAUSE,
            Err(HostRefusal::Held { until, .. }) => instant_of(until),
            Err(HostRefusal::Busy(_)) => now.instant + UNTIL_WOKEN,
        };
        context.with.targets.put_off(Poll::Url(job), until);
        false
    }

    fn end_call(
        &mut self,
        context: &mut FetchContext<'_>,
        job: JobId,
        headers: &Headers,
        outcome: NzbOutcome,
    ) {
        if let Some(call) = self.calls.remove(&job) {
            context.feeds.end_nzb(&mut context.with, call, headers, outcome);
        }
    }

    /// What was closed may be open now.
    pub(crate) fn try_all(targets: &mut Targets) {
        let now = clock::now().instant;
        let is_fetch = |target: &Poll| matches!(target, Poll::Url(_));
        let fetches: Vec<_> = targets.targets().map(|(id, _)| id).filter(is_fetch).collect();
        for target in fetches {
            targets.due_now(now, target);
        }
    }

    /// The NZB of the job is not waited for any more.
    pub(crate) fn stop(&mut self, context: &mut FetchContext<'_>, job: JobId) {
        self.attempts.remove(&job);
        if let Some(running) = self.running.remove(&job) {
            running.abort();
        }
        context.feeds.forget_nzb(job);
        self.end_call(context, job, &Headers::default(), NzbOutcome::Fine);
        context.with.targets.remove(Poll::Url(job));
        context.with.targets.put_off(Poll::Url(job), clock::now().instant);
    }

    /// The NZB of a job came, or did not. Returns what becomes of the job, unless it is tried again.
    pub(crate) fn on_fetched(
        &mut self,
        context: &mut FetchContext<'_>,
        job: JobId,
        fetched: Fetched<FetchedNzb>,
    ) -> Option<JobEvent> {
        let Some((record, url)) = to_be_fetched(context.with.jobs, job) else {
            if context.with.jobs.record(job).is_none() {
                self.drop_nzb(job);
            }
            return None;
        };
        let Fetched { headers, result } = fetched;
        match result {
            Ok(arrived) => {
                self.end_call(context, job, &headers, NzbOutcome::Fine);
                self.stop(context, job);
                Some(self.take_in(context, record, &url, arrived))
            }
            Err(missed) => {
                let is_tried_again = self.on_missed(context, &record, &headers, &missed);
                let (cause, reason) = (missed.cause, missed.why);
                (!is_tried_again).then_some(JobEvent::FetchFailed { job, cause, reason })
            }
        }
    }

    /// With what the NZB brings.
    fn take_in(
        &self,
        context: &FetchContext<'_>,
        mut record: Record,
        url: &Url,
        arrived: FetchedNzb,
    ) -> JobEvent {
        let brings_category = record.category.is_none();
        fill_in(&mut record, url, arrived);
        let directories = &context.settings.directories;
        let known = record.category.as_deref().and_then(|name| directories.category(name));
        let priority = known.map(|known| known.priority);
        let priority = priority.filter(|_| brings_category && record.priority_is_open);
        record.priority_is_open = false;
        record.category = known.map(|known| known.name.as_str().into()).or(record.category);
        self.spool.expect(&record);
        JobEvent::NzbFetched { record: Box::new(record), priority }
    }

    /// The NZB did not come. Returns whether it is to be tried again; otherwise the job has failed.
    fn on_missed(
        &mut self,
        context: &mut FetchContext<'_>,
        record: &Record,
        headers: &Headers,
        missed: &FetchError,
    ) -> bool {
        let (now, job, item) = (clock::now().instant, record.id, item_of(record));
        let outcome = host_outcome(missed, item.as_ref());
        let unwritten = match missed.again {
            Retry::OnceWritable(size) => Some(size),
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
        self.end_call(context, job, headers, outcome);
        self.running.remove(&job);
        let known = self.attempts.entry(job).or_default();
        known.count += u32::from(patience.is_none());
        known.why.clone_from(&missed.why);
        known.unwritten = unwritten;
        let attempts = known.count;
        let pause = match (patience, missed.again) {
            (Some(pause), _) | (None, Retry::After(pause)) => pause,
            _ => FIRST_PAUSE * 3_u32.saturating_pow(attempts.saturating_sub(1)),
        };
        let is_last = attempts >= MOST_ATTEMPTS || missed.again == Retry::Never;
        if is_last && patience.is_none() {
            return false;
        }
        warn!(%job, again_in = ?pause, "not fetched: {}", missed.why);
        let failed = &Err::<(), ()>(());
        context.with.targets.finished_until(now, Poll::Url(job), failed, now + pause);
        true
    }

    /// A job whose NZB came was deleted meanwhile.
    fn drop_nzb(&self, job: JobId) {
        let spool = self.spool.clone();
        // What cannot be removed is set aside at the next start.
        tokio::task::spawn_blocking(move || drop(spool.drop_nzb(job)));
    }
}

/// None if its NZB has come, it has ended, or it has no valid URL.
fn to_be_fetched(jobs: &JobList, job: JobId) -> Option<(Record, Url)> {
    let record = jobs.record(job)?;
    let is_wanted = record.life == JobState::Fetching && record.outcome.is_none();
    let url = Url::parse(record.url.as_deref()?).ok()?;
    is_wanted.then(|| (record.clone(), url))
}

/// Each fetch counts with the indexer, so it is not tried on a disk that is known to be full.
async fn has_room(spool: Arc<Spool>, job: JobId, size: Option<u64>) -> Result<(), FetchError> {
    let Some(size) = size else { return Ok(()) };
    let tried = tokio::task::spawn_blocking(move || spool.try_room(job, size)).await;
    match tried {
        Ok(Err(error)) => Err(FetchError {
            again: Retry::OnceWritable(size),
            ..FetchError::soon(format!("{}: {error}", error.code()))
        }),
        _ => Ok(()),
    }
}

/// The item of a feed that the job was made of.
pub(crate) fn item_of(record: &Record) -> Option<ItemKey> {
    record.parameters.get(ITEM)?.parse().ok()
}

/// An error about the account of a feed applies to the feed and its host. For a job that a user added it applies to
/// that job only.
fn host_outcome(missed: &FetchError, item: Option<&ItemKey>) -> NzbOutcome {
    match (missed.again, missed.account, item) {
        (Retry::After(pause), ..) => NzbOutcome::Limited(pause),
        (_, Account::UsedUp(pause), Some(_)) => NzbOutcome::Limited(pause),
        (_, Account::Denied, Some(item)) => {
            let (kind, code) = (FailureKind::Denied, "feed.denied".into());
            let failure = Failure { kind, code, message: missed.why.as_str().into() };
            NzbOutcome::Denied { feed: item.feed.clone(), failure }
        }
        _ => NzbOutcome::Fine,
    }
}

/// Values set by users take precedence over those that came with the NZB.
fn fill_in(record: &mut Record, url: &Url, arrived: FetchedNzb) {
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

/// For jobs that are woken by an event; the timer is only a fallback.
const LONG_PAUSE: Duration = Duration::from_secs(60 * 60);

/// For what the disk has no room for.
const DISK_PAUSE: Duration = Duration::from_secs(5);

/// For jobs that wait for their turn at a host, in case they are not woken.
const UNTIL_WOKEN: Duration = Duration::from_secs(60);

/// Then three times as long each time.
const FIRST_PAUSE: Duration = Duration::from_secs(10);

const MOST_ATTEMPTS: u32 = 5;
