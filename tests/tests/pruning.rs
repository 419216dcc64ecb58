//! History that is too long is forgotten, job by job, and a kill in between leaves nothing behind.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops here")]

use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::thread;
use std::time::Duration;

use bergamot_queue::{Cause, Ending};
use bergamot_store::{Addition, Fingerprint, Outcome, Record, Spool};
use bergamot_tests::{Daemon, Home, Listing};
use bergamot_types::{SplitMix, UnixTime};

// S-25
#[test]
fn the_record_of_a_forgotten_job_goes_last() {
    let home = Home::in_memory();
    fill(&home);
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

/// Jobs that failed, with what was downloaded of them.
fn fill(home: &Home) {
    let (spool, _) = Spool::open(&home.join("state/spool")).unwrap();
    let records: Vec<_> = (0..JOBS).map(|_| failed(&spool)).collect();
    for record in &records {
        let directory = home.join("incomplete").join(record.directory.as_deref().unwrap());
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join("f.bin"), "some of it").unwrap();
    }
    let mut nzbs = vec![&b"<nzb/>"[..]; JOBS];
    let additions = records.iter().zip(&mut nzbs);
    let mut additions: Vec<_> =
        additions.map(|(record, nzb)| Addition { record, nzb: nzb as &mut dyn Read }).collect();
    assert!(spool.add_all(&mut additions).iter().all(Result::is_ok));
}

fn failed(spool: &Spool) -> Record {
    let id = spool.next_id();
    let now = UnixTime(1_800_000_000);
    let mut record = Record::new(id, &id.to_string(), now, "", Fingerprint::default());
    record.directory = Some(id.to_string().into());
    let outcome = Outcome::new(Ending::Failed(Cause::Incomplete), now, "job.incomplete: 3 of 9");
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
