//! [`FeedDriver`]: the machine of the feeds, and the tasks that read them. Owned by the main loop; each feed is
//! read in a task of its own.
//!
//! Each feed is a target of the one scheduler. A run of it is one call, or some items that become jobs,
//! and ends when what is remembered of it is on disk: so an item is on record as wanted before there
//! is a job of it, and the job carries the item's key. After a sudden end in between, the item is
//! wanted still, and the job is found.

use std::time::{Duration, Instant};

use bergamot_api::request::{Content, NewJob};
use bergamot_api::view::Parameter;
use bergamot_api::{Control, Event as News, Refusal};
use bergamot_feed::{
    CallId, DupeMode as FeedDupeMode, Event as MachineEvent, Failure, FailureKind, FeedId,
    FeedSettings, Feeds, Fetch, Headers, HostRefusal, ItemKey, Memory, NzbOutcome, Reply, Take,
    WantedItem, Work,
};
use bergamot_jobs::JobList;
use bergamot_jobs::machine::StoreFailure;
use bergamot_poll::Wanted;
use bergamot_queue::DupeMode;
use bergamot_rpc::Hub;
use bergamot_types::{JobId, Shown, SplitMix, UnixTime, Url};
use tokio::sync::oneshot;
use tracing::{debug, info, warn};

use crate::clock;
use crate::control::call::Promise;
use crate::control::handle::Handle;
use crate::event::Event;
use crate::feeds::client;
use crate::intake::url_client::Web;
use crate::periodic::{Lane, Poll, Targets};
use crate::service_thread::service_task;
use crate::spool::state_thread::StateThread;
use bergamot_config::Config;

/// The machine, and what it needs out here.
#[derive(Debug)]
pub(crate) struct FeedDriver {
    pub(super) machine: Feeds,
    runs: usize, // that have begun and not ended
    web: Web,
    /// Adds jobs, as any client does.
    handle: Handle,
}

/// What feeds need of the main loop.
pub(crate) struct FeedContext<'a> {
    pub(crate) jobs: &'a JobList,
    pub(crate) targets: &'a mut Targets,
    pub(crate) chance: &'a mut SplitMix,
    pub(crate) state_thread: &'a StateThread,
    pub(crate) hub: &'a Hub,
}

/// What happens to feeds.
#[derive(Debug)]
pub(crate) enum FeedEvent {
    Fetched {
        feed: FeedId,
        call: CallId,
        reply: Box<Reply>,
    },
    /// What is remembered is on disk, or could not be written.
    Kept {
        feed: FeedId,
        result: Result<(), StoreFailure>,
    },
    /// The result of each item that was to be added as a job.
    Taken {
        feed: FeedId,
        results: Vec<(ItemKey, Result<(), Failure>)>,
    },
}

impl FeedDriver {
    /// A run that only polls feeds is started periodically by a timer, so it keeps the refused logins of earlier
    /// runs; a daemon tries them again at its start.
    pub(crate) fn new(
        memory: Memory,
        config: &Config,
        feeds_only: bool,
        web: Web,
        handle: Handle,
    ) -> Self {
        let mut machine = Feeds::new(memory, settings(config));
        if feeds_only {
            machine.keep_refusals();
            for (feed, error) in machine.refusals() {
                let name = machine.settings(feed).map_or("", |it| &it.name);
                warn!(
                    feed = %Shown(name), code = %error.code,
                    "not polled, for it refused the login before ({}); change its settings, or start \
                     the daemon, to try again", error.message
                );
            }
        }
        Self { machine, runs: 0, web, handle }
    }

    /// After a start, and when the configuration has changed.
    pub(crate) fn set_targets(&mut self, with: &mut FeedContext<'_>) {
        let known = |target: &Poll| match target {
            Poll::Feed(id) => self.machine.settings(*id).is_none(),
            _ => false,
        };
        let gone: Vec<_> = with.targets.targets().map(|(id, _)| id).filter(known).collect();
        for target in gone {
            with.targets.remove(target);
        }
        let ids: Vec<_> = self.machine.ids().collect();
        ids.into_iter().for_each(|id| self.set_target(with, id));
    }

    /// Due at once if it is new; then it turns out when it really is.
    fn set_target(&mut self, with: &mut FeedContext<'_>, id: FeedId) {
        let now = clock::now();
        let due = self.machine.next_due(now.date, id);
        // What has waited longest goes first.
        let late = due.map_or(0, |due| now.date.0.saturating_sub(due.0).max(0).unsigned_abs());
        let since = now.instant.checked_sub(Duration::from_secs(late)).unwrap_or(now.instant);
        let (kind, enabled) = (Lane::Feeds, due.is_some());
        let wanted = Wanted { kind, interval: USUAL_INTERVAL, priority: 0, enabled };
        with.targets.set(since, Poll::Feed(id), wanted);
    }

    pub(crate) fn apply(&mut self, with: &mut FeedContext<'_>, config: &Config) {
        with.targets.set_concurrency(Lane::Feeds, config.feeds_table.concurrency);
        self.machine.configure(settings(config));
        self.set_targets(with);
        let ids: Vec<_> = self.machine.ids().collect();
        let now = clock::now().instant;
        for id in ids {
            with.targets.due_now(now, Poll::Feed(id));
        }
        self.keep(with, None);
    }

    pub(crate) fn begin(&mut self, with: &mut FeedContext<'_>, id: FeedId) {
        let now = clock::now().date;
        match self.machine.begin(now, id) {
            Work::Fetch(fetch) => {
                self.runs += 1;
                self.fetch(id, fetch);
            }
            Work::Later(until) => {
                let soon = clock::now().instant + SOON;
                with.targets.put_off(Poll::Feed(id), instant_of(until).max(soon));
            }
            Work::Nothing => {
                with.targets.put_off(Poll::Feed(id), clock::now().instant + SOON);
                self.set_target(with, id);
            }
            Work::Take(takes) => {
                self.runs += 1;
                self.take_items(with, id, takes);
            }
        }
    }

    fn fetch(&self, feed: FeedId, fetch: Fetch) {
        debug!(%feed, url = %fetch.url, "asked");
        let (web, events) = (self.web.clone(), self.handle.events.clone());
        service_task("feed", &self.handle.events, async move {
            let (now, call) = (clock::now().date, fetch.call);
            let reply = Box::new(client::fetch(web.client(), now, fetch).await);
            events.send(Event::Feed(FeedEvent::Fetched { feed, call, reply }));
        });
    }

    /// Adds the items by the same call that adds an NZB by its URL for control interfaces.
    fn take_items(&self, with: &FeedContext<'_>, feed: FeedId, takes: Vec<Take>) {
        let (handle, events) = (self.handle.clone(), self.handle.events.clone());
        let has_job = |take: &Take| with.jobs.of_item(&take.key.to_string()).is_some();
        let takes: Vec<_> = takes.into_iter().map(|take| (has_job(&take), take)).collect();
        service_task("feed-items", &self.handle.events, async move {
            let mut results = Vec::with_capacity(takes.len());
            for (has_job, Take { key, item }) in takes {
                let added = match has_job {
                    true => Ok(()),
                    false => handle.add(new_job(&key, &item)).await.map(drop),
                };
                let result = added.map_err(|refusal| failure(&refusal));
                let has_to_wait = matches!(&result, Err(it) if it.kind == FailureKind::Transient);
                results.push((key, result));
                if has_to_wait {
                    break;
                }
            }
            events.send(Event::Feed(FeedEvent::Taken { feed, results }));
        });
    }

    pub(crate) fn on_event(&mut self, with: &mut FeedContext<'_>, news: FeedEvent) {
        let now = clock::now().date;
        match news {
            FeedEvent::Fetched { feed, call, reply } => {
                self.machine.on_fetched(now, call, *reply, with.chance);
                self.after_run(with, feed);
            }
            FeedEvent::Taken { feed, results } => {
                for (item, result) in results {
                    self.machine.on_take(now, &item, result, with.chance);
                }
                self.after_run(with, feed);
            }
            FeedEvent::Kept { feed, result } => {
                if let Err(why) = result {
                    warn!("what is known of the feeds could not be written: {why}");
                }
                self.end_run(with, feed);
            }
        }
    }

    fn after_run(&mut self, with: &mut FeedContext<'_>, feed: FeedId) {
        self.handle_events(with);
        if !self.keep(with, Some(feed)) {
            self.end_run(with, feed);
        }
    }

    /// Whether there is something to be written; then the run of that feed ends when it is.
    fn keep(&mut self, with: &mut FeedContext<'_>, feed: Option<FeedId>) -> bool {
        let Some(kept) = self.promise(with) else { return false };
        let Some(feed) = feed else { return true };
        let events = self.handle.events.clone();
        service_task("feed-record", &self.handle.events, async move {
            // Without an answer the daemon is about to end.
            if let Ok(result) = kept.await {
                events.send(Event::Feed(FeedEvent::Kept { feed, result }));
            }
        });
        true
    }

    /// What is remembered, if it has changed, comes to the disk.
    pub(crate) fn promise(&mut self, with: &mut FeedContext<'_>) -> Option<Promise> {
        self.machine.take_change().then(|| {
            let (sender, kept) = oneshot::channel();
            with.state_thread.write_feeds(self.machine.memory(), sender);
            kept
        })
    }

    fn end_run(&mut self, with: &mut FeedContext<'_>, feed: FeedId) {
        self.runs -= 1;
        let now = clock::now();
        let due = self.machine.next_due(now.date, feed);
        let standing = self.machine.standing(now.date, feed);
        let is_well = standing.is_none_or(|standing| standing.trouble.is_none());
        let result = if is_well { Ok(()) } else { Err(()) };
        let until = due.map_or(now.instant, instant_of);
        with.targets.finished_until(now.instant, Poll::Feed(feed), &result, until);
        self.set_target(with, feed);
    }

    /// The names of the feeds whose login was refused.
    pub(crate) fn refused(&self) -> Vec<String> {
        self.machine.refusals().map(|(feed, _)| self.name_or_empty(feed)).collect()
    }

    /// Nothing is under way, and nothing is due.
    pub(crate) fn are_done(&self) -> bool {
        let now = clock::now().date;
        let is_due = |id| self.machine.next_due(now, id).is_some_and(|due| due <= now);
        self.runs == 0 && !self.machine.ids().any(is_due)
    }

    /// Logs and publishes what happened, and wakes other feeds and jobs.
    pub(crate) fn handle_events(&mut self, with: &mut FeedContext<'_>) {
        while let Some(event) = self.machine.poll_event() {
            match event {
                MachineEvent::Wake(feed) => {
                    with.targets.due_now(clock::now().instant, Poll::Feed(feed));
                }
                MachineEvent::WakeJob(job) => {
                    with.targets.due_now(clock::now().instant, Poll::Url(job));
                }
                MachineEvent::Checked { feed, new, wanted } => {
                    let name = self.name_or_empty(feed);
                    match new {
                        0 => debug!(feed = %Shown(&name), "nothing new"),
                        _ => info!(feed = %Shown(&name), new, wanted, "checked"),
                    }
                    with.hub.publish(News::FeedChecked { feed: feed.0, name, new, wanted });
                }
                MachineEvent::Failed { feed, error } => {
                    self.publish_failure(with, feed, &error, false)
                }
                MachineEvent::Stopped { feed, error } => {
                    self.publish_failure(with, feed, &error, true)
                }
                MachineEvent::GivenUp { feed, title } => {
                    let (name, title) = (self.name_or_empty(feed), Shown(&title));
                    warn!(feed = %Shown(&name), item = %title, "given up");
                }
            }
        }
    }

    fn publish_failure(
        &self,
        with: &FeedContext<'_>,
        feed: FeedId,
        error: &bergamot_feed::PollError,
        stopped: bool,
    ) {
        let name = self.name_or_empty(feed);
        let end = if stopped { "; it stops until its configuration changes" } else { "" };
        warn!(feed = %Shown(&name), code = %error.code, "{}{end}", error.message);
        with.hub.publish(News::FeedFailed {
            feed: feed.0,
            name,
            code: error.code.to_string(),
            message: error.message.to_string(),
            stopped,
        });
    }

    fn name_or_empty(&self, feed: FeedId) -> String {
        self.machine.settings(feed).map_or(String::new(), |it| it.name.to_string())
    }

    pub(crate) fn web(&self) -> Web {
        self.web.clone()
    }

    pub(crate) fn name(&self, feed: FeedId) -> Option<String> {
        self.machine.settings(feed).map(|it| it.name.to_string())
    }

    /// Whether one is being read.
    pub(crate) fn is_active(&self) -> bool {
        self.machine.is_active()
    }

    /// Reserves the host of an NZB: one call per host at a time, and none during its back-off. Feeds and jobs share
    /// this limit.
    pub(crate) fn begin_nzb(
        &mut self,
        now: UnixTime,
        url: &Url,
        job: JobId,
    ) -> Result<CallId, HostRefusal> {
        self.machine.begin_nzb(now, url, job)
    }

    pub(crate) fn end_nzb(
        &mut self,
        with: &mut FeedContext<'_>,
        call: CallId,
        headers: &Headers,
        outcome: NzbOutcome,
    ) {
        self.machine.end_nzb(clock::now().date, call, headers, outcome);
        self.handle_events(with);
    }

    /// The job does not wait for a host any more.
    pub(crate) fn forget_nzb(&mut self, job: JobId) {
        self.machine.forget_nzb(job);
    }
}

fn settings(config: &Config) -> Vec<FeedSettings> {
    config.feeds.iter().filter_map(|feed| feed.settings()).collect()
}

fn new_job(key: &ItemKey, item: &WantedItem) -> NewJob {
    let WantedItem { title, url, options, .. } = item.clone();
    NewJob {
        name: title.replace(['/', '\\'], "_"),
        content: Content::Url(url),
        category: options.category.map(String::from),
        priority: options.priority,
        at_top: false,
        paused: options.paused.unwrap_or(false),
        dupe_key: options.dupe_key.map(String::from).unwrap_or_default(),
        dupe_score: options.dupe_score.unwrap_or(0),
        dupe_mode: dupe_mode(options.dupe_mode),
        password: None,
        parameters: vec![Parameter { name: ITEM.to_owned(), value: key.to_string() }],
        auto_category: true,
    }
}

pub(crate) fn dupe_mode(mode: Option<FeedDupeMode>) -> DupeMode {
    match mode {
        Some(FeedDupeMode::All) => DupeMode::All,
        Some(FeedDupeMode::Force) => DupeMode::Force,
        Some(FeedDupeMode::Score) | None => DupeMode::Score,
    }
}

/// An address that is none stays none; the disk may take it later.
fn failure(refusal: &Refusal) -> Failure {
    let kind = match refusal {
        Refusal::ForbiddenUrl(_) | Refusal::Invalid(_) => FailureKind::Lasting,
        _ => FailureKind::Transient,
    };
    Failure { kind, code: "feed.not_added".into(), message: refusal.to_string().into() }
}

/// The calendar may be set, and machines sleep; so nothing waits longer than this without a look.
pub(crate) fn instant_of(date: UnixTime) -> Instant {
    let now = clock::now();
    let left = date.0.saturating_sub(now.date.0).max(0).unsigned_abs();
    now.instant + Duration::from_secs(left).min(LONGEST_NAP)
}

/// The parameter by which a job knows the item it came from.
pub(crate) use bergamot_jobs::ITEM;

/// For the views of targets only: the machine of the feeds decides when a feed is polled.
const USUAL_INTERVAL: Duration = Duration::from_secs(60 * 60);
/// A target that could not run is not tried again at once.
const SOON: Duration = Duration::from_secs(1);
const LONGEST_NAP: Duration = Duration::from_secs(60 * 60);

#[cfg(test)]
mod tests {
    use bergamot_feed::{Limits, Reply, Rules};

    use super::*;

    /// The item that a feed with this title offers.
    fn offered(title: &str) -> Take {
        let settings = FeedSettings {
            name: "a".into(),
            url: Url::parse("http://a.example").unwrap(),
            enabled: true,
            rules: Rules::default(),
            rules_text: "".into(),
            options: Default::default(),
            backlog: true,
            interval: None,
            pages: 1,
            allow_private: false,
        };
        let mut feeds = Feeds::new(Memory::default(), vec![settings]);
        let (now, one) = (UnixTime(1_800_000_000), FeedId(1));
        let Work::Fetch(fetch) = feeds.begin(now, one) else { panic!("it is due") };
        let item = format!("<item><title>{title}</title><link>http://a.example/1</link></item>");
        let text = format!("<rss><channel>{item}</channel></rss>");
        let reply = Reply::read(200, Default::default(), text.as_bytes(), &Limits::default());
        feeds.on_fetched(now, fetch.call, reply, &mut SplitMix::seeded(1));
        let Work::Take(mut takes) = feeds.begin(now, one) else { panic!("it is wanted") };
        takes.swap_remove(0)
    }

    #[test]
    fn a_title_is_a_name_and_never_a_path() {
        for (title, name) in [
            ("Some.Show", "Some.Show"),
            ("../../etc/passwd", ".._.._etc_passwd"),
            ("..\\..\\x", ".._.._x"),
            ("/absolute", "_absolute"),
        ] {
            let Take { key, item } = offered(title);
            let new = new_job(&key, &item);
            assert_eq!(new.name, name);
            let parameter = Parameter { name: ITEM.to_owned(), value: key.to_string() };
            assert_eq!(new.parameters, [parameter]);
        }
    }
}
