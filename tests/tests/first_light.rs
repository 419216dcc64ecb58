//! An NZB dropped into the watch folder becomes the finished file.

use std::fs;
use std::sync::Arc;

use bergamot_newsd::certs::{Authority, Quality};
use bergamot_newsd::{Articles, Fault, Faults, Generated, Login, Manners, Options, Rule, Security};
use bergamot_tests::{Daemon, Home, News, content_of, sample, sha256};
use bergamot_types::{ByteCount, ByteRate};

#[test]
fn a_dropped_nzb_becomes_the_file() {
    let (home, (posted, nzb, content)) = (Home::new(), sample("greeting.txt", 300_000, 50_000));
    let news = News::plain(Arc::new(posted));
    let mut daemon = Daemon::start(&home, &news.section(0, "connections = 3"));
    home.drop_nzb("greeting.nzb", &nzb);
    daemon.wait_complete("greeting");
    assert_eq!(fs::read(home.join("complete/greeting/greeting.txt")).unwrap(), content);
    assert!(home.join("watch/greeting.nzb.queued").exists());
    assert!(home.inventory("incomplete").is_empty(), "nothing is left behind");
    daemon.stop();
    home.assert_contained();
}

#[test]
fn every_way_to_connect_and_log_in() {
    let authority = Authority::new().unwrap();
    let identity = authority.issue(Quality::Good).unwrap().server_config().unwrap();
    let ways = [
        (Security::Plain, "encryption = \"none\""),
        (Security::Tls(identity.clone()), "encryption = \"tls\"\nca_file = \"ca.pem\""),
        (Security::StartTls(identity), "encryption = \"starttls\"\nca_file = \"ca.pem\""),
    ];
    for (security, keys) in ways {
        let (home, (posted, nzb, content)) = (Home::new(), sample("f.bin", 200_000, 40_000));
        fs::write(home.join("ca.pem"), authority.pem()).unwrap();
        let manners = Manners {
            login: Some(Login::new("ann", "secret word")),
            start_tls: matches!(security, Security::StartTls(_)),
            transit: matches!(security, Security::Plain),
            ..Manners::default()
        };
        let articles = Arc::new(posted);
        let news = News::start([Options { articles, manners, security, ..Options::default() }]);
        let login = "username = \"ann\"\npassword = \"secret word\"";
        let config = news.section(0, &format!("{keys}\n{login}"));
        let mut daemon = Daemon::start(&home, &config);
        home.drop_nzb("f.nzb", &nzb);
        daemon.wait_complete("f");
        assert_eq!(fs::read(home.join("complete/f/f.bin")).unwrap(), content, "{keys}");
        let log = daemon.stop().log.join("\n");
        assert!(!log.contains("secret word"), "no secret in the log");
    }
}

#[test]
fn a_limited_download_brings_every_byte_too() {
    let (home, (posted, nzb, content)) = (Home::new(), sample("slow.bin", 300_000, 20_000));
    let news = News::plain(Arc::new(posted));
    let server = news.section(0, "connections = 3\nrate = \"600 KB\"");
    let mut daemon = Daemon::start(&home, &format!("[download]\nrate = \"400 KB\"\n{server}"));
    home.drop_nzb("slow.nzb", &nzb);
    let line = daemon.wait_complete("slow");
    // A busy machine only makes it longer; without the limit it takes a tenth of this.
    let seconds = line.split("seconds=\"").nth(1).and_then(|rest| rest.split('"').next());
    let seconds: f32 = seconds.and_then(|text| text.parse().ok()).unwrap();
    assert!(seconds >= 0.4, "nothing was held back: {line}");
    assert_eq!(fs::read(home.join("complete/slow/slow.bin")).unwrap(), content);
    daemon.stop();
}

#[test]
fn three_servers_that_each_fail_in_their_own_way_give_every_byte() {
    let home = Home::new();
    let post =
        Arc::new(Generated::new(7, ByteCount(30_000)).file("big.bin", ByteCount(30_000_000)));
    let server = |fault: Fault, rate: f64, seed: u64| {
        let faults = Faults::seeded(seed).with(Rule::new(fault).at_rate(rate));
        let mut options = Options { articles: post.clone(), faults, ..Options::default() };
        // So that all three have their share, whoever connects first.
        options.manners.pace = Some(ByteRate(2_000_000));
        options
    };
    let news = News::start([
        server(Fault::Missing, 0.05, 1),
        server(Fault::Corrupt, 0.02, 2),
        server(Fault::CutBody, 0.05, 3),
    ]);
    let config: String = (0..3).map(|n| news.section(n, "connections = 4")).collect();
    let mut daemon = Daemon::start(&home, &config);
    home.drop_nzb("big.nzb", post.nzb());
    let line = daemon.wait_complete("big");
    assert!(line.contains("verified=true"), "{line}");
    let found = fs::read(home.join("complete/big/big.bin")).unwrap();
    assert_eq!(sha256(&found), sha256(&content_of(&post)));
    for (n, fault) in [(0, Fault::Missing), (1, Fault::Corrupt), (2, Fault::CutBody)] {
        assert!(news.tally(n).fired(fault) > 0, "{fault:?} was delivered");
    }
    daemon.stop();
}

#[test]
fn two_hundred_nzbs_at_once_are_all_downloaded_and_none_twice() {
    let home = Home::new();
    let post =
        |n: u64| Generated::new(n, ByteCount(10_000)).file("file.bin", ByteCount(30_001 + n));
    let posts: Vec<_> = (0..200).map(|n| Arc::new(post(n))).collect();
    let articles: Vec<Arc<dyn Articles>> = posts.iter().map(|post| post.clone() as _).collect();
    let news = News::plain(Arc::new(articles));
    let mut daemon = Daemon::start(&home, &news.section(0, "connections = 8"));
    for (n, post) in posts.iter().enumerate() {
        home.drop_nzb(&format!("job{n}.nzb"), post.nzb());
    }
    for _ in 0..200 {
        daemon.wait_for(&["INFO complete"]);
    }
    for (n, post) in posts.iter().enumerate() {
        let found = fs::read(home.join(format!("complete/job{n}/file.bin"))).unwrap();
        assert_eq!(found, content_of(post), "job {n}");
    }
    assert_eq!(fs::read_dir(home.join("complete")).unwrap().count(), 200);
    assert_eq!(news.tally(0).all_served(), 200 * 4, "each article once");
    daemon.stop();
}
