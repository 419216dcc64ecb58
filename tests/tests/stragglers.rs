//! Servers that are slow or fall silent do not hold a download up.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use bergamot_newsd::{Fault, Faults, Generated, Options, Rule};
use bergamot_tests::{Daemon, Home, News};
use bergamot_types::{ByteCount, ByteRate};

const SIZE: ByteCount = ByteCount(1_000_000_000);
const ARTICLE: ByteCount = ByteCount(700_000);

/// How fast one of eight connections is.
const FAST: ByteRate = ByteRate(4_000_000);
const SLOW: ByteRate = ByteRate(FAST.0 / 20);

/// Both downloads run at the same time, so that whatever else the machine is at slows both.
#[test]
#[ignore = "half a minute, and about time: ./check full"]
fn a_server_that_falls_silent_costs_next_to_nothing() {
    let post = Arc::new(Generated::new(1, ARTICLE).file("big.bin", SIZE));
    let server = |pace: ByteRate, faults: Faults| {
        let mut options = Options { articles: post.clone(), faults, ..Options::default() };
        options.manners.pace = Some(pace);
        options
    };
    let two = || vec![server(FAST, Faults::none()), server(SLOW, Faults::none())];
    let silent = Faults::none().with(Rule::new(Fault::Silent).after(25));
    let mut three = two();
    three.push(server(FAST, silent));

    let nzb = post.nzb();
    let (alone, (beside, fired)) = thread::scope(|scope| {
        let alone = scope.spawn(|| download(two(), &nzb));
        let beside = scope.spawn(|| download(three, &nzb));
        (alone.join().expect("two").0, beside.join().expect("three"))
    });
    let ratio = beside.as_secs_f64() / alone.as_secs_f64();
    println!("two servers {alone:.1?}, with a third that falls silent {beside:.1?}: {ratio:.3}");
    assert!(fired > 0, "the silence was delivered");
    assert!(ratio <= 1.15, "{ratio:.3}");
}

fn download(servers: Vec<Options>, nzb: &str) -> (Duration, u64) {
    let home = Home::in_memory();
    let count = servers.len();
    let news = News::start(servers);
    let config: String = (0..count).map(|n| news.section(n, "connections = 8")).collect();
    let mut daemon = Daemon::start(&home, &config);
    let started = Instant::now();
    home.drop_nzb("big.nzb", nzb);
    daemon.wait_complete("big");
    let took = started.elapsed();
    daemon.stop();
    (took, news.tally(count - 1).fired(Fault::Silent))
}
