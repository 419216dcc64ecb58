//! Who is asked for what next, and who is dialled for it.

use std::time::Duration;

use bergamot_engine::{Failure, ServerSettings, Trouble};
use bergamot_testkit::fixtures::manual::{ARTICLE, World, server};

/// One server whose connections may have many articles under way, as it knows from job 9.
fn far_away(connections: usize, pipeline: usize) -> World {
    let mut world =
        World::with(vec![server(1, connections)], |settings| settings.pipeline = pipeline);
    world.announce(9, &vec![ARTICLE; connections]);
    world.greet();
    for connection in 0..connections {
        world.comes_after(connection, 1_000, 10);
    }
    world
}

#[test]
fn a_line_is_never_longer_than_the_settings_say() {
    for pipeline in [1, 2, 3] {
        let mut world = far_away(1, pipeline);
        world.add(1, 40);
        assert_eq!(world.line(0).len(), pipeline);
    }
}

#[test]
fn a_line_is_as_long_as_the_server_is_far_away() {
    let mut world = World::of(vec![server(1, 1)]);
    world.add(1, 40);
    assert_eq!(world.line(0).len(), 1, "nothing is known of it");
    world.comes_after(0, 40, 10);
    assert_eq!(world.line(0).len(), 6, "five in the time before an answer");
}

#[test]
fn those_with_least_to_do_come_first() {
    let mut world = far_away(3, 4);
    world.add(1, 7);
    assert_eq!(
        (world.line(0), world.line(1), world.line(2)),
        (vec![0, 3, 6], vec![1, 4], vec![2, 5])
    );
}

#[test]
fn servers_are_served_by_turns() {
    let mut world = World::of(vec![server(1, 2), server(2, 2)]);
    world.add(1, 400);
    // The second one takes four times as long.
    for round in 1..=40 {
        world.wait(50);
        for connection in 0..world.connections() {
            let fast = world.connections_to(1) > 0 && connection != world.at(2);
            if !world.line(connection).is_empty() && (fast || round % 4 == 0) {
                world.comes(connection);
                world.writes_all();
            }
        }
    }
    assert!(world.disk.written.len() > 100, "{}", world.disk.written.len());
}

#[test]
fn what_was_asked_for_in_vain_comes_before_what_is_new() {
    let mut world = World::of(vec![server(1, 1), server(2, 1)]);
    world.add(1, 10);
    let (here, there) = (world.at(1), world.at(2));
    let missed = world.misses(here);
    world.comes(there);
    assert_eq!(world.line(there), [missed]);
}

#[test]
fn what_was_asked_for_in_vain_is_asked_of_a_higher_level_only_and_dialled_for_once() {
    let mut world = World::of(vec![server(1, 2), ServerSettings { level: 1, ..server(2, 8) }]);
    world.add(1, 10);
    assert_eq!((world.connections_to(1), world.connections_to(2)), (2, 0));
    let missed = world.misses(0);
    assert_eq!(world.connections_to(2), 1);
    world.wait(100);
    assert_eq!(world.connections_to(2), 1, "one is on its way");
    world.greet();
    assert_eq!(world.line(world.at(2)), [missed]);
    assert!(!world.line(0).contains(&missed) && !world.line(1).contains(&missed));
    world.comes(world.at(2));
    assert_eq!(world.line(world.at(2)), [], "there is nothing else for it");
}

#[test]
fn an_article_that_waits_for_two_servers_is_asked_of_one() {
    let servers = vec![server(1, 1), server(2, 1), server(3, 1)];
    let mut world = World::of(servers);
    world.add(1, 4);
    let missed = world.misses(world.at(1));
    let (second, third) = (world.at(2), world.at(3));
    world.comes(second);
    world.comes(third);
    let asked = [second, third].into_iter().filter(|line| world.line(*line).contains(&missed));
    assert_eq!(asked.count(), 1);
    let all: Vec<u32> = (0..3).flat_map(|line| world.line(line)).collect();
    assert_eq!(all.len(), 2, "each once: {all:?}");
}

#[test]
fn what_is_too_old_for_everybody_is_lost_at_once() {
    let mut world = World::of(vec![ServerSettings { retention: 100, ..server(1, 1) }]);
    world.announce_posted(1, &[ARTICLE; 3], Some(200));
    assert_eq!((&world.host.failed[..], world.connections()), (&[(1, Failure::Incomplete)][..], 0));
    world.announce_posted(2, &[ARTICLE; 3], Some(99));
    world.greet();
    assert_eq!(world.jobs_in_line(0), [(2, 0)]);
}

#[test]
fn what_is_too_old_for_one_is_passed_by_and_it_gets_the_next_job() {
    let servers = vec![ServerSettings { retention: 100, ..server(1, 1) }, server(2, 1)];
    let mut world = World::of(servers);
    world.announce_posted(1, &[ARTICLE; 60], Some(200));
    world.greet();
    assert_eq!((world.connections_to(1), world.connections_to(2)), (0, 1));
    world.announce_posted(2, &[ARTICLE; 60], Some(50));
    world.greet();
    assert_eq!(world.jobs_in_line(world.at(1)), [(2, 0)]);
    assert_eq!(world.jobs_in_line(world.at(2)), [(1, 0)]);
}

#[test]
fn room_and_limit_follow_what_the_nzb_claims() {
    for (claimed, room, limit) in [
        (0, 1 << 20, 4 << 20),
        (1, 16 << 10, 4 << 20),
        (700_000, 700_000, 4 << 20),
        (2_000_000, 2_000_000, 8_000_000),
        (20_000_000, 20_000_000, 32 << 20),
        (50_000_000, 32 << 20, 32 << 20),
    ] {
        let mut world = World::of(vec![server(1, 1)]);
        world.add_sizes(1, &[claimed]);
        assert_eq!((world.reserved(), world.servers.limits[&0]), (room, limit), "{claimed}");
    }
}

#[test]
fn an_article_that_cost_a_connection_is_waited_for_longer() {
    let mut world = World::of(vec![server(1, 1)]);
    world.add(1, 5);
    assert_eq!(world.servers.silences[&0], Duration::from_secs(30), "nothing is known");
    world.comes_after(0, 20, 1_000);
    let broken = world.line(0)[0];
    world.comes(0);
    world.breaks(0);
    for _ in 0..100 {
        world.wait(1_000);
        world.greet();
    }
    let longest = world.servers.silences.iter().filter(|(segment, _)| **segment > broken);
    let longest = longest.map(|(_, silence)| silence.as_millis()).max();
    assert!(longest > Some(10_000) && longest < Some(11_000), "{longest:?}");
}

#[test]
fn as_many_are_dialled_as_there_are_articles() {
    let mut world = World::of(vec![server(1, 8)]);
    world.announce(1, &[ARTICLE; 2]);
    assert_eq!(world.connections(), 2);
    world.wait(100);
    assert_eq!(world.connections(), 2, "they are on their way");
    world.announce(2, &[ARTICLE; 1]);
    assert_eq!(world.connections(), 3);
    world.announce(3, &[ARTICLE; 20]);
    world.greet();
    assert_eq!(world.connections(), 8);
}

#[test]
fn a_server_in_trouble_is_tried_by_one_as_long_as_there_is_a_job() {
    let mut world = World::of(vec![server(1, 8)]);
    world.announce(1, &[ARTICLE; 20]);
    let dialled = world.connections();
    (0..dialled).for_each(|connection| world.ends(connection, Trouble::Unreachable));
    world.forget_dialled();
    world.wait(600_000);
    assert_eq!(world.connections(), dialled + 1);
    world.remove(1);
    world.ends(dialled, Trouble::Unreachable);
    world.forget_dialled();
    world.wait(3_600_000);
    assert_eq!(world.connections(), dialled + 1, "nobody needs it");
}

#[test]
fn a_connection_is_closed_after_it_had_nothing_to_do_for_as_long_as_the_settings_say() {
    let mut world =
        World::with(vec![server(1, 2)], |settings| settings.idle = Duration::from_secs(7));
    world.add(1, 2);
    world.wait(60_000);
    assert_eq!(world.servers.closed, [], "both are busy");
    world.comes(1);
    world.writes_all();
    world.wait(6_999);
    assert_eq!(world.servers.closed, []);
    world.wait(1);
    assert_eq!(world.servers.closed, [1]);
    world.wait(60_000);
    assert_eq!(world.servers.closed, [1], "once");
    world.add(2, 1);
    assert_eq!(world.line(1), [], "it is asked nothing any more");
}

#[test]
fn work_that_comes_in_time_keeps_a_connection_open() {
    let mut world =
        World::with(vec![server(1, 1)], |settings| settings.idle = Duration::from_secs(7));
    world.add(1, 1);
    world.comes(0);
    world.writes_all();
    world.wait(5_000);
    world.add(2, 1);
    assert_eq!(world.line(0), [0]);
    world.wait(5_000);
    assert_eq!(world.servers.closed, []);
}
