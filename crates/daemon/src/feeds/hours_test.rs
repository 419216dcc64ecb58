//! Tests of feeds over days on a virtual clock, over real HTTP: the machine and the client against a server with
//! scripted responses.

use std::time::Duration;

use bergamot_feed::{
    Event, FeedId, FeedSettings, Feeds, JobOptions, Memory, PollError, Rules, State, Work,
};
use bergamot_net::TlsSettings;
use bergamot_net::http::Client;
use bergamot_types::{SplitMix, UnixTime, Url};
use bergamot_webd::{Answer, Request, Site};
use tokio::runtime::Runtime;

use crate::feeds::client;

const FEED: FeedId = FeedId(1);
const OTHER: FeedId = FeedId(2);
const NOON: UnixTime = UnixTime(1_794_830_400); // Mon, 16 Nov 2026 12:00:00 GMT
const HOUR: i64 = 3600;
const KEY: &str = "0123456789abcdef";

/// Two feeds of one indexer, and the time.
struct Day {
    feeds: Feeds,
    now: UnixTime,
    chance: SplitMix,
    site: Site,
    client: Client,
    runtime: Runtime,
    taken: Vec<String>,
}

impl Day {
    fn new(script: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> Self {
        let site = Site::start(script).expect("a site");
        let settings = ["/feed", "/other"].map(|path| settings(&site, path));
        Self {
            feeds: Feeds::new(Memory::default(), settings.into()),
            now: NOON,
            chance: SplitMix::seeded(1),
            site,
            client: Client::new(&TlsSettings::default()).expect("a client"),
            runtime: tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("a runtime"),
            taken: Vec::new(),
        }
    }

    /// Does what is due until `feed` has been polled once more.
    fn ask(&mut self, feed: FeedId) {
        loop {
            match self.feeds.begin(self.now, feed) {
                Work::Later(until) => self.now = until,
                Work::Take(takes) => {
                    for take in takes {
                        self.taken.push(take.item.title.to_string());
                        self.feeds.on_take(self.now, &take.key, Ok(()), &mut self.chance);
                    }
                }
                Work::Fetch(fetch) => {
                    let (now, call) = (self.now, fetch.call);
                    let reply = client::fetch(&self.client, now, fetch);
                    let reply = self.runtime.block_on(reply);
                    self.feeds.on_fetched(now, call, reply, &mut self.chance);
                    return;
                }
                Work::Nothing => panic!("{feed} may do nothing"),
            }
        }
    }

    /// The same with another answer from now on.
    fn answered(&mut self, feed: FeedId, answer: Answer) {
        self.site.turn_to(move |_| answer.clone());
        self.ask(feed);
    }

    fn due(&self, feed: FeedId) -> Option<i64> {
        self.feeds.next_due(self.now, feed).map(|due| due.0 - self.now.0)
    }

    fn error(&self) -> PollError {
        self.feeds.errors().next_back().expect("something went wrong").clone()
    }

    fn requests(&self) -> usize {
        self.site.requests().len()
    }

    fn state(&self, feed: FeedId) -> State {
        self.feeds.standing(self.now, feed).expect("a feed").state
    }
}

fn settings(site: &Site, path: &str) -> FeedSettings {
    FeedSettings {
        name: path.into(),
        url: Url::parse(&format!("{}?apikey={KEY}", site.url(path))).expect("an address"),
        enabled: true,
        rules: Rules::default(),
        rules_text: "".into(),
        options: JobOptions::default(),
        backlog: true,
        interval: None,
        pages: 1,
        allow_private: false,
    }
}

fn rss(names: &[&str]) -> String {
    let item = |(n, name): (usize, &&str)| {
        let time = chrono::DateTime::from_timestamp(NOON.0 - n as i64 * HOUR, 0).expect("a time");
        format!(
            "<item><title>{name}</title><guid>{name}</guid><link>http://x.example/{name}</link>\
             <pubDate>{}</pubDate></item>",
            time.to_rfc2822()
        )
    };
    let items: String = names.iter().enumerate().map(item).collect();
    format!("<rss version=\"2.0\"><channel><title>t</title>{items}</channel></rss>")
}

fn good(names: &[&str]) -> Answer {
    Answer::new(200).header("ETag", "\"1\"").body(rss(names))
}

#[test]
fn hours_with_news_and_hours_without() {
    let mut day = Day::new(|_| good(&["b", "a"]));
    day.ask(FEED);
    assert!(day.feeds.take_change());
    day.site.turn_to(|request| match request.header("if-none-match") {
        Some("\"1\"") => Answer::new(304).header("ETag", "\"1\""),
        other => panic!("it asked with {other:?}"),
    });
    day.ask(FEED);
    assert_eq!(day.taken, ["b", "a"]);
    assert_eq!((day.now.0 - NOON.0, day.due(FEED)), (HOUR, Some(HOUR)), "the gap of the items");
    day.ask(FEED);
    day.ask(FEED);
    assert_eq!(day.now.0 - NOON.0, 3 * HOUR);
    let changed = Answer::new(200).header("ETag", "\"2\"").body(rss(&["c", "b", "a"]));
    day.answered(FEED, changed);
    day.site.turn_to(|request| match request.header("if-none-match") {
        Some("\"2\"") => Answer::new(304),
        other => panic!("it asked with {other:?}"),
    });
    day.ask(FEED);
    assert_eq!(day.taken, ["b", "a", "c"]);
    assert_eq!(day.requests(), 6);
}

#[test]
fn a_server_that_asks_for_patience_gets_it_for_all_its_feeds() {
    let mut day = Day::new(|_| good(&[]));
    day.ask(FEED);
    day.ask(OTHER);
    let start = day.now;
    day.answered(FEED, Answer::new(429).header("Retry-After", "7200"));
    assert_eq!((day.state(OTHER), day.due(OTHER)), (State::Held, Some(7200)));
    let asked_at = day.now;
    day.answered(OTHER, good(&[]));
    assert_eq!(day.now.0 - asked_at.0, 7200);
    assert!(day.now > start);

    let date = chrono::DateTime::from_timestamp(day.now.0 + HOUR + 300, 0).expect("a time");
    let date = date.format("%a, %d %b %Y %H:%M:%S GMT").to_string();
    day.answered(FEED, Answer::new(429).header("Retry-After", &date));
    assert_eq!(day.due(OTHER), Some(HOUR + 300));

    for garbage in ["soon", "-12", "999999999999", "Thu, 16 Nov 2056 12:00:00 GMT"] {
        day.answered(FEED, Answer::new(503).header("Retry-After", garbage));
        let due = day.due(OTHER).expect("it goes on");
        assert!((1..=24 * HOUR).contains(&due), "{garbage}: {due}");
    }

    let reset = (day.now.0 + 30 * HOUR).to_string();
    let limited =
        good(&[]).header("X-RateLimit-Remaining", "0").header("X-RateLimit-Reset", &reset);
    day.answered(OTHER, limited);
    let due = day.due(FEED).expect("it goes on");
    assert!(due > 2 * HOUR && due <= 24 * HOUR, "{due}");
}

#[test]
fn trouble_of_every_kind_leaves_what_was_known_as_it_was() {
    let mut day = Day::new(|_| good(&["b", "a"]));
    day.ask(FEED);
    let bomb = "<!DOCTYPE r [<!ENTITY a \"aa\">]><rss>&a;</rss>";
    let cut = Answer::new(200).body(rss(&["c"])).cut_after(60);
    let many = "<rss><channel>".to_owned() + &"<item><guid>x</guid></item>".repeat(10_001);
    let circle = day.site.url("/feed") + &format!("?apikey={KEY}");
    for (answer, code) in [
        (Answer::new(200).body("<html>Please log in</html>"), "feed.malformed"),
        (Answer::new(200), "feed.malformed"),
        (Answer::new(200).body(bomb), "feed.malformed"),
        (Answer::new(200).body(rss(&["c"]).split_at(60).0), "feed.malformed"),
        (Answer::new(200).body(many), "feed.too_many_items"),
        (Answer::new(200).body("<error code='300' description='no'/>"), "feed.indexer"),
        (Answer::new(200).body(vec![b' '; 64 << 10]).endless(), "url.too_large"),
        (Answer::new(200).header("Content-Encoding", "gzip").body("no gzip"), "url.damaged"),
        (cut, "url.cut"),
        (Answer::new(404), "feed.status"),
        (Answer::new(500), "feed.status"),
        (Answer::redirect(302, &circle), "url.redirects"),
        (Answer::redirect(302, "file:///etc/passwd"), "url.forbidden"),
        (Answer::raw("nonsense\r\n\r\n"), "url.malformed"),
    ] {
        day.answered(FEED, answer);
        let error = day.error();
        assert_eq!((&*error.code, &*error.feed), (code, "/feed"), "{}", error.message);
        assert!(!error.message.contains(KEY), "{}", error.message);
        assert_eq!(day.state(FEED), State::Failing, "{code}");
        assert!(day.due(FEED) >= Some(60), "{code}");
    }
    day.answered(FEED, good(&["c", "b", "a"]));
    day.answered(FEED, Answer::new(304));
    assert_eq!(day.taken, ["b", "a", "c"], "nothing twice, nothing missed");
    assert_eq!(day.state(FEED), State::Waiting);
}

#[test]
fn three_attempts_and_then_the_next_window() {
    let mut day = Day::new(|_| Answer::new(500));
    let mut pauses = Vec::new();
    for _ in 0..6 {
        day.ask(FEED);
        pauses.push(day.due(FEED).expect("it goes on"));
    }
    let within = |at: usize, least: i64| (least..=least * 5 / 4 + 1).contains(&pauses[at]);
    assert!(within(0, 60) && within(1, 120) && pauses[2] == HOUR, "{pauses:?}");
    assert!(within(3, 480) && within(4, 960) && pauses[5] == HOUR, "{pauses:?}");
}

#[test]
fn a_refusal_ends_all_calls_to_the_host() {
    for status in [401, 403] {
        let mut day = Day::new(|_| good(&[]));
        day.ask(OTHER);
        day.answered(FEED, Answer::new(status));
        let requests = day.requests();
        day.now = UnixTime(day.now.0 + 1000 * HOUR);
        for feed in [FEED, OTHER] {
            assert!(matches!(day.feeds.begin(day.now, feed), Work::Nothing));
            assert_eq!((day.state(feed), day.due(feed)), (State::Stopped, None));
        }
        assert_eq!(day.requests(), requests, "{status}");
        let stopped = std::iter::from_fn(|| day.feeds.poll_event())
            .any(|event| matches!(event, Event::Stopped { feed: FEED, .. }));
        assert!(stopped);
    }
}

#[test]
fn a_redirect_into_a_private_network_is_refused_unless_allowed() {
    let inner = Site::start(|_| good(&["inner"])).expect("a site");
    let way_in = inner.url("/feed");
    let mut day = Day::new(|_| good(&[]));
    day.answered(FEED, Answer::redirect(302, &way_in));
    assert_eq!(&*day.error().code, "url.forbidden");
    assert_eq!(inner.requests().len(), 0, "no connection to the private host");
    let mut allowed = settings(&day.site, "/feed");
    allowed.allow_private = true;
    day.feeds.configure(vec![allowed]);
    day.ask(FEED);
    day.answered(FEED, Answer::new(304));
    assert_eq!(day.taken, ["inner"]);
}

/// The timeout of the client bounds a request; a timeout has an error code of its own and counts as transient.
#[test]
fn a_server_that_says_nothing_is_given_up_upon() {
    let mut day = Day::new(|_| Answer::silence());
    let patience = Duration::from_secs(1);
    let url = settings(&day.site, "/feed").url;
    let request = bergamot_net::http::Request {
        limit: patience,
        reach: bergamot_net::http::Reach::FirstAnywhere,
        ..bergamot_net::http::Request::new(&url)
    };
    let error = day.runtime.block_on(day.client.get(request)).expect_err("it is silent");
    assert_eq!(error.code(), "url.timeout");
    assert!(error.is_passing() && !error.to_string().contains(KEY));
    day.answered(FEED, good(&["a"]));
    assert_eq!(day.state(FEED), State::Waiting);
}
