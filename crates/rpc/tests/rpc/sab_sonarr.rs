//! All that Sonarr asks of SABnzbd, in the words it uses, and read by its rules.

use crate::daemon::{self, Running, body_of, status_of};
use bergamot_rpc::{Access, Settings, Token};
use bergamot_types::Secret;
use serde_json::Value;

/// It fails on any other.
const STATUSES: [&str; 16] = [
    "Grabbing",
    "Queued",
    "Paused",
    "Checking",
    "Downloading",
    "QuickCheck",
    "Verifying",
    "Repairing",
    "Fetching",
    "Extracting",
    "Moving",
    "Running",
    "Completed",
    "Failed",
    "Deleted",
    "Propagating",
];

fn start() -> Running {
    let tokens = vec![Token { secret: Secret::new("0123abcd"), access: Access::Control }];
    daemon::start_with(Settings { tokens, ..Settings::default() })
}

/// What it says then, or the error as Sonarr finds it.
fn ask(daemon: &Running, query: &str) -> Result<Value, String> {
    read(&daemon.get(&format!("/api?{query}&apikey=0123abcd&output=json")))
}

fn read(answer: &str) -> Result<Value, String> {
    assert_eq!(status_of(answer), 200, "anything else is \"unable to connect\"");
    let body = body_of(answer);
    let value: Value = serde_json::from_str(body).expect("JSON");
    let failed = value["status"] == false || body.starts_with("error");
    if failed { Err(value["error"].as_str().unwrap_or(body).to_owned()) } else { Ok(value) }
}

fn text<'a>(item: &'a Value, field: &str) -> &'a str {
    item[field].as_str().unwrap_or_else(|| panic!("{field} is no text: {item}"))
}

/// `H:M:S` or `D:H:M:S`, of whole numbers.
fn seconds(text: &str) -> u64 {
    let parts: Vec<u64> = text.split(':').map(|part| part.parse().expect("a number")).collect();
    let days = if parts.len() == 4 { parts[0] } else { 0 };
    let [.., hours, minutes, seconds] = parts[..] else { panic!("{text} is no time") };
    days * 86_400 + hours * 3600 + minutes * 60 + seconds
}

/// What it shows of a slot of the queue; none is nothing.
fn queue_verdict(queue: &Value, slot: &Value) -> Option<&'static str> {
    let (status, priority) = (text(slot, "status"), text(slot, "priority"));
    assert!(STATUSES.contains(&status), "{status}");
    let all_paused = queue["paused"].as_bool().expect("a flag");
    Some(match status {
        "Deleted" => return None,
        "Paused" => "paused",
        _ if all_paused && priority != "Force" => "paused",
        "Queued" | "Grabbing" | "Propagating" => "queued",
        _ => "downloading",
    })
}

fn history_verdict(slot: &Value) -> &'static str {
    let status = text(slot, "status");
    assert!(STATUSES.contains(&status), "{status}");
    match (status, text(slot, "fail_message")) {
        ("Failed", "Unpacking failed, write error or disk is full?") => "warning",
        ("Failed", _) => "failed",
        ("Completed", _) => "completed",
        _ => "downloading",
    }
}

#[test]
fn the_test_of_its_settings_succeeds() {
    let daemon = start();
    let version = ask(&daemon, "mode=version").expect("a version");
    let numbers: Vec<u32> =
        text(&version, "version").split(['.', '-']).take(3).map_while(|n| n.parse().ok()).collect();
    assert!(numbers.len() == 3 && numbers[0] >= 2, "{version}");

    let config = ask(&daemon, "mode=get_config").expect("a configuration")["config"].take();
    let misc = &config["misc"];
    assert!(text(misc, "complete_dir").starts_with('/'), "so no fullstatus is needed");
    for list in ["tv_categories", "movie_categories", "date_categories"] {
        assert!(misc[list].is_array(), "{list}");
    }
    for flag in ["enable_tv_sorting", "enable_movie_sorting", "enable_date_sorting", "pre_check"] {
        assert_eq!(misc[flag], 0, "{flag}");
    }
    assert!(config["servers"].is_array() && config["sorters"].is_array());
    let days = misc["history_retention_number"].as_i64().expect("a number");
    assert!(text(misc, "history_retention_option").starts_with("days") && days >= 14);
    let categories = config["categories"].as_array().expect("a list");
    assert_eq!(text(&categories[0], "name"), "*");
    let tv = categories.iter().find(|category| text(category, "name") == "tv").expect("tv");
    assert!(!text(tv, "dir").ends_with('*') && tv["priority"].is_i64());
    let status = ask(&daemon, "mode=fullstatus&skip_dashboard=1").expect("a status");
    assert_eq!(text(&status["status"], "completedir"), "/data/complete");
}

#[test]
fn a_wrong_key_is_told_as_one() {
    let daemon = start();
    let wrong = read(&daemon.get("/api?mode=get_config&apikey=wrong&output=json"));
    assert_eq!(wrong, Err("API Key Incorrect".to_owned()));
    assert_eq!(read(&daemon.get("/api?mode=get_config")), Err("API Key Required".to_owned()));
}

#[test]
fn what_it_grabs_it_finds_again_in_the_queue_and_in_the_history() {
    let daemon = start();
    let form = "--x\r\nContent-Disposition: form-data; name=\"name\"; filename=\"A.Show.nzb\"\r\n\
        Content-Type: application/x-nzb\r\n\r\n<nzb/>\r\n--x--\r\n";
    let grab = "POST /api?mode=addfile&cat=tv&priority=-100&apikey=0123abcd&output=json";
    let kind = "Content-Type: multipart/form-data; boundary=\"x\"\r\n";
    let grabbed = read(&daemon.http(grab, kind, form)).expect("it is taken");
    assert_eq!(grabbed["nzo_ids"].as_array().map(Vec::len), Some(1), "none is a rejection");
    let asked = daemon.control.take_done().concat();
    assert!(asked.contains("A.Show.nzb") && asked.contains("Some(\"tv\")"), "{asked}");

    let queue = ask(&daemon, "mode=queue&start=0&limit=0").expect("a queue")["queue"].take();
    let slots = queue["slots"].as_array().expect("a list");
    let verdicts: Vec<_> = slots.iter().map(|slot| queue_verdict(&queue, slot)).collect();
    assert_eq!(verdicts, [Some("downloading"), Some("queued")]);
    let slot = &slots[0];
    let size: f64 = text(slot, "mb").parse().expect("a number");
    let left: f64 = text(slot, "mbleft").parse().expect("a number");
    assert!(size > left && text(slot, "percentage").parse::<u32>().is_ok());
    assert_eq!((text(slot, "cat"), seconds(text(slot, "timeleft"))), ("tv", 32));
    assert!(slot["index"].is_u64() && text(slot, "filename") == "A Show S01E01");

    let history = ask(&daemon, "mode=history&start=0&limit=60").expect("a history");
    let slots = history["history"]["slots"].as_array().expect("a list");
    let verdicts: Vec<_> = slots.iter().map(history_verdict).collect();
    assert_eq!(verdicts, ["downloading", "completed", "failed"]);
    let done = &slots[1];
    assert_eq!(text(done, "storage"), "/data/complete/tv/A Show S01E01");
    assert!(done["bytes"].is_i64() && done["download_time"].is_i64());
    assert_eq!(text(done, "category"), "tv", "that it was given");
}

#[test]
fn it_removes_and_tries_again() {
    let daemon = start();
    for (query, asked) in [
        ("mode=queue&name=delete&del_files=1&value=SABnzbd_nzo_7", "Delete(Finally) [7]"),
        ("mode=history&name=delete&del_files=0&value=SABnzbd_nzo_5&archive=1", "History(Hide) [5]"),
        ("mode=history&name=delete&del_files=0&value=SABnzbd_nzo_4&archive=0", "History(Hide) [4]"),
        (
            "mode=history&name=delete&del_files=1&value=SABnzbd_nzo_4&archive=0",
            "History(Delete) [4]",
        ),
        ("mode=retry&value=SABnzbd_nzo_4", "History(Retry) [4]"),
    ] {
        let answer = ask(&daemon, query).expect("it is done");
        assert_eq!(daemon.control.take_done(), [asked], "{query}");
        if query.starts_with("mode=retry") {
            assert_eq!(text(&answer, "nzo_id"), "SABnzbd_nzo_4", "it is known by the same id");
        }
    }
}
