//! A process that we started and that ends with us.

use std::fs::File;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use rustix::process::{Pid, Signal, kill_process};

/// Ended when dropped, by its own id.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
}

impl Process {
    /// Starts it with its words in a log.
    pub(crate) fn start(command: &mut Command, log: &Path) -> anyhow::Result<Self> {
        let log = File::create(log).with_context(|| format!("cannot write {}", log.display()))?;
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        Self::spawn(command)
    }

    /// Starts it with pipes to talk through.
    pub(crate) fn start_piped(
        command: &mut Command,
    ) -> anyhow::Result<(Self, ChildStdin, ChildStdout)> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = Self::spawn(command)?;
        let pipes = process.child.stdin.take().zip(process.child.stdout.take());
        let (input, output) = pipes.context("it has no pipes")?;
        Ok((process, input, output))
    }

    fn spawn(command: &mut Command) -> anyhow::Result<Self> {
        let child = command.spawn();
        let name = command.get_program().to_string_lossy().into_owned();
        Ok(Self { child: child.with_context(|| format!("cannot start {name}"))? })
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn check(&mut self) -> anyhow::Result<()> {
        match self.child.try_wait()? {
            Some(status) => bail!("it ended too early: {status}"),
            None => Ok(()),
        }
    }

    /// Waits until `ready` says so.
    pub(crate) fn wait_until(
        &mut self,
        what: &str,
        mut ready: impl FnMut() -> bool,
    ) -> anyhow::Result<()> {
        let begun = Instant::now();
        while !ready() {
            self.check()?;
            if begun.elapsed() > PATIENCE {
                bail!("waited {PATIENCE:?} until {what}");
            }
            thread::sleep(LOOK_AGAIN);
        }
        Ok(())
    }

    pub(crate) fn signal(&self, signal: Signal) {
        // It may have ended by itself.
        let _ = kill_process(Pid::from_child(&self.child), signal);
    }

    /// Waits a while for it to end by itself.
    pub(crate) fn wait(&mut self) -> anyhow::Result<ExitStatus> {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status);
            }
            if begun.elapsed() > LAST_WORDS {
                self.child.kill()?;
            }
            thread::sleep(LOOK_AGAIN);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            self.signal(Signal::TERM);
            let _ = self.wait();
        }
    }
}

const LOOK_AGAIN: Duration = Duration::from_millis(10);
const PATIENCE: Duration = Duration::from_secs(60);
/// Those that take longer to end are killed.
const LAST_WORDS: Duration = Duration::from_secs(20);
