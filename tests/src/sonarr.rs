//! Sonarr, as far as a downloader sees it: what it asks, and what it makes of the answers.
//!
//! Where it would throw an exception, this panics. Radarr, Lidarr and Readarr are the same program.

use std::collections::HashMap;
use std::path::PathBuf;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::home::sha256;
use crate::http_daemon::HttpDaemon;

#[derive(Debug)]
pub struct Sonarr<'a> {
    daemon: &'a HttpDaemon,
    category: &'a str,
}

/// One line of its activity list.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Item {
    pub download: String,
    pub title: String,
    pub status: Shown,
    pub remaining: u64,
    pub output: Option<PathBuf>,
    number: i64,
    queued: bool,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Shown {
    Completed,
    Downloading,
    Failed,
    Paused,
    Queued,
    Warning,
}

impl<'a> Sonarr<'a> {
    pub fn new(daemon: &'a HttpDaemon, category: &'a str) -> Self {
        Self { daemon, category }
    }

    /// # Panics
    /// When the answer has an error of any kind.
    pub fn call(&self, method: &str, params: Value) -> Value {
        let request =
            json!({ "jsonrpc": "2.0", "method": method, "params": params, "id": "0a1b2c3d" });
        let headers = format!(
            "Authorization: Basic {}\r\nContent-Type: application/json\r\nAccept: \
             application/json\r\n",
            latin_login()
        );
        let answer = self.daemon.http("POST /jsonrpc", &headers, &request.to_string());
        assert_eq!(answer.status, 200, "{method}: {answer:?}");
        let mut answer: Value = serde_json::from_str(&answer.body).expect("JSON");
        assert!(answer.get("error").is_none_or(Value::is_null), "{method}: {answer}");
        assert_eq!(answer["id"], "0a1b2c3d");
        answer["result"].take()
    }

    /// The result of its button "Test".
    pub fn test(&self) -> Result<(), String> {
        let version = self.call("version", json!([]));
        let version = version.as_str().and_then(|text| text.split('-').next()).expect("a version");
        let (major, minor) = version.split_once('.').expect("two numbers");
        minor.parse::<u32>().expect("a number");
        if major.parse::<u32>().expect("a number") < 12 {
            return Err("the version is too old".to_owned());
        }
        let config = self.config();
        if !categories(&config).any(|(name, _)| name == self.category) {
            return Err(format!("category {} does not exist", self.category));
        }
        let kept = config.get("KeepHistory").map_or("7", String::as_str);
        match kept.parse::<u32>() {
            Ok(1..=25_000) => Ok(()),
            _ => Err(format!("KeepHistory is {kept}")),
        }
    }

    /// Where it looks for finished downloads of its category.
    pub fn output_root(&self) -> PathBuf {
        let config = self.config();
        let (name, directory) = categories(&config)
            .find(|(name, _)| *name == self.category)
            .expect("the category is there");
        if !directory.is_empty() {
            return directory.into();
        }
        let root = PathBuf::from(config["DestDir"].replace("${MainDir}", &config["MainDir"]));
        let append = config.get("AppendCategoryDir").is_none_or(|value| value == "yes");
        if append { root.join(name) } else { root }
    }

    /// A dictionary: a name that comes twice is an exception.
    fn config(&self) -> HashMap<String, String> {
        let list = self.call("config", json!([]));
        let mut values = HashMap::new();
        for item in list.as_array().expect("a list") {
            let name = text(item, "Name").to_owned();
            let twice = values.insert(name, text(item, "Value").to_owned());
            assert_eq!(twice, None, "{item} is there twice");
        }
        values
    }

    /// Hands in an NZB in base64; by this id it knows the download from then on.
    pub fn grab(&self, title: &str, nzb: &str) -> String {
        let download = sha256(title.as_bytes())[..32].to_owned();
        let name = format!("{title}.nzb");
        let drone = json!(["drone", download]);
        let params = json!([name, nzb, self.category, 0, false, false, "", 0, "all", drone]);
        let number = self.call("append", params);
        assert!(number.as_i64().is_some_and(|number| number > 0), "it is rejected: {number}");
        download
    }

    /// Its activity list: the queue, then the history.
    pub fn items(&self) -> Vec<Item> {
        let paused = self.call("status", json!([]))["DownloadPaused"].as_bool().expect("a flag");
        let queue = self.call("listgroups", json!([]));
        let history = self.call("history", json!([]));
        let queued = list(&queue).map(|item| queued(item, paused));
        let ended = list(&history).take(HISTORY_LIMIT).filter_map(ended);
        let items = queued.chain(ended);
        items.filter_map(|(category, item)| (category == self.category).then_some(item)).collect()
    }

    /// The item of a download; the queue counts before the history.
    pub fn find(&self, download: &str) -> Option<Item> {
        self.items().into_iter().find(|item| item.download == download)
    }

    /// "Remove from download client".
    ///
    /// # Panics
    /// When there is no such item, or the daemon does not obey.
    pub fn remove(&self, download: &str) {
        let item = self.find(download).expect("it is there");
        let command = if item.queued { "GroupFinalDelete" } else { "HistoryDelete" };
        self.edit(command, "", item.number);
    }

    /// # Panics
    /// When it has not ended, or the daemon does not obey.
    pub fn retry(&self, download: &str) {
        let item = self.find(download).filter(|item| !item.queued).expect("it has ended");
        self.edit("HistoryRedownload", "", item.number);
    }

    /// # Panics
    /// When the daemon does not obey.
    pub fn edit(&self, command: &str, param: &str, number: i64) {
        let answer = self.call("editqueue", json!([command, 0, param, number]));
        assert_eq!(answer, true, "{command} of {number}");
    }
}

fn queued(item: &Value, all_paused: bool) -> (String, Item) {
    let (remaining, paused) = (size(item, "RemainingSize"), size(item, "PausedSize"));
    for field in ["FirstID", "LastID", "MinPriority", "MaxPriority"] {
        int(item, field);
    }
    let status = if all_paused || (remaining == paused && remaining != 0) {
        Shown::Paused
    } else if int(item, "ActiveDownloads") == 0 && remaining != 0 {
        Shown::Queued
    } else {
        Shown::Downloading
    };
    let number = int(item, "NZBID");
    let queued = Item {
        download: download_id(item, number),
        title: text(item, "NZBName").to_owned(),
        status,
        remaining: remaining - paused,
        output: None,
        number,
        queued: true,
    };
    (text(item, "Category").to_owned(), queued)
}

/// None for jobs that users have deleted themselves.
fn ended(item: &Value) -> Option<(String, Item)> {
    let status = status_of(item)?;
    let directory = Some(text(item, "FinalDir")).filter(|path| !path.trim().is_empty());
    let number = int(item, "ID");
    let ended = Item {
        download: download_id(item, number),
        title: text(item, "Name").to_owned(),
        status,
        remaining: 0,
        output: Some(directory.unwrap_or(text(item, "DestDir")).into()),
        number,
        queued: false,
    };
    Some((text(item, "Category").to_owned(), ended))
}

/// The later rule overrides the earlier one.
fn status_of(item: &Value) -> Option<Shown> {
    let [par, unpack, moved, script, deleted, mark] =
        ["ParStatus", "UnpackStatus", "MoveStatus", "ScriptStatus", "DeleteStatus", "MarkStatus"]
            .map(|field| text(item, field));
    let is_fine = |status| ["SUCCESS", "NONE"].contains(&status);
    if deleted == "MANUAL" {
        return (mark == "BAD").then_some(Shown::Failed);
    }
    let rules = [
        (!is_fine(par), Shown::Failed),
        (unpack == "SPACE", Shown::Warning),
        (!is_fine(unpack) && unpack != "SPACE", Shown::Failed),
        (!is_fine(moved), Shown::Warning),
        (!is_fine(script), Shown::Failed),
        (["HEALTH", "DUPE", "SCAN", "COPY", "BAD"].contains(&deleted), Shown::Failed),
        (deleted == "GOOD", Shown::Warning),
    ];
    let last = rules.into_iter().rev().find_map(|(holds, shown)| holds.then_some(shown));
    Some(last.unwrap_or(Shown::Completed))
}

/// What it gave the job itself, of which there must be one at most; else the job's number.
fn download_id(item: &Value, number: i64) -> String {
    let parameters = item["Parameters"].as_array().expect("always a list");
    let mut ids = parameters.iter().filter(|parameter| text(parameter, "Name") == "drone");
    let id = ids.next().map(|parameter| text(parameter, "Value").to_owned());
    assert!(ids.next().is_none(), "two ids: {item}");
    id.unwrap_or(number.to_string())
}

/// Names and directories, up to the first number that is missing.
fn categories(config: &HashMap<String, String>) -> impl Iterator<Item = (&str, &str)> {
    (1..100).map_while(|number| {
        let name = config.get(&format!("Category{number}.Name"))?;
        let directory = config.get(&format!("Category{number}.DestDir"));
        Some((name.as_str(), directory.map_or("", String::as_str)))
    })
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().expect("a list").iter()
}

fn text<'v>(item: &'v Value, field: &str) -> &'v str {
    item[field].as_str().unwrap_or_else(|| panic!("{field} is no text: {item}"))
}

fn int(item: &Value, field: &str) -> i64 {
    let number = item[field].as_i64().filter(|number| i32::try_from(*number).is_ok());
    number.unwrap_or_else(|| panic!("{field} is no number of 32 bits: {item}"))
}

fn size(item: &Value, field: &str) -> u64 {
    let half = |suffix: &str| {
        let half = item[format!("{field}{suffix}")].as_u64().expect("half of a size");
        u64::from(u32::try_from(half).expect("of 32 bits"))
    };
    (half("Hi") << 32) + half("Lo")
}

/// It writes logins in Latin-1.
fn latin_login() -> String {
    let login = format!("{}:{}", HttpDaemon::USER, HttpDaemon::PASSWORD);
    STANDARD.encode(login.chars().map(|letter| letter as u8).collect::<Vec<_>>())
}

/// More of the history it does not look at.
const HISTORY_LIMIT: usize = 60;
