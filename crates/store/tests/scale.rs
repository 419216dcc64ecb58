//! A hundred thousand jobs: `BERGAMOT_JOBS=100000` makes that many; fewer tell the same sooner.

use std::time::Instant;

use bergamot_jobs::{Contents, Dupe, Fingerprint, Record};
use bergamot_store::{Addition, Spool};
use bergamot_types::{ByteCount, JobId, UnixTime};

/// As a program adds them that has found out how.
fn record(id: JobId) -> Record {
    let name = format!("Some.Show.S01E{:05}.1080p.WEB-DL.DDP5.1.H.264-GROUP", id.0);
    let mut print = [0; 16];
    print[..4].copy_from_slice(&id.0.to_be_bytes());
    let mut record = Record::new(id, &name, UnixTime(1_800_000_000), "rpc", Fingerprint(print));
    record.category = Some("series".into());
    record.parameters.set("drone", "0123456789abcdef0123456789abcdef");
    record.dupe = Dupe { key: format!("tvdbid={}", id.0).into(), ..Dupe::default() };
    record.contents = Contents {
        bytes: ByteCount(3 << 30),
        par2_bytes: ByteCount(300 << 20),
        files: 80,
        par2_files: 10,
        articles: 4500,
        oldest_post: Some(UnixTime(1_790_000_000)),
        newest_post: Some(UnixTime(1_790_000_100)),
    };
    record
}

/// Made without a sync, for a disk does few of them a second.
fn fill(directory: &std::path::Path, jobs: u32) {
    let (spool, _) = Spool::open(directory).expect("a spool");
    let one = record(JobId(1));
    spool.add(&one, &mut &b"<nzb/>"[..]).expect("a job");
    drop(spool);
    for id in 2..=jobs {
        let sealed = bergamot_store::encode_record(&record(JobId(id)));
        std::fs::write(directory.join(format!("{id:08}.job")), sealed).expect("a record");
        std::fs::write(directory.join(format!("{id:08}.nzb")), "<nzb/>").expect("an NZB");
    }
}

/// Bytes of this process that lie in memory.
fn resident() -> usize {
    let pages = std::fs::read_to_string("/proc/self/statm").expect("Linux");
    let resident = pages.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok());
    resident.expect("a number of pages") * 4096
}

#[test]
fn many_jobs_are_read_at_a_start() {
    let home = tempfile::tempdir().unwrap();
    let jobs = std::env::var("BERGAMOT_JOBS").map_or(5_000, |jobs| jobs.parse().unwrap());
    fill(home.path(), jobs);
    let (before, begun) = (resident(), Instant::now());
    let (spool, found) = Spool::open(home.path()).unwrap();
    let (took, used) = (begun.elapsed(), resident().saturating_sub(before));
    println!("{jobs} jobs in {took:?}, {} bytes of memory each", used / jobs as usize);
    assert_eq!((found.records.len(), found.without_nzb.len()), (jobs as usize, 0));
    assert_eq!(found.records[7].id, JobId(8));
    assert_eq!(spool.next_id(), JobId(jobs + 1));
    assert!(used < 700 * jobs as usize, "{used}");
}

#[test]
fn a_thousand_jobs_are_accepted_in_one_burst() {
    let home = tempfile::tempdir().unwrap();
    let (spool, _) = Spool::open(home.path()).unwrap();
    let records: Vec<_> = (0..1000).map(|_| record(spool.next_id())).collect();
    let mut nzbs: Vec<&[u8]> = records.iter().map(|_| &b"<nzb/>"[..]).collect();
    let additions = records.iter().zip(&mut nzbs);
    let mut additions: Vec<_> = additions.map(|(record, nzb)| Addition { record, nzb }).collect();
    let begun = Instant::now();
    assert!(spool.add_all(&mut additions).iter().all(Result::is_ok));
    println!("1000 jobs accepted in {:?}", begun.elapsed());
    let begun = Instant::now();
    assert!(spool.update_all(&records.iter().collect::<Vec<_>>()).is_empty());
    println!("1000 records replaced in {:?}", begun.elapsed());
    let begun = Instant::now();
    spool.add(&record(spool.next_id()), &mut &b"<nzb/>"[..]).unwrap();
    println!("one job accepted in {:?}", begun.elapsed());
    let jobs: Vec<_> = records.iter().map(|record| record.id).collect();
    let begun = Instant::now();
    spool.remove(&jobs).unwrap();
    println!("1000 jobs removed in {:?}", begun.elapsed());
    drop(spool);
    let (_, found) = Spool::open(home.path()).unwrap();
    assert_eq!(found.records.len(), 1);
}
