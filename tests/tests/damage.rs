//! State that is damaged, newer, read-only or without room: the daemon starts, says what is wrong and
//! whom it costs, and the rest goes on.
//!
//! `BERGAMOT_DAMAGES` says how many damaged states are tried, `BERGAMOT_SEED` which.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops here")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;
use std::{env, fs, thread};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bergamot_newsd::Generated;
use bergamot_rpc::{Client, ClientError};
use bergamot_tests::{Daemon, Entry, Home, Listing, Mounted, News};
use bergamot_types::{ByteCount, SplitMix};
use serde_json::{Value, json};

#[test]
fn damage_to_one_file_costs_one_job_at_most_and_is_told() {
    let start = Instant::now();
    let sound = Sound::new();
    let (samples, seed) = (number("BERGAMOT_DAMAGES", 24), number("BERGAMOT_SEED", 1));
    let next = AtomicU64::new(0);
    thread::scope(|scope| {
        for _ in 0..LANES {
            scope.spawn(|| {
                loop {
                    let sample = next.fetch_add(1, Ordering::Relaxed);
                    if sample >= samples {
                        break;
                    }
                    sound.try_damaged(SplitMix::seeded(seed << 32 | sample));
                }
            });
        }
    });
    println!("{samples} damaged states in {:.0?} (seed {seed})", start.elapsed());
}

// S-08
#[test]
fn a_job_with_a_damaged_record_is_rebuilt_from_its_nzb() {
    let home = Home::in_memory();
    let post = post(2);
    let news = News::plain(Arc::new(post.clone()));
    let config = news.section(0, "");
    spool_paused(&home, &config, &post);
    flip(&home.join("state/spool/00000001.job"), 40);
    let mut daemon = Daemon::start(&home, &config);
    let mut client = home.connect().unwrap();
    let warnings = client.call("system.status", json!({})).unwrap()["warnings"].to_string();
    assert!(warnings.contains("00000001.job.damaged"), "{warnings}");
    assert!(warnings.contains("job 1 was damaged: the job was rebuilt"), "{warnings}");
    let listing = Listing::ask(&mut client).unwrap();
    assert_eq!(listing.queue.len(), 1, "{listing:?}");
    let (job, name) = (&listing.queue[0], listing.queue[0].name.clone());
    assert!(job.paused, "{listing:?}");
    daemon.stop();
    daemon = Daemon::start(&home, &config);
    let mut client = home.connect().unwrap();
    let warnings = client.call("system.status", json!({})).unwrap()["warnings"].to_string();
    assert_eq!(warnings, "[]", "it is on record again");
    client.call("job.resume", json!({ "jobs": [1] })).unwrap();
    daemon.wait_complete(&name);
    daemon.stop();
}

#[test]
fn a_flipped_bit_in_a_spooled_nzb_is_damaged_state_and_not_a_missing_article() {
    let home = Home::in_memory();
    let post = post(2);
    let news = News::plain(Arc::new(post.clone()));
    let config = news.section(0, "");
    spool_paused(&home, &config, &post);
    let path = home.join("state/spool/00000001.nzb");
    let text = fs::read_to_string(&path).unwrap();
    flip(&path, text.find("</segment>").unwrap() - 3); // in a message-id
    let mut daemon = Daemon::start(&home, &config);
    let mut client = home.connect().unwrap();
    client.call("job.resume", json!({ "jobs": [1] })).unwrap();
    let told = daemon.wait_failed("held");
    assert!(told.contains("state.damaged") && told.contains("00000001.nzb"), "{told}");
    daemon.stop();
}

#[test]
fn an_nzb_that_an_older_version_spooled_is_downloaded() {
    let home = Home::in_memory();
    let post = post(2);
    let news = News::plain(Arc::new(post.clone()));
    let config = news.section(0, "");
    spool_paused(&home, &config, &post);
    fs::write(home.join("state/spool/00000001.nzb"), post.nzb()).unwrap();
    let path = home.join("state/spool/00000001.job");
    let old = fs::read_to_string(&path).unwrap().replace("\"nzb_is_sealed\":true,", "");
    let body = old.split_once('\n').unwrap().1;
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&2_u32.to_le_bytes());
    hasher.update(body.as_bytes());
    fs::write(&path, format!("bergamot-job 2 {:08x}\n{body}", hasher.finalize())).unwrap();
    let mut daemon = Daemon::start(&home, &config);
    let mut client = home.connect().unwrap();
    client.call("job.resume", json!({ "jobs": [1] })).unwrap();
    daemon.wait_complete("held");
    daemon.stop();
}

/// A job called "held" is in the spool, paused, and no daemon runs.
fn spool_paused(home: &Home, config: &str, post: &Generated) {
    let daemon = Daemon::start(home, config);
    let mut client = home.connect().unwrap();
    client.call("queue.pause", json!({})).unwrap();
    add(&mut client, "held", post).unwrap();
    client.call("job.pause", json!({ "jobs": [1] })).unwrap();
    client.call("queue.resume", json!({})).unwrap();
    daemon.stop();
}

fn flip(path: &Path, at: usize) {
    let mut bytes = fs::read(path).unwrap();
    bytes[at] ^= 1;
    fs::write(path, bytes).unwrap();
}

// S-10
#[test]
fn state_of_a_newer_bergamot_is_refused_and_left_alone() {
    let sound = Sound::new();
    let home = sound.copy();
    let path = home.join("state/spool/00000002.job");
    let old = fs::read_to_string(&path).unwrap();
    let body = old.split_once('\n').unwrap().1;
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&99_u32.to_le_bytes());
    hasher.update(body.as_bytes());
    fs::write(&path, format!("bergamot-job 99 {:08x}\n{body}", hasher.finalize())).unwrap();
    let before = home.inventory("state");
    let stopped = Daemon::launch(&home, CONFIG, Daemon::command()).finish();
    let said = stopped.log.join("\n");
    assert_eq!(stopped.code, Some(1), "{said}");
    for word in ["state.newer", "version 99", "00000002.job"] {
        assert!(said.contains(word), "{word} in {said}");
    }
    assert!(home.inventory("state") == before, "nothing is changed");
}

#[test]
fn state_that_cannot_be_written_holds_up_what_comes_in_until_it_can() {
    for (hindrance, code) in
        [(Hindrance::ReadOnly, "state.read_only"), (Hindrance::NoRoom, "state.full")]
    {
        let home = Home::new();
        let Some(disk) = Mounted::at(&home.join("state"), "4m") else { return };
        let post = post(7);
        let news = News::plain(Arc::new(post.clone()));
        let config = news.section(0, "");
        Daemon::start(&home, &config).stop();
        hindrance.strike(&disk);
        let mut daemon = Daemon::start(&home, &config);
        let mut client = home.connect().unwrap();
        let is_open = matches!(hindrance, Hindrance::NoRoom);
        assert_eq!(health(&home).status.success(), is_open, "{:?}", health(&home));
        assert_eq!(daemon.log().iter().any(|line| line.contains("INFO ready")), is_open);
        let refused = add(&mut client, "held", &post).unwrap_err();
        assert!(refused.to_string().contains(code), "{refused}");
        assert!(Listing::ask(&mut client).unwrap().queue.is_empty());
        home.drop_nzb("dropped.nzb", post.nzb());
        client.call("watch.scan", json!({})).unwrap();
        assert!(home.join("watch/dropped.nzb").exists(), "it waits for its turn");
        hindrance.pass(&disk);
        assert!(health(&home).status.success(), "{:?}", health(&home));
        client.call("watch.scan", json!({})).unwrap();
        daemon.wait_complete("dropped");
        daemon.stop();
    }
}

// S-13
#[test]
fn a_journal_that_cannot_be_written_stops_downloads_until_it_can() {
    let home = Home::new();
    let post = Generated::new(9, ByteCount(10_000)).file("f.bin", ByteCount(2_000_000));
    let news = News::plain(Arc::new(post.clone()));
    let mut daemon = Daemon::start(&home, &news.section(0, "connections = 2"));
    let mut client = home.connect().unwrap();
    // Slow enough that it is in the middle when the journal goes.
    client.call("limits.set", json!({ "rate": 100_000 })).unwrap();
    add(&mut client, "large", &post).unwrap();
    let (journal, aside) =
        (home.join("state/spool/00000001.journal"), home.join("state/journal-aside"));
    while !journal.exists() {
        thread::yield_now();
    }
    // A directory of that name cannot be written to, not even by root.
    fs::rename(&journal, &aside).unwrap();
    fs::create_dir(&journal).unwrap();
    daemon.wait_for(&["WARN", "downloads stop", "00000001.journal"]);
    let status = client.call("system.status", json!({})).unwrap();
    assert!(status["warnings"].to_string().contains("state.unwritable"), "{status}");
    let refused = add(&mut client, "new", &self::post(1)).unwrap_err().to_string();
    assert!(refused.contains("state.unwritable"), "{refused}");
    let explained = client.call("queue.explain", json!({})).unwrap().to_string();
    assert!(explained.contains("cannot be put on record"), "{explained}");
    // What was under way has come, and nothing else is asked for.
    while client.call("system.status", json!({})).unwrap()["standing_by"] != json!(true) {
        thread::yield_now();
    }
    let listing = Listing::ask(&mut client).unwrap();
    assert_eq!((listing.queue.len(), listing.past.len()), (1, 0), "it is not lost, and not ended");
    fs::remove_dir(&journal).unwrap();
    fs::rename(&aside, &journal).unwrap();
    client.call("limits.set", json!({ "rate": null })).unwrap();
    daemon.wait_for(&["INFO", "downloads go on"]);
    daemon.wait_complete("large");
    daemon.stop();
}

#[test]
fn room_that_is_freed_for_a_pause_is_not_taken_by_new_jobs() {
    for (method, params) in [("job.pause", json!({ "jobs": [1] })), ("queue.pause", json!({}))] {
        let home = Home::new();
        let Some(disk) = Mounted::at(&home.join("state"), "4m") else { return };
        let daemon = Daemon::start(&home, CONFIG);
        let mut client = home.connect().unwrap();
        client.call("limits.set", json!({ "rate": 1_000_000 })).unwrap(); // makes the file of settings
        add(&mut client, "first", &post(1)).unwrap();
        disk.fill_up_to(0);
        client.call(method, params).unwrap();
        for seed in 2..5 {
            let refused = add(&mut client, "new", &post(seed)).unwrap_err();
            assert!(refused.to_string().contains("state.full"), "{method}: {refused}");
        }
        client.call("job.set", json!({ "jobs": [1], "priority": 50 })).unwrap();
        fs::remove_file(disk.path().join("filler")).unwrap();
        add(&mut client, "new", &post(2)).unwrap();
        daemon.stop();
    }
}

fn health(home: &Home) -> std::process::Output {
    let mut command = Daemon::command();
    command.arg("health").arg("--config").arg(home.join("bergamot.toml"));
    command.output().unwrap()
}

/// A state directory with a job that completed, one that is read in, one that is paused, and with
/// all that is kept beside jobs.
struct Sound {
    home: Home,
    listing: Listing,
}

impl Sound {
    fn new() -> Self {
        let home = Home::in_memory();
        let (done, waiting, paused) = (post(1), post(2), post(3));
        let news = News::plain(Arc::new(done.clone()));
        let config = format!("{QUOTA}{}", news.section(0, ""));
        let mut daemon = Daemon::start(&home, &config);
        let mut client = home.connect().unwrap();
        add(&mut client, "done", &done).unwrap();
        daemon.wait_complete("done");
        client.call("limits.set", json!({ "rate": 1_000_000 })).unwrap();
        client.call("queue.pause", json!({})).unwrap();
        add(&mut client, "waiting", &waiting).unwrap();
        add(&mut client, "paused", &paused).unwrap();
        client.call("job.pause", json!({ "jobs": [3] })).unwrap();
        daemon.stop();
        let mut daemon = Daemon::start(&home, CONFIG);
        let listing = Listing::ask(&mut home.connect().unwrap()).unwrap();
        daemon.wait_for(&["INFO started", "name=waiting"]);
        daemon.stop();
        assert_eq!((listing.queue.len(), listing.past.len()), (2, 1));
        Self { home, listing }
    }

    fn copy(&self) -> Home {
        let home = Home::in_memory();
        for name in ["state", "incomplete", "complete"] {
            copy_all(&self.home.join(name), &home.join(name));
        }
        home
    }

    fn try_damaged(&self, mut chance: SplitMix) {
        let home = self.copy();
        let says_nothing =
            |path: &Path| ["daemon-id", "lock", "reserve"].iter().any(|name| path.ends_with(name));
        let mut files: Vec<_> = home.inventory("state").into_keys().collect();
        files.retain(|path| !says_nothing(path));
        let file = &files[chance.up_to(files.len() as u64 - 1) as usize];
        let context = damage(&home.join("state").join(file), &mut chance);
        let mut daemon = Daemon::launch(&home, CONFIG, Daemon::command());
        assert!(daemon.comes_up(), "{context}: {}", daemon.log().join("\n"));
        let mut client = home.connect().unwrap();
        let status = client.call("system.status", json!({})).unwrap();
        let listing = Listing::ask(&mut client).unwrap();
        let mut affected = self.affected(&listing);
        let warnings: Vec<_> = status["warnings"].as_array().unwrap().clone();
        if status["warnings"].to_string().contains("was rebuilt from its NZB") {
            // It has the name of its first file now, and waits to be resumed.
            let is_paused = |job: &Entry| job.name == REBUILT && job.paused;
            assert!(listing.queue.iter().any(is_paused), "{context}: {listing:?}");
            assert!(affected.remove(REBUILT), "{context}: {affected:?}");
        }
        assert!(affected.len() <= 1, "{context}: {affected:?}");
        let name = file.file_name().unwrap().to_str().unwrap();
        let is_told = warnings.iter().filter_map(Value::as_str).any(|it| it.contains(name));
        // What NZBs and journals hold is looked at when their jobs are.
        let is_sealed = !name.ends_with(".nzb") && !name.ends_with(".journal");
        let is_explained = affected.iter().all(|job| listing.past.contains_key(job));
        assert!(is_told || !is_sealed && is_explained, "{context}: {affected:?}, {warnings:?}");
        let log = daemon.stop().log;
        assert!(!is_told || log.iter().any(|line| line.contains(name)), "{context}");
    }

    /// The jobs that are not as they were.
    fn affected(&self, now: &Listing) -> BTreeSet<String> {
        let by_name = |listing: &Listing| -> BTreeMap<String, String> {
            let queued = listing.queue.iter().map(|it| (it.name.clone(), format!("{it:?}")));
            let past =
                listing.past.iter().map(|(name, ended)| (name.clone(), format!("{ended:?}")));
            queued.chain(past).collect()
        };
        let (then, now) = (by_name(&self.listing), by_name(now));
        let all: BTreeSet<_> = then.keys().chain(now.keys()).cloned().collect();
        all.into_iter().filter(|name| then.get(name) != now.get(name)).collect()
    }
}

/// Flips some bits of one byte, or cuts the file.
fn damage(path: &Path, chance: &mut SplitMix) -> String {
    let mut bytes = fs::read(path).unwrap();
    let at = chance.up_to(bytes.len() as u64 - 1) as usize;
    let what = match chance.up_to(1) {
        0 => {
            bytes.truncate(at);
            "cut"
        }
        _ => {
            bytes[at] ^= 1 + chance.up_to(254) as u8;
            "flipped"
        }
    };
    fs::write(path, bytes).unwrap();
    format!("{} {what} at {at}", path.display())
}

fn copy_all(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.is_dir() {
            copy_all(&from, &to);
        } else {
            fs::copy(from, to).unwrap();
        }
    }
}

fn post(seed: u64) -> Generated {
    Generated::new(seed, ByteCount(10_000)).file(REBUILT, ByteCount(25_000))
}

fn add(client: &mut Client, name: &str, post: &Generated) -> Result<Value, ClientError> {
    client.call("queue.add", json!({ "name": name, "nzb": STANDARD.encode(post.nzb()) }))
}

#[derive(Clone, Copy)]
enum Hindrance {
    NoRoom,
    ReadOnly,
}

impl Hindrance {
    fn strike(self, disk: &Mounted) {
        match self {
            Self::NoRoom => drop(disk.fill_up_to(0)),
            Self::ReadOnly => disk.remount("ro"),
        }
    }

    fn pass(self, disk: &Mounted) {
        match self {
            Self::NoRoom => fs::remove_file(disk.path().join("filler")).unwrap(),
            Self::ReadOnly => disk.remount("rw"),
        }
    }
}

fn number(name: &str, default: u64) -> u64 {
    env::var(name).map_or(default, |value| value.parse().unwrap())
}

/// Nobody listens there: jobs are read in, and wait.
const CONFIG: &str =
    "[[server]]\nname = \"s0\"\nhost = \"127.0.0.1\"\nport = 9\nencryption = \"none\"\n";

/// What is used of it has a file.
const QUOTA: &str = "[quota]\nmonthly = \"1 GB\"\n";

/// The file of each post.
const REBUILT: &str = "f.bin";

const LANES: usize = 4;
