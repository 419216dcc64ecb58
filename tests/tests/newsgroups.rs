//! Newsgroups over the control socket: what is posted is seen, found, and downloaded from there.

use std::fs;
use std::sync::Arc;
use std::time::Instant;

use bergamot_newsd::{Articles, Generated, Header, Login, Manners, Newsgroups, Options};
use bergamot_rpc::{Client, ClientError};
use bergamot_tests::{Daemon, Home, News, content_of};
use bergamot_types::{ByteCount, ByteRate};
use serde_json::{Value, json};

const GROUP: &str = "alt.binaries.test";

/// A post of one file, and its headers as they would be in the group.
fn post(seed: u64, name: &str, size: u64) -> (Arc<Generated>, Vec<Header>) {
    let post = Generated::new(seed, ByteCount(20_000)).file(name, ByteCount(size));
    let headers = (1..=post.parts(0)).map(|part| {
        let id = post.id(0, part);
        Header {
            subject: post.subject(&id).unwrap_or_default(),
            from: "Ann <ann@example.com>".to_owned(),
            date: "Thu, 01 Jan 2026 00:00:00 GMT".to_owned(),
            id,
            bytes: 20_500,
        }
    });
    let headers = headers.collect();
    (Arc::new(post), headers)
}

fn talk(number: u64) -> Header {
    Header {
        subject: format!("Re: about number {number}"),
        from: "Bob".to_owned(),
        date: "Thu, 01 Jan 2026 00:00:00 GMT".to_owned(),
        id: format!("talk{number}@x"),
        bytes: 900,
    }
}

fn options(articles: Arc<dyn Articles>, newsgroups: &Arc<Newsgroups>) -> Options {
    let newsgroups = newsgroups.clone();
    let manners = Manners { newsgroups, compress: true, transcript: true, ..Manners::default() };
    Options { articles, manners, ..Options::default() }
}

fn call(client: &mut Client, method: &str, params: Value) -> Value {
    client.call(method, params).unwrap_or_else(|error| panic!("{method}: {error}"))
}

fn refused(client: &mut Client, method: &str, params: Value) -> String {
    match client.call(method, params) {
        Err(ClientError::Refused { message, .. }) => message,
        other => panic!("{method}: {other:?}"),
    }
}

#[test]
fn a_post_is_seen_queued_and_downloaded_without_an_nzb() {
    let newsgroups = Arc::new(Newsgroups::default());
    newsgroups.open("alt.empty", 0);
    for number in 1..=40 {
        newsgroups.post(GROUP, talk(number));
    }
    let (post, headers) = post(7, "some show.bin", 190_000);
    let news = News::start([options(post.clone(), &newsgroups)]);
    let home = Home::new();
    let mut daemon = Daemon::start(&home, &news.section(0, ""));
    let mut client = home.connect().expect("it listens");

    let groups = call(&mut client, "groups.list", json!({ "pattern": "binaries" }));
    assert_eq!(groups["items"][0]["name"], GROUP);
    assert_eq!((&groups["total"], &groups["items"][0]["last"]), (&json!(1), &json!(40)));

    let page = call(&mut client, "groups.headers", json!({ "group": GROUP, "limit": 30 }));
    assert_eq!(page["items"][0]["subject"], "Re: about number 40");
    assert_eq!((&page["known"], &page["below"]), (&json!(40), &json!(11)));
    let rest = json!({ "group": GROUP, "limit": 30, "below": 11 });
    let page = call(&mut client, "groups.headers", rest);
    assert_eq!(page["items"].as_array().map(Vec::len), Some(10));
    assert_eq!(page["below"], Value::Null);
    let found =
        call(&mut client, "groups.search", json!({ "group": GROUP, "search": "bob NUMBER 17" }));
    assert_eq!(found["items"].as_array().map(Vec::len), Some(1));
    assert_eq!(call(&mut client, "groups.posts", json!({ "group": GROUP }))["total"], 0);

    for header in headers {
        newsgroups.post(GROUP, header);
    }
    let posts = call(&mut client, "groups.posts", json!({ "group": GROUP, "latest": true }));
    let seen = &posts["items"][0];
    assert_eq!(
        (&seen["complete"], &seen["present_articles"]),
        (&json!(true), &json!(10)),
        "{seen}"
    );
    assert_eq!(seen["title"], "some show");

    let wanted = json!({ "group": GROUP, "post": seen["post"], "category": "tv" });
    let job = call(&mut client, "groups.queue", wanted);
    assert!(job["job"].as_u64().is_some(), "{job}");
    daemon.wait_complete("some show");
    let found = fs::read(home.join("complete/tv/some show/some show.bin")).expect("it is complete");
    assert!(found == content_of(&post), "every byte of it");

    let transcript = news.tally(0).transcript();
    assert!(transcript.iter().any(|line| line.ends_with("COMPRESS DEFLATE")), "{transcript:?}");
    assert_apart(&transcript);
    daemon.stop();
    home.assert_contained();
}

/// No connection is used for both headers and articles.
fn assert_apart(transcript: &[String]) {
    let connection = |line: &String| line.split(' ').next().map(str::to_owned);
    let having = |words: &[&str]| -> Vec<_> {
        let verb =
            |line: &&String| line.split(' ').nth(1).is_some_and(|verb| words.contains(&verb));
        transcript.iter().filter(verb).filter_map(connection).collect()
    };
    let (headers, bodies) = (having(&["OVER", "XOVER", "LIST", "COMPRESS"]), having(&["BODY"]));
    assert!(!headers.is_empty() && !bodies.is_empty(), "{transcript:?}");
    assert!(!bodies.iter().any(|body| headers.contains(body)), "{transcript:?}");
}

#[test]
fn what_is_asked_for_wrongly_or_is_not_there_is_said() {
    let newsgroups = Arc::new(Newsgroups::default());
    newsgroups.post(GROUP, talk(1));
    let (post, _) = post(7, "a.bin", 1);
    let mut known = options(post, &newsgroups);
    known.manners.groups = vec!["only.this".to_owned()];
    let news = News::start([known]);
    let home = Home::new();
    let daemon = Daemon::start(&home, &news.section(0, ""));
    let mut client = home.connect().expect("it listens");
    let none = refused(&mut client, "groups.headers", json!({ "group": "no.such" }));
    assert_eq!(none, "there is no group no.such");
    let odd = refused(&mut client, "groups.headers", json!({ "group": "a b" }));
    assert!(odd.contains("group"), "{odd}");
    let none = refused(&mut client, "groups.queue", json!({ "group": GROUP, "post": "0123" }));
    assert_eq!(none, "there is no post 0123");
    daemon.stop();
}

#[test]
fn a_server_that_counts_what_it_gives_is_not_asked_and_one_without_the_group_is_passed_over() {
    let (post, _) = post(7, "a.bin", 1);
    let groups: Vec<_> = (0..3).map(|_| Arc::new(Newsgroups::default())).collect();
    groups[0].post(GROUP, talk(1));
    groups[1].open("other", 0);
    groups[2].post(GROUP, talk(2));
    let servers: Vec<_> = groups
        .iter()
        .map(|newsgroups| {
            let mut options = options(post.clone(), newsgroups);
            options.manners.groups = vec!["other".to_owned()];
            options
        })
        .collect();
    let news = News::start(servers);
    let home = Home::new();
    let sections = [
        news.section(0, "quota_total = \"1 GB\""),
        news.section(1, "level = 0"),
        news.section(2, "level = 1"),
    ];
    let daemon = Daemon::start(&home, &sections.concat());
    let mut client = home.connect().expect("it listens");
    let page = call(&mut client, "groups.headers", json!({ "group": GROUP }));
    assert_eq!((&page["server"], &page["items"][0]["id"]), (&json!("s2"), &json!("talk2@x")));
    assert_eq!(news.tally(0).connections().accepted, 0);
    assert_eq!(news.tally(1).commands("GROUP"), 1);
    daemon.stop();
}

#[test]
fn a_server_that_is_down_is_passed_over_by_who_knows_no_numbers_yet() {
    let newsgroups = Arc::new(Newsgroups::default());
    newsgroups.post(GROUP, talk(1));
    let (post, _) = post(7, "a.bin", 1);
    let mut news = News::start([options(post.clone(), &newsgroups), options(post, &newsgroups)]);
    let home = Home::new();
    let config = [news.section(0, "level = 0"), news.section(1, "level = 1")].concat();
    news.stop(0);
    let daemon = Daemon::start(&home, &config);
    let mut client = home.connect().expect("it listens");
    let groups = call(&mut client, "groups.list", json!({}));
    assert_eq!(groups["items"][0]["name"], GROUP);
    assert_eq!(call(&mut client, "groups.headers", json!({ "group": GROUP }))["server"], "s1");
    news.stop(0);
    // What is known stays; what is wanted from the server says why it cannot be had.
    assert_eq!(call(&mut client, "groups.headers", json!({ "group": GROUP }))["known"], 1);
    let latest = json!({ "group": GROUP, "latest": true });
    let why = refused(&mut client, "groups.headers", latest);
    assert!(why.starts_with("s1: cannot connect"), "{why}");
    // And nobody waits for a server that rests after that.
    let why = refused(&mut client, "groups.list", json!({}));
    assert!(why.contains("cannot connect"), "{why}");
    daemon.stop();
}

#[test]
fn however_many_ask_at_once_a_group_is_looked_at_once_a_second() {
    let newsgroups = Arc::new(Newsgroups::default());
    newsgroups.post(GROUP, talk(1));
    let (post, _) = post(7, "a.bin", 1);
    let news = News::start([options(post, &newsgroups)]);
    let home = Home::new();
    let daemon = Daemon::start(&home, &news.section(0, ""));
    let start = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..40 {
            scope.spawn(|| {
                let mut client = home.connect().expect("it listens");
                for _ in 0..5 {
                    let page = call(&mut client, "groups.headers", json!({ "group": GROUP }));
                    assert_eq!(page["known"], 1);
                }
            });
        }
    });
    let most = 1 + start.elapsed().as_secs();
    let looks = news.tally(0).commands("GROUP");
    assert!((1..=most).contains(&looks), "{looks} looks in {most} s");
    daemon.stop();
}

#[test]
fn who_waits_for_a_server_that_is_switched_off_is_told() {
    let newsgroups = Arc::new(Newsgroups::default());
    newsgroups.post(GROUP, talk(1));
    let (post, _) = post(9, "long.bin", 4_000_000);
    let mut slow = options(post.clone(), &newsgroups);
    slow.manners.pace = Some(ByteRate(50_000));
    let news = News::start([slow]);
    let home = Home::new();
    let mut daemon = Daemon::start(&home, &news.section(0, "connections = 1"));
    home.drop_nzb("long.nzb", post.nzb());
    news.wait_until(|news| news.tally(0).commands("BODY") > 0);
    let (mut client, mut other) =
        (home.connect().expect("it listens"), home.connect().expect("again"));
    let waiting = std::thread::spawn(move || {
        refused(&mut client, "groups.headers", json!({ "group": GROUP }))
    });
    daemon.wait_for(&["Triggering incremental update"]);
    call(&mut other, "servers.switch", json!({ "server": 1, "active": false }));
    let why = waiting.join().expect("it was answered");
    assert_eq!(why, "no server that may be asked for headers is configured");
    daemon.stop();
}

#[test]
fn looks_share_a_connection_until_a_download_wants_it() {
    let newsgroups = Arc::new(Newsgroups::default());
    newsgroups.post(GROUP, talk(1));
    newsgroups.post("alt.other", talk(2));
    let (post, _) = post(9, "job.bin", 60_000);
    let mut options = options(post.clone(), &newsgroups);
    options.manners.login = Some(Login::new("ann", "secret"));
    let news = News::start([options]);
    let home = Home::new();
    let keys = "connections = 1\nusername = \"ann\"\npassword = \"secret\"";
    let mut daemon = Daemon::start(&home, &news.section(0, keys));
    let mut client = home.connect().expect("it listens");
    for number in 3..=5 {
        newsgroups.post(GROUP, talk(number));
        for group in [GROUP, "alt.other"] {
            let page = json!({ "group": group, "latest": true });
            call(&mut client, "groups.headers", page);
        }
    }
    call(&mut client, "groups.list", json!({}));
    let tally = news.tally(0);
    assert_eq!(tally.commands("GROUP"), 6, "{:?}", tally.transcript());
    assert_eq!(tally.connections().accepted, 1, "{:?}", tally.transcript());
    let logins = tally.transcript().iter().filter(|line| line.contains("AUTHINFO USER")).count();
    assert_eq!(logins, 1, "{:?}", tally.transcript());

    // The account has one connection, which the download gets at once.
    home.drop_nzb("job.nzb", post.nzb());
    daemon.wait_complete("job");
    assert_apart(&news.tally(0).transcript());
    let page = call(&mut client, "groups.headers", json!({ "group": GROUP, "latest": true }));
    assert_eq!(page["known"], 4);
    daemon.stop();
}

#[test]
fn targets_are_listed_with_kind_interval_next_due_and_last_result() {
    let newsgroups = Arc::new(Newsgroups::default());
    newsgroups.post(GROUP, talk(1));
    let (post, _) = post(7, "a.bin", 1);
    let news = News::start([options(post, &newsgroups)]);
    let home = Home::new();
    let daemon = Daemon::start(&home, &news.section(0, ""));
    let mut client = home.connect().expect("it listens");
    call(&mut client, "groups.headers", json!({ "group": GROUP }));
    let targets = call(&mut client, "targets.list", json!({}));
    let of_kind = |kind: &str| {
        let targets = targets.as_array().into_iter().flatten();
        targets.clone().find(|target| target["kind"] == kind).cloned().unwrap_or_default()
    };
    let (group, watch) = (of_kind("group"), of_kind("watch-folder"));
    assert_eq!((&group["subject"], &group["interval_ms"]), (&json!(GROUP), &json!(30_000)));
    assert_eq!((&group["last_result"], &group["failures"]), (&json!("ok"), &json!(0)));
    assert!(group["next_due"].is_string() && watch["interval_ms"].is_u64(), "{targets}");
    let mut command = Daemon::command();
    let said = command.arg("-H").arg(home.join("control.sock")).arg("targets").output();
    let said = String::from_utf8(said.expect("it ran").stdout).expect("text");
    assert!(said.contains("LAST RESULT") && said.contains(GROUP), "{said}");
    daemon.stop();
}

#[test]
fn headers_wait_while_articles_come_unless_a_connection_is_theirs() {
    for reserved in [0, 1] {
        let newsgroups = Arc::new(Newsgroups::default());
        newsgroups.post(GROUP, talk(1));
        let (post, _) = post(9, "long.bin", 400_000);
        let mut slow = options(post.clone(), &newsgroups);
        slow.manners.pace = Some(ByteRate(100_000));
        let news = News::start([slow]);
        let home = Home::new();
        let config = news.section(0, "connections = 2");
        let config = format!("[groups]\nreserved_connections = {reserved}\n{config}");
        let mut daemon = Daemon::start(&home, &config);
        home.drop_nzb("long.nzb", post.nzb());
        news.wait_until(|news| news.tally(0).commands("BODY") > 0);
        let mut client = home.connect().expect("it listens");
        let page = call(&mut client, "groups.headers", json!({ "group": GROUP }));
        assert_eq!(page["known"], 1);
        daemon.wait_complete("long");
        let transcript = news.tally(0).transcript();
        assert_apart(&transcript);
        let place = |verb: &str| transcript.iter().position(|line| line.contains(verb));
        let last_body = transcript.iter().rposition(|line| line.contains(" BODY"));
        match reserved {
            0 => assert!(place(" OVER") > last_body, "{transcript:?}"),
            _ => assert!(place(" OVER").is_some(), "{transcript:?}"),
        }
        daemon.stop();
    }
}

#[test]
fn the_log_tells_of_a_refresh_from_its_beginning() {
    let newsgroups = Arc::new(Newsgroups::default());
    newsgroups.post(GROUP, talk(1));
    let (post, _) = post(7, "a.bin", 1);
    let news = News::start([options(post, &newsgroups)]);
    let home = Home::new();
    let mut daemon = Daemon::start(&home, &news.section(0, ""));
    let mut client = home.connect().expect("it listens");
    call(&mut client, "groups.headers", json!({ "group": GROUP }));
    for words in [
        &["DEBUG Spawning background refresh task"][..],
        &["DEBUG Triggering incremental update"],
        &["DEBUG Found new articles", "count=1"],
        &["DEBUG Group refresh scheduled", "rps=0.00 period_secs=30.0"],
    ] {
        let line = daemon.expect(words);
        assert!(line.contains(&format!("group={GROUP}")), "{line}");
    }
    daemon.stop();
}
