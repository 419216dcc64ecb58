//! What the calendar has to say: a quota and a timetable, in a night in which clocks are changed.

use std::collections::BTreeMap;
use std::time::Duration;

use bergamot_engine::{DiskTrouble, Event, Order, QuotaRecords};
use bergamot_limit::{
    Allowance, Calendar, Effect, Period, Quota, QuotaSettings, Rule as Entry, TimeOfDay, Timetable,
    Weekdays, Zone,
};
use bergamot_types::{ByteCount, ByteRate, SplitMix, UnixTime};

use super::day::Day;
use super::kind::Kind;
use super::seed::Seed;
use super::wish::Wish;

/// When a day begins, and what is allowed from then on.
#[derive(Clone, Debug)]
pub struct Almanac {
    pub begins: UnixTime,
    pub quota: QuotaSettings,
    pub timetable: Timetable,
}

impl Default for Almanac {
    /// Nothing special happens.
    fn default() -> Self {
        Self {
            begins: UnixTime(TODAY),
            quota: QuotaSettings::default(),
            timetable: Timetable::default(),
        }
    }
}

impl Almanac {
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
        let mut almanac = Self { begins, ..Self::default() };
        let what = chance.up_to(2);
        if what != 0 && is_countable(day) {
            almanac.quota = quota(day, zone, chance);
        }
        if what != 1 {
            almanac.timetable = Timetable::new(zone, vec![entry(day, zone, begins, chance)]);
        }
        almanac
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
    let has_rates = day.wishes.iter().any(|(_, wish)| matches!(wish, Wish::Rate(_)));
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

/// Holds what came, and what is on record of it, against what is allowed.
#[derive(Debug)]
pub(crate) struct Accountant<'a> {
    almanac: &'a Almanac,
    came: BTreeMap<UnixTime, u64>, // by the beginning of the quota's day
    asked: UnixTime,               // when something was asked for last
    page: Option<Page>,            // as long as neither that nor the record changes
    sent: BTreeMap<u64, QuotaRecords>,
    durable: QuotaRecords,
}

/// The quota's day on which something was asked for, and what is on record of it.
#[derive(Clone, Copy, Debug)]
struct Page {
    start: UnixTime,
    used: u64,
}

type Rule = Result<(), String>;

impl<'a> Accountant<'a> {
    pub(crate) fn new(day: &'a Day) -> Self {
        Self {
            almanac: &day.almanac,
            came: BTreeMap::new(),
            asked: day.almanac.begins,
            page: None,
            sent: BTreeMap::new(),
            durable: QuotaRecords::default(),
        }
    }

    pub(crate) fn on_order(&mut self, date: UnixTime, order: &Order) -> Rule {
        match order {
            Order::Fetch { id, .. } => {
                if self.almanac.timetable.active_at(date) == Some(Effect::Pause) {
                    return Err(format!("<{id}> is asked for in a pause"));
                }
                (self.asked, self.page) = (date, None);
                self.check_quota(date, &id.to_string())
            }
            Order::Persist { number, records } => {
                self.sent.insert(*number, records.clone());
                Ok(())
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn on_event(&mut self, event: &Event) {
        if let Event::Persisted { number, result } = event
            && let Some(records) = self.sent.remove(number)
            && *result == Ok::<(), DiskTrouble>(())
        {
            (self.durable, self.page) = (records, None);
        }
    }

    /// What was on its way to the disk is lost; what is there, the next engine begins with.
    pub(crate) fn on_restart(&mut self) -> QuotaRecords {
        self.sent.clear();
        self.durable.clone()
    }

    /// Whatever happens now, no byte that came may be forgotten. What comes belongs to the day on which
    /// it was asked for, whatever the clock shows by now.
    pub(crate) fn on_received(&mut self, bytes: u64) -> Rule {
        self.page = self.page.or_else(|| self.turn_to(self.asked));
        let Some(Page { start, used }) = self.page else { return Ok(()) };
        let came = self.came.entry(start).or_default();
        *came += bytes;
        let came = *came;
        if came > used {
            return Err(format!("{came} bytes came on that day, and {used} are on record"));
        }
        Ok(())
    }

    fn turn_to(&self, date: UnixTime) -> Option<Page> {
        let start = self.window(date)?;
        let record = self.durable.all.clone().unwrap_or_default();
        let mut quota = Quota::restore(self.almanac.quota.clone(), record);
        let used = quota.usage(date).first().map_or(0, |usage| usage.used.0);
        Some(Page { start, used })
    }

    fn check_quota(&self, date: UnixTime, what: &str) -> Rule {
        let Some(start) = self.window(date) else { return Ok(()) };
        let came = self.came.get(&start).copied().unwrap_or(0);
        match self.almanac.quota.allowances.first() {
            Some(Allowance { most, .. }) if came >= most.0 => {
                Err(format!("<{what}> is asked for, and {came} bytes of {most:?} have come"))
            }
            _ => Ok(()),
        }
    }

    fn window(&self, date: UnixTime) -> Option<UnixTime> {
        let allowance = self.almanac.quota.allowances.first()?;
        Some(self.almanac.quota.calendar.window(allowance.period, date)?.start)
    }
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
