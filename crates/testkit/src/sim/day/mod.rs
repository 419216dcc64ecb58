//! [`Day`]: everything a seed expands to: servers, jobs, disk, clocks. Pure.

pub(crate) mod calendar;
pub(crate) mod draw;
pub(crate) mod misfits;
pub(crate) mod outage;
pub(crate) mod post;
pub(crate) mod recovery;
pub(crate) mod user_action;

use std::collections::BTreeMap;
use std::time::Duration;

use bergamot_engine::ServerSettings;
use bergamot_types::{ByteRate, ServerId};

use crate::sim::day::calendar::CalendarModel;
use crate::sim::day::misfits::Misfits;
use crate::sim::day::user_action::UserAction;
use crate::sim::header_reader::SideTraffic;
use crate::sim::kind::Kind;
use crate::sim::seed::Seed;

/// A day of downloads. Printed, it tells all there is to know about a seed.
#[derive(Clone, Debug)]
pub struct Day {
    pub seed: Seed,
    pub kinds: Vec<Kind>,
    pub servers: Vec<ServerModel>,
    pub jobs: Vec<JobModel>,
    /// Bytes of each article.
    pub article: u64,
    /// What the NZB says of each article; the engine must live with what it says.
    pub claimed: u32,
    pub disk: DiskModel,
    pub clock: ClockModel,
    /// Our own line, shared by all servers; bytes per second.
    pub line: Option<u64>,
    /// What the user allows: all servers, and each.
    pub rate: ByteRate,
    pub server_rates: BTreeMap<ServerId, ByteRate>,
    pub budget: u64,
    /// Articles carry the name of their file.
    pub names: bool,
    /// One server never spoils an article, so every job must complete.
    pub reliable: bool,
    /// From then on nothing new goes wrong.
    pub heals_at: Duration,
    /// What the user does, and when.
    pub user_actions: Vec<(Duration, UserAction)>,
    /// What else is asked of the servers.
    pub side_traffic: SideTraffic,
    /// What the calendar has to say.
    pub calendar: CalendarModel,
}

#[derive(Clone, Debug)]
pub struct JobModel {
    /// The number of segments of each file.
    pub files: Vec<u32>,
    /// How many of them, the last ones, are PAR2 volumes.
    pub volumes: u32,
    pub priority: i32,
    pub added: Duration,
    pub removed: Option<Duration>,
    /// Days before the day begins.
    pub posted_days_ago: Option<u32>,
}

#[derive(Clone, Debug)]
pub struct ServerModel {
    pub settings: ServerSettings,
    pub round_trip: Duration,
    /// Each question takes up to this much longer.
    pub jitter: Duration,
    /// Looking for an article takes up to this long.
    pub think: Duration,
    /// Bytes per second, shared by its connections.
    pub rate: u64,
    pub connection_rate: Option<u64>,
    /// More connections than these are refused; of the whole account, if it has one.
    pub cap: Option<usize>,
    /// From then on its rate is this many thousandths.
    pub speeds: Vec<(Duration, u64)>,
    /// How many of a thousand answers go wrong, and how.
    pub answers: Vec<(Kind, u64)>,
    /// Times when new connections meet with something, and for some kinds old ones end.
    pub spells: Vec<Spell>,
    /// Times when it greets and delivers nothing.
    pub outages: Vec<Outage>,
    /// Articles that do not go with the rest of their file.
    pub misfits: Misfits,
    /// It closes connections that are idle for so long.
    pub idle_limit: Option<Duration>,
    /// A question behind another one that is not answered yet costs the connection.
    pub dislikes_pipelining: bool,
    /// What goes wrong in its conversations, on byte-level days.
    pub wire: Vec<WireFault>,
    /// Capabilities it claims and does not have; none is that it knows no such command.
    pub lies: Option<&'static [&'static str]>,
}

/// One fault of `newsd`.
#[derive(Clone, Copy, Debug)]
pub struct WireFault {
    pub fault: bergamot_newsd::Fault,
    /// How many of a thousand answers, connections or logins meet with it.
    pub per_mille: u64,
    /// Only the first times that an article is asked for, a connection made or a login tried; 0 is
    /// always.
    pub first: u32,
    /// In these words.
    pub saying: Option<&'static str>,
}

#[derive(Clone, Copy, Debug)]
pub struct Spell {
    pub kind: Kind,
    pub from: Duration,
    pub to: Duration,
}

/// A time in which every request for an article fails, though connections come to be.
#[derive(Clone, Copy, Debug)]
pub struct Outage {
    pub kind: Kind,
    /// What each request meets with.
    pub answer: Kind,
    /// It still says of articles it lacks that it does.
    pub knows_missing: bool,
    pub from: Duration,
    pub to: Duration,
}

#[derive(Clone, Debug, Default)]
pub struct DiskModel {
    /// Bytes per second.
    pub rate: u64,
    /// Takes nothing between these times.
    pub full: Vec<(Duration, Duration)>,
    /// How many of a thousand attempts fail, until the day heals.
    pub failing: Vec<(Kind, u64)>,
    /// The directory of this job is gone from then on.
    pub gone: Option<(u32, Duration)>,
}

#[derive(Clone, Debug, Default)]
pub struct ClockModel {
    /// The calendar is set by so many seconds.
    pub jumps: Vec<(Duration, i64)>,
    /// The machine sleeps for so long, and no connection outlives that.
    pub suspends: Vec<(Duration, Duration)>,
}

impl Day {
    /// Some kinds of fault are switched on and the others off: faults that are always all there
    /// hide each other.
    pub fn from_seed(seed: Seed) -> Self {
        draw::day(seed)
    }

    /// Parts name their file, and at most one of each file is of another one: that one can be found out.
    pub(crate) fn has_lone_siblings(&self) -> bool {
        self.names && self.servers.iter().all(|server| server.misfits.siblings <= 1)
    }

    pub fn articles(&self) -> u32 {
        self.jobs.iter().flat_map(|job| &job.files).sum()
    }

    /// How long all of it takes one article after the other, over the slowest connection.
    pub(crate) fn longest_way(&self) -> Duration {
        let bytes = u64::from(self.articles()) * self.article;
        let servers =
            self.servers.iter().map(|server| server.connection_rate.unwrap_or(server.rate));
        let others = [self.disk.rate].into_iter().chain(self.line);
        let slowest = servers.chain(others).min().unwrap_or(1).max(1);
        Duration::from_secs(bytes / slowest)
    }

    /// No day may last longer, whatever happens.
    pub(crate) fn longest(&self) -> Duration {
        let bytes = u64::from(self.articles()) * self.article;
        // Where parts contradict each other on the size of their file, each is asked for twice.
        let copies = 1 + u32::from(self.servers.iter().any(|it| it.misfits.size.is_some()));
        self.heals_at + self.longest_way() * copies + self.calendar.longest_hold(bytes)
    }

    pub(crate) fn is_healed(&self, now: Duration) -> bool {
        now >= self.heals_at
    }
}

impl JobModel {
    /// Whether the file with that index is a PAR2 volume.
    pub(crate) fn is_volume(&self, file: usize) -> bool {
        file + self.volumes as usize >= self.files.len()
    }
}

impl ServerModel {
    /// How many of a thousand answers go wrong so.
    pub(crate) fn chance_of(&self, kind: Kind) -> u64 {
        let known = self.answers.iter().find(|(known, _)| *known == kind);
        known.map_or(0, |(_, chance)| *chance)
    }

    pub(crate) fn spell(&self, now: Duration) -> Option<Kind> {
        let now_is_in = |spell: &&Spell| now >= spell.from && now < spell.to;
        self.spells.iter().find(now_is_in).map(|spell| spell.kind)
    }

    pub(crate) fn outage(&self, now: Duration) -> Option<&Outage> {
        self.outages.iter().find(|outage| now >= outage.from && now < outage.to)
    }

    /// Whether what was asked for then and fails now may have been answered in an outage.
    pub(crate) fn may_fail_by_outage(&self, asked: Duration, now: Duration) -> bool {
        self.outages.iter().any(|outage| asked < outage.to && now >= outage.from)
    }

    /// Its speed at a time.
    pub(crate) fn rate_at(&self, now: Duration) -> u64 {
        let last = self.speeds.iter().rev().find(|(from, _)| now >= *from);
        last.map_or(self.rate, |(_, thousandths)| self.rate / 1000 * thousandths)
    }

    /// Until when nothing comes from it, if it is dead now.
    pub(crate) fn dead_until(&self, now: Duration) -> Option<Duration> {
        if self.rate_at(now) > 0 {
            return None;
        }
        self.speeds.iter().find(|(from, speed)| *from > now && *speed > 0).map(|(from, _)| *from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outage_explains_failures_of_requests_that_were_open_during_it() {
        let mut server = Day::from_seed(Seed::Articles(0)).servers.remove(0);
        let second = Duration::from_secs;
        let (kind, answer) = (Kind::OutOfOrder, Kind::LoginForgotten);
        server.outages =
            vec![Outage { kind, answer, knows_missing: false, from: second(10), to: second(20) }];
        for (asked, failed) in [(0, 10), (0, 300), (12, 13), (19, 300)] {
            assert!(server.may_fail_by_outage(second(asked), second(failed)), "{asked}..{failed}");
        }
        for (asked, failed) in [(0, 9), (20, 21), (38, 39)] {
            assert!(!server.may_fail_by_outage(second(asked), second(failed)), "{asked}..{failed}");
        }
    }
}
