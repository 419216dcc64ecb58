//! Files that are put into another order, and jobs that are joined and split: that holds whatever
//! happens to the daemon, no file is lost by it, and none is downloaded twice.

#![allow(clippy::unwrap_used)] // the exemption for tests does not reach their helpers

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use std::{fs, thread};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bergamot_newsd::{Articles, Generated, Manners, Options};
use bergamot_rpc::Client;
use bergamot_tests::{News, SocketDaemon, sha256};
use bergamot_types::{ByteCount, ByteRate};
use serde_json::{Value, json};

/// What is looked at here.
trait Looks {
    fn edit(&mut self, command: &str, parameter: &str, ids: &[Value]);

    /// Of a job, in their order.
    fn files(&mut self, job: u64) -> Vec<String>;

    /// Of the whole queue, by name.
    fn all_files(&mut self) -> Vec<String>;

    /// What NZBGet's programs know them by.
    fn ids(&mut self, job: u64) -> BTreeMap<String, Value>;

    /// Records in the spool, by the numbers of their jobs.
    fn records(&self) -> Vec<String>;

    fn assert_complete(&self, expected: &[(&str, &[(&Generated, usize)])]);
}

impl Looks for SocketDaemon {
    fn edit(&mut self, command: &str, parameter: &str, ids: &[Value]) {
        assert_eq!(self.call("editqueue", json!([command, parameter, ids])), true, "{command}");
    }

    fn files(&mut self, job: u64) -> Vec<String> {
        let files = self.call("job.files", json!({ "job": job }));
        let files = files.as_array().unwrap();
        files.iter().map(|file| file["name"].as_str().unwrap().to_owned()).collect()
    }

    fn all_files(&mut self) -> Vec<String> {
        let jobs = self.call("queue.list", json!({}));
        let jobs = jobs["items"].as_array().unwrap().iter();
        let jobs: Vec<_> = jobs.map(|job| job["id"].as_u64().unwrap()).collect();
        let mut all: Vec<_> = jobs.into_iter().flat_map(|job| self.files(job)).collect();
        all.sort();
        all
    }

    fn ids(&mut self, job: u64) -> BTreeMap<String, Value> {
        let files = self.call("listfiles", json!([0, 0, job]));
        let files = files.as_array().unwrap().iter();
        files.map(|it| (it["Filename"].as_str().unwrap().to_owned(), it["ID"].clone())).collect()
    }

    fn records(&self) -> Vec<String> {
        let entries = fs::read_dir(self.home.join("state/spool")).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut records: Vec<_> = names.filter(|name| name.ends_with(".job")).collect();
        records.sort();
        records
    }

    fn assert_complete(&self, expected: &[(&str, &[(&Generated, usize)])]) {
        let mut found = self.home.inventory("complete");
        for (job, files) in expected {
            for (post, file) in *files {
                let (name, size) = post.files().nth(*file).unwrap();
                let mut content = vec![0; size.0 as usize];
                post.read_at(*file, 0, &mut content);
                let path = PathBuf::from(job).join(name);
                assert_eq!(found.remove(&path), Some(sha256(&content)), "{}", path.display());
            }
        }
        assert!(found.is_empty(), "nothing else is there: {:?}", found.keys());
        let left = self.home.inventory("incomplete");
        assert!(left.is_empty(), "nothing is left behind: {:?}", left.keys());
        let directories = fs::read_dir(self.home.join("incomplete")).unwrap();
        let directories = directories.map(|it| it.unwrap().file_name().into_string().unwrap());
        let directories: Vec<_> = directories.filter(|name| !name.starts_with('.')).collect();
        assert!(directories.is_empty(), "nothing is left behind: {directories:?}");
    }
}

fn post(seed: u64, names: &[&str]) -> Arc<Generated> {
    let of_three = |post: Generated, name: &&str| post.file(*name, ByteCount(60_000 + seed));
    Arc::new(names.iter().fold(Generated::new(seed, ByteCount(20_000)), of_three))
}

fn serving(posts: &[&Arc<Generated>], manners: Manners) -> News {
    let articles = posts.iter().map(|post| (*post).clone() as Arc<dyn Articles>);
    let articles: Vec<Arc<dyn Articles>> = articles.collect();
    News::start([Options { articles: Arc::new(articles), manners, ..Options::default() }])
}

fn assert_served_once(news: &News, posts: &[&Arc<Generated>]) {
    for post in posts {
        for (file, (name, _)) in post.files().enumerate() {
            for part in 1..=post.parts(file) {
                assert_eq!(news.tally(0).served(&post.id(file, part)), 1, "{name} {part}");
            }
        }
    }
}

#[test]
fn files_come_in_the_order_that_people_want() {
    let post = post(1, &["a.r00", "a.rar", "a.r01", "a.sfv"]);
    let news = serving(&[&post], Manners { transcript: true, ..Manners::default() });
    let mut it = SocketDaemon::start(&news, 1);
    // A paused job is not read in.
    let job = it.add("files", &post, json!({ "paused": true }));
    let ids = it.ids(job);
    it.edit("FileMoveBottom", "", &[ids["a.r00"].clone()]);
    it.edit("FileMoveOffset", "-1", &[ids["a.sfv"].clone(), ids["a.r01"].clone()]);
    assert_eq!(it.files(job), ["a.r01", "a.sfv", "a.rar", "a.r00"]);
    it.edit("GroupSortFiles", "", &[json!(job)]);
    assert_eq!(it.files(job), ["a.rar", "a.r00", "a.r01", "a.sfv"]);
    it.call("queue.pause", json!({}));
    it.call("job.resume", json!({ "jobs": [job] }));
    it.daemon.wait_for(&["INFO started", &format!("job={job} ")]);
    it.edit("FileMoveTop", "", &[ids["a.sfv"].clone()]);
    it.call("file.order", json!({ "job": job, "files": [2, 3] }));
    let order = ["a.r01", "a.sfv", "a.rar", "a.r00"];
    assert_eq!(it.files(job), order, "as soon as it is answered");
    let mut it = it.kill_and_start();
    it.daemon.wait_for(&["INFO started", &format!("job={job} ")]);
    assert_eq!(it.files(job), order, "and after a kill");
    let listed = it.call("listfiles", json!([0, 0, job]));
    let listed: Vec<_> = listed.as_array().unwrap().iter().map(|file| &file["Filename"]).collect();
    assert_eq!(listed, order);
    it.call("queue.resume", json!({}));
    it.daemon.wait_complete("files");
    let asked = news.tally(0).transcript();
    let asked = asked.iter().filter_map(|line| Some(line.split_once(" BODY <")?.1));
    let file_of = |id: &str| {
        let is_of = |file: &usize| {
            (1..=post.parts(*file)).any(|part| id == format!("{}>", post.id(*file, part)))
        };
        (0..4).find(is_of).unwrap()
    };
    let mut files: Vec<_> = asked.map(|id| file_of(id.trim_end())).collect();
    files.dedup();
    assert_eq!(files, [2, 3, 1, 0], "by their places in the NZB");
    assert_served_once(&news, &[&post]);
    it.daemon.stop();
}

#[test]
fn what_was_joined_and_split_holds_after_a_kill() {
    let (first, second) = (post(1, &["a", "b", "c", "d"]), post(2, &["x", "y"]));
    let news = serving(&[&first, &second], Manners::default());
    let mut it = SocketDaemon::start(&news, 4);
    it.call("queue.pause", json!({}));
    let more = json!({
        "category": "tv", "priority": 50, "parameters": [{ "name": "drone", "value": "7" }],
    });
    let one = it.add("one", &first, more);
    let two = it.add("two", &second, json!({ "priority": 50 }));
    it.daemon.wait_for(&["INFO started", &format!("job={two} ")]);
    it.call("file.pause", json!({ "job": one, "files": [3] }));
    it.call("file.move", json!({ "job": one, "files": [3], "to": "top" }));
    let new = it.call("job.split", json!({ "job": one, "files": [1, 3], "name": "new" }));
    let new = new["job"].as_u64().unwrap();
    assert_eq!(it.names("queue.list"), ["one", "new", "two"]);
    assert_eq!(
        (it.files(one), it.files(new)),
        (vec!["a".into(), "c".into()], vec!["d".into(), "b".into()])
    );
    let split = it.call("job.get", json!({ "job": new }));
    let whole = it.call("job.get", json!({ "job": one }));
    for key in ["category", "priority", "parameters", "size", "files", "articles"] {
        assert_eq!(split[key], whole[key], "{key}");
    }
    it.daemon.wait_for(&["INFO started", &format!("job={new} ")]);
    let mut it = it.kill_and_start();
    assert_eq!(it.names("queue.list"), ["one", "new", "two"]);
    assert_eq!(it.all_files(), ["a", "b", "c", "d", "x", "y"]);
    it.edit("GroupMerge", "", &[json!(two), json!(new)]);
    assert_eq!(it.names("queue.list"), ["one", "two"]);
    assert_eq!(it.names("history.list"), [""; 0]);
    let mut it = it.kill_and_start();
    assert_eq!(it.names("queue.list"), ["one", "two"]);
    assert_eq!(it.files(two), ["x", "y", "d", "b"]);
    let copy = it
        .call("queue.add", json!({ "name": "again", "nzb": BASE64_STANDARD.encode(first.nzb()) }));
    let copy = it.call("job.get", json!({ "job": copy["job"] }));
    assert_eq!(copy["state"]["what"], "copy", "its articles are known yet");
    it.call("file.resume", json!({ "job": two, "files": [3] }));
    it.call("queue.resume", json!({}));
    it.daemon.expect(&["INFO complete", "name=one "]);
    it.daemon.expect(&["INFO complete", "name=two "]);
    it.daemon.stop();
    let it = SocketDaemon::start_in(it.home, it.config);
    assert_eq!(it.records().len(), 3, "of the two, and of the copy");
    it.assert_complete(&[
        ("tv/one", &[(&first, 0), (&first, 2)]),
        ("two", &[(&first, 1), (&first, 3), (&second, 0), (&second, 1)]),
    ]);
    assert_served_once(&news, &[&first, &second]);
}

#[test]
fn a_job_that_is_under_way_takes_others_in_and_what_has_begun_stays_where_it_is() {
    let slow = Manners { pace: Some(ByteRate(200_000)), ..Manners::default() };
    let (first, second) = (post(1, &["a", "b", "c", "d", "e", "f"]), post(2, &["x", "y"]));
    let news = serving(&[&first, &second], slow);
    let mut it = SocketDaemon::start(&news, 1);
    let one = it.add("one", &first, json!({ "paused": true }));
    let two = it.add("two", &second, json!({ "paused": true }));
    // So that it is still under way however long the rest takes.
    it.call("file.pause", json!({ "job": one, "files": [4, 5] }));
    it.call("job.resume", json!({ "jobs": [one] }));
    news.wait_until(|news| news.tally(0).served(&first.id(0, 1)) > 0);
    let refused = it.refusal("job.split", json!({ "job": one, "files": [0, 5], "name": "n" }));
    assert!(refused.contains("a of job 1"), "{refused}");
    let refused = it.refusal("editqueue", json!(["GroupMerge", "", [two, one]]));
    assert!(refused.contains("a of job 1"), "{refused}");
    for (files, why) in [(json!([9]), "no file 9"), (json!([]), "no files")] {
        let refused = it.refusal("job.split", json!({ "job": one, "files": files, "name": "n" }));
        assert!(refused.contains(why), "{refused}");
    }
    let refused = it.refusal("job.split", json!({ "job": two, "files": [0, 1], "name": "n" }));
    assert!(refused.contains("no other files"), "{refused}");
    let refused = it.refusal("job.merge", json!({ "job": one, "jobs": [77] }));
    assert!(refused.contains("no job 77"), "{refused}");
    let late = it.call("job.split", json!({ "job": one, "files": [5], "name": "late" }));
    it.call("job.merge", json!({ "job": one, "jobs": [two] }));
    assert_eq!(it.names("queue.list"), ["one", "late"]);
    // Its files were paused as the job was that they came from.
    it.call("file.resume", json!({ "job": one, "files": [4, 6, 7] }));
    it.call("file.resume", json!({ "job": late["job"], "files": [0] }));
    it.daemon.expect(&["INFO complete", "name=one "]);
    it.daemon.expect(&["INFO complete", "name=late "]);
    let mut whole: Vec<_> = (0..5).map(|file| (&*first, file)).collect();
    whole.extend([(&*second, 0), (&*second, 1)]);
    it.assert_complete(&[("one", &whole), ("late", &[(&first, 5)])]);
    assert_served_once(&news, &[&first, &second]);
    it.daemon.stop();
}

#[test]
fn what_was_begun_by_an_earlier_daemon_is_refused_by_name() {
    let slow = Manners { pace: Some(ByteRate(400_000)), ..Manners::default() };
    let (first, second) = (post(1, &["a", "b", "c"]), post(2, &["x", "y"]));
    let news = serving(&[&first, &second], slow);
    let mut it = SocketDaemon::start(&news, 1);
    let one = it.add("one", &first, json!({ "paused": true }));
    it.call("file.pause", json!({ "job": one, "files": [2] }));
    it.call("job.resume", json!({ "jobs": [one] }));
    news.wait_until(|news| news.tally(0).served(&first.id(1, 1)) > 0);
    it.call("job.pause", json!({ "jobs": [one] }));
    it.daemon.stop();
    let mut it = SocketDaemon::start_in(it.home, it.config);
    let two = it.add("two", &second, json!({ "paused": true }));
    let refused = it.refusal("job.split", json!({ "job": one, "files": [0, 2], "name": "n" }));
    assert!(refused.contains("a of job 1"), "{refused}");
    let refused = it.refusal("job.merge", json!({ "job": two, "jobs": [one] }));
    assert!(refused.contains("a of job 1"), "{refused}");
    it.call("file.resume", json!({ "job": one, "files": [2] }));
    it.call("job.resume", json!({ "jobs": [one, two] }));
    it.daemon.expect(&["INFO complete", "name=one "]);
    it.daemon.expect(&["INFO complete", "name=two "]);
    it.daemon.stop();
}

#[test]
fn a_kill_at_any_moment_leaves_it_done_or_not_done() {
    let (first, second) = (post(1, &["a", "b", "c", "d"]), post(2, &["x", "y"]));
    let news = serving(&[&first, &second], Manners::default());
    let mut it = SocketDaemon::start(&news, 4);
    it.call("queue.pause", json!({}));
    let one = it.add("one", &first, json!({}));
    let two = it.add("two", &second, json!({}));
    let (mut splits, mut merges) = (0, 0);
    for round in 0..16 {
        let jobs = it.call("queue.list", json!({}));
        let jobs = jobs["items"].as_array().unwrap();
        for job in jobs {
            // One that is being read in when the daemon dies, twice, is parked.
            it.daemon.expect(&["INFO started", &format!("job={} ", job["id"])]);
        }
        let new = jobs.iter().find(|job| job["name"] == "new").map(|job| job["id"].clone());
        let whole = if round % 4 < 2 { one } else { two };
        let files = it.call("job.files", json!({ "job": whole }));
        let last = files.as_array().unwrap().last().unwrap()["index"].clone();
        let (method, params) = match new {
            Some(new) => ("job.merge", json!({ "job": whole, "jobs": [new] })),
            None => ("job.split", json!({ "job": whole, "files": [last], "name": "new" })),
        };
        let socket = it.home.join("control.sock");
        let asking = thread::spawn(move || {
            let mut client = Client::connect_socket(&socket).unwrap();
            client.call(method, params)
        });
        // There is no event to wait for: any moment will do.
        thread::sleep(Duration::from_micros(round * 400));
        it = it.kill_and_start();
        let answer = asking.join().unwrap();
        assert_eq!(it.all_files(), ["a", "b", "c", "d", "x", "y"], "{method} {answer:?}");
        let is_split = it.names("queue.list").len() == 3;
        assert!(answer.is_err() || is_split == (method == "job.split"), "{method} is done");
        (splits, merges) = (splits + usize::from(is_split), merges + usize::from(!is_split));
    }
    println!("{splits} times there were three jobs, {merges} times two");
    it.call("queue.resume", json!({}));
    for name in it.names("queue.list") {
        it.daemon.expect(&["INFO complete", &format!("name={name} ")]);
    }
    it.daemon.stop();
    let complete = it.home.inventory("complete");
    let mut sums: Vec<_> = complete.into_values().collect();
    let mut expected: Vec<_> =
        [&first, &second].into_iter().flat_map(|post| sums_of(post)).collect();
    sums.sort();
    expected.sort();
    assert_eq!(sums, expected);
    assert_served_once(&news, &[&first, &second]);
}

fn sums_of(post: &Generated) -> Vec<String> {
    let sum = |(file, (_, size)): (usize, (&str, ByteCount))| {
        let mut content = vec![0; size.0 as usize];
        post.read_at(file, 0, &mut content);
        sha256(&content)
    };
    post.files().enumerate().map(sum).collect()
}

#[test]
fn a_deleted_job_may_be_a_backup_or_not() {
    let post = post(1, &["a"]);
    let news = serving(&[&post], Manners::default());
    let mut it = SocketDaemon::start(&news, 1);
    it.call("queue.pause", json!({}));
    let job = it.add("one", &post, json!({}));
    it.call("job.remove", json!({ "jobs": [job] }));
    let status = |it: &mut SocketDaemon| it.call("history", json!([false]))[0]["Status"].clone();
    assert_eq!(status(&mut it), "DELETED/MANUAL");
    it.edit("HistorySetDupeBackup", "1", &[json!(job)]);
    assert_eq!(status(&mut it), "DELETED/DUPE");
    let mut it = it.kill_and_start();
    assert_eq!(status(&mut it), "DELETED/DUPE");
    it.call("history.backup", json!({ "jobs": [job], "backup": false }));
    assert_eq!(status(&mut it), "DELETED/MANUAL");
    it.call("job.redownload", json!({ "jobs": [job] }));
    it.call("queue.resume", json!({}));
    it.daemon.wait_complete("one");
    assert_eq!(it.call("editqueue", json!(["HistorySetDupeBackup", "1", [job]])), false);
    it.daemon.stop();
}
