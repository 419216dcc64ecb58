//! History that is too long is forgotten, job by job, and a kill in between leaves nothing behind.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops here")]

use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bergamot_jobs::{Fingerprint, Outcome, Record};
use bergamot_queue::{Cause, Ending};
use bergamot_store::{Addition, Spool};
use bergamot_testkit::skip;
use bergamot_tests::{Daemon, Home, Listing, post};
use bergamot_types::{SplitMix, UnixTime};
use serde_json::json;

// S-25
#[test]
fn the_record_of_a_forgotten_job_goes_last() {
    let home = Home::in_memory();
    fill(&home, JOBS, UnixTime(1_800_000_000));
    let mut chance = SplitMix::seeded(1);
    let mut lives = 0;
    while directories(&home).len() > KEPT {
        let mut daemon = Daemon::launch(&home, CONFIG, Daemon::command());
        assert!(daemon.comes_up(), "{}", daemon.log().join("\n"));
        thread::sleep(Duration::from_millis(chance.up_to(40))); // any moment will do
        daemon.kill();
        let (directories, records) = (directories(&home), records(&home));
        assert!(directories.is_subset(&records), "nothing is left of jobs that nobody knows of");
        lives += 1;
        assert!(lives < 200, "{} jobs are left", directories.len());
    }
    let daemon = Daemon::start(&home, CONFIG);
    let listing = Listing::ask(&mut home.connect().unwrap()).unwrap();
    assert_eq!((listing.queue.len(), listing.past.len()), (0, KEPT));
    daemon.stop();
    assert_eq!(records(&home), ((JOBS - KEPT + 1) as u32..=JOBS as u32).collect());
    println!("{} jobs forgotten in {lives} lives", JOBS - KEPT);
}

// A clock that is years ahead at the start, as on a machine whose battery is empty.
#[test]
fn nothing_is_removed_by_age_right_after_a_start() {
    let home = Home::in_memory();
    fill(&home, 3, UnixTime(1_000_000_000));
    let config = CONFIG.replace("3650", "30");
    for _ in 0..2 {
        let daemon = Daemon::start(&home, &config);
        let told = |line: &String| line.contains("no job is removed from the history by age");
        assert!(daemon.log().iter().any(told), "{:?}", daemon.log());
        let listing = Listing::ask(&mut home.connect().unwrap()).unwrap();
        assert_eq!(listing.past.len(), 3);
        daemon.stop();
        assert_eq!((directories(&home).len(), records(&home).len()), (3, 3));
    }
}

// A clock that is set ten years ahead while the daemon runs.
#[test]
fn nothing_is_removed_by_age_after_the_clock_jumped() {
    // The library has no effect on the static binary; `./check` runs this test with both.
    if std::env::var_os("BERGAMOT_PROGRAM").is_some() {
        return;
    }
    let Some(library) = faketime() else {
        return skip("libfaketime is not installed");
    };
    let home = Home::in_memory();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    fill(&home, 3, UnixTime(now.cast_signed() - 60));
    let set_clock = |offset: &str| {
        fs::write(home.join("draft"), offset).unwrap();
        fs::rename(home.join("draft"), home.join("clock")).unwrap();
    };
    set_clock("+0");
    let mut command = Daemon::command();
    command.env("LD_PRELOAD", library).env("FAKETIME_TIMESTAMP_FILE", home.join("clock"));
    for switch in ["FAKETIME_NO_CACHE", "FAKETIME_DONT_FAKE_MONOTONIC", "NO_FAKE_STAT"] {
        command.env(switch, "1");
    }
    let mut daemon = Daemon::launch(&home, &CONFIG.replace("3650", "30"), command);
    assert!(daemon.comes_up(), "{}", daemon.log().join("\n"));
    set_clock("+3650d");
    // The history is looked at when a job ends.
    let mut client = home.connect().unwrap();
    let post = post(1, "job.bin", 2);
    let nzb = STANDARD.encode(post.nzb());
    client.call("queue.add", json!({ "name": "job", "nzb": nzb, "paused": true })).unwrap();
    client.call("job.remove", json!({ "jobs": [4] })).unwrap();
    daemon.wait_for(&["WARN", "the clock jumped; no job is removed from the history by age"]);
    let listing = Listing::ask(&mut client).unwrap();
    assert_eq!(listing.past.len(), 4);
    daemon.stop();
    assert_eq!((directories(&home).len(), records(&home).len()), (3, 4));
}

/// Where Debian's package has it; the architecture is in the path.
fn faketime() -> Option<PathBuf> {
    let places = fs::read_dir("/usr/lib").ok()?.flatten();
    let mut libraries = places.map(|place| place.path().join("faketime/libfaketimeMT.so.1"));
    libraries.find(|path| path.exists())
}

#[test]
fn the_log_names_downloaded_files_that_are_deleted_with_the_history() {
    let home = Home::in_memory();
    fill(&home, KEPT + 1, UnixTime(1_800_000_000));
    let mut daemon = Daemon::launch(&home, CONFIG, Daemon::command());
    let path = home.join("incomplete/1");
    let words = ["INFO", "its downloaded files deleted: more jobs ended than history.most"];
    let told = daemon.wait_for(&words);
    assert!(told.contains(path.to_str().unwrap()), "{told}");
    daemon.stop();
}

/// Jobs that failed, with what was downloaded of them.
fn fill(home: &Home, jobs: usize, ended: UnixTime) {
    let (spool, _) = Spool::open(&home.join("state/spool")).unwrap();
    let records: Vec<_> = (0..jobs).map(|_| failed(&spool, ended)).collect();
    for record in &records {
        let directory = home.join("incomplete").join(record.directory.as_deref().unwrap());
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join("f.bin"), "some of it").unwrap();
    }
    let mut nzbs = vec![&b"<nzb/>"[..]; jobs];
    let additions = records.iter().zip(&mut nzbs);
    let mut additions: Vec<_> =
        additions.map(|(record, nzb)| Addition { record, nzb: nzb as &mut dyn Read }).collect();
    assert!(spool.add_all(&mut additions).iter().all(Result::is_ok));
}

fn failed(spool: &Spool, ended: UnixTime) -> Record {
    let id = spool.next_id();
    let mut record = Record::new(id, &id.to_string(), ended, "", Fingerprint::default());
    record.directory = Some(id.to_string().into());
    let outcome = Outcome::new(Ending::Failed(Cause::Incomplete), ended, "job.incomplete: 3 of 9");
    record.end(Outcome { sequence: spool.next_sequence(), ..outcome });
    record
}

/// The jobs that have something in the incomplete directory.
fn directories(home: &Home) -> BTreeSet<u32> {
    let entries = fs::read_dir(home.join("incomplete")).unwrap().flatten();
    entries.map(|entry| entry.file_name().to_str().unwrap().parse().unwrap()).collect()
}

fn records(home: &Home) -> BTreeSet<u32> {
    let names = home.inventory("state/spool").into_keys();
    let records = names.filter(|name| name.extension().is_some_and(|it| it == "job"));
    records.map(|name| name.file_stem().unwrap().to_str().unwrap().parse().unwrap()).collect()
}

const CONFIG: &str = "[history]\nmost = 10\nkeep = 3650\n\
     [[server]]\nname = \"s0\"\nhost = \"127.0.0.1\"\nport = 9\nencryption = \"none\"\n";

const JOBS: usize = 1_000;
const KEPT: usize = 10;
