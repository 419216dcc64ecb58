//! All that Sonarr asks, in the words it uses, and read by its rules.

use std::collections::HashMap;

use crate::daemon::{self, Running, body_of, status_of, three_users};
use serde_json::{Value, json};

/// As Sonarr sends it; an `error` of any kind is an exception there.
fn ask(daemon: &Running, method: &str, params: Value) -> Value {
    let request = json!({ "jsonrpc": "2.0", "method": method, "params": params, "id": "0a1b2c3d" });
    let headers = "Authorization: Basic Y29udHJvbDpjb250cm9s\r\nContent-Type: application/json\r\n";
    let answer = daemon.http("POST /nzbget/jsonrpc", headers, &request.to_string());
    assert_eq!(status_of(&answer), 200, "{method}");
    let mut answer: Value = serde_json::from_str(body_of(&answer)).expect("JSON");
    assert!(answer.get("error").is_none(), "{method}: {answer}");
    assert_eq!(answer["id"], "0a1b2c3d");
    answer["result"].take()
}

fn text<'a>(item: &'a Value, field: &str) -> &'a str {
    item[field].as_str().unwrap_or_else(|| panic!("{field} is no text: {item}"))
}

fn size(item: &Value, field: &str) -> u64 {
    let half = |suffix: &str| {
        let half = item[format!("{field}{suffix}")].as_u64().expect("half of a size");
        u32::try_from(half).expect("of 32 bits")
    };
    (u64::from(half("Hi")) << 32) + u64::from(half("Lo"))
}

/// The id it gave a job, of which there must be one at most.
fn drone(item: &Value) -> Option<&str> {
    let parameters = item["Parameters"].as_array().expect("always a list");
    let mut ids = parameters.iter().filter(|parameter| text(parameter, "Name") == "drone");
    let id = ids.next().map(|parameter| text(parameter, "Value"));
    assert!(ids.next().is_none());
    id
}

#[test]
fn the_test_of_its_settings_succeeds() {
    let daemon = daemon::start_with(three_users());
    let version = ask(&daemon, "version", json!([]));
    let version =
        version.as_str().and_then(|version| version.split('-').next()).expect("a version");
    let (major, minor) = version.split_once('.').expect("two numbers");
    assert!(major.parse::<u32>().is_ok_and(|major| major >= 16) && minor.parse::<u32>().is_ok());

    let config = ask(&daemon, "config", json!([]));
    let mut values = HashMap::new();
    for item in config.as_array().expect("a list") {
        let twice = values.insert(text(item, "Name"), text(item, "Value"));
        assert!(twice.is_none(), "{item} is there twice");
    }
    let categories: Vec<&str> =
        (1..100).map_while(|n| values.get(format!("Category{n}.Name").as_str()).copied()).collect();
    assert_eq!(categories, ["tv", "Movies"]);
    let days: u32 = values["KeepHistory"].parse().expect("a whole number");
    assert!((1..=25_000).contains(&days));
    assert_eq!(values["AppendCategoryDir"], "yes");
    assert_eq!(values["Category2.DestDir"], "/films");
}

#[test]
fn what_it_grabs_it_finds_again_in_the_queue_and_in_the_history() {
    let daemon = daemon::start_with(three_users());
    let grab = json!([
        "A.Show.nzb",
        "PG56Yi8+",
        "tv",
        0,
        false,
        false,
        "",
        0,
        "all",
        ["drone", "0123abcd"]
    ]);
    assert!(ask(&daemon, "append", grab).as_i64().is_some_and(|id| id > 0));
    assert!(daemon.control.take_done()[0].contains(r#"name: "drone", value: "0123abcd""#));

    let status = ask(&daemon, "status", json!([]));
    assert!(status["DownloadPaused"].is_boolean() && status["DownloadRate"].is_i64());
    let queue = ask(&daemon, "listgroups", json!([]));
    let item = &queue[0];
    assert_eq!((drone(item), text(item, "Category")), (Some("0123abcd"), "tv"));
    assert_eq!(size(item, "FileSize"), 5_000_000_000);
    assert_eq!(size(item, "RemainingSize") - size(item, "PausedSize"), 4_000_000_000);
    assert_eq!(size(&queue[1], "RemainingSize"), 0, "a job in post-processing stays in the queue");

    let history = ask(&daemon, "history", json!([]));
    let done = &history[0];
    assert_eq!(
        (drone(done), text(done, "DestDir")),
        (Some("0123abcd"), "/data/complete/tv/A Show S01E01")
    );
    assert_eq!(text(done, "FinalDir"), "");
    for field in ["ParStatus", "UnpackStatus", "MoveStatus", "ScriptStatus"] {
        assert!(["SUCCESS", "NONE"].contains(&text(done, field)), "{field}");
    }
    assert_eq!(text(&history[1], "ParStatus"), "FAILURE", "it must not be imported");
}

#[test]
fn it_removes_and_tries_again() {
    let daemon = daemon::start_with(three_users());
    for (command, id, asked) in [
        ("GroupFinalDelete", 7, "Delete(Finally) [7]"),
        ("HistoryDelete", 4, "History(Hide) [4]"),
        ("HistoryRedownload", 4, "History(Redownload) [4]"),
        ("GroupSetParameter", 7, "SetParameter { name: \"drone\", value: \"x\" } [7]"),
    ] {
        let param = if command.ends_with("Parameter") { "drone=x" } else { "" };
        assert_eq!(ask(&daemon, "editqueue", json!([command, 0, param, id])), true, "{command}");
        assert_eq!(daemon.control.take_done(), [asked]);
    }
}
