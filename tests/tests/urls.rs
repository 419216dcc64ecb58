//! NZBs that are given by their address.

#![allow(clippy::unwrap_used)] // the exemption for tests does not reach their helpers

use std::fs;
use std::io::Write;
use std::process::Output;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bergamot_newsd::{Articles, Generated};
use bergamot_rpc::{Client, ClientError};
use bergamot_tests::{Daemon, Home, Mounted, News, content_of};
use bergamot_types::ByteCount;
use bergamot_webd::{Answer, Site};
use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder};
use serde_json::{Value, json};

/// Planted in every address; it must not be found anywhere but in the records.
const KEY: &str = "0123456789abcdef0123456789abcdef";

/// An indexer, a news server with what it lists, and a daemon.
struct Grabbing {
    home: Home,
    config: String,
    daemon: Daemon,
    client: Client,
    site: Site,
    _news: News,
}

impl Grabbing {
    fn start(posts: &[Arc<Generated>], site: Site) -> Self {
        Self::start_with(posts, site, "private_hosts = ['127.0.0.1']")
    }

    fn start_with(posts: &[Arc<Generated>], site: Site, urls: &str) -> Self {
        let articles = posts.iter().map(|post| post.clone() as Arc<dyn Articles>);
        let news = News::plain(Arc::new(articles.collect::<Vec<_>>()));
        let home = Home::new();
        let config = format!("[urls]\n{urls}\n{}", news.section(0, "connections = 2"));
        let daemon = Daemon::start(&home, &config);
        let client = home.connect().unwrap();
        Self { home, config, daemon, client, site, _news: news }
    }

    fn call(&mut self, method: &str, params: Value) -> Value {
        self.client.call(method, params).unwrap_or_else(|error| panic!("{method}: {error}"))
    }

    fn add(&mut self, path: &str) -> u64 {
        let url = self.url(path);
        self.call("queue.add", json!({ "url": url }))["job"].as_u64().unwrap()
    }

    fn url(&self, path: &str) -> String {
        format!("{}?t=get&apikey={KEY}", self.site.url(path))
    }

    fn job(&mut self, job: u64) -> Value {
        self.call("job.get", json!({ "job": job }))
    }

    /// Why it failed, when it has.
    fn reason(&mut self, job: u64) -> String {
        self.daemon.wait_for(&["WARN failed", &format!("job={job} ")]);
        self.job(job)["ended"]["reason"].as_str().unwrap().to_owned()
    }

    fn assert_complete(&mut self, name: &str, post: &Generated) {
        let last = name.rsplit('/').next().unwrap();
        self.daemon.expect(&["INFO complete", &format!("name={last} ")]);
        let found = fs::read(self.home.join("complete").join(name).join("data.bin")).unwrap();
        assert!(found == content_of(post), "{name} is whole");
    }

    fn kill_and_start(self) -> Self {
        let Self { home, config, daemon, site, _news, .. } = self;
        daemon.kill();
        let daemon = Daemon::start(&home, &config);
        let client = home.connect().unwrap();
        Self { home, config, daemon, client, site, _news }
    }

    /// Ends it and looks for the key in all it ever said.
    fn stop(mut self) {
        for list in ["queue.list", "history.list", "system.status"] {
            let answer = self.client.call(list, json!({})).map(|answer| answer.to_string());
            assert!(!answer.unwrap_or_default().contains(KEY), "{list}");
        }
        let log = self.daemon.stop().log;
        assert!(!log.iter().any(|line| line.contains(KEY)), "the log: {log:#?}");
        self.home.assert_contained();
    }
}

fn post(seed: u64) -> Arc<Generated> {
    Arc::new(Generated::new(seed, ByteCount(20_000)).file("data.bin", ByteCount(90_000)))
}

fn gzipped(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zip(members: &[(&str, &[u8])]) -> Vec<u8> {
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    for (name, content) in members {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(content).unwrap();
        let packed = encoder.finish().unwrap();
        let mut shared = [20_u16, 0, 8, 0, 0].map(u16::to_le_bytes).concat();
        let lengths = [packed.len() as u32, content.len() as u32];
        shared.extend(crc32fast::hash(content).to_le_bytes());
        shared.extend(lengths.map(u32::to_le_bytes).concat());
        shared.extend([name.len() as u16, 0].map(u16::to_le_bytes).concat());
        directory.extend([b"PK\x01\x02\x14\x00".as_slice(), &shared, &[0; 10]].concat());
        directory.extend((bytes.len() as u32).to_le_bytes());
        directory.extend(name.as_bytes());
        bytes.extend([b"PK\x03\x04".as_slice(), &shared, name.as_bytes(), &packed].concat());
    }
    let (count, start, length) = (members.len() as u16, bytes.len() as u32, directory.len() as u32);
    bytes.extend([directory, b"PK\x05\x06\0\0\0\0".to_vec()].concat());
    bytes.extend([count, count].map(u16::to_le_bytes).concat());
    bytes.extend([length, start].map(u32::to_le_bytes).concat());
    bytes.extend([0; 2]);
    bytes
}

#[test]
fn an_nzb_is_fetched_named_and_downloaded() {
    let posts = [post(1), post(2), post(3)];
    let nzbs: Vec<_> = posts.iter().map(|post| post.nzb().into_bytes()).collect();
    let (plain, packed, encoded) = (nzbs[0].clone(), gzipped(&nzbs[1]), gzipped(&nzbs[2]));
    let site = Site::start(move |request| match request.path() {
        "/plain" => Answer::new(200)
            .header("Content-Disposition", "attachment; filename=\"../Some Show.nzb\"")
            .header("X-DNZB-Category", "tv")
            .header("X-DNZB-Name", "not this")
            .header("X-DNZB-Failure", &format!("http://x/f?apikey={KEY}"))
            .header("X-DNZB-ProperName", "Some Show")
            .body(plain.clone()),
        "/packed" => Answer::new(200)
            .header("X-DNZB-Name", "Packed")
            .header("X-DNZB-Category", "tv")
            .body(packed.clone()),
        "/get/Encoded.nzb" => {
            Answer::new(200).header("Content-Encoding", "gzip").body(encoded.clone())
        }
        _ => Answer::new(404),
    })
    .unwrap();
    let urls = "private_hosts = ['127.0.0.1']\n[[category]]\nname = 'tv'\npriority = 50";
    let mut it = Grabbing::start_with(&posts, site, urls);
    let job = it.add("/plain");
    it.assert_complete("tv/Some Show", &posts[0]);
    let known = it.job(job);
    assert_eq!((&known["category"], &known["priority"]), (&json!("tv"), &json!(50)));
    assert!(known["url"].as_str().unwrap().ends_with("/plain?***"), "{known}");
    let parameters = known["parameters"].to_string();
    assert!(parameters.contains("*DNZB:ProperName"), "{parameters}");
    assert!(parameters.contains("http://x/f?***"), "{parameters}");
    let params = json!({ "url": it.url("/packed"), "priority": 3 });
    let packed = it.call("queue.add", params)["job"].as_u64().unwrap();
    it.assert_complete("tv/Packed", &posts[1]);
    assert_eq!(it.job(packed)["priority"], 3, "somebody has said so");
    it.add("/get/Encoded.nzb");
    it.assert_complete("Encoded", &posts[2]);
    // What people say counts before what the server says; and the same articles are not fetched twice.
    let again = it.url("/plain");
    let params = json!({ "url": again, "name": "mine.nzb", "category": "films" });
    let copy = it.call("queue.add", params)["job"].as_u64().unwrap();
    it.daemon.wait_for(&["INFO deleted", &format!("job={copy} ")]);
    let copy = it.job(copy);
    assert_eq!((copy["name"].as_str(), copy["category"].as_str()), (Some("mine"), Some("films")));
    assert_eq!(copy["state"]["what"], "copy");
    it.stop();
}

#[test]
fn what_is_no_nzb_says_what_it_is() {
    let site = Site::start(|request| match request.path() {
        "/login" => Answer::new(200)
            .header("Content-Type", "text/html")
            .body("<!DOCTYPE html><html><body>Please log in</body></html>"),
        "/limit" => Answer::new(200).body(
            "<?xml version=\"1.0\"?><error code=\"500\" description=\"Request limit reached\"/>",
        ),
        "/key" => Answer::new(401)
            .body("<error code=\"100\" description=\"Incorrect user credentials\"/>"),
        "/broken" => Answer::new(200).body("<nzb><file"),
        "/loop" => Answer::redirect(302, "/loop"),
        "/file" => Answer::redirect(302, "file:///etc/passwd"),
        "/zip" => Answer::new(200).body(zip(&[("readme.txt", b"nothing")])),
        "/inside" => Answer::redirect(302, "http://127.0.0.2:1/"),
        _ => Answer::new(404),
    })
    .unwrap();
    let mut it = Grabbing::start(&[], site);
    for (path, reason) in [
        ("/login", "url.not_nzb"),
        ("/limit", "url.newznab: the indexer answered with error 500: Request limit reached"),
        ("/key", "url.newznab: the indexer answered with error 100: Incorrect user credentials"),
        ("/broken", "nzb.truncated"),
        ("/loop", "url.redirects"),
        ("/file", "url.forbidden"),
        ("/zip", "url.not_nzb: the ZIP archive holds no NZB"),
        ("/inside", "url.forbidden: 127.0.0.2 is at 127.0.0.2"),
        ("/gone", "url.status: 127.0.0.1 answers with status 404"),
    ] {
        let job = it.add(path);
        let found = it.reason(job);
        assert!(found.contains(reason), "{path}: {found}");
    }
    it.stop();
}

#[test]
fn private_addresses_are_refused_unless_they_are_named() {
    let site = Site::start(|_| Answer::new(200)).unwrap();
    let mut it = Grabbing::start_with(&[], site, "private_hosts = []");
    let port = it.site.address().port();
    for url in [
        "file:///etc/passwd".to_owned(),
        format!("http://127.0.0.1:{port}/?apikey={KEY}"),
        format!("http://localhost:{port}/"),
        "http://169.254.169.254/latest/meta-data".to_owned(),
        format!("http://[::ffff:127.0.0.1]:{port}/"),
        // Other spellings of 127.0.0.1.
        format!("http://127.1:{port}/?apikey={KEY}"),
        format!("http://0x7f.1:{port}/"),
    ] {
        let refused = it.client.call("queue.add", json!({ "url": url })).unwrap_err();
        let ClientError::Refused { code, .. } = &refused else { panic!("{url}: {refused}") };
        assert_eq!(code, "url.forbidden", "{url}");
        let nzbget =
            it.client.call("append", json!(["", url, "", 0, false, false, "", 0, "SCORE"]));
        assert!(nzbget.is_err(), "{url}");
    }
    assert!(it.site.requests().is_empty());
    it.stop();
}

#[test]
fn each_nzb_of_an_archive_becomes_a_job() {
    let posts = [post(1), post(2)];
    let (one, two) = (posts[0].nzb(), posts[1].nzb());
    let archive = zip(&[
        ("readme.txt", b"hello"),
        ("broken.nzb", b"<nzb><file"),
        ("bomb.nzb", &vec![b' '; 17 << 20]),
        ("../../one.nzb", one.as_bytes()),
        ("below/two.nzb", two.as_bytes()),
    ]);
    let site = Site::start(move |_| Answer::new(200).body(archive.clone())).unwrap();
    let mut it = Grabbing::start(&posts, site);
    let job = it.add("/archive.zip");
    it.assert_complete("one", &posts[0]);
    it.assert_complete("two", &posts[1]);
    assert_eq!(it.job(job)["name"], "one");
    let history = it.call("history.list", json!({}));
    let items = history["items"].as_array().unwrap();
    assert_eq!(items.len(), 4, "{history}");
    for (name, reason) in [("broken", "nzb.truncated"), ("bomb", "zip.too_large")] {
        let failed = items.iter().find(|job| job["name"] == name).unwrap();
        assert!(failed["ended"]["reason"].as_str().unwrap().starts_with(reason), "{failed}");
    }
    it.stop();
}

#[test]
fn an_archive_that_the_disk_does_not_take_is_fetched_again_when_it_does() {
    let Some(disk) = Mounted::new("3m") else { return };
    let posts = [post(1), post(2), post(3)];
    let nzbs = posts.each_ref().map(|post| post.nzb());
    let large = format!("{}<!--{}-->", nzbs[2], " ".repeat(4 << 20));
    let archive = zip(&[
        ("one.nzb", nzbs[0].as_bytes()),
        ("broken.nzb", b"<nzb><file"),
        ("two.nzb", nzbs[1].as_bytes()),
        ("large.nzb", large.as_bytes()),
    ]);
    let site = Site::start(move |_| Answer::new(200).body(archive.clone())).unwrap();
    let state = format!("[directories]\nstate = '{}'", disk.path().join("state").display());
    let urls = format!("private_hosts = ['127.0.0.1']\n{state}");
    let mut it = Grabbing::start_with(&posts, site, &urls);
    let job = it.add("/archive.zip");
    it.daemon.wait_for(&["WARN not fetched", "state.full"]);
    it.assert_complete("two", &posts[1]);
    assert_eq!(it.job(job)["state"]["is"], "fetching", "the disk is not its fault");
    it.daemon.wait_for(&["WARN not fetched", "state.full"]);
    assert_eq!(it.site.requests().len(), 1, "nobody is asked for what would not fit");
    disk.remount("size=64m");
    it.assert_complete("one", &posts[0]);
    it.assert_complete("large", &posts[2]);
    let history = it.call("history.list", json!({}));
    assert_eq!(history["items"].as_array().unwrap().len(), 4, "none twice: {history}");
    it.stop();
}

#[test]
fn a_promise_outlives_a_kill_and_a_busy_server_is_asked_again() {
    let posts = [post(1)];
    let nzb = posts[0].nzb().into_bytes();
    let site = Site::start(|_| Answer::silence()).unwrap();
    let mut it = Grabbing::start(&posts, site);
    let job = it.add("/Wanted.nzb");
    let waiting = it.job(job);
    assert_eq!(
        (waiting["name"].as_str(), &waiting["state"]["is"]),
        (Some("Wanted"), &json!("fetching"))
    );
    assert_eq!(it.call("job.explain", json!({ "job": job }))["code"], "fetching");
    let groups = it.call("listgroups", json!([0]));
    assert_eq!((&groups[0]["Kind"], &groups[0]["Status"]), (&json!("URL"), &json!("FETCHING")));
    assert_eq!(it.call("status", json!([]))["UrlCount"], 1);
    assert!(!groups.to_string().contains(KEY));
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    it.site.turn_to(move |_| match count.fetch_add(1, Ordering::Relaxed) {
        0 => Answer::new(429).header("Retry-After", "1"),
        1 => Answer::new(503).header("Retry-After", "1"),
        _ => Answer::new(200).body(nzb.clone()),
    });
    let mut it = it.kill_and_start();
    it.assert_complete("Wanted", &posts[0]);
    assert_eq!(asked.load(Ordering::Relaxed), 3);
    it.stop();
}

#[test]
fn what_failed_can_be_tried_again_and_what_is_deleted_is_not_fetched() {
    let posts = [post(1)];
    let nzb = posts[0].nzb().into_bytes();
    let site = Site::start(|_| Answer::new(404)).unwrap();
    let mut it = Grabbing::start(&posts, site);
    let job = it.add("/Wanted.nzb");
    assert!(it.reason(job).starts_with("url.status"));
    let history = it.call("history", json!([false]));
    assert_eq!(
        (&history[0]["Kind"], &history[0]["Status"]),
        (&json!("URL"), &json!("FAILURE/FETCH"))
    );
    it.site.turn_to(|_| Answer::silence());
    it.call("job.retry", json!({ "jobs": [job] }));
    assert_eq!(it.job(job)["state"]["is"], "fetching");
    it.call("job.remove", json!({ "jobs": [job] }));
    assert_eq!(it.job(job)["state"]["is"], "deleted");
    it.site.turn_to(move |_| Answer::new(200).body(nzb.clone()));
    it.call("job.retry", json!({ "jobs": [job] }));
    it.assert_complete("Wanted", &posts[0]);
    it.stop();
}

#[test]
fn every_way_in_takes_addresses() {
    let posts = [post(1), post(2)];
    let nzbs: Vec<_> = posts.iter().map(|post| post.nzb().into_bytes()).collect();
    let site = Site::start(move |request| match request.path() {
        "/One.nzb" => Answer::new(200).body(nzbs[0].clone()),
        _ => Answer::new(200).body(nzbs[1].clone()),
    })
    .unwrap();
    let mut it = Grabbing::start(&posts, site);
    // As Prowlarr sends it.
    let url = it.url("/One.nzb");
    let id = it.call("append", json!(["", url, "", 0, false, false, "", 0, "all", ["drone", "x"]]));
    assert!(id.as_u64().unwrap() > 0);
    it.assert_complete("One", &posts[0]);
    let output = cli(&it.home, &["add", &it.url("/Two.nzb"), "--wait"]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{output:?}");
    assert!(!said.contains(KEY), "{said}");
    it.assert_complete("Two", &posts[1]);
    it.stop();
}

fn cli(home: &Home, arguments: &[&str]) -> Output {
    let socket = home.join("control.sock");
    Daemon::command().arg("--host").arg(socket).args(arguments).output().unwrap()
}
