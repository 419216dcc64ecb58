//! Servers that go and come back.

use bergamot_engine::{Failure, HealthAction, Settings, Trouble};
use bergamot_limit::{Allowance, Period, QuotaSettings};
use bergamot_testkit::fixtures::rules::{Reply, World, job, server};
use bergamot_types::ByteCount;

#[test]
fn where_every_server_is_optional_and_in_trouble_jobs_wait() {
    for trouble in [Trouble::Unreachable, Trouble::Login] {
        let mut world = World::of(vec![server(1).optional(), server(2).level(1).optional()]);
        world.refuse(1, trouble);
        world.refuse(2, trouble);
        world.add(job(1, &[20]));
        world.run_for(3600);
        assert_eq!(
            (world.disk.completed.len(), world.host.failed.len(), world.host.lost.len()),
            (0, 0, 0)
        );
        world.accept(2);
        world.run();
        assert_eq!(world.disk.completed, [(1, true)], "{trouble:?}");
    }
}

#[test]
fn a_server_that_is_back_is_used_again_within_seconds() {
    let mut world = World::of(vec![server(1).connections(8)]);
    world.refuse(1, Trouble::Unreachable);
    world.add(job(1, &[50]));
    world.run_for(24 * 3600);
    assert_eq!(world.disk.completed.len(), 0);
    world.accept(1);
    world.run_for(11);
    assert_eq!(world.disk.completed, [(1, true)]);
}

#[test]
fn hundreds_of_connections_that_broke_together_do_not_come_back_together() {
    let mut world = World::of(vec![server(1).connections(200)]);
    let mut answered = 0;
    world.rule(move |_| {
        answered += 1;
        if (1000..1200).contains(&answered) { Reply::Break } else { Reply::Good }
    });
    world.add(job(1, &[3000]));
    world.run();
    assert_eq!(world.disk.completed, [(1, true)]);
    assert!(world.servers.peak_connections[&1] > 100, "{:?}", world.servers.peak_connections);
    assert!(
        world.servers.most_at_once <= 128,
        "{} were dialled at once",
        world.servers.most_at_once
    );
}

#[test]
fn the_first_connections_are_few_until_one_has_come_to_be() {
    let mut world = World::of(vec![server(1).connections(100)]);
    world.refuse(1, Trouble::Login);
    world.add(job(1, &[1000]));
    world.run_for(5);
    assert!(world.servers.most_at_once <= 8, "a wrong password is not sent a hundred times");
}

/// How a server fails that greets and does not deliver.
const FAILURES: [Reply; 4] = [Reply::Break, Reply::OutOfStep, Reply::Refused, Reply::Unclear];

#[test]
fn an_outage_behind_the_greeting_fails_no_article_and_no_job() {
    for failure in FAILURES {
        for seconds in [5, 60, 3600] {
            let mut world = World::of(vec![server(1).connections(8)]);
            world.rule(move |_| failure);
            (1..=20).for_each(|id| world.add(job(id, &[10])));
            world.run_for(seconds);
            assert_eq!((world.host.failed.len(), world.host.lost.len()), (0, 0), "{failure:?}");
            world.rule(|_| Reply::Good);
            world.run_for(60);
            assert_eq!(world.disk.completed.len(), 20, "{failure:?} for {seconds} s");
        }
    }
}

#[test]
fn what_all_others_lack_waits_for_a_server_that_is_out_of_order() {
    for failure in FAILURES {
        let mut world = World::of(vec![server(1), server(2).level(1)]);
        world.rule(move |ask| match (ask.server, ask.segment) {
            (1, _) => failure,
            (_, 3) => Reply::Missing,
            _ => Reply::Good,
        });
        world.add(job(1, &[10]));
        world.run_for(3600);
        assert_eq!((world.host.failed.len(), world.host.lost.len()), (0, 0), "{failure:?}");
        let asked_of_level_1 =
            world.servers.fetches.iter().filter(|(server, _)| *server == 2).count();
        assert!((9..=11).contains(&asked_of_level_1), "it is asked for all at once");
        world.rule(|_| Reply::Good);
        world.run();
        assert_eq!(world.disk.completed, [(1, true)], "{failure:?}");
    }
}

#[test]
fn an_article_on_which_a_server_fails_is_charged_though_it_is_the_last_one() {
    for failure in FAILURES {
        let mut world = World::of(vec![server(1)]);
        world.rule(move |ask| if ask.segment == 9 { failure } else { Reply::Good });
        world.add(job(1, &[10]));
        world.run();
        assert_eq!(world.host.failed, [(1, Failure::Incomplete)], "{failure:?}");
        assert_eq!(world.host.lost.len(), 1);
    }
}

#[test]
fn a_job_that_fails_by_an_outage_of_an_optional_server_says_so() {
    let mut world = World::of(vec![server(1), server(2).level(1).optional()]);
    world.rule(|ask| match (ask.server, ask.segment) {
        (1, 0..5) => Reply::Missing,
        (2, _) => Reply::Refused,
        _ => Reply::Good,
    });
    world.add(job(1, &[10]));
    world.run();
    assert_eq!(world.host.failed, [(1, Failure::ServersDown)]);
}

#[test]
fn a_server_between_two_levels_that_delivers_again_is_found_out_and_spares_the_highest() {
    let mut world = World::of(vec![server(1), server(2).level(1), server(3).level(2)]);
    let mut failures = 0;
    world.rule(move |ask| match (ask.server, ask.segment % 2) {
        (1, 0) => Reply::Missing,
        (2, _) if failures < 5 => {
            failures += 1;
            Reply::Refused
        }
        _ => Reply::Good,
    });
    // Downloads take no time here; time passes while a job waits.
    world.add(job(99, &[1]));
    world.pause(99);
    for id in 1..=20 {
        world.add(job(id, &[100]));
        world.run_for(10);
    }
    assert_eq!(world.disk.completed.len(), 20);
    let asked_of = |server| world.servers.fetches.iter().filter(|(it, _)| *it == server).count();
    let (middle, highest) = (asked_of(2), asked_of(3));
    assert!(middle > 4 * highest, "{middle} asked of the middle level, {highest} of the highest");
}

#[test]
fn with_a_quota_an_article_on_which_a_server_fails_does_not_keep_the_job_for_ever() {
    let monthly = Allowance { period: Period::Month { first: 1 }, most: ByteCount(1 << 40) };
    let quota = QuotaSettings { allowances: vec![monthly], ..QuotaSettings::default() };
    for failure in FAILURES {
        let health_action = HealthAction::None;
        let settings = Settings { quota: quota.clone(), health_action, ..Settings::default() };
        let mut world = World::with_settings(vec![server(1)], settings);
        world.rule(move |ask| if ask.segment == 9 { failure } else { Reply::Good });
        world.add(job(1, &[10]));
        world.run_for(3600);
        assert_eq!(world.host.failed, [(1, Failure::Incomplete)], "{failure:?}");
    }
}
