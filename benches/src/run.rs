//! One contestant, once: from the hand-in to the finished file.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use crc32fast::Hasher;
use thiserror::Error;

use crate::calls::Calls;
use crate::contestant::{Contestant, Running};
use crate::stage::Stage;
use crate::usage::Usage;

/// What it took.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Run {
    pub(crate) wall: Duration,
    pub(crate) cpu: Duration,
    /// In KiB.
    pub(crate) peak: u64,
    /// The peak over what was resident before the hand-in, in KiB.
    pub(crate) above_idle: u64,
    pub(crate) written: u64,
    /// Only counted in runs that are not timed.
    pub(crate) calls: Option<u64>,
}

/// A contestant said it was done, and it was not what was posted.
#[derive(Debug, Error)]
#[error("{} is wrong: CRC {found:08x}, not {wanted:08x}", path.display())]
pub(crate) struct WrongOutput {
    path: PathBuf,
    found: u32,
    wanted: u32,
}

impl Run {
    /// A timed run, or one in which system calls are counted.
    pub(crate) fn of(
        contestant: Contestant,
        stage: &Stage,
        dir: &Path,
        count_calls: bool,
    ) -> anyhow::Result<Self> {
        let home = tempfile::Builder::new().prefix("home-").tempdir_in(dir)?;
        let mut running = contestant.start(home.path(), stage)?;
        let pid = running.process().id();
        let counter = if count_calls { Some(Calls::watch(pid)?) } else { None };
        let before = Usage::of_tree(pid);
        let start = Instant::now();
        running.hand_in()?;
        wait(running.as_mut(), start).with_context(|| tail_of(&home.path().join("log")))?;
        let wall = start.elapsed();
        let after = Usage::of_tree(pid);
        let calls = counter.map(Calls::total).transpose()?;
        verify(contestant, stage, running.as_ref())?;
        drop(running);
        stage.clear_up(home);
        Ok(Self {
            wall,
            cpu: after.cpu.saturating_sub(before.cpu),
            peak: after.peak,
            above_idle: after.peak.saturating_sub(before.resident),
            written: after.written.saturating_sub(before.written),
            calls,
        })
    }
}

fn wait(running: &mut dyn Running, start: Instant) -> anyhow::Result<()> {
    while !running.is_done()? {
        running.process().check()?;
        ensure!(start.elapsed() < PATIENCE, "not done within {PATIENCE:?}");
        thread::sleep(LOOK_AGAIN);
    }
    Ok(())
}

fn verify(contestant: Contestant, stage: &Stage, running: &dyn Running) -> anyhow::Result<()> {
    for (path, file) in running.outputs().iter().zip(&stage.plan.files) {
        let wanted = if contestant.decodes() { file.crc } else { file.wire_crc };
        let found = crc_of(path).with_context(|| format!("cannot read {}", path.display()))?;
        if found != wanted {
            bail!(WrongOutput { path: path.clone(), found, wanted });
        }
    }
    Ok(())
}

fn crc_of(path: &Path) -> std::io::Result<u32> {
    let mut file = File::open(path)?;
    let mut hasher = Hasher::new();
    let mut buffer = vec![0; 1 << 20];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hasher.finalize()),
            count => hasher.update(&buffer[..count]),
        }
    }
}

fn tail_of(log: &Path) -> String {
    let text = fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    let last = lines[lines.len().saturating_sub(5)..].join("\n");
    format!("its last words:\n{last}")
}

const LOOK_AGAIN: Duration = Duration::from_millis(2);
const PATIENCE: Duration = Duration::from_secs(600);
