//! `bergamot demo`: a complete download without an account, on the calling thread.
//!
//! The news server is `newsd` on loopback; the rest is real: this binary runs as the daemon, with a configuration file, and
//! takes an NZB from its watch folder.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use bergamot_newsd::{Generated, Options, Server};
use bergamot_types::{ByteCount, ByteRate};
use rustix::process::{Pid, Signal, kill_process};
use sha2::{Digest, Sha256};
use tokio::signal::unix::{SignalKind, signal};

#[derive(Clone, Debug)]
pub struct Settings {
    pub size: ByteCount,
    pub connections: u16,
    /// In a second; 0 is no limit.
    pub rate: ByteCount,
}

pub fn run(settings: &Settings) -> anyhow::Result<()> {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let post = Arc::new(Generated::new(SEED, ARTICLE).file(FILE, settings.size));
    let server = runtime
        .block_on(Server::start(Options { articles: post.clone(), ..Options::default() }))?;
    println!(
        "A news server is listening on {}; it has posted {} of sample data.",
        server.address(),
        settings.size
    );
    let home = tempfile::Builder::new().prefix("bergamot-demo-").tempdir()?.keep();
    let config = write_config(&home, server.address().port(), settings)?;
    println!("The daemon runs with {}.", config.display());
    let stop = watch_signals(&runtime)?;
    let mut daemon = start_daemon(&config)?;
    let result = download(&home, &post, &mut daemon, &stop, timeout(settings));
    stop_daemon(&mut daemon);
    runtime.block_on(server.stop());
    let (path, took) = result.with_context(|| format!("{} is left as it is", home.display()))?;
    verify(&path, &post)?;
    let rate = ByteRate((settings.size.0 as f64 / took.as_secs_f64()) as u64);
    println!("The file is right, byte for byte: {}", path.display());
    println!(
        "{} in {:.2} s, {rate}, from the drop of the NZB to the finished file.",
        settings.size,
        took.as_secs_f64()
    );
    println!("To tidy up: rm -r {}", home.display());
    Ok(())
}

/// Stops the daemon of the demo when the demo is interrupted.
fn watch_signals(runtime: &tokio::runtime::Runtime) -> anyhow::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    let _guard = runtime.enter();
    for kind in [SignalKind::terminate(), SignalKind::interrupt()] {
        let (mut signal, stop) = (signal(kind)?, stop.clone());
        runtime.spawn(async move {
            signal.recv().await;
            stop.store(true, Ordering::Relaxed);
        });
    }
    Ok(stop)
}

fn write_config(home: &Path, port: u16, settings: &Settings) -> anyhow::Result<PathBuf> {
    fs::create_dir(home.join("watch"))?;
    let path = home.join("bergamot.toml");
    let text = format!(
        "[control]\nsocket = \"\"\naddress = \"\"\n\n[download]\nrate = \"{} B\"\n\n[[server]]\nname = \"demo\"\nhost = \"127.0.0.1\"\n\
         port = {port}\nencryption = \"none\"\nconnections = {}\n",
        settings.rate.0, settings.connections
    );
    fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}

fn start_daemon(config: &Path) -> anyhow::Result<Child> {
    let program = std::env::current_exe().context("cannot find this program")?;
    let mut command = Command::new(program);
    command.arg("run").arg("--config").arg(config).stdin(Stdio::null());
    command.spawn().context("cannot start the daemon")
}

fn stop_daemon(daemon: &mut Child) {
    // It may have ended already, which `download` has reported.
    let _ = kill_process(Pid::from_child(daemon), Signal::TERM);
    let _ = daemon.wait();
}

/// Twice as long as the rate takes, and what a slow machine may take beside that.
fn timeout(Settings { size, rate, .. }: &Settings) -> Duration {
    let seconds = size.0.checked_div(rate.0).unwrap_or(0);
    LEAST_TIMEOUT.saturating_add(Duration::from_secs(seconds.saturating_mul(2)))
}

/// Drops the NZB and waits for the file.
fn download(
    home: &Path,
    post: &Generated,
    daemon: &mut Child,
    stop: &AtomicBool,
    timeout: Duration,
) -> anyhow::Result<(PathBuf, Duration)> {
    // The watch is armed: a file that is copied now is noticed.
    let lock = home.join("state/spool/lock");
    let begun = Instant::now();
    while !lock.exists() && begun.elapsed() < LEAST_TIMEOUT {
        std::thread::sleep(LOOK_AGAIN);
    }
    std::thread::sleep(SETTLING);
    let (draft, nzb) = (home.join("watch/demo.tmp"), home.join("watch/demo.nzb"));
    fs::write(&draft, post.nzb())?;
    let start = Instant::now();
    fs::rename(&draft, &nzb)?;
    println!("Dropped {}.", nzb.display());
    let finished = home.join("complete/demo").join(FILE);
    while !is_done(&finished) {
        if let Some(status) = daemon.try_wait()? {
            bail!("the daemon ended before the download did: {status}");
        }
        ensure!(!stop.load(Ordering::Relaxed), "the demo was stopped");
        ensure!(start.elapsed() < timeout, "the download did not finish within {timeout:?}");
        std::thread::sleep(LOOK_AGAIN);
    }
    Ok((finished, start.elapsed()))
}

/// The job has moved, and the daemon has taken its mark off it.
fn is_done(finished: &Path) -> bool {
    let files = finished.parent().map(fs::read_dir);
    finished.exists() && files.is_some_and(|files| files.is_ok_and(|files| files.count() == 1))
}

fn verify(path: &Path, post: &Generated) -> anyhow::Result<()> {
    let file = fs::File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    let (found, wanted) = (digest(file)?, digest(post.open(0))?);
    ensure!(found == wanted, "{} is not what was posted", path.display());
    println!("SHA-256 {found}");
    Ok(())
}

fn digest(mut source: impl Read) -> io::Result<String> {
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    loop {
        match source.read(&mut buffer)? {
            0 => break,
            count => hasher.update(&buffer[..count]),
        }
    }
    Ok(hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

const SEED: u64 = 0x0be6_a307;
const FILE: &str = "sample.bin";

/// What most posters use.
const ARTICLE: ByteCount = ByteCount(700 << 10);

const LEAST_TIMEOUT: Duration = Duration::from_secs(600);
const LOOK_AGAIN: Duration = Duration::from_millis(10);
const SETTLING: Duration = Duration::from_millis(300);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_wants_it_slow_is_waited_for() {
        let of = |size, rate| {
            timeout(&Settings { size: ByteCount(size), connections: 1, rate: ByteCount(rate) })
        };
        assert_eq!(of(1 << 30, 0), LEAST_TIMEOUT);
        assert_eq!(of(10_000_000, 10_000), LEAST_TIMEOUT + Duration::from_secs(2_000));
        assert!(of(u64::MAX, 1) > LEAST_TIMEOUT);
    }
}
