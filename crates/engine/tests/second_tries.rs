//! Articles that did not come as they should, and how they are asked for again.

use bergamot_engine::{Event, Fault, Notice, ServerSettings, Trouble};
use bergamot_queue::FileKey;
use bergamot_testkit::fixtures::manual::{ARTICLE, World, server};
use bergamot_types::{JobId, MessageIdList};

const LARGEST: u64 = 32 << 20;

fn world(articles: u32) -> World {
    let mut world = World::of(vec![server(1, 1)]);
    world.add(1, articles);
    world
}

/// Why copies were no good, in the order in which they came.
fn refusals(world: &World) -> Vec<&str> {
    let refusals = world.host.told.iter().filter_map(|notice| match notice {
        Notice::ArticleRefused { why, .. } => Some(why.as_str()),
        _ => None,
    });
    refusals.collect()
}

#[test]
fn an_article_that_outgrew_its_room_comes_once_more_with_as_much_as_it_needs() {
    for needed in [u64::from(ARTICLE) + 1, LARGEST] {
        let mut world = world(1);
        world.comes_with(0, Some(Fault::TooLarge { needed }));
        assert_eq!((world.line(0), world.reserved()), (vec![0], needed));
        assert!(refusals(&world).is_empty() && world.servers.discarded == [0]);
        world.comes_with(0, Some(Fault::TooLarge { needed }));
        assert_eq!(refusals(&world), ["it is too large"], "it had what it asked for");
    }
}

#[test]
fn an_article_larger_than_any_is_a_bad_copy() {
    let mut world = world(1);
    world.comes_with(0, Some(Fault::TooLarge { needed: LARGEST + 1 }));
    assert_eq!(refusals(&world), ["it is too large"]);
    assert_eq!(world.line(0), [0], "the way here may have spoiled it");
    world.comes_with(0, Some(Fault::TooLarge { needed: LARGEST + 1 }));
    assert_eq!((world.line(0), refusals(&world).len()), (vec![], 2));
}

#[test]
fn of_damaged_copies_the_longest_is_kept() {
    let mut world = World::of(vec![server(1, 1), server(2, 1)]);
    world.add(1, 1);
    let mut kept = Vec::new();
    for length in [500, 500, 600, 550] {
        let asked = [world.at(1), world.at(2)].into_iter().find(|it| !world.line(*it).is_empty());
        let before = world.disk.written.len();
        world.comes_short(asked.expect("one is asked"), length);
        kept.extend((world.disk.written.len() > before).then_some(length));
        world.writes_all();
    }
    assert_eq!((kept, world.servers.discarded.len()), (vec![500, 600], 2));
}

#[test]
fn each_time_it_breaks_it_is_left_alone_for_twice_as_long() {
    let mut world = world(1);
    for millis in [250, 500] {
        world.refuses(0);
        assert_eq!(wakes_in(&world), millis);
        world.wait(millis as u64);
        assert_eq!(world.line(0), [0]);
    }
    world.refuses(0);
    assert!((750..=1250).contains(&wakes_in(&world)), "the server is out of order, and rests");
}

/// Two connections, and a job of two files of one article each.
fn two_files() -> World {
    let mut world = World::of(vec![server(1, 2)]);
    world.announce_with(1, &[ARTICLE; 2], |new| {
        let mut second = new.files[0].clone();
        for (file, id) in new.files.iter_mut().chain([&mut second]).zip(["0@1", "1@1"]) {
            file.ids = MessageIdList::new();
            file.ids.push(id).expect("a good id");
            file.numbers.truncate(1);
            file.bytes.truncate(1);
        }
        new.files.push(second);
    });
    world.greet();
    assert_eq!((world.line(0), world.line(1)), (vec![0], vec![1]));
    world
}

#[test]
fn nothing_waits_of_a_file_that_is_dropped() {
    let mut world = two_files();
    world.refuses(0);
    world.sleep(100);
    world.refuses(1);
    assert_eq!((world.status(1).waiting, wakes_in(&world)), (2, 150));
    world.tell(Event::FileDropped(FileKey { job: JobId(1), file: 0 }));
    assert_eq!((world.status(1).waiting, wakes_in(&world)), (1, 250));
    world.wait(250);
    assert_eq!((world.asked_of(1), world.status(1).waiting), (1, 0));
}

#[test]
fn what_was_kept_back_of_other_files_is_not_dropped() {
    let mut world = two_files();
    world.tell(Event::JobPaused(JobId(1)));
    world.comes_damaged(0);
    world.comes_damaged(1);
    world.tell(Event::FileDropped(FileKey { job: JobId(1), file: 0 }));
    world.tell(Event::JobResumed(JobId(1)));
    assert_eq!([world.line(0), world.line(1)].concat(), [1]);
}

#[test]
fn nothing_waits_of_a_job_that_is_removed() {
    let mut world = World::of(vec![server(1, 2)]);
    world.add(1, 1);
    world.add(2, 1);
    world.refuses(0);
    world.sleep(100);
    world.refuses(1);
    assert_eq!(wakes_in(&world), 150);
    world.remove(1);
    assert_eq!((world.status(2).waiting, wakes_in(&world)), (1, 250));
}

/// Jobs of one article each, of which the server that has answered has none, and one of a higher
/// level that has not greeted anybody.
fn between_levels(jobs: u32) -> World {
    let servers = vec![server(1, 1), ServerSettings { level: 1, ..server(2, 1) }];
    let mut world = World::of(servers);
    (1..=jobs).for_each(|job| world.announce(job, &[ARTICLE]));
    world.greet_one();
    world
}

#[test]
fn a_pause_keeps_back_what_waits_for_a_server_and_nothing_of_other_jobs() {
    let mut world = between_levels(2);
    world.misses(0);
    world.misses(0);
    world.tell(Event::JobPaused(JobId(1)));
    world.greet();
    assert_eq!(world.jobs_in_line(1), [(2, 0)]);
    world.comes(1);
    assert_eq!(world.jobs_in_line(1), []);
    world.tell(Event::JobResumed(JobId(1)));
    assert_eq!(world.jobs_in_line(1), [(1, 0)]);
}

#[test]
fn what_fails_during_a_pause_is_kept_back() {
    let mut world = between_levels(1);
    world.tell(Event::JobPaused(JobId(1)));
    world.misses(0);
    assert_eq!((world.connections_to(2), world.status(1).waiting), (0, 1));
    world.tell(Event::JobResumed(JobId(1)));
    assert_eq!(world.connections_to(2), 1);
}

fn wakes_in(world: &World) -> u128 {
    world.wakes_in().expect("it wants to be woken").as_millis()
}

#[test]
fn hanging_up_is_held_against_an_article_only_if_nothing_was_answered_before() {
    let mut first = world(1);
    first.ends(0, Trouble::OutOfStep);
    assert_eq!((first.connections(), wakes_in(&first)), (1, 250));
    first.wait(250);
    assert_eq!(first.connections(), 2);
    let mut second = world(2);
    second.comes(0);
    second.ends(0, Trouble::OutOfStep);
    assert_eq!(second.connections(), 2, "it is asked for again at once");
}

#[test]
fn what_waits_for_a_server_until_it_is_too_old_for_it_goes_to_the_next() {
    let levels = [(1, 0), (2, 10), (3, 0)];
    let servers = levels.map(|(id, retention)| ServerSettings {
        level: u32::from(id),
        retention,
        ..server(id, 1)
    });
    let mut world = World::of(servers.to_vec());
    world.announce_posted(1, &[ARTICLE], Some(10));
    world.greet();
    world.misses(0);
    assert_eq!((world.connections_to(2), world.connections_to(3)), (1, 0));
    world.wait(86_400_000);
    assert_eq!(world.connections_to(3), 1);
}

#[test]
fn no_article_is_given_up_for_a_server_that_refuses_everything_without_a_reason() {
    let mut world = world(1);
    for _ in 0..50 {
        world.ends(world.connections() - 1, Trouble::Refused);
        world.wait(11_000);
        world.greet();
    }
    assert_eq!(world.status(1).waiting + world.line(world.connections() - 1).len(), 1);
    assert!(world.host.failed.is_empty());
}

#[test]
fn no_connection_is_opened_for_what_another_server_has_been_asked() {
    let levels = [(1, 0), (2, 1), (3, 1)];
    let servers = levels.map(|(id, level)| ServerSettings { level, ..server(id, 1) });
    let mut world = World::of(servers.to_vec());
    world.add(1, 1);
    world.misses(0);
    world.greet();
    let idle = if world.asked_of(2) > 0 { 3 } else { 2 };
    assert_eq!((world.asked_of(5 - idle), world.asked_of(idle)), (1, 0));
    world.wait(31_000);
    assert_eq!(world.servers.closed, [0, world.at(idle)]);
    world.ends(world.at(idle), Trouble::Closed);
    assert_eq!(world.connections_to(idle), 1);
}
