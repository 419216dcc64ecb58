//! Quotas, block accounts and schedules, with the real binary.
//!
//! No clock is turned: quotas are small, and schedules always hold.

#![allow(clippy::unwrap_used)] // the exemption for tests does not reach their helpers

use std::fs;

use bergamot_newsd::{Generated, Options};
use bergamot_tests::{Daemon, Home, News, content_of, post};
use serde_json::json;

/// Five articles of a post; encoded they are a little longer than 20 kB each.
const FIVE: &str = "100 KB";
const TEN: &str = "205 KB";
const PLENTY: &str = "100 GB";

fn monthly(news: &News, quota: &str) -> String {
    format!("[quota]\nmonthly = \"{quota}\"\n{}", news.section(0, "connections = 2"))
}

fn assert_whole(home: &Home, name: &str, post: &Generated) {
    let (file, _) = post.files().next().unwrap();
    let found = fs::read(home.join("complete").join(name).join(file)).unwrap();
    assert!(found == content_of(post), "{name} has every byte");
}

#[test]
fn a_reached_quota_pauses_and_neither_a_stop_nor_a_kill_gives_more() {
    let (home, post) = (Home::new(), post(1, "a.bin", 20));
    let news = News::plain(post.clone());
    let mut daemon = Daemon::start(&home, &monthly(&news, FIVE));
    home.drop_nzb("a.nzb", post.nzb());
    daemon.wait_for(&["WARN", "the quota is reached: nothing is fetched until", "(UTC)"]);
    assert_eq!(news.tally(0).all_served(), 5);
    daemon.stop();

    let mut daemon = Daemon::start(&home, &monthly(&news, TEN));
    daemon.wait_for(&["the quota is reached"]);
    assert_eq!(news.tally(0).all_served(), 10, "a stop leaves an exact record");
    daemon.kill();

    let mut daemon = Daemon::start(&home, &monthly(&news, TEN));
    daemon.wait_for(&["the quota is reached"]);
    daemon.stop();
    assert_eq!(news.tally(0).all_served(), 10, "a kill gives nothing again");

    let mut daemon = Daemon::start(&home, &monthly(&news, PLENTY));
    daemon.wait_complete("a");
    daemon.stop();
    assert_whole(&home, "a", &post);
    home.assert_contained();
}

#[test]
fn a_used_up_block_account_leaves_the_rest_to_the_other_server() {
    let (home, first, second) = (Home::new(), post(1, "a.bin", 20), post(2, "b.bin", 20));
    let third = post(3, "c.bin", 10);
    let posts = [&first, &second, &third];
    let server = || Options {
        articles: std::sync::Arc::new(posts.map(|post| post.clone() as _).to_vec()),
        ..Options::default()
    };
    let news = News::start([server(), server()]);
    let config = |block: &str| {
        let block = format!("connections = 2\nquota_total = \"{block}\"");
        news.section(0, &block) + &news.section(1, "connections = 2\nlevel = 1")
    };
    let mut daemon = Daemon::start(&home, &config(FIVE));
    home.drop_nzb("a.nzb", first.nzb());
    daemon.wait_for(&["WARN its quota is reached: it is not asked", "server=\"s0\""]);
    daemon.wait_complete("a");
    assert_whole(&home, "a", &first);
    assert_eq!((news.tally(0).all_served(), news.tally(1).all_served()), (5, 15));
    let reload = |text: &str| {
        let path = home.join("bergamot.toml");
        let before = fs::read_to_string(&path).unwrap();
        let servers = before.find("[[server]]").unwrap();
        fs::write(&path, before[..servers].to_owned() + text).unwrap();
        home.connect().unwrap().call("config.reload", json!({})).unwrap();
    };
    reload(&news.section(1, "connections = 2\nlevel = 1"));
    reload(&config(FIVE));
    home.drop_nzb("c.nzb", third.nzb());
    daemon.wait_complete("c");
    let served = (news.tally(0).all_served(), news.tally(1).all_served());
    assert_eq!(served, (5, 25), "nor does its return give anything again");
    daemon.kill();

    let mut daemon = Daemon::start(&home, &config(FIVE));
    home.drop_nzb("b.nzb", second.nzb());
    daemon.wait_complete("b");
    assert_whole(&home, "b", &second);
    assert_eq!((news.tally(0).all_served(), news.tally(1).all_served()), (5, 45));
    daemon.stop();
}

#[test]
fn a_damaged_record_of_use_is_set_aside_and_holds_up_nothing() {
    let (home, post) = (Home::new(), post(1, "a.bin", 20));
    let news = News::plain(post.clone());
    let config = monthly(&news, PLENTY);
    fs::create_dir(home.join("state")).unwrap();
    fs::write(home.join("state/usage"), "bergamot-usage 1 00000000\n").unwrap();
    let mut daemon = Daemon::start(&home, &config);
    daemon.expect(&["WARN what was used of the quotas", "usage.damaged"]);
    home.drop_nzb("a.nzb", post.nzb());
    daemon.wait_complete("a");
    daemon.stop();
    assert!(home.join("state/usage.damaged").exists() && home.join("state/usage").exists());
    let daemon = Daemon::start(&home, &config);
    assert!(!daemon.log().iter().any(|line| line.contains("cannot be read")));
    daemon.stop();
}

#[test]
fn what_is_used_must_be_on_disk_before_anything_is_fetched() {
    let (home, post) = (Home::new(), post(1, "a.bin", 20));
    let news = News::plain(post.clone());
    let draft = home.join("state/usage.draft"); // where the record would be written first
    fs::create_dir_all(&draft).unwrap();
    let mut daemon = Daemon::start(&home, &monthly(&news, PLENTY));
    home.drop_nzb("a.nzb", post.nzb());
    daemon.wait_for(&["WARN what is used of the quotas could not be written", "state.io"]);
    assert_eq!(news.tally(0).all_served(), 0);
    fs::remove_dir(&draft).unwrap();
    daemon.wait_complete("a");
    daemon.stop();
}

#[test]
fn nothing_is_fetched_while_the_schedule_says_so() {
    let (home, post) = (Home::new(), post(1, "a.bin", 20));
    let news = News::plain(post.clone());
    let always = "[[schedule]]\nfrom = \"00:00\"\nto = \"00:00\"\n";
    let config = |effect: &str| format!("{always}{effect}\n{}", news.section(0, ""));
    let mut daemon = Daemon::start(&home, &config("pause = true"));
    home.drop_nzb("a.nzb", post.nzb());
    daemon.wait_for(&["INFO schedule: nothing is fetched"]);
    daemon.stop();
    assert_eq!(news.tally(0).all_served(), 0);
    let mut daemon = Daemon::start(&home, &config("rate = \"50 MB\""));
    daemon.wait_for(&["INFO schedule: at most 50.0 MB/s"]);
    daemon.wait_complete("a");
    daemon.stop();
    assert_whole(&home, "a", &post);
}
