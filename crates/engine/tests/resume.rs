//! Jobs that go on where an earlier run ended.

use bergamot_engine::{DiskTrouble, Note};
use bergamot_queue::{FileKey, Part, Restored, SegmentKey};
use bergamot_testkit::fixtures::manual::{ARTICLE, World, part, server};
use bergamot_types::JobId;

const SIZES: [u32; 4] = [ARTICLE; 4];

fn key(segment: u32) -> SegmentKey {
    SegmentKey { job: JobId(1), file: 0, segment }
}

fn restored(segment: u32) -> Restored {
    Restored { file: 0, segment, part: part(&SIZES, segment) }
}

/// Job 1 of four articles, of which these were written before.
fn resumed(written: &[u32]) -> World {
    let mut world = World::of(vec![server(1, 1)]);
    let written = written.iter().map(|segment| restored(*segment)).collect();
    world.announce_with(1, &SIZES, |new| new.written = written);
    world.greet();
    world
}

#[test]
fn only_what_is_not_written_is_fetched() {
    let mut world = resumed(&[0, 2]);
    let totals = world.engine.job(JobId(1)).expect("it is there").totals();
    let bytes = u64::from(ARTICLE) * 2;
    assert_eq!((totals.segments_done, totals.bytes_done, totals.bytes), (2, bytes, 2 * bytes));
    assert_eq!(world.comes(0), 1);
    world.writes_all();
    assert_eq!(world.comes(0), 3);
    world.writes_all();
    world.names(Ok(()));
    assert_eq!(world.disk.processing, [1]);
}

#[test]
fn a_file_that_was_all_written_only_gets_its_name() {
    let mut world = resumed(&[3, 1, 0, 2]);
    assert_eq!((world.connections(), world.disk.processing.len()), (0, 0), "no server is asked");
    world.names(Ok(()));
    assert_eq!(world.disk.processing, [1]);
    world.processes(Ok(()));
    assert!(world.is_done());
}

#[test]
fn a_job_all_of_whose_files_are_finished_ends_at_once() {
    let mut world = World::of(vec![server(1, 1)]);
    world.announce_with(1, &SIZES, |new| {
        new.finished = vec![(0, true)];
        new.written = vec![restored(1)];
    });
    assert_eq!((&world.disk.processing[..], world.disk.finishing.len()), (&[1][..], 0));
}

#[test]
fn a_file_that_was_all_written_and_is_lost_by_the_disk_is_fetched_anew() {
    let mut world = resumed(&[0, 1, 2, 3]);
    world.names(Err(DiskTrouble::Unsynced));
    let file = FileKey { job: JobId(1), file: 0 };
    assert_eq!(world.disk.notes, [Note::Forgotten { file }]);
    world.wait(5_000);
    world.greet();
    assert_eq!(world.line(0), [0]);
}

#[test]
fn what_is_written_is_noted_and_what_failed_is_not() {
    let mut world = resumed(&[0, 1, 3]);
    world.comes(0);
    assert_eq!(world.disk.notes, [], "it is not written yet");
    world.writes(Err(DiskTrouble::Transient));
    assert_eq!(world.disk.notes, []);
    world.wait(5_000);
    world.comes(0);
    world.writes(Ok(()));
    assert_eq!(world.disk.notes, [Note::Written { key: key(2), part: part(&SIZES, 2) }]);
}

#[test]
fn nothing_is_noted_of_damaged_copies_and_of_jobs_that_are_gone() {
    let mut world = resumed(&[0, 1, 2]);
    world.comes_damaged(0);
    world.writes(Ok(()));
    world.comes(0);
    world.remove(1);
    world.writes(Ok(()));
    assert_eq!((&world.disk.written[..], &world.disk.notes[..]), (&[3, 3][..], &[][..]));
}

#[test]
fn what_is_no_longer_believed_is_noted_before_anything_is_written_over_it() {
    let mut world = World::of(vec![server(1, 1)]);
    world.add(1, 4);
    let liar = Part { file_size: Some(u64::from(ARTICLE) * 5), ..part(&SIZES, 0) };
    world.comes_as(0, liar);
    world.writes_all();
    world.disk.notes.clear();
    // The first to contradict is not believed, nor when it is asked for once more.
    while world.disk.notes.is_empty() {
        assert_eq!(world.disk.written, [0]);
        world.comes(0);
    }
    assert_eq!(world.disk.written.len(), 2);
    assert_eq!(
        world.disk.notes,
        [Note::Reopened { key: key(0) }],
        "nothing was noted of the others"
    );
    for _ in 0..4 {
        world.writes_all();
        if !world.line(0).is_empty() {
            world.comes(0);
        }
    }
    world.names(Ok(()));
    assert_eq!(world.disk.processing, [1]);
}

#[test]
fn records_that_contradict_each_other_are_noted_as_such() {
    let mut world = World::of(vec![server(1, 1)]);
    let twice = Restored { segment: 1, part: Part { number: None, ..part(&SIZES, 0) }, file: 0 };
    world.announce_with(1, &SIZES, |new| new.written = vec![restored(0), twice]);
    world.greet();
    assert_eq!(world.disk.notes, [Note::Reopened { key: key(1) }]);
    assert_eq!(world.line(0), [1]);
}
