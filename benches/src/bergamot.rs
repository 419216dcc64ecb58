//! bergamot, as people run it: a daemon with a watch folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use anyhow::Context;

use crate::contestant::Running;
use crate::process::Process;
use crate::stage::Stage;

#[derive(Debug)]
struct Daemon {
    process: Process,
    /// Drafts and the names under which they are handed in.
    drafts: Vec<(PathBuf, PathBuf)>,
    outputs: Vec<PathBuf>,
    finished: usize,
}

pub(crate) fn start(home: &Path, stage: &Stage) -> anyhow::Result<Box<dyn Running>> {
    let config = write_config(home, stage)?;
    let program = bergamot_benches::daemon()?;
    let mut command = stage.under_slow_disk(&program);
    command.arg("run").arg("--config").arg(config);
    let mut process = Process::start(&mut command, &home.join("log"))?;
    let lock = home.join("state/spool/lock");
    process.wait_until("bergamot is up", || lock.exists())?;
    thread::sleep(SETTLING);
    let mut drafts = Vec::new();
    for nzb in stage.nzbs() {
        let name = nzb.file_name().context("NZBs have names")?;
        let place = home.join("watch").join(name);
        let draft = place.with_extension("tmp");
        fs::copy(&nzb, &draft)?;
        drafts.push((draft, place));
    }
    thread::sleep(SETTLING);
    let outputs = stage.outputs_by_job(&home.join("complete"));
    Ok(Box::new(Daemon { process, drafts, outputs, finished: 0 }))
}

impl Running for Daemon {
    fn process(&mut self) -> &mut Process {
        &mut self.process
    }

    fn hand_in(&mut self) -> anyhow::Result<()> {
        self.drafts.iter().try_for_each(|(draft, place)| Ok(fs::rename(draft, place)?))
    }

    /// A job is done when it has moved and the daemon has taken its mark off it.
    fn is_done(&mut self) -> anyhow::Result<bool> {
        while let Some(output) = self.outputs.get(self.finished) {
            let alone = || Some(fs::read_dir(output.parent()?).ok()?.count() == 1);
            if !(output.exists() && alone() == Some(true)) {
                return Ok(false);
            }
            self.finished += 1;
        }
        Ok(true)
    }

    fn outputs(&self) -> Vec<PathBuf> {
        self.outputs.clone()
    }
}

/// Nothing but the server and the port, which may be taken, differs from the defaults.
fn write_config(home: &Path, stage: &Stage) -> anyhow::Result<PathBuf> {
    fs::create_dir(home.join("watch"))?;
    let path = home.join("bergamot.toml");
    let encryption = if stage.scenario.tls { "tls" } else { "none" };
    let text = format!(
        "[control]\nsocket = \"control.sock\"\nport = 0\n\n[[server]]\nname = \"arena\"\nhost = \"127.0.0.1\"\nport = {}\nencryption = \
         \"{encryption}\"\ncert_verification = false\nconnections = {}\n",
        stage.port(),
        stage.scenario.connections
    );
    fs::write(&path, text)?;
    Ok(path)
}

const SETTLING: Duration = Duration::from_millis(300);
