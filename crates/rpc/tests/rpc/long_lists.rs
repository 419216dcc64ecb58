//! Lists that are sent while they are written.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;

use bergamot_types::JobId;
use serde_json::Value;

use crate::daemon::{self, Running, WHERE_IT_STOPS, body_of};

/// Beside these three jobs are on every list, two in the history.
fn with_jobs(ids: impl Iterator<Item = u32>) -> Running {
    let daemon = daemon::start();
    *daemon.control.more_jobs.lock().expect("nobody panicked") = ids.map(JobId).collect();
    daemon
}

/// What the chunks hold, and whether the last one came.
fn joined(answer: &str) -> (String, bool) {
    let (head, mut rest) = answer.split_once("\r\n\r\n").expect("it has a head");
    assert!(head.to_ascii_lowercase().contains("transfer-encoding: chunked"), "{head}");
    let mut body = String::new();
    while let Some((size, more)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).expect("a size");
        if size == 0 {
            return (body, true);
        }
        body.push_str(&more[..size]);
        rest = &more[size + 2..];
    }
    (body, false)
}

#[test]
fn a_long_list_is_whole_but_for_what_has_left_meanwhile() {
    let daemon = with_jobs(1001..=6000);
    for method in ["listgroups", "history"] {
        let (text, ended) = joined(&daemon.post(&format!(r#"{{"method":"{method}","id":7}}"#)));
        let answer: Value = serde_json::from_str(&text).expect("it is JSON");
        let ids = answer["result"].as_array().expect("a list").iter();
        let ids: Vec<_> = ids.map(|job| job["NZBID"].as_u64().expect("an id")).collect();
        let listed: Vec<_> = (1001..=6000).filter(|id| id % 10 != 0).collect();
        assert!(ids.ends_with(&listed), "{method}: {}", ids.len());
        assert!(ended && answer["id"] == 7 && answer.get("error").is_none());
        let get = daemon.get(&format!("/jsonprpc/{method}?back"));
        let (wrapped, _) = joined(&get);
        assert!(wrapped.starts_with("back({") && wrapped.ends_with("})"));
    }
}

#[test]
fn a_page_says_how_many_there_were() {
    let daemon = with_jobs(1001..=6000);
    let answer = daemon.client().call("queue.list", serde_json::json!({})).expect("it answers");
    assert_eq!(answer["total"], 5003);
    assert_eq!(answer["items"].as_array().map(Vec::len), Some(4503));
}

#[test]
fn long_lists_come_one_after_another_in_batches() {
    let daemon = with_jobs(1001..=6000);
    let (text, ended) = joined(&daemon.post(
        r#"[{"method":"listgroups","id":1},{"method":"version","id":2},{"method":"history","id":3}]"#,
    ));
    let answers: Vec<Value> = serde_json::from_str(&text).expect("it is JSON");
    assert!(ended);
    let lengths: Vec<_> =
        answers.iter().map(|answer| answer["result"].as_array().map(Vec::len)).collect();
    assert_eq!(lengths, [Some(4503), None, Some(4502)]);
    let call = |method: &str| {
        format!(
            "<value><struct><member><name>methodName</name><value>{method}</value></member>\
             <member><name>params</name><value><array><data/></array></value></member></struct></value>"
        )
    };
    let calls = ["listgroups", "version", "nothing"].map(call).concat();
    let body = format!(
        "<methodCall><methodName>system.multicall</methodName><params><param><value><array><data>\
         {calls}</data></array></value></param></params></methodCall>"
    );
    let (text, ended) = joined(&daemon.http("POST /xmlrpc", "", &body));
    assert!(ended && text.ends_with("</param></params></methodResponse>"));
    assert_eq!(text.matches("<name>NZBID</name>").count(), 4503);
    assert_eq!(text.matches("<name>faultCode</name>").count(), 1);
    assert_eq!(text.matches("<params>").count(), 1);
}

#[test]
fn a_list_that_breaks_off_does_not_look_whole() {
    let daemon = with_jobs((1001..=6000).chain([WHERE_IT_STOPS.0]));
    let (text, ended) = joined(&daemon.post(r#"{"method":"listgroups"}"#));
    assert!(!ended && serde_json::from_str::<Value>(&text).is_err(), "{}", text.len());
    let mut stream = UnixStream::connect(&daemon.socket).expect("it listens");
    stream.write_all(b"{\"method\":\"listgroups\"}\n").expect("it is taken");
    stream.shutdown(Shutdown::Write).expect("half of it closes");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it ends");
    assert!(answer.len() > 1_000_000 && !answer.ends_with('\n'), "{}", answer.len());
    // Before a byte of it is out, there is still time to say so.
    let daemon = with_jobs([WHERE_IT_STOPS.0].into_iter());
    assert!(daemon.post(r#"{"method":"listgroups"}"#).starts_with("HTTP/1.1 503"));
}

#[test]
fn a_short_list_says_how_long_it_is() {
    let daemon = daemon::start();
    let answer = daemon.post(r#"{"method":"listgroups"}"#);
    let length = format!("content-length: {}\r\n", body_of(&answer).len());
    assert!(answer.to_ascii_lowercase().contains(&length), "{answer}");
}
