//! Those who run: floors, bergamot, and the programs people use today.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, ChildStdout, Command};
use std::sync::mpsc;
use std::thread;

use anyhow::{Context, bail};

use crate::process::Process;
use crate::stage::Stage;
use crate::{bergamot, nzbget, sabnzbd};

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Contestant {
    /// Reads, and writes as it came if told to.
    Floor {
        write: bool,
        depth: usize,
    },
    Bergamot,
    Nzbget,
    Sabnzbd,
}

/// A contestant that is up and has nothing to do yet.
pub(crate) trait Running {
    fn process(&mut self) -> &mut Process;
    /// The clock runs from here on.
    fn hand_in(&mut self) -> anyhow::Result<()>;
    /// Asked every few milliseconds, so it must be cheap.
    fn is_done(&mut self) -> anyhow::Result<bool>;
    /// Each file of the plan, in its order; none if nothing is written.
    fn outputs(&self) -> Vec<PathBuf>;
}

impl Contestant {
    pub(crate) fn name(self) -> String {
        match self {
            Self::Floor { write: false, .. } => "floor: read".into(),
            Self::Floor { write: true, depth: 1 } => "floor: read+write".into(),
            Self::Floor { write: true, depth } => format!("floor: {depth} in flight"),
            Self::Bergamot => "bergamot".into(),
            Self::Nzbget => "NZBGet 21".into(),
            Self::Sabnzbd => "SABnzbd 3.7.1".into(),
        }
    }

    pub(crate) fn is_floor(self) -> bool {
        matches!(self, Self::Floor { .. })
    }

    /// Whether it is our fault when it fails.
    pub(crate) fn is_ours(self) -> bool {
        self.is_floor() || self == Self::Bergamot
    }

    /// Floors write answers as they came, which have checksums of their own.
    pub(crate) fn decodes(self) -> bool {
        !self.is_floor()
    }

    pub(crate) fn start(self, home: &Path, stage: &Stage) -> anyhow::Result<Box<dyn Running>> {
        match self {
            Self::Floor { write, depth } => FloorRun::start(home, stage, write, depth),
            Self::Bergamot => bergamot::start(home, stage),
            Self::Nzbget => nzbget::start(home, stage),
            Self::Sabnzbd => sabnzbd::start(home, stage),
        }
    }
}

/// A floor is this program again.
#[derive(Debug)]
struct FloorRun {
    process: Process,
    input: ChildStdin,
    done: mpsc::Receiver<()>,
    outputs: Vec<PathBuf>,
}

impl FloorRun {
    fn start(
        home: &Path,
        stage: &Stage,
        write: bool,
        depth: usize,
    ) -> anyhow::Result<Box<dyn Running>> {
        let mut command = stage.under_slow_disk(&std::env::current_exe()?);
        command.arg("floor").args(["--port", &stage.port().to_string()]);
        command.arg("--plan").arg(stage.folder.join("plan"));
        let connections = stage.scenario.connections.min(MOST_THREADS);
        command.args(["--connections", &connections.to_string(), "--depth", &depth.to_string()]);
        if write {
            command.arg("--folder").arg(home);
        }
        if stage.scenario.tls {
            command.arg("--tls");
        }
        Self::spawn(&mut command, if write { stage.outputs_in(home) } else { Vec::new() })
    }

    fn spawn(command: &mut Command, outputs: Vec<PathBuf>) -> anyhow::Result<Box<dyn Running>> {
        let (process, input, output) = Process::start_piped(command)?;
        let mut output = BufReader::new(output);
        expect(&mut output, "ready")?;
        let (sender, done) = mpsc::channel();
        thread::spawn(move || {
            if expect(&mut output, "done").is_ok() {
                let _ = sender.send(());
            }
        });
        Ok(Box::new(Self { process, input, done, outputs }))
    }
}

impl Running for FloorRun {
    fn process(&mut self) -> &mut Process {
        &mut self.process
    }

    fn hand_in(&mut self) -> anyhow::Result<()> {
        writeln!(self.input).context("the floor is gone")
    }

    fn is_done(&mut self) -> anyhow::Result<bool> {
        match self.done.try_recv() {
            Ok(()) => Ok(true),
            Err(mpsc::TryRecvError::Empty) => Ok(false),
            Err(mpsc::TryRecvError::Disconnected) => bail!("the floor broke off"),
        }
    }

    fn outputs(&self) -> Vec<PathBuf> {
        self.outputs.clone()
    }
}

fn expect(output: &mut BufReader<ChildStdout>, word: &str) -> anyhow::Result<()> {
    let mut line = String::new();
    output.read_line(&mut line)?;
    if line.trim() == word { Ok(()) } else { bail!("the floor said {line:?}, not {word}") }
}

/// More would only get in each other's way: the floor of 500 connections is that of 8.
const MOST_THREADS: usize = 8;
