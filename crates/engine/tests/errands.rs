//! Connections for something else than articles.

use bergamot_engine::{ErrandId, Event, ServerSettings, Trouble};
use bergamot_testkit::fixtures::manual::{World, server};
use bergamot_types::ServerId;

fn want(world: &mut World, errand: u64, servers: &[u16]) {
    let servers = servers.iter().map(|id| ServerId(*id)).collect();
    world.tell(Event::ErrandWanted { errand: ErrandId(errand), servers });
}

fn end(world: &mut World, errand: u64, trouble: Trouble) {
    world.tell(Event::ErrandEnded { errand: ErrandId(errand), trouble });
}

#[test]
fn an_errand_begins_where_nobody_wants_an_article() {
    let mut world = World::of(vec![server(1, 2)]);
    want(&mut world, 7, &[1]);
    assert_eq!(world.host.started, [(7, 1)]);
    assert_eq!(world.engine.servers().next().map(|it| (it.open, it.working)), Some((1, 0)));
    end(&mut world, 7, Trouble::Closed);
    assert_eq!(world.engine.servers().next().map(|it| it.open), Some(0));
}

#[test]
fn an_article_recalls_it_and_has_the_connection_when_it_is_gone() {
    let mut world = World::of(vec![server(1, 1)]);
    want(&mut world, 7, &[1]);
    world.add(1, 2);
    assert_eq!((world.host.recalled.as_slice(), world.asked_of(1)), ([7].as_slice(), 0));
    end(&mut world, 7, Trouble::Closed);
    world.greet();
    assert_eq!(world.asked_of(1), 1);
    want(&mut world, 8, &[1]);
    assert_eq!(world.host.started.len(), 1, "it waits");
}

#[test]
fn it_waits_for_the_last_article_and_takes_the_place_of_an_idle_connection() {
    let mut world = World::of(vec![server(1, 1)]);
    world.add(1, 1);
    want(&mut world, 7, &[1]);
    assert_eq!(world.host.started, []);
    world.comes(0);
    assert_eq!(world.servers.closed, [0], "it has nothing to do any more");
    world.ends(0, Trouble::Closed);
    assert_eq!(world.host.started, [(7, 1)]);
}

#[test]
fn the_line_is_shared_so_articles_of_another_server_count() {
    let mut world = World::of(vec![server(1, 1), ServerSettings { level: 1, ..server(2, 1) }]);
    world.add(1, 3);
    want(&mut world, 7, &[2]);
    assert_eq!(world.host.started, []);
}

#[test]
fn a_reserved_connection_is_left_to_errands() {
    let reserving = ServerSettings { reserved: 1, ..server(1, 3) };
    let mut world = World::of(vec![reserving]);
    world.add(1, 9);
    assert_eq!(world.engine.servers().next().map(|it| it.open), Some(2));
    want(&mut world, 7, &[1]);
    want(&mut world, 8, &[1]);
    assert_eq!(
        (world.host.started.as_slice(), world.host.recalled.len()),
        ([(7, 1)].as_slice(), 0)
    );
    world.comes(0);
    assert_eq!(world.host.recalled, [], "it is in nobody's way");
}

#[test]
fn the_last_connection_is_never_reserved() {
    let mut world = World::of(vec![ServerSettings { reserved: 5, ..server(1, 1) }]);
    world.add(1, 1);
    assert_eq!(world.asked_of(1), 1);
}

#[test]
fn the_trouble_of_an_errand_is_that_of_its_server() {
    let mut world = World::of(vec![server(1, 2)]);
    want(&mut world, 7, &[1]);
    end(&mut world, 7, Trouble::Login);
    assert_eq!(world.engine.servers().next().and_then(|it| it.trouble), Some(Trouble::Login));
    want(&mut world, 8, &[1]);
    assert_eq!(world.host.started.len(), 1, "it waits as long as the server rests");
    world.tell(Event::ErrandDropped(ErrandId(8)));
    assert_eq!(world.host.recalled, []);
}

#[test]
fn one_errand_tries_a_server_that_has_rested_and_ends_its_trouble() {
    let mut world = World::of(vec![server(1, 3)]);
    want(&mut world, 1, &[1]);
    end(&mut world, 1, Trouble::Unreachable);
    want(&mut world, 2, &[1]);
    want(&mut world, 3, &[1]);
    assert_eq!(world.host.started.len(), 1, "it rests");
    world.wait(60_000);
    assert_eq!(world.host.started, [(1, 1), (2, 1)], "one try");
    world.tell(Event::ErrandConnected(ErrandId(2)));
    assert_eq!(world.engine.servers().next().and_then(|it| it.trouble), None);
    assert_eq!(world.host.started.len(), 3, "and then all");
}

#[test]
fn an_errand_that_nobody_wants_any_more_is_recalled_or_never_begins() {
    let mut world = World::of(vec![server(1, 1)]);
    want(&mut world, 7, &[1]);
    want(&mut world, 8, &[1]);
    world.tell(Event::ErrandDropped(ErrandId(8)));
    assert_eq!(world.host.recalled, [], "it had not begun");
    world.tell(Event::ErrandDropped(ErrandId(7)));
    assert_eq!(world.host.recalled, [7]);
    end(&mut world, 7, Trouble::Closed);
    assert_eq!(world.host.started, [(7, 1)]);
}

#[test]
fn each_server_has_a_reserve_of_its_own() {
    let reserving = |id| ServerSettings { reserved: 1, ..server(id, 2) };
    let mut world = World::of(vec![reserving(1), reserving(2)]);
    world.add(1, 9);
    want(&mut world, 7, &[1]);
    want(&mut world, 8, &[2]);
    want(&mut world, 9, &[2]);
    assert_eq!(world.host.started, [(7, 1), (8, 2)]);
}

#[test]
fn articles_that_wait_for_a_server_in_trouble_are_in_nobodys_way() {
    let mut world = World::of(vec![server(1, 1), ServerSettings { level: 1, ..server(2, 1) }]);
    world.announce(1, &[1_000]);
    world.ends(0, Trouble::Unreachable);
    want(&mut world, 7, &[2]);
    assert_eq!(world.host.started, [(7, 2)]);
}
