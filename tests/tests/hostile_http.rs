//! Requests over HTTP that are meant to cost the daemon more than they cost their sender.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use bergamot_tests::HttpDaemon;
use bergamot_types::ByteCount;

const SIZE: usize = 31 << 20;
const AT_ONCE: usize = 12;
const MOST_MEMORY: ByteCount = ByteCount(64 << 20);

/// Sends a request and reads what is answered, whether or not all of it was taken.
fn exchange(address: SocketAddr, path: &str, body: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).expect("it listens");
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nAuthorization: Basic {}\r\n\
         Content-Length: {}\r\n\r\n",
        HttpDaemon::login(),
        body.len()
    );
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body));
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

/// As many of the values as fit between the two.
fn filled(begin: &str, value: &str, end: &str) -> Vec<u8> {
    let count = (SIZE - begin.len() - end.len()) / value.len();
    format!("{begin}{}{end}", value.repeat(count)).into_bytes()
}

#[test]
fn large_requests_of_small_values_stay_within_64_mebibytes() {
    let http_daemon = HttpDaemon::start();
    let xml = "<methodCall><methodName>editqueue</methodName><params>";
    let many =
        "<methodCall><methodName>system.multicall</methodName><params><param><value><array><data>";
    for (path, body) in [
        ("/jsonrpc", filled(r#"{"method":"editqueue","params":["a","",["#, "1,", "1]]}")),
        ("/jsonrpc", filled(r#"{"params":["#, r#"{},"#, r#"1],"method":"append"}"#)),
        ("/jsonrpc", filled(r#"{"method":"append","params":["#, r#""","#, "1]}")),
        ("/jsonrpc", filled("[", r#"{"method":"version"},"#, r#"{"method":"version"}]"#)),
        ("/jsonrpc", filled(r#"[{"method":"append","params":[["#, "[],", "1]]}]")),
        ("/jsonrpc", filled(r#"{"method":"log.write","params":{"text":""#, r"\n", r#""}}"#)),
        ("/xmlrpc", filled(xml, "<param><value/></param>", "</params></methodCall>")),
        (
            "/xmlrpc",
            filled(many, "<value/>", "</data></array></value></param></params></methodCall>"),
        ),
        ("/xmlrpc", filled(xml, " ", "</params></methodCall>")),
        ("/xmlrpc", filled(many, " ", "</data></array></value></param></params></methodCall>")),
        ("/jsonrpc", filled(r#"{"method":"version"#, " ", r#""}"#)),
    ] {
        http_daemon.daemon.forget_peak_memory();
        std::thread::scope(|scope| {
            for _ in 0..AT_ONCE {
                scope.spawn(|| exchange(http_daemon.address, path, &body));
            }
        });
        let (peak, shown) =
            (http_daemon.daemon.peak_memory(), String::from_utf8_lossy(&body[..60]));
        println!("{path} {shown}: {peak}");
        assert!(peak < MOST_MEMORY, "{path} {shown}: {peak}");
    }
    let version = http_daemon.call_json(r#"{"method":"version"}"#);
    assert!(version["result"].is_string(), "{version}");
}

#[test]
fn a_large_nzb_is_still_taken() {
    let http_daemon = HttpDaemon::start();
    let nzb = http_daemon.nzb("first");
    // Line breaks in base64 mean nothing.
    let padding = "\\n".repeat((40 << 20) / 2);
    let body = format!(r#"{{"method":"append","params":["first","{padding}{nzb}","",0]}}"#);
    let answer = exchange(http_daemon.address, "/jsonrpc", body.as_bytes());
    assert!(answer.contains(r#""result":1"#), "{answer}");
}

/// C-01: 32 MiB for every request, whether or not its beginning names what is called.
#[test]
fn a_batch_that_names_its_nzb_late_is_taken() {
    let http_daemon = HttpDaemon::start();
    let nzb = http_daemon.nzb("first");
    let blank = " ".repeat(20 << 20);
    let version = r#"{"method":"version","id":1}"#;
    let add = format!(r#"{{"method":"append","params":["first","{nzb}","",0],"id":2}}"#);
    let body = format!("[{version},{blank}{add}]");
    let answer = exchange(http_daemon.address, "/jsonrpc", body.as_bytes());
    assert!(answer.contains(r#""id":2,"result":1"#), "{answer}");
    // Without an NZB, too.
    let body = format!("[{version},{blank}{version}]");
    let answer = exchange(http_daemon.address, "/jsonrpc", body.as_bytes());
    assert_eq!(answer.matches("bergamot").count(), 2, "{answer}");
}
