//! [`CalendarModel`]: the quotas and the timetable of a day, in a night in which clocks are changed; and
//! accounts that have an end.

use std::collections::BTreeMap;
use std::time::Duration;

use bergamot_limit::{
    Allowance, Calendar, Effect, Period, QuotaSettings, Rule as Entry, TimeOfDay, Timetable,
    Weekdays, Zone,
};
use bergamot_types::{ByteCount, ByteRate, ServerId, SplitMix, UnixTime};

use crate::sim::day::Day;
use crate::sim::day::user_action::UserAction;
use crate::sim::kind::Kind;
use crate::sim::seed::Seed;

/// When a day begins, and what is allowed from then on.
#[derive(Clone, Debug)]
pub struct CalendarModel {
    pub begins: UnixTime,
    pub quota: QuotaSettings,
    /// Servers of which only so much was bought.
    pub blocks: BTreeMap<ServerId, QuotaSettings>,
    /// As each of them is when more was bought.
    pub refilled: QuotaSettings,
    pub timetable: Timetable,
}

impl Default for CalendarModel {
    /// Nothing special happens.
    fn default() -> Self {
        Self {
            begins: UnixTime(TODAY),
            quota: QuotaSettings::default(),
            blocks: BTreeMap::new(),
            refilled: block(u64::MAX),
            timetable: Timetable::default(),
        }
    }
}

impl CalendarModel {
    /// It has a chance of its own, so that a day is like it would be without it.
    pub(crate) fn draw(day: &Day) -> Self {
        let mut chance = SplitMix::seeded(day.seed.number().rotate_left(41) ^ STREAM);
        let chance = &mut chance;
        if chance.up_to(7) > 0 {
            return Self::default(); // most days nobody looks at it
        }
        let (zone, change) = NIGHTS[chance.up_to(NIGHTS.len() as u64 - 1) as usize];
        let zone = zone.parse().unwrap_or(Zone::UTC);
        let begins = UnixTime(change - chance.up_to(2 * 3600) as i64);
        let mut calendar = Self { begins, ..Self::default() };
        let what = chance.up_to(2);
        if what != 0 && is_countable(day) {
            calendar.quota = quota(day, zone, chance);
        }
        if what != 1 {
            calendar.timetable = Timetable::new(zone, vec![entry(day, zone, begins, chance)]);
        }
        calendar
    }

    /// One server of some may give a part of it all; the last one never has an end, for nothing would
    /// ever come of what is left. Drawn by a chance of its own, too.
    pub(crate) fn draw_blocks(day: &Day) -> BTreeMap<ServerId, QuotaSettings> {
        let mut chance = SplitMix::seeded(day.seed.number().rotate_left(29) ^ BLOCKS);
        let others = day.servers.len() as u64 - 1;
        if chance.up_to(7) > 0 || others == 0 || !is_countable(day) {
            return BTreeMap::new();
        }
        let server = &day.servers[chance.up_to(others - 1) as usize];
        let bytes = u64::from(day.articles()) * day.article;
        let quota = block((bytes / 100 * chance.up_to(70)).max(1));
        BTreeMap::from([(server.settings.id, quota)])
    }

    /// How long it may hold up so many bytes: some come twice, and a clock that is set back makes a
    /// day longer.
    pub(crate) fn longest_hold(&self, bytes: u64) -> Duration {
        let of = |allowance: &Allowance| 3 * bytes / allowance.most.0.max(1) + 2;
        let days = self.quota.allowances.iter().map(of).max().unwrap_or(0);
        let paused = u64::from(self.timetable != Timetable::default());
        LONGEST_DAY * u32::try_from(2 * days + paused).unwrap_or(u32::MAX)
    }
}

/// Whether what comes is known to the last byte. Of a real conversation it is not, for what NZBs say
/// counts; and of a body without end it is told only four times a second.
fn is_countable(day: &Day) -> bool {
    matches!(day.seed, Seed::Articles(_)) && !day.kinds.contains(&Kind::Endless)
}

fn block(most: u64) -> QuotaSettings {
    let allowances = vec![Allowance { period: Period::Ever, most: ByteCount(most) }];
    QuotaSettings { allowances, ..QuotaSettings::default() }
}

/// It takes two or three days.
fn quota(day: &Day, zone: Zone, chance: &mut SplitMix) -> QuotaSettings {
    let bytes = u64::from(day.articles()) * day.article;
    let most = ByteCount((bytes / (1 + chance.up_to(2))).max(1));
    let reset = time_of_day(chance.up_to(24 * 60 - 1));
    let allowances = vec![Allowance { period: Period::Day, most }];
    QuotaSettings { calendar: Calendar { zone, reset }, allowances }
}

/// From about the beginning until after the change of the clocks.
fn entry(day: &Day, zone: Zone, begins: UnixTime, chance: &mut SplitMix) -> Entry {
    let written = zone.written(begins);
    let minutes = written.get(11..).and_then(|time| {
        let (hours, minutes) = time.split_once(':')?;
        Some(hours.parse::<u64>().ok()? * 60 + minutes.parse::<u64>().ok()?)
    });
    let from = minutes.unwrap_or(0) + chance.up_to(2);
    let to = from + 1 + chance.up_to(4 * 60);
    // Which of two rates holds is shown elsewhere.
    let has_rates =
        day.user_actions.iter().any(|(_, user_action)| matches!(user_action, UserAction::Rate(_)));
    let effect = match chance.up_to(1) {
        _ if has_rates => Effect::Pause,
        0 => Effect::Pause,
        _ => Effect::Limit(ByteRate(500_000 << chance.up_to(8))),
    };
    let (from, to) = (time_of_day(from % (24 * 60)), time_of_day(to % (24 * 60)));
    Entry { days: Weekdays::DAILY, from, to, effect }
}

fn time_of_day(minutes: u64) -> TimeOfDay {
    TimeOfDay::new((minutes / 60) as u16, (minutes % 60) as u16).unwrap_or(TimeOfDay::MIDNIGHT)
}

/// The first day of a year in which nothing special happened yet.
const TODAY: i64 = 20_454 * 86_400;

/// When clocks are put forward and back: by an hour, and by half of one.
const NIGHTS: [(&str, i64); 6] = [
    ("Europe/Berlin", 1_774_746_000),
    ("Europe/Berlin", 1_792_890_000),
    ("America/New_York", 1_772_953_200),
    ("America/New_York", 1_793_512_800),
    ("Australia/Lord_Howe", 1_775_314_800),
    ("Australia/Lord_Howe", 1_791_041_400),
];

const LONGEST_DAY: Duration = Duration::from_secs(25 * 3600);

const STREAM: u64 = 0xa13a_7ac5;
const BLOCKS: u64 = 0xb10c_ed00;
