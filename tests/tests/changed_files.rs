//! Files that other programs remove, cut, replace or overwrite while they are downloaded.
//!
//! Nothing completes that is not what was posted, and no more is fetched again than was lost. Each is done
//! to a job that stands still, in a run and between two runs.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops here")]

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bergamot_newsd::{Generated, Options};
use bergamot_tests::{HeldPost, Home, News, SocketDaemon};
use bergamot_types::ByteCount;
use serde_json::{Value, json};

// F-12
#[test]
fn a_part_file_that_is_removed_is_fetched_again() {
    let remove = |job: &Path| fs::remove_file(job.join(PART)).unwrap();
    ChangedFilesTest::start("").completes_after(remove);
    let test = ChangedFilesTest::start("").restart_after(remove).complete("crc");
    assert_eq!(test.fetched_again(), [(1, test.written[1])]);
}

#[test]
fn a_part_file_that_is_cut_is_fetched_again_from_there() {
    let cut = |job: &Path| cut(&job.join(PART), 2 * ARTICLE + 1);
    ChangedFilesTest::start("").completes_after(cut);
    let test = ChangedFilesTest::start("").restart_after(cut).complete("crc");
    assert_eq!(test.fetched_again(), [(1, test.written[1] - 2)]);
}

/// The write that finds the cut is the only witness of it.
#[test]
fn a_part_file_that_was_found_cut_is_read_though_it_is_as_long_again() {
    let mut test = ChangedFilesTest::start("");
    let part = test.job().join(PART);
    let size = fs::metadata(&part).unwrap().len();
    cut(&part, 0);
    test.resume();
    test.socket_daemon.daemon.wait_for(&["put back", "file.changed"]);
    cut(&part, size);
    test.complete("crc");
}

#[test]
fn a_part_file_that_is_replaced_by_another_of_its_size_is_fetched_again() {
    let replace = |job: &Path| replace(&job.join(PART), |bytes| bytes.fill(7));
    ChangedFilesTest::start("").completes_after(replace);
    let test = ChangedFilesTest::start("").restart_after(replace).complete("crc");
    assert_eq!(test.fetched_again(), [(1, test.written[1])]);
}

#[test]
fn part_files_that_are_swapped_are_fetched_again() {
    let swap = |job: &Path| {
        let [one, other, aside] = [PART, OTHER, "aside"].map(|name| job.join(name));
        fs::rename(&one, &aside).unwrap();
        fs::rename(&other, &one).unwrap();
        fs::rename(&aside, &other).unwrap();
    };
    ChangedFilesTest::start("").completes_after(swap);
    let test = ChangedFilesTest::start("").restart_after(swap).complete("crc");
    assert_eq!(test.fetched_again(), [(1, test.written[1]), (2, test.written[2])]);
}

#[test]
fn a_finished_file_that_is_not_there_at_the_move_is_fetched_again() {
    let remove = |job: &Path| fs::remove_file(job.join(FINISHED)).unwrap();
    ChangedFilesTest::start("").completes_after(remove);
    let test = ChangedFilesTest::start("").restart_after(remove).complete("crc");
    assert_eq!(test.fetched_again(), [(0, 5)]);
}

#[test]
fn a_finished_file_that_was_cut_is_fetched_again_from_there() {
    let cut = |job: &Path| cut(&job.join(FINISHED), 3 * ARTICLE);
    ChangedFilesTest::start("").completes_after(cut);
    let test = ChangedFilesTest::start("").restart_after(cut).complete("crc");
    assert_eq!(test.fetched_again(), [(0, 2)]);
}

/// As a remount or a network share may do.
#[test]
fn files_with_other_inodes_and_the_same_content_are_not_fetched_again() {
    let renumber = |job: &Path| {
        for entry in fs::read_dir(job).unwrap() {
            replace(&entry.unwrap().path(), |_| ());
        }
    };
    let test = ChangedFilesTest::start("").restart_after(renumber).complete("crc");
    assert_eq!(test.fetched_again(), []);
    let test = ChangedFilesTest::start("").restart_after(|_| ()).complete("crc");
    assert_eq!(test.fetched_again(), []);
}

// F-13
#[test]
fn bytes_that_are_changed_before_a_file_is_finished_are_found_by_reading_it() {
    let overwrite = |job: &Path| {
        use std::os::unix::fs::FileExt;
        let file = File::options().write(true).open(job.join(PART)).unwrap();
        file.write_all_at(b"changed", ARTICLE + 100).unwrap();
    };
    let mut test = ChangedFilesTest::start("[download]\nverify = \"read\"\n");
    overwrite(&test.job());
    test.resume();
    test.socket_daemon.daemon.wait_for(&["put back", "file.changed"]);
    let test = test.complete("read");
    let again = test.fetched_again();
    assert!(again.iter().all(|(file, _)| *file > 0), "the finished file is as it was: {again:?}");
}

/// A job of which one file is finished and two are begun, and that stands still.
struct ChangedFilesTest {
    socket_daemon: SocketDaemon,
    news: News,
    post: Generated,
    /// Of each file.
    written: [u32; 3],
}

impl ChangedFilesTest {
    fn start(head: &str) -> Self {
        let post = Generated::new(3, ByteCount(ARTICLE))
            .file(FINISHED, ByteCount(5 * ARTICLE))
            .file("b.bin", ByteCount(60 * ARTICLE))
            .file("c.bin", ByteCount(60 * ARTICLE));
        let articles = Arc::new(HeldPost::new(post.clone(), HELD_FROM));
        let news = News::start([Options { articles: articles.clone(), ..Options::default() }]);
        let config = format!("{head}{}", news.section(0, "connections = 2"));
        let mut socket_daemon = SocketDaemon::start_in(Home::new(), config);
        socket_daemon.add("job", &post, json!({}));
        articles.wait_until_reached(1);
        socket_daemon.call("file.pause", json!({ "job": 1, "files": [1] }));
        articles.open(1);
        articles.wait_until_reached(2);
        socket_daemon.call("job.pause", json!({ "jobs": [1] }));
        articles.open(2);
        socket_daemon.daemon.wait_for(&["file finished", FINISHED]);
        let mut test = Self { socket_daemon, news, post, written: [0; 3] };
        test.wait_until(|test| test.listed()["active"] == 0);
        test.written = [0, 1, 2].map(|file| test.served(file).iter().sum());
        let all: u32 = test.written.iter().sum();
        test.wait_until(|test| test.listed()["good_articles"] == all);
        for name in [FINISHED, PART, OTHER] {
            assert!(test.job().join(name).exists(), "{name} is there");
        }
        test
    }

    fn job(&self) -> PathBuf {
        self.socket_daemon.home.join("incomplete/job")
    }

    fn listed(&mut self) -> Value {
        self.socket_daemon.call("queue.list", json!({}))["items"][0].clone()
    }

    fn wait_until(&mut self, holds: impl Fn(&mut Self) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !holds(self) {
            assert!(Instant::now() < deadline, "what was waited for has not come");
            // Calls without a pause would take the CPU that the daemon needs.
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// How often each article of a file was handed out.
    fn served(&self, file: usize) -> Vec<u32> {
        let parts = 1..=self.post.parts(file);
        parts.map(|part| self.news.tally(0).served(&self.post.id(file, part))).collect()
    }

    fn resume(&mut self) {
        self.socket_daemon.call("file.resume", json!({ "job": 1, "files": [1] }));
        self.socket_daemon.call("job.resume", json!({ "jobs": [1] }));
    }

    /// Done while the daemon runs.
    fn completes_after(mut self, meddle: impl Fn(&Path)) {
        meddle(&self.job());
        self.resume();
        self.socket_daemon.daemon.wait_for(&["put back", "job=1"]);
        self.complete("crc");
    }

    /// Done while it does not.
    fn restart_after(self, meddle: impl Fn(&Path)) -> Self {
        let Self { socket_daemon, news, post, written } = self;
        let SocketDaemon { home, config, daemon, .. } = socket_daemon;
        daemon.stop();
        meddle(&home.join("incomplete/job"));
        let mut test =
            Self { socket_daemon: SocketDaemon::start_in(home, config), news, post, written };
        test.resume();
        test
    }

    /// Every byte is there, and that check was made.
    fn complete(mut self, check: &str) -> Self {
        let line = self.socket_daemon.daemon.wait_complete("job");
        assert!(
            line.contains("verified=true") && line.contains(&format!("check=\"{check}\"")),
            "{line}"
        );
        let ended = &self.socket_daemon.call("history.list", json!({}))["items"][0];
        assert_eq!(
            (&ended["state"]["is"], &ended["ended"]["check"]),
            (&json!("completed"), &json!(check))
        );
        for (file, (name, size)) in self.post.files().enumerate() {
            let mut content = vec![0; size.0 as usize];
            self.post.read_at(file, 0, &mut content);
            let found = fs::read(self.socket_daemon.home.join("complete/job").join(name)).unwrap();
            assert!(found == content, "{name} is whole");
        }
        let found = fs::read_dir(self.socket_daemon.home.join("complete/job")).unwrap().count();
        assert_eq!(found, 3, "nothing else is there");
        assert!(self.socket_daemon.home.inventory("incomplete").is_empty());
        self
    }

    /// Files of which articles came twice, and how many.
    fn fetched_again(&self) -> Vec<(usize, u32)> {
        let again = |file| (file, self.served(file).iter().map(|served| served - 1).sum());
        (0..3).map(again).filter(|(_, articles)| *articles > 0).collect()
    }
}

fn cut(path: &Path, size: u64) {
    File::options().write(true).open(path).unwrap().set_len(size).unwrap();
}

/// By a file with another inode.
fn replace(path: &Path, change: impl Fn(&mut Vec<u8>)) {
    let mut bytes = fs::read(path).unwrap();
    change(&mut bytes);
    let other = path.with_file_name("other");
    fs::write(&other, bytes).unwrap();
    fs::rename(other, path).unwrap();
}

const FINISHED: &str = "a.bin";
const PART: &str = "0001.part";
const OTHER: &str = "0002.part";

const ARTICLE: u64 = 20_000;

/// More are asked for before a pause is known; a file has many more.
const HELD_FROM: u32 = 6;

/// For a machine that is busy.
const PATIENCE: Duration = Duration::from_secs(120);
