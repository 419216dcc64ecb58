//! What Sonarr shows of the real daemon: every call it makes, and its own rules for the answers.

use std::fs;
use std::time::{Duration, Instant};

use bergamot_tests::{HttpDaemon, Item, Shown, Sonarr, content_of};
use serde_json::json;

#[test]
fn the_test_of_its_settings_succeeds() {
    let http_daemon = HttpDaemon::start();
    for category in ["tv", "Movies"] {
        let sonarr = Sonarr::new(&http_daemon, category);
        assert_eq!(sonarr.test(), Ok(()));
        assert_eq!(sonarr.output_root(), http_daemon.home.join("complete").join(category));
    }
    let stranger = Sonarr::new(&http_daemon, "knitting");
    assert_eq!(stranger.test(), Err("category knitting does not exist".to_owned()));
}

#[test]
fn a_grab_is_followed_from_the_queue_to_its_files() {
    let http_daemon = HttpDaemon::start();
    let sonarr = Sonarr::new(&http_daemon, "tv");
    sonarr.call("pausedownload", json!([]));
    let download = sonarr.grab("first", &http_daemon.nzb("first"));
    let item = sonarr.find(&download).expect("it is in the queue");
    assert_eq!((item.title.as_str(), item.status), ("first", Shown::Paused));
    assert!(item.remaining > 90_000, "{item:?}");
    assert_eq!(Sonarr::new(&http_daemon, "Movies").find(&download), None, "others do not see it");

    sonarr.call("resumedownload", json!([]));
    let item = await_end(&sonarr, &download);
    assert_eq!((item.title.as_str(), item.status), ("first", Shown::Completed));
    let output = item.output.expect("it has files");
    assert_eq!(output, sonarr.output_root().join("first"));
    let found = fs::read(output.join("first")).expect("they are where it looks");
    assert!(found == content_of(http_daemon.post("first")), "every byte of them");
}

#[test]
fn what_is_under_way_is_downloading_and_what_is_held_is_paused() {
    let http_daemon = HttpDaemon::start();
    let sonarr = Sonarr::new(&http_daemon, "tv");
    assert_eq!(sonarr.call("rate", json!([1])), true);
    let first = sonarr.grab("first", &http_daemon.nzb("first"));
    let shown = |download: &str| sonarr.find(download).map(|item| item.status);
    until("it is under way", || shown(&first) == Some(Shown::Downloading));
    let second = sonarr.grab("second", &http_daemon.nzb("second"));
    let number = sonarr.call("listgroups", json!([]))[1]["NZBID"].as_i64().expect("its number");
    sonarr.edit("GroupPause", "", number);
    assert_eq!(shown(&second), Some(Shown::Paused));
    assert_eq!(sonarr.call("rate", json!([0])), true);
    assert_eq!(await_end(&sonarr, &first).status, Shown::Completed);
    sonarr.edit("GroupResume", "", number);
    assert_eq!(await_end(&sonarr, &second).status, Shown::Completed);
}

#[test]
fn what_nobody_has_is_a_failure() {
    let http_daemon = HttpDaemon::start();
    let sonarr = Sonarr::new(&http_daemon, "tv");
    let download = sonarr.grab("missing", &http_daemon.nzb("missing"));
    assert_eq!(await_end(&sonarr, &download).status, Shown::Failed);
    sonarr.retry(&download);
    let item = sonarr.find(&download).expect("it is tried again, under the same id");
    assert_eq!(item.title, "missing");
    assert_eq!(await_end(&sonarr, &download).status, Shown::Failed);
    sonarr.remove(&download);
    assert_eq!(sonarr.find(&download), None);
}

#[test]
fn an_nzb_that_cannot_be_read_is_a_failure() {
    let http_daemon = HttpDaemon::start();
    let sonarr = Sonarr::new(&http_daemon, "tv");
    let download = sonarr.grab("garbage", "bm90IGFuIG56Yg==");
    let item = await_end(&sonarr, &download);
    assert_eq!((item.title.as_str(), item.status), ("garbage", Shown::Failed));
}

#[test]
fn what_it_removes_is_gone() {
    let http_daemon = HttpDaemon::start();
    let sonarr = Sonarr::new(&http_daemon, "tv");
    let done = sonarr.grab("first", &http_daemon.nzb("first"));
    await_end(&sonarr, &done);
    sonarr.call("pausedownload", json!([]));
    let waiting = sonarr.grab("second", &http_daemon.nzb("second"));
    sonarr.remove(&waiting);
    assert_eq!(sonarr.find(&waiting), None, "neither in the queue nor in the history");
    sonarr.remove(&done);
    assert_eq!(sonarr.items(), []);
    assert!(http_daemon.home.join("complete/tv/first/first").exists(), "its files stay");
}

#[test]
fn what_people_delete_is_not_a_failure_unless_they_mark_it() {
    let http_daemon = HttpDaemon::start();
    let sonarr = Sonarr::new(&http_daemon, "tv");
    sonarr.call("pausedownload", json!([]));
    let download = sonarr.grab("second", &http_daemon.nzb("second"));
    let number = sonarr.call("listgroups", json!([]))[0]["NZBID"].as_i64().expect("its number");
    sonarr.edit("GroupDelete", "", number);
    until("it has left the queue", || sonarr.call("listgroups", json!([])) == json!([]));
    assert_eq!(sonarr.find(&download), None, "it is not shown");
    assert_eq!(sonarr.call("history", json!([]))[0]["Status"], "DELETED/MANUAL");
    sonarr.edit("HistoryMarkBad", "", number);
    assert_eq!(sonarr.find(&download).map(|item| item.status), Some(Shown::Failed));
}

#[test]
fn a_finished_download_can_be_had_once_more() {
    let http_daemon = HttpDaemon::start();
    let sonarr = Sonarr::new(&http_daemon, "tv");
    let download = sonarr.grab("first", &http_daemon.nzb("first"));
    let first = await_end(&sonarr, &download).output.expect("it has files");
    sonarr.call("pausedownload", json!([]));
    sonarr.retry(&download);
    let item = sonarr.find(&download).expect("it is back in the queue");
    assert_eq!(item.status, Shown::Paused);
    sonarr.call("resumedownload", json!([]));
    let item = await_end(&sonarr, &download);
    let second = item.output.expect("it has files");
    assert_eq!(item.status, Shown::Completed);
    let content = content_of(http_daemon.post("first"));
    for output in [first, second] {
        assert!(fs::read(output.join("first")).is_ok_and(|found| found == content));
    }
}

#[test]
fn the_same_nzb_once_more_is_a_failure_that_says_so() {
    let http_daemon = HttpDaemon::start();
    let sonarr = Sonarr::new(&http_daemon, "tv");
    let one = sonarr.grab("one", &http_daemon.nzb("first"));
    assert_eq!(await_end(&sonarr, &one).status, Shown::Completed);
    let two = sonarr.grab("two", &http_daemon.nzb("first"));
    assert_eq!(await_end(&sonarr, &two).status, Shown::Failed);
    assert_eq!(sonarr.call("history", json!([]))[0]["Status"], "DELETED/COPY");
    let titles: Vec<_> = sonarr.items().into_iter().map(|item| item.title).collect();
    assert_eq!(titles, ["two", "one"], "the newest first");
}

/// As it does with NZBGet 12 and 13, which cannot take parameters.
#[test]
fn the_older_ways_to_add_are_understood() {
    let http_daemon = HttpDaemon::start();
    let sonarr = Sonarr::new(&http_daemon, "tv");
    sonarr.call("pausedownload", json!([]));
    let of_13 = json!(["first.nzb", http_daemon.nzb("first"), "tv", 0, false, false, "", 0, "all"]);
    let number = sonarr.call("append", of_13).as_i64().expect("a number");
    sonarr.edit("GroupSetParameter", "drone=0123abcd", number);
    let of_12 = json!(["second.nzb", "tv", 0, false, http_daemon.nzb("second")]);
    assert_eq!(sonarr.call("append", of_12), true);
    let groups = sonarr.call("listgroups", json!([]));
    let by_name = groups.as_array().expect("a list").iter().find(|it| it["NZBName"] == "second");
    let last = by_name.and_then(|it| it["LastID"].as_i64()).expect("it is there");
    sonarr.edit("GroupSetParameter", "drone=4567cdef", last);
    let known: Vec<_> = sonarr.items().into_iter().map(|item| item.download).collect();
    assert_eq!(known, ["0123abcd", "4567cdef"]);
}

/// Asks again and again; at no time may the download be in neither list.
fn await_end(sonarr: &Sonarr<'_>, download: &str) -> Item {
    let mut last = None;
    until("it ends", || {
        last = Some(sonarr.find(download).expect("it is always somewhere"));
        last.as_ref().is_some_and(|item| item.output.is_some())
    });
    last.expect("it has been seen")
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < deadline, "{what}: not in time");
    }
}

/// Far more than anything here takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
