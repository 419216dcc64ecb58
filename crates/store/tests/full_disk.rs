//! What is known of jobs can be written down on a disk that others have filled.

#![allow(clippy::unwrap_used)] // the exemption for tests does not reach their helpers

mod simulated_disk;

use std::fs;
use std::os::unix::fs::MetadataExt;

use bergamot_jobs::{Fingerprint, Record};
use bergamot_queue::Part;
use bergamot_store::{BootId, Directory, Entry, Folder, Spool};
use bergamot_types::UnixTime;
use simulated_disk::SimulatedDisk;

fn job(spool: &Spool) -> Record {
    let id = spool.next_id();
    let record = Record::new(id, "a job", UnixTime(0), "a.nzb", Fingerprint([id.0 as u8; 16]));
    spool.add(&record, &mut &b"<nzb></nzb>"[..]).unwrap();
    record
}

#[test]
fn a_record_is_changed_and_a_job_refused() {
    let disk = SimulatedDisk::new();
    let (spool, _) = Spool::open_in(disk.clone()).unwrap();
    let mut record = job(&spool);
    spool.update(&record).unwrap();
    assert!(disk.has_reserve(), "it is set aside while there is room");
    disk.fill();
    let other = Record::new(spool.next_id(), "another", UnixTime(0), "b.nzb", Fingerprint([9; 16]));
    let refused = spool.add(&other, &mut &b"<nzb></nzb>"[..]).unwrap_err();
    assert_eq!(refused.code(), "state.full", "the reserve is not for what can wait");
    record.priority = 50;
    spool.update(&record).unwrap();
    let (_, found) = Spool::open_in(disk.clone()).unwrap();
    assert_eq!(found.records, [Box::new(record.clone())]);
    assert!(!disk.has_reserve());
    disk.fill();
    assert_eq!(spool.update(&record).unwrap_err().code(), "state.full", "there was but one");
}

#[test]
fn a_journal_goes_on_without_a_gap() {
    let disk = SimulatedDisk::new();
    let (spool, _) = Spool::open_in(disk.clone()).unwrap();
    let record = job(&spool);
    let boot = BootId::of(b"this one");
    let (mut journal, _) = spool.journal(&record, boot).unwrap();
    let written = |segment| Entry::Written { file: 0, segment, part: Part::default() };
    journal.append(&[written(0)]).unwrap();
    journal.vouch(journal.mark()).unwrap();
    disk.fill();
    journal.append(&[written(1)]).unwrap();
    journal.vouch(journal.mark()).unwrap();
    assert!(disk.has_reserve(), "as soon as there is room, it is set aside again");
    let (_, replay) = spool.journal(&record, boot).unwrap();
    assert_eq!((replay.written.len(), replay.damaged), (2, 0));
}

#[test]
fn the_reserve_takes_room_until_it_is_given_up() {
    let home = tempfile::tempdir().unwrap();
    let folder = Folder::open(home.path()).unwrap();
    let allocated = || fs::metadata(home.path().join("reserve")).map(|it| it.blocks() * 512);
    folder.keep_reserve();
    folder.keep_reserve();
    assert!(allocated().unwrap() >= 1 << 20);
    assert!(folder.make_way() && !folder.make_way());
    assert!(allocated().is_err());
    folder.keep_reserve();
    assert!(allocated().unwrap() >= 1 << 20);
}
