//! A daemon made of fixed answers, behind the real server.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bergamot_api::feeds::*;
use bergamot_api::newsgroup::*;
use bergamot_api::request::*;
use bergamot_api::targets::*;
use bergamot_api::view::*;
use bergamot_queue::{Cause, Deletion, Stage};
use bergamot_rpc::metrics::{Arrivals, EndedJobs, Measured, PastSums, Process, QueueSums};
use bergamot_rpc::{Access, Client, Control, Hub, Refusal, Server, Settings, User};
use bergamot_types::{ByteRate, JobId, Secret, ServerId, UnixTime};
use tempfile::TempDir;

/// Answers from a script, and writes down what it was asked to do.
#[derive(Default)]
pub(crate) struct StandIn {
    /// Behind those that every list has.
    pub(crate) more_jobs: Mutex<Vec<JobId>>,
    pub(crate) done: Mutex<Vec<String>>,
}

impl StandIn {
    fn note(&self, what: String) {
        self.done.lock().expect("nobody panicked").push(what);
    }

    pub(crate) fn take_done(&self) -> Vec<String> {
        std::mem::take(&mut self.done.lock().expect("nobody panicked"))
    }
}

/// A running server with its own runtime.
pub(crate) struct Running {
    pub(crate) control: Arc<StandIn>,
    pub(crate) hub: Hub,
    pub(crate) address: SocketAddr,
    pub(crate) socket: PathBuf,
    pub(crate) runtime: tokio::runtime::Runtime,
    pub(crate) server: Option<Server>,
    _directory: TempDir,
}

pub(crate) fn start() -> Running {
    start_with(Settings::default())
}

pub(crate) fn start_with(settings: Settings) -> Running {
    let directory = tempfile::tempdir().expect("there is room");
    let socket = directory.path().join("control.sock");
    let settings = Settings {
        socket: Some(socket.clone()),
        listen: vec![SocketAddr::from(([127, 0, 0, 1], 0))],
        ..settings
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime starts");
    let (control, hub) = (Arc::new(StandIn::default()), Hub::new("boot-1"));
    let server = runtime
        .block_on(Server::start(settings, control.clone(), hub.clone()))
        .expect("it can listen");
    let address = server.addresses()[0];
    Running { control, hub, address, socket, runtime, server: Some(server), _directory: directory }
}

/// One user of each level, with the level as name and password.
pub(crate) fn three_users() -> Settings {
    let user = |access: Access| User {
        name: access.to_string(),
        password: Secret::new(access.to_string()),
        access,
    };
    let users = [Access::Add, Access::Restricted, Access::Control].map(user).to_vec();
    Settings { users, ..Settings::default() }
}

impl Running {
    pub(crate) fn client(&self) -> Client {
        Client::connect_socket(&self.socket).expect("it listens")
    }

    /// Sends bytes as they are, says no more, and reads all that comes.
    pub(crate) fn raw(&self, request: impl AsRef<[u8]>) -> String {
        exchange(TcpStream::connect(self.address).expect("it listens"), request)
    }

    /// The same from another address of this machine.
    pub(crate) fn raw_from(&self, address: [u8; 4], request: &str) -> String {
        self.runtime.block_on(async {
            let socket = tokio::net::TcpSocket::new_v4().expect("a socket");
            socket.bind((address, 0).into()).expect("all of 127.0.0.0/8 is ours");
            let stream = socket.connect(self.address).await.expect("it listens");
            let stream = stream.into_std().expect("a socket");
            stream.set_nonblocking(false).expect("a socket");
            tokio::task::block_in_place(|| exchange(stream, request))
        })
    }
    /// A request with these headers beside `Host`, each ended by a line end.
    pub(crate) fn http(&self, start: &str, headers: &str, body: &str) -> String {
        let length = body.len();
        self.raw(format!(
            "{start} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{headers}Content-Length: {length}\r\n\r\n{body}"
        ))
    }

    pub(crate) fn get(&self, path: &str) -> String {
        self.http(&format!("GET {path}"), "", "")
    }

    pub(crate) fn post(&self, body: &str) -> String {
        self.http("POST /jsonrpc", "", body)
    }
}

fn exchange(mut stream: TcpStream, request: impl AsRef<[u8]>) -> String {
    // A server that has had enough closes while we still write; its answer counts all the same.
    let _ = stream.write_all(request.as_ref());
    let _ = stream.shutdown(std::net::Shutdown::Write);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

pub(crate) fn status_of(answer: &str) -> u16 {
    answer.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0)
}

pub(crate) fn body_of(answer: &str) -> &str {
    answer.split_once("\r\n\r\n").map_or("", |(_, body)| body)
}

pub(crate) const NOW: UnixTime = UnixTime(1_800_000_000);

pub(crate) fn queued() -> Job {
    Job {
        id: JobId(7),
        name: "A Show S01E01".to_owned(),
        nzb_name: "A Show S01E01.nzb".to_owned(),
        url: Some("https://indexer.example/get?id=5&apikey=planted-key".to_owned()),
        category: Some("tv".to_owned()),
        priority: 50,
        state: JobState::Downloading,
        waits_for: None,
        paused: false,
        added: NOW,
        size: 5_000_000_000,
        remaining: 4_500_000_000,
        paused_remaining: 500_000_000,
        downloaded: 500_000_000,
        files: 60,
        remaining_files: 55,
        remaining_par2_files: 8,
        articles: 7000,
        good_articles: 690,
        failed_articles: 10,
        active: 12,
        health: 998,
        critical_health: 850,
        probe: None,
        oldest_post: Some(UnixTime(NOW.0 - 7200)),
        newest_post: Some(UnixTime(NOW.0 - 3600)),
        working_directory: Some("/data/incomplete/A Show S01E01.#7".to_owned()),
        destination: "/data/complete/tv/A Show S01E01".to_owned(),
        dupe_key: "show-1-1".to_owned(),
        dupe_score: 100,
        dupe_mode: DupeMode::Score,
        parameters: vec![Parameter { name: "drone".to_owned(), value: "0123abcd".to_owned() }],
        servers: vec![ServerArticles { server: ServerId(1), good: 690, failed: 10 }],
        stage_progress: 0,
        stage_seconds: 0,
        download_seconds: 30,
        post_seconds: 0,
        ended: None,
    }
}

pub(crate) fn ended(id: u32, state: JobState) -> Job {
    let failed = matches!(state, JobState::Failed(_));
    Job {
        id: JobId(id),
        url: None,
        state,
        remaining: 0,
        paused_remaining: 0,
        remaining_files: 0,
        remaining_par2_files: 0,
        good_articles: if failed { 6990 } else { 7000 },
        failed_articles: if failed { 10 } else { 0 },
        health: if failed { 998 } else { 1000 },
        active: 0,
        working_directory: None,
        ended: Some(Ended {
            at: NOW,
            reason: failed.then(|| "job.incomplete: no server has all of it".to_owned()),
            check: None,
            mark: None,
            hidden: false,
            can_retry: failed,
            missing: if failed { vec!["part1@example".to_owned()] } else { Vec::new() },
        }),
        ..queued()
    }
}

fn in_post() -> Job {
    Job {
        id: JobId(8),
        state: JobState::Post(Stage::Repairing),
        url: None,
        category: None,
        remaining: 0,
        paused_remaining: 0,
        active: 0,
        parameters: Vec::new(),
        stage_progress: 420,
        stage_seconds: 9,
        post_seconds: 21,
        ..queued()
    }
}

fn fetching() -> Job {
    Job {
        id: JobId(9),
        state: JobState::Fetching,
        files: 0,
        size: 0,
        remaining: 0,
        paused_remaining: 0,
        active: 0,
        ..queued()
    }
}

fn hidden() -> Job {
    let mut job = ended(3, JobState::Deleted(Deletion::Duplicate));
    if let Some(ended) = &mut job.ended {
        ended.hidden = true;
    }
    job
}

fn file(id: u64, index: u32, name: &str, state: FileState) -> File {
    File {
        id,
        job: JobId(7),
        index,
        name: name.to_owned(),
        name_confirmed: true,
        subject: format!("[1/60] \"{name}\" yEnc (1/100)"),
        size: 50_000_000,
        remaining: 40_000_000,
        paused: false,
        posted: Some(UnixTime(NOW.0 - 3600)),
        active: 3,
        state,
    }
}

fn disk(path: &str) -> Disk {
    Disk {
        path: path.to_owned(),
        free: 6_000_000_000,
        total: 9_000_000_000,
        reserve: 1_000_000_000,
        trouble: None,
    }
}

fn feed_error() -> FeedError {
    FeedError {
        at: NOW,
        feed: "indexer".to_owned(),
        code: "feed.status".to_owned(),
        message: "the server answered with status 500".to_owned(),
    }
}

fn feed_item() -> FeedItem {
    FeedItem {
        title: "Some.Show.S02E07".to_owned(),
        url: Some("https://indexer.example/get/abc?***".to_owned()),
        size: Some(5_000_000_000),
        categories: vec!["TV > HD".to_owned(), "5040".to_owned()],
        published: Some(UnixTime(NOW.0 - 3600)),
        season: Some(2),
        episode: Some(7),
        verdict: FeedVerdict::Accepted,
        rule: Some(1),
        fate: FeedItemState::New,
        category: Some("tv".to_owned()),
        priority: Some(50),
        paused: false,
        dupe_key: "some show-s02e07".to_owned(),
        dupe_score: 10,
        dupe_mode: DupeMode::Score,
    }
}

fn other_feed_item() -> FeedItem {
    FeedItem {
        title: "Other".to_owned(),
        url: None,
        size: None,
        verdict: FeedVerdict::Rejected,
        rule: Some(2),
        fate: FeedItemState::Ignored,
        ..feed_item()
    }
}

impl Control for StandIn {
    async fn status(&self) -> Result<Status, Refusal> {
        Ok(Status {
            version: "0.1.0".to_owned(),
            now: NOW,
            started: UnixTime(NOW.0 - 86_400),
            boot: "boot-1".to_owned(),
            last_event: 5,
            rate: 125_000_000,
            average_rate: 3_000_000_000,
            limit: Some(200_000_000),
            jobs: 3,
            jobs_in_post: 1,
            urls: 1,
            remaining: 4_500_000_000,
            forced_remaining: 0,
            paused_remaining: 500_000_000,
            downloaded: 10_000_000_000,
            downloaded_today: 2_000_000_000,
            downloaded_this_month: 90_000_000_000,
            download_seconds: 3600,
            cached: 33_554_432,
            connections: 20,
            download_paused: None,
            post_paused: Some(Paused {
                by: "ann over HTTP".to_owned(),
                since: NOW,
                until: Some(UnixTime(NOW.0 + 600)),
                ends: "by itself, or with resume".to_owned(),
            }),
            scan_paused: None,
            quota_reached: false,
            feed_active: true,
            standing_by: false,
            complete_disk: disk("/data/complete"),
            incomplete_disk: disk("/data/incomplete"),
            warnings: vec!["the record of job 4 was set aside".to_owned()],
        })
    }

    async fn queue(&self, which: JobFilter) -> Result<Page<Job>, Refusal> {
        let items = vec![queued(), in_post(), fetching()];
        let total = items.len();
        let most = which.limit.unwrap_or(total);
        Ok(Page { total, items: items.into_iter().skip(which.offset).take(most).collect() })
    }

    async fn history(&self, which: JobFilter) -> Result<Page<Job>, Refusal> {
        let mut items = vec![
            ended(5, JobState::Completed { verified: true }),
            ended(4, JobState::Failed(Cause::Incomplete)),
        ];
        items.extend(which.hidden.then(hidden));
        Ok(Page { total: items.len(), items })
    }

    async fn list(&self, list: ListKind, which: JobFilter) -> Result<Listing, Refusal> {
        let Page { total, items: first } = match list {
            ListKind::History => self.history(which).await?,
            ListKind::Queue => self.queue(which).await?,
        };
        let rest = self.more_jobs.lock().expect("nobody panicked").clone();
        Ok(Listing { total: total + rest.len(), first, rest })
    }

    async fn listed(&self, _: ListKind, jobs: Vec<JobId>) -> Result<Vec<Job>, Refusal> {
        assert!(jobs.len() <= Listing::AT_ONCE);
        if jobs.contains(&WHERE_IT_STOPS) {
            return Err(Refusal::Stopping);
        }
        // Each tenth has left meanwhile.
        let there = jobs.into_iter().filter(|job| !job.0.is_multiple_of(10));
        Ok(there.map(|id| Job { id, ..queued() }).collect())
    }

    async fn job(&self, id: JobId) -> Result<Job, Refusal> {
        if id == queued().id { Ok(queued()) } else { Err(Refusal::NoSuchJob(id)) }
    }

    async fn files(&self, job: Option<JobId>) -> Result<Vec<File>, Refusal> {
        match job {
            Some(job) if job != queued().id => Err(Refusal::NoSuchJob(job)),
            _ => Ok(vec![
                file(1_000_001, 0, "show.rar", FileState::Wanted),
                file(1_000_002, 1, "show.par2", FileState::Wanted),
                file(1_000_003, 2, "show.vol00+01.par2", FileState::HeldBack),
                file(1_000_004, 3, "show.nfo", FileState::Whole),
            ]),
        }
    }

    async fn jobs_of_files(&self, files: Vec<u64>) -> Result<Vec<JobId>, Refusal> {
        let ours = files.iter().any(|file| (1_000_001..=1_000_004).contains(file));
        Ok(ours.then_some(queued().id).into_iter().collect())
    }

    async fn add(&self, new: NewJob) -> Result<JobId, Refusal> {
        self.note(format!("{new:?}"));
        Ok(JobId(10))
    }

    async fn edit(
        &self,
        jobs: Vec<JobId>,
        edit: Edit,
    ) -> Result<Vec<Result<(), Refusal>>, Refusal> {
        let ids: Vec<u32> = jobs.iter().map(|job| job.0).collect();
        self.note(format!("{edit:?} {ids:?}"));
        let of_history = matches!(edit, Edit::History(_));
        let known = |job: &JobId| if of_history { job.0 < 7 } else { job.0 >= 7 && job.0 < 100 };
        Ok(jobs
            .iter()
            .map(|job| if known(job) { Ok(()) } else { Err(Refusal::NoSuchJob(*job)) })
            .collect())
    }

    async fn split(&self, job: JobId, files: Vec<u32>, name: String) -> Result<JobId, Refusal> {
        self.note(format!("split {files:?} of {job} as {name}"));
        if job == queued().id { Ok(JobId(11)) } else { Err(Refusal::NoSuchJob(job)) }
    }

    async fn merge(&self, jobs: Vec<JobId>) -> Result<(), Refusal> {
        self.note(format!("merge {:?}", jobs.iter().map(|job| job.0).collect::<Vec<_>>()));
        match jobs.iter().find(|job| job.0 >= 100) {
            Some(job) => Err(Refusal::Impossible(format!("show.rar of job {job} is begun"))),
            None => Ok(()),
        }
    }

    async fn pause(&self, pause: Pause) -> Result<(), Refusal> {
        self.note(format!("pause {:?} for {:?}", pause.parts, pause.lasting));
        Ok(())
    }

    async fn resume(&self, parts: Vec<Part>) -> Result<(), Refusal> {
        self.note(format!("resume {parts:?}"));
        Ok(())
    }

    async fn resume_in(&self, pause: Duration) -> Result<(), Refusal> {
        self.note(format!("resume in {pause:?}"));
        Ok(())
    }

    async fn limit(&self, rate: Option<ByteRate>) -> Result<(), Refusal> {
        self.note(format!("limit {rate:?}"));
        Ok(())
    }

    async fn servers(&self) -> Result<Vec<bergamot_api::view::Server>, Refusal> {
        Ok(vec![bergamot_api::view::Server {
            id: ServerId(1),
            name: "one".to_owned(),
            host: "news.example".to_owned(),
            port: 563,
            tls: true,
            active: true,
            level: 0,
            connections: 20,
            learned_connections: Some(18),
            open: 18,
            working: 12,
            rate: 125_000_000,
            latency_ms: Some(23),
            trouble: None,
            rests_until: None,
            downloaded: 10_000_000_000,
            good_articles: 14_000,
            failed_articles: 10,
        }])
    }

    async fn switch_servers(&self, switches: Vec<(ServerId, bool)>) -> Result<(), Refusal> {
        self.note(format!("switch {switches:?}"));
        match switches.iter().find(|(server, _)| server.0 != 1) {
            Some((server, _)) => Err(Refusal::NoSuchServer(server.0)),
            None => Ok(()),
        }
    }

    async fn check_server(&self, server: ServerId) -> Result<(), Refusal> {
        match server.0 {
            1 => Ok(()),
            other => Err(Refusal::NoSuchServer(other)),
        }
    }

    async fn add_server(&self, server: NewServer) -> Result<(), Refusal> {
        self.note(format!("{server:?}"));
        Ok(())
    }

    async fn test_disk(&self, trial: DiskTest) -> Result<DiskSpeed, Refusal> {
        self.note(format!("{trial:?}"));
        Ok(DiskSpeed { written: 3 << 29, took: Duration::from_millis(1234) })
    }

    async fn save_config(&self, settings: Vec<Setting>) -> Result<(), Refusal> {
        for Setting { table, number, key, value, .. } in settings {
            let number = number.map(|number| format!("{number}.")).unwrap_or_default();
            self.note(format!("{table}.{number}{key} = {value:?}"));
        }
        Ok(())
    }

    async fn remove_server(&self, name: String) -> Result<(), Refusal> {
        self.note(format!("without the server {name}"));
        Ok(())
    }

    async fn test_server(&self, probe: ServerProbe) -> Result<(), Refusal> {
        self.note(format!("{probe:?}"));
        if probe.host == "down.example" {
            return Err(Refusal::Unavailable("down.example does not answer".to_owned()));
        }
        Ok(())
    }

    async fn volumes(&self) -> Result<Vec<Volume>, Refusal> {
        let volume = |server| Volume {
            server,
            now: NOW.0,
            first_day: 20_832,
            total: 10_000_000_000,
            custom: 5_000_000,
            custom_since: NOW.0 - 3600,
            reset: 0,
            second: 1,
            minute: 1,
            hour: 1,
            day: 1,
            seconds: vec![0, 125_000_000],
            minutes: vec![0, 7_000_000_000],
            hours: vec![0, 8_000_000_000],
            days: vec![1_000_000_000, 9_000_000_000],
            articles: vec![DayArticles { good: 9, failed: 1 }],
        };
        Ok(vec![volume(None), volume(Some(ServerId(1)))])
    }

    async fn reset_volumes(
        &self,
        server: Option<ServerId>,
        only_custom: bool,
    ) -> Result<(), Refusal> {
        self.note(format!("reset {server:?}, only custom: {only_custom}"));
        Ok(())
    }

    async fn targets(&self) -> Result<Vec<Target>, Refusal> {
        Ok(vec![Target {
            kind: TargetKind::Feed,
            subject: Some("indexer".to_owned()),
            enabled: true,
            running: false,
            priority: 0,
            interval_ms: Some(3_600_000),
            next_due: Some(UnixTime(1_800_000_000)),
            last_result: LastResult::Ok,
            last_run: None,
            failures: 0,
        }])
    }

    async fn disks(&self) -> Result<Vec<Disk>, Refusal> {
        Ok(vec![disk("/data/incomplete"), disk("/data/complete")])
    }

    async fn accept_disks(&self, path: Option<String>) -> Result<(), Refusal> {
        self.note(format!("accept {path:?}"));
        Ok(())
    }

    async fn quotas(&self) -> Result<Vec<Quota>, Refusal> {
        Ok(vec![Quota {
            server: None,
            period: "month".to_owned(),
            limit: 1_000_000_000_000,
            used: 90_000_000_000,
            reached: false,
            renews: Some(UnixTime(NOW.0 + 864_000)),
        }])
    }

    async fn explain(&self, job: Option<JobId>) -> Result<Explanation, Refusal> {
        Ok(Explanation {
            sentence: match job {
                Some(job) => format!("Job {job} is held by the limit."),
                None => "The limit of 200 MB/s holds it.".to_owned(),
            },
            code: "limited".to_owned(),
            evidence: vec![Evidence {
                about: "limit".to_owned(),
                who: None,
                fact: "the limit is 200 MB/s".to_owned(),
                value: Some(2e8),
            }],
        })
    }

    async fn log(&self, query: LogQuery) -> Result<Vec<LogLine>, Refusal> {
        self.note(format!("{query:?}"));
        let line = |id, kind, text: &str| LogLine { id, kind, at: NOW, text: text.to_owned() };
        Ok(vec![line(1, LogKind::Info, "started"), line(2, LogKind::Warning, "a < b")])
    }

    async fn write_log(&self, kind: LogKind, text: String) -> Result<(), Refusal> {
        self.note(format!("{kind:?}: {text}"));
        Ok(())
    }

    async fn clear_log(&self) -> Result<(), Refusal> {
        self.note("clear the log".to_owned());
        Ok(())
    }

    async fn config(&self) -> Result<Config, Refusal> {
        let value = |key: &str, value: &str, secret| ConfigValue {
            key: key.to_owned(),
            value: value.to_owned(),
            secret,
            needs_restart: false,
        };
        Ok(Config {
            values: vec![
                value("servers.one.host", "news.example", false),
                value("servers.one.password", "planted-password", true),
            ],
            facts: facts(),
        })
    }

    async fn reload(&self) -> Result<Reload, Refusal> {
        self.note("reload".to_owned());
        Ok(Reload { applied: vec!["limits.rate".to_owned()], needs_restart: Vec::new() })
    }

    async fn scan(&self) -> Result<(), Refusal> {
        self.note("scan".to_owned());
        Ok(())
    }

    async fn feeds(&self) -> Result<Vec<Feed>, Refusal> {
        Ok(vec![Feed {
            id: 1,
            name: "indexer".to_owned(),
            title: "An Indexer".to_owned(),
            url: "https://indexer.example/api?***".to_owned(),
            active: true,
            state: FeedState::Failing,
            trouble: Some(feed_error()),
            interval: 3600,
            last_fetched: Some(UnixTime(NOW.0 - 600)),
            next_due: Some(UnixTime(NOW.0 + 60)),
            failures: 1,
            seen: 100,
            wanted: 2,
            given_up: 1,
        }])
    }

    async fn feed_items(&self, feed: FeedChoice) -> Result<Vec<FeedItem>, Refusal> {
        match feed {
            FeedChoice::Id(1) => Ok(vec![feed_item(), other_feed_item()]),
            FeedChoice::Id(id) => Err(Refusal::NoSuchFeed(id.to_string())),
            FeedChoice::Name(name) => Err(Refusal::NoSuchFeed(name)),
        }
    }

    async fn preview_feed(&self, trial: FeedPreview) -> Result<Vec<FeedItem>, Refusal> {
        self.note(format!("{trial:?}"));
        Ok(vec![feed_item(), other_feed_item()])
    }

    async fn fetch_feeds(&self, feed: Option<FeedChoice>) -> Result<(), Refusal> {
        self.note(format!("{feed:?}"));
        Ok(())
    }

    async fn retry_feed(&self, feed: FeedChoice) -> Result<FeedRetry, Refusal> {
        self.note(format!("{feed:?}"));
        Ok(FeedRetry { items: 1, jobs: 2 })
    }

    async fn feed_errors(&self) -> Result<Vec<FeedError>, Refusal> {
        Ok(vec![feed_error()])
    }

    async fn rss(&self) -> Result<String, Refusal> {
        Ok("<rss version=\"2.0\"></rss>".to_owned())
    }

    async fn groups(&self, query: GroupQuery) -> Result<Page<Group>, Refusal> {
        self.note(format!("{query:?}"));
        let group = Group {
            name: "alt.binaries.test".to_owned(),
            description: Some("Tests of all kinds".to_owned()),
            first: 1,
            last: 9_000_000_000,
        };
        Ok(Page { total: 1, items: vec![group] })
    }

    async fn headers(&self, query: HeaderQuery) -> Result<HeaderPage, Refusal> {
        self.note(format!("{query:?}"));
        if query.group.as_str() == "no.such" {
            return Err(Refusal::NoSuchGroup(query.group.to_string()));
        }
        let header = Header {
            number: 9_000_000_000,
            subject: "show [1/2] - \"show.rar\" yEnc (1/2)".to_owned(),
            poster: "ann <ann@x>".to_owned(),
            date: Some(NOW),
            id: "1@x".to_owned(),
            bytes: 750_000,
        };
        Ok(HeaderPage {
            group: query.group.to_string(),
            server: "one".to_owned(),
            first: 1,
            last: 9_000_000_000,
            known: 5000,
            below: Some(8_999_999_900),
            items: vec![header],
        })
    }

    async fn posts(&self, query: PostQuery) -> Result<PostPage, Refusal> {
        self.note(format!("{query:?}"));
        let file =
            PostFile { name: Some("show.rar".to_owned()), bytes: 750_000, present: 1, expected: 2 };
        let post = Post {
            post: "00f1e2d3c4b5a697".to_owned(),
            title: "show".to_owned(),
            poster: "ann <ann@x>".to_owned(),
            date: Some(NOW),
            bytes: 750_000,
            complete: false,
            present_files: 1,
            expected_files: 2,
            present_articles: 1,
            expected_articles: 2,
            files: query.post.map(|_| vec![file]),
        };
        Ok(Page { total: 1, items: vec![post] })
    }

    async fn queue_post(&self, post: PostJob) -> Result<JobId, Refusal> {
        self.note(format!("{post:?}"));
        if post.post == "none" { Err(Refusal::NoSuchPost(post.post)) } else { Ok(JobId(11)) }
    }

    async fn measure(&self) -> Result<Measured, Refusal> {
        let mut queue = QueueSums::default();
        for job in self.queue(JobFilter::default()).await?.items {
            queue.add(job.state, job.paused, job.size);
        }
        let mut past = PastSums::default();
        for job in self.history(JobFilter::default()).await?.items {
            past.add(&job, job.category.as_deref().unwrap_or_default());
        }
        Ok(Measured {
            status: self.status().await?,
            servers: self.servers().await?,
            quotas: self.quotas().await?,
            queue,
            past,
            arrivals: Arrivals { added: 5, refused: 1 },
            ended: vec![EndedJobs { category: "tv".to_owned(), result: "completed", count: 3 }],
            process: Process {
                cpu_seconds: 1.5,
                open_files: 20,
                resident_bytes: 10_000_000,
                threads: 6,
                virtual_bytes: 100_000_000,
            },
        })
    }

    async fn readiness(&self) -> Result<Readiness, Refusal> {
        Ok(Readiness::Ready)
    }

    async fn shut_down(&self) -> Result<(), Refusal> {
        self.note("shut down".to_owned());
        Ok(())
    }
}

fn facts() -> Facts {
    Facts {
        binary: "/usr/bin/bergamot".to_owned(),
        config_file: "/config/bergamot.toml".to_owned(),
        main_directory: "/data".to_owned(),
        destination: "/data/complete".to_owned(),
        incomplete: "/data/incomplete".to_owned(),
        watch: "/data/watch".to_owned(),
        state: "/config/state".to_owned(),
        temporary: "/tmp".to_owned(),
        log_file: String::new(),
        keep_history_days: 30,
        watch_interval: 5,
        rate_limit: 204_800,
        daily_quota: 0,
        monthly_quota: 1 << 40,
        quota_start_day: 1,
        reserve: 1 << 30,
        health_action: "delete".to_owned(),
        duplicates_refused: true,
        control_address: "127.0.0.1".to_owned(),
        control_port: 6789,
        servers: vec![ServerFacts {
            name: "one".to_owned(),
            active: true,
            level: 0,
            optional: false,
            group: 0,
            host: "news.example".to_owned(),
            port: 563,
            tls: true,
            has_username: true,
            join_group: false,
            cipher: String::new(),
            certificates_checked: true,
            ip_version: "auto".to_owned(),
            connections: 20,
            retention: 0,
        }],
        feeds: vec![FeedFacts {
            name: "indexer".to_owned(),
            url: "https://indexer.example/api?***".to_owned(),
            rules: "Accept: show\nReject: *\n".to_owned(),
            interval_minutes: None,
            backlog: false,
            paused: false,
            category: "tv".to_owned(),
            priority: 50,
        }],
        categories: vec![
            CategoryFacts {
                name: "tv".to_owned(),
                destination: String::new(),
                aliases: vec!["series*".to_owned()],
                priority: 50,
            },
            CategoryFacts {
                name: "Movies".to_owned(),
                destination: "/films".to_owned(),
                aliases: Vec::new(),
                priority: 0,
            },
        ],
    }
}

/// The daemon is gone when it is asked for this one.
pub(crate) const WHERE_IT_STOPS: JobId = JobId(999_999);
