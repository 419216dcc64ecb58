//! [`Day`]: what a seed expands to: servers, posts, faults, and when users act and the process dies. Pure.
//!
//! What users do is drawn when they do it, for it depends on the jobs that there are.

use std::time::Duration;

use bergamot_engine::{HealthAction, ServerSettings};
use bergamot_jobs::machine::{Category, JobDirectories, Settings};
use bergamot_queue::Propagation;
use bergamot_storage::Reserve;
use bergamot_types::{ByteCount, ServerId, SplitMix, UnixTime};

use super::posts::{ARTICLE, Posts};

#[derive(Clone, Debug)]
pub struct Day {
    pub seed: u64,
    /// Behind this nothing goes wrong, and every job has to end.
    pub(crate) heals_at: Duration,
    pub(crate) begins: UnixTime,
    pub(crate) servers: Vec<ServerModel>,
    pub(crate) posts: Posts,
    /// When users do something.
    pub(crate) acts: Vec<Duration>,
    /// When the process ends, and how.
    pub(crate) ends: Vec<(Duration, End)>,
    /// By how many seconds the calendar is set.
    pub(crate) jumps: Vec<(Duration, i64)>,
    pub(crate) disk: DiskFaults,
    pub(crate) state: StateFaults,
    pub(crate) settings: Settings,
    pub(crate) health: HealthAction,
}

#[derive(Clone, Debug)]
pub(crate) struct ServerModel {
    pub(crate) settings: ServerSettings,
    pub(crate) outages: Windows,
    /// The longest time to an answer, in milliseconds.
    pub(crate) latency: u64,
    /// So many of a thousand answers break the connection.
    pub(crate) breaks: u64,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum End {
    Kill,
    /// In good order: all records are written before.
    Stop,
}

/// Chances are of a thousand.
#[derive(Clone, Debug, Default)]
pub(crate) struct DiskFaults {
    /// Of the volumes of the directories for incomplete and complete jobs.
    pub(crate) full: [Windows; 2],
    pub(crate) gone: Windows,
    pub(crate) silent: Windows,
    pub(crate) free: u64,
    pub(crate) transient: u64,
    pub(crate) permanent: u64,
    pub(crate) moves: u64,
    /// A job's directory or file vanishes while no process runs.
    pub(crate) vanish: u64,
    pub(crate) grows: u64,
    /// The longest a write takes, in milliseconds.
    pub(crate) latency: u64,
}

/// Chances are of a thousand.
#[derive(Clone, Debug, Default)]
pub(crate) struct StateFaults {
    pub(crate) trouble: Windows,
    pub(crate) write_fails: u64,
    pub(crate) load_waits: u64,
    pub(crate) load_fails: u64,
    /// The longest an operation takes, in milliseconds.
    pub(crate) latency: u64,
    /// The longest that an answer takes to reach the machine, in milliseconds.
    pub(crate) answer: u64,
}

/// From, to.
pub(crate) type Windows = Vec<(Duration, Duration)>;

pub(crate) fn is_within(windows: &Windows, now: Duration) -> bool {
    windows.iter().any(|(from, to)| now >= *from && now < *to)
}

impl Day {
    pub fn from_seed(seed: u64) -> Self {
        let mut draw = Draw(SplitMix::seeded(seed));
        let span = [300, 1200, 7200, 100_000, 2_000_000][draw.up_to(4) as usize];
        let span = Duration::from_secs(span);
        let begins = UnixTime(1_800_000_000 + draw.up_to(1 << 26) as i64);
        let count = 1 + draw.up_to(2) as usize;
        let servers = (0..count).map(|index| draw.server(index, span)).collect();
        Self {
            seed,
            heals_at: span,
            begins,
            servers,
            posts: Posts::draw(&mut draw.0, begins, count),
            acts: draw.acts(span),
            ends: draw.ends(span),
            jumps: draw.jumps(span),
            disk: draw.disk(span),
            state: draw.state(span),
            settings: draw.settings(),
            health: draw.health(),
        }
    }
}

/// One number behind the other from the seed.
struct Draw(SplitMix);

impl Draw {
    fn up_to(&mut self, most: u64) -> u64 {
        self.0.up_to(most)
    }

    fn one_in(&mut self, count: u64) -> bool {
        self.up_to(count - 1) == 0
    }

    fn within(&mut self, span: Duration) -> Duration {
        Duration::from_millis(self.up_to(span.as_millis() as u64))
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.up_to(all.len() as u64 - 1) as usize]
    }

    /// None on most days.
    fn windows(&mut self, span: Duration, rarity: u64) -> Windows {
        if !self.one_in(rarity) {
            return Windows::new();
        }
        let count = 1 + self.up_to(2);
        let window = |_| {
            let (from, longest) = (self.within(span), self.one_of(&[3, 60, 1000, 20_000]));
            (from, from + Duration::from_secs(1 + self.up_to(longest)))
        };
        (0..count).map(window).collect()
    }

    fn server(&mut self, index: usize, span: Duration) -> ServerModel {
        let id = ServerId(index as u16 + 1);
        let mut settings = ServerSettings::new(id, 1 + self.up_to(2) as usize);
        settings.level = self.up_to(1) as u32;
        settings.optional = index > 0 && self.one_in(2);
        ServerModel {
            settings,
            outages: self.windows(span, 3),
            latency: self.one_of(&[20, 200, 3000]),
            breaks: self.one_of(&[0, 0, 0, 20]),
        }
    }

    /// Users come in bursts: what they do meets what was just begun.
    fn acts(&mut self, span: Duration) -> Vec<Duration> {
        let count = 3 + self.up_to(32);
        let mut at = Duration::ZERO;
        let mut acts = Vec::new();
        for _ in 0..count {
            let pause = match self.up_to(6) {
                0 => Duration::ZERO,
                1 | 2 => Duration::from_millis(self.up_to(200)),
                3 | 4 => Duration::from_millis(self.up_to(8000)),
                _ => self.within(span / 8),
            };
            at += pause;
            if at < span {
                acts.push(at);
            }
        }
        acts
    }

    fn ends(&mut self, span: Duration) -> Vec<(Duration, End)> {
        let count = self.up_to(3);
        let mut ends = Vec::new();
        for _ in 0..count {
            let early = Duration::from_secs(1 + self.up_to(60));
            let at = if self.one_in(2) { self.within(early) } else { self.within(span) };
            let end = if self.one_in(4) { End::Stop } else { End::Kill };
            ends.push((at, end));
            if self.one_in(4) {
                ends.push((at + Duration::from_millis(self.up_to(100)), End::Kill));
            }
        }
        ends.retain(|(at, _)| *at < span);
        ends
    }

    fn jumps(&mut self, span: Duration) -> Vec<(Duration, i64)> {
        if !self.one_in(4) {
            return Vec::new();
        }
        let count = 1 + self.up_to(2);
        let jump = |_| {
            let seconds = self.one_of(&[3600, 90_000, 40_000_000]) + self.up_to(1000) as i64;
            let sign = if self.one_in(2) { 1 } else { -1 };
            (self.within(span), sign * seconds)
        };
        (0..count).map(jump).collect()
    }

    fn disk(&mut self, span: Duration) -> DiskFaults {
        let is_bad = self.one_in(3);
        let mut chance = |all: &[u64]| if is_bad { self.one_of(all) } else { 0 };
        let (transient, permanent) = (chance(&[0, 10, 60]), chance(&[0, 0, 8, 60]));
        let (moves, vanish, grows) = (chance(&[0, 100, 400]), chance(&[0, 300]), chance(&[0, 200]));
        DiskFaults {
            full: [self.windows(span, 6), self.windows(span, 10)],
            gone: self.windows(span, 10),
            silent: self.windows(span, 10),
            free: self.one_of(&[1 << 40, 1 << 40, 1 << 40, 30 * ARTICLE, 20 * ARTICLE]),
            transient,
            permanent,
            moves,
            vanish,
            grows,
            latency: self.one_of(&[2, 30, 1000]),
        }
    }

    fn state(&mut self, span: Duration) -> StateFaults {
        let is_bad = self.one_in(3);
        let mut chance = |all: &[u64]| if is_bad { self.one_of(all) } else { 0 };
        let (write_fails, load_waits) = (chance(&[0, 30, 300]), chance(&[0, 50, 300]));
        let load_fails = chance(&[0, 0, 40]);
        StateFaults {
            trouble: self.windows(span, 8),
            write_fails,
            load_waits,
            load_fails,
            latency: self.one_of(&[2, 20, 200, 3000]),
            answer: self.one_of(&[1, 10, 500]),
        }
    }

    fn health(&mut self) -> HealthAction {
        use HealthAction::{Delete, None, Park, Pause};
        self.one_of(&[Park, Park, Pause, Delete, None])
    }

    fn settings(&mut self) -> Settings {
        let category = |name: &str, priority| Category {
            name: name.to_owned(),
            directory: format!("/complete/{name}").into(),
            aliases: Vec::new(),
            priority,
        };
        let day = 86_400;
        let names = (1..=3).map(|id| (ServerId(id), format!("server {id}")));
        Settings {
            directories: JobDirectories {
                incomplete: INCOMPLETE.into(),
                complete: COMPLETE.into(),
                categories: vec![category("tv", 0), category("film", 50)],
            },
            accept_duplicates: self.one_in(6),
            wants_par2_volumes: self.one_in(4),
            propagation_delay: Duration::from_secs(self.one_of(&[0, 0, 600, 3600])),
            propagation: Propagation {
                age: Duration::from_secs(3600),
                hold: Duration::from_secs(self.one_of(&[60, 600])),
            },
            reserve: Reserve::Bytes(ByteCount(self.one_of(&[0, 2 * ARTICLE]))),
            keep: Duration::from_secs(self.one_of(&[3600, day, 30 * day, 1000 * day])),
            most_kept: self.one_of(&[0, 1, 2, 5, 1000, 1000]),
            feeds_only: false,
            server_names: names.collect(),
        }
    }
}

pub(crate) const INCOMPLETE: &str = "/incomplete";
pub(crate) const COMPLETE: &str = "/complete";
