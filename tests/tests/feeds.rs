//! Feeds: from an indexer to the finished download, whatever happens in between.

#![allow(clippy::unwrap_used)] // the exemption for tests does not reach their helpers

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Output;
use std::sync::Arc;

use bergamot_newsd::{Articles, Generated};
use bergamot_rpc::Client;
use bergamot_tests::{Daemon, Home, Mishap, News, Point, content_of, may_trace};
use bergamot_types::ByteCount;
use bergamot_webd::{Answer, Request, Site};
use serde_json::{Value, json};

/// Planted in the configuration and in every link; only the state may hold it.
const KEY: &str = "0123456789abcdef0123456789abcdef";

/// An indexer, a news server with what it lists, and a daemon that follows the indexer.
struct Following {
    home: Home,
    config: String,
    daemon: Daemon,
    client: Client,
    site: Arc<Site>,
    _news: News,
}

impl Following {
    fn start(names: &[&str], feed: &str) -> Self {
        let home = Home::new();
        let (site, news) = indexer(names);
        let config = config(&site, &news, feed);
        let daemon = Daemon::start(&home, &config);
        let client = home.connect().unwrap();
        Self { home, config, daemon, client, site, _news: news }
    }

    fn call(&mut self, method: &str, params: Value) -> Value {
        let answer = self.client.call(method, params);
        let answer = answer.unwrap_or_else(|error| panic!("{method}: {error}"));
        assert!(!answer.to_string().contains(KEY), "{method} tells the key: {answer}");
        answer
    }

    fn feed(&mut self) -> Value {
        self.call("feeds.list", json!({}))[0].clone()
    }

    /// The names of all jobs, queued and ended, in alphabetical order.
    fn jobs(&mut self) -> Vec<String> {
        let mut names = [self.names_in("queue.list"), self.names_in("history.list")].concat();
        names.sort();
        names
    }

    fn names_in(&mut self, list: &str) -> Vec<String> {
        let list = self.call(list, json!({}));
        let names = list["items"].as_array().unwrap().iter().map(|job| job["name"].as_str());
        names.map(|name| name.unwrap().to_owned()).collect()
    }

    fn kill_and_start(self) -> Self {
        let Self { home, config, daemon, site, _news, .. } = self;
        daemon.kill();
        let daemon = Daemon::start(&home, &config);
        let client = home.connect().unwrap();
        Self { home, config, daemon, client, site, _news }
    }

    fn said(&self, arguments: &[&str]) -> Output {
        let socket = self.home.join("control.sock");
        let mut command = Daemon::command();
        command.arg("-H").arg(&socket).args(arguments);
        command.output().unwrap()
    }

    fn stop(self) {
        let log = self.daemon.stop().log;
        assert!(!log.iter().any(|line| line.contains(KEY)), "the log: {log:#?}");
        self.home.assert_contained();
    }
}

fn indexer(names: &[&str]) -> (Arc<Site>, News) {
    indexer_that_answers(names, None)
}

/// With the same answer for every NZB, if there is one.
fn indexer_that_answers(names: &[&str], nzbs: Option<Answer>) -> (Arc<Site>, News) {
    let posts: Vec<_> = names.iter().enumerate().map(|(n, _)| post(n)).collect();
    let articles = posts.iter().map(|post| post.clone() as Arc<dyn Articles>);
    let news = News::plain(Arc::new(articles.collect::<Vec<_>>()));
    let site = Site::start(|_| Answer::new(404)).unwrap();
    let base = site.url("");
    let names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
    site.turn_to(move |request| match &nzbs {
        Some(answer) if request.path() != "/api" => answer.clone(),
        _ => listing(request, &base, &names, &posts),
    });
    (Arc::new(site), news)
}

fn listing(request: &Request, base: &str, names: &[String], posts: &[Arc<Generated>]) -> Answer {
    if let Some(number) = request.path().strip_prefix("/nzb/") {
        let post: usize = number.parse().unwrap();
        return Answer::new(200).body(posts[post].nzb());
    }
    let item = |(n, name): (usize, &String)| {
        format!(
            "<item><title>{name}</title><guid>{base}/details/{n}</guid>\
             <pubDate>Mon, 16 Nov 2026 1{n}:00:00 +0000</pubDate><category>TV</category>\
             <enclosure url=\"{base}/nzb/{n}?apikey={KEY}\" length=\"90000\" \
             type=\"application/x-nzb\"/></item>"
        )
    };
    let items: String = names.iter().enumerate().map(item).collect();
    let feed =
        format!("<rss version=\"2.0\"><channel><title>An Indexer</title>{items}</channel></rss>");
    Answer::new(200).body(feed)
}

fn config(site: &Site, news: &News, feed: &str) -> String {
    format!(
        "[feeds]\noutput = \"finished.xml\"\n[[feed]]\nname = \"indexer\"\nurl = \"{}?t=search\"\n\
         api_key = \"{KEY}\"\n{feed}\n{}",
        site.url("/api"),
        news.section(0, "connections = 2")
    )
}

fn post(seed: usize) -> Arc<Generated> {
    let size = ByteCount(90_000);
    Arc::new(Generated::new(seed as u64 + 7, ByteCount(20_000)).file("data.bin", size))
}

const TAKE_ALL: &str = "backlog = true";

#[test]
fn what_the_rules_accept_is_downloaded_and_told_of() {
    let rules = "backlog = true\nrules = '''\nReject: unwanted\n\
                 Accept(category:tv, priority:7): some.*\n'''";
    let mut following = Following::start(&["Some.Show", "Unwanted.Show", "Other"], rules);
    following.daemon.wait_complete("Some.Show");
    let found = fs::read(following.home.join("complete/tv/Some.Show/data.bin")).unwrap();
    assert!(found == content_of(&post(0)));
    assert_eq!(following.jobs(), ["Some.Show"]);

    let feed = following.feed();
    assert_eq!(feed["title"], "An Indexer");
    assert_eq!(
        (&feed["state"], &feed["seen"], &feed["wanted"]),
        (&json!("waiting"), &json!(3), &json!(0))
    );
    assert!(feed["url"].as_str().unwrap().ends_with("/api?***"), "{feed}");
    let asked = following.site.requests();
    assert!(asked.iter().any(|request| request.target.contains(&format!("apikey={KEY}"))));

    let items = following.call("feeds.items", json!({ "feed": "Indexer" }));
    let row = |n: usize| {
        [&items[n]["verdict"], &items[n]["rule"], &items[n]["fate"]].map(Value::to_string)
    };
    assert_eq!(row(0), ["\"accepted\"", "2", "\"taken\""]);
    assert_eq!(row(1), ["\"rejected\"", "1", "\"ignored\""]);
    assert_eq!(row(2), ["\"unmatched\"", "null", "\"ignored\""]);
    let viewed = following.call("viewfeed", json!([1, false]));
    assert_eq!(viewed.as_array().unwrap().len(), 1);
    assert_eq!(
        (&viewed[0]["Match"], &viewed[0]["Status"]),
        (&json!("ACCEPTED"), &json!("FETCHED"))
    );
    assert_eq!(following.call("feeds.errors", json!({})), json!([]));
    let status = following.call("status", json!([]));
    assert_eq!(status["FeedActive"], false);
    let listed = following.call("config", json!([]));
    let names: Vec<_> =
        listed.as_array().unwrap().iter().map(|it| it["Name"].as_str().unwrap()).collect();
    assert!(names.contains(&"Feed1.Filter"));

    following.daemon.expect(&["the feed of downloads is written", "items=1"]);
    let rss = fs::read_to_string(following.home.join("finished.xml")).unwrap();
    assert!(
        rss.contains("<title>Some.Show</title>") && rss.contains("isPermaLink=\"false\""),
        "{rss}"
    );
    let mut door = TcpStream::connect(following.daemon.http()).unwrap();
    door.write_all(b"GET /rss HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    door.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with(&rss), "{answer}");

    let shown = following.said(&["feeds", "show", "indexer"]);
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.contains("accepted") && shown.contains("Unwanted.Show"), "{shown}");
    let shown = following.said(&["feeds", "list"]);
    assert!(String::from_utf8(shown.stdout).unwrap().contains("indexer"));
    following.stop();
}

#[test]
fn a_kill_anywhere_takes_nothing_twice_and_misses_nothing() {
    let names = ["a.show", "b.show", "c.show", "d.show"];
    for words in [
        &["DEBUG", "asked"][..],
        &["answered", "status=200"],
        &["INFO checked"],
        &["INFO added", "a.show"],
        &["INFO added", "c.show"],
        &["INFO fetched", "b.show"],
        &["INFO complete", "a.show"],
    ] {
        let mut following = Following::start(&names, TAKE_ALL);
        following.daemon.wait_for(words);
        let mut following = following.kill_and_start();
        let ended = following.names_in("history.list");
        following.call("feeds.fetch", json!({}));
        for (name, job) in
            names.iter().zip(1..).filter(|(name, _)| !ended.iter().any(|it| it == *name))
        {
            following.daemon.expect_complete(name, job);
        }
        assert_eq!(following.jobs(), names, "killed at {words:?}");
        following.stop();
    }
}

/// The points are those calls of the kernel that change the disk.
#[test]
fn killed_at_any_call_nothing_is_taken_twice_and_nothing_is_missed() {
    if !may_trace() {
        return;
    }
    let names = ["a.show", "b.show"];
    let (site, news) = indexer(&names);
    let config = config(&site, &news, TAKE_ALL);
    let complete: [&[&str]; 1] = [&["INFO complete", "b.show"]];
    let home = Home::in_memory();
    let mut daemon = Daemon::launch(&home, &config, Point::trace(&home));
    daemon.reaches(&complete).unwrap();
    daemon.stop();
    let all: Vec<_> = Point::all(&home).into_iter().collect();
    let step = match std::env::var("BERGAMOT_SWEEP") {
        Ok(value) if value == "all" => 1,
        _ => all.len().div_ceil(SAMPLE),
    };
    let mut struck = 0;
    for point in all.iter().step_by(step) {
        let home = Home::in_memory();
        let mut daemon = Daemon::launch(&home, &config, point.strike(&home, Mishap::Kill));
        struck += usize::from(daemon.reaches(&complete).is_none());
        daemon.kill();
        let mut daemon = Daemon::start(&home, &config);
        let mut client = home.connect().unwrap();
        let names_in = |client: &mut Client, list: &str| -> Vec<String> {
            let list = client.call(list, json!({})).unwrap();
            let items = list["items"].as_array().unwrap().iter();
            items.map(|job| job["name"].as_str().unwrap().to_owned()).collect()
        };
        let ended = names_in(&mut client, "history.list");
        client.call("feeds.fetch", json!({})).unwrap();
        for (name, job) in names.iter().zip(1..) {
            if !ended.iter().any(|it| it == name) {
                daemon.expect_complete(name, job);
            }
        }
        let mut found = names_in(&mut client, "history.list");
        found.extend(names_in(&mut client, "queue.list"));
        found.sort();
        assert_eq!(found, names, "killed at {point}");
        daemon.stop();
    }
    println!("killed at {struck} of {} points", all.len());
    assert!(struck > 0, "some points are reached");
}

/// Enough to meet each file; `./check full` takes all.
const SAMPLE: usize = 20;

#[test]
fn a_refused_key_stops_the_feed_until_another_is_configured() {
    let mut following = Following::start(&["a.show"], TAKE_ALL);
    following.daemon.wait_complete("a.show");
    following.site.turn_to(|_| Answer::new(401));
    following.call("feeds.fetch", json!({ "feed": 1 }));
    following.daemon.wait_for(&["WARN", "it stops until its configuration changes"]);
    let feed = following.feed();
    assert_eq!(
        (&feed["state"], &feed["trouble"]["code"]),
        (&json!("stopped"), &json!("feed.denied"))
    );
    let errors = following.call("feeds.errors", json!({}));
    assert_eq!(errors[0]["message"], "the server answered with status 401");
    let asked = following.site.requests().len();
    following.call("feeds.fetch", json!({}));
    let refused = following.client.call("feeds.items", json!({ "feed": 1 })).unwrap_err();
    assert!(refused.to_string().contains("refused the login of feed indexer"), "{refused}");
    assert_eq!(following.site.requests().len(), asked, "the host is left alone");

    following.site.turn_to(|_| Answer::new(304));
    let path = following.home.join("bergamot.toml");
    let other = fs::read_to_string(&path).unwrap().replace(KEY, "another");
    fs::write(&path, other).unwrap();
    following.call("config.reload", json!({}));
    following.daemon.wait_for(&["DEBUG", "nothing new"]);
    assert_eq!(following.feed()["state"], "waiting");
    assert!(following.site.requests().last().unwrap().target.ends_with("apikey=another"));
    following.stop();
}

#[test]
fn an_item_waits_as_long_as_its_indexer_wants_it_to() {
    for (answer, word) in [
        (Answer::new(429).header("Retry-After", "3600"), "status 429"),
        (Answer::new(200).body("<error code='501' description='enough'/>"), "enough"),
        (Answer::new(403), "status 403"),
    ] {
        let home = Home::new();
        let (site, news) = indexer_that_answers(&["a.show"], Some(answer));
        let config = config(&site, &news, TAKE_ALL);
        let mut daemon = Daemon::start(&home, &config);
        daemon.wait_for(&["WARN not fetched", word]);
        let mut client = home.connect().unwrap();
        let queue = client.call("queue.list", json!({})).unwrap();
        assert_eq!(queue["items"][0]["name"], "a.show", "it is kept: {queue}");
        let feed = client.call("feeds.list", json!({})).unwrap()[0].clone();
        let state = if word.contains("403") { "stopped" } else { "held" };
        assert_eq!(feed["state"], state, "{feed}");
        let asked = site.requests().len();
        client.call("feeds.fetch", json!({})).unwrap();
        assert_eq!(site.requests().len(), asked, "the host is left alone");
        daemon.stop();
    }
}

#[test]
fn what_was_given_up_is_tried_again_by_command() {
    let (site, news) = indexer_that_answers(&["a.show"], Some(Answer::new(404)));
    let (home, names) = (Home::new(), vec!["a.show".to_owned()]);
    let mut daemon = Daemon::start(&home, &config(&site, &news, TAKE_ALL));
    daemon.wait_for(&["WARN failed", "a.show", "url.status"]);
    let retry = || {
        let mut command = Daemon::command();
        command.arg("-H").arg(home.join("control.sock")).args(["feeds", "retry", "indexer"]);
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    let base = site.url("");
    site.turn_to(move |request| listing(request, &base, &names, &[post(0)]));
    assert_eq!(retry(), "Retried: 0 items, 1 jobs.\n");
    daemon.wait_complete("a.show");
    assert_eq!(retry(), "Nothing of this feed has failed.\n");
    daemon.stop();
}

#[test]
fn rules_are_tried_out_without_taking_anything() {
    let mut following = Following::start(&["a.show", "b.show"], "");
    following.daemon.wait_for(&["INFO checked", "new=2", "wanted=0"]);
    let url = following.site.url("/api");
    let items = following.call("feeds.preview", json!({ "url": url, "rules": "b*" }));
    let verdicts = [0, 1].map(|n| items[n]["verdict"].as_str().unwrap().to_owned());
    assert_eq!(verdicts, ["unmatched", "accepted"]);
    let params = json!([0, "x", url, "R: a*%A: *", true, false, "", 0, 15, "", false, 60, "1"]);
    let items = following.call("previewfeed", params);
    assert_eq!(items.as_array().unwrap().len(), 1);
    assert_eq!((&items[0]["Title"], &items[0]["Rule"]), (&json!("b.show"), &json!(2)));
    let file = following.home.join("rules");
    fs::write(&file, "Reject: a*\nAccept: *\n").unwrap();
    let shown = following.said(&["feeds", "preview", &url, "--rules-file", file.to_str().unwrap()]);
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.contains("rejected") && shown.contains("accepted"), "{shown}");

    let other = Site::start(|_| Answer::new(200)).unwrap();
    let private = json!({ "url": other.url("/").replace("127.0.0.1", "127.0.0.2") });
    let refused = following.client.call("feeds.preview", private).unwrap_err();
    assert!(refused.to_string().contains("no public address"), "{refused}");
    assert_eq!(other.requests().len(), 0, "anybody may have named it");
    let refused = following.client.call("feeds.preview", json!({ "url": url, "rules": "x:y" }));
    assert!(refused.unwrap_err().to_string().contains("there is no field"));
    assert_eq!(following.jobs(), [""; 0]);
    following.stop();
}

#[test]
fn a_timer_does_not_ask_a_server_again_that_refused_the_login() {
    for status in [401, 403] {
        let home = Home::new();
        let (site, news) = indexer(&[]);
        site.turn_to(move |_| Answer::new(status));
        let once = |keys: &str| {
            let config = config(&site, &news, keys);
            let control = "[control]\nsocket = \"control.sock\"\nport = 0\n";
            fs::write(home.join("bergamot.toml"), format!("{config}\n{control}")).unwrap();
            let mut command = Daemon::command();
            command.args(["feeds", "run", "--once", "--config"]).arg(home.join("bergamot.toml"));
            let output = command.output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(11), "{said}");
            assert!(!said.contains(KEY), "{said}");
            (said, site.requests().len())
        };
        assert_eq!(once(TAKE_ALL).1, 1, "{status}");
        let (said, asked) = once(TAKE_ALL);
        assert_eq!(asked, 1, "{status} is remembered: {said}");
        assert!(said.contains("refused the login before"), "{said}");
        assert_eq!(once(&format!("{TAKE_ALL}\ninterval = \"2 h\"")).1, 2, "other settings");
    }
}

#[test]
fn a_timer_reads_what_is_due_without_a_daemon() {
    let home = Home::new();
    let (site, news) = indexer(&["a.show", "b.show"]);
    let config = config(&site, &news, TAKE_ALL);
    fs::write(
        home.join("bergamot.toml"),
        format!("{config}\n[control]\nsocket = \"control.sock\"\nport = 0\n"),
    )
    .unwrap();
    let once = || {
        let mut command = Daemon::command();
        command.args(["feeds", "run", "--once", "--concurrency", "1", "--feed-size", "5"]);
        command.arg("--config").arg(home.join("bergamot.toml"));
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success() && !said.contains(KEY), "{said}");
        said
    };
    let said = once();
    assert!(said.contains("INFO checked") && said.contains("wanted=2"), "{said}");
    let asked = || site.requests().iter().filter(|request| request.path() == "/api").count();
    assert_eq!(asked(), 1);
    once();
    assert_eq!(asked(), 1, "it is not due again so soon");

    let mut daemon = Daemon::start(&home, &config);
    daemon.expect_complete("a.show", 1);
    daemon.expect_complete("b.show", 2);
    once();
    assert_eq!(asked(), 1, "the daemon knows what is due");
    daemon.stop();
    home.assert_contained();
}
