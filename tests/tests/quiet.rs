//! A daemon that has nothing to do does nothing.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops here")]

use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

use bergamot_newsd::Posted;
use bergamot_tests::{Control, Daemon, Home, News};
use bergamot_webd::{Answer, Site};

#[test]
fn an_idle_daemon_never_wakes_and_touches_no_disk() {
    let home = Home::new();
    let news = News::plain(Arc::new(Posted::new()));
    let daemon = Daemon::start(&home, &news.section(0, ""));
    sleep(SETTLING);
    let before = daemon.activity();
    let watched = seconds_watched();
    sleep(watched);
    assert_eq!(daemon.activity(), before);
    let memory = daemon.memory();
    println!("at rest for {} s: {memory}, no wake-up, nothing read or written", watched.as_secs());
    assert!(memory.0 < most_at_rest(), "{memory}");
}

#[test]
fn it_falls_asleep_again_when_its_work_is_done() {
    let (home, control) = (Home::new(), Control::new());
    let news = News::plain(control.beside(Posted::new()));
    let config = format!("[download]\nidle = \"1 s\"\n{}", news.section(0, ""));
    let mut daemon = Daemon::start(&home, &config);
    control.completes(&home, &mut daemon);
    sleep(SETTLING + LAST_THREAD);
    let before = daemon.activity();
    sleep(WATCHED);
    assert_eq!(daemon.activity(), before);
    let memory = daemon.memory();
    assert!(memory.0 < most_at_rest() + AFTER_WORK, "{memory}");
}

#[test]
fn a_feed_that_is_not_due_wakes_nobody() {
    let home = Home::new();
    let news = News::plain(Arc::new(Posted::new()));
    let empty = "<rss version=\"2.0\"><channel><title>t</title></channel></rss>";
    let site = Site::start(move |_| Answer::new(200).body(empty)).expect("it listens");
    let feed =
        format!("[[feed]]\nname = \"f\"\nurl = \"{}\"\nallow_private = true\n", site.url("/rss"));
    let daemon = Daemon::start(&home, &format!("{}\n{feed}", news.section(0, "")));
    let asked = || site.requests().len();
    for _ in 0..MOST_LOOKS {
        if asked() > 0 {
            break;
        }
        sleep(Duration::from_millis(50));
    }
    sleep(SETTLING + LAST_THREAD);
    let before = daemon.activity();
    sleep(WATCHED);
    assert_eq!(daemon.activity(), before);
    assert_eq!(asked(), 1);
}

/// Nearly all of it is the program itself, as far as the kernel has mapped it: 8 to 9 MB of the static
/// binary, up to 17 MB of the development build, which is not the one people have.
fn most_at_rest() -> u64 {
    if std::env::var_os("BERGAMOT_PROGRAM").is_some() { 12_000_000 } else { 20_000_000 }
}

/// As long as the environment says, for those who want to be sure.
fn seconds_watched() -> Duration {
    let said = std::env::var("BERGAMOT_REST").ok().and_then(|text| text.parse().ok());
    said.map_or(WATCHED, Duration::from_secs)
}

/// What it has come to know of servers and jobs.
const AFTER_WORK: u64 = 4_000_000;

/// The first look at the folder, and whatever else belongs to the start.
const SETTLING: Duration = Duration::from_secs(2);

/// Half a minute of them.
const MOST_LOOKS: usize = 600;

/// A thread that looked up a name, or waited for the disk, is kept for a while.
const LAST_THREAD: Duration = Duration::from_secs(11);

/// Twice the time between two looks at a folder that cannot be watched.
const WATCHED: Duration = Duration::from_secs(10);
