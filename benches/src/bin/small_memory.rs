//! How much slower a download is where all of the daemon, page cache included, has to live in
//! 96 MiB, against the same download without that limit: three of each, by turns.
//!
//! The articles are made up by a news server in this process, outside the limit; so nothing but the
//! daemon and what it writes counts.
//!
//! `cargo run --release --package bergamot-benches --bin small_memory -- 4 GB`; `bergamot` has to lie
//! beside it (or be named by BERGAMOT_PROGRAM), and control groups take root. Fails when the speed
//! falls below four fifths.

#![forbid(unsafe_code)]

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use bergamot_newsd::{Generated, Options, Server};
use bergamot_testkit::skip;
use bergamot_types::ByteCount;
use tempfile::TempDir;
use tokio::runtime::Runtime;

fn main() -> anyhow::Result<ExitCode> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let size: ByteCount = words.join(" ").parse().context("how much is to be downloaded?")?;
    let Some(group) = Group::new()? else {
        skip("no control group for memory can be made here");
        return Ok(ExitCode::SUCCESS);
    };
    let runtime = Runtime::new()?;
    let post = Generated::new(11, ARTICLE).file(FILE_NAME, size);
    let nzb = post.nzb();
    let expected = Expected { size, hash: post.crc32(0) };
    let news = runtime.block_on(Server::start(Options::new(post)))?;
    let (mut limited, mut free) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        limited.push(download(&news, &nzb, expected, Some(&group))?);
        free.push(download(&news, &nzb, expected, None)?);
    }
    ensure!(group.is_full()?, "the limit never bound: nothing was shown");
    let (limited, free) = (best(&limited), best(&free));
    let share = free.as_secs_f64() / limited.as_secs_f64();
    println!(
        "{} MB in {} MiB of memory: {:.2} of the speed without the limit ({:.1} s against {:.1} s)",
        size.0 / 1_000_000,
        LIMIT.0 >> 20,
        share,
        limited.as_secs_f64(),
        free.as_secs_f64()
    );
    Ok(if share < LEAST_SHARE { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// What the file shall be.
#[derive(Clone, Copy)]
struct Expected {
    size: ByteCount,
    hash: u32,
}

/// One download, from the hand-in to the file in its place.
fn download(
    news: &Server,
    nzb: &str,
    expected: Expected,
    group: Option<&Group>,
) -> anyhow::Result<Duration> {
    let mut daemon = Daemon::start(news.address().port(), group)?;
    let began = Instant::now();
    daemon.hand_in(nzb)?;
    let output = daemon.home.path().join("complete/job").join(FILE_NAME);
    daemon.wait_for("the file is there", || output.exists())?;
    let took = began.elapsed();
    let found = fs::metadata(&output)?.len();
    ensure!(found == expected.size.0, "{found} bytes came of {}", expected.size.0);
    // What happens without a limit others show; here it would only cost time.
    if group.is_some() {
        ensure!(hash(&output)? == expected.hash, "the file is not what was posted");
    }
    Ok(took)
}

fn hash(path: &Path) -> anyhow::Result<u32> {
    let (mut file, mut hasher) = (File::open(path)?, crc32fast::Hasher::new());
    let mut buffer = vec![0; 1 << 20];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hasher.finalize()),
            count => hasher.update(&buffer[..count]),
        }
    }
}

fn best(times: &[Duration]) -> Duration {
    times.iter().copied().min().unwrap_or_default()
}

/// The real daemon in a directory of its own; it ends with us.
struct Daemon {
    child: Child,
    home: TempDir,
}

impl Daemon {
    fn start(news: u16, group: Option<&Group>) -> anyhow::Result<Self> {
        // Not in memory, as the usual place may be.
        let home = tempfile::Builder::new().prefix("bench-").tempdir_in("target")?;
        let config = home.path().join("bergamot.toml");
        fs::create_dir(home.path().join("watch"))?;
        let text = format!(
            "[control]\nsocket = \"control.sock\"\nport = 0\n\n[[server]]\nname = \"news\"\n\
             host = \"127.0.0.1\"\nport = {news}\nencryption = \"none\"\nconnections = 8\n"
        );
        fs::write(&config, text)?;
        let child = command(group)?
            .arg("run")
            .arg("--config")
            .arg(config)
            .stderr(File::create(home.path().join("log"))?)
            .spawn()
            .context("cannot start bergamot")?;
        let mut daemon = Self { child, home };
        let lock = daemon.home.path().join("state/spool/lock");
        daemon.wait_for("the daemon is up", || lock.exists())?;
        Ok(daemon)
    }

    fn hand_in(&self, nzb: &str) -> anyhow::Result<()> {
        let draft = self.home.path().join("draft");
        fs::write(&draft, nzb)?;
        Ok(fs::rename(draft, self.home.path().join("watch/job.nzb"))?)
    }

    fn wait_for(&mut self, what: &str, look: impl Fn() -> bool) -> anyhow::Result<()> {
        let began = Instant::now();
        while !look() {
            if let Some(status) = self.child.try_wait()? {
                let log = fs::read_to_string(self.home.path().join("log")).unwrap_or_default();
                bail!("it ended too early: {status}\n{log}");
            }
            ensure!(began.elapsed() < PATIENCE, "waited {PATIENCE:?} until {what}");
            thread::sleep(BETWEEN_LOOKS);
        }
        Ok(())
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // It has nothing that anybody wants to keep.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The daemon, which enters the group before it is the daemon.
fn command(group: Option<&Group>) -> anyhow::Result<Command> {
    let program = bergamot_benches::daemon()?;
    let Some(group) = group else { return Ok(Command::new(program)) };
    let mut command = Command::new("sh");
    command.args(["-c", "echo $$ > \"$0/cgroup.procs\" && exec \"$@\""]);
    command.arg(&group.path).arg(program);
    Ok(command)
}

/// A control group that may take little memory; it goes with us.
struct Group {
    path: PathBuf,
    version: Version,
}

#[derive(Clone, Copy)]
enum Version {
    One,
    Two,
}

impl Group {
    /// None where none can be made: without root, or without the controller.
    fn new() -> anyhow::Result<Option<Self>> {
        let name = format!("bergamot-{}", std::process::id());
        let one = Path::new("/sys/fs/cgroup/memory");
        let (path, version) = match one.join("memory.limit_in_bytes").exists() {
            true => (one.join(name), Version::One),
            false => (Path::new("/sys/fs/cgroup").join(name), Version::Two),
        };
        if fs::create_dir(&path).is_err() {
            return Ok(None);
        }
        let group = Self { path, version };
        let limit = match version {
            Version::One => "memory.limit_in_bytes",
            Version::Two => "memory.max",
        };
        if fs::write(group.path.join(limit), LIMIT.0.to_string()).is_err() {
            return Ok(None);
        }
        ensure!(group.forbids_swap()?, "what does not fit would be swapped out, and nothing shown");
        Ok(Some(group))
    }

    /// From here on; not every kernel counts what is swapped, and then there must be no swap at all.
    fn forbids_swap(&self) -> anyhow::Result<bool> {
        let written = match self.version {
            // Memory and swap together.
            Version::One => {
                fs::write(self.path.join("memory.memsw.limit_in_bytes"), LIMIT.0.to_string())
            }
            Version::Two => fs::write(self.path.join("memory.swap.max"), "0"),
        };
        // Behind a line of headings.
        Ok(written.is_ok() || fs::read_to_string("/proc/swaps")?.lines().count() <= 1)
    }

    /// Whether it has been at its limit.
    fn is_full(&self) -> anyhow::Result<bool> {
        let read = |name: &str| fs::read_to_string(self.path.join(name));
        Ok(match self.version {
            // Refusals are not counted where memory and swap have the same limit.
            Version::One => {
                let most: u64 = read("memory.max_usage_in_bytes")?.trim().parse()?;
                most + NEARLY.0 >= LIMIT.0
            }
            Version::Two => read("memory.events")?
                .lines()
                .any(|line| line.strip_prefix("max ").is_some_and(|times| times != "0")),
        })
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Empty by now; if not, it is a folder without consequence.
        let _ = fs::remove_dir(&self.path);
    }
}

const LIMIT: ByteCount = ByteCount(96 << 20);
/// The kernel counts in batches.
const NEARLY: ByteCount = ByteCount(1 << 20);
const LEAST_SHARE: f64 = 0.8;
const ROUNDS: usize = 3;
const ARTICLE: ByteCount = ByteCount(700_000);
const FILE_NAME: &str = "sample.bin";
const BETWEEN_LOOKS: Duration = Duration::from_millis(5);
const PATIENCE: Duration = Duration::from_secs(1800);
