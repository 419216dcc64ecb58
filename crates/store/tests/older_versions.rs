//! What earlier bergamots wrote is taken over.

use std::fs;

use bergamot_store::Spool;
use bergamot_types::JobId;

#[test]
fn jobs_of_version_1_go_on_and_become_version_2_when_they_are_next_written() {
    let home = tempfile::tempdir().unwrap();
    let path = |name: &str| home.path().join(name);
    fs::write(path("00000007.job"), include_bytes!("version1/queued.job")).unwrap();
    fs::write(path("00000007.nzb"), "<nzb/>").unwrap();
    fs::write(path("00000008.job"), include_bytes!("version1/failed.job")).unwrap();
    let (spool, found) = Spool::open(home.path()).unwrap();
    assert!(found.set_aside.is_empty() && found.without_nzb.is_empty());
    let [queued, failed] = &found.records[..] else { panic!("{:?}", found.records) };
    assert_eq!(spool.same_articles(queued.fingerprint).unwrap().0, JobId(7));
    assert_eq!(spool.same_articles(failed.fingerprint), None);
    assert_eq!((spool.next_id(), spool.next_sequence()), (JobId(9), 9));
    let unchanged = fs::read(path("00000008.job")).unwrap();
    assert_eq!(unchanged, include_bytes!("version1/failed.job"), "to look is not to change");
    spool.update(queued).unwrap();
    drop(spool);
    assert!(fs::read(path("00000007.job")).unwrap().starts_with(b"bergamot-job 2 "));
    let (_, again) = Spool::open(home.path()).unwrap();
    assert_eq!(again.records, found.records);
}
