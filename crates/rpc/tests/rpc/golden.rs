//! Every method, called over the socket, and what came of it. `BLESS=1` writes the files anew.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use bergamot_rpc::ClientError;
use serde_json::{Value, json};

use crate::daemon;

#[test]
fn every_native_method_answers_as_it_did() {
    let calls: Vec<(&str, Value)> = vec![
        ("config.get", json!({})),
        ("config.reload", Value::Null),
        ("events.subscribe", json!({})),
        ("events.unsubscribe", json!({})),
        ("feeds.errors", json!({})),
        ("feeds.fetch", json!({ "feed": "indexer" })),
        ("feeds.items", json!({ "feed": 1 })),
        ("feeds.list", json!({})),
        (
            "feeds.preview",
            json!({ "url": "https://indexer.example/api?apikey=planted", "rules": "Accept: show" }),
        ),
        ("feeds.retry", json!({ "feed": 1 })),
        ("file.move", json!({ "job": 7, "files": [1], "to": "top" })),
        ("file.order", json!({ "job": 7, "files": [2, 0] })),
        ("file.pause", json!({ "job": 7, "files": [0, 1] })),
        ("file.remove", json!({ "job": 7, "files": [0] })),
        ("file.resume", json!({ "job": 99, "files": [0] })),
        ("groups.headers", json!({ "group": "no.such", "below": 5, "limit": 2, "latest": true })),
        ("groups.list", json!({ "pattern": "*.test", "after": "a", "limit": 100000 })),
        (
            "groups.posts",
            json!({ "group": "a.b", "post": "00f1", "search": "show", "complete": true }),
        ),
        (
            "groups.queue",
            json!({
                "group": "a.b", "post": "00f1", "name": "n", "category": "tv", "priority": 5,
                "at_top": true, "paused": true,
            }),
        ),
        ("groups.search", json!({ "group": "a.b", "search": "show ann", "below": 9 })),
        ("history.backup", json!({ "jobs": [4, 7], "backup": true })),
        ("history.hide", json!({ "jobs": [4] })),
        (
            "history.list",
            json!({ "offset": 0, "limit": 10, "category": "tv", "search": "show", "hidden": true }),
        ),
        ("history.remove", json!({ "jobs": [4, 5, 4, 400] })),
        ("job.explain", json!({ "job": 7 })),
        ("job.files", json!({ "job": 7 })),
        ("job.get", json!({ "job": 7 })),
        ("job.mark", json!({ "jobs": [4], "mark": "bad" })),
        ("job.merge", json!({ "job": 7, "jobs": [8, 100] })),
        ("job.move", json!({ "jobs": [7], "by": -3 })),
        ("job.pause", json!({ "jobs": [7, 400] })),
        ("job.redownload", json!({ "jobs": [4] })),
        ("job.remove", json!({ "jobs": [7], "keep_files": true })),
        ("job.resume", json!({ "jobs": [7] })),
        ("job.retry", json!({ "jobs": [4] })),
        (
            "job.set",
            json!({
                "jobs": [7], "name": "B", "category": "", "priority": 1000000, "dupe_key": "k", "dupe_score": 5,
                "dupe_mode": "force", "parameters": [{ "name": "a", "value": "b" }],
            }),
        ),
        ("job.sort_files", json!({ "jobs": [7, 400] })),
        ("job.split", json!({ "job": 7, "files": [0, 2], "name": "new" })),
        ("limits.get", json!({})),
        ("limits.set", json!({ "rate": 1000000 })),
        ("log.clear", json!({})),
        ("log.list", json!({ "job": 7, "from": 3, "limit": 10 })),
        ("log.write", json!({ "kind": "warning", "text": "hello" })),
        (
            "queue.add",
            json!({
                "name": "a.nzb", "nzb": "PG56Yi8+", "category": "tv", "priority": 50, "at_top": true,
                "paused": true, "dupe_key": "k", "dupe_score": 1, "dupe_mode": "all", "password": "planted",
                "parameters": [{ "name": "drone", "value": "x" }], "auto_category": true,
            }),
        ),
        ("queue.explain", json!({})),
        ("queue.list", json!({ "offset": 1, "limit": 1 })),
        ("queue.pause", json!({ "parts": ["download", "post"], "seconds": 60 })),
        ("queue.resume", json!({})),
        ("queue.sort", json!({ "by": "size", "descending": true })),
        ("quota.get", json!({})),
        ("rpc.discover", json!({})),
        (
            "servers.add",
            json!({ "name": "main", "host": "news.example", "password": "SECRET", "level": 1 }),
        ),
        ("servers.check", json!({ "server": 1 })),
        ("servers.list", json!({})),
        ("servers.remove", json!({ "name": "main" })),
        ("servers.reset", json!({ "server": 1, "only_custom": true })),
        ("servers.switch", json!({ "server": 1, "active": false })),
        (
            "servers.test",
            json!({
                "host": "down.example", "port": 563, "tls": true, "username": "ann", "password": "planted",
                "seconds": 9, "certificates": "strict",
            }),
        ),
        ("servers.volumes", json!({})),
        ("storage.accept", json!({ "path": "/data/complete" })),
        ("storage.list", json!({})),
        ("system.listMethods", json!({})),
        ("system.multicall", json!({})),
        ("system.shutdown", json!({})),
        ("system.status", json!({})),
        ("system.version", json!({})),
        ("targets.list", json!({})),
        ("watch.scan", json!({})),
    ];
    compare("native", calls);
}

#[test]
fn every_method_of_nzbget_answers_as_it_did() {
    let calls: Vec<(&str, Value)> = vec![
        (
            "append",
            json!(["a.nzb", "PG56Yi8+", "tv", 0, false, false, "", 0, "all", ["drone", "0123"]]),
        ),
        ("appendurl", json!(["a.nzb", "tv", 0, false, "https://indexer.example/1"])),
        ("checkupdates", json!([])),
        ("clearlog", json!([])),
        ("config", json!([])),
        ("configtemplates", json!([false])),
        ("deleteextension", json!(["x"])),
        ("downloadextension", json!(["https://x", "x"])),
        ("dump", json!([])),
        ("editqueue", json!(["GroupFinalDelete", 0, "", 7])),
        ("editserver", json!([1, false])),
        ("fetchfeed", json!([0])),
        ("history", json!([true])),
        ("listfiles", json!([0, 0, 7])),
        ("listgroups", json!([0])),
        ("loadconfig", json!([])),
        ("loadextensions", json!([false])),
        ("loadlog", json!([7, 0, 10])),
        ("log", json!([0, 10])),
        ("logscript", json!([0, 10])),
        ("logupdate", json!([0, 10])),
        ("pause", json!([])),
        ("pausedownload", json!([])),
        ("pausedownload2", json!([])),
        ("pausepost", json!([])),
        ("pausescan", json!([])),
        ("postqueue", json!([10000])),
        (
            "previewfeed",
            json!([
                0,
                "new",
                "https://indexer.example/rss?r=planted",
                "A: show%R: *",
                true,
                false,
                "tv",
                50,
                15,
                "",
                true,
                60,
                "1"
            ]),
        ),
        ("rate", json!([500])),
        ("readurl", json!(["https://x", "x"])),
        ("reload", json!([])),
        ("resetservervolume", json!([-1, "CUSTOM"])),
        ("resume", json!([])),
        ("resumedownload", json!([])),
        ("resumedownload2", json!([])),
        ("resumepost", json!([])),
        ("resumescan", json!([])),
        ("saveconfig", json!([[{ "Name": "ShellOverride", "Value": ".sh=/bin/evil" }]])),
        ("scan", json!([true])),
        ("scheduleresume", json!([60.0])),
        ("servervolumes", json!([true, false, false, false, true])),
        ("shutdown", json!([])),
        ("startscript", json!(["a", "b", "c", []])),
        ("startupdate", json!(["stable"])),
        ("status", Value::Null),
        ("sysinfo", json!([])),
        ("systemhealth", json!([])),
        ("testdiskspeed", json!(["/", 1, 1, 1])),
        ("testextension", json!(["x"])),
        ("testnetworkspeed", json!([])),
        ("testserver", json!(["down.example", 563, "ann", "planted", true, "", 9, 2])),
        ("testserverspeed", json!(["https://x", 1])),
        ("updateextension", json!(["https://x", "x"])),
        ("urlqueue", json!([])),
        ("version", json!({})),
        ("viewfeed", json!([1, true])),
        ("writelog", json!(["INFO", "hello"])),
    ];
    compare("nzbget", calls);
}

fn compare(dialect: &str, calls: Vec<(&str, Value)>) {
    let daemon = daemon::start();
    let mut client = daemon.client();
    let listed = client.call("system.listMethods", json!({})).expect("a list");
    let listed: BTreeSet<&str> =
        listed.as_array().expect("a list").iter().filter_map(Value::as_str).collect();
    let of_dialect = |name: &&&str| name.contains('.') == (dialect == "native");
    let listed: BTreeSet<&str> = listed.iter().filter(of_dialect).copied().collect();
    let called: BTreeSet<&str> = calls.iter().map(|(method, _)| *method).collect();
    assert_eq!(called, listed, "each method is called once");
    let mut differ = Vec::new();
    for (method, params) in calls {
        let mut page = format!("{method} {params}\n\n");
        match client.call(method, params) {
            Ok(result) => {
                if dialect == "nzbget" {
                    check_numbers(method, "", &result);
                }
                _ = writeln!(page, "{result:#}");
            }
            Err(ClientError::Refused { number, message, data, .. }) => {
                _ = writeln!(page, "error {number}: {message}\n{data}");
            }
            Err(error) => panic!("{method}: {error}"),
        }
        let done = daemon.control.take_done();
        let done: Vec<String> = done.iter().map(|what| format!("asked: {what}\n")).collect();
        page += &done.concat();
        assert!(!page.contains("planted-"), "{method} tells a secret");
        differ.extend(differs(&golden(dialect, method), &page));
    }
    assert!(differ.is_empty(), "these differ (BLESS=1 writes them anew): {differ:#?}");
}

/// Sonarr fails on numbers beyond 32 bits, on fractions and on null; only halves have no sign.
fn check_numbers(method: &str, key: &str, value: &Value) {
    match value {
        Value::Array(list) => list.iter().for_each(|item| check_numbers(method, key, item)),
        Value::Object(fields) => {
            fields.iter().for_each(|(key, item)| check_numbers(method, key, item))
        }
        Value::Number(number) => {
            let number = number.as_i64().unwrap_or_else(|| panic!("{method}: {key} is {number}"));
            let is_half = key.ends_with("Lo") || key.ends_with("Hi");
            let fits =
                if is_half { u32::try_from(number).is_ok() } else { i32::try_from(number).is_ok() };
            assert!(fits, "{method}: {key} is {number}");
        }
        Value::Null => panic!("{method}: {key} is null"),
        Value::Bool(_) | Value::String(_) => {}
    }
}

fn golden(dialect: &str, method: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(dialect).join(method)
}

fn differs(path: &Path, page: &str) -> Option<PathBuf> {
    if std::env::var_os("BLESS").is_some() {
        fs::write(path, page).expect("it can be written");
    }
    let golden = fs::read_to_string(path).unwrap_or_default();
    (golden != page).then(|| path.to_owned())
}

/// A parameter that the registry does not list is refused, and the refusal lists those it does.
#[test]
fn native_methods_take_what_the_registry_says_and_nothing_else() {
    let daemon = daemon::start();
    let mut client = daemon.client();
    let document = client.call("rpc.discover", json!({})).unwrap();
    for method in document["methods"].as_array().unwrap() {
        let name = method["name"].as_str().unwrap();
        if !name.contains('.') || name.starts_with("system.l") || name.starts_with("system.m") {
            continue;
        }
        let Err(ClientError::Refused { number, message, .. }) =
            client.call(name, json!({ "unheard_of": 1 }))
        else {
            panic!("{name} takes what is unheard of");
        };
        assert_eq!(number, -32602, "{name}");
        let params = method["params"].as_array().unwrap();
        let told = message.matches('`').count() / 2 - 1;
        assert_eq!(told, params.len(), "{name}: {message}");
        for param in params {
            let param = format!("`{}`", param["name"].as_str().unwrap());
            assert!(message.contains(&param), "{name} does not know {param}: {message}");
        }
    }
}
