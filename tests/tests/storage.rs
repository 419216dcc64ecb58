//! Volumes with too little room, and directories whose disk is not mounted.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops here")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use bergamot_newsd::{Articles, Generated, Manners, Options};
use bergamot_tests::{
    Control, Daemon, Home, Mounted, News, content_of, injected, may_trace, sha256,
};
use bergamot_types::{ByteCount, ByteRate};
use serde_json::{Value, json};

fn post(seed: u64, bytes: u64) -> Generated {
    Generated::new(seed, ByteCount(200_000)).file("x.bin", ByteCount(bytes))
}

fn articles(posts: &[&Generated], control: &Control) -> Arc<dyn Articles> {
    let all: Vec<Arc<dyn Articles>> =
        posts.iter().map(|&post| Arc::new(post.clone()) as _).collect();
    control.beside(all)
}

fn directories(incomplete: &Path, complete: &Path, reserve: &str) -> String {
    format!(
        "[directories]\nincomplete = \"{}\"\ncomplete = \"{}\"\n[storage]\nreserve = \"{reserve}\"\n",
        incomplete.display(),
        complete.display()
    )
}

fn assert_there(complete: &Path, job: &str, post: &Generated) {
    let found = fs::read(complete.join(job).join("x.bin")).unwrap();
    assert_eq!(sha256(&found), sha256(&content_of(post)), "{job}");
}

fn ask(home: &Home, method: &str, params: Value) -> Value {
    home.connect().unwrap().call(method, params).unwrap()
}

#[test]
fn a_job_that_does_not_fit_waits_while_the_next_that_does_runs() {
    let Some(disk) = Mounted::new("16m") else { return };
    let (home, control) = (Home::new(), Control::new());
    let (large, small) = (post(1, 20_000_000), post(2, 2_000_000));
    let news = News::plain(articles(&[&large, &small], &control));
    let complete = disk.path().join("complete");
    let config = directories(&disk.path().join("incomplete"), &complete, "1 MiB");
    let mut daemon = Daemon::start(&home, &format!("{config}{}", news.section(0, "")));
    home.drop_nzb("large.nzb", large.nzb());
    let line = daemon.wait_for(&["WARN waits", "name=large", "disk.full"]);
    for told in ["needed", "free", "kept"] {
        assert!(line.contains(told), "{line}");
    }
    home.drop_nzb("small.nzb", small.nzb());
    daemon.wait_complete("small");
    let job = ask(&home, "job.get", json!({ "job": 1 }));
    assert!(job["waits_for"].as_str().unwrap().contains("disk.full"), "{job}");
    let status = ask(&home, "system.status", json!({}));
    assert_eq!(status["download_paused"]["by"], "the disk", "{status}");
    let why = ask(&home, "queue.explain", json!({}));
    assert_eq!(why["code"], "disk", "{why}");
    disk.remount("size=64m");
    daemon.wait_for(&["INFO there is room again"]);
    daemon.wait_complete("large");
    assert_there(&complete, "large", &large);
    assert_there(&complete, "small", &small);
    control.completes_in(&complete, &home, &mut daemon);
    daemon.stop();
}

#[test]
fn a_job_that_runs_makes_way_when_others_fill_its_disk() {
    let Some(disk) = Mounted::new("64m") else { return };
    let (home, control) = (Home::new(), Control::new());
    let large = (0..60).fold(Generated::new(3, ByteCount(100_000)), |post, n| {
        post.file(format!("f{n}.bin"), ByteCount(500_000))
    });
    let manners = Manners { pace: Some(ByteRate(300_000)), ..Manners::default() };
    let articles = || control.beside(large.clone());
    let slow = Options { articles: articles(), manners, ..Options::default() };
    let news = News::start([slow, Options { articles: articles(), ..Options::default() }]);
    let config = directories(&disk.path().join("incomplete"), &home.join("complete"), "8 MiB");
    let with = |server| format!("{config}{}", news.section(server, "connections = 1"));
    let mut daemon = Daemon::start(&home, &with(0));
    home.drop_nzb("large.nzb", large.nzb());
    daemon.wait_for(&["file finished"]);
    let filler = disk.fill_up_to(8 << 20);
    let line = daemon.wait_for(&["WARN waits", "name=large", "disk.full"]);
    assert!(line.contains(&*disk.path().to_string_lossy()), "{line}");
    let before = fs::read_dir(disk.path().join("incomplete/large")).unwrap().count();
    assert!(before > 0, "what it has stays");
    fs::remove_file(filler).unwrap();
    daemon.wait_for(&["INFO there is room again"]);
    daemon.stop();
    let mut daemon = Daemon::start(&home, &with(1));
    daemon.wait_complete("large");
    let (before, after) = (news.tally(0).all_served(), news.tally(1).all_served());
    assert!(after + before / 2 < 300, "{before} and {after}: what it has is not fetched again");
    for (index, (name, size)) in large.files().enumerate() {
        let mut content = vec![0; size.0 as usize];
        large.read_at(index, 0, &mut content);
        let found = fs::read(home.join("complete/large").join(name)).unwrap();
        assert_eq!(sha256(&found), sha256(&content), "{name}");
    }
    control.completes(&home, &mut daemon);
    daemon.stop();
}

// F-02
#[test]
fn what_becomes_of_jobs_is_written_down_though_their_disk_is_full() {
    let Some(disk) = Mounted::new("64m") else { return };
    let (home, control) = (Home::below(disk.path()), Control::new());
    let post = (0..200).fold(Generated::new(10, ByteCount(20_000)), |post, n| {
        post.file(format!("f{n}.bin"), ByteCount(100_000))
    });
    let manners = Manners { pace: Some(ByteRate(400_000)), ..Manners::default() };
    let options = Options { articles: control.beside(post.clone()), manners, ..Options::default() };
    let news = News::start([options]);
    let config = format!("[storage]\nreserve = '8 MiB'\n{}", news.section(0, "connections = 4"));
    let mut daemon = Daemon::start(&home, &config);
    home.drop_nzb("big.nzb", post.nzb());
    daemon.wait_for(&["file finished"]);
    let filler = disk.fill_up_to(0);
    daemon.wait_for(&["WARN paused until there is room", "disk.full"]);
    ask(&home, "job.set", json!({ "jobs": [1], "priority": 50 }));
    ask(&home, "queue.pause", json!({}));
    let mut told = daemon.kill();
    let mut daemon = Daemon::start(&home, &config);
    let job = ask(&home, "job.get", json!({ "job": 1 }));
    assert_eq!(job["priority"], 50, "{job}");
    let status = ask(&home, "system.status", json!({}));
    assert_eq!(status["download_paused"]["ends"], "a resume", "{status}");
    fs::remove_file(filler).unwrap();
    ask(&home, "queue.resume", json!({}));
    daemon.wait_complete("big");
    control.completes(&home, &mut daemon);
    told.extend(daemon.stop().log);
    let lost: Vec<_> = told.iter().filter(|line| line.contains("state.full")).collect();
    assert!(lost.is_empty(), "{lost:#?}");
    assert_eq!(home.inventory("complete/big").len(), 200);
}

// F-11
#[test]
fn nothing_is_made_below_a_share_that_is_not_mounted() {
    let Some(disk) = Mounted::new("64m") else { return };
    let (home, control) = (Home::new(), Control::new());
    let (first, second, third) = (post(4, 500_000), post(5, 500_000), post(6, 500_000));
    let news = News::plain(articles(&[&first, &second, &third], &control));
    let complete = disk.path().join("downloads/complete");
    let config = directories(&home.join("incomplete"), &complete, "0 B");
    let config = format!("{config}{}", news.section(0, ""));
    let mut daemon = Daemon::start(&home, &config);
    home.drop_nzb("first.nzb", first.nzb());
    daemon.wait_complete("first");
    daemon.stop();

    disk.take_away();
    let below = || fs::read_dir(disk.path()).unwrap().count();
    let mut daemon = Daemon::start(&home, &config);
    home.drop_nzb("second.nzb", second.nzb());
    let line = daemon.wait_for(&["WARN waits", "disk.dest_missing"]);
    assert!(line.contains("storage accept") && line.contains("downloads/complete"), "{line}");
    assert_eq!(below(), 0, "the disk below stays as it was");
    let disks = ask(&home, "storage.list", json!({}));
    assert!(disks.to_string().contains("disk.dest_missing"), "{disks}");
    assert!(disk.mount("64m"));
    daemon.wait_complete("second");
    assert_there(&complete, "second", &second);

    disk.take_away();
    home.drop_nzb("third.nzb", third.nzb());
    daemon.wait_for(&["WARN waits", "name=third", "disk.dest_missing"]);
    assert_eq!(below(), 0);
    ask(&home, "storage.accept", json!({}));
    daemon.wait_complete("third");
    assert_there(&complete, "third", &third);
    control.completes_in(&complete, &home, &mut daemon);
    daemon.stop();
}

// F-11
#[test]
fn a_job_that_is_complete_waits_for_its_share() {
    let Some(disk) = Mounted::new("64m") else { return };
    let (home, control) = (Home::new(), Control::new());
    let slow = post(7, 2_000_000);
    let manners = Manners { pace: Some(ByteRate(400_000)), ..Manners::default() };
    let options = Options { articles: control.beside(slow.clone()), manners, ..Options::default() };
    let news = News::start([options]);
    let complete = disk.path().join("complete");
    let config = directories(&home.join("incomplete"), &complete, "0 B");
    let mut daemon =
        Daemon::start(&home, &format!("{config}{}", news.section(0, "connections = 1")));
    home.drop_nzb("slow.nzb", slow.nzb());
    daemon.wait_for(&["INFO started"]);
    disk.take_away();
    daemon.wait_for(&["WARN cannot be moved yet", "disk.dest_missing"]);
    assert_eq!(fs::read_dir(disk.path()).unwrap().count(), 0);
    assert!(disk.mount("64m"));
    fs::create_dir(&complete).unwrap();
    daemon.wait_complete("slow");
    assert_there(&complete, "slow", &slow);
    control.completes_in(&complete, &home, &mut daemon);
    daemon.stop();
}

#[test]
fn files_and_directories_get_the_modes_that_are_configured() {
    let (home, control) = (Home::new(), Control::new());
    let post = post(8, 100_000);
    let news = News::plain(articles(&[&post], &control));
    let modes = "[storage]\nfile_mode = '0640'\ndirectory_mode = '0750'\n\
                 [[category]]\nname = 'tv'\ndirectory = 'a/tv'\n";
    let config = format!("{modes}{}", news.section(0, ""));
    let mut daemon = Daemon::start(&home, &config);
    home.drop_nzb("tv/x.nzb", post.nzb());
    daemon.wait_complete("x");
    let mode = |path: &str| fs::metadata(home.join(path)).unwrap().permissions().mode() & 0o7777;
    for directory in ["incomplete", "complete", "complete/a", "complete/a/tv", "complete/a/tv/x"] {
        assert_eq!(mode(directory), 0o750, "{directory}");
    }
    assert_eq!(mode("complete/a/tv/x/x.bin"), 0o640);
    control.completes(&home, &mut daemon);
    daemon.stop();
}

#[test]
fn a_share_that_refuses_modes_is_told_of_once_and_fails_nothing() {
    if !may_trace() {
        return;
    }
    let (home, control) = (Home::new(), Control::new());
    let post = post(9, 100_000);
    let news = News::plain(articles(&[&post], &control));
    let config = format!("[storage]\nfile_mode = '0640'\n{}", news.section(0, ""));
    let command = injected(&home, &["fchmod:error=EPERM"]);
    let mut daemon = Daemon::launch(&home, &config, command);
    assert!(daemon.comes_up());
    home.drop_nzb("x.nzb", post.nzb());
    daemon.wait_complete("x");
    assert_there(&home.join("complete"), "x", &post);
    control.completes(&home, &mut daemon);
    let told = daemon.stop().log;
    assert!(fs::read_to_string(home.join("trace")).unwrap().contains("INJECTED"), "it was refused");
    let told = told.iter().filter(|line| line.contains("permissions cannot be set")).count();
    assert_eq!(told, 1, "once for the volume");
}
