//! [`Feeds`]: the state machine of all feeds; owns their items, errors and the waits of the hosts they share.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use bergamot_types::{JobId, SplitMix, UnixTime, Url};

use super::feed::{Feed, Next, Standing, State};
use super::host::{Host, host_of, later};
use super::judge::Judge;
use super::memory::{FeedMemory, ItemKey, Memory, PollError, Waits, WantedItem};
use super::pace::{back_off, retry_after, wait_for_calls, waits_of};
use super::reply::{Failure, FailureKind, Headers, Outcome, Reply};
use super::settings::{FeedId, FeedSettings};
use super::work::{CallId, Event, Fetch, HostRefusal, NzbOutcome, Take, Work};

/// When each feed may be fetched, what became of its items, and which host may be called; no I/O, no clock.
///
/// Drive it like this:
/// 1. at [`next_due`](Self::next_due) of a feed, or on [`Event::Wake`], call [`begin`](Self::begin);
/// 2. carry out its [`Work`] and report the result;
/// 3. after every report, [`retry`](Self::retry) and [`configure`](Self::configure) poll events until `None`,
///    and if [`take_change`](Self::take_change) returns `true`, save [`memory`](Self::memory) before any other
///    work begins: an item that became a job must not become one again after a crash.
///
/// Contract:
/// - Every [`CallId`] is ended exactly once: that of [`Work::Fetch`] by [`on_fetched`](Self::on_fetched), that
///   of `begin_look` by [`end_look`](Self::end_look), that of `begin_nzb` by [`end_nzb`](Self::end_nzb). Until
///   then its host is busy. A repeated or unknown id is ignored.
/// - `on_fetched` yields one of [`Event::Checked`], [`Event::Failed`] and [`Event::Stopped`] for the feed;
///   none if the document is a page with another to follow, or if the feed was changed or removed while the
///   call ran: such an answer is dropped, except for what it says of the host, and the feed is fetched again.
/// - [`Work::Take`] is answered by [`on_take`](Self::on_take) for its items in order; the first transient
///   failure ends the run, and items not reported stay wanted. A report for an unknown feed is ignored.
/// - At most one call per host runs. A feed or job that finds it busy gets one `Wake` or [`Event::WakeJob`]
///   when the host is free, the longest waiting first; a wake is a hint, and `begin` may refuse again.
/// - Bounds: 10,000 wanted items and 200 given up per feed, 64 items per `Take`, 20,000 remembered items
///   (`seen`), 200 errors, 1000 hosts besides those with something to remember.
#[derive(Debug, Default)]
pub struct Feeds {
    feeds: BTreeMap<FeedId, Feed>,
    hosts: HashMap<Box<str>, Host>,
    calls: HashMap<CallId, Call>,
    last_call: u64,
    last_edition: u64,
    last_revision: u64,
    log: Memory, // without feeds: only its errors
    events: VecDeque<Event>,
    has_changed: bool,
}

#[derive(Debug)]
struct Call {
    host: Box<str>,
    feed: Option<Caller>,
}

/// A feed by its key, for its number may change while it is called.
#[derive(Debug)]
struct Caller {
    key: Box<str>,
    edition: u64,
}

impl Feeds {
    pub fn new(memory: Memory, settings: Vec<FeedSettings>) -> Self {
        let Memory { feeds, errors, hosts } = memory;
        let log = Memory { errors, ..Memory::default() };
        let restored = |(name, waits)| (name, Host { waits, ..Host::default() });
        let hosts = hosts.into_iter().map(restored).collect();
        let mut all = Self { log, hosts, ..Self::default() };
        all.take_over(feeds, settings);
        all
    }

    /// Asks nothing of hosts that refused the login of a feed in an earlier run, as long as the settings
    /// of that feed are the same. Without this call a start tries again.
    pub fn keep_refusals(&mut self) {
        for feed in self.feeds.values_mut() {
            if feed.keep_refusal() {
                let host = self.hosts.entry(host_of(&feed.settings.url)).or_default();
                host.denied_by = Some(feed.settings.key());
            }
        }
    }

    /// Feeds whose login was refused, and the messages of their servers.
    pub fn refusals(&self) -> impl Iterator<Item = (FeedId, &PollError)> {
        let enabled = self.feeds.iter().filter(|(_, feed)| feed.settings.enabled);
        enabled.filter_map(|(id, feed)| Some((*id, feed.refusal()?)))
    }

    /// Feeds that are no longer configured are dropped with all their items; one whose settings changed may
    /// try again.
    pub fn configure(&mut self, settings: Vec<FeedSettings>) {
        let mut former = BTreeMap::new();
        for (_, feed) in std::mem::take(&mut self.feeds) {
            former.insert(feed.settings.key(), feed);
        }
        let changed = |key: &str| {
            let now = settings.iter().find(|settings| *settings.key() == *key);
            let before = former.get(key).map(|feed| &feed.settings);
            now.zip(before).is_none_or(|(now, before)| now.differs_from(before))
        };
        for host in self.hosts.values_mut() {
            host.denied_by.take_if(|feed| changed(feed));
        }
        for (id, settings) in numbered(settings) {
            self.last_edition += 1;
            let edition = self.last_edition;
            let feed = match former.remove(&settings.key()) {
                None => Feed::new(settings, None).of_edition(edition),
                Some(mut feed) if !settings.differs_from(&feed.settings) => {
                    feed.settings = settings;
                    feed
                }
                Some(former) => {
                    let mut feed = Feed::restored(settings, former.memory).of_edition(edition);
                    feed.is_running = former.is_running;
                    feed
                }
            };
            self.feeds.insert(id, feed);
            self.touch(id);
        }
        self.has_changed = true;
    }

    fn take_over(
        &mut self,
        mut remembered: BTreeMap<Box<str>, FeedMemory>,
        settings: Vec<FeedSettings>,
    ) {
        for (id, settings) in numbered(settings) {
            let feed = match remembered.remove(&settings.key()) {
                Some(memory) => Feed::restored(settings, memory),
                None => Feed::new(settings, None),
            };
            self.feeds.insert(id, feed);
        }
        self.has_changed = !remembered.is_empty();
    }

    pub fn ids(&self) -> impl Iterator<Item = FeedId> {
        self.feeds.keys().copied()
    }

    pub fn settings(&self, feed: FeedId) -> Option<&FeedSettings> {
        self.feeds.get(&feed).map(|feed| &feed.settings)
    }

    /// Whether any call to a feed or for one of its items is under way.
    pub fn is_active(&self) -> bool {
        !self.calls.is_empty()
    }

    /// Makes a feed due, whatever its pace; what its host asked for still holds.
    pub fn fetch_now(&mut self, feed: FeedId) {
        if let Some(feed) = self.feeds.get_mut(&feed) {
            feed.fetch_now();
        }
    }

    /// What was given up is wanted again, of this feed; how many items that are.
    pub fn retry(&mut self, now: UnixTime, feed: FeedId) -> usize {
        let count = self.feeds.get_mut(&feed).map_or(0, |feed| feed.retry(now));
        if count > 0 {
            self.touch(feed);
        }
        count
    }

    /// When to call [`Feeds::begin`]. None until something else happens.
    pub fn next_due(&self, now: UnixTime, id: FeedId) -> Option<UnixTime> {
        let feed = self.feeds.get(&id)?;
        let due = feed.due(now)?;
        let host = self.hosts.get(&host_of(&feed.settings.url));
        if host.is_some_and(|host| host.denied_by.is_some()) {
            return None;
        }
        let held = host.and_then(|host| host.waits_until(now, false));
        Some(held.map_or(due, |held| held.max(due)))
    }

    /// The one thing that this feed may do now. It runs until it is reported.
    pub fn begin(&mut self, now: UnixTime, id: FeedId) -> Work {
        let Some(due) = self.next_due(now, id) else { return Work::Nothing };
        let Some(feed) = self.feeds.get_mut(&id) else { return Work::Nothing };
        if feed.is_running {
            // It was begun under another number.
            return Work::Later(later(now, SHORT_DELAY));
        }
        let (url, conditional) = match feed.next(now) {
            None => return Work::Later(due),
            Some(Next::Take(items)) => {
                feed.is_running = true;
                let key = |guid| ItemKey { feed: feed.settings.key(), guid };
                let take = |item: Arc<WantedItem>| Take { key: key(item.guid), item };
                return Work::Take(items.into_iter().map(take).collect());
            }
            Some(Next::Fetch { url, conditional }) => (url, conditional),
        };
        let caller = Caller { key: feed.settings.key(), edition: feed.edition };
        match self.begin_call(now, &url, Some(caller), false) {
            Ok(call) => self.start(id, call, url, conditional),
            Err(HostRefusal::Denied { .. }) => Work::Nothing,
            Err(HostRefusal::Held { until, .. }) => Work::Later(until),
            Err(HostRefusal::Busy(_)) => {
                if let Some(feed) = self.feeds.get_mut(&id) {
                    feed.waiting_since.get_or_insert(due);
                }
                Work::Later(later(now, LONGEST_DELAY))
            }
        }
    }

    fn start(&mut self, id: FeedId, call: CallId, url: Url, conditional: bool) -> Work {
        let Some(feed) = self.feeds.get_mut(&id) else { return Work::Nothing };
        feed.is_running = true;
        feed.waiting_since = None;
        let memory = &feed.memory;
        Work::Fetch(Fetch {
            call,
            url,
            etag: memory.etag.clone().filter(|_| conditional),
            last_modified: memory.last_modified.clone().filter(|_| conditional),
            allow_private: feed.settings.allow_private,
            judge: feed.judge(),
        })
    }

    /// A call for a look that changes nothing, to any address.
    pub fn begin_look(&mut self, now: UnixTime, url: &Url) -> Result<CallId, HostRefusal> {
        self.begin_call(now, url, None, false)
    }

    /// A call for the NZB of a job. A job that finds the host busy gets [`Event::WakeJob`] when it is free.
    pub fn begin_nzb(
        &mut self,
        now: UnixTime,
        url: &Url,
        job: JobId,
    ) -> Result<CallId, HostRefusal> {
        let call = self.begin_call(now, url, None, true);
        if let (Err(HostRefusal::Busy(name)), false) = (&call, self.waits(job))
            && let Some(host) = self.hosts.get_mut(name)
        {
            host.waiting.insert((now, job));
        }
        call
    }

    fn waits(&self, job: JobId) -> bool {
        self.hosts.values().any(|host| host.waiting.iter().any(|(_, waiting)| *waiting == job))
    }

    /// The job does not wait for any host.
    pub fn forget_nzb(&mut self, job: JobId) {
        for host in self.hosts.values_mut() {
            host.waiting.retain(|(_, waiting)| *waiting != job);
        }
    }

    pub fn end_nzb(&mut self, now: UnixTime, call: CallId, headers: &Headers, outcome: NzbOutcome) {
        let Some(Call { host: name, .. }) = self.end_call(call) else { return };
        let Some(host) = self.hosts.get_mut(&name) else { return };
        if let Some(wait) = wait_for_calls(headers, now) {
            host.leave_alone(now, wait);
            self.has_changed = true;
        }
        match outcome {
            NzbOutcome::Fine => {}
            NzbOutcome::Limited(wait) => {
                host.leave_alone(now, wait);
                self.has_changed = true;
            }
            NzbOutcome::Denied { feed: key, failure } => {
                host.denied_by = Some(key.clone());
                if let Some((id, feed)) = self.feed_called(Some(&key)) {
                    let error = feed.stop(now, &failure);
                    self.on_error(id, error, true);
                }
            }
        }
        self.wake_next(now, &name);
    }

    fn begin_call(
        &mut self,
        now: UnixTime,
        url: &Url,
        feed: Option<Caller>,
        is_nzb: bool,
    ) -> Result<CallId, HostRefusal> {
        let name = host_of(url);
        let host = self.hosts.entry(name.clone()).or_default();
        if let Some(feed) = host.denied_by.clone() {
            return Err(HostRefusal::Denied { host: name, feed });
        }
        if let Some(until) = host.waits_until(now, is_nzb) {
            return Err(HostRefusal::Held { host: name, until });
        }
        if host.is_busy {
            return Err(HostRefusal::Busy(name));
        }
        host.is_busy = true;
        self.last_call += 1;
        let call = CallId(self.last_call);
        self.calls.insert(call, Call { host: name, feed });
        Ok(call)
    }

    pub fn end_look(&mut self, now: UnixTime, call: CallId, reply: &Reply, chance: &mut SplitMix) {
        let Some(Call { host, .. }) = self.end_call(call) else { return };
        self.apply_limits(now, &host, reply);
        if let Outcome::Failed(failure) = &reply.outcome {
            self.on_host_failure(now, &host, None, failure, &reply.headers, chance);
        }
        self.wake_next(now, &host);
    }

    pub fn on_fetched(&mut self, now: UnixTime, call: CallId, reply: Reply, chance: &mut SplitMix) {
        let Some(Call { host, feed: caller }) = self.end_call(call) else { return };
        self.apply_limits(now, &host, &reply);
        let Some(caller) = caller else { return self.wake_next(now, &host) };
        let is_current = |(_, feed): &(FeedId, &mut Feed)| feed.edition == caller.edition;
        let is_current = self.feed_called(Some(&caller.key)).as_ref().is_some_and(is_current);
        let key = is_current.then_some(&*caller.key);
        if let Outcome::Failed(failure) = &reply.outcome {
            self.on_host_failure(now, &host, key, failure, &reply.headers, chance);
        }
        self.wake_next(now, &host);
        let Some((id, feed)) = self.feed_called(Some(&caller.key)) else { return };
        feed.is_running = false;
        // Asked under other settings, be it in the middle of several pages: it is asked again.
        if is_current {
            self.on_answer(now, id, reply, chance);
        }
    }

    fn on_answer(&mut self, now: UnixTime, id: FeedId, reply: Reply, chance: &mut SplitMix) {
        let Some(feed) = self.feeds.get_mut(&id) else { return };
        let Reply { headers, outcome, findings } = reply;
        match outcome {
            Outcome::Document(document) => {
                if let Some(brought) = feed.on_document(now, &headers, document, findings) {
                    let (new, wanted) = (brought.new, brought.wanted);
                    self.events.push_back(Event::Checked { feed: id, new, wanted });
                    self.touch(id);
                }
            }
            Outcome::NotModified => {
                feed.on_not_modified(now);
                self.events.push_back(Event::Checked { feed: id, new: 0, wanted: 0 });
                self.touch(id);
            }
            Outcome::Failed(failure) => {
                let error = feed.on_failure(now, &failure, chance);
                let is_stopped = feed.stopped.is_some();
                self.on_error(id, error, is_stopped);
            }
        }
    }

    /// A job was made of an item, or could not be.
    pub fn on_take(
        &mut self,
        now: UnixTime,
        item: &ItemKey,
        result: Result<(), Failure>,
        chance: &mut SplitMix,
    ) {
        let Some((id, feed)) = self.feed_called(Some(&item.feed)) else { return };
        feed.is_running = false;
        match result {
            Ok(()) => {
                feed.on_taken(item.guid);
                self.touch(id);
            }
            Err(failure) => {
                let (error, given_up) = feed.on_take_failure(now, item.guid, &failure, chance);
                self.on_error(id, error, false);
                let event = given_up.map(|title| Event::GivenUp { feed: id, title });
                self.events.extend(event);
            }
        }
    }

    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Whether there is something to be written down since the last call of this.
    pub fn take_change(&mut self) -> bool {
        std::mem::take(&mut self.has_changed)
    }

    pub fn memory(&self) -> Memory {
        let remembered = |feed: &Feed| (feed.settings.key(), feed.memory.clone());
        let waiting = self.hosts.iter().filter(|(_, host)| host.waits != Waits::default());
        Memory {
            feeds: self.feeds.values().map(remembered).collect(),
            errors: self.log.errors.clone(),
            hosts: waiting.map(|(name, host)| (name.clone(), host.waits)).collect(),
        }
    }

    /// What went wrong, the oldest first.
    pub fn errors(&self) -> impl DoubleEndedIterator<Item = &PollError> {
        self.log.errors.iter()
    }

    pub fn standing(&self, now: UnixTime, id: FeedId) -> Option<Standing> {
        let feed = self.feeds.get(&id)?;
        let host = self.hosts.get(&host_of(&feed.settings.url));
        let is_denied = host.is_some_and(|host| host.denied_by.is_some());
        let is_held = host.is_some_and(|host| host.waits_until(now, false).is_some());
        let state = match feed {
            feed if !feed.settings.enabled => State::Disabled,
            feed if feed.stopped.is_some() || is_denied => State::Stopped,
            feed if feed.is_running => State::Running,
            _ if is_held => State::Held,
            feed if feed.memory.failures > 0 => State::Failing,
            _ => State::Waiting,
        };
        Some(Standing {
            state,
            trouble: self.trouble_of(feed, host),
            title: feed.memory.title.clone(),
            interval: feed.interval(now),
            last_fetched: feed.memory.last_fetched,
            next_due: self.next_due(now, id),
            failures: feed.memory.failures,
            seen: feed.memory.seen.count(),
            wanted: feed.memory.wanted.len(),
            given_up: feed.memory.given_up.len(),
        })
    }

    /// Its own, or that of the feed which its host has refused.
    fn trouble_of(&self, feed: &Feed, host: Option<&Host>) -> Option<PollError> {
        let denied_by = host.and_then(|host| host.denied_by.as_deref());
        let stopper = self.feeds.values().find(|it| Some(&*it.settings.key()) == denied_by);
        let stopped = feed.stopped.as_ref().or_else(|| stopper?.stopped.as_ref());
        stopped.or(feed.memory.last_error.as_ref()).cloned()
    }

    /// For a dry run.
    pub fn judge(&self, id: FeedId) -> Option<Judge> {
        self.feeds.get(&id).map(Feed::judge)
    }

    fn end_call(&mut self, call: CallId) -> Option<Call> {
        let call = self.calls.remove(&call)?;
        if let Some(host) = self.hosts.get_mut(&call.host) {
            host.is_busy = false;
        }
        Some(call)
    }

    /// Wakes the feed or job that has waited longest for a host that is free now. If the host asked for a
    /// pause, all waiting jobs are woken, so that they learn until when.
    fn wake_next(&mut self, now: UnixTime, name: &str) {
        let Some(host) = self.hosts.get_mut(name) else { return };
        let feeds = self.feeds.iter().filter(|(_, feed)| *host_of(&feed.settings.url) == *name);
        let feed = feeds.filter_map(|(id, feed)| Some((feed.waiting_since?, *id))).min();
        if !host.is_open(now) {
            let jobs = std::mem::take(&mut host.waiting);
            self.events.extend(jobs.into_iter().map(|(_, job)| Event::WakeJob(job)));
        }
        let job = host.waiting.first().copied();
        match (feed, job) {
            (Some((since, id)), job) if job.is_none_or(|(other, _)| since <= other) => {
                if let Some(feed) = self.feeds.get_mut(&id) {
                    feed.waiting_since = None;
                }
                self.events.push_back(Event::Wake(id));
            }
            (_, Some(first)) => {
                host.waiting.remove(&first);
                self.events.push_back(Event::WakeJob(first.1));
            }
            (_, None) => {}
        }
        self.forget_idle_hosts(now);
    }

    /// Feeds link to many hosts; those with nothing to remember need no place.
    fn forget_idle_hosts(&mut self, now: UnixTime) {
        if self.hosts.len() > MOST_HOSTS {
            self.hosts.retain(|_, host| !host.is_idle(now));
        }
    }

    /// The limits that a server reports apply to all requests to it.
    fn apply_limits(&mut self, now: UnixTime, host: &str, reply: &Reply) {
        let Some(host) = self.hosts.get_mut(host) else { return };
        if let Some(wait) = wait_for_calls(&reply.headers, now) {
            host.leave_alone(now, wait);
        }
        if let Outcome::Document(document) = &reply.outcome {
            let [calls, grabs] = waits_of(&document.allowance, now);
            calls.into_iter().for_each(|wait| host.leave_alone(now, wait));
            grabs.into_iter().for_each(|wait| host.leave_grabs_alone(now, wait));
        }
        if !matches!(reply.outcome, Outcome::Failed(_)) {
            host.limited = 0;
        }
    }

    fn on_host_failure(
        &mut self,
        now: UnixTime,
        host: &str,
        feed: Option<&str>,
        failure: &Failure,
        headers: &Headers,
        chance: &mut SplitMix,
    ) {
        let Some(host) = self.hosts.get_mut(host) else { return };
        match failure.kind {
            FailureKind::Denied => host.denied_by = feed.map(Into::into),
            FailureKind::Limited => {
                host.limited = host.limited.saturating_add(1);
                let asked = headers.retry_after.as_deref().and_then(|text| retry_after(text, now));
                host.leave_alone(now, asked.unwrap_or_else(|| back_off(host.limited, chance)));
            }
            FailureKind::Gone | FailureKind::Lasting | FailureKind::Transient => {}
        }
    }

    fn on_error(&mut self, feed: FeedId, error: PollError, is_stopped: bool) {
        self.log.add_error(error.clone());
        self.events.push_back(match is_stopped {
            true => Event::Stopped { feed, error },
            false => Event::Failed { feed, error },
        });
        self.touch(feed);
    }

    /// What is remembered of it has changed.
    fn touch(&mut self, id: FeedId) {
        self.has_changed = true;
        self.last_revision += 1;
        if let Some(feed) = self.feeds.get_mut(&id) {
            feed.memory.revision = self.last_revision;
        }
    }

    fn feed_called(&mut self, key: Option<&str>) -> Option<(FeedId, &mut Feed)> {
        let found = self.feeds.iter_mut().find(|(_, feed)| Some(&*feed.settings.key()) == key);
        found.map(|(id, feed)| (*id, feed))
    }
}

fn numbered(settings: Vec<FeedSettings>) -> impl Iterator<Item = (FeedId, FeedSettings)> {
    (1..).map(FeedId).zip(settings)
}

/// A feed that waits for its host is woken; this is the fallback.
const LONGEST_DELAY: Duration = Duration::from_secs(60 * 60);
const SHORT_DELAY: Duration = Duration::from_secs(10);
const MOST_HOSTS: usize = 1_000;
