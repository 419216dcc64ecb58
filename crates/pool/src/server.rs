//! [`Server`]: the connections, failures and back-off of one server. Pure.

use std::time::{Duration, Instant};

use bergamot_types::{ServerId, SplitMix};

use crate::ceiling::Holder;
use crate::settings::ServerSettings;
use crate::trouble::Trouble;

#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) settings: ServerSettings,
    /// Connections that are open or being opened.
    open: usize,
    working: usize,
    /// Connections beside those, for something else than articles.
    errands: usize,
    trouble: Option<Trouble>,
    used_up: bool, // by our own count, whatever the provider says
    rests_until: Option<Instant>,
    failures: Failures,
    unclear_greetings: u8, // 502 in a row for no reason that could be read
    newest_delivered: u64, // the number of the request that began last, of those that were
    rests: u32,            // in a row
    ramp: usize,           // how many connections may be being opened at once
    leaving: bool,         // to be forgotten with its last connection
}

/// Requests that failed one after the other with no article delivered between them.
#[derive(Debug, Default)]
struct Failures {
    in_a_row: u32,
    /// The newest attempt when the last failure was counted: what was begun before it failed by the
    /// same mishap.
    counted: u64,
    /// What failed last.
    article: Option<u64>,
}

impl Failures {
    /// Counts the failure; whether it is another one than the last.
    fn count(&mut self, attempt: Attempt) -> bool {
        // One article that fails again says nothing of others that are under way.
        let is_same = attempt.article.is_some() && attempt.article == self.article;
        let says_nothing = attempt.is_behind_answer || is_same && attempt.others_under_way;
        let is_another = attempt.number > self.counted && !says_nothing;
        if is_another {
            self.counted = attempt.newest;
            self.in_a_row += 1;
            self.article = attempt.article;
        }
        is_another
    }
}

/// A connection or a request on it. All are numbered in the order in which they begin.
#[derive(Clone, Copy, Debug)]
pub struct Attempt {
    pub number: u64,
    /// The number of the one that began last, of any server.
    pub newest: u64,
    /// What was asked for, by a number of its own.
    pub article: Option<u64>,
    /// Other articles of the server are under way.
    pub others_under_way: bool,
    /// The connection had answered before, and that answer may be the reason.
    pub is_behind_answer: bool,
}

impl Attempt {
    /// Of no article, with nothing else under way.
    pub const fn alone(number: u64, newest: u64) -> Self {
        let (others_under_way, is_behind_answer) = (false, false);
        Self { number, newest, article: None, others_under_way, is_behind_answer }
    }
}

/// How a connection ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct End {
    pub(crate) trouble: Trouble,
    /// It had connected and was not being closed.
    pub(crate) was_working: bool,
    pub(crate) attempt: Attempt,
    /// Connections that other servers of the same account have open.
    pub(crate) others: usize,
    /// So many failures in a row mean that the server is out of order.
    pub(crate) most_failures: u32,
}

/// What a connection's end came to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Consequence {
    GoesOn,
    LowerCeiling(usize),
    Rests(Duration),
}

impl Server {
    pub(crate) fn new(settings: ServerSettings) -> Self {
        Self {
            open: 0,
            working: 0,
            errands: 0,
            trouble: None,
            used_up: false,
            rests_until: None,
            failures: Failures::default(),
            unclear_greetings: 0,
            newest_delivered: 0,
            rests: 0,
            ramp: FIRST_AT_ONCE,
            leaving: false,
            settings,
        }
    }

    /// What was wrong may have been the settings, so it is tried again at once.
    pub(crate) fn change(&mut self, settings: ServerSettings) {
        self.settings = settings;
        self.leaving = false;
        self.rests_until = None;
        self.rests = 0;
        self.unclear_greetings = 0;
    }

    /// It is not among the settings any more.
    pub(crate) fn leave(&mut self) {
        self.settings.active = false;
        self.settings.connections = 0;
        self.leaving = true;
    }

    pub(crate) fn is_leaving(&self) -> bool {
        self.leaving
    }

    /// With those of errands.
    pub(crate) fn open(&self) -> usize {
        self.open + self.errands
    }

    pub(crate) fn on_errand(&mut self) {
        self.errands += 1;
    }

    /// An errand ends as a connection would that never came to work for articles.
    pub(crate) fn on_errand_ended(
        &mut self,
        now: Instant,
        end: End,
        chance: &mut SplitMix,
    ) -> Consequence {
        self.errands -= 1;
        self.open += 1;
        self.on_ended(now, end, chance)
    }

    pub(crate) fn working(&self) -> usize {
        self.working
    }

    /// Connections that are being opened, or closed.
    pub(crate) fn opening(&self) -> usize {
        self.open - self.working
    }

    pub(crate) fn on_opening(&mut self) {
        self.open += 1;
    }

    /// A working connection is told to quit; it counts as open until it has ended.
    pub(crate) fn on_closing(&mut self) {
        self.working -= 1;
    }

    pub(crate) fn id(&self) -> ServerId {
        self.settings.id
    }

    /// With whom it shares the connections it may have.
    pub(crate) fn holder(&self) -> Holder {
        Holder::of(&self.settings)
    }

    pub(crate) fn is_active(&self) -> bool {
        self.settings.active && self.settings.connections > 0
    }

    /// Whether articles are not to wait for it at the moment.
    pub(crate) fn is_excused(&self) -> bool {
        let by_trouble = |trouble: Trouble| trouble.is_passed_over() || self.settings.optional;
        self.used_up || self.trouble.is_some_and(by_trouble)
    }

    pub(crate) fn is_used_up(&self) -> bool {
        self.used_up
    }

    pub(crate) fn set_used_up(&mut self, used_up: bool) {
        self.used_up = used_up;
    }

    /// Whether it can be asked, or will be soon as far as anybody knows: one whose connections have
    /// all broken may keep everybody waiting for the next, and one that shares an account may never
    /// get one.
    pub(crate) fn is_promising(&self) -> bool {
        !self.in_trouble() && (self.working > 0 || self.open > 0 && self.failures.in_a_row == 0)
    }

    pub(crate) fn trouble(&self) -> Option<Trouble> {
        self.trouble
    }

    pub(crate) fn in_trouble(&self) -> bool {
        self.trouble.is_some()
    }

    pub(crate) fn is_out_of_order(&self) -> bool {
        self.trouble == Some(Trouble::OutOfOrder)
    }

    /// Out of order, and it has rested: one article shows whether it delivers again.
    pub(crate) fn wants_probe(&self) -> bool {
        self.is_out_of_order() && self.rests_until.is_none() && self.is_active() && !self.used_up
    }

    /// The number of the request that began last, of those it has delivered an article for, good or bad.
    pub(crate) fn newest_delivered(&self) -> u64 {
        self.newest_delivered
    }

    /// How many connections may be opened beside those that are; only one as long as it is not
    /// known whether the trouble is over, and then a few more with each that has come to be.
    pub(crate) fn room(&self) -> usize {
        if !self.is_active() || self.used_up || self.rests_until.is_some() {
            return 0;
        }
        let most = if self.in_trouble() { 1 } else { self.for_articles() };
        let left = self.settings.connections.saturating_sub(self.open());
        most.saturating_sub(self.open).min(left).min(self.ramp.saturating_sub(self.opening()))
    }

    /// One is left to articles, whatever is reserved.
    fn for_articles(&self) -> usize {
        let all = self.settings.connections;
        all - self.settings.reserved.min(all.saturating_sub(1))
    }

    /// How many errands may begin. When it has rested after some trouble, one is as good a try as an
    /// article.
    pub(crate) fn errand_room(&self) -> usize {
        if !self.is_active() || self.used_up || self.rests_until.is_some() {
            return 0;
        }
        let most = if self.in_trouble() { 1 } else { self.settings.connections };
        most.saturating_sub(self.open())
    }

    /// Whether the trouble is over now.
    pub(crate) fn on_errand_connected(&mut self) -> bool {
        self.unclear_greetings = 0;
        self.trouble.take_if(|trouble| *trouble != Trouble::OutOfOrder).is_some()
    }

    /// Whether the trouble is over now. A greeting does not show that articles are delivered.
    pub(crate) fn on_connected(&mut self) -> bool {
        self.working += 1;
        // Each makes way for two: what is being opened at once doubles with each round trip.
        self.ramp = (self.ramp + 1).min(self.settings.connections.max(FIRST_AT_ONCE));
        self.on_errand_connected()
    }

    /// An article came, good or bad: the server is in order, unless that was asked for before its last
    /// failure. Whether it was out of order until now.
    pub(crate) fn on_delivered(&mut self, number: u64) -> bool {
        self.newest_delivered = self.newest_delivered.max(number);
        if number <= self.failures.counted {
            return false;
        }
        self.failures.in_a_row = 0;
        self.rests = 0;
        let recovered = self.is_out_of_order();
        if recovered {
            self.trouble = None;
            self.rests_until = None;
        }
        recovered
    }

    /// It said that it does not have an article, which may be the answer to a probe. The next failure
    /// puts it out of order again, for nothing was delivered. Whether it was out of order until now.
    pub(crate) fn on_missing(&mut self) -> bool {
        let answers = self.is_out_of_order() && self.rests_until.is_none();
        if answers {
            self.trouble = None;
        }
        answers
    }

    /// A request failed and its connection goes on.
    pub(crate) fn on_request_failed(
        &mut self,
        now: Instant,
        attempt: Attempt,
        most_failures: u32,
        chance: &mut SplitMix,
    ) -> Consequence {
        let counts = self.failures.count(attempt);
        let out_of_order = self.is_out_of_order() || self.failures.in_a_row >= most_failures;
        match counts && out_of_order {
            true => self.rest(now, Trouble::OutOfOrder, chance),
            false => Consequence::GoesOn,
        }
    }

    pub(crate) fn on_ended(
        &mut self,
        now: Instant,
        end: End,
        chance: &mut SplitMix,
    ) -> Consequence {
        let End { trouble, was_working, attempt, others, most_failures } = end;
        self.open -= 1;
        self.working -= usize::from(was_working);
        if trouble != Trouble::Closed {
            self.ramp = FEW_AT_ONCE;
        }
        // One fewer than there were. Those still being opened count: each that is refused too lowers
        // the ceiling by one more, until all that are left work.
        let open = self.open() + others;
        match trouble {
            Trouble::Closed => Consequence::GoesOn,
            Trouble::TooManyConnections if open > 0 => Consequence::LowerCeiling(open),
            Trouble::Broken | Trouble::OutOfStep => {
                self.on_request_failed(now, attempt, most_failures, chance)
            }
            Trouble::Refused if was_working => {
                match self.on_request_failed(now, attempt, most_failures, chance) {
                    Consequence::GoesOn if self.working > 0 => Consequence::LowerCeiling(open),
                    end => end,
                }
            }
            Trouble::Refused | Trouble::Unavailable if self.working > 0 => {
                Consequence::LowerCeiling(open)
            }
            Trouble::Refused => {
                self.unclear_greetings = self.unclear_greetings.saturating_add(1);
                let is_login = self.unclear_greetings >= UNCLEAR_GREETINGS;
                self.rest(now, if is_login { Trouble::Login } else { Trouble::OutOfOrder }, chance)
            }
            Trouble::Unavailable => self.rest(now, Trouble::OutOfOrder, chance),
            _ => self.rest(now, trouble, chance),
        }
    }

    pub(crate) fn on_time(&mut self, now: Instant) {
        if self.rests_until.is_some_and(|until| now >= until) {
            self.rests_until = None;
        }
    }

    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.rests_until
    }

    fn rest(&mut self, now: Instant, trouble: Trouble, chance: &mut SplitMix) -> Consequence {
        let known = self.trouble.replace(trouble) == Some(trouble);
        // Several connections failing while it rests are one failure.
        if let Some(until) = self.rests_until {
            let left = until.saturating_duration_since(now);
            return if known { Consequence::GoesOn } else { Consequence::Rests(left) };
        }
        self.rests += 1;
        self.ramp = 1;
        let (first, longest) = if trouble.lasts() { LASTING_BACK_OFF } else { TRANSIENT_BACK_OFF };
        let doubled = first * f64::from(1u32 << (self.rests - 1).min(16));
        let jitter = 0.75 + chance.up_to(500) as f64 / 1000.0;
        let time = Duration::from_secs_f64(doubled.min(longest) * jitter);
        self.rests_until = Some(now + time);
        Consequence::Rests(time)
    }
}

/// So many unclear refusals with 502 in a row at the greeting are a refused login.
const UNCLEAR_GREETINGS: u8 = 3;

/// The first and the longest, in seconds. Nothing waits for a server whose login is refused.
const LASTING_BACK_OFF: (f64, f64) = (10.0, 600.0);

/// Where the trouble may pass at any moment: a server that is back must have its share again within
/// 15 seconds, and each rest may be a quarter longer than this.
const TRANSIENT_BACK_OFF: (f64, f64) = (1.0, 8.0);

/// Hundreds of connections that are lost together must not come back together: the server would take
/// that for an attack, and a wrong password would be sent as often.
const FEW_AT_ONCE: usize = 4;

/// At first nothing was lost, and most accounts have no more than these; a password that is wrong is
/// then sent eight times in all, for the server rests behind the first refusal.
const FIRST_AT_ONCE: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    fn server(connections: usize) -> Server {
        let settings = ServerSettings::new(ServerId(1), connections);
        Server::new(settings)
    }

    fn ended(was_working: bool, trouble: Trouble) -> End {
        failed(was_working, trouble, Attempt::alone(1, 1))
    }

    fn failed(was_working: bool, trouble: Trouble, attempt: Attempt) -> End {
        End { trouble, was_working, attempt, others: 0, most_failures: 3 }
    }

    #[test]
    fn rests_grow_and_one_probe_ends_them() {
        let (mut server, now, mut chance) = (server(8), Instant::now(), SplitMix::seeded(1));
        let mut rests = Vec::new();
        for _ in 0..10 {
            server.open += 1;
            match server.on_ended(now, ended(false, Trouble::Unreachable), &mut chance) {
                Consequence::Rests(time) => rests.push(time.as_secs_f64()),
                other => panic!("{other:?}"),
            }
            assert_eq!(server.room(), 0);
            server.on_time(now + Duration::from_secs(100));
            assert_eq!(server.room(), 1, "one probe");
        }
        assert!(rests[0] <= 1.25 && rests[9] >= 6.0 && rests[9] <= 10.0, "{rests:?}");
        server.open = 1;
        assert!(server.on_connected());
        assert_eq!(server.room(), 2, "and then more and more");
    }

    #[test]
    fn a_rest_is_as_long_as_the_trouble_may_last() {
        use Trouble::{
            AccountShared, Certificate, Login, OutOfCredit, TooManyConnections, Unavailable,
            Unreachable,
        };
        let passing = [TooManyConnections, Unavailable, Unreachable];
        let lasting = [AccountShared, Certificate, Login, OutOfCredit];
        let rows = passing.map(|trouble| (trouble, 1.0, 8.0)).into_iter();
        for (trouble, first, longest) in rows.chain(lasting.map(|it| (it, 10.0, 600.0))) {
            for seed in 0..20 {
                let (mut server, mut now) = (server(1), Instant::now());
                let mut chance = SplitMix::seeded(seed);
                let mut expected = first;
                for _ in 0..12 {
                    server.open = 1;
                    let end = server.on_ended(now, ended(false, trouble), &mut chance);
                    let Consequence::Rests(time) = end else { panic!("{trouble:?}: {end:?}") };
                    let share = time.as_secs_f64() / f64::min(expected, longest);
                    assert!((0.75..=1.25).contains(&share), "{trouble:?}: {time:?}");
                    expected *= 2.0;
                    now += time;
                    server.on_time(now);
                    assert_eq!(server.room(), 1, "then it is tried with one connection");
                }
            }
        }
    }

    #[test]
    fn after_an_outage_connections_come_back_by_and_by() {
        let (mut server, now, mut chance) = (server(500), Instant::now(), SplitMix::seeded(1));
        let open_all = |server: &mut Server| {
            let mut rounds = Vec::new();
            while server.open < 500 {
                let room = server.room();
                (0..room).for_each(|_| server.on_opening());
                assert_eq!(server.room(), 0, "no more until one has come to be");
                (0..room).for_each(|_| _ = server.on_connected());
                rounds.push(room);
            }
            rounds
        };
        assert_eq!(open_all(&mut server), [8, 16, 32, 64, 128, 252]);
        for _ in 0..500 {
            server.on_ended(now, ended(true, Trouble::Broken), &mut chance);
        }
        assert_eq!(server.room(), 4, "they broke together and come back one after the other");
        server.on_opening();
        server.on_ended(now, ended(false, Trouble::Unreachable), &mut chance);
        assert_eq!(server.room(), 0);
        server.on_time(now + Duration::from_secs(2));
        assert_eq!(server.room(), 1);
        server.on_opening();
        server.on_connected();
        assert_eq!(open_all(&mut server)[..4], [2, 4, 8, 16]);
    }

    #[test]
    fn an_article_that_still_comes_while_it_rests_changes_nothing() {
        let (mut server, now, mut chance) = (server(3), Instant::now(), SplitMix::seeded(1));
        server.open = 3;
        (0..3).for_each(|_| _ = server.on_connected());
        let first = server.on_ended(now, ended(true, Trouble::Login), &mut chance);
        assert!(matches!(first, Consequence::Rests(_)));
        server.on_delivered(1);
        let second = server.on_ended(now, ended(true, Trouble::Login), &mut chance);
        assert_eq!(second, Consequence::GoesOn, "it is one failure");
        let other = server.on_ended(now, ended(true, Trouble::OutOfCredit), &mut chance);
        assert_eq!(other, first, "the rest is no longer for another reason");
    }

    /// Fails one request after the other until the server rests, for how long each time.
    fn fails_until_it_rests(server: &mut Server, now: Instant, from: u64) -> u64 {
        let mut chance = SplitMix::seeded(1);
        for number in from.. {
            let attempt = Attempt::alone(number, number);
            let end = server.on_request_failed(now, attempt, 3, &mut chance);
            if let Consequence::Rests(_) = end {
                return number - from + 1;
            }
        }
        unreachable!("it fails for ever");
    }

    #[test]
    fn failures_in_a_row_put_a_server_out_of_order_and_a_delivery_ends_that() {
        let (mut server, now) = (server(4), Instant::now());
        assert_eq!(fails_until_it_rests(&mut server, now, 1), 3);
        assert!(server.is_out_of_order() && server.is_excused() && !server.wants_probe());
        server.on_time(now + Duration::from_secs(10));
        assert!(server.wants_probe());
        server.on_opening();
        assert!(!server.on_connected(), "a greeting delivers nothing");
        assert!(server.is_out_of_order());
        assert_eq!(fails_until_it_rests(&mut server, now, 10), 1, "the probe failed");
        assert!(!server.on_delivered(9), "it was asked for before the failures");
        assert!(server.is_out_of_order());
        assert!(server.on_delivered(11) && !server.is_out_of_order());
        assert_eq!(server.rests_until, None);
        assert_eq!(fails_until_it_rests(&mut server, now, 20), 3, "it begins anew");
    }

    #[test]
    fn a_delivery_between_failures_starts_the_count_anew() {
        let (mut server, now, mut chance) = (server(4), Instant::now(), SplitMix::seeded(1));
        for number in (1..300).step_by(3) {
            let attempt = Attempt::alone(number, number);
            let end = server.on_request_failed(now, attempt, 3, &mut chance);
            assert_eq!(end, Consequence::GoesOn);
            if number % 2 == 0 {
                server.on_delivered(number + 1);
            }
        }
    }

    #[test]
    fn requests_that_fail_side_by_side_are_one_failure() {
        let (mut server, now, mut chance) = (server(50), Instant::now(), SplitMix::seeded(1));
        server.open = 50;
        (0..50).for_each(|_| _ = server.on_connected());
        for number in 1..=50 {
            let end = failed(true, Trouble::Broken, Attempt::alone(number, 50));
            assert_eq!(server.on_ended(now, end, &mut chance), Consequence::GoesOn);
        }
        assert_eq!(fails_until_it_rests(&mut server, now, 51), 2);
    }

    #[test]
    fn one_article_that_fails_again_is_no_outage_while_others_are_under_way() {
        let (mut server, now, mut chance) = (server(4), Instant::now(), SplitMix::seeded(1));
        let attempt = |number, others_under_way| Attempt {
            article: Some(7),
            others_under_way,
            ..Attempt::alone(number, number)
        };
        for number in 1..20 {
            server.on_request_failed(now, attempt(number, true), 3, &mut chance);
        }
        assert!(!server.is_out_of_order());
        (20..22).for_each(|number| {
            server.on_request_failed(now, attempt(number, false), 3, &mut chance);
        });
        assert!(server.is_out_of_order(), "and nothing else comes");
    }

    #[test]
    fn an_article_it_lacks_ends_a_probe_and_one_more_failure_is_enough_then() {
        let (mut server, now) = (server(4), Instant::now());
        fails_until_it_rests(&mut server, now, 1);
        assert!(!server.on_missing(), "it was asked before it failed");
        server.on_time(now + Duration::from_secs(10));
        assert!(server.on_missing() && !server.is_out_of_order());
        assert_eq!(fails_until_it_rests(&mut server, now, 10), 1);
    }

    #[test]
    fn three_unclear_refusals_at_the_greeting_are_a_refused_login() {
        let (mut server, mut now, mut chance) = (server(4), Instant::now(), SplitMix::seeded(1));
        let refusals = [Trouble::Unavailable, Trouble::Refused, Trouble::Refused, Trouble::Refused];
        let mut states = Vec::new();
        for trouble in refusals {
            server.on_opening();
            server.on_ended(now, ended(false, trouble), &mut chance);
            states.push(server.trouble().unwrap());
            now += Duration::from_secs(700);
            server.on_time(now);
        }
        let out_of_order = Trouble::OutOfOrder;
        assert_eq!(states, [out_of_order, out_of_order, out_of_order, Trouble::Login]);
    }

    #[test]
    fn an_unclear_refusal_of_a_request_is_never_a_refused_login() {
        let (mut server, now, mut chance) = (server(1), Instant::now(), SplitMix::seeded(1));
        for number in 1..20 {
            server.open = 1;
            server.on_connected();
            let end = failed(true, Trouble::Refused, Attempt::alone(number, number));
            server.on_ended(now, end, &mut chance);
            assert_ne!(server.trouble(), Some(Trouble::Login));
        }
        assert!(server.is_out_of_order());
    }

    #[test]
    fn a_wrong_password_excuses_and_a_dead_line_does_not() {
        for (trouble, excused) in [(Trouble::Login, true), (Trouble::Unreachable, false)] {
            let mut server = server(1);
            server.open = 1;
            server.on_ended(Instant::now(), ended(false, trouble), &mut SplitMix::seeded(1));
            assert_eq!(server.is_excused(), excused);
            server.settings.optional = true;
            assert!(server.is_excused());
        }
    }
}
