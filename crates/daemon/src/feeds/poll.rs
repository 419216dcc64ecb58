//! Feeds: what is due, what it brought, and what becomes of it.
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
    CallId, DupeMode as FeedDupeMode, Event, Failure, FailureKind, FeedId, FeedSettings, Feeds,
    Fetch, ItemKey, Memory, Reply, Take, WantedItem, Work,
};
use bergamot_poll::Wanted;
use bergamot_queue::DupeMode;
use bergamot_types::{Shown, UnixTime};
use tokio::sync::oneshot;
use tracing::{debug, info, warn};

use crate::clock;
use crate::control::call::Promise;
use crate::event::Happening;
use crate::feeds::client;
use crate::periodic::{Lane, Poll};
use crate::run::Daemon;
use crate::service_thread::vital_task;
use bergamot_config::Config;

/// The machine, and what it needs out here.
#[derive(Debug)]
pub(crate) struct FeedRoom {
    pub(crate) machine: Feeds,
    runs: usize, // that have begun and not ended
}

/// What happens to feeds.
#[derive(Debug)]
pub(crate) enum FeedNews {
    Fetched {
        feed: FeedId,
        call: CallId,
        reply: Box<Reply>,
    },
    /// What is remembered is on disk, or could not be written.
    Kept {
        feed: FeedId,
        result: Result<(), String>,
    },
    /// What became of each item that was to become a job.
    Taken {
        feed: FeedId,
        results: Vec<(ItemKey, Result<(), Failure>)>,
    },
}

impl FeedRoom {
    /// A timer starts a run again and again, so each run of feeds alone heeds earlier refusals; a
    /// daemon that is started tries again.
    pub(crate) fn new(memory: Memory, config: &Config, feeds_only: bool) -> Self {
        let mut machine = Feeds::new(memory, settings(config));
        if feeds_only {
            machine.keep_refusals();
            for (feed, error) in machine.refusals() {
                let name = machine.settings(feed).map_or("", |it| &it.name);
                warn!(
                    feed = %Shown(name), code = %error.code,
                    "not asked, for it refused the login before ({}); change its settings, or start \
                     the daemon, to try again", error.message
                );
            }
        }
        Self { machine, runs: 0 }
    }
}

fn settings(config: &Config) -> Vec<FeedSettings> {
    config.feeds.iter().filter_map(|feed| feed.settings()).collect()
}

impl Daemon {
    /// After a start, and when the configuration has changed.
    pub(crate) fn set_feed_targets(&mut self) {
        let known = |target: &Poll| match target {
            Poll::Feed(id) => self.feeds.machine.settings(*id).is_none(),
            _ => false,
        };
        let gone: Vec<_> = self.targets.targets().map(|(id, _)| id).filter(known).collect();
        for target in gone {
            self.targets.remove(target);
        }
        let ids: Vec<_> = self.feeds.machine.ids().collect();
        ids.into_iter().for_each(|id| self.set_feed_target(id));
    }

    /// Due at once if it is new; then it turns out when it really is.
    fn set_feed_target(&mut self, id: FeedId) {
        let now = clock::now();
        let due = self.feeds.machine.next_due(now.date, id);
        // What has waited longest goes first.
        let late = due.map_or(0, |due| now.date.0.saturating_sub(due.0).max(0).unsigned_abs());
        let since = now.instant.checked_sub(Duration::from_secs(late)).unwrap_or(now.instant);
        let (kind, enabled) = (Lane::Feeds, due.is_some());
        let wanted = Wanted { kind, interval: USUAL_INTERVAL, priority: 0, enabled };
        self.targets.set(since, Poll::Feed(id), wanted);
    }

    pub(crate) fn apply_feeds(&mut self) {
        self.targets.set_concurrency(Lane::Feeds, self.config.feeds_table.concurrency);
        self.feeds.machine.configure(settings(&self.config));
        self.set_feed_targets();
        let ids: Vec<_> = self.feeds.machine.ids().collect();
        let now = clock::now().instant;
        for id in ids {
            self.targets.due_now(now, Poll::Feed(id));
        }
        self.keep_feeds(None);
        self.try_all_fetches();
    }

    pub(crate) fn begin_feed(&mut self, id: FeedId) {
        let now = clock::now().date;
        match self.feeds.machine.begin(now, id) {
            Work::Fetch(fetch) => {
                self.feeds.runs += 1;
                self.fetch_feed(id, fetch);
            }
            Work::Later(until) => {
                let soon = clock::now().instant + SOON;
                self.targets.put_off(Poll::Feed(id), instant_of(until).max(soon));
            }
            Work::Nothing => {
                self.targets.put_off(Poll::Feed(id), clock::now().instant + SOON);
                self.set_feed_target(id);
            }
            Work::Take(takes) => {
                self.feeds.runs += 1;
                self.take_items(id, takes);
            }
        }
    }

    fn fetch_feed(&self, feed: FeedId, fetch: Fetch) {
        debug!(%feed, url = %fetch.url, "asked");
        let (web, outbox) = (self.web.clone(), self.outbox.clone());
        vital_task("feed", &self.outbox, async move {
            let (now, call) = (clock::now().date, fetch.call);
            let reply = Box::new(client::fetch(web.client(), now, fetch).await);
            outbox.tell(Happening::Feed(FeedNews::Fetched { feed, call, reply }));
        });
    }

    /// By the way that everybody takes who adds an NZB by its address.
    fn take_items(&self, feed: FeedId, takes: Vec<Take>) {
        let (handle, outbox) = (self.handle.clone(), self.outbox.clone());
        let has_job = |take: &Take| self.jobs.of_item(&take.key.to_string()).is_some();
        let takes: Vec<_> = takes.into_iter().map(|take| (has_job(&take), take)).collect();
        vital_task("feed-items", &self.outbox, async move {
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
            outbox.tell(Happening::Feed(FeedNews::Taken { feed, results }));
        });
    }

    pub(crate) fn on_feed(&mut self, news: FeedNews) {
        let now = clock::now().date;
        match news {
            FeedNews::Fetched { feed, call, reply } => {
                self.feeds.machine.on_fetched(now, call, *reply, &mut self.chance);
                self.after_feed(feed);
            }
            FeedNews::Taken { feed, results } => {
                for (item, result) in results {
                    self.feeds.machine.on_take(now, &item, result, &mut self.chance);
                }
                self.after_feed(feed);
            }
            FeedNews::Kept { feed, result } => {
                if let Err(why) = result {
                    warn!("what is known of the feeds could not be written: {why}");
                }
                self.end_feed_run(feed);
            }
        }
    }

    fn after_feed(&mut self, feed: FeedId) {
        self.tell_feeds();
        if !self.keep_feeds(Some(feed)) {
            self.end_feed_run(feed);
        }
    }

    /// Whether there is something to be written; then the run of that feed ends when it is.
    fn keep_feeds(&mut self, feed: Option<FeedId>) -> bool {
        let Some(kept) = self.promise_feeds() else { return false };
        let Some(feed) = feed else { return true };
        let outbox = self.outbox.clone();
        vital_task("feed-record", &self.outbox, async move {
            let result = kept.await.unwrap_or_else(|_| Err("the clerk is gone".to_owned()));
            outbox.tell(Happening::Feed(FeedNews::Kept { feed, result }));
        });
        true
    }

    /// What is remembered, if it has changed, comes to the disk.
    pub(crate) fn promise_feeds(&mut self) -> Option<Promise> {
        self.feeds.machine.take_change().then(|| {
            let (sender, kept) = oneshot::channel();
            self.clerk.keep_feeds(self.feeds.machine.memory(), sender);
            kept
        })
    }

    fn end_feed_run(&mut self, feed: FeedId) {
        self.feeds.runs -= 1;
        let now = clock::now();
        let due = self.feeds.machine.next_due(now.date, feed);
        let standing = self.feeds.machine.standing(now.date, feed);
        let is_well = standing.is_none_or(|standing| standing.trouble.is_none());
        let result = if is_well { Ok(()) } else { Err(()) };
        let until = due.map_or(now.instant, instant_of);
        self.targets.finished_until(now.instant, Poll::Feed(feed), &result, until);
        self.set_feed_target(feed);
    }

    /// The names of those whose login was refused.
    pub(crate) fn refused_feeds(&self) -> Vec<String> {
        self.feeds.machine.refusals().map(|(feed, _)| self.feed_name(feed)).collect()
    }

    /// Nothing is under way, and nothing is due.
    pub(crate) fn feeds_are_done(&self) -> bool {
        let now = clock::now().date;
        let is_due = |id| self.feeds.machine.next_due(now, id).is_some_and(|due| due <= now);
        self.feeds.runs == 0 && !self.feeds.machine.ids().any(is_due)
    }

    /// What people, watchers and other feeds have to know.
    pub(crate) fn tell_feeds(&mut self) {
        while let Some(event) = self.feeds.machine.poll_event() {
            match event {
                Event::Wake(feed) => {
                    self.targets.due_now(clock::now().instant, Poll::Feed(feed));
                }
                Event::WakeJob(job) => {
                    self.targets.due_now(clock::now().instant, Poll::Url(job));
                }
                Event::Checked { feed, new, wanted } => {
                    let name = self.feed_name(feed);
                    match new {
                        0 => debug!(feed = %Shown(&name), "nothing new"),
                        _ => info!(feed = %Shown(&name), new, wanted, "checked"),
                    }
                    self.hub.publish(News::FeedChecked { feed: feed.0, name, new, wanted });
                }
                Event::Failed { feed, error } => self.tell_feed_failure(feed, &error, false),
                Event::Stopped { feed, error } => self.tell_feed_failure(feed, &error, true),
                Event::GivenUp { feed, title } => {
                    let (name, title) = (self.feed_name(feed), Shown(&title));
                    warn!(feed = %Shown(&name), item = %title, "given up");
                }
            }
        }
    }

    fn tell_feed_failure(&self, feed: FeedId, error: &bergamot_feed::PollError, stopped: bool) {
        let name = self.feed_name(feed);
        let end = if stopped { "; it stops until its configuration changes" } else { "" };
        warn!(feed = %Shown(&name), code = %error.code, "{}{end}", error.message);
        self.hub.publish(News::FeedFailed {
            feed: feed.0,
            name,
            code: error.code.to_string(),
            message: error.message.to_string(),
            stopped,
        });
    }

    fn feed_name(&self, feed: FeedId) -> String {
        self.feeds.machine.settings(feed).map_or(String::new(), |it| it.name.to_string())
    }
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

/// What the machine says counts; this is for those who look at targets.
const USUAL_INTERVAL: Duration = Duration::from_secs(60 * 60);
/// What could not be done just now is not looked at in the same moment again.
const SOON: Duration = Duration::from_secs(1);
const LONGEST_NAP: Duration = Duration::from_secs(60 * 60);

#[cfg(test)]
mod tests {
    use bergamot_feed::{Limits, Reply, Rules};
    use bergamot_types::{SplitMix, Url};

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
