//! Jobs that wait are looked after: a post that is gone is known before its turn, and a very fresh one
//! is left to propagate.

use std::sync::Arc;

use bergamot_newsd::{Articles, Generated, Options};
use bergamot_tests::{Daemon, Home, News, file, nzb, post};
use serde_json::{Value, json};

/// A server that has these posts, and a line so narrow that the download of the first outlasts the
/// test.
fn busy_with(posts: &[Arc<Generated>]) -> (Home, News, Daemon) {
    let home = Home::new();
    let articles: Vec<Arc<dyn Articles>> = posts.iter().map(|post| post.clone() as _).collect();
    let news = News::start([Options { articles: Arc::new(articles), ..Options::default() }]);
    let config = format!(
        "[download]\nrate = \"300 kB\"\n[control]\nsocket = \"control.sock\"\nport = 0\n{}",
        news.section(0, "connections = 2")
    );
    let mut daemon = Daemon::start(&home, &config);
    home.drop_nzb("busy.nzb", posts[0].nzb());
    daemon.wait_for(&["added", "busy"]);
    (home, news, daemon)
}

fn call(home: &Home, method: &str, parameters: Value) -> Value {
    home.connect().expect("it listens").call(method, parameters).expect("it answers")
}

#[test]
fn a_post_that_is_gone_is_known_before_its_turn() {
    let (gone, present) = (post(2, "gone.bin", 100), post(3, "present.bin", 100));
    let (home, news, mut daemon) = busy_with(&[post(1, "busy.bin", 2000), present.clone()]);
    home.drop_nzb("gone.nzb", gone.nzb());
    daemon.wait_for(&["WARN", "20 of 20 articles are nowhere to be had", "gone"]);
    let probe = &call(&home, "job.get", json!({ "job": 2 }))["probe"];
    assert_eq!(probe["outlook"], "hopeless", "{probe}");
    assert_eq!((&probe["missing"], &probe["present"]), (&json!(20), &json!(0)));
    let why = call(&home, "job.explain", json!({ "job": 2 }));
    assert!(why.to_string().contains("missing of a sample of 20"), "{why}");

    home.drop_nzb("present.nzb", present.nzb());
    news.wait_until(|news| news.tally(0).commands("STAT") >= 40);
    daemon.wait_for(&["probed", "job=3", "present=20", "outlook=Complete"]);
    assert_eq!(news.tally(0).commands("STAT"), 40, "and nobody was asked about anything else");
    let first = call(&home, "job.get", json!({ "job": 1 }));
    assert_eq!(first["state"]["is"], "downloading", "all that while: {first}");
}

#[test]
fn a_very_fresh_post_waits_until_it_may_be_everywhere() {
    let home = Home::new();
    let articles = post(1, "fresh.bin", 3);
    let news = News::start([Options { articles: articles.clone(), ..Options::default() }]);
    let config = format!(
        "[download]\npropagation_delay = \"2 h\"\n[control]\nsocket = \"control.sock\"\nport = 0\n{}",
        news.section(0, "")
    );
    let mut daemon = Daemon::start(&home, &config);
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let now = now.expect("it is later than 1970").as_secs();
    let one = file("\"fresh.bin\" yEnc (1/1)", &["fresh.1@x"]);
    let date = |ago: u64| format!("date=\"{}\"", now - ago);
    let dated = |ago| replace_date(&nzb(&one), &date(ago));
    home.drop_nzb("fresh.nzb", dated(60));
    daemon.wait_for(&["added", "fresh"]);
    let why = call(&home, "job.explain", json!({ "job": 1 }));
    assert_eq!(why["code"], "propagating", "{why}");
    home.drop_nzb("old.nzb", dated(2_000_000).replace("fresh.1@x", "old.1@x"));
    daemon.wait_failed("old");
    assert_eq!(news.tally(0).commands("BODY"), 1, "only the old one was asked for");
}

fn replace_date(nzb: &str, date: &str) -> String {
    let from = nzb.find("date=\"").expect("it has a date");
    let to = from + 6 + nzb[from + 6..].find('"').expect("it ends") + 1;
    format!("{}{date}{}", &nzb[..from], &nzb[to..])
}
