//! Segments for which an NZB lists several ids, and ids that it lists for several segments.

use bergamot_engine::{Failure, HealthAction, Notice};
use bergamot_queue::{Alternates, Part};
use bergamot_testkit::fixtures::manual::{ARTICLE, World, part, server};
use bergamot_types::MessageIdList;

fn list(ids: &[&str]) -> MessageIdList {
    let mut list = MessageIdList::new();
    ids.iter().for_each(|id| list.push(id).expect("a good id"));
    list
}

/// A job of two articles, the second of which has three ids: 1, 10 and 11. The first has come.
fn world() -> World {
    let mut world = announced(&[1]);
    world.comes(0);
    world.writes_all();
    assert_eq!(world.line(0), [1]);
    world
}

fn announced(servers: &[u16]) -> World {
    let servers = servers.iter().map(|id| server(*id, 1)).collect();
    let mut world = World::with(servers, |settings| settings.health_action = HealthAction::Park);
    world.announce_with(1, &[ARTICLE; 2], |new| {
        new.files[0].alternates = Alternates::new(vec![1, 1], list(&["10@1", "11@1"]));
    });
    world.greet();
    world
}

fn good(segment: u32) -> Part {
    part(&[ARTICLE; 2], segment)
}

fn lost(world: &World) -> Vec<&str> {
    let lost = world.host.told.iter().filter_map(|notice| match notice {
        Notice::ArticleLost { id, .. } => Some(id.as_str()),
        _ => None,
    });
    lost.collect()
}

#[test]
fn what_is_missing_everywhere_is_asked_for_by_its_next_id() {
    let mut world = world();
    world.misses(0);
    assert_eq!(world.line(0), [10]);
    world.misses(0);
    assert_eq!(world.line(0), [11]);
    world.comes_as(0, good(1));
    world.writes_all();
    world.names(Ok(()));
    assert_eq!(
        (world.disk.processing.clone(), world.host.failed.len(), lost(&world).len()),
        (vec![1], 0, 0)
    );
}

#[test]
fn a_segment_is_lost_once_when_none_of_its_ids_is_left() {
    let mut world = world();
    world.misses(0);
    world.misses(0);
    assert_eq!(world.status(1).lost, 0);
    assert!(world.host.failed.is_empty() && lost(&world).is_empty());
    world.misses(0);
    assert_eq!((world.line(0), lost(&world)), (vec![], vec!["11@1"]));
    assert_eq!(world.host.failed, [(1, Failure::Incomplete)]);
}

#[test]
fn a_server_that_misses_one_id_is_asked_for_the_next() {
    let mut world = announced(&[1, 2]);
    assert_eq!((world.line(0), world.line(1)), (vec![0], vec![1]));
    world.misses(1);
    world.comes(0);
    world.writes_all();
    assert_eq!((world.line(0), world.line(1)), (vec![1], vec![]));
    world.misses(0);
    let asked = (0..2).find(|it| world.line(*it) == [10]).expect("the next id");
    world.misses(asked);
    assert_eq!(world.line(1 - asked), [10]);
}

#[test]
fn the_article_of_another_part_is_replaced_by_the_next_id() {
    let mut world = world();
    world.comes_as(0, good(0));
    world.comes_as(0, good(0));
    assert_eq!(world.line(0), [10], "the copy came twice, as a part that it is not");
    world.comes_as(0, good(1));
    world.writes_all();
    world.names(Ok(()));
    assert_eq!((world.disk.processing.clone(), lost(&world).len()), (vec![1], 0));
}

#[test]
fn a_suspicious_copy_is_accepted_if_no_other_id_has_a_better_one() {
    let mut world = world();
    let suspicious = Part { file_size: Some(5), ..good(1) };
    for _ in 0..2 {
        world.comes_as(0, suspicious.clone());
    }
    for id in [10, 11] {
        assert_eq!(world.line(0), [id]);
        world.misses(0);
    }
    assert_eq!(world.line(0), [1], "it is asked for once more, to be accepted");
    world.comes_as(0, suspicious);
    world.writes_all();
    world.names(Ok(()));
    assert_eq!((world.disk.processing.clone(), lost(&world).len()), (vec![1], 0));
}

/// A job whose articles are those of these segments, and a file of two parts.
fn listed(ids: &[&str]) -> World {
    let settings = |settings: &mut bergamot_engine::Settings| {
        settings.health_action = HealthAction::Park;
    };
    let mut world = World::with(vec![server(1, 1)], settings);
    world.announce_with(1, &vec![ARTICLE; ids.len()], |new| new.files[0].ids = list(ids));
    world.greet();
    world
}

/// Everything that is asked for comes as the part that its id is the one of.
fn comes_all(world: &mut World) {
    while let Some(&segment) = world.line(0).first() {
        world.comes_as(0, good(segment));
        world.writes_all();
    }
}

#[test]
fn an_id_under_a_number_too_many_costs_no_file() {
    for ids in [["0@1", "1@1", "1@1"], ["0@1", "1@1", "0@1"]] {
        let mut world = listed(&ids);
        comes_all(&mut world);
        assert_eq!((world.disk.finishing.len(), world.host.failed.len()), (1, 0), "{ids:?}");
        world.names(Ok(()));
        assert_eq!(world.disk.processing, [1]);
    }
}

#[test]
fn an_id_listed_twice_may_shift_the_numbers_behind_it() {
    let mut world = listed(&["0@1", "0@1", "1@1"]);
    comes_all(&mut world);
    assert_eq!((world.disk.finishing.len(), world.host.failed.len()), (1, 0));
}

#[test]
fn an_id_in_place_of_another_does_not_hide_that_a_part_is_missing() {
    let sizes = [ARTICLE; 3];
    let mut world = listed(&["0@1", "0@1", "2@1"]);
    while let Some(&segment) = world.line(0).first() {
        world.comes_as(0, part(&sizes, segment));
        world.writes_all();
    }
    assert!(world.disk.finishing.is_empty());
    assert_eq!(world.host.failed, [(1, Failure::Incomplete)]);
}
