//! What strangers send over HTTP, and what must come of it.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};

use crate::daemon::{self, StandIn, body_of, status_of, three_users};
use bergamot_rpc::{Control, Hub, Server, Settings, StartError};
use proptest::prelude::*;
use serde_json::{Value, json};

fn error_of(answer: &str) -> (i64, String) {
    let answer: Value = serde_json::from_str(body_of(answer)).expect(answer);
    let error = &answer["error"];
    (
        error["code"].as_i64().expect("a code"),
        error["data"]["code"].as_str().expect("a word").to_owned(),
    )
}

#[test]
fn what_is_no_json_rpc_is_refused_with_its_number() {
    let daemon = daemon::start();
    let deep = "[".repeat(10_000);
    let batch = format!("[{}]", vec![r#"{"method":"version"}"#; 101].join(","));
    for (body, number, code) in [
        ("", -32700, "rpc.parse"),
        ("{", -32700, "rpc.parse"),
        (&deep, -32700, "rpc.parse"),
        (r#"{"method":"version"} x"#, -32700, "rpc.parse"),
        (r#"{"method":"version","method":"status"}"#, -32700, "rpc.parse"),
        (r#"{"method":"version","id":NaN}"#, -32700, "rpc.parse"),
        (r#""version""#, -32600, "rpc.invalid_request"),
        (r#"{"method":5}"#, -32600, "rpc.invalid_request"),
        (r#"{"method":"version","id":[1]}"#, -32600, "rpc.invalid_request"),
        (r#"{"method":"version","params":"x"}"#, -32600, "rpc.invalid_request"),
        ("[]", -32600, "rpc.invalid_request"),
        (&batch, -32600, "rpc.too_many"),
        (r#"{"method":"unheard.of"}"#, -32601, "rpc.unknown_method"),
        (r#"{"method":"unheardof"}"#, 1, "rpc.unknown_method"),
        (
            r#"{"method":"job.get","params":{"job":18446744073709551616}}"#,
            -32602,
            "rpc.invalid_params",
        ),
        (r#"{"method":"job.get","params":{"job":1,"job":2}}"#, -32700, "rpc.parse"),
        (r#"{"method":"append","params":["a","file:///etc/passwd"]}"#, 2, "url.forbidden"),
        (r#"{"method":"queue.add","params":{"url":"ftp://x/y"}}"#, -32602, "url.forbidden"),
        (
            r#"{"method":"saveconfig","params":[{"Name":"ShellOverride","Value":"x"}]}"#,
            3,
            "config.not_settable",
        ),
        (r#"{"method":"rate","params":["fast"]}"#, 2, "rpc.invalid_params"),
        (r#"{"method":"editqueue","params":["Explode","",[1]]}"#, 3, "job.impossible"),
    ] {
        let answer = daemon.post(body);
        assert_eq!(status_of(&answer), 200, "{body:.60}");
        assert_eq!(error_of(&answer), (number, code.to_owned()), "{body:.60}: {answer}");
        assert!(!body_of(&answer).contains("\"result\""), "{answer}");
    }
}

/// A value that no parameter of that type takes.
fn odd_value(kind: &str) -> Value {
    if kind == "object" { json!([]) } else { json!({ "odd": 1 }) }
}

/// One that it may take.
fn fitting_value(kind: &str) -> Value {
    match kind {
        "array" => json!([1]),
        "boolean" => json!(true),
        "integer" => json!(1),
        "object" => json!({}),
        _ => json!("PG56Yi8+"),
    }
}

// C-03
#[test]
fn a_parameter_of_the_wrong_type_is_named_with_the_type_expected() {
    let daemon = daemon::start();
    let document: Value = daemon.client().call("rpc.discover", json!({})).expect("a document");
    let methods = document["methods"].as_array().expect("a list");
    let (mut native, mut by_place) = (0, 0);
    for method in methods {
        let name = method["name"].as_str().expect("a name");
        let params: Vec<(&str, &str)> = method["params"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|param| {
                let text =
                    |value: &'_ Value| value.as_str().expect("text").to_owned().leak() as &str;
                (text(&param["name"]), text(&param["schema"]["type"]))
            })
            .collect();
        for (place, (param, kind)) in params.iter().enumerate() {
            if name.contains('.') {
                let mut given = serde_json::Map::new();
                let others = params.iter().map(|(name, kind)| (*name, fitting_value(kind)));
                given.extend(others.map(|(name, value)| (name.to_owned(), value)));
                given.insert((*param).to_owned(), odd_value(kind));
                let body = json!({ "method": name, "params": given }).to_string();
                let answer = daemon.post(&body);
                if name.starts_with("events.") || name == "system.multicall" {
                    continue; // not over HTTP, not in JSON
                }
                assert_eq!(
                    error_of(&answer),
                    (-32602, "rpc.invalid_params".to_owned()),
                    "{body}: {answer}"
                );
                let told: Value = serde_json::from_str(body_of(&answer)).expect("JSON");
                let told = told["error"]["message"].as_str().expect("a message").to_owned();
                assert!(told.contains(param) && told.contains("expected"), "{body}: {told}");
                native += 1;
            } else if matches!(*kind, "integer" | "boolean") {
                let mut given: Vec<_> =
                    params[..place].iter().map(|(_, kind)| fitting_value(kind)).collect();
                given.push(json!("odd"));
                let body = json!({ "method": name, "params": given }).to_string();
                let answer: Value =
                    serde_json::from_str(body_of(&daemon.post(&body))).expect("JSON");
                let error = &answer["error"];
                if error["data"]["code"] != "rpc.invalid_params" {
                    continue; // not looked at, as in NZBGet
                }
                let told = error["message"].as_str().expect("a message");
                let names_one = params.iter().any(|(name, _)| told.contains(name));
                assert!(error["code"] == 2 && names_one, "{body}: {answer}");
                by_place += 1;
            }
        }
        daemon.control.take_done();
    }
    assert!(native > 100 && by_place > 5, "{native} and {by_place} parameters");
    // Also within a list, and by XML.
    let answer = daemon.post(r#"{"method":"job.pause","params":{"jobs":["x"]}}"#);
    assert!(answer.contains("jobs: invalid type: string"), "{answer}");
    let body = "<methodCall><methodName>job.get</methodName><params><param><value><struct><member>\
        <name>job</name><value>x</value></member></struct></value></param></params></methodCall>";
    let answer = daemon.http("POST /xmlrpc", "", body);
    assert!(answer.contains("job: expected an integer, not a string"), "{answer}");
}

// G10
#[test]
fn control_characters_in_what_is_refused_are_escaped_in_the_answer() {
    let daemon = daemon::start();
    let body = "<methodCall><methodName>version</a\u{1b}[31m></methodCall>";
    let answer = daemon.http("POST /xmlrpc", "", body);
    assert!(answer.contains("<fault>") && !answer.contains('\u{1b}'), "{answer:?}");
    assert!(answer.contains("\\u{1b}[31m"), "{answer:?}");
}

#[test]
fn clients_of_every_kind_are_understood() {
    let daemon = daemon::start();
    for (body, expected) in [
        (r#"{"method":"version"}"#, r#"{"version":"1.1","result":"26.0-bergamot-0.1.0"}"#),
        (
            r#"{"method":"version","params":{},"version":"1.1"}"#,
            r#"{"version":"1.1","result":"26.0-bergamot-0.1.0"}"#,
        ),
        (
            r#"{"method":"Version","params":null,"id":"x","jsonrpc":"2.0"}"#,
            r#"{"version":"1.1","jsonrpc":"2.0","id":"x","result":"26.0-bergamot-0.1.0"}"#,
        ),
        (
            r#"{"method":"VERSION","id":7,"jsonrpc":"1.0"}"#,
            r#"{"version":"1.1","id":7,"result":"26.0-bergamot-0.1.0"}"#,
        ),
        (
            r#"[{"jsonrpc":"2.0","method":"version","id":1},{"jsonrpc":"2.0","method":"system.version"}]"#,
            r#"[{"version":"1.1","jsonrpc":"2.0","id":1,"result":"26.0-bergamot-0.1.0"}]"#,
        ),
    ] {
        assert_eq!(body_of(&daemon.post(body)), expected, "{body}");
    }
    for kind in ["application/json", "text/json", "text/plain", "application/json-rpc", "nonsense"]
    {
        let header = format!("Content-Type: {kind}\r\n");
        let answer = daemon.http("POST /jsonrpc", &header, r#"{"method":"version"}"#);
        assert_eq!(status_of(&answer), 200, "{kind}");
    }
    for path in ["/jsonrpc/status", "/nzbget/jsonrpc/status", "/jsonrpc/history?hidden=true"] {
        assert!(daemon.get(path).contains("\"result\""), "{path}");
    }
    assert!(
        daemon.get("/jsonrpc/listfiles?0&0&5").contains(r#""result":[]"#),
        "an ended job has none"
    );
    assert!(body_of(&daemon.get("/jsonprpc/version?callback=a.b")).starts_with("a.b({"));
    assert_eq!(status_of(&daemon.get("/jsonprpc/version?callback=alert(1)//")), 400);
    assert_eq!(body_of(&daemon.get("/healthz")), "ok\n");
    assert_eq!(body_of(&daemon.get("/readyz")), "ready\n");
    assert!(daemon.get("/xmlrpc/version").contains("<string>26.0-bergamot-0.1.0</string>"));
}

#[test]
fn xml_rpc_answers_with_results_faults_and_many_of_both() {
    let daemon = daemon::start();
    let call = |method: &str, params: &str| {
        let body = format!(
            "<?xml version='1.0'?>\n<methodCall>\n<methodName>{method}</methodName>\n<params>{params}</params>\n</methodCall>\n"
        );
        body_of(&daemon.http("POST /xmlrpc", "", &body)).to_owned()
    };
    assert!(call("version", "").contains("<params><param><value><string>26.0-bergamot-0.1.0<"));
    let status = call("status", "");
    assert!(status.contains("<name>DownloadPaused</name><value><boolean>0</boolean></value>"));
    assert!(
        status.contains("<name>AverageDownloadRateLo</name><value><i4>3000000000</i4></value>")
    );
    let fault = call("configTemplatess", "");
    assert!(
        fault.contains("<fault><value><struct><member><name>faultCode</name><value><i4>1</i4>")
    );
    let history = call("history", "<param><value><boolean>0</boolean></value></param>");
    assert!(history.contains("<name>Status</name><value><string>SUCCESS/HEALTH</string>"));
    let one = |method: &str| {
        format!(
            "<value><struct><member><name>methodName</name><value>{method}</value></member><member><name>params</name><value><array><data/></array></value></member></struct></value>"
        )
    };
    let calls = one("version") + &one("urlqueue") + &one("nothing") + &one("system.multicall");
    let many = call(
        "system.multicall",
        &format!("<param><value><array><data>{calls}</data></array></value></param>"),
    );
    assert!(many.contains("<data><value><array><data><value><string>26.0"), "{many}");
    assert_eq!(many.matches("faultCode").count(), 2, "{many}");
    assert!(call("version", "<param>").contains("<fault>"));
}

#[test]
fn bodies_that_are_too_large_are_not_read_on() {
    let daemon = daemon::start();
    for headers in ["Content-Length: 33554433", "Content-Length: 201326593"] {
        let request = format!(
            "POST /jsonrpc HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n\r\n{}",
            "x".repeat(5000)
        );
        let answer = daemon.raw(request);
        assert_eq!(status_of(&answer), 413, "{headers}");
        assert_eq!(error_of(&answer), (-32600, "rpc.too_large".to_owned()));
    }
    // Without an end: it is cut off as soon as it is too much.
    let mut stream = TcpStream::connect(daemon.address).expect("it listens");
    stream
        .write_all(
            b"POST /jsonrpc HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n",
        )
        .expect("it takes the head");
    let chunk = format!("100000\r\n{}\r\n", " ".repeat(0x10_0000));
    let mut sent = 0;
    while sent < 200 && stream.write_all(chunk.as_bytes()).is_ok() {
        sent += 1;
    }
    // Beside the 32 it takes, some are on their way before we hear of it, more on a busy machine.
    assert!(sent < 100, "it took {sent} MiB");
    let gzip = daemon.http("POST /jsonrpc", "Content-Encoding: gzip\r\n", "x");
    assert_eq!(status_of(&gzip), 415);
}

#[test]
fn no_body_is_read_of_somebody_unknown() {
    let daemon = daemon::start_with(three_users());
    // It never comes, and the answer does.
    let mut stream = TcpStream::connect(daemon.address).expect("it listens");
    stream
        .write_all(b"POST /jsonrpc HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\nExpect: 100-continue\r\n\r\n")
        .expect("it takes the head");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it closes");
    assert_eq!(status_of(&answer), 401, "{answer}");
}

#[test]
fn requests_that_mean_two_things_or_nothing_end_the_connection() {
    let daemon = daemon::start();
    let many = (0..1000).map(|n| format!("X-{n}: y\r\n")).collect::<String>();
    let long = format!("X-Long: {}\r\n", "y".repeat(70_000));
    for (request, statuses) in [
        ("nonsense\r\n\r\n".to_owned(), &[400][..]),
        ("GET /healthz HTTP/3.0\r\n\r\n".to_owned(), &[400, 505]),
        ("GET /healthz HTTP/1.1\r\n\r\n".to_owned(), &[400]),
        ("TRACE /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n".to_owned(), &[405]),
        ("DELETE /jsonrpc HTTP/1.1\r\nHost: localhost\r\n\r\n".to_owned(), &[405]),
        (format!("GET /healthz HTTP/1.1\r\nHost: localhost\r\n{many}\r\n"), &[431]),
        (format!("GET /healthz HTTP/1.1\r\nHost: localhost\r\n{long}\r\n"), &[431]),
        ("GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: nas\r\n\r\n".to_owned(), &[403]),
        ("POST /jsonrpc HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nxxxxx".to_owned(), &[400]),
        ("GET /../../etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n".to_owned(), &[404]),
    ] {
        let answer = daemon.raw(&request);
        assert!(statuses.contains(&status_of(&answer)), "{request:.80}: {answer}");
    }
}

// C-20
#[test]
fn a_request_with_two_lengths_is_refused_and_ends_the_connection() {
    let daemon = daemon::start();
    let length = "Content-Length: 4\r\n";
    let chunked = "Transfer-Encoding: chunked\r\n";
    let behind = "0\r\n\r\nGET /jsonrpc/status HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let good = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
    for headers in [format!("{length}{chunked}"), format!("{chunked}{length}")] {
        let both = format!("POST /jsonrpc HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n{behind}");
        let answer = daemon.raw(&both);
        assert_eq!(status_of(&answer), 400, "{answer}");
        assert_eq!(answer.matches("HTTP/1.1").count(), 1, "{answer}");
        let answer = daemon.raw(format!("{good}{both}"));
        assert_eq!(status_of(&answer), 200, "{answer}");
        assert!(answer.contains("HTTP/1.1 400") && !answer.contains("DownloadRate"), "{answer}");
    }
    // Chunks alone are fine; they end the connection, for nobody else knows where they end.
    let body = "f\r\n{\"method\":\"vers\r\n5\r\nion\"}\r\n0\r\n\r\n";
    let alone = format!("POST /jsonrpc HTTP/1.1\r\nHost: localhost\r\n{chunked}\r\n{body}{good}");
    let answer = daemon.raw(alone);
    assert!(answer.contains("bergamot") && answer.contains("connection: close"), "{answer}");
    assert_eq!(answer.matches("HTTP/1.1").count(), 1, "{answer}");
}

#[test]
fn pages_of_others_cannot_call() {
    let daemon = daemon::start();
    let change = r#"{"method":"shutdown"}"#;
    for headers in [
        "Origin: http://evil.example\r\nContent-Type: text/plain\r\n",
        "Origin: null\r\n",
        "Sec-Fetch-Site: cross-site\r\n",
    ] {
        let answer = daemon.http("POST /jsonrpc", headers, change);
        assert_eq!(status_of(&answer), 403, "{headers}");
        assert!(!answer.to_lowercase().contains("access-control"), "{answer}");
        let preflight = daemon.http("OPTIONS /jsonrpc", headers, "");
        assert_eq!(status_of(&preflight), 403, "{headers}");
    }
    let rebound = daemon
        .raw("GET /jsonrpc/status HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n");
    assert_eq!(status_of(&rebound), 403);
    assert!(rebound.contains("control.allowed_hosts"), "{rebound}");
    assert!(daemon.control.take_done().is_empty());
}

#[test]
fn an_add_on_that_is_listed_may_call_with_its_login() {
    let settings =
        Settings { allowed_origins: vec!["moz-extension://abc".to_owned()], ..three_users() };
    let daemon = daemon::start_with(settings);
    let preflight = daemon.http("OPTIONS /jsonrpc", "Origin: moz-extension://abc\r\n", "");
    assert_eq!(status_of(&preflight), 204);
    assert!(preflight.contains("access-control-allow-origin: moz-extension://abc"), "{preflight}");
    assert!(!preflight.contains("allow-credentials"));
    let without = daemon.http("POST /jsonrpc", "Origin: moz-extension://abc\r\n", "{}");
    assert_eq!(status_of(&without), 401);
}

#[test]
fn answers_are_not_kept_framed_or_guessed_at() {
    let answer = daemon::start().get("/jsonrpc/status");
    for header in [
        "cache-control: no-store",
        "frame-ancestors 'none'",
        "x-content-type-options: nosniff",
        "content-type: application/json",
    ] {
        assert!(answer.contains(header), "{header}: {answer}");
    }
}

#[test]
fn odd_values_of_an_nzb_are_refused_or_clamped() {
    let daemon = daemon::start();
    let long = "x".repeat(1 << 20);
    for params in [
        format!(r#"["{long}","PG56Yi8+","",0]"#),
        format!(r#"["a","PG56Yi8+","{long}",0]"#),
        r#"["a\u0000b","PG56Yi8+","",0]"#.to_owned(),
        r#"["a","file:///etc/passwd","",0]"#.to_owned(),
        r#"["a","PG56Yi8+","",0,false,false,"",0,"NEVER"]"#.to_owned(),
        r#"["a","PG56Yi8+","",0,false,false,"",0,"ALL",["odd"]]"#.to_owned(),
        r#"[]"#.to_owned(),
    ] {
        let answer = daemon.post(&format!(r#"{{"method":"append","params":{params}}}"#));
        assert_eq!(error_of(&answer).0, 2, "{params:.60}: {answer}");
        assert!(daemon.control.take_done().is_empty());
    }
    daemon.post(r#"{"method":"append","params":["../../a","PG56Yi8+","",1000000000]}"#);
    let done = daemon.control.take_done().concat();
    assert!(done.contains("priority: Some(1000)"), "{done}");
}

#[test]
fn other_machines_are_not_listened_to_without_a_password() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime starts");
    for listen in ["0.0.0.0:0", "[::]:0", "10.0.0.1:0"] {
        let listen = vec![listen.parse().expect("an address")];
        let settings = Settings { listen, ..Settings::default() };
        let control = std::sync::Arc::new(StandIn::default());
        let started = runtime.block_on(Server::start(settings, control, Hub::new("b")));
        assert!(matches!(started, Err(StartError::NoPassword { .. })));
    }
    // The trait is what the server asks; the stand-in answers like a daemon.
    assert!(runtime.block_on(StandIn::default().status()).is_ok());
}

#[test]
fn beyond_its_bound_a_connection_is_closed_and_the_socket_still_answers() {
    let daemon = daemon::start();
    let held: Vec<TcpStream> = (0..300)
        .map(|_| TcpStream::connect(daemon.address).expect("the kernel takes it"))
        .collect();
    // Those beyond the bound are told at once.
    let mut closed = 0;
    for mut stream in held.iter().rev().take(40) {
        let mut byte = [0];
        closed += usize::from(matches!(stream.read(&mut byte), Ok(0) | Err(_)));
    }
    assert_eq!(closed, 40);
    assert!(daemon.client().call("version", Value::Null).is_ok());
    drop(held);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn random_bytes_never_hurt(bytes: Vec<u8>, body in "[\\[\\]{}\":,a-z0-9.]{0,60}") {
        static DAEMON: std::sync::LazyLock<daemon::Running> = std::sync::LazyLock::new(daemon::start);
        let _ = DAEMON.raw(&bytes);
        let _ = DAEMON.post(&body);
        let mut stream = std::os::unix::net::UnixStream::connect(&DAEMON.socket).expect("it listens");
        let _ = stream.write_all(&bytes);
        let _ = stream.shutdown(Shutdown::Write);
        let _ = stream.read_to_end(&mut Vec::new());
        prop_assert!(DAEMON.client().call("version", Value::Null).is_ok());
    }
}
