//! Tests of the spool on a disk.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use bergamot_queue::{Cause, Ending, JobState};
use bergamot_types::UnixTime;

use super::*;
use crate::journal::Entry;
use bergamot_jobs::Outcome;

fn record(id: JobId) -> Record {
    let print = Fingerprint([id.0 as u8; 16]);
    Record::new(id, &format!("job {id}"), UnixTime(0), &format!("{id}.nzb"), print)
}

fn add(spool: &Spool) -> Record {
    let record = record(spool.next_id());
    spool.add(&record, &mut &b"<nzb/>"[..]).unwrap();
    record
}

fn failed(mut record: Record) -> Record {
    let ending = Ending::Failed(Cause::Incomplete);
    record.end(Outcome { sequence: 5, ..Outcome::new(ending, UnixTime(0), "") });
    record
}

fn names(path: &Path) -> Vec<String> {
    let entries = fs::read_dir(path).unwrap();
    let name = |entry: io::Result<fs::DirEntry>| entry.unwrap().file_name().into_string();
    let mut names: Vec<_> = entries.map(|entry| name(entry).unwrap()).collect();
    names.sort();
    names
}

#[test]
fn jobs_come_back_in_order_with_their_nzbs() {
    let home = tempfile::tempdir().unwrap();
    let (spool, found) = Spool::open(home.path()).unwrap();
    assert!(found.records.is_empty());
    let added = [add(&spool), add(&spool)];
    drop(spool);
    let (spool, found) = Spool::open(home.path()).unwrap();
    assert_eq!(found.records, added.map(Box::new));
    let mut nzb = String::new();
    spool.nzb(JobId(2)).unwrap().read_to_string(&mut nzb).unwrap();
    assert_eq!((nzb.as_str(), spool.next_id()), ("<nzb/>", JobId(3)));
}

#[test]
fn a_job_may_be_there_before_its_nzb() {
    let home = tempfile::tempdir().unwrap();
    let (spool, _) = Spool::open(home.path()).unwrap();
    let mut first = record(spool.next_id());
    (first.life, first.fingerprint) = (JobState::Fetching, Fingerprint::default());
    spool.add(&first, &mut io::empty()).unwrap();
    assert_eq!(spool.same_articles(Fingerprint::default()), None, "it has none yet");
    spool.put_nzb(first.id, &mut &b"<nzb/>"[..]).unwrap();
    (first.life, first.fingerprint) = (JobState::Queued, Fingerprint([7; 16]));
    spool.expect(&first);
    assert_eq!(spool.copies(first.fingerprint), [first.id]);
    drop(spool);
    let (spool, found) = Spool::open(home.path()).unwrap();
    assert_eq!(found.records[0].life, JobState::Fetching);
    let mut nzb = String::new();
    spool.nzb(first.id).unwrap().read_to_string(&mut nzb).unwrap();
    assert_eq!(nzb, "<nzb/>");
}

#[test]
fn two_daemons_cannot_share_a_spool() {
    let home = tempfile::tempdir().unwrap();
    let _first = Spool::open(home.path()).unwrap();
    let error = Spool::open(home.path()).unwrap_err();
    assert_eq!(error.code(), "state.locked");
    let holder = format!("(process {} on ", std::process::id());
    assert!(error.to_string().contains(&holder), "{error}");
}

#[test]
fn a_damaged_record_costs_itself_and_is_kept_for_people() {
    let home = tempfile::tempdir().unwrap();
    let (spool, _) = Spool::open(home.path()).unwrap();
    let (first, second) = (add(&spool), add(&spool));
    spool.journal(&first, BootId::of(b"a")).unwrap().0.append(&[written()]).unwrap();
    drop(spool);
    fs::write(home.path().join("00000001.job"), b"bergamot-job 1 0000").unwrap();
    fs::write(home.path().join("00000009.job.draft"), b"half").unwrap();
    let (spool, found) = Spool::open(home.path()).unwrap();
    assert_eq!(found.records, [Box::new(second)]);
    let aside: Vec<_> = found.set_aside.iter().map(|(path, _)| path.clone()).collect();
    assert_eq!(aside, [home.path().join("00000001.job.damaged")]);
    assert_eq!(found.to_rebuild, [JobId(1)], "its NZB and its journal stay");
    assert!(!home.path().join("00000009.job.draft").exists());
    assert!(spool.next_id() > JobId(9), "no number is given again");
    let (_, found) = Spool::open_in(Arc::new(Folder::open(home.path()).unwrap())).unwrap();
    assert!(found.set_aside.is_empty(), "and that is told once: {:?}", found.set_aside);
    spool.set_nzb_aside(JobId(1), String::new());
    let (_, found) = Spool::open_in(Arc::new(Folder::open(home.path()).unwrap())).unwrap();
    let aside: Vec<_> = found.set_aside.iter().map(|(path, _)| path.clone()).collect();
    assert_eq!(aside, [home.path().join("00000001.journal.orphan")]);
}

#[test]
fn nothing_new_is_taken_while_something_else_cannot_be_written() {
    let home = tempfile::tempdir().unwrap();
    let (spool, _) = Spool::open(home.path()).unwrap();
    let first = add(&spool);
    spool.set_unwritable(Some("state.io: the journal".to_owned()));
    let new = record(spool.next_id());
    let refused = spool.add(&new, &mut &b"<nzb/>"[..]).unwrap_err();
    assert_eq!(refused.code(), "state.unwritable");
    assert!(refused.to_string().contains("state.io: the journal"), "{refused}");
    assert!(spool.put_nzb(first.id, &mut &b"<nzb/>"[..]).is_err());
    assert!(spool.try_room(new.id, 1).is_err());
    spool.update(&failed(first)).unwrap();
    spool.set_unwritable(None);
    spool.add(&new, &mut &b"<nzb/>"[..]).unwrap();
}

#[test]
fn the_same_articles_are_known_unless_they_failed() {
    let home = tempfile::tempdir().unwrap();
    let (spool, _) = Spool::open(home.path()).unwrap();
    let record = add(&spool);
    let print = record.fingerprint;
    assert_eq!(spool.same_articles(print), Some((record.id, "1.nzb".into())));
    let again = Record { id: spool.next_id(), source: "2.nzb".into(), ..record.clone() };
    spool.add(&again, &mut &b""[..]).unwrap();
    assert_eq!(spool.same_articles(print), Some((again.id, "2.nzb".into())));
    spool.update(&failed(again)).unwrap();
    assert_eq!(spool.same_articles(print), Some((record.id, "1.nzb".into())));
    spool.remove(&[record.id]).unwrap();
    assert_eq!(spool.same_articles(print), None);
}

#[test]
fn of_two_records_of_one_job_the_later_holds() {
    let home = tempfile::tempdir().unwrap();
    let (spool, _) = Spool::open(home.path()).unwrap();
    let (mut earlier, mut later) = (add(&spool), record(JobId(1)));
    (earlier.rank, later.rank) = (3, 4);
    assert!(spool.update_all(&[&earlier, &later]).is_empty());
    drop(spool);
    let (_, found) = Spool::open(home.path()).unwrap();
    assert_eq!(found.records, [Box::new(later)]);
}

#[test]
fn a_spool_of_a_newer_bergamot_is_refused_and_left_as_it_is() {
    let home = tempfile::tempdir().unwrap();
    let (spool, _) = Spool::open(home.path()).unwrap();
    add(&spool);
    drop(spool);
    let newer = crate::disk::checksummed::seal("bergamot-job", 4, "whatever");
    fs::write(home.path().join("00000002.job"), newer).unwrap();
    fs::write(home.path().join("00000003.job"), "damaged").unwrap();
    fs::write(home.path().join("00000004.nzb.draft"), "half").unwrap();
    let before = names(home.path());
    let error = Spool::open(home.path()).unwrap_err();
    assert_eq!(error.code(), "state.newer");
    let path = home.path().join("00000002.job");
    let expected = "was written by a newer bergamot (version 4; this one knows 3)";
    assert_eq!(error.to_string(), format!("{} {expected}", path.display()));
    assert_eq!(names(home.path()), before);
}

#[test]
fn a_job_that_is_part_of_another_is_known_by_its_articles_and_goes_with_it() {
    let home = tempfile::tempdir().unwrap();
    let (spool, _) = Spool::open(home.path()).unwrap();
    let (mut whole, part) = (add(&spool), add(&spool));
    whole.join(&part, 1, 1);
    spool.update(&whole).unwrap();
    drop(spool);
    let (spool, found) = Spool::open(home.path()).unwrap();
    assert_eq!((found.records, found.joined), (vec![Box::new(whole.clone())], vec![part.clone()]));
    spool.remove(&[part.id]).unwrap();
    assert!(spool.is_part(part.id) && spool.nzb(part.id).is_ok());
    assert_eq!(spool.same_articles(part.fingerprint).unwrap().0, whole.id);
    drop(spool);
    let (spool, found) = Spool::open(home.path()).unwrap();
    assert!(found.joined.is_empty() && found.set_aside.is_empty(), "{found:?}");
    spool.remove(&[whole.id]).unwrap();
    assert!(spool.nzb(part.id).is_err() && spool.same_articles(part.fingerprint).is_none());
    drop(spool);
    let (spool, found) = Spool::open(home.path()).unwrap();
    assert!(found.records.is_empty() && found.set_aside.is_empty(), "{found:?}");
    assert_eq!((spool.last_id(), spool.next_id()), (JobId(2), JobId(3)));
}

#[test]
fn a_record_that_the_disk_gives_another_time_keeps_what_is_part_of_its_job() {
    let home = tempfile::tempdir().unwrap();
    let (spool, _) = Spool::open(home.path()).unwrap();
    let (mut whole, part) = (add(&spool), add(&spool));
    whole.join(&part, 1, 1);
    spool.update(&whole).unwrap();
    spool.remove(&[part.id]).unwrap();
    drop(spool);
    let (record, aside) = (home.path().join("00000001.job"), home.path().join("aside"));
    fs::rename(&record, &aside).unwrap();
    fs::write(&record, vec![b' '; 5 << 20]).unwrap(); // far too long, so it is not read at all
    let (spool, found) = Spool::open(home.path()).unwrap();
    assert!(found.records.is_empty() && found.set_aside.len() == 1, "{found:?}");
    drop(spool);
    fs::rename(&aside, &record).unwrap();
    let (spool, found) = Spool::open(home.path()).unwrap();
    assert_eq!(found.records, [Box::new(whole)]);
    assert!(found.without_nzb.is_empty() && spool.nzb(part.id).is_ok());
}

#[test]
fn what_is_removed_leaves_nothing_but_its_number() {
    let home = tempfile::tempdir().unwrap();
    let (spool, _) = Spool::open(home.path()).unwrap();
    let jobs = [add(&spool), add(&spool), add(&spool)];
    spool.journal(&jobs[2], BootId::of(b"a")).unwrap().0.append(&[written()]).unwrap();
    spool.remove(&[JobId(1), JobId(3)]).unwrap();
    let left = ["00000002.job", "00000002.nzb", "00000003.last", "lock", "reserve"];
    assert_eq!(names(home.path()), left);
    drop(spool);
    let (spool, found) = Spool::open(home.path()).unwrap();
    assert_eq!((found.records.len(), spool.next_id()), (1, JobId(4)));
    add(&spool);
    drop(spool);
    let (_, found) = Spool::open(home.path()).unwrap();
    assert!(found.set_aside.is_empty());
    assert!(!home.path().join("00000003.last").exists(), "a higher one is there");
}

#[test]
fn a_removal_that_was_begun_is_finished_at_the_next_start() {
    for left in [&["nzb", "journal"][..], &["journal"], &[]] {
        let home = tempfile::tempdir().unwrap();
        let (spool, _) = Spool::open(home.path()).unwrap();
        let (mut whole, part, other) = (add(&spool), add(&spool), add(&spool));
        spool.journal(&whole, BootId::of(b"a")).unwrap().0.append(&[written()]).unwrap();
        whole.join(&part, 1, 1);
        spool.update(&whole).unwrap();
        spool.remove(&[part.id]).unwrap();
        drop(spool);
        let path = |extension: &str| home.path().join(format!("00000001.{extension}"));
        fs::rename(path("job"), path("gone")).unwrap();
        for extension in ["nzb", "journal"].iter().filter(|it| !left.contains(it)) {
            fs::remove_file(path(extension)).unwrap();
        }
        let (spool, found) = Spool::open(home.path()).unwrap();
        assert_eq!(found.records, [Box::new(other)]);
        assert!(found.set_aside.is_empty() && found.without_nzb.is_empty(), "{found:?}");
        let left = ["00000003.job", "00000003.nzb", "lock", "reserve"];
        assert_eq!(names(home.path()), left);
        assert_eq!(spool.next_id(), JobId(4));
    }
}

#[test]
fn a_job_that_was_in_hand_when_two_daemons_died_is_suspect() {
    let home = tempfile::tempdir().unwrap();
    let (spool, _) = Spool::open(home.path()).unwrap();
    let (bad, good) = (add(&spool).id, add(&spool).id);
    spool.begin(good, None).unwrap();
    spool.begin(bad, None).unwrap();
    drop(spool);
    let (spool, found) = Spool::open(home.path()).unwrap();
    assert_eq!((found.records[0].starts, found.suspects), (1, vec![]));
    spool.begin(good, None).unwrap();
    spool.begin(bad, Some(good)).unwrap();
    drop(spool);
    let (spool, found) = Spool::open(home.path()).unwrap();
    assert_eq!(found.suspects, [bad]);
    assert_eq!(found.records.iter().map(|record| record.starts).collect::<Vec<_>>(), [2, 0]);
    spool.ended(bad).unwrap();
    drop(spool);
    let (_, found) = Spool::open(home.path()).unwrap();
    assert!(found.suspects.is_empty());
}

#[test]
fn jobs_without_an_nzb_and_nzbs_without_a_job_are_told_of() {
    let home = tempfile::tempdir().unwrap();
    let (spool, _) = Spool::open(home.path()).unwrap();
    let (queued, ended) = (add(&spool), add(&spool));
    spool.update(&failed(ended)).unwrap();
    drop(spool);
    fs::remove_file(home.path().join("00000001.nzb")).unwrap();
    fs::remove_file(home.path().join("00000002.nzb")).unwrap();
    fs::write(home.path().join("00000007.nzb"), "<nzb/>").unwrap();
    fs::create_dir(home.path().join("00000008.job")).unwrap();
    fs::write(home.path().join("letter.txt"), "of another program").unwrap();
    let (spool, found) = Spool::open(home.path()).unwrap();
    assert_eq!((found.without_nzb, found.records.len()), (vec![queued.id], 2));
    assert_eq!(found.set_aside.len(), 1);
    assert_eq!(found.set_aside[0].0, home.path().join("00000007.nzb.orphan"));
    assert_eq!(spool.nzb(queued.id).err().unwrap().code(), "state.io");
    assert_eq!(spool.next_sequence(), 6);
}

#[test]
fn an_nzb_that_cannot_be_read_is_not_accepted_and_holds_up_no_other() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::from_raw_os_error(28))
        }
    }
    let home = tempfile::tempdir().unwrap();
    let (spool, _) = Spool::open(home.path()).unwrap();
    let records = [record(spool.next_id()), record(spool.next_id())];
    let mut additions = [
        Addition { record: &records[0], nzb: &mut Broken },
        Addition { record: &records[1], nzb: &mut &b"<nzb/>"[..] },
    ];
    let results = spool.add_all(&mut additions);
    assert_eq!(results[0].as_ref().unwrap_err().code(), "state.full");
    assert!(results[1].is_ok());
    assert_eq!(names(home.path()), ["00000002.job", "00000002.nzb", "lock", "reserve"]);
    assert_eq!(spool.same_articles(records[0].fingerprint), None);
}

#[test]
fn room_is_tried_without_filling_it() {
    let home = tempfile::tempdir().unwrap();
    let (spool, _) = Spool::open(home.path()).unwrap();
    let before = names(home.path());
    let refused = spool.try_room(JobId(1), u64::MAX >> 1).unwrap_err();
    assert_eq!(refused.code(), "state.full");
    spool.try_room(JobId(1), 1 << 20).unwrap();
    assert_eq!(names(home.path()), before, "nothing of it is left");
}

#[test]
fn where_nothing_can_be_written_jobs_can_still_be_seen() {
    let home = tempfile::tempdir().unwrap();
    let (spool, _) = Spool::open(home.path()).unwrap();
    add(&spool);
    drop(spool);
    fs::remove_file(home.path().join("lock")).unwrap();
    fs::set_permissions(home.path(), fs::Permissions::from_mode(0o500)).unwrap();
    let opened = Spool::open(home.path());
    let added =
        opened.as_ref().ok().map(|(spool, _)| spool.add(&record(spool.next_id()), &mut &b""[..]));
    fs::set_permissions(home.path(), fs::Permissions::from_mode(0o700)).unwrap();
    let (_, found) = opened.unwrap();
    assert_eq!(found.records.len(), 1);
    // Root may write everywhere.
    if let Some(why) = found.read_only {
        assert!(why.starts_with("state.read_only: "), "{why}");
        assert_eq!(added.unwrap().unwrap_err().code(), "state.read_only");
    }
}

fn written() -> Entry {
    Entry::Written { file: 0, segment: 0, part: bergamot_queue::Part::default() }
}
