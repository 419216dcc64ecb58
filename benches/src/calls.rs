//! How many system calls a process makes.

use std::path::PathBuf;
use std::process::Command;
use std::thread;
use std::time::Duration;
use std::{env, fs};

use anyhow::Context;
use rustix::process::Signal;

use crate::process::Process;

/// A watch on a process and all threads it will have.
///
/// `perf` counts without slowing it down; a tracer would, and then each read would find more.
#[derive(Debug)]
pub(crate) struct Calls {
    perf: Process,
    report: PathBuf,
}

impl Calls {
    pub(crate) fn watch(pid: u32) -> anyhow::Result<Self> {
        let report = env::temp_dir().join(format!("bergamot-benches-{pid}.calls"));
        let mut command = Command::new("perf");
        command.args(["stat", "-x", ",", "-e", "raw_syscalls:sys_enter"]);
        command.args(["-p", &pid.to_string(), "-o"]).arg(&report);
        let perf = Process::start(&mut command, &report.with_extension("log"))?;
        thread::sleep(ATTACHING);
        Ok(Self { perf, report })
    }

    pub(crate) fn total(mut self) -> anyhow::Result<u64> {
        self.perf.signal(Signal::INT);
        self.perf.wait()?;
        let text = fs::read_to_string(&self.report);
        let _ = fs::remove_file(&self.report);
        let _ = fs::remove_file(self.report.with_extension("log"));
        parse(&text.context("perf wrote no report")?).context("perf counted nothing")
    }
}

fn parse(report: &str) -> Option<u64> {
    let line = report.lines().find(|line| line.contains("raw_syscalls:sys_enter"))?;
    line.split(',').next()?.parse().ok()
}

const ATTACHING: Duration = Duration::from_millis(500);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_read() {
        let report = "# started on a day\n\n144,,raw_syscalls:sys_enter,770,100.00,,\n";
        assert_eq!(parse(report), Some(144));
        assert_eq!(parse("<not counted>,,raw_syscalls:sys_enter,0,100.00,,\n"), None);
    }
}
