//! A state thread or a disk that hangs does not stop the main loop: every call is answered.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops here")]

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::thread;

use bergamot_newsd::{Articles, Generated};
use bergamot_rpc::Client;
use bergamot_tests::{
    Control, Daemon, Home, News, content_of, delayed, end_delays, may_trace, sha256,
};
use bergamot_types::ByteCount;
use serde_json::json;

#[test]
fn calls_are_answered_while_the_journal_thread_hangs() {
    calls_are_answered_while_it_hangs("write", "state/spool/00000001.journal");
}

#[test]
fn calls_are_answered_while_the_disk_of_downloads_hangs() {
    calls_are_answered_while_it_hangs("pwrite64", "incomplete/first/0000.part");
}

fn calls_are_answered_while_it_hangs(call: &str, path: &str) {
    if !may_trace() {
        return;
    }
    let (home, posts) = (Home::new(), [1, 2].map(post));
    let articles = posts.iter().map(|post| post.clone() as Arc<dyn Articles>);
    let news = News::plain(Control::new().beside(articles.collect::<Vec<_>>()));
    let trace = home.join("trace");
    let command = delayed(call, &home.join(path), &trace);
    let mut daemon = Daemon::launch(&home, &news.section(0, ""), command);
    assert!(daemon.comes_up());
    home.drop_nzb("first.nzb", posts[0].nzb());
    wait_for_call(&trace, call);

    let mut client = home.connect().unwrap();
    home.drop_nzb("second.nzb", posts[1].nzb());
    daemon.wait_for(&["INFO added", "name=second"]);
    change_everything(&mut client);
    let first = client.call("job.get", json!({ "job": 1 })).unwrap();
    assert_ne!(first["state"], "completed", "it hangs: {first}");

    end_delays(&daemon);
    for (name, post) in ["first", "second"].into_iter().zip(&posts) {
        daemon.expect(&["INFO complete", &format!("name={name}")]);
        let whole = fs::read(home.join(format!("complete/{name}/x.bin"))).unwrap();
        assert_eq!(sha256(&whole), sha256(&content_of(post)));
    }
    assert_eq!(daemon.stop().code, Some(0));
}

/// Each call is answered when its change is on disk.
fn change_everything(client: &mut Client) {
    for (method, params) in [
        ("job.pause", json!({ "jobs": [2] })),
        ("job.set", json!({ "jobs": [2], "priority": 50 })),
        ("queue.pause", json!({})),
        ("limits.set", json!({ "rate": 50_000_000 })),
        ("queue.list", json!({})),
        ("history.list", json!({})),
        ("system.status", json!({})),
        ("queue.explain", json!({})),
        ("queue.resume", json!({})),
        ("job.resume", json!({ "jobs": [2] })),
    ] {
        client.call(method, params).unwrap_or_else(|error| panic!("{method}: {error}"));
    }
}

fn wait_for_call(trace: &Path, call: &str) {
    while !fs::read_to_string(trace).unwrap_or_default().contains(call) {
        thread::yield_now();
    }
}

fn post(seed: u64) -> Arc<Generated> {
    Arc::new(Generated::new(seed, ByteCount(200_000)).file("x.bin", ByteCount(1_000_000)))
}
