//! [`Feed`]: the state of one feed: its next request, and how answers change it. Pure.

use std::sync::Arc;
use std::time::Duration;

use bergamot_poll::adaptive;
use bergamot_types::{SplitMix, UnixTime, Url};

use super::host::later;
use super::judge::{Finding, Judge};
use super::memory::{FeedMemory, PollError, Refusal, WantedItem};
use super::pace::back_off;
use super::reply::{Failure, FailureKind, Headers};
use super::seen::Fate;
use super::settings::FeedSettings;
use crate::document::{Document, Item, PageRange};
use crate::rules::{JobOptions, Verdict};

#[derive(Debug)]
pub(super) struct Feed {
    pub(super) settings: FeedSettings,
    pub(super) memory: FeedMemory,
    /// What a server said when it refused for good.
    pub(super) stopped: Option<PollError>,
    pub(super) is_running: bool,
    /// When the call was due that now waits for another to the same host.
    pub(super) waiting_since: Option<UnixTime>,
    /// Changes with the settings: what was asked before does not hold after.
    pub(super) edition: u64,
    by_hand: bool,
    chain: Option<Chain>,
}

/// Pages that were read while looking for the first item that is known.
#[derive(Debug)]
struct Chain {
    headers: Headers, // of the first page
    items: Vec<(Item, Finding)>,
    pages: u32,
}

/// What one look at the feed brought.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Brought {
    pub(super) new: usize,
    pub(super) wanted: usize,
    /// Wanted, and too many beside those that wait already.
    left_out: usize,
}

/// What a feed may do now.
#[derive(Debug)]
pub(super) enum Next {
    Fetch { url: Url, conditional: bool },
    Take(Vec<Arc<WantedItem>>),
}

/// How it stands with a feed.
#[derive(Clone, Debug, PartialEq)]
pub struct Standing {
    pub state: State,
    /// What was wrong last, where something still is.
    pub trouble: Option<PollError>,
    pub title: Box<str>,
    pub interval: Duration,
    pub last_fetched: Option<UnixTime>,
    pub next_due: Option<UnixTime>,
    /// In a row.
    pub failures: u32,
    pub seen: usize,
    pub wanted: usize,
    /// Items that could not become jobs.
    pub given_up: usize,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum State {
    Disabled,
    /// The last call failed; there will be others.
    Failing,
    /// The host has requested a pause.
    Held,
    Running,
    /// Until the configuration changes or the daemon restarts.
    Stopped,
    Waiting,
}

impl Feed {
    pub(super) fn new(settings: FeedSettings, memory: Option<FeedMemory>) -> Self {
        let mut memory = memory.unwrap_or_default();
        memory.url_hash = settings.url_hash();
        memory.rules_hash = settings.rules_hash();
        Self {
            settings,
            memory,
            stopped: None,
            is_running: false,
            waiting_since: None,
            edition: 0,
            by_hand: false,
            chain: None,
        }
    }

    /// Takes over what was remembered under settings that may have been others.
    pub(super) fn restored(settings: FeedSettings, mut memory: FeedMemory) -> Self {
        let has_other_rules = memory.rules_hash != settings.rules_hash();
        if has_other_rules {
            memory.seen.reconsider();
        }
        if has_other_rules || memory.url_hash != settings.url_hash() {
            (memory.etag, memory.last_modified, memory.next_check) = (None, None, None);
            (memory.failures, memory.attempts, memory.last_error) = (0, 0, None);
        }
        memory.refusal.take_if(|refusal| refusal.settings != settings.hash());
        Self::new(settings, Some(memory))
    }

    pub(super) fn of_edition(self, edition: u64) -> Self {
        Self { edition, ..self }
    }

    pub(super) fn fetch_now(&mut self) {
        self.by_hand = true;
    }

    /// When there is something to do. None as long as nothing may be done.
    pub(super) fn due(&self, now: UnixTime) -> Option<UnixTime> {
        if !self.settings.enabled || self.stopped.is_some() {
            return None;
        }
        let take = self.memory.wanted.iter().map(|item| sane(item.not_before, now)).min();
        Some(take.map_or(self.fetch_due(now), |take| take.min(self.fetch_due(now))))
    }

    fn fetch_due(&self, now: UnixTime) -> UnixTime {
        match self.memory.next_check {
            Some(next) if !self.by_hand && self.chain.is_none() => sane(next, now),
            _ => now,
        }
    }

    /// What was due first: a call, or some items in the order in which they came.
    pub(super) fn next(&self, now: UnixTime) -> Option<Next> {
        let due = self.due(now).filter(|due| *due <= now)?;
        let is_due = |item: &&Arc<WantedItem>| sane(item.not_before, now) <= now;
        let takes = self.memory.wanted.iter().filter(is_due);
        let first = takes.clone().map(|item| sane(item.not_before, now)).min();
        match first {
            Some(first) if self.chain.is_none() && first <= due => {
                Some(Next::Take(takes.take(MOST_TAKEN_TOGETHER).cloned().collect()))
            }
            _ => Some(self.fetch()),
        }
    }

    pub(super) fn judge(&self) -> Judge {
        Judge::with(&self.settings, &self.memory.seen)
    }

    fn fetch(&self) -> Next {
        let first = &self.settings.url;
        match &self.chain {
            None => Next::Fetch { url: first.clone(), conditional: true },
            Some(chain) => {
                let sign = if first.target().contains('?') { '&' } else { '?' };
                let url = format!("{}{sign}offset={}", first.reveal(), chain.items.len());
                let url = Url::parse(&url).unwrap_or_else(|_| first.clone());
                Next::Fetch { url, conditional: false }
            }
        }
    }

    pub(super) fn on_not_modified(&mut self, now: UnixTime) {
        self.chain = None;
        self.succeed(now);
    }

    /// None if there are more pages to read before anything can be said.
    pub(super) fn on_document(
        &mut self,
        now: UnixTime,
        headers: &Headers,
        document: Document,
        findings: Vec<Finding>,
    ) -> Option<Brought> {
        let Document { title, ttl, items, range, .. } = document;
        let is_first_page = self.chain.is_none();
        let first = || Chain { headers: headers.clone(), items: Vec::new(), pages: 0 };
        let mut chain = self.chain.take().unwrap_or_else(first);
        if is_first_page {
            self.memory.title = title;
            self.memory.ttl = ttl.map_or(0, |ttl| ttl.as_secs());
        }
        let before = chain.items.len();
        chain.items.extend(self.with_findings(now, items, findings));
        chain.pages += 1;
        let has_more = range.is_some_and(|range| self.has_more(range, &chain.items[before..]));
        if has_more && chain.pages < self.settings.pages && chain.items.len() < MOST_ITEMS {
            self.chain = Some(chain);
            return None;
        }
        let brought = self.take_in(now, chain.items);
        let is_all = brought.left_out == 0;
        // What was left out has to be offered again.
        self.memory.etag = chain.headers.etag.filter(|_| is_all);
        self.memory.last_modified = chain.headers.last_modified.filter(|_| is_all);
        self.succeed(now);
        Some(brought)
    }

    fn with_findings(
        &self,
        now: UnixTime,
        items: Vec<Item>,
        findings: Vec<Finding>,
    ) -> Vec<(Item, Finding)> {
        let mut findings = findings.into_iter();
        let judge = self.judge();
        let paired = items.into_iter().map(|item| {
            let finding = findings.next().unwrap_or_else(|| judge.finding(now, &item));
            (item, finding)
        });
        paired.collect()
    }

    fn has_more(&self, range: PageRange, items: &[(Item, Finding)]) -> bool {
        let count = items.len() as u64;
        let knows =
            |(_, finding): &(Item, Finding)| self.memory.seen.fate(finding.hashes).is_some();
        let is_first_look = self.memory.last_fetched.is_none();
        count > 0
            && range.offset.saturating_add(count) < range.total
            && (self.settings.backlog || !is_first_look)
            && !self.settings.url.target().contains("offset=")
            && !items.iter().any(knows)
    }

    fn take_in(&mut self, now: UnixTime, items: Vec<(Item, Finding)>) -> Brought {
        let is_first_look = self.memory.last_fetched.is_none();
        let is_backlog = is_first_look && !self.settings.backlog;
        let mut brought = Brought::default();
        for (item, Finding { hashes, judgement }) in items {
            if let Some(known) = self.memory.seen.fate(hashes) {
                self.memory.seen.note(now, hashes, known);
                continue;
            }
            // What was known when it was judged may have been forgotten since.
            let judgement = judgement.unwrap_or_else(|| self.judge().judgement(now, &item));
            let fate = match judgement.verdict {
                _ if is_backlog => Fate::Backlog, // whatever rules come later
                Verdict::Rejected | Verdict::Unmatched => Fate::Ignored,
                Verdict::Accepted if item.url.is_none() => Fate::WithoutNzb,
                Verdict::Accepted => Fate::Wanted,
            };
            if fate == Fate::Wanted && self.memory.wanted.len() >= MOST_WANTED {
                brought.left_out += 1;
                continue;
            }
            self.memory.seen.note(now, hashes, fate);
            brought.new += 1;
            self.note_time(now, &item);
            if fate == Fate::Wanted {
                brought.wanted += 1;
                self.want(now, hashes.guid, item, judgement.options);
            }
        }
        if brought.new > 0 {
            self.memory.usual_interval = adaptive::usual_interval(&self.memory.times).as_secs();
        }
        self.memory.seen.age_out(now);
        brought
    }

    /// A date in the future means that a clock is wrong.
    fn note_time(&mut self, now: UnixTime, item: &Item) {
        let times = &mut self.memory.times;
        times.push(item.published.unwrap_or(now).min(now));
        times.sort_unstable();
        times.drain(..times.len().saturating_sub(adaptive::ITEMS_COUNTED));
    }

    fn want(&mut self, now: UnixTime, guid: u64, item: Item, options: JobOptions) {
        let Some(url) = item.url else { return };
        self.memory.wanted.push(Arc::new(WantedItem {
            guid,
            title: item.title,
            url,
            size: item.size.map(|size| size.0),
            options,
            attempts: 0,
            not_before: now,
        }));
    }

    fn succeed(&mut self, now: UnixTime) {
        self.by_hand = false;
        self.memory.refusal = None;
        self.memory.last_fetched = Some(now);
        self.memory.next_check = Some(later(now, self.interval(now)));
        (self.memory.failures, self.memory.attempts, self.memory.last_error) = (0, 0, None);
    }

    pub(super) fn interval(&self, now: UnixTime) -> Duration {
        if let Some(interval) = self.settings.interval {
            return interval;
        }
        let usual = Duration::from_secs(self.memory.usual_interval)
            .clamp(adaptive::SHORTEST_INTERVAL, adaptive::LONGEST_INTERVAL);
        let newest = self.memory.times.last();
        let stretched =
            newest.map_or(usual, |newest| adaptive::stretched_interval(usual, *newest, now));
        stretched.max(Duration::from_secs(self.memory.ttl)).min(adaptive::LONGEST_INTERVAL)
    }

    /// A look at the feed failed. The whole of it begins anew with the next, be it at page five.
    pub(super) fn on_failure(
        &mut self,
        now: UnixTime,
        failure: &Failure,
        chance: &mut SplitMix,
    ) -> PollError {
        self.chain = None;
        self.by_hand = false;
        let error = self.error(now, failure);
        let memory = &mut self.memory;
        memory.last_error = Some(error.clone());
        memory.failures = memory.failures.saturating_add(1);
        let pause = back_off(memory.failures, chance);
        let wait = match failure.kind {
            FailureKind::Denied => return self.refused(error),
            FailureKind::Gone => {
                self.stopped = Some(error.clone());
                return error;
            }
            // The host reports the time.
            FailureKind::Limited => Duration::ZERO,
            FailureKind::Lasting => {
                memory.attempts = 0;
                self.interval(now).max(pause)
            }
            FailureKind::Transient if memory.attempts + 1 < ATTEMPTS => {
                memory.attempts += 1;
                pause
            }
            FailureKind::Transient => {
                memory.attempts = 0;
                self.interval(now)
            }
        };
        self.memory.next_check = Some(later(now, wait));
        error
    }

    pub(super) fn on_taken(&mut self, guid: u64) {
        self.memory.wanted.retain(|item| item.guid != guid);
        self.memory.seen.set_fate(guid, Fate::Taken);
    }

    /// No job could be made of an item. Its title, if it is given up.
    pub(super) fn on_take_failure(
        &mut self,
        now: UnixTime,
        guid: u64,
        failure: &Failure,
        chance: &mut SplitMix,
    ) -> (PollError, Option<Box<str>>) {
        let error = self.error(now, failure);
        let Some(at) = self.memory.wanted.iter().position(|item| item.guid == guid) else {
            return (error, None);
        };
        if failure.kind == FailureKind::Transient {
            let item = Arc::make_mut(&mut self.memory.wanted[at]);
            item.attempts = item.attempts.saturating_add(1);
            let until = later(now, back_off(item.attempts, chance));
            self.put_off_takes(until);
            return (error, None);
        }
        let item = self.memory.wanted.remove(at);
        let title = item.title.clone();
        self.give_up(item);
        (error, Some(title))
    }

    /// What hinders one just now hinders the others too.
    fn put_off_takes(&mut self, until: UnixTime) {
        for item in self.memory.wanted.iter_mut().filter(|item| item.not_before < until) {
            Arc::make_mut(item).not_before = until;
        }
    }

    fn give_up(&mut self, item: Arc<WantedItem>) {
        self.memory.seen.set_fate(item.guid, Fate::Failed);
        if self.memory.given_up.len() >= MOST_GIVEN_UP {
            self.memory.given_up.pop_front();
        }
        self.memory.given_up.push_back(item);
    }

    /// What was given up is wanted again; how many that are.
    pub(super) fn retry(&mut self, now: UnixTime) -> usize {
        let items = std::mem::take(&mut self.memory.given_up);
        let count = items.len();
        for item in items {
            self.memory.seen.set_fate(item.guid, Fate::Wanted);
            let item = WantedItem { attempts: 0, not_before: now, ..Arc::unwrap_or_clone(item) };
            self.memory.wanted.push(Arc::new(item));
        }
        count
    }

    /// Until the configuration changes or the daemon restarts.
    pub(super) fn stop(&mut self, now: UnixTime, failure: &Failure) -> PollError {
        let error = self.error(now, failure);
        self.refused(error)
    }

    fn refused(&mut self, error: PollError) -> PollError {
        let settings = self.settings.hash();
        self.memory.refusal = Some(Refusal { error: error.clone(), settings });
        self.stopped = Some(error.clone());
        error
    }

    /// Stops where the login was refused before, with the settings as they are now.
    pub(super) fn keep_refusal(&mut self) -> bool {
        self.stopped = self.memory.refusal.as_ref().map(|refusal| refusal.error.clone());
        self.stopped.is_some()
    }

    /// What the server said when it refused the login.
    pub(super) fn refusal(&self) -> Option<&PollError> {
        self.memory.refusal.as_ref().map(|refusal| &refusal.error)
    }

    fn error(&self, now: UnixTime, failure: &Failure) -> PollError {
        PollError {
            at: now,
            feed: self.settings.name.clone(),
            code: failure.code.clone(),
            message: failure.message.clone(),
        }
    }
}

/// No date is that far ahead; the calendar must have been set back since.
fn sane(date: UnixTime, now: UnixTime) -> UnixTime {
    if date > later(now, LONGEST_AHEAD) { now } else { date }
}

/// Beside each other in one run, with one record of them all.
const MOST_TAKEN_TOGETHER: usize = 64;
/// Of one feed at a time, as many as one document can bring.
const MOST_WANTED: usize = MOST_ITEMS;
/// In one window; then it waits for the next.
const ATTEMPTS: u32 = 3;
/// That can be asked for again; they are few, for only addresses that are none are given up.
const MOST_GIVEN_UP: usize = 200;
/// Of all pages together, as of one document.
const MOST_ITEMS: usize = 10_000;
const LONGEST_AHEAD: Duration = Duration::from_secs(366 * 24 * 60 * 60);
