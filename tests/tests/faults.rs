//! A small job, and one thing that goes wrong at one call of the kernel: the daemon dies there, or the
//! disk says no.
//!
//! A run under strace finds the calls that change anything, and then some of them, or with
//! `BERGAMOT_SWEEP=all` every one, are struck. Afterwards a plain start has all that was acknowledged,
//! and the job completes with every byte.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops here")]

use std::collections::BTreeSet;
use std::fs;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;
use std::{env, thread};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bergamot_newsd::Generated;
use bergamot_rpc::{Client, ClientError};
use bergamot_tests::{
    Daemon, Ended, Home, Listing, Mishap, Mounted, News, Point, injected, may_trace, sha256,
};
use bergamot_types::{ByteCount, SplitMix};
use serde_json::json;

// S-01
#[test]
fn killed_at_any_call_the_daemon_goes_on() {
    sweep("killed", 60, Story::new, |point| vec![(point, Mishap::Kill)]);
}

#[test]
fn whatever_the_disk_refuses_the_daemon_says_so_and_goes_on() {
    sweep("refused", 60, Story::new, |point| {
        let is_write = ["write", "pwrite64"].contains(&point.call.as_str());
        let mishaps = [Mishap::Error("ENOSPC"), Mishap::Error("EIO")].into_iter();
        let mishaps = mishaps.chain(is_write.then_some(Mishap::TakesNothing));
        mishaps.map(|mishap| (point.clone(), mishap)).collect()
    });
}

// F-09
#[test]
fn killed_while_it_moves_between_disks_a_job_is_there_once_and_whole() {
    let Some(_disk) = Mounted::new("1m") else { return };
    sweep("killed between disks", 30, Story::between_disks, |point| {
        let is_removal = REMOVALS.contains(&point.call.as_str());
        let is_move = point.path.starts_with("complete")
            || is_removal && point.path.starts_with("incomplete");
        is_move.then_some((point, Mishap::Kill)).into_iter().collect()
    });
}

// F-09, S-03
#[test]
fn killed_while_the_source_of_a_move_is_removed_nothing_is_fetched_again() {
    let Some(_disk) = Mounted::new("1m") else { return };
    killed_at_each_removal(Story::between_disks);
}

/// A job that is being removed is there as it was or not at all, and nothing of it is left.
#[test]
fn killed_while_it_removes_a_job_nothing_is_left_of_it() {
    killed_at_each_removal(Story::of_a_removal);
}

/// The n-th call of a thread that removes something from a directory is its last. That of the thread
/// which moves a job is one of its files, and that of the keeper one of the spool.
fn killed_at_each_removal(story: fn() -> Story) {
    if !may_trace() {
        return;
    }
    let kill = |number| format!("unlinkat:signal=SIGKILL:when={number}");
    let struck = (1..=MOST_REMOVALS).filter(|number| story().play_to_the_end(&kill(*number)));
    assert!(struck.count() >= 3, "hardly any removal was reached");
}

/// Plays the story for some of the points there are, or for all.
fn sweep(
    what: &str,
    sample: usize,
    story: fn() -> Story,
    mishaps: impl Fn(Point) -> Vec<(Point, Mishap)>,
) {
    if !may_trace() {
        return;
    }
    let start = Instant::now();
    let all: Vec<_> = points(&story()).into_iter().flat_map(mishaps).collect();
    let chosen = chosen(all.len(), sample);
    let (next, struck) = (AtomicUsize::new(0), Mutex::new(0));
    thread::scope(|scope| {
        for _ in 0..LANES {
            scope.spawn(|| {
                while let Some(index) = chosen.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let (point, mishap) = &all[*index];
                    *struck.lock().unwrap() += usize::from(story().play(point, *mishap));
                }
            });
        }
    });
    let struck = struck.into_inner().unwrap();
    println!(
        "{what} at {} of {} points, {struck} of them reached, in {:.0?}",
        chosen.len(),
        all.len(),
        start.elapsed()
    );
    assert!(struck * 2 > chosen.len(), "most points are reached");
}

fn points(story: &Story) -> BTreeSet<Point> {
    let mut daemon = Daemon::launch(&story.home, &story.config(), Point::trace(&story.home));
    assert!(daemon.comes_up());
    story.ask(&mut story.home.connect().unwrap()).unwrap();
    daemon.wait_complete(NAME);
    daemon.stop();
    Point::all(&story.home)
}

/// Some of so many, by the seed.
fn chosen(count: usize, sample: usize) -> Vec<usize> {
    if env::var("BERGAMOT_SWEEP").is_ok_and(|value| value == "all") {
        return (0..count).collect();
    }
    let seed = env::var("BERGAMOT_SEED").ok().map_or(1, |seed| seed.parse().unwrap());
    let mut chance = SplitMix::seeded(seed);
    let mut left: Vec<_> = (0..count).collect();
    let some = (0..sample.min(count)).map(|_| {
        let at = chance.up_to(left.len() as u64 - 1);
        left.swap_remove(at as usize)
    });
    some.collect()
}

/// A job that is added, steered a little and downloaded.
struct Story {
    _disk: Option<Mounted>, // for what is complete, if it has one of its own
    home: Home,
    news: News,
    post: Generated,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Kind {
    Download,
    /// The destination is another disk.
    Move,
    /// The job is removed without a trace before it is begun.
    Removal,
}

impl Story {
    fn new() -> Self {
        let post = Generated::new(9, ByteCount(10_000))
            .file("a.bin", ByteCount(35_000))
            .file("b.bin", ByteCount(12_000))
            .file("c.bin", ByteCount(400));
        let news = News::plain(std::sync::Arc::new(post.clone()));
        Self { _disk: None, home: Home::in_memory(), news, post, kind: Kind::Download }
    }

    fn of_a_removal() -> Self {
        Self { kind: Kind::Removal, ..Self::new() }
    }

    fn between_disks() -> Self {
        let story = Self::new();
        let disk = Mounted::at(&story.home.join("complete"), "16m").unwrap();
        Self { _disk: Some(disk), kind: Kind::Move, ..story }
    }

    /// Lets each thread meet the mishap, and what was asked for come about; whether it was killed.
    fn play_to_the_end(self, mishap: &str) -> bool {
        let mut daemon =
            Daemon::launch(&self.home, &self.config(), injected(&self.home, &[mishap]));
        let is_asked = daemon.comes_up()
            && self.home.connect().and_then(|mut client| self.ask(&mut client)).is_ok();
        if is_asked && self.kind == Kind::Move {
            daemon.reaches(&[&["INFO complete"]]);
        }
        // A kill that is under way comes first; behind it nobody answers.
        let is_alive =
            self.home.connect().is_ok_and(|mut client| Listing::ask(&mut client).is_ok());
        let context = format!("{mishap}\n{}", daemon.kill().join("\n"));
        match self.kind {
            Kind::Removal => self.assert_removed_or_there(&context),
            Kind::Download | Kind::Move => self.assert_goes_on(is_asked, &context),
        }
        !is_alive
    }

    /// Whether the mishap came about.
    fn play(self, point: &Point, mishap: Mishap) -> bool {
        let context = format!("{mishap:?} at {point}");
        println!("{context}");
        let strike = point.strike(&self.home, mishap);
        let mut daemon = Daemon::launch(&self.home, &self.config(), strike);
        let acknowledged = daemon.comes_up()
            && self.home.connect().and_then(|mut client| self.ask(&mut client)).is_ok();
        let is_alive = acknowledged && daemon.reaches(&[&["INFO complete"], &[" WARN "]]).is_some();
        let log = if mishap == Mishap::Kill { daemon.kill() } else { daemon.end().log };
        let trace = fs::read_to_string(self.home.join("trace")).unwrap();
        let is_killed = mishap == Mishap::Kill && !is_alive;
        let has_struck = trace.contains("INJECTED") || is_killed;
        self.assert_goes_on(acknowledged, &format!("{context}\n{}", log.join("\n")));
        has_struck
    }

    fn ask(&self, client: &mut Client) -> Result<(), ClientError> {
        let nzb = STANDARD.encode(self.post.nzb());
        let is_removal = self.kind == Kind::Removal;
        client.call("queue.add", json!({ "name": NAME, "nzb": nzb, "paused": is_removal }))?;
        if is_removal {
            client.call("job.remove", json!({ "jobs": [1], "without_trace": true }))?;
        }
        Ok(())
    }

    /// It is not failed, and no file of it is left.
    fn assert_removed_or_there(&self, context: &str) {
        let mut daemon = Daemon::start(&self.home, &self.config());
        let Listing { queue, past, .. } = Listing::ask(&mut self.home.connect().unwrap()).unwrap();
        assert!(past.is_empty(), "{past:?}\n{context}");
        if !queue.is_empty() {
            let mut client = self.home.connect().unwrap();
            client.call("job.resume", json!({ "jobs": [1] })).unwrap();
            let line = daemon.reaches(&[&["INFO complete", NAME], &["WARN failed", NAME]]);
            assert!(line.is_some_and(|line| line.contains("INFO complete")), "{context}");
        }
        let log = daemon.stop().log;
        Daemon::start(&self.home, &self.config()).stop();
        let entries = |path: &str| -> BTreeSet<String> {
            let entries = fs::read_dir(self.home.join(path)).into_iter().flatten().flatten();
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
        };
        let aside = log.iter().find(|line| line.contains("set aside"));
        assert_eq!(aside, None, "{context}");
        let left: Vec<_> =
            entries("state/spool").into_iter().filter(|name| name.ends_with(".gone")).collect();
        assert!(left.is_empty(), "{left:?}\n{context}");
        assert_eq!(entries("incomplete"), BTreeSet::new(), "{context}");
    }

    fn assert_goes_on(&self, acknowledged: bool, context: &str) {
        let mut daemon = Daemon::start(&self.home, &self.config());
        let mut client = self.home.connect().unwrap();
        let Listing { queue, past, .. } = Listing::ask(&mut client).unwrap();
        let is_there = queue.iter().any(|entry| entry.name == NAME) || past.contains_key(NAME);
        assert!(is_there || !acknowledged, "{context}");
        match past.get(NAME) {
            Some(Ended::Completed) => {}
            Some(_) => {
                client.call("job.retry", json!({ "jobs": [1] })).unwrap();
                daemon.expect_complete(NAME, 1);
            }
            None => {
                if !is_there {
                    self.ask(&mut client).unwrap();
                }
                daemon.expect_complete(NAME, 1);
            }
        }
        daemon.stop();
        // A stop right behind the end of a job leaves it to the next start to clear up.
        Daemon::start(&self.home, &self.config()).stop();
        let found = self.home.inventory("complete").into_values().collect::<BTreeSet<_>>();
        let expected = self.post.files().enumerate().map(|(file, (_, size))| {
            let mut content = vec![0; size.0 as usize];
            self.post.read_at(file, 0, &mut content);
            sha256(&content)
        });
        assert_eq!(found, expected.collect(), "{context}");
        let left = self.home.inventory("incomplete");
        assert!(left.is_empty(), "{:?} is left behind\n{context}", left.keys());
        self.home.assert_contained();
        if self.kind == Kind::Move {
            self.assert_nothing_came_twice(context);
        }
    }

    /// When a move begins, all of the job has come.
    fn assert_nothing_came_twice(&self, context: &str) {
        for (file, _) in self.post.files().enumerate() {
            for part in 1..=self.post.parts(file) {
                let served = self.news.tally(0).served(&self.post.id(file, part));
                assert_eq!(served, 1, "part {part} of file {file}\n{context}");
            }
        }
    }

    fn config(&self) -> String {
        self.news.section(0, "connections = 2")
    }
}

const NAME: &str = "reference";

/// More than any thread makes of its own for such a job.
const MOST_REMOVALS: u32 = 6;

const REMOVALS: [&str; 3] = ["rmdir", "unlink", "unlinkat"];

/// They mostly wait.
const LANES: usize = 4;
