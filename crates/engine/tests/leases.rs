//! How many connections a rate can keep busy, and what it lends them.

use bergamot_engine::Event;
use bergamot_testkit::fixtures::manual::{World, server};
use bergamot_types::{ByteCount, ByteRate, ServerId};

/// As much as keeps one connection busy.
const SHARE: u64 = 64 << 10;

fn world(rate: u64, of_servers: &[(u16, u64)]) -> World {
    let mut world = World::with(vec![server(1, 8), server(2, 8)], |settings| {
        settings.rates.rate = ByteRate(rate);
        for &(server, rate) in of_servers {
            settings.rates.server_rates.insert(ServerId(server), ByteRate(rate));
        }
    });
    world.add(1, 100);
    world.wait(0);
    world.greet();
    world
}

fn open(world: &World) -> (usize, usize) {
    (world.connections_to(1), world.connections_to(2))
}

#[test]
fn without_a_rate_all_connections_are_opened() {
    assert_eq!(open(&world(0, &[])), (8, 8));
}

#[test]
fn a_rate_for_all_opens_as_many_as_it_can_keep_busy_and_one_to_each() {
    assert_eq!(open(&world(3 * SHARE, &[])), (3, 1));
    let (first, second) = open(&world(10 * SHARE, &[]));
    assert_eq!(first + second, 10);
    assert_eq!(open(&world(1, &[])), (1, 1));
}

#[test]
fn a_rate_of_a_server_opens_as_many_as_it_can_keep_busy_there() {
    assert_eq!(open(&world(0, &[(1, 3 * SHARE)])), (3, 8));
    assert_eq!(open(&world(0, &[(1, 1), (2, 2 * SHARE)])), (1, 2));
}

#[test]
fn of_two_rates_the_lower_one_counts() {
    assert_eq!(open(&world(6 * SHARE, &[(1, 2 * SHARE)])), (2, 4));
    assert_eq!(open(&world(2 * SHARE, &[(1, 6 * SHARE)])), (2, 1));
}

#[test]
fn memory_bounds_the_connections_to_all_servers_but_one_to_each() {
    for (most, expected) in [(0, 2), (1, 2), (3, 4), (10, 10), (16, 16), (99, 16)] {
        let mut world = World::with(vec![server(1, 8), server(2, 8)], |settings| {
            settings.most_connections = most;
        });
        world.add(1, 100);
        world.wait(0);
        world.greet();
        let (first, second) = open(&world);
        assert_eq!(first + second, expected, "{most}");
        assert!(first > 0 && second > 0);
    }
}

#[test]
fn who_is_thirsty_is_lent_something_and_others_are_not() {
    let mut world = world(2 * SHARE, &[]);
    let (first, second) = (world.id(0), world.id(1));
    world.tell(Event::CreditWanted { connection: first });
    world.wait(2_000);
    assert_eq!(world.servers.lent, [0]);
    world.tell(Event::CreditReturned { connection: first, bytes: ByteCount(0) });
    world.tell(Event::CreditWanted { connection: second });
    world.wait(2_000);
    assert_eq!(world.servers.lent, [0, 1]);
}

#[test]
fn what_one_has_not_spent_is_lent_to_another() {
    let mut world = world(2 * SHARE, &[]);
    let (empty, full) = (world.id(0), world.id(1));
    world.wait(2_000);
    world.tell(Event::CreditWanted { connection: full });
    assert_eq!(world.servers.lent, [1]);
    while !world.servers.lent.is_empty() {
        world.servers.lent.clear();
        world.tell(Event::CreditReturned { connection: empty, bytes: ByteCount(0) });
        world.tell(Event::CreditWanted { connection: empty });
    }
    let before = world.wakes_in();
    world.tell(Event::CreditReturned { connection: full, bytes: ByteCount(1_000_000) });
    assert!(!world.servers.lent.is_empty() || world.wakes_in() < before, "it comes sooner");
}

#[test]
fn without_a_rate_a_lease_lasts_until_there_is_one() {
    let mut world = world(0, &[]);
    let connection = world.id(0);
    world.tell(Event::CreditWanted { connection });
    assert_eq!((&world.servers.lent[..], world.servers.revoked.len()), (&[0][..], 0));
}
