//! What becomes of files in the watch folder. Time is a variable: the tests scan, they never sleep.

#![allow(clippy::unwrap_used)] // the exemption for tests does not reach their helpers

use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use bergamot_watch::{Claimant, Found, Intake, Next, Opened, Scan, Settings, Verdict};
use tempfile::TempDir;

/// A folder that is only polled, and the seconds that have passed.
struct Place {
    temp: TempDir,
    intake: Intake,
    start: Instant,
}

fn place() -> Place {
    let temp = TempDir::new().unwrap();
    let intake = polled(temp.path());
    Place { temp, intake, start: Instant::now() }
}

fn polled(path: &Path) -> Intake {
    Intake::new(Settings { watch: false, ..Settings::new(path) }, || {})
}

impl Place {
    fn put(&self, name: &str, content: &str) {
        let path = self.temp.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn now(&self, second: u64) -> Instant {
        self.start + Duration::from_secs(second)
    }

    fn scan(&mut self, second: u64) -> Scan {
        let now = self.now(second);
        self.intake.scan(now)
    }

    fn found(&mut self, second: u64) -> Vec<Found> {
        self.scan(second).found
    }

    fn verdict(&mut self, second: u64, found: &Found, verdict: Verdict) -> Next {
        let now = self.now(second);
        self.intake.verdict(now, found, verdict)
    }

    fn open(&self, found: &Found) -> Opened {
        self.intake.open(found).unwrap()
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.temp.path()).unwrap();
        let mut names: Vec<_> =
            entries.map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

fn paths(found: &[Found]) -> Vec<&str> {
    found.iter().map(|found| found.path.to_str().unwrap()).collect()
}

#[test]
fn a_file_is_found_once_it_stands_still() {
    let mut place = place();
    place.put("a.nzb", "<nzb");
    let scan = place.scan(0);
    assert!(scan.found.is_empty());
    assert_eq!(
        place.intake.pause(place.now(0)),
        Duration::from_secs(1),
        "no longer than it takes to be sure"
    );
    place.put("a.nzb", "<nzb/>");
    assert!(place.found(1).is_empty(), "it grew");
    assert_eq!(paths(&place.found(2)), ["a.nzb"]);
    assert!(place.found(3).is_empty(), "found once");
}

#[test]
fn where_nothing_comes_looks_become_rare_until_something_does() {
    let mut place = place();
    let pause = |place: &mut Place, second| {
        place.scan(second);
        place.intake.pause(place.now(second)).as_secs()
    };
    let pauses = [0, 40, 100, 300, 700, 86_400].map(|second| pause(&mut place, second));
    assert_eq!(pauses, [5, 5, 10, 30, 60, 60]);
    place.put("a.nzb", "<nzb/>");
    assert!(place.found(90_000).is_empty());
    let found = place.found(90_002);
    place.verdict(90_002, &found[0], Verdict::Taken);
    assert_eq!(pause(&mut place, 90_010), 5, "another may follow");
}

#[test]
fn only_nzb_files_that_are_not_hidden_or_marked_are_taken() {
    let mut place = place();
    let taken = ["A.NZB", "b.nzb", "c.nzb.gz", "d.gz"];
    let left = [
        ".h.nzb",
        "a.nzb.duplicate",
        "a.nzb.error",
        "a.nzb.error.txt",
        "a.nzb.processed",
        "a.nzb.queued",
        "n.txt",
        ".nzb",
        "movie.mkv",
        ".hidden/a.nzb",
    ];
    taken.iter().chain(&left).for_each(|name| place.put(name, "x"));
    place.found(0);
    let mut found: Vec<_> = place.found(1).iter().map(|f| f.path.clone()).collect();
    found.sort();
    assert_eq!(found, taken.map(|name| Path::new(name).to_owned()));
}

#[test]
fn folders_are_categories_down_to_a_bounded_depth() {
    let mut place = place();
    place.put("a.nzb", "x");
    place.put("tv/b.nzb", "x");
    place.put("tv/hd/c.nzb", "x");
    place.put("1/2/3/4/5/6/7/8/d.nzb", "x");
    place.put("1/2/3/4/5/6/7/8/9/e.nzb", "x");
    place.found(0);
    let mut found = place.found(1);
    found.sort_by_key(|found| found.path.file_name().unwrap().to_owned());
    let categories: Vec<_> = found.iter().map(|found| found.category.as_deref()).collect();
    assert_eq!(categories, [None, Some("tv"), Some("tv/hd"), Some("1/2/3/4/5/6/7/8")]);
}

#[test]
fn links_pipes_and_second_names_are_skipped_and_named_once() {
    let mut place = place();
    let outside = TempDir::new().unwrap();
    fs::write(outside.path().join("secret.nzb"), b"x").unwrap();
    symlink(outside.path().join("secret.nzb"), place.temp.path().join("link.nzb")).unwrap();
    symlink(".", place.temp.path().join("loop")).unwrap();
    symlink(outside.path(), place.temp.path().join("folder")).unwrap();
    fs::hard_link(outside.path().join("secret.nzb"), place.temp.path().join("hard.nzb")).unwrap();
    mkfifo(&place.temp.path().join("pipe.nzb"));
    place.put("good.nzb", "x");
    let problems = place.scan(0).problems;
    let named: Vec<_> =
        problems.iter().map(|p| (p.code(), p.path().file_name().unwrap())).collect();
    let not_plain = |name| ("watch.not_plain", OsStr::new(name));
    assert_eq!(named, [not_plain("hard.nzb"), not_plain("link.nzb"), not_plain("pipe.nzb")]);
    let again = place.scan(1);
    assert_eq!(paths(&again.found), ["good.nzb"]);
    assert!(again.problems.is_empty(), "once");
}

fn mkfifo(path: &Path) {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o644), 0).unwrap();
}

#[test]
fn a_pipe_or_link_put_in_the_place_of_a_file_is_not_opened() {
    let mut place = place();
    place.put("a.nzb", "x");
    place.put("tv/b.nzb", "x");
    place.found(0);
    let found = place.found(1);
    assert_eq!(found.len(), 2);
    let mut opened: Vec<_> = found.iter().map(|found| place.open(found)).collect();
    let mut content = String::new();
    opened[0].file.read_to_string(&mut content).unwrap();
    assert_eq!(content, "x");

    fs::remove_file(place.temp.path().join("a.nzb")).unwrap();
    mkfifo(&place.temp.path().join("a.nzb"));
    fs::rename(place.temp.path().join("tv"), place.temp.path().join("real")).unwrap();
    symlink("real", place.temp.path().join("tv")).unwrap();
    for (found, opened) in found.iter().zip(&opened) {
        assert_eq!(place.intake.open(found).unwrap_err().code(), "watch.vanished");
        assert_eq!(place.intake.mark_queued(opened).unwrap_err().code(), "watch.vanished");
    }
    assert!(place.temp.path().join("real/b.nzb").exists());
}

#[test]
fn what_vanishes_is_no_trouble() {
    let mut place = place();
    place.put("a.nzb", "x");
    place.found(0);
    let found = place.found(1);
    let opened = place.open(&found[0]);
    fs::remove_file(place.temp.path().join("a.nzb")).unwrap();
    assert_eq!(place.intake.open(&found[0]).unwrap_err().code(), "watch.vanished");
    let gone = place.intake.mark_failed(&opened, "why").unwrap_err();
    assert_eq!(gone.code(), "watch.vanished");
    assert!(place.names().is_empty(), "and no reason is left for a file that is gone");
    let scan = place.scan(2);
    assert!(scan.found.is_empty() && scan.problems.is_empty());
}

#[test]
fn ten_thousand_files_come_in_portions_the_oldest_first() {
    let mut place = place();
    for n in 0..10_000 {
        place.put(&format!("{n:05}.nzb"), "x");
    }
    place.found(0);
    let mut all = Vec::new();
    for _ in 0..40 {
        let scan = place.scan(1);
        assert!(scan.found.len() <= 256);
        let more = all.len() + scan.found.len() < 10_000;
        assert_eq!(scan.more, more);
        all.extend(scan.found);
    }
    assert_eq!(all.len(), 10_000);
    assert!(all.is_sorted_by_key(|found| found.identity.modified));
}

#[test]
fn what_breaks_off_is_found_again_until_it_is_refused() {
    let mut place = place();
    place.put("a.nzb", "<nzb>");
    place.found(0);
    let mut verdicts = Vec::new();
    for second in 1..100 {
        for found in place.found(second) {
            verdicts.push((second, place.verdict(second, &found, Verdict::Truncated)));
        }
    }
    let wait = |warn| Next::Wait { warn };
    assert_eq!(verdicts, [(1, wait(true)), (2, wait(false)), (4, wait(false)), (8, Next::Refuse)]);
}

#[test]
fn a_file_that_cannot_be_renamed_is_not_found_again() {
    let mut place = place();
    place.put("a.nzb", "x");
    place.found(0);
    let found = place.found(1);
    assert_eq!(place.verdict(1, &found[0], Verdict::Taken), Next::Done);
    for second in 2..20 {
        assert!(place.found(second).is_empty());
    }
    place.put("a.nzb", "another");
    place.found(20);
    assert_eq!(place.found(21).len(), 1, "until it changes");
}

#[test]
fn marks_tell_what_became_of_a_file_and_replace_nothing() {
    let mut place = place();
    for round in 1..=2 {
        for name in ["a.nzb", "b.nzb", "c.nzb"] {
            place.put(name, &format!("round {round}"));
        }
        place.found(round * 10);
        let found = place.found(round * 10 + 1);
        assert_eq!(paths(&found), ["a.nzb", "b.nzb", "c.nzb"]);
        place.intake.mark_queued(&place.open(&found[0])).unwrap();
        place.intake.mark_failed(&place.open(&found[1]), "nzb.truncated: line 7").unwrap();
        place.intake.mark_duplicate(&place.open(&found[2]), "the same as job 3").unwrap();
    }
    let expected = [
        "a.nzb.2.queued",
        "a.nzb.queued",
        "b.nzb.2.error",
        "b.nzb.2.error.txt",
        "b.nzb.error",
        "b.nzb.error.txt",
        "c.nzb.2.duplicate",
        "c.nzb.2.duplicate.txt",
        "c.nzb.duplicate",
        "c.nzb.duplicate.txt",
    ];
    assert_eq!(place.names(), expected);
    let read = |name| fs::read_to_string(place.temp.path().join(name)).unwrap();
    assert_eq!(
        (read("a.nzb.queued"), read("a.nzb.2.queued")),
        ("round 1".into(), "round 2".into())
    );
    assert_eq!(read("b.nzb.error.txt"), "nzb.truncated: line 7\n");
}

#[test]
fn a_marked_file_that_gets_its_name_back_is_found_again() {
    let mut place = place();
    place.put("a.nzb", "x");
    place.found(0);
    let found = place.found(1);
    place.verdict(1, &found[0], Verdict::Refused);
    let marked = place.intake.mark_failed(&place.open(&found[0]), "why").unwrap();
    fs::rename(marked, place.temp.path().join("a.nzb")).unwrap();
    place.found(2);
    assert_eq!(place.found(3), found, "though nobody looked in between");
}

#[test]
fn a_mark_hits_only_the_file_that_was_read() {
    let mut place = place();
    place.put("a.nzb", "read");
    place.found(0);
    let found = place.found(1);
    let opened = place.open(&found[0]);
    place.put("new", "other");
    fs::rename(place.temp.path().join("new"), place.temp.path().join("a.nzb")).unwrap();
    assert_eq!(place.intake.mark_queued(&opened).unwrap_err().code(), "watch.vanished");
    assert_eq!(place.names(), ["a.nzb"]);
}

#[test]
fn a_link_where_a_mark_should_go_is_not_followed() {
    let mut place = place();
    place.put("a.nzb", "x");
    let canary = place.temp.path().join("canary");
    fs::write(&canary, "alive").unwrap();
    symlink(&canary, place.temp.path().join("a.nzb.error")).unwrap();
    symlink(&canary, place.temp.path().join("a.nzb.2.error.txt")).unwrap();
    place.found(0);
    let found = place.found(1);
    let marked = place.intake.mark_failed(&place.open(&found[0]), "why").unwrap();
    assert_eq!(marked.file_name().unwrap(), "a.nzb.2.error");
    assert_eq!(fs::read_to_string(place.temp.path().join("a.nzb.2.error.2.txt")).unwrap(), "why\n");
    assert_eq!(fs::read_to_string(&canary).unwrap(), "alive");
}

#[test]
fn names_that_are_no_text_or_very_long_can_be_marked() {
    let mut place = place();
    let odd = OsStr::from_bytes(b"caf\xe9.nzb");
    fs::write(place.temp.path().join(odd), b"x").unwrap();
    let long = "ä".repeat(125) + ".nzb";
    place.put(&long, "x");
    place.found(0);
    let found = place.found(1);
    assert_eq!(found.len(), 2);
    for found in &found {
        let marked = place.intake.mark_queued(&place.open(found)).unwrap();
        assert!(marked.exists());
        if found.path.as_os_str() == odd {
            assert_eq!(marked.file_name().unwrap().as_bytes(), b"caf\xe9.nzb.queued");
        }
    }
}

#[test]
fn a_missing_folder_is_named_once_and_found_when_it_comes() {
    let temp = TempDir::new().unwrap();
    let path = temp.path().join("watch");
    let mut intake = polled(&path);
    let now = Instant::now();
    let codes = |scan: Scan| scan.problems.iter().map(|p| p.code()).collect::<Vec<_>>();
    assert_eq!(codes(intake.scan(now)), ["watch.missing"]);
    assert!(codes(intake.scan(now)).is_empty());
    fs::write(&path, b"a file").unwrap();
    assert_eq!(codes(intake.scan(now)), ["watch.not_a_folder"]);
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    fs::write(path.join("a.nzb"), b"x").unwrap();
    assert!(codes(intake.scan(now)).is_empty());
    assert_eq!(intake.scan(now + Duration::from_secs(1)).found.len(), 1);
    fs::remove_dir_all(&path).unwrap();
    assert_eq!(codes(intake.scan(now)), ["watch.missing"], "anew");
}

#[test]
fn a_folder_that_cannot_be_read_is_looked_at_as_often_as_an_unwatched_one() {
    let (home, closed) = (TempDir::new().unwrap(), Permissions::from_mode(0o000));
    let mut intake = Intake::new(Settings::new(home.path()), || {});
    intake.scan(Instant::now());
    fs::create_dir(home.path().join("tv")).unwrap();
    fs::set_permissions(home.path().join("tv"), closed).unwrap();
    if fs::read_dir(home.path().join("tv")).is_ok() {
        return; // the superuser reads everything
    }
    fs::write(home.path().join("a.nzb"), b"x").unwrap();
    let scan = intake.scan(Instant::now());
    assert_eq!(scan.problems[0].code(), "watch.folder_unreadable");
    let pause = intake.pause(Instant::now());
    assert!(pause <= Settings::new("").interval && !intake.is_watched());
}

/// Scans whenever the kernel tells of something, until files are found.
fn wait_for_file(intake: &mut Intake, woken: &Receiver<()>, now: Instant) -> Vec<Found> {
    loop {
        woken.recv_timeout(Duration::from_secs(20)).expect("a notice of the new file");
        let found = intake.scan(now).found;
        if !found.is_empty() {
            return found;
        }
    }
}

#[test]
fn a_file_that_was_closed_or_moved_here_is_found_without_waiting() {
    let temp = TempDir::new().unwrap();
    let outside = TempDir::new_in(temp.path().parent().unwrap()).unwrap();
    fs::create_dir(temp.path().join("tv")).unwrap();
    let (wake, woken) = channel();
    let settings = Settings { local_interval: None, ..Settings::new(temp.path()) };
    let mut intake = Intake::new(settings, move || {
        let _ = wake.send(());
    });
    let now = Instant::now();
    let quiet = intake.scan(now);
    assert_eq!((quiet.found.len(), intake.pause(now)), (0, Duration::from_secs(5)));
    assert!(!intake.is_watched(), "not before it has proved itself");

    fs::write(temp.path().join("a.nzb"), b"x").unwrap();
    let found = wait_for_file(&mut intake, &woken, now);
    assert_eq!(paths(&found), ["a.nzb"]);
    intake.verdict(now, &found[0], Verdict::Taken);
    let opened = intake.open(&found[0]).unwrap();
    intake.mark_queued(&opened).unwrap();

    fs::write(outside.path().join("b.nzb"), b"x").unwrap();
    fs::rename(outside.path().join("b.nzb"), temp.path().join("tv/b.nzb")).unwrap();
    let found = wait_for_file(&mut intake, &woken, now);
    assert_eq!(found[0].category.as_deref(), Some("tv"));
    intake.verdict(now, &found[0], Verdict::Taken);
    assert!(intake.is_watched());
    intake.scan(now);
    assert_eq!(intake.pause(now), Duration::from_secs(60));

    drop(intake);
    while woken.recv_timeout(Duration::from_secs(20)).is_ok() {}
    assert!(woken.try_recv().is_err(), "the thread has ended and dropped its end");
}

#[test]
fn a_folder_of_this_machine_alone_is_left_in_peace() {
    // In the memory of this machine, wherever the temporary files of others may lie.
    let Ok(temp) = TempDir::new_in("/dev/shm") else { return };
    let (wake, woken) = channel();
    let mut intake = Intake::new(Settings::new(temp.path()), move || {
        let _ = wake.send(());
    });
    let now = Instant::now();
    intake.scan(now);
    assert_eq!(intake.pause(now), Duration::from_secs(3600));
    fs::write(temp.path().join("a.nzb"), b"x").unwrap();
    let found = wait_for_file(&mut intake, &woken, now);
    assert_eq!(paths(&found), ["a.nzb"]);
    intake.verdict(now, &found[0], Verdict::Truncated);
    assert!(intake.pause(now) <= Duration::from_secs(1), "it may be whole soon");
    fs::rename(temp.path(), temp.path().with_extension("away")).unwrap();
    woken.recv_timeout(Duration::from_secs(60)).expect("the folder itself has moved");
    intake.scan(now);
    assert_eq!(intake.pause(now), Duration::from_secs(5));
    fs::remove_dir_all(temp.path().with_extension("away")).unwrap();
}

/// A daemon of its own on the same folder.
fn daemon(place: &Place, id: u64) -> Intake {
    let claimant = Claimant::new(id);
    Intake::new(Settings { watch: false, claimant, ..Settings::new(place.temp.path()) }, || {})
}

/// Scans twice, a second apart, so that what lies there is complete.
fn scan_twice(intake: &mut Intake, place: &Place, second: u64) -> Vec<Found> {
    intake.scan(place.now(second));
    intake.scan(place.now(second + 1)).found
}

#[test]
fn of_two_daemons_one_takes_a_file() {
    let place = place();
    place.put("a.nzb", "<nzb/>");
    let mut daemons = [daemon(&place, 1), daemon(&place, 2)];
    let found = daemons.each_mut().map(|intake| scan_twice(intake, &place, 0).remove(0));
    let [mut first, mut second] = [0, 1].map(|n| daemons[n].open(&found[n]).unwrap());
    assert_eq!(place.names(), ["a.nzb"], "a file that is only read keeps its name");
    daemons[1].claim(&mut second).unwrap();
    assert_eq!(daemons[0].claim(&mut first).unwrap_err().code(), "watch.vanished");
    assert!(scan_twice(&mut daemons[0], &place, 2).is_empty());
    let mut text = String::new();
    second.file.read_to_string(&mut text).unwrap();
    assert_eq!(text, "<nzb/>");
    daemons[1].mark_queued(&second).unwrap();
    drop((first, second));
    assert_eq!(place.names(), ["a.nzb.queued"]);
}

#[test]
fn a_claimed_file_that_is_not_taken_gets_its_name_back() {
    let place = place();
    place.put("tv/a.nzb", "<nzb/>");
    let mut intake = daemon(&place, 1);
    let found = scan_twice(&mut intake, &place, 0).remove(0);
    let mut opened = intake.open(&found).unwrap();
    intake.claim(&mut opened).unwrap();
    assert!(!place.temp.path().join("tv/a.nzb").exists());
    drop(opened);
    assert!(place.temp.path().join("tv/a.nzb").exists());
    // One that came meanwhile keeps the name.
    let mut opened = intake.open(&found).unwrap();
    intake.claim(&mut opened).unwrap();
    place.put("tv/a.nzb", "<nzb>another</nzb>");
    drop(opened);
    let read = |name: &str| fs::read_to_string(place.temp.path().join(name)).unwrap();
    assert_eq!(read("tv/a.nzb"), "<nzb>another</nzb>");
    assert_eq!(read("tv/a (2).nzb"), "<nzb/>");
}

#[test]
fn a_file_that_changed_since_it_was_read_is_not_claimed() {
    let place = place();
    place.put("a.nzb", "<nzb/>");
    let mut intake = daemon(&place, 1);
    let found = scan_twice(&mut intake, &place, 0).remove(0);
    let mut opened = intake.open(&found).unwrap();
    place.put("a.nzb", "<nzb>longer</nzb>");
    assert_eq!(intake.claim(&mut opened).unwrap_err().code(), "watch.vanished");
    assert_eq!(place.names(), ["a.nzb"]);
}

#[test]
fn what_a_killed_daemon_had_claimed_is_found_at_its_next_start() {
    let place = place();
    place.put(".a.nzb.0000000000000007.claim", "<nzb/>");
    place.put(".tv.nzb", "hidden, and no claim");
    assert!(scan_twice(&mut daemon(&place, 8), &place, 0).is_empty(), "of another daemon");
    let mut again = daemon(&place, 7);
    assert_eq!(paths(&scan_twice(&mut again, &place, 0)), ["a.nzb"]);
    assert_eq!(place.names(), [".tv.nzb", "a.nzb"]);
}

#[test]
fn what_another_daemon_left_behind_is_taken_after_ten_minutes() {
    let place = place();
    place.put(".a.nzb.0000000000000007.claim", "<nzb/>");
    let mut intake = daemon(&place, 8);
    assert!(intake.scan(place.now(0)).found.is_empty());
    assert!(intake.scan(place.now(599)).found.is_empty());
    assert!(intake.pause(place.now(599)) <= Duration::from_secs(1));
    assert_eq!(place.names(), [".a.nzb.0000000000000007.claim"]);
    assert_eq!(paths(&scan_twice(&mut intake, &place, 600)), ["a.nzb"]);
}

#[test]
fn a_claim_is_left_alone_as_long_as_its_daemon_lives() {
    let place = place();
    place.put("a.nzb", "<nzb/>");
    let (mut slow, mut other) = (daemon(&place, 1), daemon(&place, 2));
    let found = scan_twice(&mut slow, &place, 0).remove(0);
    let mut opened = slow.open(&found).unwrap();
    slow.claim(&mut opened).unwrap();
    assert!(other.scan(place.now(0)).found.is_empty());
    assert!(scan_twice(&mut other, &place, 5000).is_empty());
    slow.mark_queued(&opened).unwrap();
    assert_eq!(place.names(), ["a.nzb.queued"]);
}
