//! Servers that go and come back.

mod world;

use bergamot_engine::Trouble;
use world::{Reply, World, job, server};

#[test]
fn where_every_server_is_optional_and_in_trouble_jobs_wait() {
    for trouble in [Trouble::Unreachable, Trouble::Login] {
        let mut world = World::new(vec![server(1).optional(), server(2).level(1).optional()]);
        world.refuse(1, trouble);
        world.refuse(2, trouble);
        world.add(job(1, &[20]));
        world.run_for(3600);
        assert_eq!((world.completed.len(), world.failed.len(), world.lost.len()), (0, 0, 0));
        world.accept(2);
        world.run();
        assert_eq!(world.completed, [(1, true)], "{trouble:?}");
    }
}

#[test]
fn a_server_that_is_back_is_used_again_within_seconds() {
    let mut world = World::new(vec![server(1).connections(8)]);
    world.refuse(1, Trouble::Unreachable);
    world.add(job(1, &[50]));
    world.run_for(24 * 3600);
    assert_eq!(world.completed.len(), 0);
    world.accept(1);
    world.run_for(11);
    assert_eq!(world.completed, [(1, true)]);
}

#[test]
fn hundreds_of_connections_that_broke_together_do_not_come_back_together() {
    let mut world = World::new(vec![server(1).connections(200)]);
    let mut answered = 0;
    world.rule(move |_| {
        answered += 1;
        if (1000..1200).contains(&answered) { Reply::Break } else { Reply::Good }
    });
    world.add(job(1, &[3000]));
    world.run();
    assert_eq!(world.completed, [(1, true)]);
    assert!(world.peak_connections[&1] > 100, "{:?}", world.peak_connections);
    assert!(world.most_at_once <= 128, "{} were dialled at once", world.most_at_once);
}

#[test]
fn the_first_connections_are_few_until_one_has_come_to_be() {
    let mut world = World::new(vec![server(1).connections(100)]);
    world.refuse(1, Trouble::Login);
    world.add(job(1, &[1000]));
    world.run_for(5);
    assert!(world.most_at_once <= 8, "a wrong password is not sent a hundred times");
}
