//! Every byte of a small spool damaged in turn, and every file cut at every length.

#![allow(clippy::unwrap_used)] // the exemption for tests does not reach their helpers

mod simulated_disk;

use std::collections::BTreeSet;
use std::path::Path;

use bergamot_jobs::{Fingerprint, Outcome, Record, Records};
use bergamot_queue::{Cause, Ending, Part};
use bergamot_store::{BootId, Entry, Spool, SpoolContents};
use bergamot_types::{JobId, SplitMix, UnixTime};
use simulated_disk::SimulatedDisk;

/// Files by their names.
type Files = Vec<(String, Vec<u8>)>;

/// Three jobs: one that waits, one that is half downloaded, one that failed.
fn small_spool() -> (Files, Records) {
    let disk = SimulatedDisk::new();
    let (spool, _) = Spool::open_in(disk.clone()).unwrap();
    for number in 1..=3 {
        let print = Fingerprint([number; 16]);
        let record = Record::new(spool.next_id(), "a job", UnixTime(0), "a.nzb", print);
        spool.add(&record, &mut &b"<nzb></nzb>"[..]).unwrap();
        let (mut journal, _) = spool.journal(&record, boot()).unwrap();
        if number == 2 {
            let written = |segment| Entry::Written { file: 0, segment, part: Part::default() };
            journal.append(&[written(0), written(1)]).unwrap();
            journal.vouch(journal.mark()).unwrap();
        }
        if number == 3 {
            let mut ended = record;
            let ending = Ending::Failed(Cause::TakenDown);
            ended.end(Outcome::new(ending, UnixTime(7), "job.taken_down: all of it"));
            spool.update(&ended).unwrap();
        }
    }
    spool.begin(JobId(1), None).unwrap();
    let (_, found) = Spool::open_in(disk.clone()).unwrap();
    assert!(found.set_aside.is_empty() && found.records.len() == 3);
    (disk.files(), found.records)
}

fn boot() -> BootId {
    BootId::of(b"this one")
}

/// Which jobs are not as they were, each named by what is told of it.
fn affected(found: &SpoolContents, whole: &[Box<Record>]) -> BTreeSet<JobId> {
    // How often it was in hand is only a hint.
    let same =
        |one: &Record, other: &Record| Record { starts: other.starts, ..one.clone() } == *other;
    let is_there = |record: &Record| found.records.iter().any(|known| same(known, record));
    let lost = whole.iter().filter(|record| !is_there(record));
    let lost: BTreeSet<_> = lost.map(|record| record.id).collect();
    for job in &lost {
        let name = format!("{:08}.job", job.0);
        let told = |path: &Path| path.to_string_lossy().contains(&name);
        assert!(found.set_aside.iter().any(|(path, _)| told(path)), "{job} is lost in silence");
    }
    lost
}

/// Opens what `files` hold, twice, for a repair must not do more harm.
fn open_damaged(files: &Files, whole: &[Box<Record>], what: &str) {
    let disk = SimulatedDisk::with(files);
    let (mut counts, mut to_rebuild) = (Vec::new(), Vec::new());
    for _ in 0..2 {
        let (spool, found) =
            Spool::open_in(disk.clone()).unwrap_or_else(|error| panic!("{what}: {error}"));
        counts.push(whole.len() - found.records.len());
        to_rebuild.push(found.to_rebuild.clone());
        if counts.len() == 1 {
            assert!(affected(&found, whole).len() <= 1, "{what}: {:?}", found.set_aside);
        }
        for record in &found.records {
            let (_, replay) = spool.journal(record, boot()).unwrap();
            let most = if record.id == JobId(2) { 2 } else { 0 };
            assert!(replay.written.len() <= most, "{what}: {replay:?}");
            assert!(replay.finished.is_empty(), "{what}");
        }
        assert!(spool.next_id() > JobId(3), "{what}: a number is given twice");
    }
    assert_eq!(counts[0], counts[1], "{what}");
    assert_eq!(
        to_rebuild[0], to_rebuild[1],
        "{what}: a daemon that dies in between forgets nothing"
    );
    assert_eq!(counts[0], to_rebuild[0].len(), "{what}: the NZB of each is there");
}

#[test]
fn a_job_with_a_damaged_record_is_rebuilt_once() {
    let (files, _) = small_spool();
    let mut damaged = files.clone();
    let record = damaged.iter_mut().find(|(name, _)| name == "00000002.job").unwrap();
    record.1[40] ^= 1;
    let disk = SimulatedDisk::with(&damaged);
    let (spool, found) = Spool::open_in(disk.clone()).unwrap();
    assert_eq!(found.to_rebuild, [JobId(2)]);
    assert!(found.set_aside[0].0.ends_with("00000002.job.damaged") && found.set_aside.len() == 1);
    spool.nzb(JobId(2)).unwrap().finish(true).unwrap();
    spool.update(&Record::new(JobId(2), "b", UnixTime(0), "", Fingerprint([2; 16]))).unwrap();
    let (spool, found) = Spool::open_in(disk.clone()).unwrap();
    assert_eq!((found.records.len(), found.to_rebuild, found.set_aside), (3, vec![], vec![]));
    spool.remove(&[JobId(2)]).unwrap();
    let (_, found) = Spool::open_in(disk).unwrap();
    assert_eq!((found.records.len(), found.to_rebuild), (2, vec![]), "it does not come back");
}

#[test]
fn an_nzb_that_cannot_be_used_is_set_aside_and_not_tried_again() {
    let (files, _) = small_spool();
    let without: Files = files.into_iter().filter(|(name, _)| name != "00000002.job").collect();
    let mut damaged = without;
    damaged.push(("00000002.job.damaged".to_owned(), b"?".to_vec()));
    let disk = SimulatedDisk::with(&damaged);
    let (spool, found) = Spool::open_in(disk.clone()).unwrap();
    assert_eq!(found.to_rebuild, [JobId(2)]);
    let (path, why) = spool.set_nzb_aside(JobId(2), "state.damaged".to_owned());
    assert!(path.ends_with("00000002.nzb.orphan") && why == "state.damaged");
    let (_, found) = Spool::open_in(disk).unwrap();
    assert!(found.to_rebuild.is_empty());
}

#[test]
fn a_flipped_bit_in_an_nzb_is_found_when_it_is_read() {
    let (files, _) = small_spool();
    let at = files.iter().position(|(name, _)| name == "00000001.nzb").unwrap();
    for byte in 0..11 {
        let mut damaged = files.clone();
        damaged[at].1[byte] ^= 4;
        let (spool, _) = Spool::open_in(SimulatedDisk::with(&damaged)).unwrap();
        let finished = spool.nzb(JobId(1)).unwrap().finish(true);
        assert_eq!(finished.unwrap_err().code(), "state.damaged", "byte {byte}");
    }
    let mut older = files;
    older[at].1 = b"<nzb></nzb>".to_vec();
    let (spool, _) = Spool::open_in(SimulatedDisk::with(&older)).unwrap();
    spool.nzb(JobId(1)).unwrap().finish(false).unwrap();
}

#[test]
fn every_flipped_byte_costs_one_job_at_most_and_it_is_named() {
    let (files, whole) = small_spool();
    let mut cases = 0;
    for (file, (name, bytes)) in files.iter().enumerate() {
        for at in 0..bytes.len() {
            for bit in [0x01, 0x10, 0x80] {
                let mut damaged = files.clone();
                damaged[file].1[at] ^= bit;
                open_damaged(&damaged, &whole, &format!("{name}, byte {at} ^ {bit}"));
                cases += 1;
            }
        }
    }
    println!("{cases} flips");
}

#[test]
fn every_cut_costs_one_job_at_most_and_it_is_named() {
    let (files, whole) = small_spool();
    for (file, (name, bytes)) in files.iter().enumerate() {
        for length in 0..bytes.len() {
            let mut damaged = files.clone();
            damaged[file].1.truncate(length);
            open_damaged(&damaged, &whole, &format!("{name} cut to {length}"));
        }
        let mut without = files.clone();
        without.remove(file);
        let (_, found) = Spool::open_in(SimulatedDisk::with(&without)).unwrap();
        assert!(whole.len() - found.records.len() <= 1, "without {name}");
    }
}

#[test]
fn bytes_of_any_kind_are_opened() {
    let mut chance = SplitMix::seeded(7);
    for round in 0..500 {
        let names =
            ["00000001.job", "00000001.nzb", "00000001.journal", "in-hand", "00000002.last"];
        let files = names.map(|name| {
            let length = chance.up_to(200);
            (name.to_owned(), (0..length).map(|_| chance.up_to(255) as u8).collect())
        });
        let (_, found) = Spool::open_in(SimulatedDisk::with(&files)).unwrap();
        assert!(found.records.is_empty() && !found.set_aside.is_empty(), "round {round}");
    }
}
