//! What people want of the daemon, and that it still holds when it was killed in between.

#![allow(clippy::unwrap_used)] // the exemption for tests does not reach their helpers

use std::fs;
use std::sync::Arc;
use std::thread;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bergamot_newsd::{Articles, Generated, Options};
use bergamot_rpc::Client;
use bergamot_tests::{News, SocketDaemon, content_of};
use bergamot_types::ByteCount;
use serde_json::{Value, json};

#[test]
fn what_was_promised_holds_after_a_kill() {
    let posts: Vec<_> = (1..=5).map(|seed| post(seed, 4)).collect();
    let news = serving(&posts);
    let mut it = SocketDaemon::start(&news, 4);
    it.call("queue.pause", json!({}));
    let jobs: Vec<_> =
        (0..).zip(&posts).map(|(n, post)| it.add(&format!("job {n}"), post, json!({}))).collect();
    it.call("job.move", json!({ "jobs": [jobs[4]], "to": "top" }));
    it.call("job.set", json!({ "jobs": [jobs[2]], "priority": 100, "category": "tv" }));
    it.call(
        "job.set",
        json!({ "jobs": [jobs[3]], "parameters": [{ "name": "drone", "value": "x" }] }),
    );
    it.call("job.pause", json!({ "jobs": [jobs[1]] }));
    it.call("job.remove", json!({ "jobs": [jobs[0]] }));
    it.call("limits.set", json!({ "rate": 12_345_678 }));
    let mut it = it.kill_and_start();
    assert_eq!(it.names("queue.list"), ["job 2", "job 4", "job 1", "job 3"]);
    let status = it.call("system.status", json!({}));
    assert_eq!(status["limit"], 12_345_678);
    assert!(status["download_paused"]["by"].is_string(), "{status}");
    let job = it.call("job.get", json!({ "job": jobs[2] }));
    assert_eq!((&job["category"], &job["priority"]), (&json!("tv"), &json!(100)));
    let job = it.call("job.get", json!({ "job": jobs[3] }));
    assert_eq!(job["parameters"], json!([{ "name": "drone", "value": "x" }]));
    it.call("queue.resume", json!({}));
    // Small jobs may overtake each other.
    for name in ["name=job 2 ", "name=job 4 ", "name=job 3 "] {
        it.daemon.expect(&["INFO complete", name]);
    }
    assert_eq!(it.names("queue.list"), ["job 1"], "it is paused");
    it.call("job.resume", json!({ "jobs": [jobs[1]] }));
    it.daemon.wait_complete("job 1");
    let mut it = it.kill_and_start();
    assert_eq!(it.names("queue.list"), [""; 0]);
    let mut history = it.names("history.list");
    assert_eq!((history.remove(0), history.pop()), ("job 1".to_owned(), Some("job 0".to_owned())));
    history.sort();
    assert_eq!(history, ["job 2", "job 3", "job 4"]);
    let job = it.call("job.get", json!({ "job": jobs[2] }));
    let path = it.home.join("complete/tv/job 2");
    assert_eq!(job["destination"], path.to_string_lossy().as_ref());
    assert_eq!(fs::read(path.join("f.bin")).unwrap(), content_of(&posts[2]));
    it.daemon.stop();
}

#[test]
fn history_can_be_tried_again_hidden_and_forgotten() {
    let (whole, gone) = (post(1, 4), post(2, 4));
    let news = serving(std::slice::from_ref(&whole));
    let mut it = SocketDaemon::start(&news, 4);
    let good = it.add("good", &whole, json!({}));
    it.daemon.wait_complete("good");
    let bad = it.add("bad", &gone, json!({}));
    it.daemon.wait_failed("bad");
    let mut it = it.kill_and_start();
    let job = it.call("job.get", json!({ "job": bad }));
    assert!(!job["ended"]["missing"].as_array().unwrap().is_empty(), "{job}");
    it.call("job.retry", json!({ "jobs": [bad] }));
    it.daemon.wait_failed("bad");
    it.call("job.redownload", json!({ "jobs": [good] }));
    it.daemon.wait_complete("good");
    assert_eq!(news.tally(0).served(&whole.id(0, 1)), 2);
    it.call("history.hide", json!({ "jobs": [good] }));
    it.call("history.remove", json!({ "jobs": [bad] }));
    let mut it = it.kill_and_start();
    assert_eq!(it.names("history.list"), [""; 0]);
    it.refusal("job.get", json!({ "job": bad }));
    it.call("job.get", json!({ "job": good }));
    it.daemon.stop();
}

#[test]
fn the_same_articles_are_a_copy_and_the_better_of_two_with_one_key_wins() {
    let posts: Vec<_> = (1..=3).map(|seed| post(seed, 4)).collect();
    let news = serving(&posts);
    let mut it = SocketDaemon::start(&news, 4);
    it.call("queue.pause", json!({}));
    it.add("one", &posts[0], json!({}));
    let copy = it.add("again", &posts[0], json!({}));
    assert_eq!(it.call("job.get", json!({ "job": copy }))["state"]["what"], "copy");
    let worse = it.add("worse", &posts[1], json!({ "dupe_key": "k", "dupe_score": 1 }));
    it.add("better", &posts[2], json!({ "dupe_key": "k", "dupe_score": 2 }));
    assert_eq!(it.names("queue.list"), ["one", "better"]);
    assert_eq!(it.call("job.get", json!({ "job": worse }))["state"]["what"], "duplicate");
    it.daemon.stop();
}

#[test]
fn one_nzb_added_by_many_at_once_is_one_job() {
    let post = post(1, 4);
    let news = serving(std::slice::from_ref(&post));
    let mut it = SocketDaemon::start(&news, 4);
    it.call("queue.pause", json!({}));
    let params = json!({ "name": "same.nzb", "nzb": BASE64_STANDARD.encode(post.nzb()) });
    let socket = it.home.join("control.sock");
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let mut client = Client::connect_socket(&socket).unwrap();
                client.call("queue.add", params.clone()).unwrap();
            });
        }
    });
    assert_eq!(it.names("queue.list"), ["same"]);
    assert_eq!(it.names("history.list").len(), 7, "copies");
    it.daemon.stop();
}

#[test]
fn what_is_added_comes_last_whatever_was_sorted_and_moved() {
    let posts: Vec<_> = (1..=5).map(|seed| post(seed, 4)).collect();
    let news = serving(&posts);
    let mut it = SocketDaemon::start(&news, 4);
    it.call("queue.pause", json!({}));
    let jobs: Vec<_> = ["c", "a", "b"]
        .iter()
        .zip(&posts)
        .map(|(name, post)| it.add(name, post, json!({})))
        .collect();
    it.call("queue.sort", json!({ "by": "name" }));
    assert_eq!(it.names("queue.list"), ["a", "b", "c"]);
    it.call("job.move", json!({ "jobs": [jobs[1], jobs[2]], "to": "bottom" }));
    it.add("d", &posts[3], json!({}));
    it.call("job.move", json!({ "jobs": [jobs[0]], "by": 1 }));
    it.add("e", &posts[4], json!({ "at_top": true }));
    let mut it = it.kill_and_start();
    assert_eq!(it.names("queue.list"), ["e", "a", "c", "b", "d"]);
    it.daemon.stop();
}

fn post(seed: u64, parts: u64) -> Arc<Generated> {
    let article = ByteCount(50_000);
    Arc::new(Generated::new(seed, article).file("f.bin", ByteCount(parts * article.0)))
}

fn serving(posts: &[Arc<Generated>]) -> News {
    let articles: Vec<Arc<dyn Articles>> =
        posts.iter().map(|post| post.clone() as Arc<dyn Articles>).collect();
    News::start([Options { articles: Arc::new(articles), ..Options::default() }])
}

fn four_files() -> Arc<Generated> {
    let names = ["a.bin", "b.bin", "c.bin", "d.bin"];
    let of_three = |post: Generated, name| post.file(name, ByteCount(60_000));
    Arc::new(names.into_iter().fold(Generated::new(9, ByteCount(20_000)), of_three))
}

#[test]
fn files_of_a_job_that_waits_for_its_turn_can_be_chosen() {
    let post = four_files();
    let news = serving(std::slice::from_ref(&post));
    let mut it = SocketDaemon::start(&news, 4);
    // A paused job is not read in.
    let job = it.add("files", &post, json!({ "paused": true }));
    let ids: Vec<_> = {
        let files = it.call("listfiles", json!([0, 0, job]));
        files.as_array().unwrap().iter().map(|file| file["ID"].clone()).collect()
    };
    let mut edit = |command: &str, id: &Value| {
        assert_eq!(it.call("editqueue", json!([command, "", [id]])), true, "{command}");
    };
    edit("FilePause", &ids[0]);
    edit("FilePause", &ids[1]);
    edit("FileResume", &ids[1]);
    edit("FileDelete", &ids[2]);
    let refused = it.call("file.pause", json!({ "job": job, "files": [4] })).to_string();
    assert!(refused.contains("no file"), "{refused}");
    it.call("job.resume", json!({ "jobs": [job] }));
    it.daemon.wait_for(&["INFO started", &format!("job={job} ")]);
    it.call("file.resume", json!({ "job": job, "files": [0] }));
    it.daemon.wait_complete("files");
    let names: Vec<_> = it.home.inventory("complete/files").into_keys().collect();
    assert_eq!(names, ["a.bin", "b.bin", "d.bin"].map(std::path::PathBuf::from));
}

#[test]
fn what_was_said_of_files_holds_after_a_kill() {
    let post = four_files();
    let news = serving(std::slice::from_ref(&post));
    let mut it = SocketDaemon::start(&news, 4);
    it.call("queue.pause", json!({}));
    let job = it.add("files", &post, json!({}));
    it.daemon.wait_for(&["INFO started", &format!("job={job} ")]);
    it.call("file.pause", json!({ "job": job, "files": [0, 1] }));
    it.call("file.resume", json!({ "job": job, "files": [1] }));
    it.call("file.remove", json!({ "job": job, "files": [2] }));
    let mut it = it.kill_and_start();
    it.daemon.wait_for(&["INFO started", &format!("job={job} ")]);
    let files = it.call("job.files", json!({ "job": job }));
    let paused: Vec<_> = files.as_array().unwrap().iter().map(|it| it["paused"] == true).collect();
    assert_eq!(paused, [true, false, false, false], "{files}");
    it.call("file.resume", json!({ "job": job, "files": [0] }));
    it.call("queue.resume", json!({}));
    it.daemon.wait_complete("files");
    let found = it.home.inventory("complete/files");
    let names: Vec<_> = found.keys().map(|path| path.to_str().unwrap()).collect();
    assert_eq!(names, ["a.bin", "b.bin", "d.bin"]);
}
