//! `kill -9` at any moment of a busy queue.
//!
//! Two lanes, each a daemon with its own server, are killed again and again after times that follow
//! from a seed, some of them while they start; people add, move, pause and delete jobs meanwhile, and put
//! their files into another order. After each start the queue is held against what was acknowledged. In the
//! end every file is compared by its checksum, and what the server handed out twice is charged to the kill
//! it was lost by.
//! `BERGAMOT_KILLS` says how many there are, `BERGAMOT_SEED` how it goes; `BERGAMOT_KILLS_ON_TWO_DISKS` is
//! the number of kills where finished jobs move to another disk, and there no article of a job that lies
//! whole in its destination may be fetched again.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops here")]

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{env, fmt, fs, thread};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bergamot_newsd::{Generated, Manners, Options};
use bergamot_rpc::ClientError;
use bergamot_tests::{
    AcknowledgedState, Change, Daemon, Entry, Home, Listing, Mounted, News, ServedArticle,
    ServedPosts, sha256,
};
use bergamot_types::{ByteCount, ByteRate, SplitMix};
use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};

#[test]
fn whatever_the_moment_nothing_is_lost_and_little_is_fetched_again() {
    let kills = from_environment("BERGAMOT_KILLS").unwrap_or(40);
    let seed = from_environment("BERGAMOT_SEED").unwrap_or(1);
    let start = Instant::now();
    let reports: Vec<Report> = thread::scope(|scope| {
        let lane = |lane| scope.spawn(move || Lane::new(seed, lane).run(kills.div_ceil(LANES)));
        let lanes: Vec<_> = (0..LANES).map(lane).collect();
        lanes.into_iter().map(|lane| lane.join().unwrap()).collect()
    });
    for (lane, report) in reports.iter().enumerate() {
        println!("lane {lane}: {report}");
    }
    println!("{} kills in {:.0?} (seed {seed})", kills.div_ceil(LANES) * LANES, start.elapsed());
}

// F-09
#[test]
fn killed_on_two_disks_no_job_that_has_arrived_is_fetched_again() {
    let kills = from_environment("BERGAMOT_KILLS_ON_TWO_DISKS").unwrap_or(20);
    let seed = from_environment("BERGAMOT_SEED").unwrap_or(1);
    let start = Instant::now();
    let reports: Vec<_> = thread::scope(|scope| {
        let lane = |lane| {
            scope.spawn(move || Some(Lane::on_two_disks(seed, lane)?.run(kills.div_ceil(LANES))))
        };
        let lanes: Vec<_> = (0..LANES).map(lane).collect();
        lanes.into_iter().filter_map(|lane| lane.join().unwrap()).collect()
    });
    for (lane, report) in reports.iter().enumerate() {
        println!("lane {lane}: {report}");
    }
    println!("{kills} kills on two disks in {:.0?} (seed {seed})", start.elapsed());
}

/// One daemon, its server, and what it has promised.
struct Lane {
    home: Home,
    news: News,
    served_posts: Arc<ServedPosts>,
    chance: SplitMix,
    seed: u64,
    acknowledged: AcknowledgedState,
    posts: Vec<Generated>,
    deleted: BTreeSet<String>, // jobs that somebody wanted to be
    kills: Kills,
    changes: u32,
    parked: u32,
    last_log: Vec<String>,
    arrived: BTreeSet<usize>, // posts that lay whole in their destination after a kill
    _disk: Option<Mounted>,   // for what is complete, if it has one of its own
}

/// Why nobody steers any more.
enum Broken {
    Connection,
    Promise(String),
}

impl From<ClientError> for Broken {
    fn from(_: ClientError) -> Self {
        Self::Connection
    }
}

impl From<String> for Broken {
    fn from(what: String) -> Self {
        Self::Promise(what)
    }
}

impl Lane {
    /// The disk of one takes its time, that of the other takes none.
    fn new(seed: u64, lane: u64) -> Self {
        let seed = seed * LANES + lane;
        let served_posts = Arc::new(ServedPosts::default());
        let manners = Manners { pace: Some(PACE), ..Manners::default() };
        let articles = served_posts.clone();
        Self {
            home: if lane == 0 { Home::new() } else { Home::in_memory() },
            news: News::start([Options { articles, manners, ..Options::default() }]),
            served_posts,
            chance: SplitMix::seeded(seed),
            seed,
            acknowledged: AcknowledgedState::default(),
            posts: Vec::new(),
            deleted: BTreeSet::new(),
            kills: Kills::at(PACE),
            changes: 0,
            parked: 0,
            last_log: Vec::new(),
            arrived: BTreeSet::new(),
            _disk: None,
        }
    }

    /// Jobs are small and come quickly, so that many of them are moved.
    fn on_two_disks(seed: u64, lane: u64) -> Option<Self> {
        let mut lane = Self::new(seed, lane);
        let manners = Manners { pace: Some(QUICK), ..Manners::default() };
        let articles = lane.served_posts.clone();
        lane.news = News::start([Options { articles, manners, ..Options::default() }]);
        lane.kills = Kills::at(QUICK);
        lane._disk = Some(Mounted::at(&lane.home.join("complete"), "2g")?);
        Some(lane)
    }

    fn run(mut self, kills: u64) -> Report {
        for _ in 0..kills {
            self.live_and_die();
        }
        self.finish()
    }

    fn live_and_die(&mut self) {
        let config = self.config(CONNECTIONS);
        let sent = self.news.tally(0).sent();
        let mut daemon = Daemon::launch(&self.home, &config, Daemon::command());
        let (pid, lifetime) = (daemon.pid(), self.lifetime());
        let (killed_at, steered) = thread::scope(|scope| {
            let killer = scope.spawn(move || {
                thread::sleep(lifetime); // there is no event to wait for: any moment will do
                let now = Instant::now();
                kill_process(pid, Signal::KILL).unwrap();
                now
            });
            let steered = if daemon.comes_up() { self.steer() } else { Ok(()) };
            (killer.join().unwrap(), steered)
        });
        let log = daemon.finish().log;
        if let Err(Broken::Promise(what)) = steered {
            let (before, now) = (self.last_log.join("\n"), log.join("\n"));
            panic!("{what}\nin its last life it said:\n{before}\nand in this one:\n{now}");
        }
        self.last_log = log;
        let sent = self.news.tally(0).sent().0 - sent.0;
        let served = self.served_posts.take_served();
        self.assert_not_arrived(&served);
        self.note_arrived();
        self.kills.on_kill(killed_at, sent, &served, &self.posts);
    }

    /// What bears the name of a job in the destination is whole.
    fn note_arrived(&mut self) {
        let entries = fs::read_dir(self.home.join("complete")).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let number = |name: String| name.strip_prefix("job-")?.parse::<usize>().ok();
        self.arrived.extend(names.filter_map(number));
    }

    fn assert_not_arrived(&self, served: &[ServedArticle]) {
        let again = served.iter().find(|article| self.arrived.contains(&article.post));
        let said = self.last_log.join("\n");
        assert!(again.is_none(), "job-{} had arrived:\n{said}", again.map_or(0, |it| it.post));
    }

    /// Mostly short, and often too short to be ready.
    fn lifetime(&mut self) -> Duration {
        let (least, most) = match self.chance.up_to(9) {
            0..=2 => (5, 60),
            3..=6 => (60, 400),
            _ => (400, 1500),
        };
        Duration::from_millis(least + self.chance.up_to(most - least))
    }

    /// What people do until the daemon dies under their hands.
    fn steer(&mut self) -> Result<(), Broken> {
        let mut client = self.home.connect()?;
        self.acknowledged.compare(Listing::ask_all(&mut client)?)?;
        for _ in 0..self.chance.up_to(4) {
            let (change, method, params) = self.next_change();
            self.acknowledged.ask(change);
            match client.call(method, params) {
                Ok(answer) if answer["results"][0]["ok"] != false => self.acknowledged.done(),
                // The job has ended meanwhile.
                Ok(_) => self.acknowledged.refused(),
                Err(error) => return Err(error.into()),
            }
            self.changes += 1;
            self.acknowledged.compare(Listing::ask_all(&mut client)?)?;
            thread::sleep(Duration::from_millis(self.chance.up_to(80)));
        }
        Ok(())
    }

    fn next_change(&mut self) -> (Change, &'static str, Value) {
        if let Some(parked) = self.acknowledged.parked() {
            self.parked += 1;
            let job = self.acknowledged.id(&parked.name);
            let after = Some(Entry { paused: false, ..parked.clone() });
            let change = Change { name: parked.name, after, leads: false };
            return (change, "job.retry", json!({ "jobs": [job] }));
        }
        let queue = self.acknowledged.queue().to_vec();
        if queue.len() < FEWEST_JOBS {
            return self.addition();
        }
        let entry = queue[self.chance.up_to(queue.len() as u64 - 1) as usize].clone();
        let jobs = json!([self.acknowledged.id(&entry.name)]);
        let mut leads = false;
        let others_run = queue.iter().filter(|it| !it.paused).count() > 2;
        let (after, method, params) = match self.chance.up_to(7) {
            0 if queue.len() < MOST_JOBS => return self.addition(),
            1 => {
                let priority = [-50, 0, 50][self.chance.up_to(2) as usize];
                let after = Entry { priority, ..entry.clone() };
                (Some(after), "job.set", json!({ "jobs": jobs, "priority": priority }))
            }
            2 => {
                let drone = format!("drone {}", self.chance.up_to(999));
                let parameters = json!([{ "name": "drone", "value": drone }]);
                let after = Entry { drone, ..entry.clone() };
                (Some(after), "job.set", json!({ "jobs": jobs, "parameters": parameters }))
            }
            3 if self.chance.up_to(2) == 0 => {
                self.deleted.insert(entry.name.clone());
                let without_trace = self.chance.up_to(1) == 0;
                (None, "job.remove", json!({ "jobs": jobs, "without_trace": without_trace }))
            }
            4 => {
                leads = self.chance.up_to(1) == 0;
                let to = if leads { "top" } else { "bottom" };
                (Some(entry.clone()), "job.move", json!({ "jobs": jobs, "to": to }))
            }
            5 if entry.files.len() > 1 => {
                let first = entry.files[self.chance.up_to(entry.files.len() as u64 - 1) as usize];
                let rest = entry.files.iter().copied().filter(|file| *file != first);
                let files = std::iter::once(first).chain(rest).collect();
                let job = self.acknowledged.id(&entry.name);
                let after = Entry { files, ..entry.clone() };
                (Some(after), "file.order", json!({ "job": job, "files": [first] }))
            }
            _ if entry.paused || others_run => {
                let after = Entry { paused: !entry.paused, ..entry.clone() };
                let method = if entry.paused { "job.resume" } else { "job.pause" };
                (Some(after), method, json!({ "jobs": jobs }))
            }
            _ => return self.addition(),
        };
        (Change { name: entry.name, after, leads }, method, params)
    }

    /// Large files, middling ones, or many small ones.
    fn addition(&mut self) -> (Change, &'static str, Value) {
        let number = self.posts.len();
        let post = Generated::new(self.seed << 32 | number as u64, ByteCount(ARTICLE));
        let (files, size) = [(1, 4_000_000), (3, 700_000), (40, 30_000)][number % 3];
        let post =
            (0..files).fold(post, |post, n| post.file(format!("f{n}.bin"), ByteCount(size + n)));
        let name = format!("job-{number}");
        let entry = Entry {
            name: name.clone(),
            priority: [0, 50][self.chance.up_to(1) as usize],
            paused: self.chance.up_to(9) == 0,
            drone: format!("drone of {number}"),
            files: (0..files).collect(),
        };
        let leads = self.chance.up_to(2) == 0;
        let params = json!({
            "name": format!("{name}.nzb"),
            "nzb": STANDARD.encode(post.nzb()),
            "priority": entry.priority,
            "paused": entry.paused,
            "at_top": leads,
            "parameters": [{ "name": "drone", "value": entry.drone }],
        });
        self.served_posts.add(post.clone());
        self.posts.push(post);
        (Change { name, after: Some(entry), leads }, "queue.add", params)
    }

    /// Lives on until all is downloaded, and looks at all of it.
    fn finish(mut self) -> Report {
        let mut daemon = Daemon::launch(&self.home, &self.config(40), Daemon::command());
        assert!(daemon.comes_up());
        let mut client = self.home.connect().unwrap();
        self.acknowledged.compare(Listing::ask_all(&mut client).unwrap()).unwrap();
        let parked = self.acknowledged.parked().into_iter();
        let names = self.acknowledged.queue().iter().map(|entry| entry.name.clone());
        let names: Vec<_> = names.chain(parked.clone().map(|entry| entry.name)).collect();
        let ids = |names: &mut dyn Iterator<Item = &String>| -> Vec<_> {
            names.map(|name| self.acknowledged.id(name)).collect()
        };
        let all = ids(&mut names.iter());
        let retried: Vec<_> = parked.map(|entry| entry.name).collect();
        client.call("job.retry", json!({ "jobs": ids(&mut retried.iter()) })).unwrap();
        client.call("job.resume", json!({ "jobs": all })).unwrap();
        for name in &names {
            daemon.expect_complete(name, self.acknowledged.id(name).unwrap());
        }
        let past = Listing::ask_all(&mut client).unwrap().past;
        daemon.stop();
        // A stop right behind the end of a job leaves it to the next start to clear up.
        let config = self.config(40);
        Daemon::start(&self.home, &config).stop();
        let served = self.served_posts.take_served();
        self.assert_not_arrived(&served);
        self.kills.on_end(&served);
        self.assert_whole(past.keys().filter(|name| !self.deleted.contains(*name)));
        Report {
            kills: self.kills,
            jobs: self.posts.len(),
            changes: self.changes,
            parked: self.parked,
        }
    }

    fn assert_whole<'a>(&self, names: impl Iterator<Item = &'a String>) {
        let mut found = self.home.inventory("complete");
        for name in names {
            let number: usize = name.trim_start_matches("job-").parse().unwrap();
            let post = &self.posts[number];
            for (file, (file_name, size)) in post.files().enumerate() {
                let mut content = vec![0; size.0 as usize];
                post.read_at(file, 0, &mut content);
                let path = Path::new(name).join(file_name);
                assert_eq!(found.remove(&path), Some(sha256(&content)), "{}", path.display());
            }
        }
        found.retain(|path, _| !self.deleted.iter().any(|name| path.starts_with(name)));
        assert!(found.is_empty(), "nothing else is there: {:?}", found.keys());
        let left = self.home.inventory("incomplete");
        assert!(left.is_empty(), "nothing is left behind: {:?}", left.keys());
        let left = fs::read_dir(self.home.join("incomplete")).into_iter().flatten().flatten();
        let left: Vec<_> = left.map(|entry| entry.file_name()).collect();
        assert!(left.is_empty(), "no directory is left behind: {left:?}");
        self.home.assert_contained();
    }

    fn config(&self, connections: u64) -> String {
        self.news.section(0, &format!("connections = {connections}"))
    }
}

/// What each kill cost.
struct Kills {
    pace: ByteRate, // of one connection
    costs: Vec<Cost>,
    last: HashMap<(usize, usize, u32), usize>, // in which life an article was handed out
    parts: HashMap<(usize, usize), u32>,       // how many of a file were handed out
}

/// In bytes on the wire.
struct Cost {
    /// Handed out before the kill and once more after it.
    again: u64,
    in_flight: u64,
    /// What the connections receive between two writes of the journal.
    unwritten: u64,
    /// Files that had all of their articles, the last of them a moment ago.
    finishing: u64,
}

impl Cost {
    fn bound(&self) -> u64 {
        self.in_flight + self.unwritten + self.finishing
    }
}

impl Kills {
    fn at(pace: ByteRate) -> Self {
        Self { pace, costs: Vec::new(), last: HashMap::new(), parts: HashMap::new() }
    }

    fn on_kill(&mut self, at: Instant, sent: u64, served: &[ServedArticle], posts: &[Generated]) {
        self.charge(served);
        let handed_out: u64 = served.iter().map(|article| article.bytes).sum();
        // What the server has sent may be on its way, an article for each connection.
        let on_its_way = CONNECTIONS * (ARTICLE + ARTICLE / 16);
        let fresh =
            served.iter().filter(|article| at.saturating_duration_since(article.at) < MOMENT);
        let fresh: BTreeSet<_> = fresh.map(|article| (article.post, article.file)).collect();
        let is_whole = |(post, file): &&(usize, usize)| {
            self.parts.get(&(*post, *file)) == Some(&posts[*post].parts(*file))
        };
        let size = |(post, file): &(usize, usize)| posts[*post].files().nth(*file).unwrap().1.0;
        let finishing: u64 = fresh.iter().filter(is_whole).map(size).sum();
        let in_flight = handed_out.saturating_sub(sent) + on_its_way;
        let (unwritten, finishing) = (CONNECTIONS * self.pace.0, finishing + finishing / 16);
        self.costs.push(Cost { again: 0, in_flight, unwritten, finishing });
    }

    fn on_end(&mut self, served: &[ServedArticle]) {
        self.charge(served);
        for (kill, cost) in self.costs.iter().enumerate() {
            let (again, bound) = (ByteCount(cost.again), ByteCount(cost.bound()));
            assert!(again <= bound, "kill {kill}: {again} fetched again, at most {bound}");
        }
    }

    /// What was handed out in this life, to those in which it was handed out before.
    fn charge(&mut self, served: &[ServedArticle]) {
        let life = self.costs.len();
        for article in served {
            match self.last.insert((article.post, article.file, article.part), life) {
                None => *self.parts.entry((article.post, article.file)).or_default() += 1,
                Some(before) if before < life => self.costs[before].again += article.bytes,
                Some(_) => {}
            }
        }
    }
}

struct Report {
    kills: Kills,
    jobs: usize,
    changes: u32,
    parked: u32,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let costs = &self.kills.costs;
        let worst = costs.iter().max_by_key(|cost| cost.again * 1000 / cost.bound());
        let (again, bound) = worst.map_or((0, 0), |cost| (cost.again, cost.bound()));
        let total: u64 = costs.iter().map(|cost| cost.again).sum();
        write!(
            f,
            "{} kills, {} jobs, {} changes, {} jobs parked; fetched again {} in all, after the worst \
             kill {} of at most {}",
            costs.len(),
            self.jobs,
            self.changes,
            self.parked,
            ByteCount(total),
            ByteCount(again),
            ByteCount(bound),
        )
    }
}

fn from_environment(name: &str) -> Option<u64> {
    env::var(name).ok().map(|value| value.parse().unwrap())
}

const LANES: u64 = 2;
const CONNECTIONS: u64 = 4;

/// Of one connection: a second of traffic is small compared with the jobs.
const PACE: ByteRate = ByteRate(400_000);

/// Of one connection where it is the moves that count.
const QUICK: ByteRate = ByteRate(4_000_000);
const ARTICLE: u64 = 25_000;

const FEWEST_JOBS: usize = 4;
const MOST_JOBS: usize = 8;

/// As long as the files of the last articles may take to be finished.
const MOMENT: Duration = Duration::from_millis(1500);
