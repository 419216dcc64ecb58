//! What people may see of it.

use std::time::Duration;

use bergamot_engine::{Event, ServerSettings, ServerStatus, Trouble, Wait};
use bergamot_limit::{Allowance, Period, QuotaSettings};
use bergamot_queue::{FileKey, FileState};
use bergamot_testkit::fixtures::manual::{ARTICLE, World, server};
use bergamot_types::{ByteCount, JobId, ServerId};

fn first(world: &World) -> ServerStatus {
    world.engine.servers().next().expect("there is one")
}

const BYTES: u64 = ARTICLE as u64;

#[test]
fn a_server_shows_its_connections_and_how_fast_they_are() {
    let mut world = World::of(vec![server(1, 3), ServerSettings { level: 1, ..server(2, 5) }]);
    let seen = first(&world);
    assert_eq!((seen.open, seen.working, seen.in_flight), (0, 0, 0));
    assert_eq!((seen.configured, seen.ceiling, seen.active), (3, 3, true));
    assert_eq!((seen.rate, seen.first_byte, seen.trouble), (None, None, None));
    world.announce(1, &[ARTICLE; 9]);
    assert_eq!((first(&world).open, first(&world).working), (3, 0));
    world.greet();
    let seen = first(&world);
    assert_eq!((seen.open, seen.working, seen.in_flight), (3, 3, 3));
    world.comes_after(0, 500, 500);
    let seen = first(&world);
    assert_eq!(seen.first_byte, Some(Duration::from_millis(500)));
    assert_eq!(seen.rate.map(|rate| rate.0), Some(BYTES));
    assert_eq!(world.engine.servers().map(|it| it.id.0).collect::<Vec<_>>(), [1, 2]);
}

#[test]
fn a_server_in_trouble_shows_it_and_a_ceiling_that_was_learned() {
    let mut world = World::of(vec![server(1, 3)]);
    world.announce(1, &[ARTICLE; 9]);
    world.ends(2, Trouble::TooManyConnections);
    assert_eq!((first(&world).configured, first(&world).ceiling), (3, 2));
    world.ends(1, Trouble::Unreachable);
    let seen = first(&world);
    assert_eq!((seen.trouble, seen.rests_until.is_some()), (Some(Trouble::Unreachable), true));
    let (why, servers) = world.status(1).wait.expect("it waits");
    assert_eq!((why, servers), (Wait::Server(Trouble::Unreachable), vec![ServerId(1)]));
}

#[test]
fn a_job_shows_what_is_under_way_and_what_it_waits_for() {
    let mut world = World::of(vec![server(1, 2)]);
    world.add(1, 9);
    let seen = world.status(1);
    assert_eq!((seen.in_flight, seen.writing, seen.waiting, seen.lost), (2, 0, 0, 0));
    assert_eq!((seen.fresh_bytes, seen.wait), (7 * BYTES, Some((Wait::Turn, vec![ServerId(1)]))));
    world.comes(0);
    let seen = world.status(1);
    assert_eq!((seen.in_flight, seen.writing), (2, 1));
    world.refuses(0);
    let seen = world.status(1);
    let why = seen.wait.map(|(why, _)| why);
    assert_eq!((seen.waiting, why), (1, Some(Wait::Pause)), "after the refusal");
    world.misses(1);
    assert_eq!(world.status(1).lost, 1);
    let file = &world.engine.job(JobId(1)).expect("it is there").files()[0];
    assert_eq!((file.state(), file.bytes_left()), (FileState::Wanted, 8 * BYTES));
}

#[test]
fn whoever_is_paused_waits_for_that() {
    let mut world = World::of(vec![server(1, 1)]);
    world.add(1, 9);
    let why = |world: &World| world.status(1).wait.map(|(why, _)| why);
    world.tell(Event::FilePaused(FileKey { job: JobId(1), file: 0 }));
    assert_eq!((why(&world), world.status(1).fresh_bytes), (Some(Wait::File), 0));
    world.tell(Event::DownloadPaused);
    assert_eq!(why(&world), Some(Wait::Paused));
    world.tell(Event::JobPaused(JobId(1)));
    assert_eq!(why(&world), Some(Wait::Job));
}

#[test]
fn what_only_a_used_up_server_has_waits_for_its_quota() {
    let most = ByteCount(BYTES);
    let allowances = vec![Allowance { period: Period::Ever, most }];
    let mut world = World::with(vec![server(1, 1)], |settings| {
        let quota = QuotaSettings { allowances, ..QuotaSettings::default() };
        settings.server_quotas.insert(ServerId(1), quota);
    });
    world.add(1, 3);
    world.comes(0);
    assert!(first(&world).is_used_up);
    assert_eq!(world.status(1).wait, Some((Wait::Quota, vec![ServerId(1)])));
}
