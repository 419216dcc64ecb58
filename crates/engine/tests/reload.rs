//! Other settings while it runs.

use bergamot_engine::{Event, HealthAction, Notice, ServerSettings, Settings, Trouble};
use bergamot_limit::{
    Allowance, Calendar, Effect, Period, QuotaSettings, Rule, Timetable, Weekdays,
};
use bergamot_testkit::fixtures::manual::{ARTICLE, World, server};
use bergamot_types::{ByteCount, ByteRate, ServerId};

fn change(world: &mut World, change: impl FnOnce(&mut Settings)) {
    let mut settings = world.engine.settings().clone();
    change(&mut settings);
    world.tell(Event::SettingsChanged(Box::new(settings)));
}

#[test]
fn a_server_that_is_added_gets_its_share() {
    let mut world = World::of(vec![server(1, 1)]);
    world.add(1, 50);
    change(&mut world, |settings| settings.servers.push(server(7, 1)));
    world.greet();
    assert_eq!((world.connections_to(1), world.connections_to(7)), (1, 1));
    assert_eq!((world.line(0), world.asked_of(7)), (vec![0], 1), "what is under way stays so");
}

#[test]
fn what_a_server_was_asked_goes_elsewhere_when_it_is_removed_or_switched_off() {
    let removals: [fn(&mut Vec<ServerSettings>); 2] =
        [|servers| servers.truncate(1), |servers| servers[1].active = false];
    for remove in removals {
        let mut world = World::of(vec![server(1, 1), server(2, 1)]);
        world.add(1, 2);
        let (kept, gone) = (world.at(1), world.at(2));
        let asked = world.line(gone);
        change(&mut world, |settings| remove(&mut settings.servers));
        assert_eq!((&world.servers.closed[..], world.line(kept).len()), (&[gone][..], 1));
        world.ends(gone, Trouble::Closed);
        assert_eq!(world.host.told, [], "it is nobody's fault");
        world.comes(kept);
        assert_eq!(world.line(kept), asked);
        world.comes(kept);
        world.writes_all();
        world.names(Ok(()));
        assert_eq!((&world.disk.processing[..], world.connections()), (&[1][..], 2));
    }
}

#[test]
fn the_last_connection_to_a_removed_server_may_break_on_an_article() {
    for trouble in [Trouble::Broken, Trouble::OutOfStep, Trouble::Refused] {
        let mut world = World::of(vec![server(1, 1), server(2, 1)]);
        world.add(1, 2);
        let (kept, gone) = (world.at(1), world.at(2));
        let asked = world.line(gone);
        change(&mut world, |settings| settings.servers.truncate(1));
        world.ends(gone, trouble);
        world.comes(kept);
        assert_eq!(world.line(kept), asked, "{trouble:?}: the other server is asked at once");
    }
}

#[test]
fn an_answer_that_still_comes_from_a_removed_server_counts() {
    let mut world = World::of(vec![server(1, 1), server(2, 1)]);
    world.add(1, 2);
    let gone = world.at(2);
    change(&mut world, |settings| settings.servers.truncate(1));
    world.comes(gone);
    world.writes_all();
    world.wait(60_000);
    world.ends(gone, Trouble::Broken);
    world.comes(world.at(1));
    world.writes_all();
    world.names(Ok(()));
    assert_eq!((&world.disk.processing[..], world.servers.closed.len()), (&[1][..], 1));
}

#[test]
fn a_connection_that_comes_to_be_too_late_is_not_used() {
    let mut world = World::of(vec![server(1, 1), server(2, 1)]);
    world.announce(1, &[ARTICLE; 9]);
    change(&mut world, |settings| settings.servers.truncate(1));
    world.greet();
    let gone = world.at(2);
    assert_eq!((&world.servers.closed[..], world.line(gone).len()), (&[gone][..], 0));
    world.ends(gone, Trouble::Closed);
    assert_eq!(world.connections_to(1), 1);
}

#[test]
fn the_last_server_may_go_and_another_one_come() {
    let mut world = World::of(vec![server(1, 1)]);
    world.add(1, 1);
    change(&mut world, |settings| settings.servers.clear());
    world.ends(0, Trouble::Closed);
    world.wait(3_600_000);
    assert_eq!((world.connections(), world.host.failed.len()), (1, 0));
    change(&mut world, |settings| settings.servers.push(server(2, 1)));
    world.greet();
    assert_eq!((world.connections_to(2), world.line(1)), (1, vec![0]));
}

#[test]
fn of_fewer_connections_those_with_least_to_do_finish_that() {
    let mut world = World::of(vec![server(1, 4)]);
    world.add(1, 3);
    assert_eq!(world.connections(), 3);
    world.add(2, 30);
    assert_eq!(world.connections(), 4);
    change(&mut world, |settings| settings.servers[0].connections = 2);
    assert_eq!(world.servers.closed, [], "all have something to do");
    for connection in 0..4 {
        world.comes(connection);
    }
    assert_eq!((world.servers.closed.len(), world.asked_of(1)), (2, 2));
    let closed = world.servers.closed.clone();
    closed.into_iter().for_each(|connection| world.ends(connection, Trouble::Closed));
    assert_eq!(world.connections(), 4, "none is dialled in their place");
}

#[test]
fn a_server_that_rests_is_tried_again_with_other_settings() {
    let mut world = World::of(vec![server(1, 1)]);
    world.announce(1, &[ARTICLE]);
    world.ends(0, Trouble::Login);
    world.forget_dialled();
    assert_eq!(world.connections(), 1);
    change(&mut world, |_| {});
    assert_eq!(world.connections(), 2);
    world.greet();
    assert_eq!(world.line(1), [0]);
}

#[test]
fn what_waits_is_routed_by_the_new_levels_and_retentions() {
    let above = ServerSettings { level: 1, ..server(2, 1) };
    let mut world = World::of(vec![server(1, 1), above]);
    world.announce_posted(1, &[ARTICLE; 2], Some(500));
    world.greet();
    assert_eq!((world.connections_to(1), world.connections_to(2)), (1, 0));
    change(&mut world, |settings| settings.servers[0].retention = 100);
    world.greet();
    assert_eq!((world.connections_to(2), world.asked_of(2)), (1, 1));
}

#[test]
fn rates_change_at_once_and_a_new_one_overrules_what_somebody_had_said() {
    let mut world = World::of(vec![server(1, 1)]);
    world.tell(Event::RateChanged(Some(ByteRate(10_000))));
    change(&mut world, |settings| settings.health_action = HealthAction::Park);
    assert_eq!(world.engine.rate(), Some(ByteRate(10_000)), "nothing was said about it");
    change(&mut world, |settings| settings.rates.rate = ByteRate(50_000));
    assert_eq!(world.engine.rate(), Some(ByteRate(50_000)));
    let slow = Rule {
        days: Weekdays::DAILY,
        from: "00:00".parse().expect("a time"),
        to: "00:00".parse().expect("a time"),
        effect: Effect::Limit(ByteRate(1_000)),
    };
    change(&mut world, |settings| {
        settings.timetable = Timetable::new(Default::default(), vec![slow]);
    });
    assert_eq!(world.engine.rate(), Some(ByteRate(1_000)));
    change(&mut world, |settings| settings.timetable = Timetable::default());
    assert_eq!(world.engine.rate(), Some(ByteRate(50_000)));
}

fn daily(articles: u64) -> QuotaSettings {
    let most = ByteCount(u64::from(ARTICLE) * articles);
    let allowances = vec![Allowance { period: Period::Day, most }];
    QuotaSettings { calendar: Calendar::default(), allowances }
}

#[test]
fn quotas_change_for_what_is_already_used() {
    for scope in [None, Some(ServerId(1))] {
        let quota = |settings: &mut Settings, quota: QuotaSettings| match scope {
            None => settings.quota = quota,
            Some(server) => _ = settings.server_quotas.insert(server, quota),
        };
        let mut world = World::with(vec![server(1, 1)], |settings| quota(settings, daily(2)));
        world.add(1, 10);
        let fetch_all = |world: &mut World| {
            world.greet();
            let mut fetched = 0;
            while let Some(line) = (0..world.connections()).find(|it| !world.line(*it).is_empty()) {
                world.comes(line);
                world.writes_all();
                fetched += 1;
            }
            fetched
        };
        assert_eq!(fetch_all(&mut world), 2);
        change(&mut world, |settings| quota(settings, daily(5)));
        assert_eq!(fetch_all(&mut world), 3, "of five, two are used");
        world.host.told.clear();
        change(&mut world, |settings| quota(settings, QuotaSettings::default()));
        assert_eq!(world.host.told, [Notice::QuotaRenewed { server: scope }]);
        assert!(world.engine.hold().is_none() && !world.line(0).is_empty());
        change(&mut world, |settings| quota(settings, daily(6)));
        assert_eq!(fetch_all(&mut world), 1, "what was used before still is");
        assert!(world.engine.hold().is_some());
    }
}

#[test]
fn what_was_under_way_when_its_server_was_removed_counts() {
    let mut world = World::with(vec![server(1, 1), server(2, 1)], |settings| {
        settings.server_quotas.insert(ServerId(1), daily(100));
    });
    world.add(1, 9);
    let gone = world.at(1);
    assert_eq!((world.line(gone).len(), world.used(Some(1))), (1, Some(0)));
    let before = world.engine.settings().servers.clone();
    change(&mut world, |settings| _ = settings.servers.remove(0));
    world.ends(gone, Trouble::Closed);
    assert_eq!(world.used(Some(1)), None);
    change(&mut world, |settings| settings.servers = before);
    assert_eq!(world.used(Some(1)), Some(ARTICLE.into()), "part of it may have come");
}

#[test]
fn what_is_known_of_a_server_lasts_until_it_is_removed() {
    let mut world = World::of(vec![server(1, 1), server(2, 1)]);
    world.add(1, 20);
    world.rounds(1, 100);
    let known = |world: &World| -> Vec<_> {
        world.engine.servers().map(|it| (it.id.0, it.rate.is_some())).collect()
    };
    assert_eq!(known(&world), [(1, true), (2, true)]);
    change(&mut world, |settings| settings.servers.truncate(1));
    assert_eq!(known(&world), [(1, true)]);
    change(&mut world, |settings| settings.servers.push(server(2, 1)));
    assert_eq!(known(&world), [(1, true), (2, false)]);
}

#[test]
fn more_memory_is_used_at_once() {
    let mut world =
        World::with(vec![server(1, 2)], |settings| settings.budget.0 = u64::from(ARTICLE));
    world.add(1, 9);
    assert_eq!(world.asked_of(1), 1);
    change(&mut world, |settings| settings.budget.0 = 2 * u64::from(ARTICLE));
    world.greet();
    assert_eq!(world.asked_of(1), 2);
}

#[test]
fn nothing_is_counted_any_more_when_a_quota_is_lifted() {
    let most = ByteCount(1 << 40);
    let allowances = vec![Allowance { period: Period::Ever, most }];
    let quota = QuotaSettings { allowances, ..QuotaSettings::default() };
    let mut world = World::with(vec![server(1, 1)], |settings| settings.quota = quota);
    assert!(world.engine.is_metered(ServerId(1)));
    change(&mut world, |settings| settings.quota = QuotaSettings::default());
    assert!(!world.engine.is_metered(ServerId(1)));
}
