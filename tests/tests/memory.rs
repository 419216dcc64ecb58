//! The budget holds, however much there is to do at once.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops here")]

use std::fs;
use std::sync::Arc;

use bergamot_newsd::{Generated, Manners, Options};
use bergamot_tests::{Daemon, Home, News, content_of, sha256};
use bergamot_types::{ByteCount, ByteRate};

/// Downloads the post and gives what the daemon took at most, above what it has when idle, and how
/// many connections it had at once.
fn download(post: &Generated, connections: u32, pace: Option<ByteRate>) -> (ByteCount, u32) {
    let home = Home::new();
    let manners = Manners { pace, ..Manners::default() };
    let articles = Arc::new(post.clone());
    let news = News::start([Options { articles, manners, ..Options::default() }]);
    let config = news.section(0, &format!("connections = {connections}"));
    let mut daemon = Daemon::start(&home, &config);
    let idle = daemon.memory();
    home.drop_nzb("job.nzb", post.nzb());
    daemon.wait_complete("job");
    let above = ByteCount(daemon.peak_memory().0 - idle.0);
    daemon.stop();
    let got = fs::read(home.join("complete/job/job.bin")).unwrap();
    assert_eq!(sha256(&got), sha256(&content_of(post)));
    (above, news.tally(0).connections().peak)
}

#[test]
fn five_hundred_connections_stay_within_the_budget() {
    let post = Generated::new(1, ByteCount(100_000)).file("job.bin", ByteCount(300_000_000));
    let (above, connections) = download(&post, 500, Some(ByteRate(100_000)));
    assert!(connections >= 300, "only {connections} at once");
    assert!(above.0 <= 64 << 20, "{above}");
}

#[test]
fn a_job_of_a_hundred_thousand_articles_fits() {
    let post = Generated::new(2, ByteCount(1_000)).file("job.bin", ByteCount(100_000_000));
    let (above, _) = download(&post, 20, None);
    assert!(above.0 <= 64 << 20, "{above}");
}
