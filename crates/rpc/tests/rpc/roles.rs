//! Who may call what: every level, every method, on every way in.

use crate::daemon::{self, Running, body_of, status_of, three_users};
use serde_json::{Value, json};

/// Whoever may only add, may call these.
const ADD: [&str; 9] = [
    "append",
    "appendurl",
    "groups.queue",
    "queue.add",
    "rpc.discover",
    "system.listMethods",
    "system.multicall",
    "system.version",
    "version",
];
/// Only those who control everything may call these.
const CONTROL: [&str; 3] = ["saveconfig", "servers.add", "servers.remove"];
/// These change nothing, and may be called by GET.
const READS: [&str; 49] = [
    "checkupdates",
    "config",
    "config.get",
    "configtemplates",
    "dump",
    "events.subscribe",
    "events.unsubscribe",
    "feeds.errors",
    "feeds.items",
    "feeds.list",
    "groups.headers",
    "groups.list",
    "groups.posts",
    "groups.search",
    "history",
    "history.list",
    "job.explain",
    "job.files",
    "job.get",
    "limits.get",
    "listfiles",
    "listgroups",
    "loadconfig",
    "loadextensions",
    "loadlog",
    "log",
    "log.list",
    "logscript",
    "logupdate",
    "postqueue",
    "queue.explain",
    "queue.list",
    "quota.get",
    "rpc.discover",
    "servers.list",
    "servers.volumes",
    "servervolumes",
    "status",
    "storage.list",
    "sysinfo",
    "system.listMethods",
    "system.status",
    "system.version",
    "targets.list",
    "systemhealth",
    "testextension",
    "urlqueue",
    "version",
    "viewfeed",
];

fn may(level: &str, method: &str) -> bool {
    match level {
        "add" => ADD.contains(&method),
        "restricted" => !CONTROL.contains(&method),
        _ => true,
    }
}

fn methods(daemon: &Running) -> Vec<String> {
    let list = daemon.client().call("system.listMethods", json!({})).expect("a list");
    serde_json::from_value(list).expect("of names")
}

fn login(level: &str) -> String {
    let text = match level {
        "add" => "YWRkOmFkZA==",
        "restricted" => "cmVzdHJpY3RlZDpyZXN0cmljdGVk",
        _ => "Y29udHJvbDpjb250cm9s",
    };
    format!("Authorization: Basic {text}\r\n")
}

#[test]
fn each_level_may_do_what_its_table_says_over_json() {
    let daemon = daemon::start_with(three_users());
    for level in ["add", "restricted", "control"] {
        for method in methods(&daemon) {
            let body = json!({ "method": method, "jsonrpc": "2.0", "id": 1 }).to_string();
            let answer = daemon.http("POST /jsonrpc", &login(level), &body);
            assert_eq!(status_of(&answer), 200, "{level} {method}");
            let answer: Value = serde_json::from_str(body_of(&answer)).expect("JSON");
            let denied = answer["error"]["data"]["code"] == "rpc.access_denied";
            assert_eq!(!denied, may(level, &method), "{level} {method}: {answer}");
            if denied && !method.contains('.') {
                assert_eq!(answer["error"]["code"], 401);
            }
            let done = daemon.control.take_done();
            assert!(!denied || done.is_empty(), "{level} {method}");
        }
    }
}

#[test]
fn each_level_may_do_what_its_table_says_over_xml() {
    let daemon = daemon::start_with(three_users());
    for level in ["add", "restricted", "control"] {
        for method in methods(&daemon).iter().filter(|method| *method != "system.multicall") {
            let call = format!("<methodCall><methodName>{method}</methodName></methodCall>");
            let answer = daemon.http("POST /xmlrpc", &login(level), &call);
            let denied = answer.contains("<i4>401</i4>");
            assert_eq!(!denied, may(level, method), "{level} {method}: {answer}");
            let member = |name: &str, value: &str| {
                format!("<member><name>{name}</name><value>{value}</value></member>")
            };
            let inner = member("methodName", method) + &member("params", "<array><data/></array>");
            let many = format!(
                "<methodCall><methodName>system.multicall</methodName><params><param><value><array><data><value><struct>{inner}</struct></value></data></array></value></param></params></methodCall>"
            );
            let answer = daemon.http("POST /xmlrpc", &login(level), &many);
            assert_eq!(answer.contains("<i4>401</i4>"), denied, "{level} {method}: {answer}");
        }
    }
}

#[test]
fn nothing_changes_by_get() {
    let daemon = daemon::start_with(three_users());
    for method in methods(&daemon) {
        for path in [format!("GET /jsonrpc/{method}"), format!("GET /jsonprpc/{method}?callback=f")]
        {
            let answer = daemon.http(&path, &login("control"), "");
            let refused = answer.contains("rpc.unsafe");
            assert_eq!(!refused, READS.contains(&method.as_str()), "{path}: {answer}");
            let done = daemon.control.take_done();
            assert!(!refused || done.is_empty(), "{path}");
        }
    }
}

#[test]
fn without_a_good_login_nothing_is_answered() {
    let daemon = daemon::start_with(three_users());
    for headers in [
        "",
        "Authorization: Basic Og==\r\n",
        "Authorization: Basic \r\n",
        "Authorization: Basic  YWRkOg==\r\n",
        "Authorization: Basic %%%\r\n",
        "Authorization: Bearer \r\n",
        "Authorization: Bearer control\r\n",
        "X-Forwarded-For: 127.0.0.1\r\n",
        "Cookie: Auth-Token=control\r\n",
    ] {
        for start in
            ["POST /jsonrpc", "GET /jsonrpc/version", "POST /xmlrpc", "GET /events", "GET /x"]
        {
            let daemon = if headers.contains("Basic") || headers.contains("Bearer") {
                &daemon::start_with(three_users()) // each with a clean slate
            } else {
                &daemon
            };
            let answer = daemon.http(start, headers, r#"{"method":"version"}"#);
            assert_eq!(status_of(&answer), 401, "{headers} {start}: {answer}");
            assert_eq!(body_of(&answer), "", "{headers} {start}");
            assert!(answer.to_lowercase().contains("www-authenticate: basic"), "{answer}");
        }
    }
    for path in ["/control:control/jsonrpc/status", "/nzbget/control:control/jsonrpc/status"] {
        assert_eq!(status_of(&daemon.get(path)), 200, "{path}");
    }
}

#[test]
fn guesses_of_others_do_not_hold_up_who_has_logged_in_before() {
    let daemon = daemon::start_with(three_users());
    let version = |headers: &str| status_of(&daemon.http("GET /jsonrpc/version", headers, ""));
    assert_eq!(version(&login("control")), 200);
    let wrong = "Authorization: Basic Y29udHJvbDp3cm9uZw==\r\n";
    assert_eq!([0; 5].map(|_| version(wrong)), [401; 5]);
    assert_eq!(version(&login("control")), 200);
    assert!(daemon.client().call("version", Value::Null).is_ok());
}

#[test]
fn without_passwords_this_machine_is_trusted_and_a_proxy_on_it_is_not() {
    let daemon = daemon::start();
    assert_eq!(status_of(&daemon.get("/jsonrpc/version")), 200);
    let empty = "Authorization: Basic Og==\r\n";
    assert_eq!(status_of(&daemon.http("GET /jsonrpc/version", empty, "")), 200);
    for proxied in [
        "X-Forwarded-For: 127.0.0.1\r\n",
        "X-Forwarded-Proto: https\r\n",
        "Forwarded: for=127.0.0.1\r\n",
        "Via: 1.1 proxy\r\n",
        "X-Real-IP: 127.0.0.1\r\n",
    ] {
        let answer = daemon.http("GET /jsonrpc/version", proxied, "");
        assert_eq!(status_of(&answer), 401, "{proxied}");
    }
}
