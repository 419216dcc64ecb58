//! [`day`]: expands a seed to a day. Pure.

use std::collections::BTreeMap;
use std::time::Duration;

use bergamot_engine::ServerSettings;
use bergamot_newsd::{Fault, Stage};
use bergamot_types::{ByteRate, ServerId, SplitMix};

use crate::sim::day::calendar::CalendarModel;
use crate::sim::day::misfits::{self, Misfits};
use crate::sim::day::outage;
use crate::sim::day::recovery;
use crate::sim::day::user_action;
use crate::sim::day::{ClockModel, Day, DiskModel, JobModel, ServerModel, Spell, WireFault};
use crate::sim::header_reader::{self, SideTraffic};
use crate::sim::kind::{ANSWERS, CONNECTIONS, Kind};
use crate::sim::seed::Seed;

/// About 200 articles, two servers and three kinds of fault that strike, some days much more.
pub(crate) fn day(seed: Seed) -> Day {
    let mut chance = SplitMix::seeded(seed.number());
    let chance = &mut chance;
    let kinds = kinds(seed, chance);
    let mut servers = servers(&kinds, chance);
    let reliable = chance.up_to(3) > 0;
    if reliable {
        make_reliable(&mut servers, chance);
    }
    let wire = matches!(seed, Seed::Bytes(_));
    let crowd = servers.len() > 10;
    let articles = if crowd { 100 } else { articles(wire, chance) };
    let article = article(wire, chance);
    let mut day = Day {
        seed,
        jobs: jobs(articles, wire, chance),
        article,
        claimed: claimed(article, wire, chance),
        disk: DiskModel { rate: 2_000_000 << chance.up_to(9), ..DiskModel::default() },
        clock: ClockModel::default(),
        line: one_in(4, chance).then(|| 4_000_000 << chance.up_to(8)),
        rate: ByteRate(0),
        server_rates: BTreeMap::new(),
        budget: (1 + chance.up_to(39)) << 20,
        names: false,
        reliable,
        heals_at: seconds(5, 60, chance),
        user_actions: Vec::new(),
        side_traffic: SideTraffic::default(),
        calendar: CalendarModel::default(),
        servers,
        kinds,
    };
    limit(&mut day, chance);
    for kind in day.kinds.clone() {
        strike(&mut day, kind, chance);
    }
    heal(&mut day);
    outage::draw(&mut day);
    misfits::draw(&mut day);
    day.user_actions = user_action::user_actions(&day);
    day.side_traffic = header_reader::draw(&day);
    day.calendar = CalendarModel::draw(&day);
    day.calendar.blocks = CalendarModel::draw_blocks(&day);
    outage::spare_quotas(&mut day);
    recovery::draw(&mut day);
    keep_to_the_day(&mut day);
    day
}

/// A clock that is wrong by years costs a day's patience, which quotas are given some of twice for (its
/// own tests show how much); here it is set by hours, also over the end of a day.
fn keep_to_the_day(day: &mut Day) {
    if !day.calendar.quota.allowances.is_empty() {
        day.clock.jumps.iter_mut().for_each(|(_, seconds)| {
            *seconds = (*seconds).clamp(-FURTHEST_JUMP, FURTHEST_JUMP);
        });
    }
}

const FURTHEST_JUMP: i64 = 3 * 3600;

/// No window outlasts the faults.
fn heal(day: &mut Day) {
    let end = day.heals_at;
    for server in &mut day.servers {
        server.spells.iter_mut().for_each(|spell| spell.to = spell.to.min(end));
        server.speeds.iter_mut().for_each(|(at, _)| *at = (*at).min(end));
    }
    day.disk.full.iter_mut().for_each(|(_, to)| *to = (*to).min(end));
}

fn kinds(seed: Seed, chance: &mut SplitMix) -> Vec<Kind> {
    let all: Vec<_> = match seed {
        Seed::Articles(_) => Kind::of_models().collect(),
        Seed::Bytes(_) => Kind::of_wires().collect(),
    };
    let mut drawn: Vec<Kind> = Vec::new();
    for _ in 0..4 + chance.up_to(3) {
        let kind = all[chance.up_to(all.len() as u64 - 1) as usize];
        // A crowd takes long to simulate, so few days have one.
        let crowd = matches!(kind, Kind::ManyServers | Kind::MassReconnect);
        if !drawn.contains(&kind) && (!crowd || one_in(32, chance)) {
            drawn.push(kind);
        }
    }
    drawn
}

fn servers(kinds: &[Kind], chance: &mut SplitMix) -> Vec<ServerModel> {
    let count = if kinds.contains(&Kind::ManyServers) {
        50
    } else {
        match chance.up_to(99) {
            0..20 => 1,
            20..65 => 2,
            65..90 => 3,
            _ => 4 + chance.up_to(2) as u16,
        }
    };
    let mut servers: Vec<_> = (1..=count).map(|id| server(id, chance)).collect();
    if kinds.contains(&Kind::ManyServers) {
        servers.iter_mut().for_each(|server| server.settings.connections = 10);
    }
    if kinds.contains(&Kind::MassReconnect) {
        servers[0].settings.connections = 500;
        servers[0].rate = 100_000_000;
        servers[0].connection_rate = None;
    }
    servers
}

fn server(id: u16, chance: &mut SplitMix) -> ServerModel {
    let settings = ServerSettings {
        id: ServerId(id),
        active: true,
        level: chance.up_to(1) as u32,
        group: chance.up_to(1) as u32,
        optional: one_in(10, chance),
        connections: 1 + chance.up_to(9) as usize,
        reserved: 0,
        account: one_in(5, chance).then_some(1),
        retention: if one_in(10, chance) { 1000 } else { 0 },
    };
    let rate = 1_000_000 << chance.up_to(10);
    ServerModel {
        round_trip: Duration::from_millis(1 + chance.up_to(249)),
        jitter: Duration::from_millis(if one_in(3, chance) { chance.up_to(100) } else { 0 }),
        think: Duration::from_millis(if one_in(3, chance) { chance.up_to(300) } else { 0 }),
        rate,
        connection_rate: one_in(4, chance).then(|| (rate >> chance.up_to(4)).max(100_000)),
        cap: None,
        speeds: Vec::new(),
        answers: Vec::new(),
        spells: Vec::new(),
        outages: Vec::new(),
        misfits: Misfits::default(),
        idle_limit: None,
        dislikes_pipelining: false,
        wire: Vec::new(),
        lies: None,
        settings,
    }
}

/// The last has everything and spoils nothing, so every job can complete: retries are bounded, and
/// an article that is bad often enough is rightly given up.
fn make_reliable(servers: &mut [ServerModel], chance: &mut SplitMix) {
    if let Some(last) = servers.last_mut() {
        last.settings.group = 0;
        last.settings.optional = false;
        last.settings.retention = 0;
        last.settings.level = chance.up_to(3) as u32;
    }
}

/// Half of the days have more than 200, half have fewer. The bytes of real ones cost more time.
fn articles(wire: bool, chance: &mut SplitMix) -> u32 {
    let least = 54 << chance.up_to(if wire { 1 } else { 3 });
    (least + chance.up_to(least)) as u32
}

fn article(wire: bool, chance: &mut SplitMix) -> u64 {
    match chance.up_to(9) {
        0 if wire => 20_000 + chance.up_to(20_000),
        _ if wire => 1000 + chance.up_to(3000),
        0 => 3_000_000,
        1 | 2 => 10_000 + chance.up_to(100_000),
        _ => 700_000,
    }
}

/// Most NZBs tell the size in articles as they are posted, a few per cent more than the data.
fn claimed(article: u64, wire: bool, chance: &mut SplitMix) -> u32 {
    let honest = (article + article / 30) as u32;
    match chance.up_to(19) {
        0 if wire => 0,
        1 if wire => 1000,
        _ => honest,
    }
}

fn jobs(articles: u32, wire: bool, chance: &mut SplitMix) -> Vec<JobModel> {
    let count = 1 + chance.up_to(if wire { 1 } else { 3 }) as u32;
    let mut left = articles;
    let mut jobs = Vec::new();
    for number in 1..=count {
        let part = if number == count { left } else { left / (count - number + 1) };
        left -= part;
        jobs.push(JobModel {
            files: files(part.max(1), chance),
            volumes: 0,
            priority: if one_in(3, chance) { chance.up_to(2) as i32 } else { 0 },
            added: if one_in(3, chance) { seconds(0, 20, chance) } else { Duration::ZERO },
            removed: None,
            posted_days_ago: one_in(3, chance).then(|| chance.up_to(2000) as u32),
        });
    }
    if wire {
        tell_apart(&mut jobs);
    }
    jobs
}

/// A server that mixes articles up sends the next one, or the first one of all; where that belongs to
/// another file, the one may not be as large as the other, or nothing could tell them apart.
fn tell_apart(jobs: &mut [JobModel]) {
    let first = jobs[0].files[0];
    let mut before = first;
    for segments in jobs.iter_mut().flat_map(|job| &mut job.files).skip(1) {
        while *segments == first || (*segments, before) == (1, 1) {
            *segments += 1;
        }
        before = *segments;
    }
}

fn files(segments: u32, chance: &mut SplitMix) -> Vec<u32> {
    let mut left = segments;
    let mut files = Vec::new();
    while left > 0 {
        let segments = (1 + chance.up_to(59) as u32).min(left);
        left -= segments;
        files.push(segments);
    }
    files
}

/// Rates at which the day still ends within minutes.
fn limit(day: &mut Day, chance: &mut SplitMix) {
    let (all, one) = (rate(day, chance), rate(day, chance));
    if one_in(12, chance) {
        day.rate = all;
    }
    if one_in(16, chance) {
        day.server_rates.insert(ServerId(1), one);
    }
}

pub(crate) fn rate(day: &Day, chance: &mut SplitMix) -> ByteRate {
    let bytes = u64::from(day.articles()) * day.article;
    ByteRate((bytes / (8 + chance.up_to(25))).max(LEAST_RATE))
}

/// Lets one kind of fault loose on the day.
fn strike(day: &mut Day, kind: Kind, chance: &mut SplitMix) {
    if ANSWERS.contains(&kind) || CONNECTIONS.contains(&kind) {
        return strike_servers(day, kind, chance);
    }
    match kind {
        Kind::CapabilityLies | Kind::TurnsDead | Kind::TurnsSlow | Kind::Wire(_) => {
            strike_servers(day, kind, chance);
        }
        Kind::MassReconnect => {
            let from = seconds(1, 5, chance);
            let to = from + seconds(1, 20, chance);
            day.servers[0].spells.push(Spell { kind: Kind::Unreachable, from, to });
        }
        Kind::DirectoryGone => {
            let job = 1 + chance.up_to(day.jobs.len() as u64 - 1) as u32;
            day.disk.gone = Some((job, seconds(0, 10, chance)));
        }
        Kind::DiskFull => day.disk.full.push(window(chance)),
        Kind::DiskSlow => day.disk.rate = day.article / 2 + 200_000,
        Kind::FinishFails | Kind::MoveFails => day.disk.failing.push((kind, 500)),
        Kind::Unsynced => day.disk.failing.push((kind, 100 + chance.up_to(200))),
        Kind::WriteFails => day.disk.failing.push((kind, 5 + chance.up_to(45))),
        Kind::CalendarBack => day.clock.jumps.push((seconds(0, 20, chance), -jump(chance))),
        Kind::CalendarForth => day.clock.jumps.push((seconds(0, 20, chance), jump(chance))),
        Kind::Suspend => {
            let sleep = Duration::from_secs(1 << chance.up_to(13));
            day.clock.suspends.push((seconds(0, 10, chance), sleep));
        }
        Kind::JobRemoved => {
            let job = chance.up_to(day.jobs.len() as u64 - 1) as usize;
            day.jobs[job].removed = Some(day.jobs[job].added + seconds(0, 15, chance));
        }
        _ => {}
    }
}

/// An hour for summer time, or what a dead battery does.
fn jump(chance: &mut SplitMix) -> i64 {
    if one_in(2, chance) { 3600 } else { 86_400 * (1 + chance.up_to(4000) as i64) }
}

/// One server at least, and each of the others perhaps.
fn strike_servers(day: &mut Day, kind: Kind, chance: &mut SplitMix) {
    let spared = day.reliable && kind.is_charged();
    let most = day.servers.len() - usize::from(spared);
    if most == 0 {
        return;
    }
    let chosen = chance.up_to(most as u64 - 1) as usize;
    for place in 0..most {
        if place == chosen || one_in(3, chance) {
            strike_server(&mut day.servers[place], kind, chance);
        }
    }
    // Mirrors lack the same articles, so what one of them may say of them counts for all.
    if kind == Kind::Missing {
        let lacking = day.servers[chosen].clone();
        let group = lacking.settings.group;
        let mirrors = day.servers.iter_mut().filter(|other| other.settings.group == group);
        mirrors.filter(|_| group > 0).for_each(|mirror| {
            mirror.answers.retain(|(known, _)| *known != Kind::Missing);
            mirror.answers.push((kind, lacking.chance_of(kind)));
        });
    }
}

fn strike_server(server: &mut ServerModel, kind: Kind, chance: &mut SplitMix) {
    let (from, to) = window(chance);
    match kind {
        Kind::AccountCap => {
            server.settings.account = Some(1);
            server.cap = Some(1 + chance.up_to(server.settings.connections as u64 - 1) as usize);
        }
        Kind::ConnectionCap => {
            server.settings.account = None;
            server.cap = Some(1 + chance.up_to(server.settings.connections as u64 - 1) as usize);
        }
        Kind::DislikesPipelining => server.dislikes_pipelining = true,
        Kind::IdleClosed => server.idle_limit = Some(seconds(1, 20, chance)),
        Kind::TurnsDead => server.speeds = vec![(from, 0), (to, 1000)],
        Kind::TurnsSlow => {
            let slow = (1000 / (2 + chance.up_to(30))).max(least_speed(server));
            server.speeds = vec![(from, slow), (to, 1000)];
        }
        Kind::CapabilityLies => server.lies = Some(LIES[chance.up_to(2) as usize]),
        Kind::Wire(fault) => server.wire.push(wire_fault(fault, chance)),
        kind if CONNECTIONS.contains(&kind) => server.spells.push(Spell { kind, from, to }),
        Kind::Missing => server.answers.push((kind, 20 + chance.up_to(280))),
        kind => server.answers.push((kind, 5 + chance.up_to(95))),
    }
}

fn wire_fault(fault: Fault, chance: &mut SplitMix) -> WireFault {
    let rare = matches!(fault, Fault::Endless | Fault::LongStatus);
    let per_mille = match fault.stage() {
        _ if rare => 10 + chance.up_to(20),
        Stage::Article => 20 + chance.up_to(130),
        _ => 200 + chance.up_to(800),
    };
    let first = match fault.stage() {
        Stage::Article => chance.up_to(2) as u32,
        _ => 1 + chance.up_to(7) as u32,
    };
    let words = match fault {
        Fault::GreetingRefused => GREETINGS,
        Fault::LoginRefused => LOGINS,
        Fault::Refused => REFUSALS,
        Fault::TooManyConnections => TOO_MANY,
        _ => &[],
    };
    let word = chance.up_to(words.len() as u64) as usize;
    WireFault { fault, per_mille, first, saying: words.get(word).copied() }
}

/// Even the slowest brings more than what the net calls too slow, unless it is meant to dribble.
fn least_speed(server: &ServerModel) -> u64 {
    let least = 8_000 * server.settings.connections as u64;
    (least * 1000 / server.rate).max(1)
}

fn window(chance: &mut SplitMix) -> (Duration, Duration) {
    let start = if one_in(2, chance) { Duration::ZERO } else { seconds(0, 15, chance) };
    (start, start + seconds(1, 30, chance))
}

fn seconds(least: u64, most: u64, chance: &mut SplitMix) -> Duration {
    Duration::from_millis(least * 1000 + chance.up_to((most - least) * 1000))
}

fn one_in(count: u64, chance: &mut SplitMix) -> bool {
    chance.up_to(count - 1) == 0
}

/// What servers claim, and what `newsd` makes of it is 500.
const LIES: [&[&str]; 3] = [
    &[],
    &["VERSION 2", "READER", "PIPELINING", "COMPRESS DEFLATE", "XFEATURE-COMPRESS GZIP"],
    &["VERSION 2", "IHAVE", "STARTTLS", "MODE-READER"],
];

/// How providers say what they mean.
const GREETINGS: &[&str] = &["400 load too high", "502 go away", "502 Simultaneous IP limit"];
const LOGINS: &[&str] = &[
    "481 Invalid username or password",
    "482 You have exceeded your download quota",
    "502 payment overdue",
    "502 multiple IP addresses in use",
    "502 no",
];
const REFUSALS: &[&str] = &["423 gone", "420 none", "403 out of order", "503 try later"];
const TOO_MANY: &[&str] =
    &["400 too many connections", "481 max connections reached", "482 exceeded your threads"];

/// Below this no rate is promised to be kept exactly.
const LEAST_RATE: u64 = 16 << 10;
