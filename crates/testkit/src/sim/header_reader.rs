//! [`HeaderReader`]: requests errands all day, and checks that errands and probes cost articles nothing.
//! Single-threaded.

use std::collections::BTreeMap;
use std::time::Duration;

use bergamot_engine::{Census, ErrandId, Event, ServerSettings, Trouble};
use bergamot_types::{JobId, ServerId, SplitMix};

use crate::sim::day::Day;
use crate::violation::{Checked, Violation, violated};

/// What is asked on a day beside articles.
#[derive(Clone, Copy, Debug, Default)]
pub struct SideTraffic {
    /// Headers are wanted all day.
    pub headers: bool,
    /// Jobs are probed before they are added.
    pub probes: bool,
}

/// They have a chance of their own, so that a day is like it would be without them.
pub(crate) fn draw(day: &Day) -> SideTraffic {
    let mut chance = SplitMix::seeded(day.seed.number().rotate_left(23) ^ STREAM);
    SideTraffic { headers: chance.up_to(3) == 0, probes: chance.up_to(3) == 0 }
}

/// Keeps to the rules what is done beside articles.
#[derive(Debug)]
pub(crate) struct HeaderReader<'a> {
    day: &'a Day,
    chance: SplitMix,
    last_errand: u64,
    running: BTreeMap<ErrandId, Running>,
    samples: BTreeMap<JobId, usize>,
}

#[derive(Debug)]
struct Running {
    server: ServerId,
    recalled: bool,
}

impl<'a> HeaderReader<'a> {
    pub(crate) fn new(day: &'a Day) -> Self {
        Self {
            day,
            chance: SplitMix::seeded(day.seed.number() ^ STREAM),
            last_errand: 0,
            running: BTreeMap::new(),
            samples: BTreeMap::new(),
        }
    }

    pub(crate) fn want_headers(&mut self) -> Event {
        self.last_errand += 1;
        let servers = self.day.servers.iter().map(|server| server.settings.id).collect();
        Event::ErrandWanted { errand: ErrandId(self.last_errand), servers }
    }

    pub(crate) fn on_probe(&mut self, job: JobId, articles: usize) {
        self.samples.insert(job, articles);
    }

    /// Who is gone with the engine is not waited for.
    pub(crate) fn on_restart(&mut self) {
        self.running.clear();
        self.samples.clear();
    }

    /// How long an errand takes if it is not recalled, and how it ends.
    pub(crate) fn errand_time(&mut self, now: Duration) -> (Duration, Trouble) {
        let trouble = match self.chance.up_to(30) {
            0 if !self.day.is_healed(now) => Trouble::Unreachable,
            1 if !self.day.is_healed(now) => Trouble::TooManyConnections,
            2 if !self.day.is_healed(now) => Trouble::Broken,
            _ => Trouble::Closed,
        };
        (Duration::from_millis(20 + self.chance.up_to(3_000)), trouble)
    }

    /// Its end, unless it has ended already.
    pub(crate) fn end_errand(&mut self, errand: ErrandId, trouble: Trouble) -> Option<Event> {
        self.running.remove(&errand).map(|_| Event::ErrandEnded { errand, trouble })
    }

    /// `articles`: some are asked for and have not come. `open`: connections for them.
    pub(crate) fn on_started(
        &mut self,
        errand: ErrandId,
        settings: &ServerSettings,
        articles: bool,
        open: usize,
    ) -> Checked {
        let server = settings.id;
        self.running.insert(errand, Running { server, recalled: false });
        if articles {
            return violated!("{errand:?} begins, and articles are under way");
        }
        let all = open + self.at(server);
        if all > settings.connections {
            return violated!("{server} has {all} connections with those of errands");
        }
        Ok(())
    }

    pub(crate) fn on_recalled(&mut self, errand: ErrandId) -> Checked {
        let running = self
            .running
            .get_mut(&errand)
            .ok_or_else(|| Violation::new("an errand is recalled that does not run"))?;
        if std::mem::replace(&mut running.recalled, true) {
            return violated!("{errand:?} is recalled twice");
        }
        Ok(())
    }

    pub(crate) fn on_probed(&mut self, job: JobId, census: Census) -> Checked {
        let sample = self
            .samples
            .remove(&job)
            .ok_or_else(|| Violation::new("a probe is answered that was not requested"))?;
        let all = census.present + census.missing + census.unknown;
        if all as usize != sample {
            return violated!("{census:?} of a sample of {sample}");
        }
        if census.missing > 0 && self.day.reliable {
            return violated!("{census:?}, and a server has all of them");
        }
        Ok(())
    }

    /// Connections to a server that are not for articles.
    pub(crate) fn at(&self, server: ServerId) -> usize {
        self.running.values().filter(|running| running.server == server).count()
    }

    /// After each step: no errand stays where an article is under way.
    pub(crate) fn check(&self, articles: bool) -> Checked {
        let stays = self.running.iter().find(|(_, running)| !running.recalled);
        match stays.filter(|_| articles) {
            Some((errand, _)) => violated!("{errand:?} goes on, and articles are under way"),
            None => Ok(()),
        }
    }
}

const STREAM: u64 = 0x0c12_1005;
