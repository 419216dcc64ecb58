//! The last articles of a job, and who asks for them twice.

use bergamot_engine::{DiskTrouble, Event, ServerSettings, Settings};
use bergamot_limit::{Allowance, Period, QuotaSettings};
use bergamot_testkit::fixtures::manual::{ARTICLE, World, server};
use bergamot_types::{ByteCount, ByteRate, JobId, ServerId};

fn two() -> Vec<ServerSettings> {
    vec![server(1, 1), server(2, 1)]
}

/// Two servers bring an article every 100 ms each, until one is left: `late` has been asked for it,
/// and `idle` has nothing to do.
struct Race {
    world: World,
    late: usize,
    idle: usize,
    last: u32,
}

fn race_of(servers: Vec<ServerSettings>, change: impl FnOnce(&mut Settings)) -> Race {
    race_after(50, servers, change)
}

/// So many rounds come before the last article.
fn race_after(
    rounds: u32,
    servers: Vec<ServerSettings>,
    change: impl FnOnce(&mut Settings),
) -> Race {
    let mut world = World::with(servers, change);
    world.add(1, 2 * rounds + 1);
    world.rounds(rounds as usize, 100);
    let late = usize::from(world.line(0).is_empty());
    let last = world.line(late)[0];
    assert_eq!((world.line(late).len(), world.line(1 - late).len()), (1, 0));
    Race { world, late, idle: 1 - late, last }
}

fn race() -> Race {
    race_of(two(), |_| {})
}

/// Both have been asked for the last one.
fn doubled() -> Race {
    let mut race = race();
    race.world.wait(1_300);
    assert_eq!(race.world.servers.hedges, [(race.idle, race.last)]);
    race
}

#[test]
fn who_has_nothing_to_do_asks_for_what_is_much_too_late() {
    let Race { mut world, idle, last, .. } = race();
    // Usual are 100 ms. Late is twice that and 250 ms, at the rate of the line as it is now: with
    // 250 ms of grace that is after 1125 ms.
    world.wait(1_100);
    assert_eq!(world.servers.hedges, []);
    world.wait(50);
    assert_eq!((&world.servers.hedges[..], world.line(idle)), (&[(idle, last)][..], vec![last]));
}

#[test]
fn who_waits_before_a_first_byte_has_less_to_win() {
    let mut world = World::of(two());
    world.add(1, 101);
    for _ in 0..50 {
        world.sleep(50);
        (0..2).for_each(|connection| world.progress(connection, 0));
        world.sleep(50);
        for connection in 0..2 {
            world.comes(connection);
            world.writes_all();
        }
    }
    let under_way: Vec<u32> = (0..2).flat_map(|connection| world.line(connection)).collect();
    assert_eq!(under_way, [100]);
    // 150 ms with the first byte: late is after 550 ms at the present rate, with 350 ms of grace.
    world.wait(1_900);
    assert_eq!(world.servers.hedges, []);
    world.wait(100);
    assert_eq!(world.servers.hedges.len(), 1);
}

#[test]
fn a_line_that_falls_silent_is_looked_at_every_quarter_of_a_second() {
    let Race { world, .. } = race();
    assert_eq!(world.wakes_in().map(|time| time.as_millis()), Some(250));
}

#[test]
fn without_anything_late_nobody_is_woken() {
    let Race { mut world, late, .. } = race();
    world.comes(late);
    world.writes_all();
    assert!(world.wakes_in().is_some_and(|time| time.as_secs() > 20), "{:?}", world.wakes_in());
}

#[test]
fn what_comes_steadily_is_left_alone() {
    let Race { mut world, late, .. } = race();
    world.wait(50);
    world.progress(late, u64::from(ARTICLE) - 10);
    world.wait(1_200);
    assert_eq!(world.servers.hedges, [], "ten bytes are due");
}

#[test]
fn what_was_asked_for_twice_is_not_asked_for_a_third_time() {
    let servers = vec![server(1, 1), server(2, 1), server(3, 1)];
    let mut world = World::of(servers);
    world.add(1, 151);
    world.rounds(50, 100);
    let late = (0..3).find(|connection| !world.line(*connection).is_empty());
    assert_eq!(world.line(late.expect("one is left")), [150]);
    for _ in 0..40 {
        world.wait(250);
    }
    assert_eq!(world.servers.hedges.len(), 1);
}

#[test]
fn of_fifty_bytes_one_may_be_asked_for_twice() {
    let Race { mut world, .. } = race_after(24, two(), |_| {});
    world.wait(10_000);
    assert_eq!(world.servers.hedges, [], "48 have come");
    let Race { mut world, .. } = race_after(25, two(), |_| {});
    world.wait(10_000);
    assert_eq!(world.servers.hedges.len(), 1, "50 have come");
}

#[test]
fn what_was_asked_for_twice_is_spent() {
    let Race { mut world, late, idle, .. } = race_after(25, two(), |_| {});
    world.wait(1_300);
    world.comes(idle);
    world.writes_all();
    world.comes(late);
    world.names(Ok(()));
    world.processes(Ok(()));
    assert_eq!(world.servers.hedges.len(), 1);
    world.add(2, 21);
    world.rounds(10, 100);
    world.wait(10_000);
    assert_eq!(world.servers.hedges.len(), 1, "71 have come");
}

fn block(most: u64) -> QuotaSettings {
    let allowance = Allowance { period: Period::Ever, most: ByteCount(most) };
    QuotaSettings { allowances: vec![allowance], ..QuotaSettings::default() }
}

#[test]
fn a_server_whose_bytes_are_counted_asks_for_nothing_twice() {
    let quota = block(1 << 40);
    for counted in [1, 2] {
        let Race { mut world, idle, .. } = race_of(two(), |settings| {
            settings.server_quotas.insert(ServerId(counted), quota.clone());
        });
        world.wait(5_000);
        let hedges = usize::from(idle != world.at(counted));
        assert_eq!(world.servers.hedges.len(), hedges, "{counted} is counted");
    }
    let Race { mut world, .. } = race_of(two(), |settings| settings.quota = quota);
    world.wait(5_000);
    assert_eq!(world.servers.hedges, [], "all are counted");
}

#[test]
fn under_a_rate_for_all_nothing_is_asked_for_twice() {
    let Race { mut world, .. } =
        race_of(two(), |settings| settings.rates.rate = ByteRate(100_000_000));
    world.wait(5_000);
    assert_eq!(world.servers.hedges, []);
}

#[test]
fn a_higher_level_is_not_asked_for_what_a_lower_one_is_late_with() {
    let servers = vec![server(1, 1), ServerSettings { level: 1, ..server(2, 1) }];
    let mut world = World::of(servers);
    world.add(1, 102);
    for _ in 0..51 {
        world.wait(100);
        world.misses(0);
        world.greet();
        world.wait(100);
        world.comes(0);
        world.comes(1);
        world.writes_all();
        if world.line(0) == [101] {
            break;
        }
    }
    assert_eq!(world.line(1), []);
    world.wait(5_000);
    assert_eq!(world.servers.hedges, []);
}

#[test]
fn nothing_of_a_job_that_is_paused_is_asked_for_twice() {
    let Race { mut world, .. } = race();
    world.tell(Event::JobPaused(JobId(1)));
    world.wait(5_000);
    assert_eq!(world.servers.hedges, []);
    world.tell(Event::JobResumed(JobId(1)));
    assert_eq!(world.servers.hedges.len(), 1);
}

#[test]
fn nothing_is_asked_for_twice_on_a_connection_that_is_not_there_yet() {
    let Race { mut world, idle, .. } = race_of(two(), |_| {});
    world.breaks(idle);
    world.wait(5_000);
    assert_eq!(world.servers.hedges, []);
}

#[test]
fn while_a_front_waits_for_room_nothing_is_asked_for_twice() {
    let Race { mut world, .. } = race_of(two(), |settings| settings.budget.0 = 1_300_000);
    world.wait(5_000);
    assert_eq!(world.servers.hedges, [], "there is no room for a second one");
}

#[test]
fn the_copy_that_comes_second_is_dropped_while_the_first_is_being_written() {
    let Race { mut world, late, idle, last } = doubled();
    world.comes(idle);
    world.comes(late);
    assert_eq!(
        (&world.servers.discarded[..], world.disk.written.last()),
        (&[last][..], Some(&last))
    );
    assert_eq!(world.disk.written.len(), 101, "each is written once");
    world.writes_all();
    world.names(Ok(()));
    assert_eq!((&world.disk.processing[..], world.reserved()), (&[1][..], 0));
}

#[test]
fn the_copy_that_comes_second_is_dropped_after_the_first_was_written() {
    let Race { mut world, late, idle, last } = doubled();
    world.comes(late);
    world.writes_all();
    world.comes(idle);
    assert_eq!((&world.servers.discarded[..], world.disk.written.len()), (&[last][..], 101));
    assert_eq!(world.reserved(), 0);
}

#[test]
fn if_one_of_two_copies_is_missing_the_other_is_waited_for() {
    let Race { mut world, late, idle, .. } = doubled();
    world.misses(late);
    assert_eq!(world.line(late), [], "nobody is asked as long as the other may come");
    world.comes(idle);
    world.writes_all();
    assert_eq!((world.disk.finishing.len(), world.disk.written.len()), (1, 101));
}

#[test]
fn if_both_copies_are_missing_the_article_is_lost_once() {
    let Race { mut world, late, idle, .. } = doubled();
    world.misses(late);
    world.misses(idle);
    assert_eq!((world.line(late), world.line(idle)), (vec![], vec![]));
    let lost = world.host.told.iter().filter(|it| format!("{it:?}").starts_with("ArticleLost"));
    assert_eq!(lost.count(), 1);
    assert_eq!(world.reserved(), 0);
}

#[test]
fn if_both_copies_are_damaged_both_are_asked_once_more() {
    let Race { mut world, late, idle, last } = doubled();
    world.comes_damaged(late);
    assert_eq!(world.line(late), []);
    world.comes_damaged(idle);
    world.writes_all();
    let again = if world.line(late).is_empty() { idle } else { late };
    assert_eq!((world.line(again), world.line(1 - again)), (vec![last], vec![]));
    world.comes(again);
    world.writes_all();
    assert_eq!((world.disk.finishing.len(), world.reserved()), (1, 0));
}

#[test]
fn if_the_first_copy_cannot_be_written_the_second_is() {
    let Race { mut world, late, idle, last } = doubled();
    world.comes(idle);
    world.writes(Err(DiskTrouble::Transient));
    assert_eq!((world.line(late), world.line(idle)), (vec![last], vec![]));
    world.comes(late);
    assert_eq!((&world.servers.discarded[..], world.disk.written.len()), (&[][..], 102));
    world.wait(5_000);
    world.writes_all();
    assert_eq!((world.disk.finishing.len(), world.reserved()), (1, 0));
}

#[test]
fn what_was_asked_for_twice_may_be_asked_for_twice_again_once_one_copy_is_gone() {
    let Race { mut world, late, idle, last } = doubled();
    world.refuses(idle);
    world.wait(1_000);
    assert_eq!((world.line(late), world.line(idle)), (vec![last], vec![last]));
    assert_eq!(world.servers.hedges.len(), 2, "of a hundred, two may");
    world.refuses(idle);
    world.wait(1_000);
    assert_eq!(world.servers.hedges.len(), 2, "and no more");
}

#[test]
fn the_latest_is_asked_for_first() {
    let servers = vec![server(1, 1), server(2, 1), server(3, 1)];
    let mut world = World::of(servers);
    world.add(1, 152);
    world.rounds(50, 100);
    let busy: Vec<_> = (0..3).filter(|connection| !world.line(*connection).is_empty()).collect();
    let [first, second] = busy[..] else { panic!("{busy:?}") };
    // Something has come of the first one, so the second is later.
    world.sleep(1_000);
    world.progress(first, 100_000);
    let expected = world.line(second)[0];
    world.wait(1_000);
    assert_eq!(world.servers.hedges.first().map(|hedge| hedge.1), Some(expected));
}

/// One server brings an article every 100 ms, the other every second, and job 1 is almost done.
fn fast_and_slow(articles: u32, change: impl FnOnce(&mut Settings)) -> World {
    let mut world = World::with(two(), change);
    world.add(1, articles);
    let mut since = 0;
    while world.line(0).len() + world.line(1).len() == 2 {
        world.wait(100);
        since += 1;
        let (fast, slow) = (world.at(1), world.at(2));
        world.comes(fast);
        world.writes_all();
        if since % 10 == 0 && !world.line(slow).is_empty() {
            world.comes(slow);
            world.writes_all();
        }
    }
    world
}

#[test]
fn a_slow_connection_leaves_the_last_articles_to_a_fast_one() {
    let mut world = fast_and_slow(40, |_| {});
    let (fast, slow) = (world.at(1), world.at(2));
    assert_eq!(world.line(slow), [], "it has nothing to do");
    let left = 40 - world.disk.written.len();
    assert!((3..=12).contains(&left), "{left}: as many as come in the time of one");
    while world.disk.written.len() < 38 {
        world.rounds(1, 100);
    }
    world.add(2, 2);
    assert_eq!(world.jobs_in_line(slow), [], "nor of a job that would be done sooner");
    world.add(3, 40);
    assert_eq!(world.jobs_in_line(slow), [(3, 0)], "but of the next");
    assert_eq!(world.jobs_in_line(fast)[0].0, 1);
}

#[test]
fn nothing_is_left_to_a_fast_server_that_has_no_more_to_give() {
    let most = 34 * u64::from(ARTICLE);
    let mut world = fast_and_slow(40, |settings| {
        settings.server_quotas.insert(ServerId(1), block(most));
    });
    let (fast, slow) = (world.at(1), world.at(2));
    while world.used(Some(1)) < Some(most - u64::from(ARTICLE)) {
        assert_eq!(world.line(slow), [], "it would be later");
        world.rounds(1, 100);
    }
    assert_eq!(world.line(fast).len(), 1, "the last one");
    assert_eq!(world.line(slow).len(), 1, "for nobody knows how long the other takes");
}

#[test]
fn a_slow_server_that_was_left_alone_is_looked_at_again_after_ten_seconds() {
    let mut world = fast_and_slow(500, |_| {});
    let slow = world.at(2);
    assert_eq!(world.line(slow), []);
    while !world.line(world.at(1)).is_empty() {
        world.rounds(1, 100);
    }
    for second in 0..12 {
        world.add(2 + second, 3);
        if !world.line(slow).is_empty() {
            assert!((7..=10).contains(&second), "after {second} s");
            return;
        }
        world.rounds(10, 100);
    }
    panic!("nobody looked");
}

#[test]
fn of_a_server_that_nobody_knows_little_is_asked_while_there_are_others() {
    let mut world = World::of(vec![server(1, 8), server(2, 8)]);
    world.add(1, 100);
    assert_eq!((world.asked_of(1), world.asked_of(2)), (2, 2), "a fiftieth of what is left");
    world.wait(100);
    world.comes(0);
    assert_eq!((world.asked_of(1), world.asked_of(2)), (8, 2), "now one is known");
}

#[test]
fn a_stranger_is_asked_for_what_the_others_do_not_keep() {
    let mut world =
        World::of(vec![ServerSettings { retention: 100, ..server(1, 8) }, server(2, 8)]);
    world.announce(1, &[ARTICLE; 100]);
    world.announce_posted(2, &[ARTICLE; 20], Some(200));
    world.greet();
    assert_eq!((world.asked_of(1), world.asked_of(2)), (3, 8));
    let lines = (0..world.connections()).flat_map(|connection| world.jobs_in_line(connection));
    assert_eq!(lines.filter(|(job, _)| *job == 2).count(), 5);
}

#[test]
fn a_stranger_is_asked_for_what_the_others_do_not_have() {
    let mut world = World::of(vec![server(1, 1), server(2, 8)]);
    world.add(1, 5);
    let known = world.at(1);
    assert_eq!((world.asked_of(1), world.asked_of(2)), (1, 1), "nobody knows either");
    world.wait(100);
    world.comes(known);
    for asked in 2..=4 {
        world.misses(known);
        assert_eq!(world.asked_of(2), asked, "and its first line is silent");
    }
}

#[test]
fn a_server_alone_is_no_stranger() {
    let mut world = World::of(vec![server(1, 8)]);
    world.add(1, 100);
    assert!((0..8).all(|connection| world.line(connection).len() == 1));
}

#[test]
fn a_second_copy_is_nobodys_once_the_disk_has_lost_its_file() {
    let Race { mut world, late, idle, last } = doubled();
    world.comes(idle);
    world.writes_all();
    world.names(Err(DiskTrouble::Unsynced));
    world.wait(5_000);
    world.comes(late);
    assert_eq!((&world.servers.discarded[..], world.disk.written.len()), (&[last][..], 101));
    assert_eq!(world.asked_of(1) + world.asked_of(2), 1, "the file is fetched anew");
}

#[test]
fn a_third_server_is_not_asked_as_long_as_one_of_two_copies_may_come() {
    let mut world = World::of(vec![server(1, 1), server(2, 1), server(3, 1)]);
    world.add(1, 52);
    world.rounds(17, 100);
    let late = (0..3).find(|connection| !world.line(*connection).is_empty());
    let late = late.expect("one is left");
    world.wait(1_300);
    let [(second, last)] = world.servers.hedges[..] else { panic!("{:?}", world.servers.hedges) };
    world.misses(late);
    assert_eq!((world.asked_of(1) + world.asked_of(2) + world.asked_of(3), last), (1, 51));
    world.misses(second);
    assert_eq!(world.line(3 - late - second), [last], "now it is");
}

#[test]
fn a_lost_file_does_not_make_one_write_the_articles_of_another_twice() {
    let Race { mut world, late, idle, last } = race();
    world.add(2, 1);
    world.comes(idle);
    world.writes_all();
    world.wait(1_300);
    assert_eq!(world.servers.hedges, [(idle, last)]);
    world.names(Err(DiskTrouble::Unsynced));
    world.comes(idle);
    world.comes(late);
    assert_eq!((&world.servers.discarded[..], world.disk.written.len()), (&[last][..], 102));
}

#[test]
fn a_server_alone_asks_for_what_is_late_on_another_of_its_connections() {
    let Race { mut world, idle, last, .. } = race_of(vec![server(1, 2)], |_| {});
    world.wait(1_300);
    assert_eq!(world.servers.hedges, [(idle, last)]);
}

/// A connection to the first server broke on an article and the other one is busy, so that article
/// waits, while the second server has nothing to do: whether it takes the article over.
fn is_taken_over(change: impl FnOnce(&mut Settings)) -> bool {
    let mut world = World::with(vec![server(1, 2), server(2, 1)], change);
    world.add(9, 12);
    world.rounds(8, 100);
    world.add(1, 3);
    let (first, idle) = (world.at(1), world.at(2));
    let broken = world.line(first);
    world.comes(idle);
    world.breaks(first);
    world.wait(250);
    assert_eq!(world.servers.hedges, []);
    world.line(idle) == broken
}

#[test]
fn who_has_nothing_to_do_takes_over_what_another_server_has_no_time_for() {
    assert!(is_taken_over(|_| {}));
    let allowances = vec![Allowance { period: Period::Ever, most: ByteCount(1 << 40) }];
    let quota = QuotaSettings { allowances, ..QuotaSettings::default() };
    let counts = |settings: &mut Settings| _ = settings.server_quotas.insert(ServerId(2), quota);
    assert!(!is_taken_over(counts), "nothing is asked of it without need");
}

#[test]
fn a_slow_connection_counts_what_the_fast_one_has_to_do_before() {
    for (rest, asked) in [(2_700_000, vec![]), (2_950_000, vec![1])] {
        let mut world = World::with(two(), |settings| settings.pipeline = 1);
        world.add(9, 100);
        let (fast, slow) = (world.at(1), world.at(2));
        for step in 1..=30 {
            world.sleep(100);
            if step == 30 {
                world.remove(9);
            }
            world.comes(fast);
            if step % 10 == 0 {
                world.comes(slow);
            }
            world.writes_all();
        }
        // The slow one would bring 700 kB in a second, the fast one all of it and those in
        // 986 ms, or in 1021 ms.
        world.add_sizes(1, &[2_800_000, 700_000, rest]);
        world.wait(1);
        assert_eq!((world.line(fast), world.line(slow)), (vec![0], asked));
    }
}

#[test]
fn a_slow_connection_whose_bytes_are_counted_leaves_a_retry_to_a_fast_one() {
    let levels = [(1, 0), (2, 1), (3, 1)];
    let servers = levels.map(|(id, level)| ServerSettings { level, ..server(id, 1) });
    let mut world = World::with(servers.to_vec(), |settings| {
        let allowances = vec![Allowance { period: Period::Ever, most: ByteCount(1 << 40) }];
        let quota = QuotaSettings { allowances, ..QuotaSettings::default() };
        settings.server_quotas.insert(ServerId(3), quota);
        settings.pipeline = 1;
    });
    world.add(1, 20);
    while !world.line(0).is_empty() {
        world.misses(0);
    }
    world.greet();
    let (fast, slow) = (world.at(2), world.at(3));
    for _ in 0..10 {
        world.sleep(100);
        world.comes(fast);
        world.writes_all();
    }
    world.comes(slow);
    assert_eq!((world.line(fast).len(), world.line(slow).len()), (1, 0));
}
