//! A state directory of the daemon before its restructuring (`fixtures/state-before-restructuring`):
//! today's daemon reads every job as it was, and goes on with them.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops here")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bergamot_newsd::{Articles, Generated, Options, Tally};
use bergamot_tests::{HeldPost, Home, News, SocketDaemon, sha256};
use bergamot_types::ByteCount;
use serde_json::{Value, json};

#[test]
fn every_job_of_the_old_state_is_as_it_was_and_is_finished() {
    let posts = Posts::new();
    let news = posts.serve(Arc::new(posts.half.clone()));
    let home = Home::new();
    let here = home.path().display().to_string();
    for directory in DIRECTORIES {
        copy(&fixture().join(directory), &home.join(directory), [PLACEHOLDER, &here]);
    }
    for directory in EMPTY {
        fs::create_dir_all(home.join("incomplete").join(directory)).unwrap();
    }
    let expected = fs::read_to_string(fixture().join("expected.json")).unwrap();
    let expected: Value = serde_json::from_str(&expected.replace(PLACEHOLDER, &here)).unwrap();
    let mut socket_daemon = SocketDaemon::start_in(home, config(&news));
    let found = view(&mut socket_daemon);
    assert_includes(&found, &expected, "");

    // A paused queue fetches nothing.
    assert_eq!(news.tally(0).all_served(), 0);
    let half = named(&expected["queue"], "half");
    let written = half["good_articles"].as_u64().unwrap();
    socket_daemon.call("limits.set", json!({ "rate": null }));
    socket_daemon.call("queue.resume", json!({}));
    for name in ["half", "split", "new", "merged"] {
        socket_daemon.daemon.expect(&["INFO complete", &format!("name={name} ")]);
    }
    let served = posts.half_served(news.tally(0));
    assert_eq!(served[0], [0; 3], "the old daemon had finished it");
    let (fetched, not_fetched) = served[1].iter().partition::<Vec<u32>, _>(|times| **times > 0);
    assert_eq!(not_fetched.len() as u64 + 3, written, "it had written these");
    assert!(fetched.iter().all(|times| *times == 1), "{served:?}");

    // What was paused or left out of a job is still so.
    assert_eq!(socket_daemon.names("queue.list"), ["paused", "chosen"]);
    let jobs = socket_daemon.call("queue.list", json!({}));
    let chosen = named(&jobs["items"], "chosen")["id"].clone();
    socket_daemon.call("file.resume", json!({ "job": chosen, "files": [1] }));
    socket_daemon.call("job.resume", json!({ "jobs": [named(&jobs["items"], "paused")["id"]] }));
    for name in ["paused", "chosen"] {
        socket_daemon.daemon.expect(&["INFO complete", &format!("name={name} ")]);
    }
    socket_daemon.daemon.stop();
    let mut complete = socket_daemon.home.inventory("complete");
    let delivered: [(&str, &Generated, &[usize]); 8] = [
        ("done", &posts.done, &[0]),
        ("half", &posts.half, &[0, 1]),
        ("paused", &posts.paused, &[0]),
        ("tv/chosen", &posts.chosen, &[0, 1, 3]),
        ("split", &posts.split, &[0, 2]),
        ("new", &posts.split, &[1, 3]),
        ("merged", &posts.merged, &[0, 1]),
        ("merged", &posts.into_merged, &[0]),
    ];
    for (job, post, files) in delivered {
        for file in files {
            let (name, size) = post.files().nth(*file).unwrap();
            let mut content = vec![0; size.0 as usize];
            post.read_at(*file, 0, &mut content);
            let path = PathBuf::from(job).join(name);
            assert_eq!(complete.remove(&path), Some(sha256(&content)), "{}", path.display());
        }
    }
    assert!(complete.is_empty(), "nothing else is there: {:?}", complete.keys());
}

/// Writes the fixture with the daemon that `BERGAMOT_PROGRAM` names; see the README beside it.
#[test]
#[ignore = "writes the fixture, with a program of before the restructuring"]
fn write_the_fixture() {
    assert!(std::env::var_os("BERGAMOT_PROGRAM").is_some(), "name the old program");
    let posts = Posts::new();
    let held = Arc::new(HeldPost::new(posts.half.clone(), HELD_FROM));
    let news = posts.serve(held.clone());
    let mut socket_daemon = SocketDaemon::start_in(Home::new(), config(&news));

    socket_daemon.add(
        "done",
        &posts.done,
        json!({ "priority": 50, "dupe_key": "d", "dupe_score": 7 }),
    );
    socket_daemon.daemon.wait_complete("done");
    socket_daemon.add("failed", &posts.failed, json!({ "password": "not a secret" }));
    socket_daemon.daemon.wait_failed("failed");

    let half = socket_daemon.add("half", &posts.half, json!({}));
    held.wait_until_reached(1);
    socket_daemon.call("queue.pause", json!({}));
    held.open(1);
    socket_daemon.daemon.expect(&["file finished", "first.bin"]);
    let tally = news.tally(0);
    let served = || posts.half_served(tally).iter().flatten().sum::<u32>();
    wait_until(|| {
        let job = socket_daemon.call("job.get", json!({ "job": half }));
        job["active"] == 0 && job["good_articles"] == served()
    });

    socket_daemon.add("paused", &posts.paused, json!({ "paused": true }));
    let parameters = json!([{ "name": "drone", "value": "7" }]);
    let chosen = socket_daemon.add(
        "chosen",
        &posts.chosen,
        json!({ "category": "tv", "parameters": parameters }),
    );
    socket_daemon.call("file.pause", json!({ "job": chosen, "files": [1] }));
    socket_daemon.call("file.remove", json!({ "job": chosen, "files": [2] }));
    socket_daemon.call("file.move", json!({ "job": chosen, "files": [3], "to": "top" }));
    let split = socket_daemon.add("split", &posts.split, json!({}));
    socket_daemon.call("job.split", json!({ "job": split, "files": [1, 3], "name": "new" }));
    let merged = socket_daemon.add("merged", &posts.merged, json!({}));
    let other = socket_daemon.add("other", &posts.into_merged, json!({}));
    socket_daemon.call("job.merge", json!({ "job": merged, "jobs": [other] }));
    let deleted = socket_daemon.add("deleted", &posts.deleted, json!({}));
    socket_daemon.call("job.remove", json!({ "jobs": [deleted] }));
    socket_daemon.call("limits.set", json!({ "rate": 1_500_000 }));
    socket_daemon.daemon.stop();

    // What the old daemon itself makes of its state after a restart; by then every record is written.
    let mut socket_daemon = SocketDaemon::start_in(socket_daemon.home, socket_daemon.config);
    let expected = view(&mut socket_daemon);
    socket_daemon.daemon.stop();
    let here = socket_daemon.home.path().display().to_string();
    let target = fixture();
    for directory in DIRECTORIES {
        if target.join(directory).exists() {
            fs::remove_dir_all(target.join(directory)).unwrap();
        }
        copy(&socket_daemon.home.join(directory), &target.join(directory), [&here, PLACEHOLDER]);
    }
    let expected = format!("{expected:#}\n").replace(&here, PLACEHOLDER);
    fs::write(target.join("expected.json"), expected).unwrap();
}

struct Posts {
    done: Generated,
    failed: Generated,
    half: Generated,
    paused: Generated,
    chosen: Generated,
    split: Generated,
    merged: Generated,
    into_merged: Generated,
    deleted: Generated,
}

impl Posts {
    fn new() -> Self {
        Self {
            done: post(1, &["done.bin"]),
            failed: post(2, &["failed.bin"]),
            half: Generated::new(3, ByteCount(ARTICLE))
                .file("first.bin", ByteCount(3 * ARTICLE))
                .file("second.bin", ByteCount(60 * ARTICLE)),
            paused: post(4, &["paused.bin"]),
            chosen: post(5, &["a.bin", "b.bin", "c.bin", "d.bin"]),
            split: post(6, &["e.bin", "f.bin", "g.bin", "h.bin"]),
            merged: post(7, &["x.bin", "y.bin"]),
            into_merged: post(8, &["z.bin"]),
            deleted: post(9, &["deleted.bin"]),
        }
    }

    /// How often each article of the files of `half` was sent.
    fn half_served(&self, tally: &Tally) -> [Vec<u32>; 2] {
        [0, 1].map(|file| {
            let parts = 1..=self.half.parts(file);
            parts.map(|part| tally.served(&self.half.id(file, part))).collect()
        })
    }

    /// A server with all of them but `failed`.
    fn serve(&self, half: Arc<dyn Articles>) -> News {
        let plain = [
            &self.done,
            &self.paused,
            &self.chosen,
            &self.split,
            &self.merged,
            &self.into_merged,
            &self.deleted,
        ];
        let plain = plain.map(|post| Arc::new(post.clone()) as Arc<dyn Articles>);
        let articles: Vec<_> = plain.into_iter().chain([half]).collect();
        News::start([Options { articles: Arc::new(articles), ..Options::default() }])
    }
}

fn post(seed: u64, names: &[&str]) -> Generated {
    let add = |post: Generated, name: &&str| post.file(*name, ByteCount(3 * ARTICLE + seed));
    names.iter().fold(Generated::new(seed, ByteCount(ARTICLE)), add)
}

/// The history is kept for long; and a daemon removes nothing by age in its first hour.
fn config(news: &News) -> String {
    let server = news.section(0, "connections = 1\nquota_total = \"900 GB\"");
    format!("[history]\nkeep = 3000\n[quota]\nmonthly = \"500 GB\"\n{server}")
}

/// What a client is told about jobs and settings, as far as it belongs neither to the run nor to the
/// day.
fn view(socket_daemon: &mut SocketDaemon) -> Value {
    let queue = socket_daemon.call("queue.list", json!({}))["items"].clone();
    let jobs = || queue.as_array().unwrap().iter();
    // What was downloaded of a job is known once it is read in.
    for job in jobs().filter(|job| job["paused"] == false) {
        socket_daemon.daemon.expect(&["INFO started", &format!("job={} ", job["id"])]);
    }
    let queue = socket_daemon.call("queue.list", json!({}))["items"].clone();
    let mut files = serde_json::Map::new();
    for job in jobs() {
        let of_job = socket_daemon.call("job.files", json!({ "job": job["id"] }));
        files.insert(job["name"].as_str().unwrap().to_owned(), of_job);
    }
    let quotas = socket_daemon.call("quota.get", json!({}));
    let quotas = quotas.as_array().unwrap().iter().map(|quota| match quota["period"] == "ever" {
        true => quota.clone(),
        false => json!({ "period": quota["period"], "limit": quota["limit"] }),
    });
    let volumes = socket_daemon.call("servers.volumes", json!({}));
    let volumes = volumes.as_array().unwrap().iter().map(
        |volume| json!({ "server": volume["server"], "total": volume["total"], "custom": volume["custom"] }),
    );
    let status = socket_daemon.call("system.status", json!({}));
    json!({
        "queue": queue,
        "files": files,
        "history": socket_daemon.call("history.list", json!({}))["items"],
        "rate": socket_daemon.call("limits.get", json!({}))["rate"],
        "pause": status["download_paused"],
        "quotas": quotas.collect::<Vec<_>>(),
        "volumes": volumes.collect::<Vec<_>>(),
    })
}

/// Every value of `expected` stands in `found`, which may hold more.
fn assert_includes(found: &Value, expected: &Value, path: &str) {
    match expected {
        Value::Object(keys) => {
            for (key, value) in keys {
                assert_includes(&found[key], value, &format!("{path}.{key}"));
            }
        }
        Value::Array(items) => {
            assert_eq!(found.as_array().map(Vec::len), Some(items.len()), "length of {path}");
            for (index, value) in items.iter().enumerate() {
                assert_includes(&found[index], value, &format!("{path}[{index}]"));
            }
        }
        value => assert_eq!(found, value, "{path}"),
    }
}

fn named<'a>(jobs: &'a Value, name: &str) -> &'a Value {
    jobs.as_array().unwrap().iter().find(|job| job["name"] == name).unwrap()
}

fn wait_until(mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !holds() {
        assert!(Instant::now() < deadline, "what was waited for has not come");
        // Calls without a pause would take the CPU that the daemon needs.
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/state-before-restructuring")
}

/// Copies a tree, and replaces the path of the home in the records of ended jobs.
fn copy(from: &Path, to: &Path, replace: [&str; 2]) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if source.is_dir() {
            copy(&source, &target, replace);
        } else if source.extension().is_some_and(|extension| extension == "job") {
            let record = fs::read_to_string(&source).unwrap();
            fs::write(&target, relocated(&record, replace)).unwrap();
        } else if !OF_THE_MACHINE.iter().any(|name| entry.file_name() == *name) {
            fs::copy(&source, &target).unwrap();
        }
    }
}

/// A record with another path, and the checksum over its version and text made anew.
fn relocated(record: &str, [from, to]: [&str; 2]) -> String {
    let (head, body) = record.split_once('\n').unwrap();
    let (kind, version) = head.rsplit_once(' ').unwrap().0.split_once(' ').unwrap();
    let body = body.replace(from, to);
    let mut checksum = crc32fast::Hasher::new();
    checksum.update(&version.parse::<u32>().unwrap().to_le_bytes());
    checksum.update(body.as_bytes());
    format!("{kind} {version} {:08x}\n{body}", checksum.finalize())
}

const DIRECTORIES: [&str; 3] = ["state", "incomplete", "complete"];

/// Directories of jobs of which nothing was downloaded: Git keeps none that are empty.
const EMPTY: [&str; 5] = ["chosen", "failed", "split", "new", "merged"];

/// The process that held the state, and the mounts that its directories stood on.
const OF_THE_MACHINE: [&str; 2] = ["lock", "grounds"];

/// Stands for the home in the fixture.
const PLACEHOLDER: &str = "/HOME-OF-THE-FIXTURE";

const ARTICLE: u64 = 500;

/// The articles of `half` that the server holds back, so that the download stops in between.
const HELD_FROM: u32 = 20;
