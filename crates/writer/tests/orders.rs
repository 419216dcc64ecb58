//! Orders to the writer: their sequence, their buffers, their bounds.

#![allow(clippy::unwrap_used)] // the exemption for tests does not reach their helpers

use std::fs;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bergamot_types::{ByteCount, JobId, SafeName};
use bergamot_writer::{Done, JobDir, Modes, Order, Outcome, Root, Settings, Task, Writer};
use tempfile::TempDir;

fn name(raw: &str) -> SafeName {
    SafeName::from_raw(raw)
}

fn start(settings: Settings) -> (Writer<Vec<u8>>, Receiver<Done<Vec<u8>>>) {
    let (done, dones) = channel();
    (Writer::start(settings, move |order| drop(done.send(order))).unwrap(), dones)
}

fn next(dones: &Receiver<Done<Vec<u8>>>) -> Done<Vec<u8>> {
    dones.recv_timeout(Duration::from_secs(20)).expect("the writer answers")
}

fn finish_file(file: u32, size: u64, wanted: &str) -> Task<Vec<u8>> {
    Task::FinishFile {
        file,
        size: ByteCount(size),
        pieces: Vec::new(),
        sums: Vec::new(),
        name: name(wanted),
    }
}

struct Place {
    _temp: TempDir,
    root: Root,
    destination: Arc<Root>,
    dir: Arc<JobDir>,
}

fn place() -> Place {
    let temp = TempDir::new().unwrap();
    let root = Root::create(&temp.path().join("incomplete"), Modes::default()).unwrap();
    let destination =
        Arc::new(Root::create(&temp.path().join("complete"), Modes::default()).unwrap());
    let dir = Arc::new(root.job_dir(&name("job")).unwrap());
    Place { _temp: temp, root, destination, dir }
}

#[test]
fn a_job_of_a_thousand_files_is_written_with_few_handles_and_moved_last() {
    const FILES: u32 = 1_000;
    let place = place();
    let (writer, dones) = start(Settings::default());
    let submit = |ticket, task| writer.submit(Order { ticket, dir: place.dir.clone(), task });
    for round in 0..2 {
        for file in 0..FILES {
            let bytes = format!("{file:04}").into_bytes();
            submit(0, Task::Write { file, offset: round * 4, bytes });
        }
    }
    for file in 0..FILES {
        submit(1, finish_file(file, 8, "same.bin"));
    }
    let destination = place.destination.clone();
    submit(2, Task::FinishJob { job: JobId(7), destination, name: name("job") });
    let mut seen = [0; 2];
    let last = loop {
        let done = next(&dones);
        if done.ticket == 2 {
            break done;
        }
        assert_eq!(done.ticket == 0, done.bytes.is_some(), "a write gives its buffer back");
        done.result.unwrap();
        seen[done.ticket as usize] += 1;
        // The directory itself is open, and each closer has a file open or lists the directory.
        assert!(open_files(&place.dir) <= 64 + 5);
    };
    assert_eq!(seen, [2_000, 1_000], "the job came last");
    assert_eq!(last.result.unwrap(), Outcome::Named(name("job")));
    let moved = place.destination.path().join("job");
    place.destination.settle(&name("job"), &place.root, JobId(7)).unwrap();
    assert_eq!(fs::read_dir(&moved).unwrap().count(), 1_000);
    for entry in fs::read_dir(&moved).unwrap() {
        let content = fs::read_to_string(entry.unwrap().path()).unwrap();
        assert_eq!(content[..4], content[4..]);
    }
}

fn open_files(dir: &JobDir) -> usize {
    let links = fs::read_dir("/proc/self/fd").unwrap();
    let targets = links.filter_map(|link| fs::read_link(link.unwrap().path()).ok());
    targets.filter(|target| target.starts_with(dir.path())).count()
}

#[test]
fn failures_come_back_with_ticket_and_buffer() {
    let place = place();
    std::os::unix::fs::symlink("/etc/passwd", place.dir.path().join("0003.part")).unwrap();
    let (writer, dones) = start(Settings::default());
    let task = Task::Write { file: 3, offset: 0, bytes: b"x".to_vec() };
    writer.submit(Order { ticket: 9, dir: place.dir.clone(), task });
    let done = next(&dones);
    assert_eq!((done.ticket, done.bytes), (9, Some(b"x".to_vec())));
    assert_eq!(done.result.unwrap_err().code(), "disk.obstructed");
}

#[test]
fn a_vanished_file_is_reported_and_written_anew_once_its_directory_is_opened_again() {
    let place = place();
    let (writer, dones) = start(Settings::default());
    let write = |dir: &Arc<JobDir>, bytes: &[u8]| {
        let task = Task::Write { file: 0, offset: 0, bytes: bytes.to_vec() };
        writer.submit(Order { ticket: 0, dir: dir.clone(), task });
        next(&dones).result
    };
    write(&place.dir, b"old").unwrap();
    fs::remove_file(place.dir.path().join("0000.part")).unwrap();
    for _ in 0..2 {
        assert_eq!(write(&place.dir, b"lost").unwrap_err().code(), "disk.vanished");
    }
    let again = Arc::new(place.root.reopen(place.dir.name()).unwrap());
    write(&again, b"new").unwrap();
    assert_eq!(fs::read(place.dir.path().join("0000.part")).unwrap(), b"new");
}

#[test]
fn a_discarded_job_is_gone_when_its_order_is_done() {
    let place = place();
    let (writer, dones) = start(Settings { threads: 4, ..Settings::default() });
    for file in 0..50 {
        let task = Task::Write { file, offset: 0, bytes: vec![1; 10_000] };
        writer.submit(Order { ticket: 0, dir: place.dir.clone(), task });
    }
    writer.submit(Order { ticket: 1, dir: place.dir.clone(), task: Task::Discard });
    while next(&dones).ticket == 0 {}
    assert_eq!(fs::read_dir(place.root.path()).unwrap().count(), 0);
    assert!(dones.try_recv().is_err());
}

#[test]
fn a_shutdown_drops_the_backlog() {
    let place = place();
    let (entered, entries) = channel();
    let (release, released) = channel::<()>();
    let released = Mutex::new(released);
    let writer = Writer::start(
        Settings { threads: 1, sync_threads: 1, direct_io_threads: 1, open_files: 4 },
        move |done: Done<Vec<u8>>| {
            entered.send(done.ticket).unwrap();
            let _ = released.lock().unwrap().recv();
        },
    )
    .unwrap();
    for ticket in 0..100 {
        let task = Task::Write { file: 0, offset: ticket, bytes: vec![1] };
        writer.submit(Order { ticket, dir: place.dir.clone(), task });
    }
    assert_eq!(entries.recv().unwrap(), 0);
    drop(release); // the thread goes on while it is told to stop
    assert!(writer.shutdown());
    let task = Task::Write { file: 0, offset: 0, bytes: vec![1] };
    writer.submit(Order { ticket: 100, dir: place.dir.clone(), task });
    assert!(entries.try_iter().all(|ticket| ticket < 100));
}

#[test]
fn a_file_is_finished_once_and_never_made_anew_for_it() {
    let place = place();
    let (writer, dones) = start(Settings::default());
    let submit = |task| writer.submit(Order { ticket: 0, dir: place.dir.clone(), task });
    submit(Task::Write { file: 0, offset: 0, bytes: b"abc".to_vec() });
    next(&dones).result.unwrap();
    submit(finish_file(0, 3, "a.bin"));
    assert_eq!(next(&dones).result.unwrap(), Outcome::Named(name("a.bin")));
    for file in [0, 1] {
        submit(finish_file(file, 3, "a.bin"));
        assert_eq!(next(&dones).result.unwrap_err().code(), "disk.vanished");
    }
    assert_eq!(fs::read_dir(place.dir.path()).unwrap().count(), 1);
}
