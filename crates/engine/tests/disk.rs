//! What the engine does when the disk does not do what it is told.

use std::time::Duration;

use bergamot_engine::{DiskTrouble, Event, Failure, Hold, Notice, ServerSettings, Trouble};
use bergamot_queue::Cause;
use bergamot_testkit::fixtures::manual::{World, server};
use bergamot_types::JobId;

const PASSING: Result<(), DiskTrouble> = Err(DiskTrouble::Transient);
const LASTING: Result<(), DiskTrouble> = Err(DiskTrouble::Permanent);
const UNSYNCED: Result<(), DiskTrouble> = Err(DiskTrouble::Unsynced);

const PAUSED: Notice = Notice::DiskPaused { again_in: Some(Duration::from_secs(5)) };

/// So many connections, each of which has been asked for an article of job 1.
fn world(connections: usize, articles: u32) -> World {
    let mut world = World::of(vec![server(1, connections)]);
    world.add(1, articles);
    world
}

fn under_way(world: &World) -> usize {
    world.asked_of(1)
}

#[test]
fn a_write_that_fails_pauses_all_for_five_seconds_and_one_article_is_the_trial() {
    let mut world = world(3, 9);
    world.comes(0);
    world.writes(PASSING);
    assert_eq!((&world.host.told[..], under_way(&world)), (&[PAUSED][..], 3));
    (0..3).for_each(|connection| _ = world.comes(connection));
    world.writes(PASSING);
    world.writes_all();
    assert_eq!((&world.host.told[..], under_way(&world)), (&[PAUSED][..], 0), "it proves nothing");
    world.wait(4_999);
    assert_eq!(under_way(&world), 0);
    world.wait(1);
    assert_eq!(under_way(&world), 1);
    let trial = (0..3).find(|line| !world.line(*line).is_empty()).expect("one is asked");
    assert_eq!(world.line(trial), [0], "what was not written comes first");
    world.comes(trial);
    assert_eq!(under_way(&world), 0, "it is not written yet");
    world.writes(Ok(()));
    assert_eq!(world.host.told, [PAUSED, Notice::DiskResumed]);
    assert_eq!(under_way(&world), 3);
}

#[test]
fn a_trial_that_fails_is_another_pause_and_nobody_is_told_again() {
    let mut world = world(1, 3);
    world.comes(0);
    world.writes(PASSING);
    for _ in 0..3 {
        world.wait(5_000);
        world.comes(0);
        world.writes(PASSING);
        assert_eq!(under_way(&world), 0);
        assert_eq!(world.wakes_in(), Some(Duration::from_secs(5)));
    }
    assert_eq!(world.host.told, [PAUSED]);
}

#[test]
fn a_disk_that_works_again_may_fail_again() {
    let mut world = world(1, 3);
    for _ in 0..2 {
        world.comes(0);
        world.writes(PASSING);
        world.wait(5_000);
        world.comes(0);
        world.writes(Ok(()));
    }
    assert_eq!(world.host.told, [PAUSED, Notice::DiskResumed, PAUSED, Notice::DiskResumed]);
}

#[test]
fn a_full_disk_is_left_alone_until_somebody_says_that_there_is_room() {
    let mut world = world(1, 3);
    for _ in 0..2 {
        world.comes(0); // the second was under way
        world.writes(Err(DiskTrouble::Full));
    }
    world.wait(10_000);
    assert_eq!(under_way(&world), 0);
    assert_eq!(world.engine.hold(), Some(Hold::Disk));
    world.tell(Event::DiskReturned);
    assert_eq!((world.engine.hold(), under_way(&world)), (None, 1), "one is the trial");
    world.comes(0);
    world.writes(Ok(()));
    assert_eq!(world.host.told, [Notice::DiskPaused { again_in: None }, Notice::DiskResumed]);
}

#[test]
fn a_write_that_can_never_succeed_fails_its_job() {
    let mut world = world(1, 3);
    world.comes(0);
    world.writes(LASTING);
    assert_eq!((&world.host.failed[..], world.host.told.len()), (&[(1, Failure::Disk)][..], 0));
}

#[test]
fn a_file_that_gets_no_name_is_tried_again_after_the_pause_and_once() {
    let mut world = world(1, 1);
    world.comes(0);
    world.writes(Ok(()));
    world.names(PASSING);
    assert_eq!(world.host.told, [PAUSED]);
    world.wait(4_999);
    assert_eq!(world.disk.finishing, []);
    world.wait(1);
    assert_eq!(world.disk.finishing.len(), 1);
    world.wait(60_000);
    assert_eq!(world.disk.finishing.len(), 1, "one order at a time");
    world.names(Ok(()));
    assert_eq!(
        (&world.host.told[..], &world.disk.processing[..]),
        (&[PAUSED, Notice::DiskResumed][..], &[1][..])
    );
}

#[test]
fn a_file_with_a_name_is_not_finished_again_after_a_pause() {
    let mut world = world(1, 1);
    world.comes(0);
    world.writes(Ok(()));
    world.add(2, 1);
    world.comes(0);
    world.writes(PASSING);
    assert_eq!(world.disk.finishing.len(), 1, "that of job 1 has not been named yet");
    world.wait(5_000);
    assert_eq!(world.disk.finishing.len(), 1);
    world.names(Ok(()));
    assert_eq!((&world.disk.processing[..], world.disk.finishing.len()), (&[1][..], 0));
}

#[test]
fn a_file_that_can_never_have_its_name_fails_its_job() {
    let mut world = world(1, 1);
    world.comes(0);
    world.writes(Ok(()));
    world.names(LASTING);
    assert_eq!(world.host.failed, [(1, Failure::Disk)]);
}

#[test]
fn a_file_may_be_lost_twice_and_not_three_times() {
    let mut world = world(1, 1);
    for losses in 1..=3 {
        world.comes(0);
        world.writes(Ok(()));
        world.names(UNSYNCED);
        assert_eq!(world.host.failed.len(), usize::from(losses == 3), "lost {losses} times");
        assert_eq!(world.line(0), [], "the disk is left alone");
        world.wait(5_000);
        assert_eq!(world.line(0).len(), usize::from(losses < 3));
    }
    assert_eq!(world.host.failed, [(1, Failure::Disk)]);
    assert_eq!(world.disk.finishing, []);
}

#[test]
fn each_file_has_its_own_losses() {
    let mut world = world(1, 1);
    for job in [1, 2] {
        for _ in 0..2 {
            world.comes(0);
            world.writes(Ok(()));
            world.names(UNSYNCED);
            world.wait(5_000);
        }
        world.comes(0);
        world.writes(Ok(()));
        world.names(Ok(()));
        world.processes(Ok(()));
        world.add(job + 1, 1);
    }
    assert_eq!(world.host.failed, []);
}

#[test]
fn a_job_whose_processing_fails_is_failed_with_its_cause() {
    for cause in [Cause::Disk, Cause::Unpack] {
        let mut world = world(1, 1);
        world.comes(0);
        world.writes(Ok(()));
        world.names(Ok(()));
        world.processes(Err(cause));
        assert_eq!(world.host.failed, [(1, Failure::Processing(cause))]);
    }
}

#[test]
fn a_job_is_kept_while_it_is_processed_and_nothing_waits_for_it() {
    let mut world = world(1, 1);
    world.comes(0);
    world.writes(Ok(()));
    world.names(Ok(()));
    world.add(2, 1);
    world.comes(0);
    world.writes(Ok(()));
    world.names(Ok(()));
    world.wait(90_000);
    assert_eq!((&world.disk.processing[..], world.wakes_in()), (&[1, 2][..], None));
    assert!(world.engine.job(JobId(1)).is_some());
    world.processes(Ok(()));
    world.processes(Ok(()));
    assert!(world.is_done());
}

#[test]
fn a_job_that_is_removed_takes_nothing_of_others_along() {
    let mut world = world(1, 1);
    world.comes(0);
    world.writes(Ok(()));
    world.names(PASSING);
    world.announce(2, &[700_000]);
    world.remove(2);
    world.wait(5_000);
    assert_eq!(world.disk.finishing.len(), 1, "it still gets its name");
    world.names(PASSING);
    world.remove(1);
    world.wait(5_000);
    assert_eq!(world.disk.finishing, [], "and now nobody wants it");
}

/// Job 1 has come and waits for its name, and nothing has come of job 2.
fn two_jobs(servers: Vec<ServerSettings>, articles: u32) -> World {
    let mut world = World::of(servers);
    world.add(1, 1);
    world.comes(0);
    world.writes(Ok(()));
    world.add(2, articles);
    world
}

fn is_fetched(world: &World, job: u32) -> bool {
    world.disk.finishing.iter().any(|file| file.job.0 == job)
}

#[test]
fn a_lost_file_takes_nothing_along_that_others_have_under_way_or_wait_for() {
    let mut world = two_jobs(vec![server(1, 1)], 3);
    world.refuses(0);
    assert_eq!(world.jobs_in_line(0), [(2, 1)]);
    world.names(UNSYNCED);
    world.rounds(20, 1_000);
    assert!(is_fetched(&world, 1) && is_fetched(&world, 2));
    assert_eq!(world.disk.written.len(), 1 + 1 + 3, "only the lost one is written twice");
}

#[test]
fn a_lost_file_takes_nothing_along_that_is_to_be_asked_for_again() {
    let mut world = two_jobs(vec![server(1, 1)], 2);
    world.comes(0);
    world.writes(PASSING);
    world.names(UNSYNCED);
    world.rounds(20, 1_000);
    assert!(is_fetched(&world, 1) && is_fetched(&world, 2));
}

#[test]
fn a_lost_file_takes_nothing_along_that_waits_for_a_server() {
    let servers = vec![server(1, 1), ServerSettings { level: 1, ..server(2, 1) }];
    let mut world = two_jobs(servers, 1);
    world.misses(0);
    world.forget_dialled();
    world.ends(1, Trouble::Unreachable);
    world.names(UNSYNCED);
    world.rounds(2, 5_000);
    world.wait(600_000);
    world.greet();
    assert_eq!(world.jobs_in_line(world.connections() - 1), [(2, 0)]);
}

#[test]
fn the_losses_of_a_file_are_remembered_when_another_job_is_removed() {
    let mut world = two_jobs(vec![server(1, 1)], 1);
    for _ in 0..2 {
        world.names(UNSYNCED);
        world.rounds(3, 5_000);
        world.disk.finishing.retain(|file| file.job.0 == 1);
    }
    world.remove(2);
    world.names(UNSYNCED);
    assert_eq!(world.host.failed, [(1, Failure::Disk)]);
}

#[test]
fn a_file_that_got_no_name_on_a_full_disk_gets_it_when_there_is_room() {
    let mut world = world(1, 1);
    world.comes(0);
    world.writes_all();
    world.names(Err(DiskTrouble::Full));
    world.wait(60_000);
    assert_eq!(world.disk.finishing, []);
    world.tell(Event::DiskReturned);
    world.names(Ok(()));
    assert_eq!(world.disk.processing, [1]);
}

#[test]
fn room_on_the_disk_does_not_end_a_pause_for_another_reason() {
    for troubles in [&[PASSING][..], &[Err(DiskTrouble::Full), PASSING]] {
        let mut world = World::of(vec![server(1, 2)]);
        (1..=troubles.len() as u32).for_each(|job| world.add(job, 1));
        for (connection, _) in troubles.iter().enumerate() {
            world.comes(connection);
        }
        world.writes_all();
        troubles.iter().for_each(|trouble| world.names(*trouble));
        world.tell(Event::DiskReturned);
        assert_eq!(world.disk.finishing, [], "{troubles:?}");
        world.wait(5_000);
        assert_eq!(world.disk.finishing.len(), troubles.len());
    }
}

#[test]
fn a_job_fails_once_and_not_at_all_when_it_is_gone() {
    let mut failing = world(2, 3);
    let mut gone = world(2, 3);
    gone.comes(0);
    gone.remove(1);
    for world in [&mut failing, &mut gone] {
        world.comes(1);
    }
    failing.comes(0);
    failing.writes(LASTING);
    failing.writes(LASTING);
    assert_eq!(failing.host.failed, [(1, Failure::Disk)]);
    gone.writes(LASTING);
    assert_eq!(gone.host.failed, []);
}
