//! How long `status` takes while others are a nuisance: 256 clients that dawdle, half of them with
//! what they say and half with what they are told, and a download over 500 connections.
//!
//! The real daemon, a news server of ours and all clients share this machine. Each call has a
//! connection of its own, as those of most programs do, every other one over the Unix socket.
//!
//! `cargo run --release --package bergamot-benches --bin status -- 2000`; `bergamot` has to lie
//! beside it. Fails when an answer is missing or one in a hundred takes longer than a second.

#![forbid(unsafe_code)]

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, ExitCode};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use bergamot_newsd::{Generated, Manners, Options, Server};
use bergamot_types::{ByteCount, ByteRate};
use tempfile::TempDir;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpSocket;
use tokio::runtime::Runtime;
use tokio::time::sleep;

fn main() -> anyhow::Result<ExitCode> {
    let calls = std::env::args().nth(1).map_or(Ok(2000), |text| text.parse::<usize>())?;
    ensure!(calls >= 2, "each way is to be asked at least once");
    let runtime = Runtime::new()?;
    let post = post();
    let nzb = post.nzb();
    let manners = Manners { pace: Some(PACE), ..Manners::default() };
    let news = Options { manners, ..Options::new(post) };
    let news = runtime.block_on(Server::start(news))?;
    let mut daemon = Daemon::start(news.address().port())?;
    daemon.download(&nzb, &news)?;
    let nuisance = Nuisance::start(&runtime, daemon.address);
    nuisance.wait_for(SLOW_CLIENTS)?;

    let before = news.tally().sent();
    let (socket, http) = (&mut Vec::new(), &mut Vec::new());
    for call in 0..calls {
        match call % 2 {
            0 => socket.push(timed(|| daemon.ask_over_socket())?),
            _ => http.push(timed(|| daemon.ask_over_http())?),
        }
        thread::sleep(BETWEEN_CALLS);
    }
    let sent = ByteCount(news.tally().sent().0 - before.0);
    println!(
        "{} connections downloaded {} MB meanwhile; slow clients connected {} times",
        news.tally().connections().open,
        sent.0 / 1_000_000,
        nuisance.connected.load(Relaxed)
    );
    let slowest = [("socket", socket), ("HTTP", http)].map(|(way, took)| report(way, took));
    ensure!(sent.0 > 0, "nothing was downloaded meanwhile");
    let worst = slowest.into_iter().max().unwrap_or_default();
    if worst > GOAL {
        println!("that is more than {GOAL:?}");
    }
    Ok(if worst > LIMIT { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Prints how long the calls took; one in a hundred took longer than what is returned.
fn report(way: &str, took: &mut [Duration]) -> Duration {
    took.sort();
    let at = |share: usize| took[(took.len() * share).div_ceil(100) - 1];
    let milliseconds = |time: Duration| time.as_secs_f64() * 1000.0;
    println!(
        "status over {way:6}: {} calls, median {:.1} ms, 99 of 100 within {:.1} ms, all within {:.1} ms",
        took.len(),
        milliseconds(at(50)),
        milliseconds(at(99)),
        milliseconds(at(100)),
    );
    at(99)
}

fn timed(ask: impl FnOnce() -> anyhow::Result<()>) -> anyhow::Result<Duration> {
    let began = Instant::now();
    ask()?;
    Ok(began.elapsed())
}

/// More than can be downloaded meanwhile.
fn post() -> Generated {
    let file = |post: Generated, number| post.file(format!("file{number}.bin"), FILE);
    (0..FILES).fold(Generated::new(7, ARTICLE), file)
}

/// The real daemon in a directory of its own; it ends with us.
struct Daemon {
    child: Child,
    address: SocketAddr,
    home: TempDir,
}

impl Daemon {
    fn start(news: u16) -> anyhow::Result<Self> {
        let home = tempfile::tempdir()?;
        let (config, log) = (home.path().join("bergamot.toml"), home.path().join("log"));
        fs::create_dir(home.path().join("watch"))?;
        let text = format!(
            "[control]\nsocket = \"control.sock\"\nport = 0\n\n[[server]]\nname = \"news\"\n\
             host = \"127.0.0.1\"\nport = {news}\nencryption = \"none\"\n\
             connections = {CONNECTIONS}\n"
        );
        fs::write(&config, text)?;
        let program = bergamot_benches::daemon()?;
        let mut command = Command::new(&program);
        command.arg("run").arg("--config").arg(config).stderr(File::create(&log)?);
        let child =
            command.spawn().with_context(|| format!("cannot start {}", program.display()))?;
        let mut daemon = Self { child, address: SocketAddr::from(([127, 0, 0, 1], 0)), home };
        daemon.address = wait_for("the daemon listens", || listening_at(&log))?;
        Ok(daemon)
    }

    /// Hands in the NZB and waits until all connections are well under way.
    fn download(&mut self, nzb: &str, news: &Server) -> anyhow::Result<()> {
        let draft = self.home.path().join("draft");
        fs::write(&draft, nzb)?;
        fs::rename(draft, self.home.path().join("watch/job.nzb"))?;
        wait_for("all connections are under way", || {
            let (open, sent) = (news.tally().connections().open, news.tally().sent());
            (open >= CONNECTIONS && sent >= HEAD_START).then_some(())
        })
    }

    fn ask_over_socket(&self) -> anyhow::Result<()> {
        let mut stream = UnixStream::connect(self.home.path().join("control.sock"))?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.write_all(b"{\"id\":1,\"method\":\"status\"}\n")?;
        stream.shutdown(Shutdown::Write)?;
        expect_status(stream)
    }

    fn ask_over_http(&self) -> anyhow::Result<()> {
        let mut stream = TcpStream::connect(self.address)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.write_all(request("Connection: close\r\n").as_bytes())?;
        expect_status(stream)
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // It has nothing that anybody wants to keep.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn request(headers: &str) -> String {
    format!("GET /jsonrpc/status HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n")
}

fn expect_status(mut stream: impl Read) -> anyhow::Result<()> {
    let mut answer = String::new();
    stream.read_to_string(&mut answer).context("an answer is missing")?;
    ensure!(answer.contains("\"DownloadRate\":"), "no answer: {answer:?}");
    Ok(())
}

/// The address in the daemon's first words.
fn listening_at(log: &Path) -> Option<SocketAddr> {
    let text = fs::read_to_string(log).ok()?;
    let word = text.split_whitespace().find_map(|word| word.strip_prefix("http="))?;
    word.trim_matches('"').parse().ok()
}

fn wait_for<T>(what: &str, look: impl Fn() -> Option<T>) -> anyhow::Result<T> {
    let began = Instant::now();
    while began.elapsed() < PATIENCE {
        if let Some(found) = look() {
            return Ok(found);
        }
        thread::sleep(BETWEEN_LOOKS);
    }
    bail!("waited {PATIENCE:?} until {what}")
}

/// Clients that take their time; whoever is sent away comes back.
struct Nuisance {
    connected: Arc<AtomicU64>,
}

impl Nuisance {
    fn start(runtime: &Runtime, address: SocketAddr) -> Self {
        let connected = Arc::new(AtomicU64::new(0));
        for client in 0..SLOW_CLIENTS {
            let connected = connected.clone();
            runtime.spawn(async move {
                loop {
                    if let Ok(stream) = connect(address).await {
                        connected.fetch_add(1, Relaxed);
                        match client % 2 {
                            0 => speak_slowly(stream).await,
                            _ => never_read(stream).await,
                        }
                    }
                    sleep(ONE_SECOND).await;
                }
            });
        }
        Self { connected }
    }

    fn wait_for(&self, count: u64) -> anyhow::Result<()> {
        wait_for("the slow clients are there", || {
            (self.connected.load(Relaxed) >= count).then_some(())
        })
    }
}

/// With as little room for what comes as the system allows.
async fn connect(address: SocketAddr) -> io::Result<tokio::net::TcpStream> {
    let socket = TcpSocket::new_v4()?;
    socket.set_recv_buffer_size(1)?;
    socket.connect(address).await
}

/// A byte a second, until the daemon has had enough.
async fn speak_slowly(mut stream: tokio::net::TcpStream) {
    for byte in request("X-Patience: none at all\r\n").bytes() {
        if stream.write_all(&[byte]).await.is_err() {
            return;
        }
        sleep(ONE_SECOND).await;
    }
}

/// Asks for more than fits between us, then once a second, and takes none of the answers.
async fn never_read(mut stream: tokio::net::TcpStream) {
    let mut questions = request("").repeat(QUESTIONS_AT_ONCE);
    while stream.write_all(questions.as_bytes()).await.is_ok() {
        questions = request("");
        sleep(ONE_SECOND).await;
    }
}

const SLOW_CLIENTS: u64 = 256;
const CONNECTIONS: u32 = 500;
const HEAD_START: ByteCount = ByteCount(200_000_000);
const ARTICLE: ByteCount = ByteCount(700_000);
const FILE: ByteCount = ByteCount(500_000_000);
const FILES: u32 = 40;
/// Of one connection; all of them together fill a line of a gigabit.
const PACE: ByteRate = ByteRate(250_000);
const QUESTIONS_AT_ONCE: usize = 100;
const ONE_SECOND: Duration = Duration::from_secs(1);
const BETWEEN_CALLS: Duration = Duration::from_millis(5);
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);
/// Far more than anything here takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// What we promise of 99 calls in 100.
const GOAL: Duration = Duration::from_millis(200);
/// Where a busy machine is no excuse any more.
const LIMIT: Duration = Duration::from_secs(1);
