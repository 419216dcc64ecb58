//! What connections teach about their servers.

use bergamot_engine::Trouble;
use bergamot_testkit::fixtures::manual::{World, server};

/// A server with one connection that has many under way.
fn pipelined() -> World {
    let mut world = World::with(vec![server(1, 1)], |settings| settings.pipeline = 4);
    world.add(1, 200);
    world.comes_after(0, 1_000, 10);
    assert_eq!(world.line(0).len(), 4);
    world
}

/// The newest connection ends, and the next one is greeted when it comes.
fn ends(world: &mut World, trouble: Trouble) -> usize {
    let last = world.connections() - 1;
    world.ends(last, trouble);
    for _ in 0..100 {
        if world.connections() > last + 1 {
            break;
        }
        world.wait(1_000);
    }
    world.greet();
    world.connections() - 1
}

#[test]
fn a_server_that_breaks_off_whenever_it_is_asked_ahead_is_asked_one_by_one() {
    let mut world = pipelined();
    for _ in 0..2 {
        let next = ends(&mut world, Trouble::Broken);
        assert!(world.line(next).len() > 1, "it may have been the line");
    }
    let next = ends(&mut world, Trouble::Broken);
    assert_eq!(world.line(next).len(), 1);
}

#[test]
fn an_answer_to_what_was_asked_ahead_clears_a_server_of_suspicion() {
    let mut world = pipelined();
    let mut next = 0;
    for _ in 0..5 {
        next = ends(&mut world, Trouble::Broken);
        world.comes_after(next, 1_000, 10);
        world.comes_after(next, 1_000, 10);
        assert!(world.line(next).len() > 1);
    }
    assert!(next > 4);
}

#[test]
fn good_order_is_held_against_nobody() {
    let mut world = pipelined();
    for _ in 0..4 {
        let next = ends(&mut world, Trouble::Closed);
        assert!(world.line(next).len() > 1);
        world.comes_after(next, 1_000, 10); // this was not asked ahead
    }
}

#[test]
fn what_is_missing_says_nothing_of_speed() {
    let mut world = World::of(vec![server(1, 8), server(2, 8)]);
    world.add(1, 100);
    world.wait(100);
    world.misses(world.at(1));
    assert!(world.asked_of(1) <= 2, "{}: it is still a stranger", world.asked_of(1));
    world.comes(world.at(1));
    assert!(world.asked_of(1) > 2, "now it is known");
}

#[test]
fn a_connection_to_a_stranger_that_breaks_makes_it_no_better_known() {
    let mut world = World::of(vec![server(1, 8), server(2, 8)]);
    world.add(1, 100);
    world.wait(1_000);
    world.breaks(world.at(1));
    world.wait(1_000);
    world.greet();
    assert!(world.asked_of(1) <= 2, "{}", world.asked_of(1));
}

/// How fast a server is taken to be after a connection to it was silent for so long and broke, and
/// after one more article: in thousands of bytes a second.
fn rates_after(silence: u64) -> (u64, u64) {
    let mut world = World::of(vec![server(1, 1)]);
    world.add(1, 100);
    world.rounds(15, 100);
    world.sleep(silence);
    let next = ends(&mut world, Trouble::Broken);
    let broken = world.rate_of(next);
    world.rounds(1, 100);
    (broken / 1_000, world.rate_of(next) / 1_000)
}

#[test]
fn a_connection_that_breaks_after_a_silence_was_slow() {
    assert!((6_000..=7_000).contains(&rates_after(1).0), "{:?}", rates_after(1));
    assert!((1_000..=2_000).contains(&rates_after(5_000).0), "{:?}", rates_after(5_000));
}

#[test]
fn a_silence_of_days_weighs_no_more_than_one_of_seconds() {
    let (broken, one_more) = rates_after(86_400_000);
    assert!(broken < 100, "{broken}");
    assert!((100..=300).contains(&one_more), "{one_more}");
}

#[test]
fn a_connection_with_more_to_answer_is_not_idle() {
    let mut world = World::of(vec![server(1, 1)]);
    world.add(1, 3);
    world.comes_after(0, 1_000, 10);
    assert_eq!(world.line(0), [1, 2]);
    world.comes(0);
    world.wait(31_000);
    assert_eq!(world.servers.closed, []);
}
