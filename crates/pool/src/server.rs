//! One server: what it is willing to do just now.

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
    breaks: usize, // connections lost since an article came
    rests: u32,    // in a row
    ramp: usize,   // how many connections may be being opened at once
    leaving: bool, // to be forgotten with its last connection
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
            breaks: 0,
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
        trouble: Trouble,
        others: usize,
        chance: &mut SplitMix,
    ) -> Consequence {
        self.errands -= 1;
        self.open += 1;
        self.on_ended(now, false, trouble, others, chance)
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

    /// We say goodbye to a working connection; it counts as open until it has ended.
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
        let by_trouble = |trouble: Trouble| trouble.excuses() || self.settings.optional;
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
        !self.in_trouble() && (self.working > 0 || self.open > 0 && self.breaks == 0)
    }

    pub(crate) fn trouble(&self) -> Option<Trouble> {
        self.trouble
    }

    pub(crate) fn in_trouble(&self) -> bool {
        self.trouble.is_some()
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
        self.trouble.take().is_some()
    }

    /// Whether the trouble is over now.
    pub(crate) fn on_connected(&mut self) -> bool {
        self.working += 1;
        // Each makes way for two: what is being opened at once doubles with each round trip.
        self.ramp = (self.ramp + 1).min(self.settings.connections.max(FIRST_AT_ONCE));
        self.trouble.take().is_some()
    }

    /// An article came: whatever went wrong before was not the server's state.
    pub(crate) fn on_success(&mut self) {
        self.breaks = 0;
        self.rests = 0;
    }

    pub(crate) fn on_ended(
        &mut self,
        now: Instant,
        was_working: bool,
        trouble: Trouble,
        others: usize,
        chance: &mut SplitMix,
    ) -> Consequence {
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
            Trouble::Refused if self.working > 0 => Consequence::LowerCeiling(open),
            // All connections breaking at once is one mishap; each breaking twice is a habit.
            Trouble::Broken | Trouble::OutOfStep if self.breaks < 2 * self.settings.connections => {
                self.breaks += 1;
                Consequence::GoesOn
            }
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
        let (first, longest) = if trouble.excuses() { LONG_RESTS } else { SHORT_RESTS };
        let doubled = first * f64::from(1u32 << (self.rests - 1).min(16));
        let jitter = 0.75 + chance.up_to(500) as f64 / 1000.0;
        let time = Duration::from_secs_f64(doubled.min(longest) * jitter);
        self.rests_until = Some(now + time);
        Consequence::Rests(time)
    }
}

/// The first and the longest, in seconds. Nothing waits for a server whose login is refused.
const LONG_RESTS: (f64, f64) = (10.0, 600.0);

/// Where the trouble may pass at any moment: a server that is back must have its share again within
/// 15 seconds, and each rest may be a quarter longer than this.
const SHORT_RESTS: (f64, f64) = (1.0, 8.0);

/// Hundreds of connections that are lost together must not come back together: the server would take
/// that for an attack, and a wrong password would be sent as often.
const FEW_AT_ONCE: usize = 4;

/// At first nothing was lost, and most people have no more than these; a password that is wrong is
/// then sent eight times in all, for the server rests behind the first refusal.
const FIRST_AT_ONCE: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    fn server(connections: usize) -> Server {
        let settings = ServerSettings::new(ServerId(1), connections);
        Server::new(settings)
    }

    #[test]
    fn rests_grow_and_one_probe_ends_them() {
        let (mut server, now, mut chance) = (server(8), Instant::now(), SplitMix::seeded(1));
        let mut rests = Vec::new();
        for _ in 0..10 {
            server.open += 1;
            match server.on_ended(now, false, Trouble::Unreachable, 0, &mut chance) {
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
            AccountShared, Broken, Certificate, Login, OutOfCredit, OutOfStep, Refused,
            TooManyConnections, Unreachable,
        };
        let passing = [Broken, OutOfStep, Refused, TooManyConnections, Unreachable];
        let lasting = [AccountShared, Certificate, Login, OutOfCredit];
        let rows = passing.map(|trouble| (trouble, 1.0, 8.0)).into_iter();
        for (trouble, first, longest) in rows.chain(lasting.map(|it| (it, 10.0, 600.0))) {
            for seed in 0..20 {
                let (mut server, mut now) = (server(1), Instant::now());
                let mut chance = SplitMix::seeded(seed);
                server.breaks = 2;
                let mut expected = first;
                for _ in 0..12 {
                    server.open = 1;
                    let end = server.on_ended(now, false, trouble, 0, &mut chance);
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
            server.on_ended(now, true, Trouble::Broken, 0, &mut chance);
        }
        assert_eq!(server.room(), 4, "they broke together and come back one after the other");
        server.on_opening();
        server.on_ended(now, false, Trouble::Unreachable, 0, &mut chance);
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
        let first = server.on_ended(now, true, Trouble::Login, 0, &mut chance);
        assert!(matches!(first, Consequence::Rests(_)));
        server.on_success();
        let second = server.on_ended(now, true, Trouble::Login, 0, &mut chance);
        assert_eq!(second, Consequence::GoesOn, "it is one failure");
        let other = server.on_ended(now, true, Trouble::OutOfCredit, 0, &mut chance);
        assert_eq!(other, first, "the rest is no longer for another reason");
    }

    #[test]
    fn a_wrong_password_excuses_and_a_dead_line_does_not() {
        for (trouble, excused) in [(Trouble::Login, true), (Trouble::Unreachable, false)] {
            let mut server = server(1);
            server.open = 1;
            server.on_ended(Instant::now(), false, trouble, 0, &mut SplitMix::seeded(1));
            assert_eq!(server.is_excused(), excused);
            server.settings.optional = true;
            assert!(server.is_excused());
        }
    }
}
