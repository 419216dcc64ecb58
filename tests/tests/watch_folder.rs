//! Files come to the watch folder in every way there is.
//!
//! The rows are those of the catalogue of hostile input.

#![allow(clippy::unwrap_used)] // the exemption for tests does not reach their helpers

use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::sync::Arc;

use bergamot_newsd::{Articles, Generated, Posted};
use bergamot_tests::{Control, Daemon, Home, News, content_of, file, nzb, sample};
use bergamot_types::ByteCount;
use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};

// W-01
#[test]
fn a_file_is_taken_when_it_is_whole_however_it_is_written() {
    let (home, control) = (Home::new(), Control::new());
    let posts = [1, 2, 3, 4].map(small);
    let news = News::plain(control.beside(together(&posts)));
    let mut daemon = Daemon::start(&home, &news.section(0, ""));
    let path = |name: &str| home.join(format!("watch/{name}.nzb"));
    let halves = |post: &Generated| {
        let text = post.nzb();
        let (first, second) = text.split_at(text.len() / 2);
        (first.to_owned(), second.to_owned())
    };

    let (first, second) = halves(&posts[0]);
    fs::write(path("bursts"), &first).unwrap();
    daemon.wait_for(&["may still be growing", "file=bursts.nzb", "nzb.truncated"]);
    File::options()
        .append(true)
        .open(path("bursts"))
        .unwrap()
        .write_all(second.as_bytes())
        .unwrap();
    daemon.wait_complete("bursts");

    let (first, second) = halves(&posts[1]);
    let mut open = File::create(path("open")).unwrap();
    open.write_all(first.as_bytes()).unwrap();
    daemon.wait_for(&["may still be growing", "file=open.nzb"]);
    open.write_all(second.as_bytes()).unwrap();
    drop(open);
    daemon.wait_complete("open");

    fs::write(path("empty"), "").unwrap();
    daemon.wait_for(&["may still be growing", "file=empty.nzb", "nzb.empty"]);
    fs::write(path("empty"), posts[2].nzb()).unwrap();
    daemon.wait_complete("empty");

    fs::write(home.join("watch/renamed.tmp"), posts[3].nzb()).unwrap();
    fs::rename(home.join("watch/renamed.tmp"), path("renamed")).unwrap();
    daemon.wait_complete("renamed");

    for (post, job) in posts.iter().zip(["bursts", "open", "empty", "renamed"]) {
        assert_eq!(fs::read(home.join(format!("complete/{job}/f.bin"))).unwrap(), content_of(post));
        let queued = fs::read(path(job).with_added_extension("queued")).unwrap();
        assert_eq!(queued, post.nzb().as_bytes());
    }
    control.completes(&home, &mut daemon);
    assert!(!daemon.stop().log.iter().any(|line| line.contains("WARN")));
    home.assert_contained();
}

// W-02
#[test]
fn a_file_that_vanishes_is_not_spoken_of() {
    let (home, control) = (Home::new(), Control::new());
    let news = News::plain(control.beside(Posted::new()));
    let mut daemon = Daemon::start(&home, &news.section(0, ""));
    let path = home.join("watch/gone.nzb");
    fs::write(&path, "<nzb>").unwrap();
    daemon.wait_for(&["may still be growing", "file=gone.nzb"]);
    fs::remove_file(&path).unwrap();
    for _ in 0..200 {
        fs::write(&path, "<nzb>").unwrap();
        fs::remove_file(&path).unwrap();
    }
    control.completes(&home, &mut daemon);
    let log = daemon.stop().log;
    assert!(!log.iter().any(|line| line.contains("WARN") || line.contains("refused")), "{log:#?}");
    assert_eq!(fs::read_dir(home.join("watch")).unwrap().count(), 1, "only the control");
    home.assert_contained();
}

// W-04
#[test]
fn only_plain_files_are_read_and_the_others_named_once() {
    let (home, control) = (Home::new(), Control::new());
    let (posted, text, _) = sample("x.bin", 30_000, 20_000);
    fs::write(home.join("outside"), &text).unwrap();
    let watch = home.join("watch");
    symlink(home.join("outside"), watch.join("link.nzb")).unwrap();
    symlink("/etc/shadow", watch.join("shadow.nzb")).unwrap();
    symlink("loop.nzb", watch.join("loop.nzb")).unwrap();
    fs::hard_link(home.join("outside"), watch.join("hard.nzb")).unwrap();
    let make = |name: &str, kind, device| {
        mknodat(CWD, watch.join(name), kind, Mode::from_raw_mode(0o644), device)
    };
    make("fifo.nzb", FileType::Fifo, 0).unwrap();
    let mut traps = vec!["link", "shadow", "loop", "hard", "fifo"];
    // Only the superuser can make a device.
    if make("null.nzb", FileType::CharacterDevice, makedev(1, 3)).is_ok() {
        traps.push("null");
    }
    let news = News::plain(control.beside(posted));
    let mut daemon = Daemon::start(&home, &news.section(0, ""));
    for name in &traps {
        daemon.expect(&["WARN", "watch.not_plain", &format!("{name}.nzb")]);
    }
    control.completes(&home, &mut daemon);
    let log = daemon.stop().log;
    for name in &traps {
        let told = log.iter().filter(|line| line.contains(&format!("/{name}.nzb"))).count();
        assert_eq!(told, 1, "{name}");
        assert!(fs::symlink_metadata(watch.join(format!("{name}.nzb"))).is_ok(), "it stays");
    }
    assert_eq!(fs::read_dir(home.join("complete")).unwrap().count(), 1, "only the control");
    assert_eq!(fs::read(home.join("outside")).unwrap(), text.as_bytes());
}

// W-05
#[test]
fn what_may_not_be_read_is_warned_of_once_and_read_when_it_may() {
    let (home, control) = (Home::new(), Control::new());
    let posts = [small(5), small(6)];
    let news = News::plain(control.beside(together(&posts)));
    let mut daemon = Daemon::start_as_nobody(&home, &polling(&news));
    let closed = |path: &str, mode| {
        fs::set_permissions(home.join(path), Permissions::from_mode(mode)).unwrap();
    };
    fs::write(home.join("draft"), posts[0].nzb()).unwrap();
    closed("draft", 0o000);
    fs::rename(home.join("draft"), home.join("watch/file{{pl4nted}}.nzb")).unwrap();
    fs::create_dir(home.join("tv")).unwrap();
    fs::write(home.join("tv/folder.nzb"), posts[1].nzb()).unwrap();
    closed("tv", 0o000);
    fs::rename(home.join("tv"), home.join("watch/tv")).unwrap();
    daemon.expect(&["WARN", "watch.unreadable", "file{{***}}.nzb"]);
    daemon.expect(&["WARN", "watch.folder_unreadable", "watch/tv"]);
    // The control comes after further looks at both.
    control.completes(&home, &mut daemon);
    closed("watch/file{{pl4nted}}.nzb", 0o644);
    closed("watch/tv", 0o755);
    daemon.expect(&["INFO complete", "name=file "]);
    daemon.expect(&["INFO complete", "name=folder "]);
    assert_eq!(fs::read(home.join("complete/tv/folder/f.bin")).unwrap(), content_of(&posts[1]));
    let log = daemon.stop().log;
    for code in ["watch.unreadable", "watch.folder_unreadable"] {
        assert_eq!(log.iter().filter(|line| line.contains(code)).count(), 1, "{code}");
    }
    assert!(!log.iter().any(|line| line.contains("pl4nted")));
}

// W-05
#[test]
fn a_closed_folder_is_looked_at_again_though_the_kernel_tells_of_the_others() {
    let (home, control) = (Home::new(), Control::new());
    let post = small(7);
    let news = News::plain(control.beside(post.clone()));
    let config = format!("[watch]\nscan_interval = \"1 s\"\n{}", news.section(0, ""));
    let mut daemon = Daemon::start_as_nobody(&home, &config);
    fs::create_dir(home.join("tv")).unwrap();
    fs::write(home.join("tv/folder.nzb"), post.nzb()).unwrap();
    fs::set_permissions(home.join("tv"), Permissions::from_mode(0o000)).unwrap();
    fs::rename(home.join("tv"), home.join("watch/tv")).unwrap();
    daemon.wait_for(&["watch.folder_unreadable"]);
    control.completes(&home, &mut daemon);
    fs::set_permissions(home.join("watch/tv"), Permissions::from_mode(0o755)).unwrap();
    daemon.wait_complete("folder");
    daemon.stop();
}

// W-06
#[test]
fn two_thousand_files_at_once_are_taken_in_little_memory() {
    let (home, control) = (Home::in_memory(), Control::new());
    let post = (0..2_000).fold(Generated::new(8, ByteCount(1_000)), |post, n| {
        post.file(format!("f{n}.bin"), ByteCount(500))
    });
    let news = News::plain(control.beside(post.clone()));
    for n in 0..2_000 {
        let text = nzb(&file(&format!("&quot;f{n}.bin&quot;"), &[post.id(n, 1)]));
        home.drop_nzb(&format!("job{n}.nzb"), text);
    }
    let mut daemon = Daemon::start(&home, &news.section(0, "connections = 8"));
    let idle = daemon.peak_memory();
    for _ in 0..2_000 {
        daemon.wait_for(&["INFO complete"]);
    }
    control.completes(&home, &mut daemon);
    let above = daemon.peak_memory().0 - idle.0;
    assert!(above <= 64 << 20, "{} above idle", ByteCount(above));
    assert_eq!(fs::read_dir(home.join("complete")).unwrap().count(), 2_001);
    assert_eq!(news.tally(0).all_served(), 2_000 + 5, "each article once");
    daemon.stop();
    home.assert_contained();
}

// W-07
#[test]
fn without_notices_of_the_kernel_files_are_found_all_the_same() {
    let (home, control) = (Home::new(), Control::new());
    let post = small(9);
    let news = News::plain(control.beside(post.clone()));
    let mut daemon = Daemon::start(&home, &polling(&news));
    home.drop_nzb("tv/found.nzb", post.nzb());
    daemon.wait_complete("found");
    assert_eq!(fs::read(home.join("complete/tv/found/f.bin")).unwrap(), content_of(&post));
    control.completes(&home, &mut daemon);
    daemon.stop();
}

// W-09
#[test]
fn killed_between_taking_a_file_and_marking_it_the_job_is_neither_lost_nor_doubled() {
    for duplicates in ["refuse", "accept"] {
        let (home, control) = (Home::new(), Control::new());
        let post = small(10);
        let news = News::plain(control.beside(post.clone()));
        let watch = format!("[watch]\nduplicates = \"{duplicates}\"\n");
        let config = format!("{watch}{}", news.section(0, ""));
        let nowhere = format!(
            "{watch}[[server]]\nname = \"s0\"\nhost = \"127.0.0.1\"\nport = 1\nencryption = \"none\""
        );
        let mut daemon = Daemon::start(&home, &nowhere);
        home.drop_nzb("once.nzb", post.nzb());
        daemon.wait_for(&["INFO started", "name=once"]);
        daemon.kill();
        // The mark is the last step; without it this is what a kill just before it leaves behind.
        let (path, marked) = (home.join("watch/once.nzb"), home.join("watch/once.nzb.queued"));
        if marked.exists() {
            fs::rename(&marked, &path).unwrap();
        }
        let mut daemon = Daemon::start(&home, &config);
        daemon.expect(&["had been taken", "file=once.nzb"]);
        daemon.expect(&["INFO complete", "name=once "]);
        control.completes(&home, &mut daemon);
        assert!(marked.exists() && !path.exists(), "it has its mark now");
        assert_eq!(fs::read_dir(home.join("complete")).unwrap().count(), 2);
        assert_eq!(news.tally(0).served(&post.id(0, 1)), 1, "{duplicates}: downloaded once");
        daemon.stop();
        home.assert_contained();
    }
}

#[test]
fn of_files_that_are_found_together_each_is_taken_once() {
    let home = Home::new();
    let posts: Vec<_> = (30..40).map(small).collect();
    let news = News::plain(Arc::new(together(&posts)));
    for (number, post) in posts.iter().enumerate() {
        home.drop_nzb(&format!("{number}.nzb"), post.nzb());
        home.drop_nzb(&format!("{number}~again.nzb"), post.nzb());
    }
    let mut daemon = Daemon::start(&home, &news.section(0, ""));
    for _ in &posts {
        daemon.wait_for(&["INFO complete"]);
    }
    for (number, post) in posts.iter().enumerate() {
        let found = fs::read(home.join("complete").join(number.to_string()).join("f.bin"));
        assert_eq!(found.unwrap(), content_of(post));
        let mark = |name: String| home.join("watch").join(name).exists();
        assert!(mark(format!("{number}.nzb.queued")), "{number}");
        assert!(mark(format!("{number}~again.nzb.duplicate")), "{number}");
    }
    daemon.stop();
}

// W-10
#[test]
fn a_folder_that_is_missing_or_a_file_is_waited_for() {
    let (home, control) = (Home::new(), Control::new());
    let watch = home.join("watch");
    fs::remove_dir(&watch).unwrap();
    let news = News::plain(control.beside(Posted::new()));
    let mut daemon = Daemon::start(&home, &polling(&news));
    daemon.wait_for(&["WARN", "watch.missing"]);
    fs::write(&watch, "a file").unwrap();
    daemon.wait_for(&["WARN", "watch.not_a_folder"]);
    assert_eq!(fs::read(&watch).unwrap(), b"a file");
    fs::remove_file(&watch).unwrap();
    fs::create_dir(&watch).unwrap();
    control.completes(&home, &mut daemon);
    daemon.stop();
}

// W-10
#[test]
fn a_file_that_cannot_be_marked_is_not_added_at_every_look() {
    let (home, control) = (Home::new(), Control::new());
    let post = small(11);
    let news = News::plain(control.beside(post.clone()));
    let config = polling(&news);
    let mut daemon = Daemon::start_as_nobody(&home, &config);
    let closed = |mode| {
        fs::set_permissions(home.join("watch"), Permissions::from_mode(mode)).unwrap();
    };
    fs::write(home.join("draft"), post.nzb()).unwrap();
    fs::rename(home.join("draft"), home.join("watch/fixed.nzb")).unwrap();
    closed(0o555);
    daemon.wait_for(&["watch.unmarkable", "fixed.nzb"]);
    daemon.expect(&["INFO complete", "name=fixed "]);
    daemon.stop();
    let mut daemon = Daemon::start_as_nobody(&home, &config);
    daemon.wait_for(&["watch.unmarkable", "fixed.nzb"]);
    closed(0o755);
    control.completes(&home, &mut daemon);
    let log = daemon.stop().log.join("\n");
    assert!(!log.contains("name=fixed"), "{log}");
    assert_eq!(news.tally(0).served(&post.id(0, 1)), 1);
    assert_eq!(fs::read_dir(home.join("complete")).unwrap().count(), 2);
}

// W-11
#[test]
fn folders_are_categories_and_names_are_taken_as_they_are() {
    let (home, control) = (Home::new(), Control::new());
    let odd = OsStr::from_bytes(b"caf\xe9.nzb");
    let drops = [
        (OsStr::new("tv/known.nzb"), "shows/known"),
        (OsStr::new("Series/alias.nzb"), "shows/alias"),
        (OsStr::new("books/unknown.nzb"), "books/unknown"),
        (OsStr::new("{{tv}}braces{{pl4nted}}.nzb"), "shows/braces"),
        (OsStr::new("plain{{pl4nted}}.nzb"), "plain"),
        (OsStr::new("key password=pl4nted.nzb"), "key"),
        (odd, "caf\u{fffd}"),
    ];
    let posts: Vec<_> = (0..drops.len()).map(|n| small(20 + n as u64)).collect();
    let news = News::plain(control.beside(together(&posts)));
    let category = "[[category]]\nname = \"tv\"\naliases = [\"series\"]\ndirectory = \"shows\"\n";
    let mut daemon = Daemon::start(&home, &format!("{category}{}", news.section(0, "")));
    for (post, (name, place)) in posts.iter().zip(drops) {
        let target = home.join("watch").join(name);
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::write(home.join("draft"), post.nzb()).unwrap();
        fs::rename(home.join("draft"), &target).unwrap();
        let line = daemon.wait_for(&["INFO complete"]);
        assert!(line.ends_with(&format!("complete/{place}")), "{line}");
        assert_eq!(
            fs::read(home.join("complete").join(place).join("f.bin")).unwrap(),
            content_of(post)
        );
        let mut marked = target.into_os_string();
        marked.push(".queued");
        assert_eq!(fs::read(marked).unwrap(), post.nzb().as_bytes());
    }
    control.completes(&home, &mut daemon);
    let log = daemon.stop().log;
    assert!(!log.iter().any(|line| line.contains("pl4nted")), "no password in the log");
    home.assert_contained();
}

#[test]
fn two_daemons_on_one_folder_take_each_file_once() {
    let (home, other) = (Home::new(), Home::new());
    let posts: Vec<_> = (100..160).map(small).collect();
    let news = News::plain(Arc::new(together(&posts)));
    let shared = format!(
        "[directories]\nwatch = {:?}\n{}",
        home.join("watch").display().to_string(),
        news.section(0, "")
    );
    let daemons = [&home, &other].map(|home| Daemon::start(home, &shared));
    for (number, post) in posts.iter().enumerate() {
        home.drop_nzb(&format!("{number}.nzb"), post.nzb());
    }
    let finished = |home: &Home| fs::read_dir(home.join("complete")).map_or(0, Iterator::count);
    news.wait_until(|_| finished(&home) + finished(&other) >= posts.len());
    // A job may be complete before its file is marked.
    let names = || -> Vec<_> {
        let entries = fs::read_dir(home.join("watch")).unwrap();
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
    };
    let marked = |names: &[String]| names.iter().all(|name| name.ends_with(".nzb.queued"));
    news.wait_until(|_| marked(&names()));
    assert_eq!(names().len(), posts.len());
    for daemon in daemons {
        daemon.stop();
    }
    assert_eq!(finished(&home) + finished(&other), posts.len());
    let twice = posts.iter().filter(|post| news.tally(0).served(&post.id(0, 1)) != 1);
    assert_eq!(twice.count(), 0);
}

fn small(seed: u64) -> Generated {
    Generated::new(seed, ByteCount(20_000)).file("f.bin", ByteCount(50_000))
}

fn together(posts: &[Generated]) -> Vec<Arc<dyn Articles>> {
    posts.iter().map(|post| Arc::new(post.clone()) as _).collect()
}

fn polling(news: &News) -> String {
    format!("[watch]\ninotify = false\nscan_interval = \"1 s\"\n{}", news.section(0, ""))
}
