//! Jobs that cannot be made whole are not fetched to their ends.

use bergamot_engine::{Event, Failure, HealthAction, Settings};
use bergamot_queue::Permille;
use bergamot_testkit::fixtures::rules::{Ask, Reply, World, job, server};
use bergamot_types::JobId;

fn world(health_action: HealthAction) -> World {
    world_of(1, health_action)
}

/// Servers of as many levels.
fn world_of(servers: u16, health_action: HealthAction) -> World {
    let servers = (1..=servers).map(|id| server(id).level(id.into()).connections(4)).collect();
    World::with_settings(servers, Settings { health_action, ..Settings::default() })
}

/// Of job 1 every other article is nowhere to be had.
fn half_of_the_first(ask: &Ask) -> Reply {
    if ask.job == 1 && ask.segment.is_multiple_of(2) { Reply::Missing } else { Reply::Good }
}

fn health(health: u16, critical: u16) -> Failure {
    Failure::Health { health: Permille(health), critical: Permille(critical) }
}

#[test]
fn a_job_that_is_half_missing_fails_early_and_the_next_one_completes() {
    let mut world = world(HealthAction::Park);
    world.rule(half_of_the_first);
    world.add(job(1, &[1000]));
    world.add(job(2, &[50]));
    world.run();
    assert_eq!(world.host.failed, [(1, health(849, 850))]);
    assert_eq!(world.disk.completed, [(2, true)]);
    // 151 of a thousand are lost after 301; the others were under way.
    let asked = world.servers.fetches.len() - 50;
    assert!((301..=301 + 4 * 4).contains(&asked), "{asked}");
    assert_eq!(world.engine.reserved().0, 0, "what was under way gave everything back");
    assert_eq!(world.host.deleted, [0; 0]);
}

#[test]
fn a_job_whose_articles_may_still_arrive_is_asked_for_to_its_end() {
    use HealthAction::{Delete, None, Park, Pause};
    for action in [Delete, None, Park, Pause] {
        let mut world = world(action);
        world.rule(half_of_the_first);
        let mut first = job(1, &[1000]);
        first.health_exempt_for = Some(86_400);
        world.add(first);
        world.run();
        assert_eq!(world.host.failed, [(1, Failure::Incomplete)], "{action:?}");
        assert_eq!(
            (world.servers.fetches.len(), world.host.deleted.len()),
            (1000, 0),
            "{action:?}"
        );
    }
    let mut world = world(HealthAction::Park);
    world.rule(half_of_the_first);
    let mut first = job(1, &[1000]);
    first.health_exempt_for = Some(0);
    world.add(first);
    world.run();
    assert_eq!(world.host.failed, [(1, health(849, 850))], "that time is over");
}

#[test]
fn recovery_volumes_put_the_end_off_as_far_as_they_could_repair() {
    for (volume, failure) in [(100, health(899, 900)), (400, health(599, 600))] {
        let mut world = world(HealthAction::Park);
        world.rule(|ask| if ask.file == 0 { half_of_the_first(ask) } else { Reply::Good });
        world.add(job(1, &[1000, volume]).par2(&[1]));
        world.run();
        assert_eq!(world.host.failed, [(1, failure)], "{volume}");
    }
    let mut world = world(HealthAction::Park);
    world.rule(|ask| if ask.file == 0 { half_of_the_first(ask) } else { Reply::Good });
    world.add(job(1, &[1000, 500]).par2(&[1]));
    world.run();
    assert_eq!(world.host.failed, [(1, Failure::Incomplete)], "it could be repaired");
}

#[test]
fn lost_recovery_volumes_lessen_what_can_be_repaired() {
    let mut world = world(HealthAction::Park);
    world.rule(|ask| match (ask.file, ask.segment) {
        (0, 0..150) | (1, 100..) => Reply::Missing,
        _ => Reply::Good,
    });
    world.add(job(1, &[1000, 200]).par2(&[1]));
    world.run();
    assert_eq!(world.host.failed, [(1, health(850, 851))]);
    assert!(world.servers.fetches.len() > 1100, "only the volumes showed it");
}

#[test]
fn lost_recovery_volumes_alone_fail_nothing() {
    let mut world = world(HealthAction::Park);
    world.rule(|ask| if ask.file == 1 { Reply::Missing } else { Reply::Good });
    let mut all = job(1, &[100, 50]).par2(&[1]);
    all.wants_extras = true;
    world.add(all);
    world.run();
    assert_eq!((&world.disk.completed[..], world.host.failed.len()), (&[(1, true)][..], 0));
    assert_eq!(world.host.lost.len(), 50);
}

#[test]
fn what_is_deleted_is_ordered_once_and_the_job_fails() {
    let mut world = world(HealthAction::Delete);
    world.rule(half_of_the_first);
    world.add(job(1, &[1000]));
    world.add(job(2, &[50]));
    world.run();
    assert_eq!(
        (&world.host.deleted[..], &world.host.failed[..]),
        (&[1][..], &[(1, health(849, 850))][..])
    );
    assert_eq!(world.disk.completed, [(2, true)]);
    assert!(world.servers.fetches.len() < 400);
    assert_eq!(world.engine.reserved().0, 0);
}

#[test]
fn a_job_that_is_paused_waits_and_goes_on_to_its_end_when_it_is_resumed() {
    let mut world = world(HealthAction::Pause);
    world.rule(half_of_the_first);
    world.add(job(1, &[1000]));
    world.add(job(2, &[50]));
    world.run_for(3600);
    assert_eq!((world.disk.completed.len(), world.host.failed.len()), (1, 0), "the other goes on");
    assert_eq!(world.host.beyond, [(1, 849, 850)]);
    assert!(world.engine.jobs().next().is_some_and(|job| job.is_paused()));
    assert!(world.servers.fetches.len() < 400);
    assert_eq!(world.engine.reserved().0, 0, "what was under way has ended");
    world.resume(1);
    world.run();
    assert_eq!(world.host.failed, [(1, Failure::Incomplete)]);
    assert_eq!(
        (world.host.beyond.len(), world.host.lost.len()),
        (1, 500),
        "it is not held up again"
    );
}

#[test]
fn without_an_action_it_is_told_and_the_job_goes_on_to_its_end() {
    let mut world = world(HealthAction::None);
    world.rule(half_of_the_first);
    world.add(job(1, &[1000]));
    world.run();
    assert_eq!(world.host.failed, [(1, Failure::Incomplete)]);
    assert_eq!((world.host.beyond.len(), world.servers.fetches.len()), (1, 1000));
}

#[test]
fn what_nobody_keeps_any_more_fails_at_once() {
    let mut world = World::with_settings(vec![server(1).retention(10)], Settings::default());
    world.add(job(1, &[1000]).posted_days_ago(100));
    world.add(job(2, &[5]));
    world.run();
    assert_eq!((world.host.failed.len(), world.host.lost.len()), (1, 151));
    assert_eq!(world.disk.completed, [(2, true)]);
}

#[test]
fn a_paused_job_keeps_its_troubled_articles_until_it_is_resumed() {
    let mut world = world_of(2, HealthAction::Park);
    world.rule(|ask| match (ask.server, ask.job) {
        (1, 1) => Reply::Missing,
        _ => Reply::Good,
    });
    world.refuse(2, bergamot_engine::Trouble::Unreachable);
    world.add(job(1, &[20]));
    world.run_for(5);
    assert_eq!(world.servers.fetches.len(), 20, "they wait for the second server");
    world.pause(1);
    world.accept(2);
    world.add(job(2, &[5]));
    world.run_for(3600);
    assert_eq!((&world.disk.completed[..], world.asked_of(2).len()), (&[(2, true)][..], 0));
    world.resume(1);
    world.run();
    assert_eq!((world.disk.completed.len(), world.asked_of(2).len()), (2, 20));
}

#[test]
fn pausing_and_resuming_at_any_moment_loses_nothing() {
    for steps in 0..60 {
        let mut world = world_of(2, HealthAction::Park);
        world.rule(|ask| match (ask.server, ask.segment % 3) {
            (1, 0) => Reply::Missing,
            (1, 1) => Reply::Damaged,
            _ => Reply::Good,
        });
        world.add(job(1, &[12]));
        world.add(job(2, &[12]));
        world.run_steps(steps);
        world.pause(1);
        world.run_for(100);
        assert_eq!(world.engine.reserved().0, 0, "after {steps}");
        world.resume(1);
        world.run();
        assert_eq!((world.disk.completed.len(), world.host.failed.len()), (2, 0), "after {steps}");
    }
}

#[test]
fn a_job_that_comes_back_is_found_beyond_repair_again() {
    let mut world = world(HealthAction::Pause);
    world.rule(half_of_the_first);
    for times in 1..=2 {
        world.add(job(1, &[100]));
        world.run_for(3600);
        assert_eq!(world.host.beyond.len(), times);
        world.happens(Event::JobRemoved(JobId(1)));
        world.run_for(1);
    }
}
