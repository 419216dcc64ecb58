//! Nothing is made or changed outside a job's directory, whatever was planted in it.

#![allow(clippy::unwrap_used)] // the exemption for tests does not reach their helpers

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use bergamot_types::{ByteCount, SafeName};
use bergamot_writer::{DiskError, JobDir, Modes, Obstacle, Piece, Root};
use tempfile::TempDir;

fn name(raw: &str) -> SafeName {
    SafeName::from_raw(raw)
}

fn job() -> (TempDir, Root, JobDir) {
    let temp = TempDir::new().unwrap();
    let root = Root::open(temp.path()).unwrap();
    let dir = root.job_dir(&name("job")).unwrap();
    (temp, root, dir)
}

fn finish(dir: &JobDir, index: u32, content: &[u8], wanted: &str) -> Result<SafeName, DiskError> {
    let part = dir.part(index)?;
    part.write_at(0, content)?;
    dir.finish(&part, ByteCount(content.len() as u64), &[], &name(wanted))
}

fn obstacle(error: DiskError) -> Obstacle {
    match error {
        DiskError::Obstructed { by, .. } => by,
        error => panic!("{error}"),
    }
}

fn mkfifo(path: &Path) {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o644), 0).unwrap();
}

#[test]
fn whatever_lies_where_a_part_should_be_is_left_alone() {
    let (temp, _root, dir) = job();
    let canary = temp.path().join("canary");
    fs::write(&canary, b"alive").unwrap();
    symlink(&canary, dir.path().join("0000.part")).unwrap();
    mkfifo(&dir.path().join("0001.part"));
    fs::create_dir(dir.path().join("0002.part")).unwrap();
    fs::write(dir.path().join("0003.part"), b"planted").unwrap();
    symlink("nowhere", dir.path().join("0004.part")).unwrap();
    let found: Vec<_> = (0..5).map(|index| obstacle(dir.part(index).unwrap_err())).collect();
    use Obstacle::*;
    assert_eq!(found, [Link, Special, Directory, File, Link]);
    assert_eq!(fs::read(&canary).unwrap(), b"alive");
    assert!(!dir.path().join("nowhere").exists());
}

#[test]
fn after_a_restart_only_plain_parts_are_taken_up() {
    let (temp, root, dir) = job();
    dir.part(0).unwrap().write_at(0, b"kept").unwrap();
    let outside = temp.path().join("outside");
    fs::write(&outside, b"alive").unwrap();
    fs::hard_link(&outside, dir.path().join("0001.part")).unwrap();
    symlink(&outside, dir.path().join("0002.part")).unwrap();
    drop(dir);

    let dir = root.reopen(&name("job")).unwrap();
    let (index, status) = dir.parts().unwrap()[0];
    assert_eq!((index, status.size), (0, ByteCount(4)));
    dir.part(0).unwrap().write_at(4, b" too").unwrap();
    assert_eq!(fs::read(dir.path().join("0000.part")).unwrap(), b"kept too");
    assert_eq!(obstacle(dir.part(1).unwrap_err()), Obstacle::HardLink);
    assert_eq!(obstacle(dir.part(2).unwrap_err()), Obstacle::Link);
    assert_eq!(fs::read(&outside).unwrap(), b"alive");
}

#[test]
fn a_job_directory_is_new_and_never_a_link() {
    let temp = TempDir::new().unwrap();
    let elsewhere = TempDir::new().unwrap();
    let root = Root::open(temp.path()).unwrap();
    symlink(elsewhere.path(), temp.path().join("job")).unwrap();
    assert_eq!(root.job_dir(&name("job")).unwrap().name(), &name("job (2)"));
    assert_eq!(root.job_dir(&name("JOB")).unwrap().name(), &name("JOB (3)"));
    assert_eq!(obstacle(root.reopen(&name("job")).unwrap_err()), Obstacle::Link);
    assert_eq!(root.reopen(&name("gone")).unwrap_err().code(), "disk.vanished");
    assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);
}

#[test]
fn two_jobs_of_one_name_at_once_get_two_directories() {
    let temp = TempDir::new().unwrap();
    let root = Root::open(temp.path()).unwrap();
    let make = || root.job_dir(&name("job")).unwrap().name().clone();
    let mut names: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(make)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    names.sort();
    names.dedup();
    assert_eq!(names.len(), 8);
}

#[test]
fn what_bears_the_final_name_is_neither_followed_nor_replaced() {
    let (temp, _root, dir) = job();
    let canary = temp.path().join("canary");
    fs::write(&canary, b"alive").unwrap();
    symlink(&canary, dir.path().join("a.bin")).unwrap();
    mkfifo(&dir.path().join("b.bin"));
    fs::create_dir(dir.path().join("c.bin")).unwrap();
    fs::write(dir.path().join("d.bin"), b"other").unwrap();
    for (index, wanted) in (0..).zip(["a", "b", "c", "d"]) {
        let given = finish(&dir, index, b"new", &format!("{wanted}.bin")).unwrap();
        assert_eq!(given, name(&format!("{wanted} (2).bin")));
        assert_eq!(fs::read(dir.path().join(given.as_str())).unwrap(), b"new");
    }
    // Planted after the names were first read.
    symlink(&canary, dir.path().join("e.bin")).unwrap();
    assert_eq!(finish(&dir, 9, b"new", "e.bin").unwrap(), name("e (2).bin"));
    assert_eq!(fs::read(&canary).unwrap(), b"alive");
    assert_eq!(fs::read(dir.path().join("d.bin")).unwrap(), b"other");
}

#[test]
fn names_that_some_file_system_holds_for_one_are_kept_apart() {
    let (_temp, _root, dir) = job();
    let given: Vec<_> = (0..)
        .zip(["A.rar", "a.rar", "ä.rar", "A\u{308}.RAR"])
        .map(|(index, wanted)| finish(&dir, index, b"x", wanted).unwrap().to_string())
        .collect();
    assert_eq!(given, ["A.rar", "a (2).rar", "ä.rar", "Ä (2).RAR"]);
}

#[test]
fn a_stranger_cannot_name_a_file_like_our_unfinished_ones() {
    let (_temp, _root, dir) = job();
    assert_eq!(finish(&dir, 0, b"x", "0001.part").unwrap(), name("_0001.part"));
    assert_eq!(finish(&dir, 1, b"y", "0000.JOIN.part").unwrap(), name("_0000.JOIN.part"));
    assert_eq!(dir.finished().unwrap().len(), 2);
}

#[test]
fn a_finished_file_has_its_exact_size_and_no_odd_mode() {
    use std::os::unix::fs::MetadataExt;
    let (_temp, _root, dir) = job();
    let part = dir.part(0).unwrap();
    part.reserve(1 << 20).unwrap();
    part.write_at(0, b"short").unwrap();
    let given = dir.finish(&part, ByteCount(5), &[], &name("a.bin")).unwrap();
    let status = fs::metadata(dir.path().join(given.as_str())).unwrap();
    assert_eq!((status.len(), status.nlink(), status.mode() & 0o7111), (5, 1, 0));
}

#[test]
fn pieces_are_joined_in_order_and_only_once() {
    let (_temp, root, dir) = job();
    let pieces = [(0, 3), (100, 2), (200, 4)].map(|(from, length)| Piece { from, length });
    let part = dir.part(0).unwrap();
    for (piece, text) in pieces.iter().zip(["abc", "de", "fghi"]) {
        part.write_at(piece.from, text.as_bytes()).unwrap();
    }
    let size = ByteCount(9);
    let given = dir.finish(&part, size, &pieces, &name("a.bin")).unwrap();
    assert_eq!(fs::read(dir.path().join(given.as_str())).unwrap(), b"abcdefghi");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);

    // As a crash between joining and naming leaves it.
    fs::rename(dir.path().join("a.bin"), dir.path().join("0000.part")).unwrap();
    let dir = root.reopen(&name("job")).unwrap();
    let part = dir.part(0).unwrap();
    let given = dir.finish(&part, size, &pieces, &name("a.bin")).unwrap();
    assert_eq!(fs::read(dir.path().join(given.as_str())).unwrap(), b"abcdefghi");
}

#[test]
fn what_the_user_deletes_in_mid_job_is_missed() {
    let (_temp, root, dir) = job();
    let part = dir.part(0).unwrap();
    part.write_at(0, b"abc").unwrap();
    fs::remove_file(dir.path().join("0000.part")).unwrap();
    assert_eq!(part.write_at(3, b"def").unwrap_err().code(), "disk.vanished");
    for _ in 0..2 {
        assert_eq!(dir.part(0).unwrap_err().code(), "disk.vanished");
    }
    let dir = root.reopen(&name("job")).unwrap();
    dir.part(0).expect("written anew, once the directory is opened again");

    fs::remove_file(dir.path().join("0000.part")).unwrap();
    fs::write(dir.path().join("0000.part"), b"planted").unwrap();
    let replaced = dir.finish(&part, ByteCount(3), &[], &name("a.bin")).unwrap_err();
    assert_eq!(replaced.code(), "disk.vanished");

    fs::remove_dir_all(dir.path()).unwrap();
    assert_eq!(dir.part(1).unwrap_err().code(), "disk.vanished");
    dir.discard().expect("nothing is left to delete");
}

#[test]
fn a_discarded_job_takes_nothing_along() {
    let (temp, _root, dir) = job();
    fs::create_dir(temp.path().join("outside")).unwrap();
    fs::write(temp.path().join("outside/canary"), b"alive").unwrap();
    symlink(temp.path().join("outside"), dir.path().join("link")).unwrap();
    fs::create_dir(dir.path().join("sub")).unwrap();
    fs::write(dir.path().join("sub/file"), b"x").unwrap();
    dir.discard().unwrap();
    assert!(!dir.path().exists());
    assert!(temp.path().join("outside/canary").exists());
}

#[test]
fn a_missing_root_is_named() {
    let temp = TempDir::new().unwrap();
    let path = temp.path().join("a/b");
    assert_eq!(Root::open(&path).unwrap_err().code(), "disk.dest_missing");
    let root = Root::create(&path, Modes::new(None, Some(0o750))).unwrap();
    fs::remove_dir(&path).unwrap();
    assert_eq!(root.job_dir(&name("job")).unwrap_err().code(), "disk.dest_missing");
    assert!(!path.exists(), "never made anew on the disk below");
    fs::write(temp.path().join("file"), b"").unwrap();
    assert!(Root::create(&temp.path().join("file/x"), Modes::default()).is_err());
    assert!(bergamot_writer::free_space(temp.path()).unwrap() > ByteCount(0));
}

#[test]
fn the_longest_names_are_made() {
    let (_temp, root, dir) = job();
    let long = "🦀".repeat(300) + ".mkv";
    let first = finish(&dir, 0, b"x", &long).unwrap();
    let second = finish(&dir, 1, b"x", &long).unwrap();
    assert_ne!(first, second);
    assert!(second.as_str().ends_with(".mkv"));
    root.job_dir(&name(&long)).unwrap();
}

#[test]
fn after_a_restart_only_recorded_files_and_our_marks_are_kept() {
    let (_temp, root, dir) = job();
    for (index, wanted) in [(0, "a.bin"), (1, "b.bin")] {
        finish(&dir, index, b"whole", wanted).unwrap();
    }
    dir.part(2).unwrap().write_at(0, b"begun").unwrap();
    fs::write(dir.path().join(".bergamot-0-1.moved"), b"").unwrap();
    drop(dir);

    let dir = root.reopen(&name("job")).unwrap();
    dir.remove_all_but(&["a.bin", "c.bin"]).unwrap();
    let mut left: Vec<_> =
        fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, [".bergamot-0-1.moved", "0002.part", "a.bin"]);
    assert_eq!(finish(&dir, 1, b"again", "b.bin").unwrap(), name("b.bin"));
}
