//! The daemon tells of a job's whole life: by lines over the socket, and to curl, as Server-Sent Events.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use bergamot_tests::{HttpDaemon, Sonarr};
use serde_json::{Value, json};

#[test]
fn lines_over_the_socket_tell_of_a_life_and_go_on_after_a_break() {
    let http_daemon = HttpDaemon::start();
    tell_of_two_lives(&http_daemon, |since| Box::new(lines(&http_daemon, since)));
}

#[test]
#[ignore = "needs curl; ./check installs it"]
fn curl_hears_the_same_over_http() {
    let http_daemon = HttpDaemon::start();
    tell_of_two_lives(&http_daemon, |since| Box::new(Curl::over_tcp(&http_daemon, since)));
}

#[test]
#[ignore = "needs curl; ./check installs it"]
fn curl_hears_the_same_over_the_socket() {
    let http_daemon = HttpDaemon::start();
    tell_of_two_lives(&http_daemon, |since| Box::new(Curl::over_socket(&http_daemon, since)));
}

/// What comes after a position, or from now on.
type Stream<'a> = Box<dyn Iterator<Item = Value> + 'a>;

fn tell_of_two_lives<'a>(http_daemon: &HttpDaemon, listen: impl Fn(Option<&Value>) -> Stream<'a>) {
    let sonarr = Sonarr::new(http_daemon, "tv");
    let stream = listen(None);
    let heard = a_life(&sonarr, http_daemon, "first", stream);
    let last = heard.last().expect("there was something");

    // Nobody listens while the second one is added.
    let added = grab(&sonarr, http_daemon, "second", true);
    let heard = until_completed(listen(Some(last)), added, || {
        sonarr.edit("GroupResume", "", added);
    });
    assert_eq!(heard[0]["sequence"].as_u64(), last["sequence"].as_u64().map(|last| last + 1));
    assert_consecutive(&heard);
    assert_life(&heard, added);

    // More happens than is kept, so whoever comes back has missed some, and is told how much.
    let begin = json!({ "boot": last["boot"], "sequence": 1 });
    let pause = json!({ "method": "pausedownload" });
    for _ in 0..MORE_THAN_IS_KEPT / 100 {
        http_daemon.call_json(&json!(vec![&pause; 100]).to_string());
    }
    let mut stream = listen(Some(&begin));
    let gap = stream.next().expect("it is told at once");
    assert_eq!(gap["gap"]["first"], 2, "{gap}");
    assert_eq!(gap["gap"]["last"], gap["sequence"]);
    let next = stream.next().expect("it goes on");
    assert_eq!(next["sequence"].as_u64(), gap["sequence"].as_u64().map(|last| last + 1));

    // What another start has told is not known to this one.
    let elsewhere = json!({ "boot": "another", "sequence": 7 });
    let gap = listen(Some(&elsewhere)).next().expect("it is told at once");
    assert!(gap["gap"].is_object(), "{gap}");
    assert_eq!(gap["boot"], last["boot"]);
}

/// Grabs a job while somebody listens.
fn a_life(
    sonarr: &Sonarr<'_>,
    http_daemon: &HttpDaemon,
    name: &str,
    stream: Stream<'_>,
) -> Vec<Value> {
    let job = grab(sonarr, http_daemon, name, false);
    let heard = until_completed(stream, job, || {});
    assert_consecutive(&heard);
    assert_life(&heard, job);
    heard
}

fn grab(sonarr: &Sonarr<'_>, http_daemon: &HttpDaemon, name: &str, paused: bool) -> i64 {
    let params = json!([format!("{name}.nzb"), http_daemon.nzb(name), "tv", 0, false, paused]);
    sonarr.call("append", params).as_i64().expect("a number")
}

/// Listens until the job has ended; `begin` is done once the first word is heard.
fn until_completed(stream: Stream<'_>, job: i64, begin: impl FnOnce()) -> Vec<Value> {
    let (mut heard, mut begin) = (Vec::new(), Some(begin));
    for delivery in stream {
        if let Some(begin) = begin.take() {
            begin();
        }
        let event = &delivery["event"];
        let ended = event["job"] == job && event["state"]["is"] == "completed";
        heard.push(delivery);
        if ended {
            return heard;
        }
    }
    panic!("the stream ended too early: {heard:?}");
}

fn assert_consecutive(heard: &[Value]) {
    for (one, next) in heard.iter().zip(&heard[1..]) {
        assert_eq!(next["boot"], one["boot"]);
        assert_eq!(next["sequence"].as_u64(), one["sequence"].as_u64().map(|one| one + 1));
    }
}

/// It is added, it only comes nearer to its end, and it ends once.
fn assert_life(heard: &[Value], job: i64) {
    let of_job: Vec<_> =
        heard.iter().map(|it| &it["event"]).filter(|event| event["job"] == job).collect();
    let first = of_job.first().expect("it is told of");
    assert_eq!(first["is"], "job-added", "{of_job:?}");
    assert_eq!(first["category"], "tv");
    let current = of_job.iter().filter(|event| event["is"] == "queue.current").count();
    assert_eq!(current, 1, "it was the one that mattered, once: {of_job:?}");
    let left: Vec<_> = of_job.iter().filter_map(|event| event["remaining"].as_u64()).collect();
    assert!(left.is_sorted_by(|earlier, later| earlier >= later), "{left:?}");
    let stages = of_job.iter().filter(|event| event["is"] == "job-stage");
    let stages: Vec<_> = stages.map(|event| (&event["stage"], &event["progress"])).collect();
    assert_eq!(stages, [(&json!("moving"), &json!(0)), (&json!("moving"), &json!(1000))]);
    let ends = of_job.iter().filter(|event| event["state"]["is"] == "completed").count();
    assert_eq!(ends, 1, "{of_job:?}");
}

/// JSON-RPC by lines.
fn lines(http_daemon: &HttpDaemon, since: Option<&Value>) -> impl Iterator<Item = Value> + use<> {
    let mut stream =
        UnixStream::connect(http_daemon.home.join("control.sock")).expect("it listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("it can be set");
    let position = |it: &Value| json!({ "boot": it["boot"], "sequence": it["sequence"] });
    let params = since.map_or(json!({}), |since| json!({ "since": position(since) }));
    let request =
        json!({ "jsonrpc": "2.0", "id": 1, "method": "events.subscribe", "params": params });
    writeln!(stream, "{request}").expect("it is taken");
    let mut lines = BufReader::new(stream).lines().map(|line| {
        let line = line.expect("it goes on");
        serde_json::from_str::<Value>(&line).expect("JSON")
    });
    let answer = lines.next().expect("an answer");
    assert!(answer["result"]["sequence"].is_u64(), "{answer}");
    lines.map(|mut message| {
        assert_eq!(message["method"], "events.event");
        message["params"].take()
    })
}

/// A curl that listens; it ends with the test.
struct Curl {
    process: Child,
    lines: std::io::Lines<BufReader<ChildStdout>>,
}

impl Curl {
    fn over_tcp(http_daemon: &HttpDaemon, since: Option<&Value>) -> Self {
        let mut command = Command::new("curl");
        command.args(["--user", &format!("{}:{}", HttpDaemon::USER, HttpDaemon::PASSWORD)]);
        command.arg(format!("http://{}/events", http_daemon.address));
        Self::listen(command, since)
    }

    fn over_socket(http_daemon: &HttpDaemon, since: Option<&Value>) -> Self {
        let mut command = Command::new("curl");
        command.arg("--unix-socket").arg(http_daemon.home.join("control.sock"));
        command.arg("http://localhost/events");
        Self::listen(command, since)
    }

    /// Until the head of the answer has come, so that nothing is missed.
    fn listen(mut command: Command, since: Option<&Value>) -> Self {
        command.args(["--silent", "--no-buffer", "--include", "--max-time", "60"]);
        if let Some(since) = since {
            let boot = since["boot"].as_str().expect("a name");
            let id = format!("Last-Event-ID: {boot}/{}", since["sequence"]);
            command.args(["--header", &id]);
        }
        let mut process = command.stdout(Stdio::piped()).spawn().expect("curl is installed");
        let mut lines = BufReader::new(process.stdout.take().expect("it is piped")).lines();
        let status = lines.next().expect("a head").expect("it answers");
        assert!(status.contains(" 200 "), "{status}");
        let head = lines.by_ref().map_while(Result::ok).take_while(|line| !line.is_empty());
        let is_stream = |line: String| line.eq_ignore_ascii_case("content-type: text/event-stream");
        assert!(head.map(is_stream).fold(false, |found, is_it| found | is_it), "the type is told");
        Self { process, lines }
    }
}

impl Iterator for Curl {
    type Item = Value;

    /// The id of an event is what its data say; comments are passed over.
    fn next(&mut self) -> Option<Value> {
        let mut id = String::new();
        for line in self.lines.by_ref().map_while(Result::ok) {
            if let Some(text) = line.strip_prefix("id: ") {
                text.clone_into(&mut id);
            } else if let Some(data) = line.strip_prefix("data: ") {
                let data: Value = serde_json::from_str(data).expect("JSON");
                let named = format!("{}/{}", data["boot"].as_str()?, data["sequence"]);
                assert_eq!(id, named);
                return Some(data);
            }
        }
        None
    }
}

impl Drop for Curl {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The daemon keeps 4096 events.
const MORE_THAN_IS_KEPT: usize = 4100;

/// Far more than anything here takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
