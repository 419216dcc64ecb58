//! A scenario made ready: the server is up and everyone may begin.

use std::cell::RefCell;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command};

use anyhow::Context;
use tempfile::TempDir;

use crate::plan::Plan;
use crate::process::Process;
use crate::scenario::Scenario;

#[derive(Debug)]
pub(crate) struct Stage {
    pub(crate) scenario: Scenario,
    pub(crate) plan: Plan,
    /// Where the plan and the NZBs lie.
    pub(crate) folder: PathBuf,
    plain_port: u16,
    tls_port: u16,
    _input: ChildStdin, // the server ends with it
    _server: Process,
    _place: TempDir,
    kept: RefCell<Vec<TempDir>>,
}

impl Stage {
    pub(crate) fn set(scenario: Scenario, dir: &Path) -> anyhow::Result<Self> {
        let place = tempfile::Builder::new().prefix("stage-").tempdir_in(dir)?;
        let folder = place.path().to_path_buf();
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("serve").arg("--folder").arg(&folder);
        command.args(["--files", &scenario.shape.files.to_string()]);
        command.args(["--file-size", &scenario.shape.file_size.to_string()]);
        command.args(["--delay-ms", &scenario.round_trip_ms.to_string()]);
        let (server, input, output) = Process::start_piped(&mut command)?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        let ports = line
            .trim()
            .split_once(' ')
            .and_then(|(plain, tls)| Some((plain.parse().ok()?, tls.parse().ok()?)));
        let (plain_port, tls_port) = ports.context("the server did not tell its ports")?;
        let plan = Plan::read(&folder.join("plan"))?;
        Ok(Self {
            scenario,
            plan,
            folder,
            plain_port,
            tls_port,
            _input: input,
            _server: server,
            _place: place,
            kept: RefCell::default(),
        })
    }

    /// Homes of many files stay until the end of the scenario: ext4 looks at each inode that was freed
    /// within minutes before it gives another one out, so whoever comes next would pay for what others
    /// had.
    pub(crate) fn clear_up(&self, home: TempDir) {
        if self.scenario.shape.files > 1 {
            self.kept.borrow_mut().push(home);
        }
    }

    pub(crate) fn port(&self) -> u16 {
        if self.scenario.tls { self.tls_port } else { self.plain_port }
    }

    pub(crate) fn nzbs(&self) -> Vec<PathBuf> {
        let name = |job| self.folder.join(format!("{job}.nzb"));
        self.plan.files.iter().map(|file| name(&file.job)).collect()
    }

    /// All files in one folder.
    pub(crate) fn outputs_in(&self, folder: &Path) -> Vec<PathBuf> {
        self.plan.files.iter().map(|file| folder.join(&file.name)).collect()
    }

    /// Each file in the folder of its job.
    pub(crate) fn outputs_by_job(&self, folder: &Path) -> Vec<PathBuf> {
        self.plan.files.iter().map(|file| folder.join(&file.job).join(&file.name)).collect()
    }

    /// Runs a program, with every positional write made to last if the scenario says so.
    pub(crate) fn under_slow_disk(&self, program: &Path) -> Command {
        if !self.scenario.slow_disk {
            return Command::new(program);
        }
        // With -D the tracer is the child, so the id we get is that of the program.
        let mut command = Command::new("strace");
        command.args(["-D", "-f", "--seccomp-bpf", "-o", "/dev/null"]);
        command.args(["-e", "trace=pwrite64", "-e", SLOW_WRITE]).arg("--").arg(program);
        command
    }
}

/// 700 KiB in 35 ms are 20 MB/s.
const SLOW_WRITE: &str = "inject=pwrite64:delay_exit=35000";
