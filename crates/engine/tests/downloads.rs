//! Whole downloads against servers that exist only as rules.

use bergamot_engine::{DiskTrouble, Failure, Trouble};
use bergamot_queue::Cause;
use bergamot_testkit::fixtures::rules::{Reply, World, job, server};

#[test]
fn every_article_is_fetched_once_and_the_job_completes() {
    let mut world = World::of(vec![server(1).connections(3)]);
    world.add(job(1, &[10, 1, 25]));
    world.run();
    assert_eq!(world.disk.completed, [(1, true)]);
    assert_eq!(world.servers.fetches.len(), 36);
    assert_eq!(world.servers.peak_connections[&1], 3);
    assert_eq!(world.engine.reserved().0, 0, "all reservations came back");
}

#[test]
fn few_articles_open_few_connections() {
    let mut world = World::of(vec![server(1).connections(50)]);
    world.add(job(1, &[2]));
    world.run();
    assert!(world.servers.peak_connections[&1] <= 2);
}

#[test]
fn a_higher_level_is_asked_only_for_what_the_lower_ones_do_not_have() {
    let mut world = World::of(vec![server(1), server(2), server(7).level(3)]);
    world.rule(|ask| match ask.server {
        1 | 2 if ask.segment == 4 => Reply::Missing,
        _ => Reply::Good,
    });
    world.add(job(1, &[10]));
    world.run();
    assert_eq!(world.disk.completed, [(1, true)]);
    assert_eq!(world.asked_of(7), [4]);
}

#[test]
fn a_mirror_is_not_asked_for_what_the_other_does_not_have() {
    let mut world = World::of(vec![server(1).group(1), server(2).group(1), server(3).level(1)]);
    world.rule(|ask| if ask.server < 3 { Reply::Missing } else { Reply::Good });
    world.add(job(1, &[20]));
    world.run();
    assert_eq!(world.disk.completed, [(1, true)]);
    assert_eq!(world.asked_of(1).len() + world.asked_of(2).len(), 20);
    assert_eq!(world.asked_of(3).len(), 20);
}

#[test]
fn what_is_too_old_for_a_server_is_not_asked_of_it() {
    let mut world = World::of(vec![server(1).retention(100), server(2).level(1).retention(4000)]);
    world.add(job(1, &[5]).posted_days_ago(200));
    world.add(job(2, &[5]).posted_days_ago(99));
    world.add(job(3, &[5]).posted_days_ago(5000));
    world.run();
    assert_eq!(world.asked_of(2).len(), 5);
    assert_eq!(world.asked_of(1).len(), 5);
    assert_eq!(world.disk.completed, [(1, true), (2, true)]);
    assert_eq!(world.host.failed, [(3, Failure::Incomplete)]);
}

#[test]
fn a_damaged_copy_is_asked_for_once_more_then_elsewhere() {
    let mut world = World::of(vec![server(1), server(2).level(1)]);
    world
        .rule(|ask| if ask.server == 1 && ask.segment == 0 { Reply::Damaged } else { Reply::Good });
    world.add(job(1, &[3]));
    world.run();
    assert_eq!(world.disk.completed, [(1, true)]);
    assert_eq!(world.asked_of(1).iter().filter(|&&segment| segment == 0).count(), 2);
    assert_eq!(world.asked_of(2), [0]);
}

#[test]
fn what_nobody_has_whole_is_lost_and_the_best_copy_kept() {
    let mut world = World::of(vec![server(1), server(2).level(1)]);
    world.rule(|ask| match ask.segment {
        1 => Reply::Missing,
        2 => Reply::Damaged,
        _ => Reply::Good,
    });
    world.add(job(1, &[4]));
    world.run();
    assert_eq!(world.host.failed, [(1, Failure::Incomplete)]);
    world.host.lost.sort();
    assert_eq!(world.host.lost, ["0.1@1", "0.2@1 unusable"]);
    assert_eq!(world.writes_of(2), 1, "one damaged copy lies in its place, the next is no better");
}

#[test]
fn a_connection_that_breaks_gives_back_all_and_blames_one() {
    let mut world = World::of(vec![server(1), server(2).level(1)]);
    world.rule(|ask| if ask.server == 1 && ask.segment == 3 { Reply::Break } else { Reply::Good });
    world.add(job(1, &[8]));
    world.run();
    assert_eq!(world.disk.completed, [(1, true)]);
    assert_eq!(world.asked_of(2), [3], "the level above gets only the one it broke on");
    assert_eq!(world.servers.breaks, 4, "the first try and three retries");
}

#[test]
fn a_server_that_hangs_up_behind_each_article_loses_none() {
    let mut world = World::of(vec![server(1).connections(4)]);
    world.rule(|_| Reply::LastWord);
    world.add(job(1, &[60]));
    world.run();
    assert_eq!(world.disk.completed, [(1, true)]);
    assert_eq!((world.servers.fetches.len(), world.servers.breaks), (60, 60));
}

#[test]
fn a_server_that_hangs_up_behind_the_login_is_not_dialled_without_end() {
    let mut world = World::of(vec![server(1).connections(4)]);
    world.servers.fickle = Some(1);
    world.add(job(1, &[60]));
    world.run_for(600);
    assert!(world.servers.dials < 400, "a few every eight seconds: {}", world.servers.dials);
    world.servers.fickle = None;
    world.run();
    assert_eq!(world.disk.completed, [(1, true)]);
}

#[test]
fn an_article_that_always_costs_the_connection_is_asked_elsewhere_in_the_end() {
    let mut world = World::of(vec![server(1).connections(4), server(2).level(1)]);
    world.rule(|ask| match (ask.server, ask.segment) {
        (1, 30) => Reply::OutOfStep,
        _ => Reply::Good,
    });
    world.add(job(1, &[60]));
    world.run();
    assert_eq!(world.disk.completed, [(1, true)]);
    assert_eq!(world.asked_of(2), [30]);
    assert!((4..=10).contains(&world.servers.breaks), "{}", world.servers.breaks);
}

#[test]
fn nothing_waits_for_a_wrong_password_and_all_waits_for_a_dead_line() {
    let mut world = World::of(vec![server(1), server(2).level(1)]);
    world.refuse(1, Trouble::Login);
    world.add(job(1, &[5]));
    world.run();
    assert_eq!((world.disk.completed.len(), world.asked_of(2).len()), (1, 5));

    let mut world = World::of(vec![server(1), server(2).level(1)]);
    world.refuse(1, Trouble::Unreachable);
    world.add(job(1, &[5]));
    world.run_for(300);
    assert_eq!((world.disk.completed.len(), world.asked_of(2).len()), (0, 0));
    world.accept(1);
    world.run();
    assert_eq!((world.disk.completed.len(), world.asked_of(1).len()), (1, 5));
}

#[test]
fn an_optional_server_holds_nothing_back() {
    let mut world = World::of(vec![server(1).optional(), server(2).level(1)]);
    world.refuse(1, Trouble::Unreachable);
    world.add(job(1, &[5]));
    world.run();
    assert_eq!((world.disk.completed.len(), world.asked_of(2).len()), (1, 5));
}

#[test]
fn a_wrong_password_everywhere_waits_for_a_right_one() {
    let mut world = World::of(vec![server(1)]);
    world.refuse(1, Trouble::Login);
    world.add(job(1, &[5]));
    world.run_for(3600);
    assert_eq!((world.disk.completed.len(), world.host.failed.len()), (0, 0));
    world.accept(1);
    world.run();
    assert_eq!(world.disk.completed, [(1, true)]);
}

#[test]
fn without_a_server_jobs_wait() {
    let mut world = World::of(vec![server(1).inactive()]);
    world.add(job(1, &[5]));
    world.run_for(3600);
    assert_eq!((world.disk.completed.len(), world.host.failed.len()), (0, 0));
}

#[test]
fn too_many_connections_costs_no_article_anything() {
    let mut world = World::of(vec![server(1).connections(10), server(2).level(1)]);
    world.cap(1, 4);
    world.add(job(1, &[200]));
    world.run();
    assert_eq!(world.disk.completed, [(1, true)]);
    assert_eq!(world.asked_of(2).len(), 0);
    assert_eq!(world.servers.fetches.len(), 200);
}

#[test]
fn servers_of_one_account_share_its_connections() {
    let mut world = World::of(vec![
        server(1).connections(3).account(1),
        server(2).connections(5).account(1),
        server(3).connections(4),
    ]);
    world.add(job(1, &[300]));
    world.run();
    assert_eq!(world.disk.completed, [(1, true)]);
    assert_eq!((world.servers.peak_connections[&1], world.servers.peak_connections[&2]), (3, 2));
    assert_eq!(world.servers.peak_connections[&3], 4);
}

#[test]
fn an_article_larger_than_announced_is_asked_for_again_with_room() {
    let mut world = World::of(vec![server(1)]);
    world.rule(|ask| if ask.segment == 1 { Reply::Needs(2 << 20) } else { Reply::Good });
    world.add(job(1, &[3]));
    world.run();
    assert_eq!(world.disk.completed, [(1, true)]);
    assert_eq!(world.servers.fetches.len(), 4);
}

#[test]
fn an_article_beyond_all_bounds_is_no_good() {
    let mut world = World::of(vec![server(1)]);
    world.rule(|ask| if ask.segment == 1 { Reply::Needs(1 << 40) } else { Reply::Good });
    world.add(job(1, &[3]));
    world.run();
    assert_eq!(world.host.failed, [(1, Failure::Incomplete)]);
}

#[test]
fn a_full_disk_pauses_and_nothing_is_lost() {
    let mut world = World::of(vec![server(1).connections(4)]);
    world.disk.trouble = Some(DiskTrouble::Transient);
    world.add(job(1, &[30]));
    world.run_for(60);
    assert!(world.disk.completed.is_empty() && world.host.failed.is_empty());
    assert!(
        world.servers.fetches.len() < 40,
        "one is tried now and then: {}",
        world.servers.fetches.len()
    );
    world.disk.trouble = None;
    world.run();
    assert_eq!(world.disk.completed, [(1, true)]);
}

#[test]
fn a_file_gets_its_name_once_whatever_the_disk_does_meanwhile() {
    let mut world = World::of(vec![server(1).connections(4)]);
    world.disk.slow_finish = true;
    world.add(job(1, &[3, 3]));
    world.run_for(1);
    world.disk.trouble = Some(DiskTrouble::Transient);
    world.add(job(2, &[30]));
    world.run_for(60);
    world.disk.trouble = None;
    world.disk.slow_finish = false;
    world.run();
    assert_eq!(world.disk.completed.len(), 2);
    assert!(world.disk.finishes.values().all(|&orders| orders == 1), "{:?}", world.disk.finishes);
}

#[test]
fn a_file_that_the_disk_has_lost_is_fetched_anew_and_not_for_ever() {
    let mut world = World::of(vec![server(1)]);
    world.disk.names = Some(DiskTrouble::Unsynced);
    world.add(job(1, &[5, 3]));
    world.run_for(4);
    assert_eq!((world.servers.fetches.len(), world.host.failed.len()), (8, 0));
    world.disk.names = None;
    world.run();
    assert_eq!((&world.disk.completed[..], world.servers.fetches.len()), (&[(1, true)][..], 16));

    world.disk.names = Some(DiskTrouble::Unsynced);
    world.add(job(2, &[5]));
    world.run();
    assert_eq!(world.host.failed, [(2, Failure::Disk)]);
}

#[test]
fn a_vanished_directory_fails_its_job_and_no_other() {
    let mut world = World::of(vec![server(1)]);
    world.disk.trouble = Some(DiskTrouble::Permanent);
    world.add(job(1, &[5]));
    world.run();
    assert_eq!(world.host.failed, [(1, Failure::Disk)]);
    world.disk.trouble = None;
    world.add(job(2, &[5]));
    world.run();
    assert_eq!(world.disk.completed, [(2, true)]);
}

#[test]
fn a_file_that_cannot_be_finished_is_tried_again_though_other_writes_succeed() {
    let mut world = World::of(vec![server(1).connections(4)]);
    world.disk.names = Some(DiskTrouble::Transient);
    world.add(job(1, &[2, 300]));
    world.run_for(60);
    assert!(world.disk.completed.is_empty() && world.host.failed.is_empty());
    world.disk.names = None;
    world.run();
    assert_eq!(world.disk.completed, [(1, true)]);
}

#[test]
fn a_job_that_cannot_be_processed_fails_alone() {
    let mut world = World::of(vec![server(1)]);
    world.disk.processing = Some(Cause::Move);
    world.add(job(1, &[5]));
    world.run();
    assert_eq!(world.host.failed, [(1, Failure::Processing(Cause::Move))]);
    world.disk.processing = None;
    world.add(job(2, &[5]));
    world.run();
    assert_eq!(world.disk.completed, [(2, true)]);
}

#[test]
fn the_budget_is_never_exceeded_and_never_stops_everything() {
    for budget in [1, 1 << 20, 3 << 20] {
        let mut world = World::with_budget(vec![server(1).connections(20)], budget);
        world.add(job(1, &[300]));
        world.run();
        assert_eq!(world.disk.completed, [(1, true)]);
        assert!(
            world.host.peak_reserved <= budget.max(bergamot_testkit::fixtures::rules::ARTICLE),
            "{}",
            world.host.peak_reserved
        );
    }
}

#[test]
fn wrong_articles_are_not_written_and_a_liar_in_front_does_not_win() {
    let mut world = World::of(vec![server(1), server(2).level(1)]);
    world.rule(
        |ask| if ask.server == 1 && ask.segment == 0 { Reply::OtherSize(1) } else { Reply::Good },
    );
    world.add(job(1, &[9]));
    world.run();
    assert_eq!(world.disk.completed, [(1, true)]);
}

#[test]
fn another_article_than_was_asked_for_is_not_kept_even_where_there_is_room() {
    let mut world = World::of(vec![server(1)]);
    world.rule(|ask| if ask.segment == 2 { Reply::Stranger } else { Reply::Good });
    world.add(job(1, &[9]));
    world.run();
    assert_eq!(world.host.failed, [(1, Failure::Incomplete)]);
    assert_eq!(world.host.lost, ["0.2@1 unusable"]);
    assert_eq!(world.writes_of(2), 0);
}

#[test]
fn bad_days_end_well_from_any_seed() {
    for seed in 0..1000 {
        let servers = vec![
            server(1).connections(3),
            server(2).connections(2).group(1),
            server(3).level(5).connections(2),
        ];
        let mut world = World::of(servers);
        world.bad_day(seed);
        (1..=4).for_each(|id| world.add(job(id, &[30, 3, 1])));
        world.run();
        assert_eq!(world.disk.completed.len() + world.host.failed.len(), 4, "seed {seed}");
        assert_eq!(world.host.failed, [], "seed {seed}: level 5 has everything");
        assert_eq!(world.engine.reserved().0, 0, "seed {seed}");
    }
}

#[test]
fn two_camps_that_contradict_each_other_do_not_overturn_each_other_for_ever() {
    for segments in [40, 41, 100, 101] {
        for camp in [|n: u32, _: u32| n.is_multiple_of(2), |n, of| n < of / 2, |n, of| n <= of / 2]
        {
            let mut world = World::of(vec![server(1).connections(8)]);
            world.rule(move |ask| match camp(ask.segment, segments) {
                true => Reply::OtherSize(5),
                false => Reply::Good,
            });
            world.add(job(1, &[segments]));
            world.run();
            let fetches = world.servers.fetches.len();
            assert!(fetches < 10 * segments as usize, "{segments}: {fetches}");
        }
    }
}
