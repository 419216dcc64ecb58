//! NZBGet, set up for speed: articles are put together in memory and written once, and finished jobs
//! do not wait for each other.
//!
//! By its own defaults it looks after one finished job each 0.4 s: 200 small ones take it 81 s.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use crate::contestant::Running;
use crate::http;
use crate::process::Process;
use crate::stage::Stage;

#[derive(Debug)]
struct Daemon {
    process: Process,
    port: u16,
    /// Requests that hand the NZBs in.
    requests: Vec<String>,
    outputs: Vec<PathBuf>,
    finished: usize,
}

pub(crate) fn start(home: &Path, stage: &Stage) -> anyhow::Result<Box<dyn Running>> {
    let port = http::free_port()?;
    let config = home.join("nzbget.conf");
    fs::write(&config, settings(home, stage, port))?;
    let mut command = Command::new("nzbget");
    command.arg("--server").arg("--configfile").arg(config);
    let mut process = Process::start(&mut command, &home.join("log"))?;
    process.wait_until("NZBGet is up", || http::ask(port, "/jsonrpc/version", None).is_ok())?;
    thread::sleep(SETTLING);
    let mut requests = Vec::new();
    for (nzb, file) in stage.nzbs().iter().zip(&stage.plan.files) {
        let content = http::base64(&fs::read(nzb)?);
        requests.push(format!(
            "{{\"method\":\"append\",\"params\":[\"{}.nzb\",\"{content}\",\"\",0,false,false,\"\",\
             0,\"FORCE\",[]]}}",
            file.job
        ));
    }
    let outputs = stage.outputs_by_job(&home.join("complete"));
    Ok(Box::new(Daemon { process, port, requests, outputs, finished: 0 }))
}

impl Running for Daemon {
    fn process(&mut self) -> &mut Process {
        &mut self.process
    }

    fn hand_in(&mut self) -> anyhow::Result<()> {
        self.requests
            .iter()
            .try_for_each(|request| http::ask(self.port, "/jsonrpc", Some(request)).map(drop))
    }

    /// It is asked only once all files have been moved: questions cost it time.
    fn is_done(&mut self) -> anyhow::Result<bool> {
        while self.outputs.get(self.finished).is_some_and(|output| output.exists()) {
            self.finished += 1;
        }
        if self.finished < self.outputs.len() {
            return Ok(false);
        }
        let history = http::ask(self.port, "/jsonrpc/history", None)?;
        Ok(history.matches("\"Kind\"").count() == self.outputs.len())
    }

    fn outputs(&self) -> Vec<PathBuf> {
        self.outputs.clone()
    }
}

fn settings(home: &Path, stage: &Stage, port: u16) -> String {
    let encryption = if stage.scenario.tls { "yes" } else { "no" };
    format!(
        "MainDir={}\nDestDir=${{MainDir}}/complete\nInterDir=${{MainDir}}/incomplete\n\
         NzbDir=${{MainDir}}/nzb\nQueueDir=${{MainDir}}/queue\nTempDir=${{MainDir}}/tmp\n\
         LockFile=${{MainDir}}/lock\nLogFile=${{MainDir}}/nzbget.log\nOutputMode=log\n\
         ControlIP=127.0.0.1\nControlPort={port}\nControlUsername=\nControlPassword=\n\
         Server1.Active=yes\nServer1.Host=127.0.0.1\nServer1.Port={}\nServer1.Encryption={encryption}\n\
         Server1.Connections={}\nServer1.Cipher=\nCertCheck=no\n\
         ArticleCache=700\nDirectWrite=yes\nWriteBuffer=1024\nCrcCheck=yes\nContinuePartial=no\n\
         ParCheck=manual\nParQuick=yes\nParRename=no\nRarRename=no\nDirectRename=no\nUnpack=no\n\
         DirectUnpack=no\nPostStrategy=rocket\nDupeCheck=no\nFlushQueue=no\nHealthCheck=none\nDiskSpace=0\n\
         WriteLog=none\nDetailTarget=none\nInfoTarget=none\n",
        home.display(),
        stage.port(),
        stage.scenario.connections,
    )
}

const SETTLING: Duration = Duration::from_millis(300);
