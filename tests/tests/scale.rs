//! A hundred thousand jobs, and a thousand at once.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops here")]

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bergamot_jobs::{Fingerprint, Record};
use bergamot_newsd::Generated;
use bergamot_rpc::Client;
use bergamot_store::{Addition, Spool};
use bergamot_tests::{Daemon, Home, Listing};
use bergamot_types::{ByteCount, UnixTime};
use serde_json::json;

#[test]
fn a_hundred_thousand_jobs_are_a_queue_like_any_other() {
    let home = Home::in_memory();
    let daemon = Daemon::start(&home, CONFIG);
    let idle = daemon.memory();
    daemon.stop();
    fill(&home, JOBS);
    let start = Instant::now();
    let mut daemon = Daemon::launch(&home, CONFIG, Daemon::command());
    assert!(daemon.comes_up());
    let mut client = home.connect().unwrap();
    let status = client.call("system.status", json!({})).unwrap();
    let first_answer = start.elapsed();
    assert_eq!(status["jobs"], JOBS);
    let above = ByteCount(daemon.memory().0.saturating_sub(idle.0));
    let slowest = pages(&mut client).into_iter().max().unwrap();
    let start = Instant::now();
    let groups = client.call("listgroups", json!([0])).unwrap();
    let listed = start.elapsed();
    assert_eq!(groups.as_array().unwrap().len(), JOBS);
    println!(
        "{JOBS} jobs: the first answer after {first_answer:.1?}, {above} above idle, pages of 100 \
         within {slowest:.1?}, all groups in {listed:.1?}"
    );
    // Far more than it takes; what it should take is printed.
    assert!(first_answer < Duration::from_secs(10), "{first_answer:?}");
    assert!(above.0 < 100_000_000, "{above}");
    daemon.stop();
}

// G7
#[test]
fn lists_of_any_length_take_little_memory() {
    let home = Home::in_memory();
    // As many as there may be, where the program is the one that people get.
    let listed = if std::env::var_os("BERGAMOT_PROGRAM").is_some() { JOBS } else { SOME };
    fill(&home, listed);
    let mut daemon = Daemon::launch(&home, CONFIG, Daemon::command());
    assert!(daemon.comes_up());
    home.connect().unwrap().call("system.status", json!({})).unwrap();
    let by_line =
        |method: &str| format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"{method}\"}}\n");
    let by_http = |path: &str, body: &str| {
        let length = body.len();
        format!("POST {path} HTTP/1.0\r\nHost: x\r\nContent-Length: {length}\r\n\r\n{body}")
    };
    let xml = "<methodCall><methodName>listgroups</methodName></methodCall>";
    let batch = r#"[{"method":"listgroups","id":1},{"method":"listgroups","id":2}]"#;
    for (way, request, field, lists) in [
        ("lines, our own", by_line("queue.list"), "\"added\":", 1),
        ("lines, NZBGet's", by_line("listgroups"), "\"NZBID\":", 1),
        ("JSON", by_http("/jsonrpc", r#"{"method":"listgroups"}"#), "\"NZBID\":", 1),
        ("a batch", by_http("/jsonrpc", batch), "\"NZBID\":", 2),
        ("XML", by_http("/xmlrpc", xml), "<name>NZBID</name>", 1),
    ] {
        daemon.forget_peak_memory();
        let before = daemon.memory();
        let (length, jobs) = count(&home, &request, field);
        let above = ByteCount(daemon.peak_memory().0.saturating_sub(before.0));
        println!("{jobs} jobs as {way}: {length} of answer, {above} of memory");
        assert_eq!(jobs, lists * listed, "{way}");
        assert!(above.0 < MOST_FOR_A_LIST && above.0 < length.0, "{way}: {above} for {length}");
    }
    daemon.stop();
}

/// How long the answer is, and how often these words occur in it.
fn count(home: &Home, request: &str, words: &str) -> (ByteCount, usize) {
    let mut stream = UnixStream::connect(home.join("control.sock")).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let (mut length, mut found) = (0, 0);
    let (mut text, mut buffer) = (Vec::new(), vec![0; 1 << 16]);
    loop {
        let read = stream.read(&mut buffer).unwrap();
        if read == 0 {
            return (ByteCount(length), found);
        }
        length += read as u64;
        text.extend_from_slice(&buffer[..read]);
        found += text.windows(words.len()).filter(|part| *part == words.as_bytes()).count();
        // What was cut by the edge is found with the next.
        text.drain(..text.len() - text.len().min(words.len() - 1));
    }
}

// S-06
#[test]
fn a_thousand_jobs_in_one_burst_outlive_a_kill() {
    let home = Home::in_memory();
    let daemon = Daemon::start(&home, CONFIG);
    let start = Instant::now();
    let names: BTreeSet<String> = thread::scope(|scope| {
        let burst = |connection| {
            let home = &home;
            scope.spawn(move || {
                let mut client = home.connect().unwrap();
                let numbers = (connection..1_000).step_by(CONNECTIONS);
                numbers.map(|number| add(&mut client, number)).collect::<Vec<_>>()
            })
        };
        let connections: Vec<_> = (0..CONNECTIONS).map(burst).collect();
        connections.into_iter().flat_map(|connection| connection.join().unwrap()).collect()
    });
    println!(
        "a burst of {} jobs over {CONNECTIONS} connections in {:.1?}",
        names.len(),
        start.elapsed()
    );
    daemon.kill();
    let daemon = Daemon::start(&home, CONFIG);
    let listing = Listing::ask(&mut home.connect().unwrap()).unwrap();
    let found: BTreeSet<_> = listing.queue.into_iter().map(|entry| entry.name).collect();
    assert_eq!(found.len(), 1_000);
    assert_eq!(found, names);
    daemon.stop();
}

/// Puts the jobs into the spool as the daemon itself would.
fn fill(home: &Home, jobs: usize) {
    let (spool, _) = Spool::open(&home.join("state/spool")).unwrap();
    let nzb = Generated::new(1, ByteCount(20_000)).file("f.bin", ByteCount(90_000)).nzb();
    for chunk in 0..jobs / 1_000 {
        let records: Vec<_> = (0..1_000).map(|n| record(&spool, chunk * 1_000 + n)).collect();
        let mut nzbs: Vec<_> = records.iter().map(|_| nzb.as_bytes()).collect();
        let additions = records.iter().zip(&mut nzbs);
        let mut additions: Vec<_> =
            additions.map(|(record, nzb)| Addition { record, nzb: nzb as &mut dyn Read }).collect();
        assert!(spool.add_all(&mut additions).iter().all(Result::is_ok));
    }
}

fn record(spool: &Spool, number: usize) -> Record {
    let mut print = [0; 16];
    print[..8].copy_from_slice(&(number as u64).to_le_bytes());
    let name = format!("A.Post.With.A.Usual.Name.S01E{number:06}.1080p.WEB.H264-GROUP");
    let source = format!("rpc {name}.nzb");
    let mut record =
        Record::new(spool.next_id(), &name, UnixTime(1_800_000_000), &source, Fingerprint(print));
    record.rank = number as i64 * 1_000_000;
    record.category = Some("tv".into());
    record.parameters.set("drone", &format!("{number:032x}"));
    record.contents.bytes = ByteCount(4_000_000_000);
    record
}

/// How long pages from all over the queue take.
fn pages(client: &mut Client) -> Vec<Duration> {
    let offsets = (0..JOBS).step_by(JOBS / 20);
    let took = offsets.map(|offset| {
        let start = Instant::now();
        let page = client.call("queue.list", json!({ "offset": offset, "limit": 100 })).unwrap();
        assert_eq!(page["items"].as_array().map(Vec::len), Some(100));
        start.elapsed()
    });
    took.collect()
}

fn add(client: &mut Client, number: usize) -> String {
    let name = format!("burst-{number}");
    let post = Generated::new(number as u64, ByteCount(20_000)).file("f.bin", ByteCount(90_000));
    let nzb = STANDARD.encode(post.nzb());
    let answer = client.call("queue.add", json!({ "name": name, "nzb": nzb })).unwrap();
    assert!(answer["job"].as_u64().is_some_and(|job| job > 0), "{answer}");
    name
}

/// Nobody listens there: the jobs wait.
const CONFIG: &str =
    "[[server]]\nname = \"s0\"\nhost = \"127.0.0.1\"\nport = 9\nencryption = \"none\"\n";

const JOBS: usize = 100_000;
const SOME: usize = 20_000;
const MOST_FOR_A_LIST: u64 = 16 << 20;
const CONNECTIONS: usize = 8;
