//! A daemon that is stopped, killed or deafened goes on where it was.
//!
//! The rows are those of the catalogue of hostile input.

#![allow(clippy::unwrap_used)] // the exemption for tests does not reach their helpers

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use bergamot_newsd::{Generated, Manners, Options, Posted};
use bergamot_tests::{Arrivals, Control, Daemon, Home, News, content_of, sha256};
use bergamot_types::{ByteCount, ByteRate};
use rustix::process::{Pid, Signal, kill_process};

#[test]
fn a_stopped_job_goes_on_and_no_finished_file_is_fetched_again() {
    let (home, control, post) = (Home::new(), Control::new(), fifty_files());
    let news = slow(&control, &post);
    let config = news.section(0, "connections = 4");
    let mut daemon = Daemon::start(&home, &config);
    home.drop_nzb("fifty.nzb", post.nzb());
    for _ in 0..20 {
        daemon.wait_for(&["file finished"]);
    }
    let finished = finished(&daemon.stop().log);
    assert!((20..50).contains(&finished.len()), "stopped in the middle: {}", finished.len());
    let mut daemon = Daemon::start(&home, &config);
    daemon.expect(&["going on with what was queued", "jobs=1"]);
    daemon.wait_complete("fifty");
    assert_whole(&home, &post);
    for (index, (name, _)) in
        post.files().enumerate().filter(|(_, (name, _))| finished.contains(*name))
    {
        for part in 1..=post.parts(index) {
            assert_eq!(news.tally(0).served(&post.id(index, part)), 1, "part {part} of {name}");
        }
    }
    control.completes(&home, &mut daemon);
    daemon.stop();
    home.assert_contained();
}

/// It died between making the directory and putting that on record.
#[test]
fn an_empty_directory_that_a_daemon_left_when_it_died_is_not_left_for_ever() {
    let (home, control) = (Home::new(), Control::new());
    let post = Generated::new(77, ByteCount(20_000)).file("f.bin", ByteCount(50_000));
    let news = News::plain(control.beside(post.clone()));
    fs::create_dir_all(home.join("incomplete/left")).unwrap();
    fs::create_dir_all(home.join("incomplete/control/of somebody")).unwrap();
    let mut daemon = Daemon::start(&home, &news.section(0, ""));
    home.drop_nzb("left.nzb", post.nzb());
    daemon.wait_complete("left");
    control.completes(&home, &mut daemon);
    let entries = fs::read_dir(home.join("incomplete")).unwrap();
    let left: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["control"]);
    assert!(home.join("incomplete/control/of somebody").exists());
    daemon.stop();
}

#[test]
fn a_killed_job_goes_on_and_only_the_last_moment_is_fetched_again() {
    let (home, control, post) = (Home::new(), Control::new(), fifty_files());
    let news = slow(&control, &post);
    let config = news.section(0, "connections = 4");
    let mut finished_once = BTreeSet::new();
    for stop_after in [8, 8, 8] {
        let mut daemon = Daemon::start(&home, &config);
        if finished_once.is_empty() {
            home.drop_nzb("fifty.nzb", post.nzb());
        }
        for _ in 0..stop_after {
            daemon.wait_for(&["file finished"]);
        }
        finished_once.extend(finished(daemon.log()));
        daemon.kill();
    }
    let mut daemon = Daemon::start(&home, &config);
    daemon.wait_complete("fifty");
    assert_whole(&home, &post);
    let again = post.files().enumerate().filter(|(index, (name, _))| {
        let parts = 1..=post.parts(*index);
        finished_once.contains(*name)
            && parts.clone().any(|part| news.tally(0).served(&post.id(*index, part)) > 1)
    });
    let again = again.count();
    // Those that got their names in the last moment before a kill were not on record yet.
    assert!(again <= 3 * 4, "{again} of {} finished files came twice", finished_once.len());
    assert!(home.inventory("incomplete").is_empty());
    control.completes(&home, &mut daemon);
    daemon.stop();
    home.assert_contained();
}

#[test]
fn killed_between_the_move_and_its_record_the_job_is_complete_once() {
    let (home, control) = (Home::new(), Control::new());
    let post = Generated::new(2, ByteCount(20_000)).file("f.bin", ByteCount(90_000));
    let news = slow(&control, &post);
    let config = news.section(0, "");
    let mut daemon = Daemon::start(&home, &config);
    home.drop_nzb("moved.nzb", post.nzb());
    daemon.wait_for(&["INFO started", "name=moved"]);
    // From here on no record of this job can be written.
    let draft = home.join("state/spool/00000001.job.draft");
    fs::create_dir(&draft).unwrap();
    daemon.wait_for(&["the record could not be written", "state.io"]);
    let arrived = home.join("complete/moved/f.bin");
    while !arrived.exists() {
        daemon.wait_for(&["the record could not be written"]);
    }
    daemon.kill();
    fs::remove_dir(&draft).unwrap();
    let mut daemon = Daemon::start(&home, &config);
    daemon.wait_for(&["INFO had been completed", "job=1"]);
    control.completes(&home, &mut daemon);
    let names = |directory: &str| {
        let entries = fs::read_dir(home.join(directory)).unwrap();
        entries.map(|entry| entry.unwrap().file_name()).collect::<BTreeSet<_>>()
    };
    assert_eq!(names("complete"), ["control", "moved"].map(Into::into).into());
    assert_eq!(names("complete/moved"), ["f.bin"].map(Into::into).into(), "and no mark is left");
    assert_eq!(fs::read(&arrived).unwrap(), content_of(&post));
    assert!(home.join("state/spool/00000001.nzb").exists(), "it may be wanted once more");
    assert!(!home.join("state/spool/00000001.journal").exists(), "that is not needed any more");
    assert_eq!(news.tally(0).served(&post.id(0, 1)), 1);
    daemon.stop();
}

// S-09
#[test]
fn a_job_whose_nzb_is_lost_fails_by_name_and_holds_up_no_other() {
    let (home, control, post) = (Home::new(), Control::new(), fifty_files());
    let news = slow(&control, &post);
    let config = news.section(0, "");
    let mut daemon = Daemon::start(&home, &config);
    home.drop_nzb("fifty.nzb", post.nzb());
    daemon.wait_for(&["file finished"]);
    daemon.stop();
    fs::remove_file(home.join("state/spool/00000001.nzb")).unwrap();
    let mut daemon = Daemon::start(&home, &config);
    let line = daemon.wait_failed("fifty");
    assert!(line.contains("state.missing"), "{line}");
    control.completes(&home, &mut daemon);
    daemon.stop();
    let mut daemon = Daemon::start(&home, &config);
    home.drop_nzb("fifty.nzb", post.nzb());
    daemon.wait_for(&["INFO added", "name=fifty"]);
    daemon.stop();
}

// S-12
#[test]
fn a_second_daemon_on_the_same_state_is_told_who_has_it() {
    let (home, control) = (Home::new(), Control::new());
    let news = News::plain(control.beside(Posted::new()));
    let config = news.section(0, "");
    let mut first = Daemon::start(&home, &config);
    let second = Daemon::launch(&home, &config, Daemon::command()).finish();
    assert_eq!(second.code, Some(1));
    let said = second.log.join("\n");
    let holder = format!("process {} on ", first.pid());
    assert!(said.contains("state.locked") && said.contains(&holder), "{said}");
    control.completes(&home, &mut first);
    first.kill();
    Daemon::start(&home, &config).stop(); // what the dead one held is free
}

// S-22
#[test]
fn two_signals_in_a_row_lose_nothing() {
    let (home, control, post) = (Home::new(), Control::new(), fifty_files());
    let news = slow(&control, &post);
    let config = news.section(0, "connections = 4");
    let mut daemon = Daemon::start(&home, &config);
    home.drop_nzb("fifty.nzb", post.nzb());
    daemon.wait_for(&["file finished"]);
    daemon.signal(Signal::TERM);
    daemon.wait_for(&["INFO stopping"]);
    // It may have ended in between.
    let _ = kill_process(daemon.pid(), Signal::TERM);
    let stopped = daemon.finish();
    assert!(matches!(stopped.code, Some(0 | 1)), "{stopped:?}");
    let mut daemon = Daemon::start(&home, &config);
    daemon.wait_complete("fifty");
    assert_whole(&home, &post);
    control.completes(&home, &mut daemon);
    daemon.stop();
}

// S-22
#[test]
fn a_daemon_nobody_listens_to_works_on() {
    for closed in ["<&- >&- 2>&-", ""] {
        let script = format!("exec \"$0\" run --config \"$1\" {closed}");
        let home = Home::new();
        let post = Generated::new(3, ByteCount(20_000)).file("f.bin", ByteCount(90_000));
        let news = News::plain(Arc::new(post.clone()));
        fs::create_dir(home.join("complete")).unwrap();
        let arrivals = Arrivals::watch(&home.join("complete"));
        let config = home.join("bergamot.toml");
        fs::write(&config, news.section(0, "")).unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", &script]).arg(Daemon::command().get_program()).arg(&config);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut child = Mortal(child);
        // Nobody reads these pipes: each line is an error.
        drop((child.0.stdout.take(), child.0.stderr.take()));
        home.drop_nzb("deaf.nzb", post.nzb());
        arrivals.wait_for("deaf");
        assert_eq!(fs::read(home.join("complete/deaf/f.bin")).unwrap(), content_of(&post));
        kill_process(Pid::from_child(&child.0), Signal::TERM).unwrap();
        assert_eq!(child.0.wait().unwrap().code(), Some(0), "{script}");
        home.assert_contained();
    }
}

#[test]
fn a_log_file_is_put_aside_when_it_has_grown() {
    let home = Home::new();
    // Each file has its line in the log.
    let post = Generated::new(5, ByteCount(1_000));
    let post = (0..3_000).fold(post, |post, n| post.file(format!("f{n}.bin"), ByteCount(10)));
    let news = News::plain(Arc::new(post.clone()));
    fs::create_dir(home.join("complete")).unwrap();
    let arrivals = Arrivals::watch(&home.join("complete"));
    let log = "[log]\nfile = \"b.log\"\nrotate_at = \"64 KiB\"\nkeep = 2\n";
    let daemon = Daemon::launch(&home, &format!("{log}{}", news.section(0, "")), Daemon::command());
    home.drop_nzb("many.nzb", post.nzb());
    arrivals.wait_for("many");
    assert!(daemon.stop().log.is_empty(), "nothing goes to standard error as well");
    let read = |name: &str| fs::read_to_string(home.join(name)).unwrap();
    assert!(read("b.log").trim_end().ends_with("INFO stopped"), "{}", read("b.log"));
    for name in ["b.log.1", "b.log.2"] {
        let text = read(name);
        assert!(
            (1..=64 << 10).contains(&text.len()) && text.ends_with('\n'),
            "whole lines in {name}"
        );
    }
    assert!(!home.join("b.log.3").exists());
    home.assert_contained();
}

#[test]
fn a_large_download_takes_little_memory() {
    let home = Home::new();
    let post = Generated::new(4, ByteCount(750_000)).file("large.bin", ByteCount(300_000_000));
    let news = News::plain(Arc::new(post.clone()));
    let mut daemon = Daemon::start(&home, &news.section(0, "connections = 20"));
    let idle = daemon.peak_memory();
    home.drop_nzb("large.nzb", post.nzb());
    let line = daemon.wait_complete("large");
    assert!(line.contains("verified=true"), "{line}");
    let above = daemon.peak_memory().0 - idle.0;
    assert!(above <= 64 << 20, "{} above idle", ByteCount(above));
    let crc = crc32fast::hash(&fs::read(home.join("complete/large/large.bin")).unwrap());
    assert_eq!(crc, post.crc32(0));
    daemon.stop();
}

/// Does not outlive a test that failed.
struct Mortal(Child);

impl Drop for Mortal {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn fifty_files() -> Generated {
    let post = Generated::new(1, ByteCount(20_000));
    (0..50).fold(post, |post, n| post.file(format!("f{n}.bin"), ByteCount(50_000 + n)))
}

/// A server that takes its time, so that there is a middle to stop in.
fn slow(control: &Control, post: &Generated) -> News {
    let manners = Manners { pace: Some(ByteRate(400_000)), ..Manners::default() };
    let articles = control.beside(post.clone());
    News::start([Options { articles, manners, ..Options::default() }])
}

/// The names of the files that a log says were finished.
fn finished(log: &[String]) -> BTreeSet<String> {
    let lines = log.iter().filter(|line| line.contains("file finished"));
    lines.map(|line| word_after(line, "name=").to_owned()).collect()
}

fn word_after<'a>(line: &'a str, key: &str) -> &'a str {
    line.split(key).nth(1).unwrap().split(' ').next().unwrap()
}

fn assert_whole(home: &Home, post: &Generated) {
    let found = home.inventory("complete/fifty");
    assert_eq!(found.len(), 50, "{:?}", found.keys());
    for (index, (name, size)) in post.files().enumerate() {
        let mut content = vec![0; size.0 as usize];
        post.read_at(index, 0, &mut content);
        assert_eq!(found[Path::new(name)], sha256(&content), "{name}");
    }
}
