//! Allowances as users live with them: rollover, sleep, other settings, sudden ends.

use bergamot_limit::{
    Allowance, Calendar, Period, Quota, QuotaSettings, Standing, TimeOfDay, Zone,
};
use bergamot_types::{ByteCount, UnixTime};
use chrono::DateTime;
use proptest::prelude::*;

const GB: u64 = 1_000_000_000;
const DAY: i64 = 86_400;
const RESERVE: u64 = 16 << 20;

fn settings(zone: &str, allowances: &[(Period, u64)]) -> QuotaSettings {
    let allowance = |&(period, most): &(Period, u64)| Allowance { period, most: ByteCount(most) };
    let calendar = Calendar { zone: zone.parse().expect("a zone"), reset: TimeOfDay::MIDNIGHT };
    QuotaSettings { calendar, allowances: allowances.iter().map(allowance).collect() }
}

fn at(text: &str) -> UnixTime {
    UnixTime(DateTime::parse_from_rfc3339(&format!("{text}:00Z")).expect("a time").timestamp())
}

fn used(quota: &mut Quota, now: UnixTime) -> Vec<u64> {
    quota.usage(now).iter().map(|usage| usage.used.0).collect()
}

fn open(left: u64) -> Standing {
    Standing::Open { left: Some(ByteCount(left)) }
}

fn until(time: &str) -> Standing {
    Standing::Reached { until: Some(at(time)) }
}

#[test]
fn a_day_used_up_pauses_until_the_next_and_resumes_by_itself() {
    let settings =
        settings("Europe/Berlin", &[(Period::Day, 10 * GB), (Period::Month { first: 1 }, 25 * GB)]);
    let mut quota = Quota::new(settings);
    assert_eq!(quota.standing(at("2026-10-24T10:00")), open(10 * GB));
    quota.add(at("2026-10-24T10:00"), ByteCount(10 * GB + 5));
    // Berlin's night from the 24th to the 25th begins at 22:00, the next one an hour later.
    assert_eq!(quota.standing(at("2026-10-24T21:59")), until("2026-10-24T22:00"));
    assert_eq!(quota.standing(at("2026-10-24T22:00")), open(10 * GB));
    quota.add(at("2026-10-25T22:59"), ByteCount(10 * GB));
    assert_eq!(quota.standing(at("2026-10-25T22:59")), until("2026-10-25T23:00"));
    assert_eq!(quota.standing(at("2026-10-25T23:00")), open(5 * GB - 5), "the month is nearer");
    quota.add(at("2026-10-26T12:00"), ByteCount(10 * GB));
    assert_eq!(quota.standing(at("2026-10-26T12:00")), until("2026-10-31T23:00"), "the later end");
    assert_eq!(quota.standing(at("2026-10-31T23:00")), open(10 * GB));
}

#[test]
fn under_a_clock_that_nobody_has_set_the_newest_day_lasts_as_long_as_in_its_zone() {
    let mut quota = Quota::new(settings("America/Los_Angeles", &[(Period::Day, GB)]));
    quota.add(at("2026-07-04T19:00"), ByteCount(GB));
    for now in [at("2026-07-04T19:00"), UnixTime(1_000)] {
        assert_eq!(quota.standing(now), until("2026-07-05T07:00"));
    }
}

#[test]
fn a_rollover_happens_though_nobody_was_there() {
    let allowances = [(Period::Day, 5 * GB), (Period::Month { first: 15 }, 5 * GB)];
    for away in ["2026-11-15T00:00", "2026-11-15T23:59", "2026-11-16T08:00", "2027-03-03T03:03"] {
        let mut quota = Quota::new(settings("UTC", &allowances));
        quota.add(at("2026-11-14T12:00"), ByteCount(5 * GB));
        assert_eq!(quota.standing(at("2026-11-14T12:00")), until("2026-11-15T00:00"));
        // Asleep in the same process, or off.
        assert_eq!(quota.standing(at(away)), open(5 * GB), "{away}");
        let mut restarted = Quota::restore(settings("UTC", &allowances), quota.close());
        assert_eq!(restarted.standing(at(away)), open(5 * GB), "{away}");
    }
}

#[test]
fn another_first_day_counts_what_was_used_since_it() {
    let monthly = |first| settings("UTC", &[(Period::Month { first }, 100)]);
    let mut quota = Quota::new(monthly(1));
    for day in 0..50 {
        quota.add(UnixTime(at("2026-09-28T12:00").0 + day * DAY), ByteCount(1));
    }
    let now = at("2026-11-16T13:00");
    for (first, used_since) in [(1, 16), (16, 1), (17, 31), (31, 17), (10, 7), (15, 2)] {
        quota.set_settings(monthly(first));
        assert_eq!(used(&mut quota, now), [used_since], "from the {first}th");
    }
    assert_eq!(quota.standing(now), open(98));
}

#[test]
fn none_and_very_much() {
    let mut unlimited = Quota::new(settings("UTC", &[(Period::Day, 0), (Period::Ever, 0)]));
    let now = at("2026-11-16T13:00");
    unlimited.add(now, ByteCount(u64::MAX));
    unlimited.add(now, ByteCount(u64::MAX));
    assert_eq!(unlimited.standing(now), Standing::Open { left: None });
    assert_eq!(unlimited.headroom(now), ByteCount(u64::MAX));
    assert!(!unlimited.wants_checkpoint(now));

    let mut huge = Quota::new(settings("UTC", &[(Period::Month { first: 1 }, 1 << 63)]));
    huge.add(now, ByteCount((1 << 63) - 1));
    assert_eq!(huge.standing(now), open(1));
    huge.add(now, ByteCount(u64::MAX));
    assert_eq!(huge.standing(now), until("2026-12-01T00:00"));
    assert_eq!(used(&mut huge, now), [u64::MAX]);
}

#[test]
fn a_block_account_ends_once_and_is_renewed_by_hand() {
    let block = settings("UTC", &[(Period::Ever, 3 * GB)]);
    let mut quota = Quota::new(block.clone());
    for day in 0..200 {
        quota.add(UnixTime(at("2026-01-01T12:00").0 + day * DAY), ByteCount(GB / 100));
    }
    let now = at("2026-11-16T13:00");
    assert_eq!(quota.standing(now), open(GB), "also what days have forgotten");
    quota.add(now, ByteCount(GB));
    assert_eq!(quota.standing(at("2036-11-16T13:00")), Standing::Reached { until: None });
    let mut quota = Quota::restore(block, quota.close());
    assert_eq!(quota.standing(now), Standing::Reached { until: None });
    quota.renew();
    assert_eq!(quota.standing(now), open(3 * GB));

    let with_period = [(Period::Ever, 3 * GB), (Period::Day, GB)];
    let mut quota = Quota::new(settings("UTC", &with_period));
    quota.add(now, ByteCount(GB));
    assert_eq!(quota.standing(now), until("2026-11-17T00:00"));
    quota.add(now, ByteCount(2 * GB));
    assert_eq!(quota.standing(now), Standing::Reached { until: None }, "no day brings it back");
}

#[test]
fn a_checkpoint_is_wanted_in_time_and_on_each_new_day() {
    let mut quota = Quota::new(settings("UTC", &[(Period::Day, 10 * GB)]));
    let now = at("2026-11-16T23:59");
    assert_eq!(quota.headroom(now), ByteCount(0), "nothing is safe yet");
    assert!(quota.wants_checkpoint(now));
    let first = quota.checkpoint(now);
    assert!(!quota.wants_checkpoint(now), "it is under way");
    assert_eq!(quota.headroom(now), ByteCount(0));
    quota.handle_recorded(first.number);
    assert_eq!(quota.headroom(now), ByteCount(RESERVE));
    quota.add(now, ByteCount(RESERVE / 2 + 1));
    assert!(quota.wants_checkpoint(now));
    let second = quota.checkpoint(now);
    quota.handle_lost(second.number);
    assert!(quota.wants_checkpoint(now), "the disk did not take it");
    assert_eq!(quota.headroom(now), ByteCount(RESERVE / 2 - 1));
    let third = quota.checkpoint(now);
    quota.handle_recorded(third.number);
    quota.handle_recorded(first.number);
    assert_eq!(quota.headroom(now), ByteCount(RESERVE), "an old one comes too late");
    let midnight = at("2026-11-17T00:00");
    assert_eq!(quota.headroom(midnight), ByteCount(0), "charged for another day");
    assert!(quota.wants_checkpoint(midnight));
}

/// A quota of a day, with that many checkpoints under way, each after another byte.
fn under_way(now: UnixTime, count: u64) -> (Quota, Vec<u64>) {
    let mut quota = Quota::new(settings("UTC", &[(Period::Day, 10 * GB)]));
    let checkpoints = (0..count).map(|_| {
        quota.add(now, ByteCount(1));
        quota.checkpoint(now).number
    });
    let numbers = checkpoints.collect();
    (quota, numbers)
}

#[test]
fn a_checkpoint_is_wanted_when_less_than_half_is_left() {
    let now = at("2026-11-16T12:00");
    let (mut quota, numbers) = under_way(now, 1);
    quota.handle_recorded(numbers[0]);
    quota.add(now, ByteCount(RESERVE / 2));
    assert!(!quota.wants_checkpoint(now));
    quota.add(now, ByteCount(1));
    assert!(quota.wants_checkpoint(now));
}

#[test]
fn checkpoints_may_become_durable_in_any_order() {
    let now = at("2026-11-16T12:00");
    let (mut quota, numbers) = under_way(now, 3);
    quota.handle_recorded(numbers[1]);
    assert_eq!(quota.headroom(now), ByteCount(RESERVE - 1), "a byte was used since");
    quota.handle_recorded(numbers[0]);
    assert_eq!(quota.headroom(now), ByteCount(RESERVE - 1), "an older one says nothing");
    quota.handle_recorded(numbers[2]);
    assert_eq!(quota.headroom(now), ByteCount(RESERVE), "a newer one counts");
}

#[test]
fn a_lost_checkpoint_takes_no_other_with_it() {
    let now = at("2026-11-16T12:00");
    let (mut quota, numbers) = under_way(now, 2);
    quota.handle_lost(numbers[0]);
    quota.handle_recorded(numbers[0]);
    assert_eq!(quota.headroom(now), ByteCount(0), "what is lost is never durable");
    quota.handle_recorded(numbers[1]);
    assert_eq!(quota.headroom(now), ByteCount(RESERVE));
}

#[test]
fn of_many_checkpoints_under_way_the_oldest_are_given_up() {
    let now = at("2026-11-16T12:00");
    let (mut quota, numbers) = under_way(now, 9);
    quota.handle_recorded(numbers[0]);
    assert_eq!(quota.headroom(now), ByteCount(0), "eight are enough to remember");
    quota.handle_recorded(numbers[1]);
    assert_eq!(quota.headroom(now), ByteCount(RESERVE - 7));
}

#[test]
fn checkpoints_from_before_a_renewal_cover_nothing() {
    let now = at("2026-11-16T12:00");
    let (mut quota, numbers) = under_way(now, 2);
    quota.handle_recorded(numbers[0]);
    quota.renew();
    assert_eq!(quota.headroom(now), ByteCount(0), "the one on disk claims too much");
    quota.handle_recorded(numbers[1]);
    assert_eq!(quota.headroom(now), ByteCount(0), "and so does the one under way");
    assert!(quota.wants_checkpoint(now));
}

#[test]
fn what_was_asked_for_before_the_clock_was_set_back_counts_on_the_day_it_was_charged_to() {
    let mut quota = Quota::new(settings("UTC", &[(Period::Day, GB)]));
    let charged = quota.checkpoint(at("2026-11-15T00:01"));
    quota.handle_recorded(charged.number);
    let back = at("2026-11-14T23:59");
    assert!(!quota.wants_checkpoint(back), "the charge still holds");
    quota.add(back, ByteCount(5));
    assert_eq!(used(&mut quota, at("2026-11-15T00:02")), [5]);
}

#[test]
fn a_clock_that_nobody_set_shows_the_newest_day() {
    let mut quota = Quota::new(settings("UTC", &[(Period::Day, 10)]));
    quota.add(at("2026-11-16T12:00"), ByteCount(10));
    let mut start = |now| quota.usage(now)[0].window.map(|window| window.start);
    // Clocks are believed from 2023 on.
    let first = at("2023-01-01T00:00");
    assert_eq!(start(UnixTime(first.0 - 1)), Some(at("2026-11-16T00:00")));
    assert_eq!(start(first), Some(first), "a clock that is behind, but set");
}

#[derive(Clone, Debug)]
enum Step {
    Add(u64),
    Checkpoint,
    Kill,
    Recorded,
    Wait(i64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (0..RESERVE).prop_map(Step::Add),
        4 => Just(Step::Checkpoint),
        1 => Just(Step::Kill),
        4 => Just(Step::Recorded),
        2 => (0..DAY).prop_map(Step::Wait),
    ]
}

proptest! {
    /// Whatever the order of use, writes and sudden ends: each day's usage is never under-counted, and
    /// over-counted by at most the reserve for each end.
    #[test]
    fn a_sudden_end_never_under_counts(steps in prop::collection::vec(step(), 1..200)) {
        let settings = settings("America/New_York", &[(Period::Day, 1 << 62), (Period::Ever, 1 << 62)]);
        let mut quota = Quota::new(settings.clone());
        let (mut disk, mut writing) = (Default::default(), None);
        let mut now = at("2026-03-07T12:00");
        let (mut day, mut used_today, mut used_ever, mut kills) = (now, 0, 0, 0);
        for step in steps {
            match step {
                Step::Add(bytes) => {
                    let bytes = bytes.min(quota.headroom(now).0);
                    quota.add(now, ByteCount(bytes));
                    used_today += bytes;
                    used_ever += bytes;
                }
                Step::Checkpoint => writing = Some(quota.checkpoint(now)),
                Step::Recorded => if let Some(checkpoint) = writing.take() {
                    quota.handle_recorded(checkpoint.number);
                    disk = checkpoint.record;
                },
                Step::Kill => {
                    // A write under way may have come through, unheard.
                    if let Some(checkpoint) = writing.take().filter(|_| kills % 2 == 0) {
                        disk = checkpoint.record;
                    }
                    quota = Quota::restore(settings.clone(), disk.clone());
                    kills += 1;
                }
                Step::Wait(seconds) => now.0 += seconds,
            }
            let usage = quota.usage(now);
            let start = usage[0].window.unwrap().start;
            if start != day {
                used_today = 0;
                day = start;
            }
            prop_assert!(usage[0].used.0 >= used_today);
            prop_assert!(usage[1].used.0 >= used_ever);
            prop_assert!(usage[1].used.0 <= used_ever + kills * RESERVE);
        }
    }

    /// With a clock that only runs, each window holds exactly what was used since it began, and all
    /// of them together what was used at all.
    #[test]
    fn usage_is_conserved(
        zone in prop::sample::select(vec!["Europe/Berlin", "Australia/Lord_Howe", "Pacific/Apia"]),
        first in 1..=31_u8,
        uses in prop::collection::vec((0..4 * DAY, 0..1_000_u64), 1..300),
    ) {
        let periods = [Period::Day, Period::Month { first }];
        let mut quota = Quota::new(settings(zone, &periods.map(|period| (period, 1 << 40))));
        let mut now = at("2024-01-20T00:00");
        let mut uses_so_far = Vec::new();
        let mut closed = [0, 0];
        let mut last: [(i64, u64); 2] = [(0, 0); 2];
        for (pause, bytes) in uses {
            now.0 += pause;
            quota.add(now, ByteCount(bytes));
            uses_so_far.push((now, bytes));
            for (index, usage) in quota.usage(now).into_iter().enumerate() {
                let start = usage.window.unwrap().start;
                let since = uses_so_far.iter().filter(|(time, _)| *time >= start);
                let expected: u64 = since.map(|(_, bytes)| bytes).sum();
                prop_assert_eq!(usage.used.0, expected);
                if start.0 != last[index].0 {
                    closed[index] += last[index].1;
                }
                last[index] = (start.0, usage.used.0);
            }
        }
        let total: u64 = uses_so_far.iter().map(|(_, bytes)| bytes).sum();
        prop_assert_eq!([closed[0] + last[0].1, closed[1] + last[1].1], [total; 2]);
    }

    /// However the clock is set, and across restarts: somebody who always uses all that is left gets
    /// no allowance twice. And a clock left alone gives each new day its own again after two days.
    #[test]
    fn no_clock_gives_a_day_twice_or_withholds_it_for_long(
        period in prop_oneof![
            2 => Just(Period::Day),
            1 => Just(Period::Week { first: chrono::Weekday::Mon }),
            2 => (1..=31_u8).prop_map(|first| Period::Month { first }),
        ],
        moves in prop::collection::vec(
            prop_oneof![
                4 => 1..DAY,
                1 => -DAY..0,
                1 => -40 * DAY..40 * DAY,
                1 => Just(-3_700 * DAY),
                1 => Just(3_650 * DAY),
            ],
            1..60,
        ),
    ) {
        let settings = settings("Europe/Berlin", &[(period, 100)]);
        let mut quota = Quota::new(settings.clone());
        let mut now = at("2026-11-16T12:00");
        let mut windows = std::collections::BTreeSet::new();
        let mut total = 0;
        let greedy = |quota: &mut Quota, now: UnixTime| {
            let Standing::Open { left: Some(left) } = quota.standing(now) else { return 0 };
            quota.add(now, left);
            left.0
        };
        for change in moves {
            now.0 = (now.0 + change).clamp(0, 1 << 33);
            windows.insert(quota.usage(now)[0].window.unwrap().start);
            total += greedy(&mut quota, now);
            let most = 100 * windows.len() as u64;
            prop_assert!(total <= most, "{total} of {most}");
            if change % 3 == 0 {
                quota = Quota::restore(settings.clone(), quota.close());
            }
        }
        // Somebody sets it right; from the third day on it is as if nothing had been.
        now = at("2056-05-05T12:00");
        for day in 0..40 {
            let was_shown = !windows.insert(quota.usage(now)[0].window.unwrap().start);
            let given = greedy(&mut quota, now);
            prop_assert!(day < 2 || was_shown || given == 100, "{given} on day {day}");
            now.0 += DAY;
        }
    }
}

#[test]
fn zones_without_a_name_are_refused() {
    assert_eq!("Europe/Berlin".parse::<Zone>().unwrap().to_string(), "Europe/Berlin");
    let refusal = "Europe/Atlantis".parse::<Zone>().unwrap_err().to_string();
    assert_eq!(
        refusal,
        "\"Europe/Atlantis\" is no time zone; write it like \"Europe/Berlin\" or \"UTC\""
    );
}
