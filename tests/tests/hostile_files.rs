//! Disks that are full, closed, taken away or full of traps.
//!
//! The rows are those of the catalogue of hostile input.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops here")]

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bergamot_newsd::{Articles, Generated, Manners, Options};
use bergamot_tests::{
    Control, Daemon, Home, Mounted, News, content_of, injected, may_trace, sample, sha256,
};
use bergamot_types::{ByteCount, ByteRate};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::process::{getegid, geteuid};

// F-01, F-02
#[test]
fn a_disk_that_others_fill_pauses_the_download_until_there_is_room() {
    let Some(disk) = Mounted::new("64m") else { return };
    let (home, control) = (Home::new(), Control::new());
    let post = many_files(1, 200, 100_000);
    let news = slow(control.beside(post.clone()));
    let config = format!("{}{}", incomplete(disk.path()), news.section(0, "connections = 4"));
    let mut daemon = Daemon::start(&home, &config);
    let idle = daemon.peak_memory();
    home.drop_nzb("big.nzb", post.nzb());
    daemon.wait_for(&["file finished"]);
    let filler = disk.fill_up_to(0);
    let line = daemon.wait_for(&["WARN paused until there is room", "disk.full"]);
    for told in ["incomplete/big/", "needed", "free"] {
        assert!(line.contains(told), "{line}");
    }
    assert!(!home.join("complete/big").exists(), "nothing lies there that is not complete");
    let above = daemon.peak_memory().0 - idle.0;
    assert!(above <= 64 << 20, "nothing piles up: {}", ByteCount(above));
    fs::remove_file(filler).unwrap();
    daemon.wait_complete("big");
    assert_whole(&home, "big", &post);
    control.completes(&home, &mut daemon);
    daemon.stop();
    home.assert_contained();
}

// F-05
#[test]
fn a_directory_that_may_not_be_written_pauses_the_download_until_it_may() {
    let (home, control) = (Home::new(), Control::new());
    let post = many_files(2, 12, 60_000);
    let news = slow(control.beside(post.clone()));
    let config = news.section(0, "connections = 2");
    let mut daemon = Daemon::start_as_nobody(&home, &config);
    home.drop_nzb("many.nzb", post.nzb());
    daemon.wait_for(&["file finished"]);
    let directory = home.join("incomplete/many");
    fs::set_permissions(&directory, Permissions::from_mode(0o555)).unwrap();
    let line = daemon.wait_for(&["WARN paused", "disk.readonly"]);
    assert!(line.contains("incomplete/many/"), "{line}");
    assert!(!home.join("complete/many").exists());
    fs::set_permissions(&directory, Permissions::from_mode(0o755)).unwrap();
    daemon.wait_for(&["INFO the disk works again"]);
    daemon.wait_complete("many");
    assert_whole(&home, "many", &post);
    control.completes(&home, &mut daemon);
    daemon.stop();
    home.assert_contained();
}

// F-05
#[test]
fn a_disk_that_turns_read_only_pauses_the_download_until_it_can_be_written() {
    let Some(disk) = Mounted::new("64m") else { return };
    let (home, control) = (Home::new(), Control::new());
    let post = many_files(11, 60, 12_000);
    let news = slow(control.beside(post.clone()));
    let config = format!("{}{}", incomplete(disk.path()), news.section(0, "connections = 1"));
    let mut daemon = Daemon::start(&home, &config);
    home.drop_nzb("many.nzb", post.nzb());
    daemon.wait_for(&["file finished"]);
    // Between two files: as long as one is open the kernel refuses.
    assert!((0..1000).any(|_| disk.try_to_remount("ro")), "it is never at rest");
    let line = daemon.wait_for(&["WARN paused", "disk.readonly"]);
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    let who = format!("user {user}, group {group}");
    assert!(line.contains("incomplete/many/") && line.contains(&who), "{line}");
    disk.remount("rw");
    daemon.wait_for(&["INFO the disk works again"]);
    daemon.wait_complete("many");
    assert_whole(&home, "many", &post);
    control.completes(&home, &mut daemon);
    daemon.stop();
    home.assert_contained();
}

// F-05, F-11
#[test]
fn a_disk_that_is_lost_in_mid_download_is_waited_for_and_nothing_made_below_it() {
    let Some(disk) = Mounted::new("64m") else { return };
    let (home, control) = (Home::new(), Control::new());
    let post = many_files(12, 200, 60_000);
    let news = News::start([400_000, 40_000_000].map(|pace| Options {
        articles: control.beside(post.clone()),
        manners: Manners { pace: Some(ByteRate(pace)), ..Manners::default() },
        ..Options::default()
    }));
    let with =
        |server| format!("{}{}", incomplete(disk.path()), news.section(server, "connections = 2"));
    let mut daemon = Daemon::start(&home, &with(0));
    home.drop_nzb("many.nzb", post.nzb());
    daemon.wait_for(&["file finished"]);
    disk.take_away();
    daemon.wait_for(&["WARN waits", "name=many", "disk.dest_missing"]);
    assert_eq!(fs::read_dir(disk.path()).unwrap().count(), 0, "the disk below stays as it was");
    daemon.stop();
    let mut daemon = Daemon::start(&home, &with(1));
    daemon.wait_for(&["WARN waits", "name=many", "disk.dest_missing"]);
    assert_eq!(fs::read_dir(disk.path()).unwrap().count(), 0);
    assert!(disk.mount("64m"));
    daemon.wait_complete("many");
    assert_whole(&home, "many", &post);
    control.completes(&home, &mut daemon);
    daemon.stop();
    home.assert_contained();
}

// F-14
#[test]
fn a_quota_that_is_used_up_is_waited_for() {
    if !may_trace() {
        return;
    }
    let (home, control) = (Home::new(), Control::new());
    let post = many_files(13, 1, 1_000_000);
    let news = News::plain(control.beside(post.clone()));
    let command = injected(&home, &["pwrite64:error=EDQUOT:when=2"]);
    let mut daemon = Daemon::launch(&home, &news.section(0, "connections = 2"), command);
    assert!(daemon.comes_up());
    home.drop_nzb("many.nzb", post.nzb());
    daemon.wait_for(&["WARN paused until there is room", "disk.full"]);
    assert!(!home.join("complete/many").exists());
    daemon.wait_complete("many");
    assert_whole(&home, "many", &post);
    control.completes(&home, &mut daemon);
    daemon.stop();
    home.assert_contained();
}

// F-08
#[test]
fn a_rename_within_a_directory_that_the_kernel_takes_for_one_between_disks_stalls_no_job() {
    if !may_trace() {
        return;
    }
    let (home, control) = (Home::new(), Control::new());
    let post = many_files(17, 3, 100_000);
    let news = News::plain(control.beside(post.clone()));
    let command = injected(&home, &["renameat2:error=EXDEV"]);
    let mut daemon = Daemon::launch(&home, &news.section(0, "connections = 2"), command);
    assert!(daemon.comes_up());
    home.drop_nzb("many.nzb", post.nzb());
    daemon.wait_complete("many");
    assert_whole(&home, "many", &post);
    control.completes(&home, &mut daemon);
    daemon.stop();
    home.assert_contained();
}

// F-14
#[test]
fn a_file_too_large_for_its_disk_fails_the_job_by_name() {
    if !may_trace() {
        return;
    }
    for mishap in ["pwrite64:error=EFBIG:when=1", "fallocate:error=EFBIG:when=1"] {
        let home = Home::new();
        let post = many_files(14, 1, 1_000_000);
        let news = News::plain(Arc::new(post.clone()));
        let command = injected(&home, &[mishap]);
        let mut daemon = Daemon::launch(&home, &news.section(0, "connections = 1"), command);
        assert!(daemon.comes_up());
        home.drop_nzb("large.nzb", post.nzb());
        let line = daemon.wait_failed("large");
        assert!(
            line.contains("disk.file_too_large") && line.contains("incomplete/large"),
            "{line}"
        );
        assert!(!home.join("complete/large").exists());
        daemon.stop();
        home.assert_contained();
    }
}

// F-14
#[test]
fn a_disk_that_sets_no_room_aside_takes_files_all_the_same() {
    if !may_trace() {
        return;
    }
    let (home, control) = (Home::new(), Control::new());
    let post = many_files(15, 3, 1_000_000);
    let news = News::plain(control.beside(post.clone()));
    let refusals = ["fallocate:error=EOPNOTSUPP", "ftruncate:error=EPERM"];
    let command = injected(&home, &refusals);
    let mut daemon = Daemon::launch(&home, &news.section(0, "connections = 2"), command);
    assert!(daemon.comes_up());
    home.drop_nzb("many.nzb", post.nzb());
    daemon.wait_complete("many");
    assert_whole(&home, "many", &post);
    control.completes(&home, &mut daemon);
    daemon.stop();
    for reserve in ["state/reserve", "state/spool/reserve"] {
        let size = fs::metadata(home.join(reserve)).unwrap().len();
        assert_eq!(size, 1 << 20, "{reserve} holds room for records all the same");
    }
    home.assert_contained();
}

// F-05
#[test]
fn a_job_waits_for_a_directory_that_cannot_be_made_yet() {
    let (home, control) = (Home::new(), Control::new());
    let (posted, text, content) = sample("x.bin", 90_000, 20_000);
    fs::write(home.join("incomplete"), "in the way").unwrap();
    let news = News::plain(control.beside(posted));
    let mut daemon = Daemon::start(&home, &news.section(0, ""));
    home.drop_nzb("x.nzb", &text);
    daemon.wait_for(&["WARN cannot be started yet", "disk."]);
    assert_eq!(fs::read(home.join("incomplete")).unwrap(), b"in the way");
    fs::remove_file(home.join("incomplete")).unwrap();
    daemon.wait_complete("x");
    assert_eq!(fs::read(home.join("complete/x/x.bin")).unwrap(), content);
    control.completes(&home, &mut daemon);
    let told = daemon.stop().log;
    assert_eq!(told.iter().filter(|line| line.contains("cannot be started")).count(), 1, "once");
    home.assert_contained();
}

// F-06
#[test]
fn what_bears_the_name_of_a_file_is_neither_followed_nor_replaced() {
    let (home, control) = (Home::new(), Control::new());
    let post = many_files(3, 6, 60_000);
    let news = slow(control.beside(post.clone()));
    let mut daemon = Daemon::start(&home, &news.section(0, "connections = 1"));
    home.drop_nzb("traps.nzb", post.nzb());
    daemon.wait_for(&["file finished", "name=f0.bin"]);
    let directory = home.join("incomplete/traps");
    fs::create_dir(directory.join("f3.bin")).unwrap();
    fs::write(directory.join("f4.bin"), "planted").unwrap();
    fs::write(directory.join("F5.BIN"), "planted").unwrap();
    daemon.wait_complete("traps");
    let complete = home.join("complete/traps");
    assert!(complete.join("f3.bin").is_dir());
    assert_eq!(fs::read(complete.join("f4.bin")).unwrap(), b"planted");
    assert_eq!(fs::read(complete.join("F5.BIN")).unwrap(), b"planted");
    for (index, (name, _)) in post.files().enumerate() {
        let is_taken = [3, 4].contains(&index);
        let name = if is_taken { name.replace(".bin", " (2).bin") } else { name.to_owned() };
        assert_eq!(fs::read(complete.join(&name)).unwrap(), content(&post, index), "{name}");
    }
    control.completes(&home, &mut daemon);
    daemon.stop();
    home.assert_contained();
}

// F-06, F-10
#[test]
fn a_trap_in_the_way_of_our_own_files_fails_the_job_and_is_left_alone() {
    let fifo = |path: &Path| {
        mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o644), 0).unwrap();
    };
    let outside = |path: &Path| path.ancestors().nth(4).unwrap().join("canary/bird");
    type Plant<'a> = &'a dyn Fn(&Path);
    let traps: [(&str, &str, Plant<'_>); 7] = [
        ("0007.part", "disk.obstructed", &|path| symlink(outside(path), path).unwrap()),
        ("0007.part", "disk.obstructed", &|path| symlink("loop", path).unwrap()),
        ("0007.part", "disk.obstructed", &fifo),
        ("0007.part", "disk.obstructed", &|path| fs::create_dir(path).unwrap()),
        ("0007.part", "disk.obstructed", &|path| fs::write(path, "planted").unwrap()),
        ("pipe", "disk.obstructed", &fifo),
        ("link", "disk.obstructed", &|path| symlink(outside(path), path).unwrap()),
    ];
    let (home, control) = (Home::new(), Control::new());
    let posts: Vec<_> = (0..traps.len()).map(|n| many_files(10 + n as u64, 9, 60_000)).collect();
    let articles: Vec<Arc<dyn Articles>> =
        posts.iter().map(|post| Arc::new(post.clone()) as _).collect();
    let news = slow(control.beside(articles));
    let mut daemon = Daemon::start(&home, &news.section(0, "connections = 1"));
    for (number, (name, code, plant)) in traps.iter().enumerate() {
        let job = format!("trap{number}");
        home.drop_nzb(&format!("{job}.nzb"), posts[number].nzb());
        daemon.wait_for(&["file finished", "name=f0.bin"]);
        let path = home.join("incomplete").join(&job).join(name);
        plant(&path);
        let line = daemon.wait_failed(&job);
        assert!(line.contains(code) && line.contains(name), "{line}");
        assert!(fs::symlink_metadata(&path).is_ok(), "it lies there still");
        assert!(!home.join("complete").join(&job).exists());
    }
    assert_eq!(fs::read(home.join("incomplete/trap4/0007.part")).unwrap(), b"planted");
    control.completes(&home, &mut daemon);
    daemon.stop();
    home.assert_contained();
}

// F-09
#[test]
fn a_job_moves_between_disks_whole_though_it_is_killed_on_the_way() {
    let Some(disk) = Mounted::new("64m") else { return };
    let (home, control) = (Home::new(), Control::new());
    assert_ne!(fs::metadata(disk.path()).unwrap().dev(), fs::metadata(home.path()).unwrap().dev());
    let post = Generated::new(4, ByteCount(500_000)).file("big.bin", ByteCount(30_000_000));
    let news = News::plain(control.beside(post.clone()));
    let complete = disk.path().join("complete");
    let config = format!(
        "[directories]\ncomplete = \"{}\"\n{}",
        complete.display(),
        news.section(0, "connections = 4")
    );
    let mut daemon = Daemon::start(&home, &config);
    home.drop_nzb("big.nzb", post.nzb());
    daemon.wait_for(&["copied between disks"]);
    daemon.kill();
    let mut daemon = Daemon::start(&home, &config);
    // Whether it had come to its end or begins anew, the log says what became of it.
    daemon.wait_for(&["INFO", "comple", "job=1 "]);
    let found: Vec<_> = tree(&complete);
    assert_eq!(found, [PathBuf::from("big"), PathBuf::from("big/big.bin")], "one tree, no rest");
    assert_eq!(
        sha256(&fs::read(complete.join("big/big.bin")).unwrap()),
        sha256(&content_of(&post))
    );
    assert!(home.inventory("incomplete").is_empty());
    daemon.stop();
}

// F-12
#[test]
fn a_job_whose_directory_is_taken_away_begins_anew() {
    let (home, control) = (Home::new(), Control::new());
    let posts = [many_files(5, 12, 60_000), many_files(6, 12, 60_000)];
    let articles: Vec<Arc<dyn Articles>> =
        posts.iter().map(|post| Arc::new(post.clone()) as _).collect();
    let news = slow(control.beside(articles));
    let mut daemon = Daemon::start(&home, &news.section(0, "connections = 2"));
    for (post, (job, directory)) in
        posts.iter().zip([("job", "incomplete/job"), ("all", "incomplete")])
    {
        home.drop_nzb(&format!("{job}.nzb"), post.nzb());
        daemon.wait_for(&["file finished"]);
        take_away(&home.join(directory));
        daemon.wait_for(&["put back", "disk.vanished"]);
        assert!(!home.join("complete").join(job).exists());
        daemon.wait_complete(job);
        assert_whole(&home, job, post);
    }
    control.completes(&home, &mut daemon);
    daemon.stop();
    home.assert_contained();
}

// F-16
#[test]
fn thousands_of_files_need_few_handles() {
    let (home, control) = (Home::new(), Control::new());
    let post = many_files(7, 2_500, 700);
    let news = News::plain(control.beside(post.clone()));
    let mut daemon = Daemon::start(&home, &news.section(0, "connections = 8"));
    let idle = daemon.open_handles();
    home.drop_nzb("files.nzb", post.nzb());
    for _ in 0..50 {
        for _ in 0..49 {
            daemon.wait_for(&["file finished"]);
        }
        let handles = daemon.open_handles() - idle;
        assert!(handles <= 64 + 8 + 16, "{handles} handles more than at rest");
    }
    daemon.wait_complete("files");
    assert_whole(&home, "files", &post);
    control.completes(&home, &mut daemon);
    daemon.stop();
    home.assert_contained();
}

// F-17
#[test]
fn jobs_of_one_name_get_directories_of_their_own() {
    let (home, control) = (Home::new(), Control::new());
    let posts = [8, 9, 10].map(|seed| many_files(seed, 2, 60_000));
    let articles: Vec<Arc<dyn Articles>> =
        posts.iter().map(|post| Arc::new(post.clone()) as _).collect();
    let news = slow(control.beside(articles));
    let mut daemon = Daemon::start(&home, &news.section(0, "connections = 6"));
    let names = ["same.nzb", "same.nzb.gz", "{{pass}}same.nzb"];
    for (post, name) in posts.iter().zip(names) {
        home.drop_nzb(name, post.nzb());
    }
    for _ in names {
        daemon.wait_for(&["INFO complete", "name=same "]);
    }
    let directories = ["same", "same (2)", "same (3)"];
    let found: Vec<_> = directories
        .map(|name| fs::read(home.join("complete").join(name).join("f0.bin")).unwrap())
        .into();
    for post in &posts {
        assert!(found.contains(&content(post, 0)), "each job has its own");
    }
    control.completes(&home, &mut daemon);
    daemon.stop();
    home.assert_contained();
}

fn incomplete(disk: &Path) -> String {
    format!("[directories]\nincomplete = \"{}/incomplete\"\n", disk.display())
}

fn many_files(seed: u64, count: usize, size: u64) -> Generated {
    let post = Generated::new(seed, ByteCount(20_000));
    (0..count).fold(post, |post, n| post.file(format!("f{n}.bin"), ByteCount(size + n as u64)))
}

/// A server that takes its time, so that a test can meddle with a download under way.
fn slow(articles: Arc<dyn Articles>) -> News {
    let manners = Manners { pace: Some(ByteRate(400_000)), ..Manners::default() };
    News::start([Options { articles, manners, ..Options::default() }])
}

fn content(post: &Generated, file: usize) -> Vec<u8> {
    let size = post.files().nth(file).unwrap().1;
    let mut content = vec![0; size.0 as usize];
    post.read_at(file, 0, &mut content);
    content
}

fn assert_whole(home: &Home, job: &str, post: &Generated) {
    let found = home.inventory(Path::new("complete").join(job));
    assert_eq!(found.len(), post.files().count(), "{:?}", found.keys());
    for (index, (name, _)) in post.files().enumerate() {
        assert_eq!(found[Path::new(name)], sha256(&content(post, index)), "{name}");
    }
}

/// Everything below a directory, hidden things too.
fn tree(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let (path, name) = entry.map(|entry| (entry.path(), entry.file_name())).unwrap();
        if path.is_dir() {
            found.extend(tree(&path).into_iter().map(|below| Path::new(&name).join(below)));
        }
        found.push(name.into());
    }
    found.sort();
    found
}

/// Removes a directory into which somebody still writes.
fn take_away(directory: &Path) {
    let gone = (0..1000).any(|_| fs::remove_dir_all(directory).is_ok());
    assert!(gone, "{} cannot be removed", directory.display());
}
