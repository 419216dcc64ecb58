//! What a seed expands to.

use std::time::Duration;

use bergamot_engine::ServerSettings;
use bergamot_types::{ServerId, SplitMix};

/// A day of downloads. Printed, it tells all there is to know about a seed.
#[derive(Clone, Debug)]
pub struct Day {
    pub seed: u64,
    pub servers: Vec<ServerModel>,
    /// The numbers of segments of each job's files.
    pub jobs: Vec<Vec<u32>>,
    pub disk: DiskModel,
    pub budget: u64,
    /// From then on nothing new goes wrong.
    pub heals_at: Duration,
}

#[derive(Clone, Debug)]
pub struct ServerModel {
    pub settings: ServerSettings,
    pub round_trip: Duration,
    /// Bytes per second on each connection.
    pub rate: u64,
    /// More connections than these are refused.
    pub cap: Option<usize>,
    /// Out of a thousand articles, it does not have these; for good.
    pub missing: u64,
    /// Out of a thousand answers, until the day heals.
    pub corrupt: u64,
    pub lie: u64,
    pub outgrow: u64,
    pub reset: u64,
    pub stall: u64,
    /// Not to be reached at all between these times.
    pub outages: Vec<(Duration, Duration)>,
}

#[derive(Clone, Debug)]
pub struct DiskModel {
    pub rate: u64,
    /// Takes nothing between these times.
    pub full: Vec<(Duration, Duration)>,
}

impl Day {
    /// A day of about 200 articles and two or three servers, with some kinds of fault switched on
    /// and the others off: faults that are always all there hide each other.
    pub fn from_seed(seed: u64) -> Self {
        let mut chance = SplitMix::seeded(seed);
        let count = 2 + chance.up_to(1) as u16;
        let mut servers: Vec<_> = (1..=count).map(|id| server(id, &mut chance)).collect();
        // The last has everything and spoils nothing, so every job can complete: retries are
        // bounded, and an article that is bad often enough is rightly given up.
        let last = servers.last_mut().expect("there are two at least");
        (last.missing, last.corrupt, last.lie, last.reset, last.stall) = (0, 0, 0, 0, 0);
        last.settings.group = 0;
        last.settings.optional = false;
        last.settings.level = chance.up_to(3) as u32;
        let jobs = 1 + chance.up_to(3);
        let heals_at = seconds(&mut chance, 60);
        Self {
            seed,
            servers,
            jobs: (0..jobs).map(|_| files(&mut chance)).collect(),
            disk: disk(&mut chance),
            budget: (1 + chance.up_to(39)) << 20,
            heals_at,
        }
    }
}

fn server(id: u16, chance: &mut SplitMix) -> ServerModel {
    let settings = ServerSettings {
        id: ServerId(id),
        active: true,
        level: chance.up_to(1) as u32,
        group: chance.up_to(1) as u32,
        optional: chance.up_to(9) == 0,
        connections: 1 + chance.up_to(7) as usize,
        account: (chance.up_to(4) == 0).then_some(1),
        retention: 0,
    };
    let mut sometimes = |most: u64| if chance.up_to(3) == 0 { chance.up_to(most) } else { 0 };
    let (missing, corrupt, lie, outgrow) =
        (sometimes(300), sometimes(200), sometimes(60), sometimes(100));
    let (reset, stall, outage) = (sometimes(150), sometimes(40), sometimes(40));
    ServerModel {
        round_trip: Duration::from_millis(chance.up_to(250)),
        rate: 200_000 << chance.up_to(8),
        cap: (chance.up_to(4) == 0).then(|| 1 + chance.up_to(settings.connections as u64) as usize),
        missing,
        corrupt,
        lie,
        outgrow,
        reset,
        stall,
        outages: (outage > 0).then(|| window(chance)).into_iter().collect(),
        settings,
    }
}

fn disk(chance: &mut SplitMix) -> DiskModel {
    let full = (chance.up_to(4) == 0).then(|| window(chance));
    DiskModel { rate: 1_000_000 << chance.up_to(9), full: full.into_iter().collect() }
}

fn files(chance: &mut SplitMix) -> Vec<u32> {
    (0..1 + chance.up_to(4)).map(|_| 1 + chance.up_to(30) as u32).collect()
}

fn window(chance: &mut SplitMix) -> (Duration, Duration) {
    let start = seconds(chance, 20);
    (start, start + seconds(chance, 30))
}

fn seconds(chance: &mut SplitMix, most: u64) -> Duration {
    Duration::from_millis(chance.up_to(most * 1000))
}
