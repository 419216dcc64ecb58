//! SABnzbd's dialect against the real daemon: what Sonarr and scripts rely on.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;

use bergamot_tests::{Steered, content_of};
use serde_json::Value;

fn ask(steered: &Steered, query: &str) -> Value {
    let path = format!("GET /api?{query}&apikey={}&output=json", Steered::API_KEY);
    let answer = steered.http(&path, "", "");
    assert_eq!(answer.status, 200, "{query}: {answer:?}");
    serde_json::from_str(&answer.body).expect("JSON")
}

fn upload(steered: &Steered, name: &str, query: &str) -> String {
    let nzb = fs::read_to_string(steered.home.join(format!("{name}.nzb"))).expect("an NZB");
    let form = format!(
        "--x\r\nContent-Disposition: form-data; name=\"name\"; filename=\"{name}.nzb\"\r\n\r\n{nzb}\r\n--x--\r\n"
    );
    let path = format!("POST /sabnzbd/api?mode=addfile&{query}&apikey={}", Steered::API_KEY);
    let kind = "Content-Type: multipart/form-data; boundary=x\r\n";
    let answer: Value = serde_json::from_str(&steered.http(&path, kind, &form).body).expect("JSON");
    answer["nzo_ids"][0].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
}

fn slot(steered: &Steered, list: &str, id: &str) -> Option<Value> {
    let mut answer = ask(steered, &format!("mode={list}&nzo_ids={id}"));
    match answer[list]["slots"].take() {
        Value::Array(slots) => slots.into_iter().next(),
        other => panic!("{other}"),
    }
}

#[test]
fn a_job_keeps_its_id_from_the_queue_to_the_history_and_back() {
    let mut steered = Steered::start();
    let id = upload(&steered, "missing", "cat=tv");
    steered.daemon.wait_failed("missing");
    let failed = slot(&steered, "history", &id).expect("it is there");
    assert_eq!((&failed["status"], &failed["category"]), (&"Failed".into(), &"tv".into()));
    assert_ne!(failed["fail_message"], "");
    assert!(slot(&steered, "queue", &id).is_none());
    ask(&steered, "mode=pause");
    let retried = ask(&steered, &format!("mode=retry&value={id}"));
    assert_eq!((&retried["status"], &retried["nzo_id"]), (&true.into(), &id.as_str().into()));
    let queued = slot(&steered, "queue", &id).expect("it is back");
    assert_eq!((&queued["status"], &queued["filename"]), (&"Queued".into(), &"missing".into()));
    assert!(slot(&steered, "history", &id).is_none());
    let gone = ask(&steered, &format!("mode=queue&name=delete&value={id}&del_files=1"));
    assert_eq!(gone["status"], true);
    assert!(slot(&steered, "queue", &id).is_none() && slot(&steered, "history", &id).is_none());
    steered.daemon.stop();
}

#[test]
fn what_is_complete_lies_where_it_is_said_to() {
    let mut steered = Steered::start();
    let id = upload(&steered, "first", "cat=tv&priority=2");
    steered.daemon.wait_complete("first");
    let done = slot(&steered, "history", &id).expect("it is there");
    assert_eq!(done["status"], "Completed", "{done}");
    let storage = done["storage"].as_str().expect("a path");
    let content = fs::read(format!("{storage}/first")).expect("its file");
    assert_eq!(content, content_of(steered.post("first")));
    steered.daemon.stop();
}

#[test]
fn local_files_come_from_the_watch_folder_alone() {
    let steered = Steered::start();
    let outside = steered.home.join("second.nzb");
    let answer = ask(&steered, &format!("mode=addlocalfile&name={}", outside.display()));
    assert_eq!(
        (&answer["status"], &answer["error"]),
        (&false.into(), &"file does not exist".into())
    );
    ask(&steered, "mode=pause");
    let inside = steered.home.join("watch").join("kept");
    fs::create_dir_all(&inside).expect("a directory");
    fs::copy(&outside, inside.join("second.txt")).expect("there is room");
    let path = inside.join("second.txt");
    let answer = ask(&steered, &format!("mode=addlocalfile&name={}&nzbname=local", path.display()));
    let id = answer["nzo_ids"][0].as_str().unwrap_or_else(|| panic!("{answer}"));
    assert_eq!(slot(&steered, "queue", id).expect("it is queued")["filename"], "local");
    steered.daemon.stop();
}

/// Whoever has no key makes the daemon hold no more than a little.
#[test]
fn a_stranger_is_not_listened_to_for_long() {
    let steered = Steered::start();
    let mut stream = TcpStream::connect(steered.address).expect("it listens");
    let head = format!(
        "POST /api HTTP/1.1\r\nHost: {}\r\nContent-Type: multipart/form-data; boundary=x\r\nContent-Length: 100000000\r\n\r\n",
        steered.address
    );
    stream.write_all(head.as_bytes()).expect("it is taken");
    let piece = vec![b'x'; 1 << 20];
    let sent = (0..100).take_while(|_| stream.write_all(&piece).is_ok()).count();
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    assert!(sent < 50, "{sent} MiB were taken");
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 413"), "{answer}");
    steered.daemon.stop();
}
