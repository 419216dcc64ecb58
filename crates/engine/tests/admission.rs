//! Who gets room for a body, and who waits for it.

use bergamot_testkit::fixtures::manual::{World, server};

const BUDGET: u64 = 1_000_000;

/// One server, of which it is known that four may be under way on each connection.
fn world(connections: usize, sizes: &[u32]) -> World {
    let mut world = World::with(vec![server(1, connections)], |settings| {
        settings.budget.0 = BUDGET;
        settings.pipeline = 4;
    });
    world.add_sizes(9, &[100_000]);
    world.comes_after(0, 1_000, 10);
    world.names(Ok(()));
    world.processes(Ok(()));
    world.admissions();
    world.add_sizes(1, sizes);
    world
}

#[test]
fn a_line_may_be_deep_and_only_its_first_two_have_room() {
    let mut world = world(1, &[100_000; 6]);
    assert_eq!(world.line(0), [0, 1, 2, 3]);
    assert_eq!(world.admissions(), [0, 1]);
    world.comes(0);
    assert_eq!(world.line(0), [1, 2, 3, 4]);
    assert_eq!(world.admissions(), [2], "who moves up is let in");
    assert_eq!(world.reserved(), 300_000, "with the one that is not written yet");
}

#[test]
fn behind_other_articles_asking_is_free() {
    let mut world = world(1, &[700_000; 6]);
    assert_eq!(world.line(0), [0, 1, 2, 3]);
    assert_eq!(world.admissions(), [0], "there is no room for a second one");
}

#[test]
fn an_idle_connection_is_asked_nothing_for_which_there_is_no_room() {
    let mut world = World::with(vec![server(1, 2)], |settings| settings.budget.0 = BUDGET);
    world.add(1, 3);
    assert_eq!((world.line(0), world.line(1)), (vec![0], vec![]));
    world.comes(0);
    assert_eq!((world.line(0), world.line(1)), (vec![], vec![]), "it is not written yet");
    world.writes_all();
    assert_eq!(world.line(0).len() + world.line(1).len(), 1);
}

#[test]
fn nobody_overtakes_a_body_at_the_front_that_has_no_room() {
    let mut world = world(2, &[300_000, 300_000, 900_000, 100_000, 100_000, 100_000]);
    // The second connection is new here, so both have asked by now.
    let giant = if world.line(0).contains(&2) { 0 } else { 1 };
    let other = 1 - giant;
    while world.line(giant)[0] != 2 {
        world.comes(giant);
    }
    world.admissions();
    while !world.line(other).is_empty() && world.let_in().contains(&world.line(other)[0]) {
        world.comes(other);
    }
    assert!(!world.let_in().contains(&2), "it has no room");
    assert_eq!(world.admissions(), [], "nor has anybody gone before it");
    world.writes_all();
    assert_eq!(world.admissions()[0], 2);
    assert!(world.let_in().contains(&2));
}

#[test]
fn while_the_front_of_a_line_waits_for_room_idle_connections_wait_behind_it() {
    let mut world = World::with(vec![server(1, 2)], |settings| {
        settings.budget.0 = BUDGET;
        settings.pipeline = 2;
    });
    world.announce(9, &[100_000]);
    world.greet_one();
    world.comes_after(0, 1_000, 10);
    world.announce(1, &[700_000, 900_000, 100_000]);
    assert_eq!(world.line(0), [0, 1]);
    world.comes(0);
    assert_eq!(world.line(0), [1, 2]);
    world.announce(2, &[100_000]);
    world.greet();
    assert_eq!(world.reserved(), 700_000, "there would be room for a small one");
    assert_eq!(world.line(1), [], "and it is kept for the one that waits");
    world.writes_all();
    assert_eq!(world.reserved(), 900_000 + 100_000);
    assert_eq!(world.let_in(), [1, 2].into());
}

#[test]
fn the_second_of_a_line_keeps_no_room_from_others() {
    let mut world = World::with(vec![server(1, 2)], |settings| {
        settings.budget.0 = BUDGET;
        settings.pipeline = 2;
    });
    world.announce(9, &[100_000]);
    world.greet_one();
    world.comes_after(0, 1_000, 10);
    world.announce(1, &[700_000, 900_000, 100_000]);
    assert_eq!((world.line(0), world.let_in()), (vec![0, 1], [0].into()));
    world.greet();
    assert_eq!(world.line(1), [2], "what fits is asked for");
    assert_eq!(world.let_in(), [0, 2].into());
}

#[test]
fn fronts_come_before_those_behind_them_and_older_ones_first() {
    let mut world = World::with(vec![server(1, 2)], |settings| {
        settings.budget.0 = BUDGET;
        settings.pipeline = 2;
    });
    world.announce(9, &[100_000]);
    world.greet_one();
    world.comes_after(0, 1_000, 10);
    world.announce(1, &[500_000, 500_000, 500_000, 500_000, 500_000, 500_000]);
    assert_eq!(world.admissions(), [0, 0, 1]);
    world.comes(0);
    world.comes(0);
    world.greet();
    assert_eq!((world.line(0), world.line(1)), (vec![2, 3], vec![]));
    assert_eq!(world.admissions(), [], "two wait for the disk");
    world.writes(Ok(()));
    assert_eq!(world.admissions(), [2]);
    world.writes(Ok(()));
    assert_eq!(world.admissions(), [3]);
}

#[test]
fn an_article_larger_than_all_room_comes_alone() {
    let mut world = World::with(vec![server(1, 2)], |settings| settings.budget.0 = BUDGET);
    world.add_sizes(1, &[100_000, 3_000_000, 100_000, 100_000]);
    assert_eq!((world.line(0), world.line(1)), (vec![0], vec![]), "the next does not fit");
    world.comes(0);
    world.writes_all();
    assert_eq!(world.reserved(), 3_000_000);
    assert_eq!(world.line(0).len() + world.line(1).len(), 1);
    let busy = usize::from(world.line(0).is_empty());
    world.comes(busy);
    world.writes_all();
    assert_eq!(world.let_in(), [2, 3].into());
}

#[test]
fn a_disk_that_keeps_up_is_not_given_more_than_it_needs() {
    let mut world = World::with(vec![server(1, 1)], |settings| settings.pipeline = 1);
    world.add(1, 20);
    for _ in 0..12 {
        world.comes(0);
    }
    world.admissions();
    assert!(world.let_in().is_empty(), "8 MiB are on their way to the disk");
    world.writes_all();
    assert_eq!(world.admissions(), [12], "the disk has moved on");
}

#[test]
fn a_disk_that_stands_still_leaves_the_whole_budget_to_the_others() {
    let mut world = World::with(vec![server(1, 1)], |settings| {
        settings.pipeline = 1;
        settings.budget.0 = 16 * 700_000;
    });
    world.add(1, 20);
    for _ in 0..12 {
        world.comes(0);
    }
    world.admissions();
    world.wait(29);
    assert_eq!(world.admissions(), []);
    world.wait(1);
    assert_eq!(world.admissions(), [12]);
    for article in 13..16 {
        world.comes(0);
        assert_eq!(world.admissions(), [article]);
    }
    world.comes(0);
    assert_eq!((world.admissions(), world.reserved()), (vec![], 11_200_000));
}
