//! Days of feeds on a virtual clock.

use std::time::Duration;

use bergamot_feed::{
    CallId, Event, Failure, FailureKind, Fate, FeedId, FeedSettings, Feeds, Fetch, Headers,
    HostRefusal, JobOptions, Limits, Memory, NzbOutcome, Reply, Rules, State, Take, Work,
};
use bergamot_types::{JobId, SplitMix, UnixTime, Url};
use proptest::prelude::*;

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
const ONE: FeedId = FeedId(1);
const TWO: FeedId = FeedId(2);

struct World {
    feeds: Feeds,
    now: UnixTime,
    chance: SplitMix,
}

fn feed(name: &str, url: &str) -> FeedSettings {
    FeedSettings {
        name: name.into(),
        url: address(url),
        enabled: true,
        rules: Rules::default(),
        rules_text: "".into(),
        options: JobOptions::default(),
        backlog: true,
        interval: None,
        pages: 5,
        allow_private: false,
    }
}

fn job_id(number: u32) -> JobId {
    JobId(number)
}

fn with_rules(settings: FeedSettings, rules: &str) -> FeedSettings {
    FeedSettings {
        rules: Rules::parse(rules).expect("it is there"),
        rules_text: rules.into(),
        ..settings
    }
}

fn rss(items: &[(&str, i64)], extra: &str) -> String {
    let item = |(name, at): &(&str, i64)| {
        let date = chrono::DateTime::from_timestamp(*at, 0).expect("it is there").to_rfc3339();
        format!(
            "<item><title>{name}</title><guid>{name}</guid><pubDate>{date}</pubDate>\
             <enclosure url='http://a.example/{name}.nzb' type='application/x-nzb'/></item>"
        )
    };
    let items: String = items.iter().map(item).collect();
    format!("<rss><channel><title>t</title>{extra}{items}</channel></rss>")
}

impl World {
    fn new(settings: Vec<FeedSettings>) -> Self {
        Self::restored(Memory::default(), settings)
    }

    fn restored(memory: Memory, settings: Vec<FeedSettings>) -> Self {
        let feeds = Feeds::new(memory, settings);
        Self { feeds, now: UnixTime(1_800_000_000), chance: SplitMix::seeded(1) }
    }

    /// As if the process had ended and the state been read from its file.
    fn restart(self, settings: Vec<FeedSettings>) -> Self {
        let text = serde_json::to_string(&self.feeds.memory()).expect("it is there");
        let memory = serde_json::from_str(&text).expect("it is there");
        Self { now: self.now, ..Self::restored(memory, settings) }
    }

    fn pass(&mut self, seconds: i64) {
        self.now = UnixTime(self.now.0 + seconds);
    }

    fn fetch(&mut self, feed: FeedId) -> Fetch {
        match self.feeds.begin(self.now, feed) {
            Work::Fetch(fetch) => fetch,
            other => panic!("{other:?}"),
        }
    }

    fn begin_nzb(&mut self, url: &Url, job: u32) -> Result<CallId, HostRefusal> {
        self.feeds.begin_nzb(self.now, url, job_id(job))
    }

    fn end_nzb(&mut self, call: CallId, outcome: NzbOutcome) {
        self.feeds.end_nzb(self.now, call, &Headers::default(), outcome);
    }

    fn begin_takes(&mut self, feed: FeedId) -> Vec<Take> {
        match self.feeds.begin(self.now, feed) {
            Work::Take(takes) => takes,
            other => panic!("{other:?}"),
        }
    }

    /// Only the first of those that could be taken together.
    fn begin_take(&mut self, feed: FeedId) -> Take {
        self.begin_takes(feed).swap_remove(0)
    }

    /// Of the first feed.
    fn wanted(&self) -> usize {
        self.feeds.standing(self.now, ONE).expect("it is there").wanted
    }

    fn later(&mut self, feed: FeedId) -> i64 {
        match self.feeds.begin(self.now, feed) {
            Work::Later(until) => until.0 - self.now.0,
            other => panic!("{other:?}"),
        }
    }

    fn answer(&mut self, feed: FeedId, status: u16, headers: Headers, body: &str) {
        let fetch = self.fetch(feed);
        let reply = Reply::read(status, headers, body.as_bytes(), &Limits::default());
        self.feeds.on_fetched(self.now, fetch.call, reply, &mut self.chance);
    }

    fn bring(&mut self, feed: FeedId, body: &str) {
        self.answer(feed, 200, Headers::default(), body);
    }

    fn take(&mut self, feed: FeedId) -> String {
        let Take { key, item } = self.begin_take(feed);
        self.feeds.on_take(self.now, &key, Ok(()), &mut self.chance);
        item.title.to_string()
    }

    fn fail_to_take(&mut self, feed: FeedId, kind: FailureKind) {
        let Take { key, .. } = self.begin_take(feed);
        self.feeds.on_take(self.now, &key, Err(failure(kind)), &mut self.chance);
    }

    /// Seconds until there is something to do.
    fn due(&self, feed: FeedId) -> Option<i64> {
        self.feeds.next_due(self.now, feed).map(|due| due.0 - self.now.0)
    }

    fn events(&mut self) -> Vec<Event> {
        std::iter::from_fn(|| self.feeds.poll_event()).collect()
    }

    fn state(&self, feed: FeedId) -> State {
        self.feeds.standing(self.now, feed).expect("it is there").state
    }

    fn ago(&self, seconds: i64) -> i64 {
        self.now.0 - seconds
    }
}

fn failure(kind: FailureKind) -> Failure {
    Failure { kind, code: "url.x".into(), message: "no".into() }
}

fn address(text: &str) -> Url {
    Url::parse(text).expect("an address")
}

fn retry_after(text: &str) -> Headers {
    Headers { retry_after: Some(text.into()), ..Headers::default() }
}

#[test]
fn new_items_are_wanted_once_and_set_the_pace() {
    let mut world = World::new(vec![feed("a", "http://a.example/rss")]);
    let (early, late) = (world.ago(3 * HOUR), world.ago(HOUR));
    world.bring(ONE, &rss(&[("two", late), ("one", early)], ""));
    assert_eq!(world.events(), [Event::Checked { feed: ONE, new: 2, wanted: 2 }]);
    assert!(world.feeds.take_change() && !world.feeds.take_change());
    assert_eq!(world.due(ONE), Some(0), "items are taken at once");
    assert_eq!([world.take(ONE), world.take(ONE)], ["two", "one"]);
    assert_eq!(world.due(ONE), Some(2 * HOUR), "the mean gap");
    assert_eq!(world.later(ONE), 2 * HOUR);

    world.pass(2 * HOUR);
    world.answer(ONE, 304, Headers::default(), "");
    assert_eq!(world.due(ONE), Some(2 * HOUR), "nothing new keeps the interval");
    assert_eq!(world.feeds.standing(world.now, ONE).unwrap().last_fetched, Some(world.now));

    world.pass(2 * HOUR);
    let third = world.ago(HOUR);
    world.bring(ONE, &rss(&[("three", third), ("two", late), ("one", early)], ""));
    assert_eq!(world.take(ONE), "three");
    assert_eq!(world.due(ONE), Some(3 * HOUR), "gaps of 2 and 4 hours");
}

#[test]
fn the_feed_is_asked_whether_it_changed() {
    let mut world = World::new(vec![feed("a", "http://a.example/rss")]);
    let first = world.fetch(ONE);
    assert_eq!((first.etag, first.last_modified), (None, None));
    let headers = Headers {
        etag: Some("\"1\"".into()),
        last_modified: Some("Mon, 16 Nov 2026 14:36:34 GMT".into()),
        ..Headers::default()
    };
    let reply = Reply::read(200, headers, rss(&[], "").as_bytes(), &Limits::default());
    world.feeds.on_fetched(world.now, first.call, reply, &mut world.chance);
    world.pass(DAY);
    let mut world = world.restart(vec![feed("a", "http://a.example/rss")]);
    let second = world.fetch(ONE);
    assert_eq!(second.etag.as_deref(), Some("\"1\""));
    assert_eq!(second.last_modified.as_deref(), Some("Mon, 16 Nov 2026 14:36:34 GMT"));
}

#[test]
fn the_publisher_may_ask_for_a_slower_pace_and_a_person_for_any() {
    let mut world = World::new(vec![feed("a", "http://a.example/rss")]);
    world.bring(ONE, &rss(&[], "<ttl>180</ttl>"));
    assert_eq!(world.due(ONE), Some(3 * HOUR));
    let mut settings = feed("a", "http://a.example/rss");
    settings.interval = Some(Duration::from_secs(1200));
    world.feeds.configure(vec![settings]);
    world.pass(3 * HOUR);
    world.bring(ONE, &rss(&[], "<ttl>180</ttl>"));
    assert_eq!(world.due(ONE), Some(20 * MINUTE));
}

#[test]
fn a_silent_feed_is_looked_at_less_and_less() {
    let mut world = World::new(vec![feed("a", "http://a.example/rss")]);
    let (one, two) = (world.ago(DAY), world.ago(DAY + HOUR));
    world.bring(ONE, &rss(&[("one", one), ("two", two)], ""));
    world.take(ONE);
    world.take(ONE);
    assert_eq!(world.due(ONE), Some(HOUR));
    let mut intervals = Vec::new();
    for _ in 0..30 {
        world.pass(7 * DAY);
        world.answer(ONE, 304, Headers::default(), "");
        intervals.push(world.due(ONE).unwrap() / HOUR);
    }
    assert_eq!(intervals[..16], [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 4, 8, 16]);
    assert_eq!(intervals[29], 7 * 24, "and still once a week");
}

#[test]
fn what_was_there_before_is_left_alone_unless_wanted() {
    let quiet = FeedSettings { backlog: false, ..feed("a", "http://a.example/rss") };
    let mut world = World::new(vec![quiet]);
    let at = world.ago(HOUR);
    world.bring(ONE, &rss(&[("old", at)], ""));
    assert_eq!(world.events(), [Event::Checked { feed: ONE, new: 1, wanted: 0 }]);
    world.pass(HOUR);
    world.bring(ONE, &rss(&[("new", at), ("old", at)], ""));
    assert_eq!(world.take(ONE), "new");
    assert!(world.due(ONE) > Some(0));
}

#[test]
fn rules_decide_and_new_rules_look_again() {
    let settings = |rules| vec![with_rules(feed("a", "http://a.example/rss"), rules)];
    let mut world = World::new(settings("Accept(priority:7): one"));
    let body = rss(&[("one", world.ago(9)), ("two", world.ago(5))], "");
    world.bring(ONE, &body);
    let Take { key, item } = world.begin_take(ONE);
    assert_eq!((&*item.title, item.options.priority), ("one", Some(7)));
    world.feeds.on_take(world.now, &key, Ok(()), &mut world.chance);
    assert!(world.due(ONE) > Some(0));

    world.feeds.configure(settings("Accept: two"));
    assert_eq!(world.fetch_and_answer(&body), "two");
    let mut world = world.restart(settings("Accept: *"));
    let judge = world.feeds.judge(ONE).expect("it is there");
    let judged = judge.dry_run(world.now, parsed(&body));
    let fates: Vec<_> = judged.iter().map(|judged| judged.fate).collect();
    assert_eq!(fates, [Some(Fate::Taken), Some(Fate::Taken)]);
    world.bring(ONE, &body);
    assert!(world.due(ONE) > Some(0), "nothing is taken twice");
}

impl World {
    fn fetch_and_answer(&mut self, body: &str) -> String {
        self.bring(ONE, body);
        self.take(ONE)
    }
}

fn parsed(body: &str) -> bergamot_feed::Document {
    bergamot_feed::read(body.as_bytes(), &Limits::default()).expect("a feed")
}

#[test]
fn the_same_item_under_another_guid_is_not_taken_again() {
    let mut world = World::new(vec![feed("a", "http://a.example/rss")]);
    world.bring(ONE, &rss(&[("some.show", 1_799_999_000)], ""));
    world.take(ONE);
    world.pass(DAY);
    let moved = rss(&[("some.show", 1_799_999_000)], "")
        .replace("<guid>some.show", "<guid>https://new.example/9")
        .replace("<title>some.show", "<title>Some Show");
    world.bring(ONE, &moved);
    assert_eq!(world.events().last(), Some(&Event::Checked { feed: ONE, new: 0, wanted: 0 }));
}

#[test]
fn pages_are_read_until_one_has_a_known_item() {
    let mut world = World::new(vec![feed("a", "http://a.example/api?t=search&apikey=k")]);
    let page = |names: &[&str], offset: usize| {
        let items: Vec<_> = names.iter().map(|name| (*name, 1_799_000_000)).collect();
        rss(&items, &format!("<newznab:response offset='{offset}' total='100'/>"))
    };
    world.bring(ONE, &page(&["c", "b"], 0));
    assert!(!world.feeds.take_change(), "half of the way nothing is remembered");
    let second = world.fetch(ONE);
    assert_eq!(second.url.reveal(), "http://a.example/api?t=search&apikey=k&offset=2");
    let reply = Reply::read(200, Headers::default(), page(&[], 2).as_bytes(), &Limits::default());
    world.feeds.on_fetched(world.now, second.call, reply, &mut world.chance);
    assert!(world.feeds.take_change());
    world.take(ONE);
    world.take(ONE);

    world.pass(DAY);
    world.bring(ONE, &page(&["f", "e"], 0));
    world.bring(ONE, &page(&["d", "c"], 2));
    assert_eq!(world.events().last(), Some(&Event::Checked { feed: ONE, new: 3, wanted: 3 }));
    for _ in 0..3 {
        world.take(ONE);
    }
    world.pass(DAY);
    for number in 0..5 {
        let (one, two) = (format!("x{number}"), format!("y{number}"));
        world.bring(ONE, &page(&[&one, &two], number * 2));
    }
    let last = world.events().pop();
    assert_eq!(last, Some(Event::Checked { feed: ONE, new: 10, wanted: 10 }), "five pages at most");
}

#[test]
fn a_page_that_fails_leaves_everything_as_it_was() {
    let mut world = World::new(vec![feed("a", "http://a.example/api?t=x")]);
    let body = rss(&[("one", 1_799_000_000)], "<newznab:response offset='0' total='9'/>");
    world.bring(ONE, &body);
    world.answer(ONE, 500, Headers::default(), "");
    assert_eq!(world.wanted(), 0);
    world.pass(HOUR);
    assert_eq!(world.fetch(ONE).url.reveal(), "http://a.example/api?t=x", "from the first page");
}

#[test]
fn a_transient_failure_is_tried_three_times_and_then_waits_for_the_next_window() {
    let mut world = World::new(vec![feed("a", "http://a.example/rss")]);
    for least in [60, 120] {
        world.answer(ONE, 500, Headers::default(), "");
        let due = world.due(ONE).unwrap();
        assert!((least..=least * 5 / 4 + 1).contains(&due), "{due}");
        world.pass(due);
    }
    assert_eq!(world.state(ONE), State::Failing);
    world.answer(ONE, 500, Headers::default(), "");
    assert_eq!(world.due(ONE), Some(HOUR));
    assert_eq!(world.feeds.errors().count(), 3);
    assert_eq!(&*world.feeds.errors().next().unwrap().code, "feed.status");
    let mut world = world.restart(vec![feed("a", "http://a.example/rss")]);
    assert_eq!(world.feeds.errors().count(), 3, "the log outlives the process");
    world.pass(HOUR);
    world.bring(ONE, &rss(&[], ""));
    assert_eq!((world.state(ONE), world.due(ONE)), (State::Waiting, Some(HOUR)));
}

#[test]
fn what_would_fail_again_waits_for_the_next_window() {
    for (status, body) in [(404, ""), (200, "<html>"), (200, "<error code='201' description='x'/>")]
    {
        let mut world = World::new(vec![feed("a", "http://a.example/rss")]);
        world.answer(ONE, status, Headers::default(), body);
        assert_eq!(world.due(ONE), Some(HOUR), "{status} {body}");
    }
}

#[test]
fn a_refused_feed_stops_its_host_until_something_is_changed() {
    let settings = |key: &str| {
        let url = format!("http://a.example/rss?apikey={key}");
        vec![feed("a", &url), feed("b", "http://A.example/other"), feed("c", "http://c.example")]
    };
    for (status, body) in [(401, ""), (403, ""), (200, "<error code='100' description='no'/>")] {
        let mut world = World::new(settings("old"));
        world.answer(ONE, status, Headers::default(), body);
        let events = world.events();
        let [Event::Stopped { feed: ONE, error }] = &events[..] else { panic!("{events:?}") };
        assert!(!error.message.contains("old"));
        world.pass(100 * DAY);
        for stopped in [ONE, TWO] {
            assert!(matches!(world.feeds.begin(world.now, stopped), Work::Nothing));
            assert_eq!((world.due(stopped), world.state(stopped)), (None, State::Stopped));
        }
        world.fetch(FeedId(3));
        let look = world.feeds.begin_look(world.now, &address("https://a.example/x"));
        assert!(matches!(look, Err(HostRefusal::Denied { .. })));
        world.feeds.configure(settings("old"));
        assert!(matches!(world.feeds.begin(world.now, ONE), Work::Nothing), "nothing changed");
        world.feeds.configure(settings("new"));
        world.fetch(ONE);
    }
    let mut world = World::new(settings("old"));
    world.answer(ONE, 410, Headers::default(), "");
    assert_eq!((world.state(ONE), world.state(TWO)), (State::Stopped, State::Waiting));
    world.restart(settings("old")).fetch(ONE);
}

#[test]
fn a_host_that_wants_to_be_left_alone_is() {
    let two = || vec![feed("a", "http://a.example/1"), feed("b", "http://a.example/2")];
    for (status, header, expected) in [
        (429, "120", 120),
        (503, "120", 120),
        (429, "Fri, 15 Jan 2027 08:10:00 GMT", 600),
        (429, "-7", 1),
        (429, "315360000", DAY),
        (429, "Thu, 15 Jan 2037 08:10:00 GMT", DAY),
    ] {
        let mut world = World::new(two());
        world.answer(ONE, status, retry_after(header), "");
        for feed in [ONE, TWO] {
            assert_eq!((world.due(feed), world.state(feed)), (Some(expected), State::Held));
            assert_eq!(world.later(feed), expected, "{status} {header}");
        }
        let look = world.feeds.begin_look(world.now, &address("http://a.example/"));
        assert!(matches!(look, Err(HostRefusal::Held { .. })));
        world.pass(expected);
        world.fetch(TWO);
    }
    for header in [Headers::default(), retry_after("soon")] {
        let mut world = World::new(two());
        world.answer(ONE, 429, header.clone(), "");
        assert!((60..=76).contains(&world.due(TWO).unwrap()));
        world.pass(76);
        world.answer(TWO, 429, header, "");
        assert!((120..=151).contains(&world.due(ONE).unwrap()), "twice as long the next time");
    }
}

#[test]
fn limits_that_near_zero_hold_the_host_until_their_reset() {
    let settings = || vec![feed("a", "http://a.example/1"), feed("b", "http://a.example/2")];
    let mut world = World::new(settings());
    let headers = Headers {
        rate_limit_remaining: Some("0".into()),
        rate_limit_reset: Some((world.now.0 + 900).to_string().into()),
        ..Headers::default()
    };
    world.answer(ONE, 200, headers, &rss(&[], ""));
    assert_eq!(world.due(TWO), Some(900));

    let mut world = World::new(settings());
    let limits = "<newznab:apilimits apiCurrent='100' apiMax='100'/>";
    world.bring(ONE, &rss(&[], limits));
    assert_eq!(world.due(TWO), Some(HOUR));
    let mut world = World::new(settings());
    world.answer(ONE, 200, Headers::default(), "<error code='500' description='limit'/>");
    assert!(world.due(TWO) >= Some(60));

    let mut world = World::new(settings());
    let limits = "<newznab:apilimits grabCurrent='5' grabMax='5' apiCurrent='1' apiMax='9'/>";
    world.bring(ONE, &rss(&[("one", 1_799_000_000)], limits));
    world.take(ONE);
    let nzb = world.begin_nzb(&address("http://a.example/one.nzb"), 1);
    assert!(matches!(nzb, Err(HostRefusal::Held { .. })), "NZBs have to wait");
    world.fetch(TWO);
}

#[test]
fn one_host_gets_one_call_at_a_time_and_who_waited_longest_goes_first() {
    let urls = ["http://a.example/1", "http://a.example/2", "http://a.example/3"];
    let settings = urls.iter().map(|url| feed(url, url)).collect();
    let mut world = World::new(settings);
    let first = world.fetch(ONE);
    assert_eq!(world.later(FeedId(3)), HOUR);
    world.pass(1);
    assert_eq!(world.later(TWO), HOUR);
    let look = world.feeds.begin_look(world.now, &address("http://a.example/"));
    assert_eq!(look, Err(HostRefusal::Busy("a.example".into())));
    let reply = Reply::read(304, Headers::default(), b"", &Limits::default());
    world.feeds.on_fetched(world.now, first.call, reply, &mut world.chance);
    let woken = world.events();
    assert_eq!(woken[0], Event::Wake(FeedId(3)));
    world.bring(FeedId(3), &rss(&[], ""));
    assert_eq!(world.events()[0], Event::Wake(TWO));
}

#[test]
fn jobs_that_want_their_nzb_wait_in_the_same_line_as_feeds() {
    let mut world = World::new(vec![feed("a", "http://a.example/rss")]);
    let nzb = address("http://a.example/1.nzb");
    let mut call = world.begin_nzb(&nzb, 1).unwrap();
    let busy = Err(HostRefusal::Busy("a.example".into()));
    assert_eq!(world.begin_nzb(&nzb, 2), busy);
    world.pass(1);
    assert_eq!(world.later(ONE), HOUR);
    world.pass(1);
    assert_eq!(world.begin_nzb(&nzb, 3), busy);
    assert_eq!(world.begin_nzb(&nzb, 4), busy);
    assert_eq!(world.begin_nzb(&nzb, 3), busy, "asked again, it still waits once");
    world.feeds.forget_nzb(job_id(4));
    world.end_nzb(call, NzbOutcome::Fine);
    assert_eq!(world.events(), [Event::WakeJob(job_id(2))]);
    call = world.begin_nzb(&nzb, 2).unwrap();
    world.end_nzb(call, NzbOutcome::Fine);
    assert_eq!(world.events(), [Event::Wake(ONE)]);
    let fetch = world.fetch(ONE);
    let reply = Reply::read(304, Headers::default(), b"", &Limits::default());
    world.feeds.on_fetched(world.now, fetch.call, reply, &mut world.chance);
    assert_eq!(world.events()[0], Event::WakeJob(job_id(3)));
    call = world.begin_nzb(&nzb, 3).unwrap();
    assert_eq!(world.begin_nzb(&nzb, 5), busy);
    assert_eq!(world.begin_nzb(&nzb, 6), busy);
    let limit = Headers {
        rate_limit_remaining: Some("0".into()),
        rate_limit_reset: Some("900".into()),
        ..Headers::default()
    };
    world.feeds.end_nzb(world.now, call, &limit, NzbOutcome::Fine);
    assert_eq!(world.events(), [5, 6].map(|job| Event::WakeJob(job_id(job))));
    assert!(matches!(world.begin_nzb(&nzb, 5), Err(HostRefusal::Held { .. })), "till the reset");
}

#[test]
fn two_services_on_one_machine_are_two_hosts() {
    let urls = ["http://nas:5076/rss", "http://nas:9696/rss"];
    let mut world = World::new(urls.iter().map(|url| feed(url, url)).collect());
    world.answer(ONE, 401, Headers::default(), "");
    assert_eq!((world.state(ONE), world.state(TWO)), (State::Stopped, State::Waiting));
    world.fetch(TWO);
}

#[test]
fn an_item_that_the_disk_does_not_take_is_tried_again() {
    let mut world = World::new(vec![feed("a", "http://a.example/rss")]);
    world.bring(ONE, &rss(&[("broken", 1_799_000_000)], ""));
    world.fail_to_take(ONE, FailureKind::Lasting);
    let given_up = Event::GivenUp { feed: ONE, title: "broken".into() };
    assert_eq!(world.events().last(), Some(&given_up));
    assert!(world.due(ONE) > Some(0));
    let mut world = world.restart(vec![feed("a", "http://a.example/rss")]);
    assert_eq!(world.feeds.standing(world.now, ONE).unwrap().given_up, 1);
    assert_eq!(world.feeds.retry(world.now, ONE), 1, "somebody put it right");
    assert_eq!(world.take(ONE), "broken");
    assert_eq!(world.feeds.retry(world.now, ONE), 0);

    let mut world = World::new(vec![feed("a", "http://a.example/rss")]);
    world.bring(ONE, &rss(&[("late", 1_799_000_000)], ""));
    world.fail_to_take(ONE, FailureKind::Transient);
    assert!((60..=76).contains(&world.due(ONE).unwrap()));
    let mut world = world.restart(vec![feed("a", "http://a.example/rss")]);
    world.pass(76);
    assert_eq!(world.take(ONE), "late");
}

#[test]
fn nzbs_share_what_is_known_of_their_host() {
    let mut world = World::new(vec![feed("a", "http://a.example/rss")]);
    let nzb = address("http://a.example/1.nzb");
    let call = world.begin_nzb(&nzb, 1).unwrap();
    assert_eq!(world.later(ONE), HOUR, "one call at a time");
    world.end_nzb(call, NzbOutcome::Limited(Duration::from_secs(90)));
    assert_eq!(world.events(), [Event::Wake(ONE)]);
    assert_eq!(world.later(ONE), 90);
    world.pass(90);
    let call = world.begin_nzb(&nzb, 1).unwrap();
    let failure = failure(FailureKind::Denied);
    world.end_nzb(call, NzbOutcome::Denied { feed: "a".into(), failure });
    assert_eq!((world.state(ONE), world.due(ONE)), (State::Stopped, None));
    assert!(matches!(world.events()[..], [Event::Stopped { feed: ONE, .. }]));
    assert!(matches!(world.begin_nzb(&nzb, 1), Err(HostRefusal::Denied { .. })));
    let call = world.begin_nzb(&address("http://b.example/1.nzb"), 1).unwrap();
    world.end_nzb(call, NzbOutcome::Fine);
}

#[test]
fn what_became_a_job_before_the_process_ended_is_not_taken_again() {
    let settings = || vec![feed("a", "http://a.example/rss")];
    let mut world = World::new(settings());
    world.bring(ONE, &rss(&[("one", 1_799_000_000), ("two", 1_799_000_000)], ""));
    // The job is in the spool, and the process ends before that is written here.
    let key = world.begin_take(ONE).key;
    let mut world = world.restart(settings());
    assert_eq!(world.wanted(), 2);
    let again = world.begin_take(ONE).key;
    assert_eq!(again, key.to_string().parse().unwrap(), "by which the job is found");
    world.feeds.on_take(world.now, &again, Ok(()), &mut world.chance);
    assert_eq!(world.take(ONE), "two");
    assert!(world.due(ONE) > Some(0));
}

#[test]
fn a_feed_that_is_removed_is_forgotten_with_its_items() {
    let mut world =
        World::new(vec![feed("a", "http://a.example/1"), feed("B", "http://b.example")]);
    world.bring(TWO, &rss(&[("one", 1_799_000_000)], ""));
    let call = world.fetch(ONE).call;
    world.feeds.configure(vec![feed("b", "http://b.example")]);
    assert_eq!(world.feeds.memory().feeds.keys().map(|key| &**key).collect::<Vec<_>>(), ["b"]);
    let reply = Reply::read(200, Headers::default(), rss(&[], "").as_bytes(), &Limits::default());
    world.feeds.on_fetched(world.now, call, reply, &mut world.chance);
    assert_eq!(world.take(ONE), "one", "the other keeps its items under its new number");
    world.feeds.configure(vec![feed("a", "http://a.example/1")]);
    assert_eq!(world.feeds.memory().feeds.len(), 1);
    world.fetch(ONE);
}

#[test]
fn a_person_may_ask_at_any_time_but_not_against_the_host() {
    let mut world = World::new(vec![feed("a", "http://a.example/rss")]);
    world.bring(ONE, &rss(&[], ""));
    world.feeds.fetch_now(ONE);
    world.answer(ONE, 429, retry_after("100"), "");
    world.feeds.fetch_now(ONE);
    assert_eq!(world.later(ONE), 100);
    let disabled = FeedSettings { enabled: false, ..feed("a", "http://a.example/rss") };
    world.feeds.configure(vec![disabled]);
    world.feeds.fetch_now(ONE);
    assert!(matches!(world.feeds.begin(world.now, ONE), Work::Nothing));
}

#[test]
fn a_calendar_that_is_set_back_does_not_stop_a_feed_for_years() {
    let mut world = World::new(vec![feed("a", "http://a.example/rss")]);
    world.pass(3_000 * DAY);
    world.answer(ONE, 429, retry_after("100"), "");
    world.pass(-3_000 * DAY);
    world.fetch(ONE);
}

#[test]
fn no_key_is_in_what_is_shown() {
    let mut world = World::new(vec![feed("a", "http://a.example/rss?apikey=SECRET")]);
    let body = rss(&[("one", 1_799_000_000)], "").replace("one.nzb", "one.nzb?r=SECRET");
    let fetch = world.fetch(ONE);
    let shown = format!("{fetch:?}");
    let reply = Reply::read(200, Headers::default(), body.as_bytes(), &Limits::default());
    world.feeds.on_fetched(world.now, fetch.call, reply, &mut world.chance);
    let take = world.begin_take(ONE);
    let shown = format!("{shown} {:?} {take:?} {:?}", world.feeds, parsed(&body));
    assert!(!shown.contains("SECRET"), "{shown}");
}

#[test]
fn what_a_host_asked_for_holds_after_a_restart() {
    let settings = || vec![feed("one", "http://a.example/1")];
    let mut world = World::new(settings());
    let headers = Headers { retry_after: Some("7200".into()), ..Headers::default() };
    world.answer(ONE, 429, headers, "");
    world.pass(10 * MINUTE);
    let mut world = world.restart(settings());
    let left = world.feeds.next_due(world.now, ONE).expect("it is due some time");
    assert_eq!(left.0 - world.now.0, 2 * HOUR - 10 * MINUTE);
    assert_eq!(world.later(ONE), 2 * HOUR - 10 * MINUTE);
    world.pass(2 * HOUR);
    world.fetch(ONE);
}

proptest! {
    /// However guids, addresses and spellings change, a title is taken once.
    #[test]
    fn no_title_is_taken_twice(looks in proptest::collection::vec(
        proptest::collection::vec((0..6_u8, any::<u16>(), 0..3_usize), 0..8), 1..6))
    {
        let mut world = World::new(vec![feed("a", "http://a.example/rss")]);
        let mut taken = Vec::new();
        for look in looks {
            let item = |(title, guid, spelling): &(u8, u16, usize)| {
                let separator = [".", " ", "_-_"][*spelling];
                format!(
                    "<item><title>Show{separator}{title}</title><guid>{guid}</guid>\
                     <link>http://a.example/{guid}/../{title}</link></item>"
                )
            };
            let items: String = look.iter().map(item).collect();
            world.bring(ONE, &format!("<rss><channel>{items}</channel></rss>"));
            while world.wanted() > 0 {
                taken.push(world.take(ONE).replace([' ', '_', '-'], ".").replace("...", "."));
            }
            world.pass(8 * DAY);
        }
        let count = taken.len();
        taken.sort();
        taken.dedup();
        prop_assert_eq!(taken.len(), count);
    }
}

#[test]
fn items_are_taken_together_until_one_has_to_wait() {
    let settings = || vec![feed("a", "http://a.example/rss")];
    let mut world = World::new(settings());
    let names: Vec<_> = (0..100).map(|number| format!("item{number}")).collect();
    let items: Vec<_> = names.iter().map(|name| (name.as_str(), 1_799_000_000)).collect();
    world.bring(ONE, &rss(&items, ""));
    let takes = world.begin_takes(ONE);
    assert_eq!(takes.len(), 64);
    for Take { key, .. } in &takes[..10] {
        world.feeds.on_take(world.now, key, Ok(()), &mut world.chance);
    }
    let full = Err(failure(FailureKind::Transient));
    world.feeds.on_take(world.now, &takes[10].key, full, &mut world.chance);
    assert_eq!(world.feeds.errors().count(), 1, "one stands for all");
    assert!((60..=76).contains(&world.due(ONE).unwrap()));
    let mut world = world.restart(settings());
    world.pass(76);
    let left: Vec<_> = (0..2)
        .flat_map(|_| {
            let takes = world.begin_takes(ONE);
            for Take { key, .. } in &takes {
                world.feeds.on_take(world.now, key, Ok(()), &mut world.chance);
            }
            takes
        })
        .map(|take| take.item.title.to_string())
        .collect();
    assert_eq!(left, names[10..], "each once, in their order");
}

#[test]
fn a_feed_cannot_want_more_than_it_may_and_comes_back_for_the_rest() {
    let mut world = World::new(vec![feed("a", "http://a.example/rss")]);
    let page = |from: usize, to: usize| {
        let names: Vec<_> = (from..to).map(|number| format!("item{number}")).collect();
        let items: Vec<_> = names.iter().map(|name| (name.as_str(), 1_799_000_000)).collect();
        rss(&items, "")
    };
    let tagged = || Headers { etag: Some("x".into()), ..Headers::default() };
    world.answer(ONE, 200, tagged(), &page(0, 9_999));
    world.fail_to_take(ONE, FailureKind::Transient);
    world.feeds.fetch_now(ONE);
    world.answer(ONE, 200, tagged(), &page(9_990, 10_010));
    assert_eq!(world.feeds.standing(world.now, ONE).unwrap().wanted, 10_000);
    world.pass(76);
    world.take(ONE);
    world.fail_to_take(ONE, FailureKind::Transient);
    world.feeds.fetch_now(ONE);
    let fetch = world.fetch(ONE);
    assert_eq!(fetch.etag, None, "what was left out is to be offered again");
    let body = page(9_990, 10_010);
    let reply = Reply::read(200, tagged(), body.as_bytes(), &Limits::default());
    let reply = reply.judged(world.now, &fetch.judge);
    world.feeds.on_fetched(world.now, fetch.call, reply, &mut world.chance);
    assert_eq!(world.events().last(), Some(&Event::Checked { feed: ONE, new: 1, wanted: 1 }));
}

#[test]
fn what_was_asked_under_other_settings_is_asked_again() {
    let newznab = |offset: u32, name: &str| {
        let range = format!("<newznab:response offset='{offset}' total='3'/>");
        rss(&[(name, 1_799_000_000)], &range)
    };
    let before = || vec![feed("a", "http://a.example/rss")];
    let after = || vec![with_rules(feed("a", "http://a.example/rss"), "Reject: old*")];
    let mut world = World::new(before());
    world.bring(ONE, &newznab(0, "old.one"));
    let second = world.fetch(ONE);
    assert!(second.url.target().contains("offset=1"), "{}", second.url.target());
    world.feeds.configure(after());
    let body = newznab(1, "old.two");
    let reply = Reply::read(200, Headers::default(), body.as_bytes(), &Limits::default());
    let reply = reply.judged(world.now, &second.judge);
    world.feeds.on_fetched(world.now, second.call, reply, &mut world.chance);
    let standing = world.feeds.standing(world.now, ONE).unwrap();
    assert_eq!((standing.seen, standing.last_fetched), (0, None), "half of it counts for nothing");
    for (offset, name) in [(0, "old.one"), (1, "old.two"), (2, "new.three")] {
        let fetch = world.fetch(ONE);
        assert_eq!(fetch.url.target().contains("offset="), offset > 0);
        let body = newznab(offset, name);
        let reply = Reply::read(200, Headers::default(), body.as_bytes(), &Limits::default());
        world.feeds.on_fetched(world.now, fetch.call, reply, &mut world.chance);
    }
    assert_eq!(world.events().last(), Some(&Event::Checked { feed: ONE, new: 3, wanted: 1 }));

    world.take(ONE);
    world.feeds.fetch_now(ONE);
    let fetch = world.fetch(ONE);
    world.feeds.configure(before());
    let refused = Reply::read(401, Headers::default(), b"", &Limits::default());
    world.feeds.on_fetched(world.now, fetch.call, refused, &mut world.chance);
    assert_eq!(world.state(ONE), State::Waiting, "that was the former key");
}

#[test]
fn a_call_that_is_reported_twice_is_ended_once() {
    let mut world = World::new(vec![feed("one", "https://a.example/rss")]);
    let fetch = world.fetch(ONE);
    let body = rss(&[("a", world.ago(60))], "");
    let reply = || Reply::read(200, Headers::default(), body.as_bytes(), &Limits::default());
    world.feeds.on_fetched(world.now, fetch.call, reply(), &mut world.chance);
    assert!(matches!(world.events()[..], [Event::Checked { feed: ONE, new: 1, .. }]));
    assert!(world.feeds.take_change());
    world.feeds.on_fetched(world.now, fetch.call, reply(), &mut world.chance);
    world.end_nzb(fetch.call, NzbOutcome::Limited(Duration::from_secs(60)));
    assert_eq!((world.events(), world.feeds.take_change()), (vec![], false));
}
