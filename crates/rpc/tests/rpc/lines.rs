//! JSON by lines over the Unix socket, and events on every way.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream;

use crate::daemon::{self, Running, StandIn, body_of, status_of};
use bergamot_rpc::{Client, Event, Hub, Position, Server, Settings, StartError};
use serde_json::{Value, json};

/// Says all of it, closes its half, and reads to the end.
fn said(daemon: &Running, pieces: &[&[u8]]) -> String {
    let mut stream = UnixStream::connect(&daemon.socket).expect("it listens");
    for piece in pieces {
        stream.write_all(piece).expect("it is taken");
    }
    stream.shutdown(Shutdown::Write).expect("half of it closes");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers and closes");
    answer
}

const VERSION: &str = r#"{"version":"1.1","jsonrpc":"2.0","id":1,"result":"0.1.0"}"#;

#[test]
fn whoever_closes_their_half_still_gets_all_answers() {
    let daemon = daemon::start();
    let line = br#"{"jsonrpc":"2.0","id":1,"method":"system.version"}"#;
    assert_eq!(said(&daemon, &[line]), format!("{VERSION}\n"));
    assert_eq!(
        said(&daemon, &[line, b"\n\r\n  \n", line, b"\n"]),
        format!("{VERSION}\n{VERSION}\n")
    );
    assert_eq!(said(&daemon, &[b""]), "");
    assert_eq!(said(&daemon, &[b" \n\n ", line]), format!("{VERSION}\n"));
}

#[test]
fn it_does_not_matter_where_the_bytes_are_cut() {
    let daemon = daemon::start();
    let line = b"\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"system.version\"}\n";
    for cut in 0..line.len() {
        let (first, second) = line.split_at(cut);
        assert_eq!(said(&daemon, &[first, second]), format!("{VERSION}\n"), "cut at {cut}");
    }
    let http = b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    for cut in 1..http.len() {
        let (first, second) = http.split_at(cut);
        assert_eq!(body_of(&said(&daemon, &[first, second])), "ok\n", "cut at {cut}");
    }
}

#[test]
fn a_broken_line_costs_that_line_alone() {
    let daemon = daemon::start();
    let answer = said(
        &daemon,
        &[b"{\"method\n[1,\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"system.version\"}\n"],
    );
    let lines: Vec<&str> = answer.lines().collect();
    assert_eq!(lines.len(), 3, "{answer}");
    assert!(lines[0].contains("-32700") && lines[1].contains("-32700"));
    assert_eq!(lines[2], VERSION);
}

#[test]
fn notifications_are_done_and_not_answered() {
    let daemon = daemon::start();
    assert_eq!(said(&daemon, &[br#"{"jsonrpc":"2.0","method":"watch.scan"}"#]), "");
    let batch = br#"[{"jsonrpc":"2.0","method":"watch.scan"},{"jsonrpc":"2.0","method":"scan"}]"#;
    assert_eq!(said(&daemon, &[batch]), "");
    assert_eq!(daemon.control.take_done(), ["scan", "scan", "scan"]);
    let mixed = br#"[{"jsonrpc":"2.0","id":1,"method":"system.version"},5]"#;
    let answer: Value = serde_json::from_str(&said(&daemon, &[mixed])).expect("JSON");
    assert_eq!(answer[0]["result"], "0.1.0");
    assert_eq!(answer[1]["error"]["code"], -32600);
}

#[test]
fn events_come_between_answers_and_go_on_after_a_break() {
    let daemon = daemon::start();
    let mut events = daemon.client().subscribe(None).expect("a subscription");
    daemon.hub.publish(Event::Rate { rate: 5, limit: None });
    daemon.hub.publish(Event::Rate { rate: 6, limit: None });
    let first = events.next().expect("an event").expect("that is read");
    assert_eq!(
        first,
        json!({ "boot": "boot-1", "sequence": 1, "event": { "is": "rate", "rate": 5, "limit": null } })
    );
    drop(events);
    let since = |boot: &str| Some(Position { boot: boot.to_owned(), sequence: 1 });
    let mut again = daemon.client().subscribe(since("boot-1")).expect("a subscription");
    assert_eq!(again.next().expect("an event").expect("that is read")["sequence"], 2);
    let mut other = daemon.client().subscribe(since("boot-0")).expect("a subscription");
    let gap = other.next().expect("a gap").expect("that is read");
    assert_eq!(gap["gap"], json!({ "first": 0, "last": 2 }));
}

#[test]
fn one_stalled_watcher_hurts_nobody() {
    let daemon = daemon::start();
    let stalled = daemon.client().subscribe(None).expect("a subscription");
    let mut lively = daemon.client().subscribe(None).expect("a subscription");
    for rate in 0..20_000 {
        daemon.hub.publish(Event::Rate { rate, limit: None });
    }
    let mut last = 0;
    while last < 20_000 {
        let delivery = lively.next().expect("an event").expect("that is read");
        let sequence = delivery["sequence"].as_u64().expect("a number");
        match delivery.get("gap") {
            Some(gap) => assert_eq!(gap["first"], last + 1, "{delivery}"),
            None => assert_eq!(sequence, last + 1, "{delivery}"),
        }
        last = sequence;
    }
    assert!(daemon.client().call("system.version", json!({})).is_ok());
    drop(stalled);
}

#[test]
fn events_are_also_sent_over_http() {
    let daemon = daemon::start();
    daemon.hub.publish(Event::Rate { rate: 5, limit: None });
    let since = Some(Position { boot: "boot-1".to_owned(), sequence: 0 });
    let client = Client::over_tcp(daemon.address.to_string(), None);
    let mut events = client.subscribe(since).expect("a stream");
    let event = events.next().expect("an event").expect("that is read");
    assert_eq!((&event["sequence"], &event["event"]["rate"]), (&json!(1), &json!(5)));
    let mut stream = BufReader::new(UnixStream::connect(&daemon.socket).expect("it listens"));
    stream
        .get_mut()
        .write_all(b"GET /events HTTP/1.1\r\nHost: x\r\nLast-Event-ID: boot-1/0\r\n\r\n")
        .expect("it is taken");
    let lines: Vec<String> = stream
        .lines()
        .map_while(Result::ok)
        .skip_while(|line| !line.starts_with("id"))
        .take(3)
        .collect();
    assert_eq!(lines[0], "id: boot-1/1");
    assert_eq!(lines[1], "event: event");
    assert!(lines[2].starts_with("data: {\"boot\":\"boot-1\",\"sequence\":1,"), "{lines:?}");
}

#[test]
fn the_client_asks_over_tcp_as_over_the_socket() {
    let daemon = daemon::start_with(daemon::three_users());
    let login =
        |password: &str| Some(("control".to_owned(), bergamot_types::Secret::new(password)));
    let mut client = Client::over_tcp(daemon.address.to_string(), login("control"));
    assert_eq!(client.call("system.version", json!({})).expect("an answer"), "0.1.0");
    assert!(matches!(
        client.call("job.get", json!({ "job": 1 })),
        Err(bergamot_rpc::ClientError::Refused { number: -32004, .. })
    ));
    let mut wrong = Client::over_tcp(daemon.address.to_string(), login("wrong"));
    assert!(matches!(
        wrong.call("status", Value::Null),
        Err(bergamot_rpc::ClientError::LoginRefused)
    ));
}

#[test]
fn the_socket_is_for_its_owner_and_goes_when_the_server_does() {
    let mut daemon = daemon::start();
    let data = std::fs::metadata(&daemon.socket).expect("it is there");
    assert_eq!(data.permissions().mode() & 0o777, 0o660);
    assert!(data.uid() == rustix::process::geteuid().as_raw());
    let server = daemon.server.take().expect("it runs");
    daemon.runtime.block_on(server.stop());
    assert!(!daemon.socket.exists());
    assert!(Client::connect_socket(&daemon.socket).is_err());
}

#[test]
fn only_a_socket_that_nobody_answers_is_replaced() {
    let daemon = daemon::start();
    let start = |path: &std::path::Path| {
        let settings =
            Settings { socket: Some(path.to_owned()), listen: Vec::new(), ..Settings::default() };
        let control = std::sync::Arc::new(StandIn::default());
        daemon.runtime.block_on(Server::start(settings, control, Hub::new("b")))
    };
    assert!(matches!(start(&daemon.socket), Err(StartError::InUse(_))));
    let file = daemon.socket.with_file_name("file");
    std::fs::write(&file, "precious").expect("it can be written");
    assert!(matches!(start(&file), Err(StartError::NotASocket(_))));
    assert_eq!(std::fs::read_to_string(&file).expect("it is there"), "precious");
    let stale = daemon.socket.with_file_name("stale");
    drop(std::os::unix::net::UnixListener::bind(&stale).expect("it can listen"));
    assert!(start(&stale).is_ok());
    let long = daemon.socket.with_file_name("x".repeat(120));
    assert!(matches!(start(&long), Err(StartError::PathTooLong { .. })));
}

#[test]
fn http_on_the_socket_needs_no_login_and_no_host() {
    let daemon = daemon::start_with(daemon::three_users());
    let answer = said(
        &daemon,
        &[b"GET /jsonrpc/version HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n"],
    );
    assert_eq!(status_of(&answer), 200, "{answer}");
}
