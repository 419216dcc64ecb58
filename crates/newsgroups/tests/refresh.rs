//! Newsgroups on the scheduler, in virtual time: who asks how often, and what is read when.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

use std::time::{Duration, Instant};

use bergamot_newsgroups::{
    Due, Failure, Fetch, Headers, Need, Newsgroups, Order, Overview, Settings,
};
use bergamot_poll::{Queue, Wanted};
use bergamot_types::{ArticleRange, ByteCount, GroupName, MessageId, ServerId, SplitMix};

const SERVER: ServerId = ServerId(1);
const MILLISECOND: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

/// One group on one server, its target, and everyone who asks for it.
struct World {
    now: Instant,
    groups: Newsgroups<u32>,
    targets: Queue<u8, &'static str>,
    chance: SplitMix,
    server: Result<ArticleRange, Failure>,
    /// How long one look takes.
    trip: Duration,
    running: Option<(Instant, Fetch)>,
    /// Looks that have begun, whatever came of them.
    fetches: usize,
    looks: Vec<(Instant, Option<ArticleRange>, Option<ArticleRange>)>,
    answers: Vec<(u32, Result<(), Failure>)>,
    asked: u32,
}

fn group() -> GroupName {
    named("alt.binaries.test")
}

fn named(name: &str) -> GroupName {
    GroupName::parse(name).unwrap()
}

fn range(first: u64, last: u64) -> ArticleRange {
    ArticleRange { first, last }
}

fn headers(range: ArticleRange) -> Headers {
    let mut headers = Headers::default();
    for number in range.first..=range.last {
        headers.push(&Overview {
            number,
            subject: format!("post {number}"),
            poster: "ann".into(),
            date: None,
            id: MessageId::parse(&format!("{number}@x")).unwrap(),
            bytes: 1,
        });
    }
    headers
}

impl World {
    fn new(first: u64, last: u64) -> Self {
        Self::with(Settings::default(), first, last)
    }

    fn with(settings: Settings, first: u64, last: u64) -> Self {
        Self {
            now: Instant::now(),
            groups: Newsgroups::new(settings),
            targets: Queue::new(bergamot_poll::Settings::default()),
            chance: SplitMix::seeded(1),
            server: Ok(range(first, last)),
            trip: 20 * MILLISECOND,
            running: None,
            fetches: 0,
            looks: Vec::new(),
            answers: Vec::new(),
            asked: 0,
        }
    }

    fn ask(&mut self, need: Need) -> u32 {
        self.asked += 1;
        self.groups.request(self.now, &group(), need, self.asked);
        self.carry_out();
        self.asked
    }

    fn carry_out(&mut self) {
        while let Some(order) = self.groups.poll_order() {
            match order {
                Order::Answer { waiter, result } => self.answers.push((waiter, result)),
                Order::Check(_) => {
                    self.targets.due_now(self.now, 0);
                }
                Order::Start { period, .. } => {
                    let wanted =
                        Wanted { kind: "group", interval: period, priority: 0, enabled: true };
                    self.targets.set(self.now, 0, wanted);
                }
            }
        }
    }

    fn run_until(&mut self, end: Instant) {
        loop {
            let fetched = self.running.as_ref().map(|(at, _)| *at);
            let wakes = [fetched, self.targets.next_wake()];
            let Some(next) = wakes.into_iter().flatten().min().filter(|&next| next <= end) else {
                break;
            };
            self.now = self.now.max(next);
            if fetched.is_some_and(|at| at <= self.now) {
                self.finish();
            }
            for id in self.targets.take_due(self.now) {
                match self.groups.due(self.now, &group()) {
                    Due::Fetch(fetch) => {
                        self.fetches += 1;
                        self.running = Some((self.now + self.trip, fetch));
                    }
                    Due::PutOff(until) => assert!(self.targets.put_off(id, until)),
                    Due::Stop => {
                        self.targets.remove(id);
                        self.targets.finished(self.now, id, &Ok::<(), ()>(()), &mut self.chance);
                    }
                }
            }
        }
        self.now = end;
    }

    fn finish(&mut self) {
        let (at, fetch) = self.running.take().unwrap();
        let result = self.server.clone().map(|offered| {
            let plan = fetch.plan(SERVER, offered);
            self.looks.push((at - self.trip, plan.newer, plan.older));
            let read = |range: Option<ArticleRange>| range.map(headers).unwrap_or_default();
            plan.batch(read(plan.newer), read(plan.older))
        });
        let is_fine =
            !matches!(&result, Err(failure) if !matches!(failure, Failure::NoSuchGroup(_)));
        let outcome = if is_fine { Ok(()) } else { Err(()) };
        let period = self.groups.handle_fetched(self.now, &group(), result);
        self.targets.set_interval(self.now, 0, period);
        self.targets.finished(self.now, 0, &outcome, &mut self.chance);
        self.carry_out();
    }

    fn rest(&mut self, time: Duration) {
        self.run_until(self.now + time);
    }

    fn known(&self) -> Option<(u64, u64)> {
        let (headers, _) = self.groups.headers(&group())?;
        headers.first().zip(headers.last())
    }
}

#[test]
fn the_first_request_starts_a_refresh_and_the_last_ends_it_with_nothing_left() {
    let mut world = World::new(1, 100);
    assert_eq!(world.targets.next_wake(), None);
    world.ask(Need::Known);
    let start = world.now;
    world.rest(299 * SECOND);
    assert_eq!(world.answers, [(1, Ok(()))]);
    let looks = world.looks.len();
    assert!((10..=11).contains(&looks), "about every 30 s: {looks}");
    world.rest(60 * SECOND);
    assert!(world.looks.len() <= 11, "none after the window");
    assert!(world.looks.iter().all(|(at, ..)| *at < start + 301 * SECOND));
    assert_eq!(world.targets.next_wake(), None, "no timer is left behind");
    assert_eq!((world.targets.targets().count(), world.groups.live().count()), (0, 0));
    // And from the beginning again.
    world.ask(Need::Known);
    assert!(world.targets.next_wake().is_some());
}

#[test]
fn a_group_that_no_server_has_is_asked_for_again_at_the_refresh_period_only() {
    let mut world = World::new(1, 1);
    let missing = Failure::NoSuchGroup(group());
    world.server = Err(missing.clone());
    for second in 0..100 {
        world.ask(Need::Latest);
        world.rest(SECOND);
        assert_eq!(world.answers.len(), second + 1, "all are answered");
    }
    assert!(world.answers.iter().all(|(_, result)| *result == Err(missing.clone())));
    let looks = world.fetches;
    assert!(looks <= 7, "a rate of up to a third a second is a period of at least 20 s: {looks}");
}

#[test]
fn the_period_follows_the_rate_of_requests() {
    for (pause, period) in [(100_000, 27.9), (10_000, 23.4), (1_000, 18.9), (100, 14.4), (10, 10.0)]
    {
        let mut world = World::new(1, 1);
        let start = world.now;
        // Requests for what is known make checks of their own; here only the period counts.
        world.ask(Need::Known);
        while world.now < start + 400 * SECOND {
            world.rest(pause * MILLISECOND);
            world.ask(Need::Known);
        }
        world.rest(SECOND);
        let interval = world.targets.target(0).unwrap().interval.as_secs_f64();
        assert!((interval - period).abs() < 0.1, "each {pause} ms: {interval} s");
    }
}

#[test]
fn a_request_answered_from_what_is_known_also_brings_it_up_to_date() {
    let mut world = World::new(1, 100);
    world.ask(Need::Known);
    world.rest(5 * SECOND);
    world.server = Ok(range(1, 103));
    world.ask(Need::Known);
    assert_eq!(world.answers, [(1, Ok(())), (2, Ok(()))], "at once");
    assert_eq!(world.known(), Some((1, 100)));
    world.rest(SECOND);
    assert_eq!(world.known(), Some((1, 103)));
    let ranges: Vec<_> = world.looks.iter().map(|(_, newer, _)| *newer).collect();
    assert_eq!(ranges, [Some(range(1, 100)), Some(range(101, 103))], "only what is above the mark");
}

#[test]
fn however_often_it_is_asked_for_a_group_is_looked_at_once_a_second() {
    let mut world = World::new(1, 100);
    let start = world.now;
    while world.now < start + 60 * SECOND {
        world.ask(Need::Latest);
        world.rest(3 * MILLISECOND);
    }
    world.rest(SECOND);
    assert!((55..=61).contains(&world.looks.len()), "{} looks", world.looks.len());
    let gaps = world.looks.windows(2).map(|pair| pair[1].0 - pair[0].0);
    assert!(gaps.min().unwrap() >= SECOND);
    assert_eq!(world.answers.len(), world.asked as usize);
}

#[test]
fn all_who_wait_share_one_look_and_its_result() {
    let mut world = World::new(1, 100);
    for _ in 0..100 {
        world.ask(Need::Latest);
    }
    assert_eq!(world.answers, []);
    world.rest(10 * MILLISECOND);
    world.ask(Need::Known);
    world.rest(500 * MILLISECOND);
    assert_eq!(world.looks.len(), 1);
    assert!(world.answers.len() == 101 && world.answers.iter().all(|(_, result)| result.is_ok()));
}

#[test]
fn all_who_wait_share_its_error_and_so_do_those_who_come_at_once() {
    let mut world = World::new(1, 100);
    let failure = Failure::Server { server: "s0".into(), cause: "unreachable".into() };
    world.server = Err(failure.clone());
    for _ in 0..10 {
        world.ask(Need::Known);
    }
    world.rest(500 * MILLISECOND);
    world.ask(Need::Known);
    assert_eq!(world.answers.len(), 11, "the last without another look");
    assert!(world.answers.iter().all(|(_, result)| *result == Err(failure.clone())));
    world.server = Ok(range(1, 3));
    world.rest(600 * MILLISECOND);
    world.ask(Need::Known);
    world.rest(SECOND);
    assert_eq!(world.answers.last(), Some(&(12, Ok(()))));
}

#[test]
fn numbers_that_go_back_start_the_group_anew() {
    let mut world = World::new(1, 20_000);
    world.ask(Need::Latest);
    world.rest(2 * SECOND);
    assert_eq!(world.known(), Some((15_001, 20_000)), "the newest 5,000");
    world.server = Ok(range(1, 40));
    world.ask(Need::Latest);
    world.rest(2 * SECOND);
    assert_eq!(world.known(), Some((1, 40)));
    world.server = Ok(range(1, 42));
    world.ask(Need::Latest);
    world.rest(2 * SECOND);
    assert_eq!(world.looks.last().unwrap().1, Some(range(41, 42)));
}

#[test]
fn older_headers_come_when_somebody_pages_to_them() {
    let mut world = World::new(1, 12_000);
    world.ask(Need::Known);
    world.rest(100 * MILLISECOND);
    assert_eq!(world.known(), Some((7_001, 12_000)));
    let below = |number| Need::Below { number, count: 100 };
    world.ask(below(8_000));
    assert_eq!(world.answers.len(), 2, "it is there");
    for (cursor, oldest) in [(7_001, 2_001), (2_001, 1)] {
        world.ask(below(cursor));
        let asked = world.asked;
        world.rest(SECOND + 100 * MILLISECOND);
        assert_eq!(world.answers.last(), Some(&(asked, Ok(()))));
        assert_eq!(world.known(), Some((oldest, 12_000)));
    }
    let looks = world.looks.len();
    let seconds_between = |pair: &[_]| pair[1] - pair[0] >= SECOND;
    let times: Vec<Instant> = world.looks.iter().map(|look| look.0).collect();
    assert!(times.windows(2).all(seconds_between), "one look a second, whatever for");
    world.ask(below(50));
    assert_eq!(world.answers.len(), 5, "there is nothing older to wait for");
    world.rest(100 * MILLISECOND);
    assert_eq!(world.looks.len(), looks);
}

#[test]
fn a_page_asked_for_in_mid_look_has_a_look_of_its_own() {
    let mut world = World::new(1, 12_000);
    world.ask(Need::Known);
    world.rest(2 * SECOND);
    world.ask(Need::Known); // a check begins
    world.rest(5 * MILLISECOND);
    let page = world.ask(Need::Below { number: 7_001, count: 10 });
    world.rest(20 * MILLISECOND);
    assert!(world.answers.iter().all(|(waiter, _)| *waiter != page));
    world.rest(SECOND + 100 * MILLISECOND);
    assert_eq!(world.answers.last(), Some(&(page, Ok(()))));
    assert_eq!(world.looks.last().unwrap().2, Some(range(2_001, 7_000)));
}

/// Reads a whole group at once, without a scheduler.
fn read(groups: &mut Newsgroups<u32>, now: Instant, name: &GroupName, last: u64) {
    groups.request(now, name, Need::Latest, 0);
    let Due::Fetch(fetch) = groups.due(now, name) else { panic!("it was not looked at before") };
    let plan = fetch.plan(SERVER, range(1, last));
    let batch = plan.batch(plan.newer.map(headers).unwrap_or_default(), Headers::default());
    groups.handle_fetched(now, name, Ok(batch));
    while groups.poll_order().is_some() {}
}

#[test]
fn the_groups_used_least_recently_make_room_within_the_budget() {
    let budget = ByteCount(1 << 20);
    let mut groups = Newsgroups::new(Settings { budget, ..Settings::default() });
    let now = Instant::now();
    let names: Vec<_> = (0..6).map(|n| named(&format!("group.{n}"))).collect();
    for name in &names[..3] {
        read(&mut groups, now, name, 5_000);
    }
    assert_eq!(groups.headers(&names[0]).unwrap().0.len(), 5_000);
    // The first is used again, so the second is the first to go.
    groups.request(now, &names[0], Need::Known, 0);
    read(&mut groups, now, &names[3], 5_000);
    assert!(groups.headers(&names[0]).is_some() && groups.headers(&names[1]).is_none());
    assert!(groups.headers(&names[3]).is_some());
    assert!(groups.cost() as u64 <= budget.0, "{}", groups.cost());
}

#[test]
fn a_group_larger_than_the_budget_keeps_its_newest() {
    let budget = ByteCount(100 << 10);
    let mut groups = Newsgroups::new(Settings { budget, ..Settings::default() });
    let name = named("huge");
    read(&mut groups, Instant::now(), &name, 100_000);
    let (headers, extent) = groups.headers(&name).unwrap();
    assert_eq!(headers.last(), Some(100_000));
    assert!(headers.len() > 500 && extent.has_older());
    assert_eq!(Some(extent.read.first), headers.first());
    assert!(groups.cost() as u64 <= budget.0);
}

#[test]
fn where_older_headers_find_no_room_paging_ends() {
    let budget = ByteCount(100 << 10);
    let mut groups = Newsgroups::new(Settings { budget, first_read: 300, ..Settings::default() });
    let (name, start) = (named("huge"), Instant::now());
    read(&mut groups, start, &name, 100_000);
    let mut pages = 0;
    while groups.headers(&name).unwrap().1.has_older() {
        pages += 1;
        let now = start + SECOND * 2 * pages;
        let number = groups.headers(&name).unwrap().1.read.first;
        groups.request(now, &name, Need::Below { number, count: 100 }, pages);
        let Due::Fetch(fetch) = groups.due(now, &name) else { panic!("it is to be read") };
        let plan = fetch.plan(SERVER, range(1, 100_000));
        let older = plan.older.map(headers).unwrap_or_default();
        groups.handle_fetched(now, &name, Ok(plan.batch(Headers::default(), older)));
        while groups.poll_order().is_some() {}
    }
    assert!((2..20).contains(&pages), "{pages}");
    let end = start + SECOND * 100;
    groups.request(end, &name, Need::Below { number: 1, count: 100 }, 0);
    let answered = std::iter::from_fn(|| groups.poll_order())
        .any(|order| order == Order::Answer { waiter: 0, result: Ok(()) });
    assert!(answered, "with what there is");
}

#[test]
fn more_groups_than_anyone_reads_are_refused() {
    let mut groups = Newsgroups::new(Settings::default());
    let now = Instant::now();
    for number in 0..1001 {
        groups.request(now, &named(&format!("group.{number}")), Need::Known, number);
    }
    let mut refused = Vec::new();
    while let Some(order) = groups.poll_order() {
        if let Order::Answer { waiter, result: Err(Failure::Crowded) } = order {
            refused.push(waiter);
        }
    }
    assert_eq!(refused, [1000]);
}

#[test]
fn a_result_for_a_group_that_is_no_longer_live_is_only_cached() {
    let (mut groups, now) = (Newsgroups::<u32>::new(Settings::default()), Instant::now());
    let name = group();
    read(&mut groups, now, &name, 10);
    let now = now + Duration::from_secs(10);
    let Due::Fetch(fetch) = groups.due(now, &name) else { panic!("it is active") };
    let later = now + Duration::from_secs(600);
    assert_eq!(groups.due(later, &name), Due::Stop);
    assert_eq!(groups.due(later, &name), Due::Stop, "an unknown group has no target");

    let plan = fetch.plan(SERVER, range(1, 20));
    let batch = plan.batch(plan.newer.map(headers).unwrap_or_default(), Headers::default());
    groups.handle_fetched(later, &name, Ok(batch));
    assert_eq!(groups.poll_order(), None);
    assert!(groups.headers(&name).is_some());
}
