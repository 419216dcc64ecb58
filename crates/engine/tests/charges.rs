//! What counts against a quota: all that came over the line, as it comes.

use std::time::Duration;

use bergamot_engine::{Fault, Trouble};
use bergamot_limit::{Allowance, Period, QuotaSettings};
use bergamot_testkit::fixtures::manual::{ARTICLE, World, server};
use bergamot_types::{ByteCount, ServerId};

const CLAIMED: u64 = ARTICLE as u64;

fn plenty() -> QuotaSettings {
    let allowance = Allowance { period: Period::Ever, most: ByteCount(1 << 40) };
    QuotaSettings { allowances: vec![allowance], ..QuotaSettings::default() }
}

/// One connection that has been asked for the first of three articles.
fn world() -> World {
    let mut world = World::with(vec![server(1, 1)], |settings| settings.quota = plenty());
    world.add(1, 3);
    world
}

#[test]
fn an_article_counts_for_its_server_and_for_all() {
    let mut world = World::with(vec![server(1, 1), server(2, 1)], |settings| {
        settings.quota = plenty();
        settings.server_quotas.insert(ServerId(2), plenty());
    });
    world.add(1, 3);
    world.comes(world.at(1));
    let used = [None, Some(1), Some(2)].map(|server| world.used(server));
    assert_eq!(used, [Some(CLAIMED), None, Some(0)]);
    world.comes(world.at(2));
    let used = [None, Some(1), Some(2)].map(|server| world.used(server));
    assert_eq!(used, [Some(2 * CLAIMED), None, Some(CLAIMED)]);
}

#[test]
fn an_article_that_was_too_large_counts_with_all_of_it() {
    let mut world = world();
    world.comes_with(0, Some(Fault::TooLarge { needed: 3 * CLAIMED }));
    assert_eq!(world.used(None), Some(3 * CLAIMED));
}

#[test]
fn what_comes_beyond_what_was_claimed_counts_once_and_at_once() {
    let mut world = world();
    for (received, used) in [(10, 0), (CLAIMED, 0), (CLAIMED + 300, 300), (CLAIMED + 300, 300)] {
        world.progress(0, received);
        assert_eq!(world.used(None), Some(used), "{received} have come");
    }
    world.progress(0, CLAIMED + 500);
    assert_eq!(world.used(None), Some(500));
    world.breaks(0);
    assert_eq!(world.used(None), Some(CLAIMED + 500));
}

#[test]
fn what_a_connection_was_refused_counts_only_if_something_came() {
    for (received, used) in [(None, 0), (Some(1), CLAIMED)] {
        let mut world = world();
        received.into_iter().for_each(|received| world.progress(0, received));
        world.ends(0, Trouble::Refused);
        assert_eq!(world.used(None), Some(used), "{received:?}");
    }
    let mut world = world();
    world.breaks(0);
    assert_eq!(world.used(None), Some(CLAIMED), "nobody knows how much was on its way");
}

#[test]
fn while_something_is_counted_the_calendar_is_looked_at_every_minute() {
    assert_eq!(world().wakes_in(), Some(Duration::from_secs(60)));
    let mut uncounted = World::of(vec![server(1, 1)]);
    uncounted.add(1, 3);
    assert_eq!(uncounted.wakes_in(), None);
}

#[test]
fn an_idle_daemon_keeps_no_records() {
    let mut world = World::with(vec![server(1, 1)], |settings| settings.quota = plenty());
    world.wait(1_000);
    assert_eq!(world.disk.persists, 0);
    world.add(1, 1);
    assert_eq!(world.disk.persists, 1);
}

#[test]
fn what_is_asked_for_at_one_moment_counts_together() {
    let mut world = World::with(vec![server(1, 4)], |settings| {
        settings.quota = plenty();
        settings.quota.allowances[0].most.0 = 4 * CLAIMED + 1;
    });
    world.add(9, 4);
    (0..4).for_each(|connection| _ = world.comes(connection));
    world.add(1, 4);
    assert_eq!(world.asked_of(1), 1, "the last byte may be exceeded by one article");
}

#[test]
fn an_article_larger_than_what_is_charged_in_advance_comes_alone() {
    let mut world = World::with(vec![server(1, 2)], |settings| settings.quota = plenty());
    world.add_sizes(1, &[20 << 20; 2]);
    assert_eq!(world.asked_of(1), 1);
}

#[test]
fn an_allowance_of_nothing_is_none() {
    let mut world = World::with(vec![server(1, 1)], |settings| {
        settings.quota = plenty();
        settings.quota.allowances[0].most.0 = 0;
    });
    assert!(!world.engine.is_metered(ServerId(1)));
    world.add(1, 1);
    assert_eq!((world.asked_of(1), world.used(None)), (1, None));
}
