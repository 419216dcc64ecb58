//! The power is cut at every step, and again while the spool recovers from that.

#![allow(clippy::unwrap_used)] // the exemption for tests does not reach their helpers

mod simulated_disk;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::sync::Arc;

use bergamot_jobs::{Fingerprint, Kin, Origin, Record};
use bergamot_queue::Part;
use bergamot_store::{Addition, BootId, Entry, Replay, Spool, SpoolContents, StoreError};
use bergamot_types::{JobId, SplitMix, UnixTime};
use simulated_disk::SimulatedDisk;

/// What was promised, and what was only attempted.
#[derive(Debug, Default)]
struct Promises {
    /// All states that a job may be found in. The first is the last that was acknowledged.
    jobs: BTreeMap<JobId, Vec<Option<Record>>>,
    /// Of job 1: segments that are on the disk, and whether the journal must say so.
    on_disk: BTreeSet<u32>,
    vouched: BTreeSet<u32>,
    taken_back: BTreeSet<u32>,
    appended: BTreeSet<u32>,
}

impl Promises {
    /// `then` is what the job shall be; acknowledged, it is nothing else.
    fn attempt(&mut self, job: JobId, then: Option<Record>) {
        self.jobs.entry(job).or_insert_with(|| vec![None]).push(then);
    }

    fn acknowledge(&mut self, job: JobId) {
        if let Some(states) = self.jobs.get_mut(&job) {
            *states = states.split_off(states.len() - 1);
        }
    }
}

fn record(number: u32) -> Record {
    let print = Fingerprint([number as u8; 16]);
    // Longer than a sector, so that it can be torn.
    let name = format!("job {number} ").repeat(80);
    Record::new(JobId(number), &name, UnixTime(0), "rpc", print)
}

fn written(segment: u32) -> Entry {
    let part = Part { begin: Some(u64::from(segment) * 10), length: 10, ..Part::default() };
    Entry::Written { file: 0, segment, part }
}

/// A day in the life of a spool. Whatever fails ends it.
fn live(disk: &Arc<SimulatedDisk>, promises: &mut Promises) -> Result<(), StoreError> {
    let (spool, _) = Spool::open_in(disk.clone())?;
    add(&spool, promises, &[1])?;
    add(&spool, promises, &[2, 3])?;
    let mut moved = record(2);
    moved.rank = -7;
    promises.attempt(moved.id, Some(moved.clone()));
    spool.update(&moved)?;
    promises.acknowledge(moved.id);
    download(&spool, promises)?;
    promises.attempt(JobId(3), None);
    spool.remove(&[JobId(3)])?;
    promises.acknowledge(JobId(3));
    add(&spool, promises, &[4])?;
    let first = split(&spool, promises)?;
    join(&spool, promises, moved)?;
    begin_anew(&spool, promises, first)
}

/// A file of job 1 becomes job 5.
fn split(spool: &Spool, promises: &mut Promises) -> Result<Record, StoreError> {
    let (mut parent, mut new) = (record(1), record(5));
    let origin = Some(Origin { job: parent.id, files: vec![1] });
    new.kin = Some(Box::new(Kin { origin, ..Kin::default() }));
    parent.give_away_to(&new);
    promises.attempt(parent.id, Some(parent.clone()));
    promises.attempt(new.id, Some(new.clone()));
    spool.add(&new, &mut &*NZB)?;
    promises.acknowledge(new.id);
    spool.update(&parent)?;
    promises.acknowledge(parent.id);
    Ok(parent)
}

/// Job 1 lies elsewhere from now on: once its record says so, nothing of what was noted before counts.
fn begin_anew(spool: &Spool, promises: &mut Promises, mut job: Record) -> Result<(), StoreError> {
    promises.vouched.clear();
    promises.appended.clear();
    spool.forget_journal(job.id)?;
    spool.drop_journal(job.id)?;
    job.directory = Some("elsewhere".into());
    promises.attempt(job.id, Some(job.clone()));
    spool.update(&job)?;
    promises.acknowledge(job.id);
    promises.on_disk.clear();
    Ok(())
}

/// Jobs 4 and 5 become part of job 2, which is then forgotten.
fn join(spool: &Spool, promises: &mut Promises, mut whole: Record) -> Result<(), StoreError> {
    let donors = [JobId(4), JobId(5)];
    whole.join(&record(4), 1, 1);
    whole.join(&record(5), 2, 1);
    promises.attempt(whole.id, Some(whole.clone()));
    donors.iter().for_each(|donor| promises.attempt(*donor, None));
    spool.update(&whole)?;
    assert!(donors.iter().all(|donor| spool.is_part(*donor)));
    promises.acknowledge(whole.id);
    donors.iter().for_each(|donor| promises.acknowledge(*donor));
    spool.remove(&donors)?;
    promises.attempt(whole.id, None);
    spool.remove(&[whole.id])?;
    promises.acknowledge(whole.id);
    Ok(())
}

fn add(spool: &Spool, promises: &mut Promises, numbers: &[u32]) -> Result<(), StoreError> {
    let records: Vec<_> = numbers.iter().map(|number| record(*number)).collect();
    let mut nzbs: Vec<&[u8]> = records.iter().map(|_| NZB).collect();
    let additions = records.iter().zip(&mut nzbs);
    let mut additions: Vec<_> = additions.map(|(record, nzb)| Addition { record, nzb }).collect();
    records.iter().for_each(|record| promises.attempt(record.id, Some(record.clone())));
    let results = spool.add_all(&mut additions);
    for (record, result) in records.iter().zip(results) {
        result?;
        promises.acknowledge(record.id);
    }
    Ok(())
}

/// Of job 1. What is on the disk is simulated by saying so.
fn download(spool: &Spool, promises: &mut Promises) -> Result<(), StoreError> {
    let (mut journal, _) = spool.journal(&record(1), BootId::of(b"first"))?;
    let early = journal.append(&[written(0), written(1)])?;
    promises.appended.extend([0, 1]);
    journal.append(&[written(2)])?;
    promises.appended.insert(2);
    promises.on_disk.extend([0, 1]);
    journal.vouch(early)?;
    promises.vouched.extend([0, 1]);
    promises.vouched.remove(&1);
    promises.appended.remove(&1);
    journal.append(&[Entry::Reopened { file: 0, segment: 1 }])?;
    promises.taken_back.insert(1);
    let late = journal.append(&(3..40).map(written).collect::<Vec<_>>())?;
    promises.appended.extend(3..40);
    promises.on_disk.extend(2..40);
    journal.vouch(late)?;
    promises.vouched.extend(2..40);
    journal.append(&[written(50)])?;
    promises.appended.insert(50);
    journal.compact()?;
    journal.append(&[written(51)]).map(drop)
}

/// Opens what is left and goes on as a daemon does.
fn recover(
    disk: &Arc<SimulatedDisk>,
    boot: &[u8],
) -> Result<(Spool, SpoolContents, Replay), StoreError> {
    let (spool, found) = Spool::open_in(disk.clone())?;
    let first = found.records.iter().find(|record| record.id == JobId(1));
    let replay = match first {
        Some(first) => spool.journal(first, BootId::of(boot))?.1,
        None => Replay::default(),
    };
    Ok((spool, found, replay))
}

fn check(promises: &Promises, disk: &Arc<SimulatedDisk>, what: &str) {
    let (spool, found, replay) = recover(disk, b"last").unwrap();
    for (job, states) in &promises.jobs {
        let there =
            found.records.iter().find(|record| record.id == *job).map(|record| (**record).clone());
        assert!(states.contains(&there), "{what}: job {job} is {there:?}, {:?}", found.set_aside);
        // A job that nobody was promised may lack its NZB, and so may one that was to be removed.
        if let Some(there) = there.filter(|_| !states.contains(&None)) {
            assert!(!found.without_nzb.contains(job), "{what}: job {job} has no NZB");
            for part in there.nzbs() {
                let mut nzb = Vec::new();
                spool.nzb(part).unwrap().read_to_end(&mut nzb).unwrap();
                assert_eq!(nzb, NZB, "{what}");
            }
        }
    }
    check_kin(promises, &found.records, what);
    let highest = promises.jobs.iter().rfind(|(_, states)| states.len() == 1);
    assert!(highest.is_none_or(|(job, _)| *job < spool.next_id()), "{what}: a number twice");
    let known = |record: &Record| promises.jobs.contains_key(&record.id);
    assert!(found.records.iter().all(|record| known(record)), "{what}: {:?}", found.records);
    let told: BTreeSet<_> = replay.written.iter().map(|restored| restored.segment).collect();
    assert!(told.is_subset(&promises.on_disk), "{what}: {told:?} is claimed");
    assert!(told.is_disjoint(&promises.taken_back), "{what}: {told:?} is claimed");
    assert!(told.is_superset(&promises.vouched), "{what}: only {told:?} is left");
}

/// No file is in two jobs, and none in no job.
fn check_kin(promises: &Promises, records: &[Box<Record>], what: &str) {
    let find = |job| records.iter().find(|record| record.id == JobId(job));
    let is_part = |job| records.iter().any(|it| it.joined().iter().any(|it| it.job == JobId(job)));
    let has_given = find(1).is_some_and(|first| first.file_choices.is_some());
    let was_removed = promises.jobs.get(&JobId(2)).is_some_and(|states| states.contains(&None));
    let is_somewhere = find(5).is_some() || is_part(5);
    assert!(has_given == is_somewhere || has_given && was_removed, "{what}: {records:?}");
    for job in [4, 5] {
        assert!(find(job).is_none() || !is_part(job), "{what}: {job} is there twice");
    }
}

fn whole_day() -> usize {
    let disk = SimulatedDisk::new();
    let mut promises = Promises::default();
    live(&disk, &mut promises).unwrap();
    check(&promises, &disk.after_power_cut(&mut SplitMix::seeded(0)), "a whole day");
    disk.steps()
}

#[test]
fn nothing_that_was_promised_is_lost_whenever_the_power_is_cut() {
    for cut in 0..=whole_day() {
        for seed in 0..24 {
            let (disk, mut promises) = (SimulatedDisk::new(), Promises::default());
            disk.cut_after(cut);
            let _ = live(&disk, &mut promises);
            let left = disk.after_power_cut(&mut SplitMix::seeded(seed));
            check(&promises, &left, &format!("cut after {cut}, seed {seed}"));
        }
    }
}

#[test]
fn nothing_is_lost_when_the_power_is_cut_again_while_recovering() {
    for cut in 0..=whole_day() {
        for seed in 0..6 {
            let mut chance = SplitMix::seeded(seed);
            let (disk, mut promises) = (SimulatedDisk::new(), Promises::default());
            disk.cut_after(cut);
            let _ = live(&disk, &mut promises);
            let mut left = disk.after_power_cut(&mut chance);
            for again in (0..).take_while(|again| *again < 12) {
                left.cut_after(again);
                let _ = recover(&left, format!("boot {again}").as_bytes());
                left = left.after_power_cut(&mut chance);
            }
            check(&promises, &left, &format!("cut after {cut} and again, seed {seed}"));
        }
    }
}

#[test]
fn a_process_that_dies_loses_nothing_at_all() {
    for cut in 0..=whole_day() {
        let (disk, mut promises) = (SimulatedDisk::new(), Promises::default());
        disk.cut_after(cut);
        let _ = live(&disk, &mut promises);
        let left = SimulatedDisk::with(&disk.files());
        let (_, _, replay) = recover(&left, b"first").unwrap();
        let told: BTreeSet<_> = replay.written.iter().map(|restored| restored.segment).collect();
        assert!(told.is_superset(&promises.appended), "cut after {cut}: only {told:?} is left");
        assert!(told.is_disjoint(&promises.taken_back), "cut after {cut}: {told:?} is claimed");
    }
}

const NZB: &[u8] = b"<nzb></nzb>";
