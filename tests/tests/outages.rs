//! Servers that can be reached and do not deliver, and logins that are refused: the whole program.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bergamot_newsd::{Articles, Fault, Faults, Generated, Options, Rule};
use bergamot_store::Spool;
use bergamot_tests::{Daemon, FaultyServerTest, Home, News, content_of, ids, post};
use bergamot_types::ByteCount;

/// How a server fails behind its greeting.
fn failures() -> [Rule; 4] {
    [
        Rule::new(Fault::Refused).saying("503 storage is down"),
        Rule::new(Fault::Refused).saying("400 load too high"),
        Rule::new(Fault::Refused).saying("502 no"),
        Rule::new(Fault::CutBody),
    ]
}

#[test]
fn an_outage_behind_the_greeting_fails_no_job() {
    for rule in failures() {
        let (fault, outage) = (rule.fault(), Arc::new(AtomicBool::new(true)));
        let posts: Vec<_> = (1..=20).map(|n| post(n, &format!("job{n}.bin"), 3)).collect();
        let articles: Vec<Arc<dyn Articles>> =
            posts.iter().map(|post| Arc::clone(post) as Arc<dyn Articles>).collect();
        let faults = Faults::none().with(rule.while_on(&outage));
        let options = Options { faults, articles: Arc::new(articles), ..Options::default() };
        let mut test = FaultyServerTest::start(HEAD, [(options, "connections = 4")]);
        for (n, post) in (1..).zip(&posts) {
            test.home.drop_nzb(&format!("job{n}.nzb"), post.nzb());
        }
        test.daemon.wait_for(&["WARN", "does not deliver articles", "server=\"s0\""]);
        // It is probed again and again.
        let fired = test.news.tally(0).fired(fault);
        test.news.wait_until(|news| news.tally(0).fired(fault) > fired + 1);
        outage.store(false, Ordering::Relaxed);
        for (n, post) in (1..).zip(&posts) {
            test.daemon.expect(&["INFO complete", &format!("name=job{n} "), "verified=true"]);
            let path = test.home.join(format!("complete/job{n}/job{n}.bin"));
            assert!(std::fs::read(path).expect("the finished file") == content_of(post));
        }
        test.end().assert_nothing_lost();
    }
}

#[test]
fn a_server_that_never_delivers_is_passed_over_as_a_whole() {
    for rule in [Rule::new(Fault::HangUp), Rule::new(Fault::Endless)] {
        let post = post(1, "job.bin", 200);
        let broken = Options { faults: Faults::none().with(rule), ..serving(&post) };
        let servers = [(broken, "connections = 2"), (serving(&post), "level = 1")];
        let mut test = FaultyServerTest::start(HEAD, servers);
        test.completes("job", &post);
        let asked: u64 = ids(&post).iter().map(|id| u64::from(test.news.tally(0).asked(id))).sum();
        assert!(asked < 60, "{asked} articles were asked of it");
        test.daemon.stop();
    }
}

#[test]
fn an_unclear_answer_to_a_login_refuses_it_and_the_next_server_is_asked_at_once() {
    for line in ["502 Permission denied", "502 go away", "500 what", "400 not now"] {
        let post = post(1, "job.bin", 6);
        let faults = Faults::none().with(Rule::new(Fault::LoginRefused).saying(line));
        let refusing = Options { faults, ..serving(&post) };
        let mut test =
            FaultyServerTest::start(HEAD, [(refusing, ""), (serving(&post), "level = 1")]);
        test.completes("job", &post);
        let logins = test.news.tally(0).commands("AUTHINFO USER");
        assert!(logins <= 8, "{line}: {logins} logins");
        test.end().assert_said(&["WARN the login was refused", "server=\"s0\""]);
    }
}

#[test]
fn a_job_that_failed_by_an_outage_of_an_optional_server_comes_back_when_it_delivers() {
    let outage = Arc::new(AtomicBool::new(true));
    let (job, other) = (post(1, "job.bin", 6), post(2, "other.bin", 6));
    let rule = Rule::new(Fault::Refused).saying("503 storage is down").while_on(&outage);
    let both: Vec<Arc<dyn Articles>> = vec![job.clone(), other.clone()];
    let optional = Options {
        faults: Faults::none().with(rule),
        articles: Arc::new(both),
        ..Options::default()
    };
    let lacking = Faults::none().with(Fault::Missing);
    let first = Options { faults: lacking, ..serving(&job) };
    let mut test =
        FaultyServerTest::start(HEAD, [(first, ""), (optional, "level = 1\noptional = true")]);
    test.home.drop_nzb("job.nzb", job.nzb());
    test.daemon.wait_for(&["job.servers_down"]);
    outage.store(false, Ordering::Relaxed);
    test.home.drop_nzb("other.nzb", other.nzb());
    for name in ["other", "job"] {
        test.daemon.expect(&["INFO complete", &format!("name={name} "), "verified=true"]);
    }
    test.daemon.stop();
}

/// With nothing else queued, and in history: nothing is asked of the server but for this job.
#[test]
fn a_job_that_ended_in_an_outage_is_tried_again_after_a_start() {
    let outage = Arc::new(AtomicBool::new(true));
    let job = post(1, "job.bin", 6);
    let rule = Rule::new(Fault::Refused).saying("503 storage is down").while_on(&outage);
    let optional = Options { faults: Faults::none().with(rule), ..serving(&job) };
    let lacking = Options { faults: Faults::none().with(Fault::Missing), ..serving(&job) };
    let (home, news) = (Home::new(), News::start([lacking, optional]));
    let sections = [news.section(0, ""), news.section(1, "level = 1\noptional = true")].concat();
    let config = format!("{HEAD}\n{sections}");
    let mut daemon = Daemon::start(&home, &config);
    home.drop_nzb("job.nzb", job.nzb());
    daemon.wait_for(&["put back", "job.servers_down"]);
    daemon.stop();
    {
        let (spool, found) = Spool::open(&home.join("state/spool")).expect("the spool");
        let mut record = found.records.into_iter().next().expect("the job");
        record.returns = 3; // as often as it comes back while it is queued
        spool.update(&record).expect("the record");
    }
    let mut daemon = Daemon::start(&home, &config);
    daemon.wait_for(&["WARN failed", "job.servers_down"]);
    daemon.stop();
    outage.store(false, Ordering::Relaxed);
    let mut daemon = Daemon::start(&home, &config);
    daemon.expect(&["INFO complete", "name=job ", "verified=true"]);
    daemon.stop();
}

#[test]
fn an_article_of_a_sibling_file_is_not_taken_for_the_right_one() {
    let size = 6 * 20_000 - 10_000;
    let post = Arc::new(
        Generated::new(1, ByteCount(20_000))
            .file("a.part1.rar", ByteCount(size))
            .file("a.part2.rar", ByteCount(size)),
    );
    let swapped = Swapped { post: Arc::clone(&post), from: post.id(0, 3), to: post.id(1, 3) };
    let wrong = Options { articles: Arc::new(swapped), ..Options::default() };
    let news = News::start([wrong, Options { articles: post.clone(), ..Options::default() }]);
    let home = Home::new();
    let sections = [news.section(0, ""), news.section(1, "level = 1")].concat();
    let mut daemon = Daemon::start(&home, &format!("{HEAD}\n{sections}"));
    home.drop_nzb("job.nzb", post.nzb());
    let line = daemon.wait_complete("job");
    assert!(line.contains("verified=true"), "{line}");
    let found = std::fs::read(home.join("complete/job/a.part1.rar")).expect("the finished file");
    assert!(found == content_of(&post), "the right copy won");
    assert_eq!(news.tally(1).asked(&post.id(0, 3)), 1);
    daemon.stop();
}

/// Sends the article of another file under one id.
#[derive(Debug)]
struct Swapped {
    post: Arc<Generated>,
    from: String,
    to: String,
}

impl Articles for Swapped {
    fn contains(&self, id: &str) -> bool {
        self.post.contains(id)
    }

    fn append_body(&self, id: &str, out: &mut Vec<u8>) -> bool {
        self.post.append_body(if id == self.from { &self.to } else { id }, out)
    }

    fn subject(&self, id: &str) -> Option<String> {
        self.post.subject(id)
    }

    fn another(&self, id: &str) -> Option<String> {
        self.post.another(id)
    }
}

fn serving(post: &Arc<Generated>) -> Options {
    Options { articles: post.clone(), ..Options::default() }
}

/// What is slow is given up quickly.
const HEAD: &str = "\
[limits]
first_byte = \"1 s\"
silence = \"2 s\"
slowest_window = \"1 s\"
";
