//! Quotas and timetables, from year to year in no time.

use bergamot_engine::{Credit, DiskTrouble, Hold, Notice, ServerSettings, Settings};
use bergamot_limit::{Effect, Period, Rule, Timetable};
use bergamot_testkit::fixtures::quotas::{Reply, World, at, quota, server};
use bergamot_types::{ByteRate, ServerId, UnixTime};

const NOON: &str = "2026-11-16T12:00:00Z";
const HOUR: u64 = 3600;
const DAY: u64 = 24 * HOUR;

/// One server, and so many articles a day.
fn daily(articles: u64) -> Settings {
    Settings {
        servers: vec![server(1, 0)],
        quota: quota(Period::Day, articles),
        ..Settings::default()
    }
}

fn timetable(zone: &str, rules: &[(&str, &str, Effect)]) -> Timetable {
    let rule = |&(from, to, effect): &(&str, &str, Effect)| {
        let [from, to] = [from, to].map(|time| time.parse().expect("a time"));
        Rule { days: "daily".parse().expect("days"), from, to, effect }
    };
    Timetable::new(zone.parse().expect("a zone"), rules.iter().map(rule).collect())
}

fn reached(server: Option<u16>, until: Option<&str>) -> Notice {
    Notice::QuotaReached { server: server.map(ServerId), until: until.map(at) }
}

#[test]
fn a_quota_pauses_after_what_is_in_flight_and_resumes_by_itself() {
    let mut world = World::at(NOON, daily(10));
    world.add(1, 25);
    world.settle();
    assert_eq!((world.total(), world.under_way()), (10, 0));
    let midnight = at("2026-11-17T00:00:00Z");
    assert_eq!(world.engine.hold(), Some(Hold::Quota { until: Some(midnight) }));
    world.wait(12 * HOUR - 1);
    assert_eq!(world.total(), 10);
    world.wait(2);
    assert_eq!(world.total(), 20);
    world.wait(DAY);
    assert_eq!((world.total(), world.disk.completed.as_slice()), (25, [1].as_slice()));
    let renewed = Notice::QuotaRenewed { server: None };
    assert_eq!(
        world.host.told,
        [
            reached(None, Some("2026-11-17T00:00:00Z")),
            renewed.clone(),
            reached(None, Some("2026-11-18T00:00:00Z")),
            renewed
        ]
    );
}

#[test]
fn a_quota_is_exceeded_by_one_article_at_most() {
    let mut settings = daily(1);
    settings.quota.allowances[0].most.0 = 5 * bergamot_testkit::fixtures::quotas::ARTICLE + 1;
    let mut world = World::at(NOON, settings);
    world.add(1, 25);
    world.settle();
    assert_eq!(world.total(), 6);
}

#[test]
fn a_daemon_that_was_off_on_the_reset_day_begins_anew() {
    let mut settings = daily(1);
    settings.quota = quota(Period::Month { first: 31 }, 10);
    let mut world = World::at(NOON, settings);
    world.add(1, 25);
    world.settle();
    assert_eq!(world.host.told, [reached(None, Some("2026-11-30T00:00:00Z"))]);
    world.close();
    let mut world = world.restarted(3 * DAY as i64, |_| {});
    world.add(1, 25);
    world.settle();
    assert_eq!(world.total(), 0, "still the same month");
    world.close();
    let mut world = world.restarted(40 * DAY as i64, |_| {});
    world.add(1, 25);
    world.settle();
    assert_eq!(world.total(), 10);
}

#[test]
fn a_killed_daemon_has_used_no_less_than_before() {
    let mut world = World::at(NOON, daily(40));
    world.add(1, 60);
    world.settle_after(30);
    assert_eq!(world.total(), 30);
    let mut world = world.restarted(1, |_| {});
    world.add(1, 60);
    world.settle();
    assert!(world.total() <= 10, "{} more", world.total());
}

#[test]
fn what_is_under_way_at_an_orderly_end_counts_as_used() {
    let mut world = World::at(NOON, daily(40));
    world.add(1, 60);
    world.settle_after(6);
    assert_eq!((world.total(), world.under_way()), (6, 2));
    world.close();
    let mut world = world.restarted(1, |_| {});
    world.add(1, 60);
    world.settle();
    assert_eq!(world.total(), 40 - 6 - 2);
}

#[test]
fn a_clock_that_is_set_back_gives_nothing_twice() {
    let mut world = World::at(NOON, daily(10));
    world.add(1, 100);
    world.wait(13 * HOUR);
    assert_eq!(world.total(), 20, "ten on each of two days");
    world.set_clock(-2 * HOUR as i64);
    world.wait(30 * 60);
    assert_eq!(world.total(), 20);
    world.wait(DAY + 2 * HOUR);
    assert_eq!(world.total(), 30);
}

#[test]
fn a_clock_that_is_set_forward_is_noticed_within_a_minute() {
    let mut world = World::at(NOON, daily(10));
    world.add(1, 15);
    world.settle();
    world.set_clock(13 * HOUR as i64);
    world.wait(60);
    assert_eq!(world.disk.completed, [1]);
}

#[test]
fn damaged_copies_and_broken_transfers_count_too() {
    for reply in [Reply::Damaged, Reply::Break] {
        let mut world = World::at(NOON, daily(10));
        world.servers.rule = match reply {
            Reply::Damaged => |_, tries| if tries == 0 { Reply::Damaged } else { Reply::Good },
            _ => |_, tries| if tries == 0 { Reply::Break } else { Reply::Good },
        };
        world.add(1, 25);
        world.wait(HOUR);
        assert_eq!(world.total(), 10, "{reply:?}");
        world.wait(5 * DAY);
        assert_eq!((world.total(), world.disk.completed.len()), (50, 1), "{reply:?}");
    }
}

#[test]
fn what_comes_beyond_what_was_said_counts_as_it_comes() {
    let mut world = World::at(NOON, daily(10));
    world.servers.rule = |_, tries| if tries == 0 { Reply::Swollen } else { Reply::Good };
    world.add(1, 25);
    world.wait(HOUR);
    // Two connections had one article each under way when it was reached.
    assert!((10..=10 + 2 * 3).contains(&world.total()), "{}", world.total());
    assert!(matches!(world.engine.hold(), Some(Hold::Quota { .. })));
    world.wait(20 * DAY);
    assert_eq!((world.total(), world.disk.completed.len()), (100, 1));
}

#[test]
fn what_still_comes_when_a_quota_is_reached_is_on_record_too() {
    let mut settings = daily(10);
    settings.servers[0].connections = 40;
    let mut world = World::at(NOON, settings);
    world.servers.rule = |_, tries| if tries == 0 { Reply::Swollen } else { Reply::Good };
    world.add(1, 60);
    world.wait(HOUR); // the world looks at the records with every event
    assert!(world.disk.persists > 1, "{} records", world.disk.persists);
}

#[test]
fn a_used_up_block_account_leaves_its_articles_to_the_next_level() {
    let mut settings =
        Settings { servers: vec![server(1, 0), server(2, 1)], ..Settings::default() };
    settings.server_quotas.insert(ServerId(1), quota(Period::Ever, 5));
    let mut world = World::at(NOON, settings);
    world.add(1, 20);
    world.settle();
    assert_eq!((world.servers.fetched[&1], world.servers.fetched[&2]), (5, 15));
    assert_eq!((world.disk.completed.as_slice(), world.engine.hold()), ([1].as_slice(), None));
    assert_eq!(world.host.told, [reached(Some(1), None)]);
    assert!(world.engine.is_metered(ServerId(1)) && !world.engine.is_metered(ServerId(2)));
    world.close();
    let more = quota(Period::Ever, 8);
    let mut world = world.restarted(400 * DAY as i64, |settings| {
        settings.server_quotas.insert(ServerId(1), more);
    });
    world.add(2, 20);
    world.settle();
    assert_eq!(
        (world.servers.fetched[&1], world.servers.fetched[&2]),
        (3, 17),
        "it was renewed by three"
    );
}

#[test]
fn what_waits_for_a_used_up_server_gets_it_after_the_rollover() {
    let mut settings =
        Settings { servers: vec![server(1, 0), server(2, 1)], ..Settings::default() };
    settings.server_quotas.insert(ServerId(1), quota(Period::Day, 5));
    let mut world = World::at(NOON, settings);
    world.servers.rule = |server, _| if server == 2 { Reply::Missing } else { Reply::Good };
    world.add(1, 12);
    world.wait(HOUR);
    assert_eq!((world.total(), world.engine.hold()), (5, None));
    world.wait(2 * DAY);
    assert_eq!((world.total(), world.disk.completed.as_slice()), (12, [1].as_slice()));
}

#[test]
fn when_every_server_is_used_up_nothing_is_lost_even_if_all_are_optional() {
    let mut settings =
        Settings { servers: vec![server(1, 0), server(2, 0)], ..Settings::default() };
    settings.servers.iter_mut().for_each(|server| server.optional = true);
    settings.server_quotas.insert(ServerId(1), quota(Period::Day, 5));
    settings.server_quotas.insert(ServerId(2), quota(Period::Ever, 3));
    let mut world = World::at(NOON, settings);
    world.add(1, 12);
    world.settle();
    assert_eq!(world.total(), 8);
    let until = Some(at("2026-11-17T00:00:00Z"));
    assert_eq!(world.engine.hold(), Some(Hold::Quota { until }), "the first to have some again");
    world.wait(DAY);
    assert_eq!(world.disk.completed, [1]);
}

#[test]
fn a_scheduled_pause_lets_finish_what_is_in_flight() {
    let timetable = timetable("UTC", &[("12:00", "14:00", Effect::Pause)]);
    let settings = Settings { servers: vec![server(1, 0)], timetable, ..Settings::default() };
    let mut world = World::at("2026-11-16T11:59:00Z", settings);
    world.add(1, 30);
    world.settle_after(5);
    assert_eq!(world.under_way(), 2);
    world.set_clock(61);
    world.settle();
    assert_eq!((world.total(), world.under_way()), (5 + 2, 0));
    let until = Some(at("2026-11-16T14:00:00Z"));
    assert_eq!(world.engine.hold(), Some(Hold::Schedule { until }));
    world.wait(2 * HOUR - 10);
    assert_eq!((world.total(), world.disk.completed.len()), (7, 0));
    world.wait(10);
    assert_eq!(world.disk.completed, [1]);
    let paused = Notice::ScheduleChanged { effect: Some(Effect::Pause), until };
    let until = Some(at("2026-11-17T12:00:00Z"));
    assert_eq!(world.host.told, [paused, Notice::ScheduleChanged { effect: None, until }]);
}

#[test]
fn pauses_and_rates_follow_the_clock_on_the_wall_when_that_is_put_forward() {
    let slow = Effect::Limit(ByteRate(1_000_000));
    // Half past two does not exist on that day: the pause begins at three, an hour before it ends.
    let rules = [("01:00", "06:00", slow), ("02:30", "04:00", Effect::Pause)];
    let timetable = timetable("Europe/Berlin", &rules);
    let settings = Settings { servers: vec![server(1, 0)], timetable, ..Settings::default() };
    let mut world = World::at("2026-03-28T23:30:00Z", settings);
    world.add(1, 1000);
    world.settle_after(1);
    assert_eq!(world.lent(), Credit::Unlimited);
    let mut changes = Vec::new();
    for _ in 0..10 {
        world.set_clock(1800);
        world.settle_after(1);
        let limited = matches!(world.lent(), Credit::Bytes { .. });
        changes.push((limited, world.engine.hold().is_some()));
    }
    let (free, slowed, paused) = ((false, false), (true, false), (false, true));
    let expected = [slowed, slowed, paused, paused, slowed, slowed, slowed, slowed, free, free];
    assert_eq!(changes, expected, "from midnight in UTC, every half hour");
}

#[test]
fn records_that_are_late_let_no_more_be_fetched_than_they_claim() {
    let mut world = World::at(NOON, daily(1000));
    world.disk.quick_disk = false;
    world.add(1, 100);
    world.settle();
    assert_eq!(
        (world.total(), world.disk.records.len()),
        (0, 1),
        "nothing before the first record"
    );
    for _ in 0..20 {
        if world.disk.records.is_empty() {
            break;
        }
        world.persisted(false, Ok(()));
        world.settle(); // the world checks after each event what is on record
        assert!(world.disk.records.len() <= 1);
    }
    assert_eq!(world.disk.completed, [1]);
    assert!(world.disk.persists <= 100 / 11 + 2, "{}", world.disk.persists);
}

#[test]
fn records_that_cannot_be_written_are_written_again_and_nothing_is_stuck() {
    let mut world = World::at(NOON, daily(1000));
    world.disk.quick_disk = false;
    world.add(1, 100);
    world.settle();
    world.persisted(false, Err(DiskTrouble::Transient));
    world.settle();
    assert_eq!((world.engine.hold(), world.disk.records.len()), (Some(Hold::Unrecorded), 0));
    world.wait(5);
    assert_eq!((world.engine.hold(), world.disk.records.len(), world.total()), (None, 1, 0));
    world.persisted(false, Ok(()));
    world.settle();
    assert!(world.total() > 0);
    world.persisted(false, Err(DiskTrouble::Transient));
    world.wait(5);
    world.disk.quick_disk = true;
    world.persisted(false, Ok(()));
    world.wait(60);
    assert_eq!(world.disk.completed, [1]);
}

#[test]
fn records_whose_fates_are_told_out_of_order_count_by_the_newest() {
    for late in [Ok(()), Err(DiskTrouble::Transient)] {
        let mut world = World::at(NOON, daily(1000));
        world.disk.quick_disk = false;
        world.add(1, 100);
        world.settle();
        world.set_clock(DAY as i64); // what is on its way counts for yesterday
        world.wait(60);
        assert_eq!(world.disk.records.len(), 2);
        world.persisted(true, Ok(()));
        world.persisted(false, late);
        world.disk.quick_disk = true;
        world.settle();
        assert_eq!(world.disk.completed, [1], "{late:?}");
    }
}

#[test]
fn an_article_larger_than_all_headroom_comes_alone() {
    for claimed in [9 << 20, 15 << 20, 31 << 20] {
        let mut world = World::at(NOON, daily(1000));
        world.add(1, 2);
        world.add_claiming(2, 3, claimed);
        world.wait(60);
        world.disk.completed.sort_unstable();
        assert_eq!(world.disk.completed, [1, 2], "{claimed}");
    }
}

#[test]
fn nothing_wakes_and_nothing_is_written_without_work() {
    let settings = Settings {
        timetable: timetable("UTC", &[("13:00", "14:00", Effect::Pause)]),
        ..daily(1000)
    };
    let mut world = World::at(NOON, settings);
    world.wait(2 * DAY);
    assert_eq!((world.engine.poll_timeout(), world.disk.persists), (None, 0));
    world.add(1, 3);
    world.wait(HOUR);
    assert_eq!(world.disk.completed, [1]);
    assert_eq!((world.engine.poll_timeout(), world.disk.persists), (None, 1));
}

#[test]
fn without_limits_nothing_is_counted_or_written() {
    let settings = Settings { servers: vec![server(1, 0)], ..Settings::default() };
    let mut world = World::at(NOON, settings);
    world.add(1, 100);
    world.settle();
    let now = bergamot_engine::Now { instant: std::time::Instant::now(), date: UnixTime(0) };
    assert_eq!((world.disk.persists, world.engine.closing_records(now)), (0, None));
    assert!(!world.engine.is_metered(ServerId(1)));
}

#[test]
fn records_that_cannot_be_kept_hold_up_all_only_if_all_that_is_used_is_counted() {
    let off = ServerSettings { active: false, ..server(2, 0) };
    let empty = ServerSettings { connections: 0, ..server(2, 0) };
    for (second, hold) in
        [(server(2, 0), None), (off, Some(Hold::Unrecorded)), (empty, Some(Hold::Unrecorded))]
    {
        let mut settings = Settings { servers: vec![server(1, 0), second], ..Settings::default() };
        settings.server_quotas.insert(ServerId(1), quota(Period::Day, 50));
        let mut world = World::at(NOON, settings);
        world.disk.quick_disk = false;
        world.add(1, 5);
        world.persisted(true, Err(DiskTrouble::Transient));
        assert_eq!(world.engine.hold(), hold);
        assert!(world.disk.records.is_empty(), "the disk is left alone for a while");
    }
}

#[test]
fn each_record_has_a_number_of_its_own() {
    let mut world = World::at(NOON, daily(60));
    world.disk.quick_disk = false;
    world.add(1, 60);
    let first = world.disk.records.front().map(|(number, _)| *number);
    world.persisted(true, Ok(()));
    world.settle();
    let second = world.disk.records.front().map(|(number, _)| *number);
    assert!(first < second && first.is_some(), "{first:?} {second:?}");
}

#[test]
fn of_a_block_account_that_is_used_up_no_more_records_are_kept() {
    let mut settings =
        Settings { servers: vec![server(1, 0), server(2, 1)], ..Settings::default() };
    settings.server_quotas.insert(ServerId(1), quota(Period::Ever, 5));
    let mut world = World::at(NOON, settings);
    world.add(1, 20);
    world.settle();
    world.close();
    let mut world = world.restarted(1, |_| {});
    world.add(2, 20);
    world.settle();
    assert_eq!((world.servers.fetched.get(&2), world.disk.persists), (Some(&20), 0));
}
