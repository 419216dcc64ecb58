//! Tests of the journal: replay, damage, compaction.

use bergamot_types::JobId;

use super::*;
use crate::disk::directory::Folder;
use crate::journal::frame::BootId;
use bergamot_jobs::Fingerprint;

const NAME: &str = "00000007.journal";

struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn open(&self, boot: &str) -> (Journal, Replay) {
        self.open_as(7, boot)
    }

    fn open_as(&self, job: u32, boot: &str) -> (Journal, Replay) {
        let folder = Arc::new(Folder::open(self.0.path()).unwrap());
        let boot = BootId::of(boot.as_bytes());
        let owner = Owner::new(JobId(job), Fingerprint([1; 16]), boot);
        Journal::open(folder, NAME.to_owned(), owner).unwrap()
    }

    /// Which segments of file 0 are told of, and the names of files that are finished.
    fn told(&self, boot: &str) -> (Vec<u32>, Vec<String>) {
        let (_, replay) = self.open(boot);
        told(&replay)
    }

    fn bytes(&self) -> Vec<u8> {
        std::fs::read(self.0.path().join(NAME)).unwrap()
    }

    fn put(&self, bytes: &[u8]) {
        std::fs::write(self.0.path().join(NAME), bytes).unwrap();
    }
}

fn told(replay: &Replay) -> (Vec<u32>, Vec<String>) {
    let segments = replay.written.iter().map(|restored| restored.segment).collect();
    (segments, replay.finished.values().map(|finished| finished.name.clone()).collect())
}

fn written(segment: u32) -> Entry {
    let begin = Some(u64::from(segment) * 1000);
    let part = Part { begin, length: 1000, verified: true, ..Part::default() };
    Entry::Written { file: 0, segment, part }
}

fn finished(name: &str) -> Entry {
    let (name, status) = (name.to_owned(), None);
    let finished = Finished { name, verified: true, read_back: false, status };
    Entry::Finished { file: 0, finished }
}

fn nothing() -> (Vec<u32>, Vec<String>) {
    (Vec::new(), Vec::new())
}

#[test]
fn what_was_appended_outlives_the_process_and_what_was_vouched_for_the_machine() {
    let home = Home::new();
    let (mut journal, replay) = home.open("a");
    assert_eq!(replay, Replay::default());
    let mark = journal.append(&[written(3), written(1)]).unwrap();
    journal.append(&[written(2)]).unwrap();
    journal.vouch(mark).unwrap();
    assert_eq!(home.told("a").0, [3, 1, 2], "in the order in which they were written");
    assert_eq!(home.told("b").0, [3, 1]);
    assert_eq!(home.told("a").0, [3, 1], "and what is forgotten stays so");
}

#[test]
fn where_the_machine_does_not_say_which_run_it_is_in_only_vouched_entries_count() {
    let home = Home::new();
    let (mut journal, _) = home.open("");
    journal.append(&[written(1)]).unwrap();
    journal.vouch(journal.mark()).unwrap();
    journal.append(&[written(2)]).unwrap();
    assert_eq!(home.told("").0, [1]);
}

#[test]
fn what_is_taken_back_is_not_told_whoever_took_it_back() {
    let home = Home::new();
    let (mut journal, _) = home.open("a");
    journal.append(&[written(1), written(2)]).unwrap();
    journal.vouch(journal.mark()).unwrap();
    journal.append(&[Entry::Reopened { file: 0, segment: 1 }]).unwrap();
    assert_eq!(home.told("b").0, [2]);
    let (mut journal, _) = home.open("b");
    journal.append(&[Entry::Forgotten { file: 0 }, written(5)]).unwrap();
    assert_eq!(home.told("b").0, [5]);
    assert_eq!(home.told("c"), nothing());
}

/// A job of 100 GB has 140,000 articles.
#[test]
fn the_articles_of_a_file_share_its_name() {
    let home = Home::new();
    let (mut journal, _) = home.open("a");
    let named = |segment| {
        let Entry::Written { file, segment, part } = written(segment) else { unreachable!() };
        Entry::Written { file, segment, part: Part { name: Some("a.rar".into()), ..part } }
    };
    journal.append(&(0..100).map(named).collect::<Vec<_>>()).unwrap();
    let (_, replay) = home.open("a");
    let names: Vec<_> = replay.written.iter().map(|it| it.part.name.clone().unwrap()).collect();
    assert!(names.len() == 100 && names.iter().all(|name| Arc::ptr_eq(name, &names[0])));
}

#[test]
fn a_finished_file_is_told_with_what_was_written_of_it() {
    let home = Home::new();
    let (mut journal, _) = home.open("a");
    journal.append(&[written(0)]).unwrap();
    journal.vouch(journal.mark()).unwrap();
    journal.append(&[finished("f.rar")]).unwrap();
    let whole = (Vec::new(), vec!["f.rar".to_owned()]);
    assert_eq!(home.told("a"), whole);
    journal.compact().unwrap();
    assert_eq!(home.told("a"), whole);
    let unfinished = home.bytes();
    assert_eq!(home.told("b"), (vec![0], Vec::new()));
    home.put(&unfinished);
    let (mut journal, _) = home.open("a");
    journal.vouch(journal.mark()).unwrap();
    assert_eq!(home.told("b"), whole);
    let inside = home.open("b").1.inside_finished;
    assert_eq!(inside.iter().map(|it| it.segment).collect::<Vec<_>>(), [0], "to compare it with");
    journal.append(&[Entry::Reopened { file: 0, segment: 0 }]).unwrap();
    assert_eq!(home.told("a"), nothing());
}

#[test]
fn which_file_it_was_is_known_until_it_is_forgotten() {
    let home = Home::new();
    let identity = |inode| FileIdentity { device: 1, inode };
    let (mut journal, _) = home.open("a");
    let opened = |inode| Entry::Opened { file: 0, identity: identity(inode) };
    journal.append(&[opened(5), written(1), opened(6)]).unwrap();
    journal.compact().unwrap();
    let replay = home.open("a").1;
    assert_eq!((replay.identities, replay.written.len()), ([(0, identity(6))].into(), 1));
    journal.append(&[Entry::Forgotten { file: 0 }]).unwrap();
    assert_eq!(home.open("a").1, Replay::default());
}

#[test]
fn every_flip_costs_one_frame_and_every_cut_the_tail() {
    let home = Home::new();
    let (mut journal, _) = home.open("a");
    // Four of the same length.
    for segment in 40..44 {
        journal.append(&[written(segment)]).unwrap();
    }
    let whole = home.bytes();
    for at in 0..whole.len() {
        let mut flipped = whole.clone();
        flipped[at] ^= 1;
        home.put(&flipped);
        let (mut journal, replay) = home.open("a");
        let lost = 40 + (at / (whole.len() / 4)) as u32;
        let left: Vec<_> = (40..44).filter(|segment| *segment != lost).collect();
        assert_eq!((told(&replay).0, replay.damaged), (left, 1), "byte {at}");
        journal.append(&[written(9)]).unwrap();
        let (_, replay) = home.open("a");
        assert_eq!((replay.written.len(), replay.damaged), (4, 0), "byte {at}");
        home.put(&whole[..at]);
        let kept = at / (whole.len() / 4);
        assert_eq!(home.told("a").0.len(), kept, "cut at {at}");
    }
    home.put(&[whole.clone(), vec![0; 4096]].concat());
    assert_eq!(home.told("a").0.len(), 4);
    home.put(&[whole.clone(), whole].concat());
    assert_eq!(home.told("a").0.len(), 4);
}

#[test]
fn no_single_damage_brings_back_what_was_taken_back() {
    let home = Home::new();
    let (mut journal, _) = home.open("a");
    journal.append(&[written(1)]).unwrap();
    journal.append(&[Entry::Reopened { file: 0, segment: 1 }]).unwrap();
    let whole = home.bytes();
    for at in 0..whole.len() {
        let mut flipped = whole.clone();
        flipped[at] ^= 0x80;
        home.put(&flipped);
        assert_eq!(home.told("a"), nothing(), "byte {at}");
    }
}

#[test]
fn nor_where_so_much_was_taken_back_that_it_took_several_frames() {
    let home = Home::new();
    let (mut journal, _) = home.open("a");
    let segments = 0..300;
    journal.append(&segments.clone().map(written).collect::<Vec<_>>()).unwrap();
    let begin = home.bytes().len();
    let reopened = |segment| Entry::Reopened { file: 0, segment };
    journal.append(&segments.map(reopened).collect::<Vec<_>>()).unwrap();
    let whole = home.bytes();
    for at in (begin..whole.len()).step_by(11) {
        let mut flipped = whole.clone();
        flipped[at] ^= 0x80;
        home.put(&flipped);
        assert_eq!(home.told("a"), nothing(), "byte {at}");
    }
}

#[test]
fn the_journal_of_another_job_is_set_aside() {
    let home = Home::new();
    let (mut journal, _) = home.open_as(8, "a");
    journal.append(&[written(1)]).unwrap();
    let theirs = home.bytes();
    let (mut journal, replay) = home.open("a");
    assert_eq!(told(&replay), nothing());
    assert!(replay.set_aside.unwrap().starts_with("00000007.journal.damaged: "));
    journal.append(&[written(2)]).unwrap();
    assert_eq!(home.told("a").0, [2]);
    assert_eq!(std::fs::read(home.0.path().join("00000007.journal.damaged")).unwrap(), theirs);
}

#[test]
fn a_journal_that_says_the_same_again_and_again_does_not_grow_for_ever() {
    let home = Home::new();
    let (mut journal, _) = home.open("a");
    journal.compact_at = 10_000;
    for round in 0..2000 {
        journal.append(&[written(round % 5)]).unwrap();
        journal.compact_at = journal.compact_at.min(10_000);
    }
    assert!(home.bytes().len() <= 10_100, "{}", home.bytes().len());
    assert_eq!(home.told("a").0, [0, 1, 2, 3, 4]);
}
