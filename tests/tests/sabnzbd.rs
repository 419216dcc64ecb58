//! SABnzbd's dialect against the real daemon: what Sonarr and scripts rely on.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;

use bergamot_tests::{HttpDaemon, content_of};
use serde_json::Value;

fn ask(http_daemon: &HttpDaemon, query: &str) -> Value {
    let path = format!("GET /api?{query}&apikey={}&output=json", HttpDaemon::API_KEY);
    let answer = http_daemon.http(&path, "", "");
    assert_eq!(answer.status, 200, "{query}: {answer:?}");
    serde_json::from_str(&answer.body).expect("JSON")
}

fn upload(http_daemon: &HttpDaemon, name: &str, query: &str) -> String {
    let nzb = fs::read_to_string(http_daemon.home.join(format!("{name}.nzb"))).expect("an NZB");
    let form = format!(
        "--x\r\nContent-Disposition: form-data; name=\"name\"; filename=\"{name}.nzb\"\r\n\r\n{nzb}\r\n--x--\r\n"
    );
    let path = format!("POST /sabnzbd/api?mode=addfile&{query}&apikey={}", HttpDaemon::API_KEY);
    let kind = "Content-Type: multipart/form-data; boundary=x\r\n";
    let answer: Value =
        serde_json::from_str(&http_daemon.http(&path, kind, &form).body).expect("JSON");
    answer["nzo_ids"][0].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
}

fn slot(http_daemon: &HttpDaemon, list: &str, id: &str) -> Option<Value> {
    let mut answer = ask(http_daemon, &format!("mode={list}&nzo_ids={id}"));
    match answer[list]["slots"].take() {
        Value::Array(slots) => slots.into_iter().next(),
        other => panic!("{other}"),
    }
}

#[test]
fn a_job_keeps_its_id_from_the_queue_to_the_history_and_back() {
    let mut http_daemon = HttpDaemon::start();
    let id = upload(&http_daemon, "missing", "cat=tv");
    http_daemon.daemon.wait_failed("missing");
    let failed = slot(&http_daemon, "history", &id).expect("it is there");
    assert_eq!((&failed["status"], &failed["category"]), (&"Failed".into(), &"tv".into()));
    assert_ne!(failed["fail_message"], "");
    assert!(slot(&http_daemon, "queue", &id).is_none());
    ask(&http_daemon, "mode=pause");
    let retried = ask(&http_daemon, &format!("mode=retry&value={id}"));
    assert_eq!((&retried["status"], &retried["nzo_id"]), (&true.into(), &id.as_str().into()));
    let queued = slot(&http_daemon, "queue", &id).expect("it is back");
    assert_eq!((&queued["status"], &queued["filename"]), (&"Queued".into(), &"missing".into()));
    assert!(slot(&http_daemon, "history", &id).is_none());
    let gone = ask(&http_daemon, &format!("mode=queue&name=delete&value={id}&del_files=1"));
    assert_eq!(gone["status"], true);
    assert!(
        slot(&http_daemon, "queue", &id).is_none() && slot(&http_daemon, "history", &id).is_none()
    );
    http_daemon.daemon.stop();
}

#[test]
fn what_is_complete_lies_where_it_is_said_to() {
    let mut http_daemon = HttpDaemon::start();
    let id = upload(&http_daemon, "first", "cat=tv&priority=2");
    http_daemon.daemon.wait_complete("first");
    let done = slot(&http_daemon, "history", &id).expect("it is there");
    assert_eq!(done["status"], "Completed", "{done}");
    let storage = done["storage"].as_str().expect("a path");
    let content = fs::read(format!("{storage}/first")).expect("its file");
    assert_eq!(content, content_of(http_daemon.post("first")));
    http_daemon.daemon.stop();
}

#[test]
fn local_files_come_from_the_watch_folder_alone() {
    let http_daemon = HttpDaemon::start();
    let outside = http_daemon.home.join("second.nzb");
    let answer = ask(&http_daemon, &format!("mode=addlocalfile&name={}", outside.display()));
    assert_eq!(
        (&answer["status"], &answer["error"]),
        (&false.into(), &"file does not exist".into())
    );
    ask(&http_daemon, "mode=pause");
    let inside = http_daemon.home.join("watch").join("kept");
    fs::create_dir_all(&inside).expect("a directory");
    fs::copy(&outside, inside.join("second.txt")).expect("there is room");
    let path = inside.join("second.txt");
    let answer =
        ask(&http_daemon, &format!("mode=addlocalfile&name={}&nzbname=local", path.display()));
    let id = answer["nzo_ids"][0].as_str().unwrap_or_else(|| panic!("{answer}"));
    assert_eq!(slot(&http_daemon, "queue", id).expect("it is queued")["filename"], "local");
    http_daemon.daemon.stop();
}

/// Whoever has no key makes the daemon hold no more than a little.
#[test]
fn a_stranger_is_not_listened_to_for_long() {
    let http_daemon = HttpDaemon::start();
    let mut stream = TcpStream::connect(http_daemon.address).expect("it listens");
    let head = format!(
        "POST /api HTTP/1.1\r\nHost: {}\r\nContent-Type: multipart/form-data; boundary=x\r\nContent-Length: 100000000\r\n\r\n",
        http_daemon.address
    );
    stream.write_all(head.as_bytes()).expect("it is taken");
    let piece = vec![b'x'; 1 << 20];
    let sent = (0..100).take_while(|_| stream.write_all(&piece).is_ok()).count();
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    assert!(sent < 50, "{sent} MiB were taken");
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 413"), "{answer}");
    http_daemon.daemon.stop();
}
