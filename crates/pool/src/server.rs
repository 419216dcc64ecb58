//! One server: what it is willing to do just now.

use std::time::{Duration, Instant};

use bergamot_types::{ServerId, SplitMix};

use crate::settings::ServerSettings;
use crate::trouble::Trouble;

#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) settings: ServerSettings,
    /// Connections that are open or being opened.
    open: usize,
    working: usize,
    trouble: Option<Trouble>,
    rests_until: Option<Instant>,
    breaks: usize, // connections lost since an article came
    rests: u32,    // in a row
    ceiling: usize,
    raise_at: Option<Instant>,
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
            trouble: None,
            rests_until: None,
            breaks: 0,
            rests: 0,
            ceiling: settings.connections,
            raise_at: None,
            settings,
        }
    }

    pub(crate) fn open(&self) -> usize {
        self.open
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

    pub(crate) fn is_active(&self) -> bool {
        self.settings.active && self.settings.connections > 0
    }

    /// Whether articles are not to wait for it at the moment.
    pub(crate) fn is_excused(&self) -> bool {
        self.trouble.is_some_and(|trouble| trouble.excuses() || self.settings.optional)
    }

    pub(crate) fn trouble(&self) -> Option<Trouble> {
        self.trouble
    }

    pub(crate) fn in_trouble(&self) -> bool {
        self.trouble.is_some()
    }

    /// How many connections may be opened beside those that are; only one as long as it is not
    /// known whether the trouble is over.
    pub(crate) fn room(&self) -> usize {
        if !self.is_active() || self.rests_until.is_some() {
            return 0;
        }
        let most = if self.in_trouble() { 1 } else { self.ceiling };
        most.saturating_sub(self.open)
    }

    /// Whether the trouble is over now.
    pub(crate) fn on_connected(&mut self) -> bool {
        self.working += 1;
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
        chance: &mut SplitMix,
    ) -> Consequence {
        self.open -= 1;
        self.working -= usize::from(was_working);
        match trouble {
            Trouble::Closed => Consequence::GoesOn,
            Trouble::TooManyConnections if self.open > 0 => self.lower_ceiling(now),
            Trouble::Refused if self.working > 0 => self.lower_ceiling(now),
            // All connections breaking at once is one mishap; each breaking twice is a habit.
            Trouble::Broken | Trouble::OutOfStep if self.breaks < 2 * self.settings.connections => {
                self.breaks += 1;
                Consequence::GoesOn
            }
            _ => self.rest(now, trouble, chance),
        }
    }

    /// One fewer than there were. Those still being opened count: each that is refused too lowers
    /// the ceiling by one more, until all that are left work.
    fn lower_ceiling(&mut self, now: Instant) -> Consequence {
        self.ceiling = self.open;
        self.raise_at = Some(now + CEILING_PROBE);
        Consequence::LowerCeiling(self.ceiling)
    }

    /// Whether anything changed because time passed.
    pub(crate) fn on_time(&mut self, now: Instant) -> bool {
        let rested = self.rests_until.is_some_and(|until| now >= until);
        if rested {
            self.rests_until = None;
        }
        let raise = self.raise_at.is_some_and(|at| now >= at);
        if raise {
            self.ceiling = (self.ceiling + 1).min(self.settings.connections);
            let all = self.ceiling == self.settings.connections;
            self.raise_at = (!all).then_some(now + CEILING_PROBE);
        }
        rested || raise
    }

    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.rests_until.into_iter().chain(self.raise_at).min()
    }

    fn rest(&mut self, now: Instant, trouble: Trouble, chance: &mut SplitMix) -> Consequence {
        let known = self.trouble.replace(trouble) == Some(trouble);
        // Several connections failing while it rests are one failure.
        if let Some(until) = self.rests_until {
            let left = until.saturating_duration_since(now);
            return if known { Consequence::GoesOn } else { Consequence::Rests(left) };
        }
        self.rests += 1;
        // Where nothing works, nothing was learned about how many would.
        if trouble == Trouble::TooManyConnections {
            (self.ceiling, self.raise_at) = (self.settings.connections, None);
        }
        let (first, longest) = if trouble.excuses() { (10.0, 600.0) } else { (1.0, 60.0) };
        let doubled = first * f64::from(1u32 << (self.rests - 1).min(16));
        let jitter = 0.75 + chance.up_to(500) as f64 / 1000.0;
        let time = Duration::from_secs_f64(doubled.min(longest) * jitter);
        self.rests_until = Some(now + time);
        Consequence::Rests(time)
    }
}

/// How long a ceiling learned from "too many connections" is believed before one more is tried.
const CEILING_PROBE: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    const TOO_MANY: Trouble = Trouble::TooManyConnections;

    fn server(connections: usize) -> Server {
        let settings = ServerSettings {
            id: ServerId(1),
            active: true,
            level: 0,
            group: 0,
            optional: false,
            connections,
            account: None,
            retention: 0,
        };
        Server::new(settings)
    }

    #[test]
    fn too_many_connections_teaches_a_ceiling_that_is_probed_later() {
        let (mut server, now, mut chance) = (server(8), Instant::now(), SplitMix::seeded(1));
        server.open = 8;
        let mut refuse = |server: &mut Server| server.on_ended(now, false, TOO_MANY, &mut chance);
        assert_eq!(refuse(&mut server), Consequence::LowerCeiling(7), "others may still come");
        assert_eq!(refuse(&mut server), Consequence::LowerCeiling(6));
        (0..5).for_each(|_| _ = server.on_connected());
        assert_eq!(refuse(&mut server), Consequence::LowerCeiling(5));
        assert_eq!(server.room(), 0);
        assert!(server.on_time(now + CEILING_PROBE));
        assert_eq!(server.room(), 1);
    }

    #[test]
    fn nothing_is_learned_from_too_many_when_none_works() {
        let (mut server, now, mut chance) = (server(8), Instant::now(), SplitMix::seeded(1));
        server.open = 8;
        for left in (1..8).rev() {
            let end = server.on_ended(now, false, TOO_MANY, &mut chance);
            assert_eq!(end, Consequence::LowerCeiling(left));
        }
        let last = server.on_ended(now, false, TOO_MANY, &mut chance);
        assert!(matches!(last, Consequence::Rests(_)));
        server.on_time(now + Duration::from_secs(2));
        server.open = 1;
        server.on_connected();
        assert_eq!(server.room(), 7);
    }

    #[test]
    fn rests_grow_and_one_probe_ends_them() {
        let (mut server, now, mut chance) = (server(8), Instant::now(), SplitMix::seeded(1));
        let mut rests = Vec::new();
        for _ in 0..10 {
            server.open += 1;
            match server.on_ended(now, false, Trouble::Unreachable, &mut chance) {
                Consequence::Rests(time) => rests.push(time.as_secs_f64()),
                other => panic!("{other:?}"),
            }
            assert_eq!(server.room(), 0);
            server.on_time(now + Duration::from_secs(100));
            assert_eq!(server.room(), 1, "one probe");
        }
        assert!(rests[0] <= 1.25 && rests[9] >= 45.0 && rests[9] <= 75.0, "{rests:?}");
        server.open = 1;
        assert!(server.on_connected());
        assert_eq!(server.room(), 7);
    }

    #[test]
    fn an_article_that_still_comes_while_it_rests_changes_nothing() {
        let (mut server, now, mut chance) = (server(3), Instant::now(), SplitMix::seeded(1));
        server.open = 3;
        (0..3).for_each(|_| _ = server.on_connected());
        let first = server.on_ended(now, true, Trouble::Login, &mut chance);
        assert!(matches!(first, Consequence::Rests(_)));
        server.on_success();
        let second = server.on_ended(now, true, Trouble::Login, &mut chance);
        assert_eq!(second, Consequence::GoesOn, "it is one failure");
        let other = server.on_ended(now, true, Trouble::OutOfCredit, &mut chance);
        assert_eq!(other, first, "the rest is no longer for another reason");
    }

    #[test]
    fn a_wrong_password_excuses_and_a_dead_line_does_not() {
        for (trouble, excused) in [(Trouble::Login, true), (Trouble::Unreachable, false)] {
            let mut server = server(1);
            server.open = 1;
            server.on_ended(Instant::now(), false, trouble, &mut SplitMix::seeded(1));
            assert_eq!(server.is_excused(), excused);
            server.settings.optional = true;
            assert!(server.is_excused());
        }
    }
}
