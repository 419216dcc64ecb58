//! Every article ends in one verdict, and the way there can be read.

use bergamot_engine::Encounter::{Broke, Damaged, Excused, MirrorLacks, Missing, Refused, TooOld};
use bergamot_engine::{Encounter, Trouble, Verdict, Wait};
use bergamot_testkit::fixtures::rules::{ARTICLE, Reply, World, job, server};

fn history(verdict: &Verdict) -> Vec<(u16, Encounter)> {
    match verdict {
        Verdict::Damaged { history, .. }
        | Verdict::Missing { history }
        | Verdict::Waiting { history, .. } => {
            history.iter().map(|(server, encounter)| (server.0, encounter)).collect()
        }
        Verdict::Got { .. } => Vec::new(),
    }
}

#[test]
fn what_nobody_has_is_missing_and_says_where() {
    let servers = vec![
        server(1).group(1),
        server(2).group(1),
        server(3).level(1).optional(),
        server(4).level(2).retention(10),
        server(5).level(3),
        server(6).inactive(),
    ];
    let mut world = World::of(servers);
    world.rule(|ask| if ask.segment == 0 { Reply::Missing } else { Reply::Good });
    world.refuse(3, Trouble::Unreachable);
    world.add(job(1, &[1]).posted_days_ago(100));
    world.run();
    let [verdict] = &world.host.verdicts[..] else { panic!("{:?}", world.host.verdicts) };
    assert!(matches!(verdict, Verdict::Missing { .. }));
    let mirrors = history(verdict)[..2].to_vec();
    assert!(
        mirrors == [(1, Missing), (2, MirrorLacks)] || mirrors == [(1, MirrorLacks), (2, Missing)]
    );
    assert_eq!(
        history(verdict)[2..],
        [(3, Excused(Trouble::Unreachable)), (4, TooOld), (5, Missing)]
    );
}

#[test]
fn what_is_damaged_everywhere_says_how_often_and_whether_a_copy_was_kept() {
    let mut world = World::of(vec![server(1), server(2).level(1), server(3).level(2)]);
    world.rule(|ask| match (ask.segment, ask.server) {
        (1, 1) => Reply::Damaged,
        (1, 2) => Reply::Break,
        (1, 3) => Reply::Missing,
        (2, _) => Reply::Stranger,
        _ => Reply::Good,
    });
    world.add(job(1, &[4]));
    world.run();
    world.host.verdicts.sort_by_key(|verdict| history(verdict).len());
    let first = [(1, Damaged(2)), (2, Broke(4)), (3, Missing)];
    let others = [(1, Damaged(2)), (2, Damaged(2)), (3, Damaged(2))];
    for verdict in &world.host.verdicts {
        let Verdict::Damaged { kept, .. } = verdict else { panic!("{verdict:?}") };
        assert_eq!(history(verdict), if *kept { first } else { others });
    }
    assert_eq!(world.host.verdicts.len(), 2);
    assert_eq!(world.host.counts, [(1, (2, 2)), (2, (0, 2)), (3, (0, 2))].into());
}

#[test]
fn each_article_is_counted_once_for_every_server_that_was_asked() {
    let mut world = World::of(vec![server(1).connections(3), server(2).level(1)]);
    let mut breaks = 0;
    world.rule(move |ask| match (ask.server, ask.segment) {
        (1, 0..10) => Reply::Missing,
        (1, 20) if breaks < 2 => {
            breaks += 1;
            Reply::Break
        }
        _ => Reply::Good,
    });
    world.add(job(1, &[40]));
    world.run();
    assert_eq!(world.disk.completed, [(1, true)]);
    assert_eq!(world.disk.counts, [(1, (30, 10)), (2, (10, 0))].into());
}

#[test]
fn an_open_article_says_what_it_waits_for() {
    let mut world = World::of(vec![server(1), server(2).level(1)]);
    let waits = |world: &World, segment| match world.verdict(1, 0, segment) {
        Some(Verdict::Waiting { servers, why, .. }) => {
            (servers.iter().map(|server| server.0).collect::<Vec<_>>(), why)
        }
        other => panic!("{other:?}"),
    };
    world.refuse(1, Trouble::Unreachable);
    world.add(job(1, &[2]));
    world.run_for(1);
    assert_eq!(waits(&world, 0), (vec![1], Wait::Server(Trouble::Unreachable)));
    world.refuse(2, Trouble::Login);
    world.rule(|_| Reply::Missing);
    world.accept(1);
    world.run_for(30);
    assert_eq!(waits(&world, 0), (vec![2], Wait::Server(Trouble::Login)));
    let verdict = world.verdict(1, 0, 0).expect("it is open");
    assert_eq!(history(&verdict), [(1, Missing), (2, Excused(Trouble::Login))]);
    world.pause(1);
    world.run_for(1);
    assert_eq!(waits(&world, 1), (vec![2], Wait::Job));
    assert_eq!(world.verdict(7, 0, 0), None, "there is no such job");
    world.resume(1);
    world.accept(2);
    world.run();
    assert_eq!(world.verdict(1, 0, 0), None, "it is settled");
}

#[test]
fn without_a_server_there_is_nobody_to_wait_for() {
    let mut world = World::of(vec![server(1).inactive()]);
    world.add(job(1, &[1]));
    world.run_for(1);
    let verdict = world.verdict(1, 0, 0).expect("it is open");
    assert!(
        matches!(&verdict, Verdict::Waiting { servers, why: Wait::Servers, .. } if servers.is_empty())
    );
    assert!(history(&verdict).is_empty());
}

#[test]
fn an_article_that_a_server_cannot_bear_does_not_go_round_for_ever() {
    for connections in [1, 2, 4, 20] {
        let mut world = World::of(vec![server(1).connections(connections), server(2).level(1)]);
        world.rule(|ask| match (ask.server, ask.segment) {
            (1, 30) => Reply::Unclear,
            _ => Reply::Good,
        });
        world.add(job(1, &[60]));
        world.run();
        assert_eq!(world.disk.completed, [(1, true)], "{connections}");
        assert_eq!(world.asked_of(2), [30], "no other is charged with {connections}");
        assert!((3..=14).contains(&world.servers.breaks), "{}", world.servers.breaks);
    }
    let mut world = World::of(vec![server(1).connections(4)]);
    world.rule(|ask| if ask.segment == 3 { Reply::Unclear } else { Reply::Good });
    world.add(job(1, &[60]));
    world.run();
    let [verdict] = &world.host.verdicts[..] else { panic!("{:?}", world.host.verdicts) };
    let told = history(verdict);
    assert_eq!(told[0], (1, Broke(4)));
    assert!(matches!(told[1], (1, Refused(6..))), "{told:?}");
}

#[test]
fn an_article_under_way_waits_for_an_answer_and_then_it_is_there() {
    let mut world = World::of(vec![server(1)]);
    world.add(job(1, &[1]));
    let mut seen = Vec::new();
    for _ in 0..20 {
        world.run_steps(1);
        seen.extend(world.verdict(1, 0, 0).map(|verdict| match verdict {
            Verdict::Waiting { why, .. } => Some(why),
            _ => None,
        }));
    }
    seen.dedup();
    assert_eq!(seen, [Some(Wait::Turn), Some(Wait::Answer), None]);
}

#[test]
fn the_article_of_a_sibling_file_is_asked_of_another_server() {
    for swapped in [0, 5, 9] {
        let mut world = World::of(vec![server(1).connections(4), server(2).level(1)]);
        world.rule(move |ask| match (ask.server, ask.segment) {
            (1, segment) if segment == swapped => Reply::Sibling,
            _ => Reply::Good,
        });
        world.add(job(1, &[10]));
        world.run();
        assert_eq!(world.disk.completed, [(1, true)], "the right copy wins");
        assert_eq!(world.asked_of(2), [swapped]);
    }
}

#[test]
fn an_article_with_another_name_is_accepted_unverified_if_no_server_has_a_better_one() {
    for swapped in [0, 5, 9] {
        let mut world = World::of(vec![server(1), server(2).level(1)]);
        world.rule(move |ask| match ask.segment == swapped {
            true => Reply::Sibling,
            false => Reply::Good,
        });
        world.add(job(1, &[10]));
        world.run();
        assert_eq!(world.disk.completed, [(1, false)]);
    }
}

#[test]
fn a_size_that_is_wrong_in_all_parts_of_one_level_does_not_win() {
    for more in [1, ARTICLE, 4 * ARTICLE] {
        let mut world = World::of(vec![server(1).connections(4), server(2).level(1)]);
        world.rule(move |ask| match ask.server {
            1 => Reply::OtherSize(more),
            _ => Reply::Good,
        });
        world.add(job(1, &[10]));
        world.run();
        assert_eq!(world.disk.completed.len(), 1, "{more} more: {:?}", world.host.failed);
    }
}
