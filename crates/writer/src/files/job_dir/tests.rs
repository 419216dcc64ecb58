//! Tests of comparing the files of a job with their checksums.

use std::os::fd::BorrowedFd;

use tempfile::TempDir;

use super::*;
use crate::files::kernel::Kernel;

/// Reads nothing but this error.
#[derive(Debug)]
struct Unreadable(Errno);

impl Kernel for Unreadable {
    fn pread(&self, _: BorrowedFd<'_>, _: &mut [u8], _: u64) -> rustix::io::Result<usize> {
        Err(self.0)
    }
}

#[test]
fn what_cannot_be_read_is_not_taken_for_changed() {
    let sums = [Some(Sum { from: 0, length: 3, crc32: 0 }), None];
    for errno in [Errno::IO, Errno::STALE, Errno::MFILE] {
        let temp = TempDir::new().unwrap();
        let root = Root::with_kernel(temp.path(), Arc::new(Unreadable(errno))).unwrap();
        let dir = root.job_dir(&SafeName::from_raw("job")).unwrap();
        let gone = Compared { agrees: vec![false, false], status: None };
        assert_eq!(dir.compare_part(7, &sums).unwrap(), gone);
        dir.part(7).unwrap().write_at(0, b"abc").unwrap();
        let error = dir.compare_part(7, &sums).unwrap_err();
        assert!(!is_lost(&error), "{error}");
    }
}

#[test]
fn what_is_shorter_than_it_should_be_differs() {
    let temp = TempDir::new().unwrap();
    let dir = Root::open(temp.path()).unwrap().job_dir(&SafeName::from_raw("job")).unwrap();
    dir.part(7).unwrap().write_at(0, b"abc").unwrap();
    let crc32 = crc32fast::hash(b"abc");
    let sums = [3, 4].map(|length| Some(Sum { from: 0, length, crc32 }));
    assert_eq!(dir.compare_part(7, &sums).unwrap().agrees, [true, false]);
}

/// A file system whose inode numbers cannot be relied on.
#[derive(Debug)]
struct Renumbering(bool);

impl Kernel for Renumbering {
    fn renumbers_inodes(&self, _: BorrowedFd<'_>) -> bool {
        self.0
    }
}

/// A directory with one unfinished and one finished file, of which the inodes were others before.
fn renumbered(renumbers: bool) -> (TempDir, JobDir) {
    let temp = TempDir::new().unwrap();
    let root = Root::with_kernel(temp.path(), Arc::new(Renumbering(renumbers))).unwrap();
    let dir = root.job_dir(&SafeName::from_raw("job")).unwrap();
    for index in [0, 1] {
        dir.part(index).unwrap().write_at(0, b"abc").unwrap();
    }
    let part = dir.part(1).unwrap();
    dir.finish(&part, ByteCount(3), &[], &SafeName::from_raw("b")).unwrap();
    lock(&dir.parts).get_mut(&0).unwrap().identity.inode += 1000;
    lock(&dir.finished).get_mut(&1).unwrap().status.identity.inode += 1000;
    (temp, dir)
}

#[test]
fn a_file_that_only_has_another_inode_is_the_same_where_inodes_change() {
    let (_temp, dir) = renumbered(true);
    dir.check_promised().unwrap();
    dir.part(0).unwrap().write_at(3, b"def").unwrap();
    dir.part(0).unwrap().write_at(6, b"ghi").unwrap();
    let (_temp, dir) = renumbered(false);
    assert_eq!(dir.check_promised().unwrap_err().code(), "file.changed");
    assert_eq!(dir.part(0).unwrap_err().code(), "file.changed");
}

#[test]
fn another_file_in_its_place_is_found_where_inodes_change_too() {
    let (_temp, dir) = renumbered(true);
    for (name, times) in [("0000.part", "other"), ("b", "another")] {
        let [old, new] = [name, times].map(|name| dir.path().join(name));
        std::fs::write(&new, b"xyz").unwrap();
        let modified = std::fs::metadata(&old).unwrap().modified().unwrap();
        let later = modified + std::time::Duration::from_secs(1);
        std::fs::File::options().write(true).open(&new).unwrap().set_modified(later).unwrap();
        std::fs::rename(new, old).unwrap();
    }
    assert_eq!(dir.check_promised().unwrap_err().code(), "file.changed");
    assert_eq!(dir.part(0).unwrap_err().code(), "file.changed");
}

#[test]
fn the_file_that_was_read_is_the_one_that_is_gone_on_with() {
    let (_temp, dir) = renumbered(false);
    let sums = [Some(Sum { from: 0, length: 3, crc32: crc32fast::hash(b"abc") })];
    assert_eq!(dir.compare_part(0, &sums).unwrap().agrees, [true]);
    dir.part(0).unwrap().write_at(3, b"def").unwrap();
}
