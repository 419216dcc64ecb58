//! Whether the articles of a job that waits are there.

use std::time::Duration;

use bergamot_engine::{Census, Event, Sampled, ServerSettings, Trouble};
use bergamot_limit::{Allowance, Period, QuotaSettings};
use bergamot_testkit::fixtures::manual::{World, server};
use bergamot_types::{ByteCount, JobId, MessageId, ServerId};

fn probe(world: &mut World, count: u32) {
    let id = |number| MessageId::parse(&format!("{number}@sample")).expect("a good id");
    let articles = (0..count).map(|number| Sampled { id: id(number), posted: None }).collect();
    world.tell(Event::ProbeWanted { job: JobId(9), articles });
}

fn answer(world: &mut World, present: bool) {
    let (_, ticket, _) = world.servers.stats.pop_front().expect("it was asked");
    world.tell(if present { Event::Present { ticket } } else { Event::Missing { ticket } });
}

fn census(present: u32, missing: u32, unknown: u32) -> Vec<(u32, Census)> {
    vec![(9, Census { present, missing, unknown })]
}

#[test]
fn with_nothing_else_to_do_one_connection_answers_many_at_a_time() {
    let mut world = World::of(vec![server(1, 4)]);
    probe(&mut world, 50);
    world.greet();
    assert_eq!((world.servers.stats.len(), world.servers.stats[31].0), (32, 0));
    for _ in 0..50 {
        answer(&mut world, true);
    }
    assert_eq!(world.host.probed, census(50, 0, 0));
    assert_eq!(world.engine.servers().next().map(|it| it.open), Some(1));
}

#[test]
fn behind_articles_one_is_asked_at_a_time_and_no_connection_is_opened_for_it() {
    let mut world = World::of(vec![server(1, 2)]);
    world.add(1, 9);
    probe(&mut world, 5);
    assert_eq!(world.servers.stats.len(), 2, "one on each");
    answer(&mut world, true);
    assert_eq!(world.servers.stats.len(), 2);
    assert_eq!(world.asked_of(1), 2, "articles are asked for as before");
}

#[test]
fn what_one_server_lacks_the_next_level_is_asked_for() {
    let mut world = World::of(vec![server(1, 1), ServerSettings { level: 1, ..server(2, 1) }]);
    probe(&mut world, 2);
    world.greet();
    answer(&mut world, false);
    answer(&mut world, false);
    world.greet();
    assert_eq!(world.host.probed, []);
    answer(&mut world, true);
    answer(&mut world, false);
    assert_eq!(world.host.probed, census(1, 1, 0));
}

#[test]
fn a_server_that_counts_what_it_gives_is_not_asked() {
    let all = Allowance { period: Period::Ever, most: ByteCount(1 << 40) };
    let block = QuotaSettings { allowances: vec![all], ..QuotaSettings::default() };
    let servers = vec![server(1, 1), ServerSettings { level: 1, ..server(2, 1) }];
    let mut world = World::with(servers, |settings| {
        settings.server_quotas.insert(ServerId(2), block);
    });
    probe(&mut world, 2);
    world.greet();
    answer(&mut world, true);
    answer(&mut world, false);
    assert_eq!(world.host.probed, census(1, 0, 1), "it may have that one");
}

#[test]
fn a_connection_that_breaks_costs_the_answers_of_nobody() {
    let mut world = World::of(vec![server(1, 2)]);
    probe(&mut world, 3);
    world.greet();
    world.servers.stats.clear();
    world.ends(0, Trouble::Broken);
    world.greet();
    assert_eq!(world.servers.stats.len(), 3);
    for _ in 0..3 {
        answer(&mut world, true);
    }
    assert_eq!(world.host.probed, census(3, 0, 0));
}

#[test]
fn a_question_that_is_answered_late_wakes_nobody_and_costs_no_connection() {
    let mut world = World::of(vec![server(1, 1)]);
    probe(&mut world, 1);
    world.greet();
    world.wait(31_000);
    assert_eq!((world.wakes_in(), world.connections()), (None, 1));
    answer(&mut world, true);
    assert_eq!(world.wakes_in(), Some(Duration::from_secs(30)), "from now on it is idle");
    world.wait(30_000);
    assert_eq!(world.engine.servers().next().map(|it| it.working), Some(0));
}

#[test]
fn nothing_is_asked_while_everything_is_paused() {
    let mut world = World::of(vec![server(1, 2)]);
    world.tell(Event::DownloadPaused);
    probe(&mut world, 3);
    world.greet();
    assert_eq!(world.servers.stats.len(), 0);
    world.tell(Event::DownloadResumed);
    world.greet();
    assert_eq!(world.servers.stats.len(), 3);
    world.tell(Event::ProbeDropped(JobId(9)));
    probe(&mut world, 1);
    for _ in 0..3 {
        answer(&mut world, false);
    }
    assert_eq!(world.host.probed, [], "nobody wants to know that any more");
    answer(&mut world, true);
    assert_eq!(world.host.probed, census(1, 0, 0));
}

#[test]
fn a_server_that_nobody_asks_is_tried_with_one_connection() {
    let mut world = World::of(vec![server(1, 4)]);
    world.tell(Event::ServerProbeWanted(ServerId(1)));
    world.tell(Event::ServerProbeWanted(ServerId(1)));
    assert_eq!(world.engine.servers().next().map(|it| it.open), Some(1));
    world.tell(Event::ServerProbeWanted(ServerId(8)));
    world.greet();
    assert_eq!(world.engine.servers().next().map(|it| it.working), Some(1));
}

#[test]
fn nothing_more_is_asked_once_nobody_wants_to_know() {
    let mut world = World::of(vec![server(1, 1)]);
    probe(&mut world, 50);
    world.greet();
    world.tell(Event::ProbeDropped(JobId(9)));
    answer(&mut world, true);
    assert_eq!(world.servers.stats.len(), 31);
}

#[test]
fn a_server_that_gives_no_clear_answer_is_asked_three_times_and_nobody_knows() {
    let mut world = World::of(vec![server(1, 1)]);
    probe(&mut world, 1);
    world.greet();
    for _ in 0..3 {
        let (_, ticket, _) = world.servers.stats.pop_front().expect("it was asked");
        world.tell(Event::Refused { ticket });
    }
    assert_eq!(world.host.probed, census(0, 0, 1));
}

#[test]
fn a_connection_is_not_idle_while_it_owes_an_answer() {
    let mut world = World::of(vec![server(1, 1)]);
    probe(&mut world, 1);
    world.greet();
    world.wait(31_000);
    assert_eq!(world.servers.closed, []);
    answer(&mut world, true);
    world.wait(29_000);
    assert_eq!(world.servers.closed, []);
    world.wait(1_000);
    assert_eq!(world.servers.closed, [0]);
}

#[test]
fn a_server_that_rests_is_tried_for_nobody() {
    let mut world = World::of(vec![server(1, 1)]);
    world.tell(Event::ServerProbeWanted(ServerId(1)));
    world.ends(0, Trouble::Unreachable);
    world.tell(Event::ServerProbeWanted(ServerId(1)));
    probe(&mut world, 1);
    assert_eq!(world.connections(), 1);
    world.wait(2_000);
    assert_eq!(world.connections(), 2, "it has rested");
}
