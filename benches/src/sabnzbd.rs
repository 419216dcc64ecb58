//! SABnzbd, set up for speed: a large cache, and nothing done after the download.
//!
//! The test of itself, for which it calls a host of its makers, is off; the `unrar` without which it
//! does not start is one that does nothing.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use anyhow::{Context, ensure};

use crate::contestant::Running;
use crate::http;
use crate::process::Process;
use crate::stage::Stage;

#[derive(Debug)]
struct Daemon {
    process: Process,
    port: u16,
    nzbs: Vec<PathBuf>,
    outputs: Vec<PathBuf>,
    finished: usize,
}

pub(crate) fn start(home: &Path, stage: &Stage) -> anyhow::Result<Box<dyn Running>> {
    let place = fs::canonicalize(PLACE).context("benches/setup has not been run")?;
    let port = http::free_port()?;
    let config = home.join("sabnzbd.ini");
    fs::write(&config, settings(home, stage, port))?;
    let mut command = Command::new("/usr/bin/python3");
    command.arg("-OO").arg(place.join("usr/bin/sabnzbdplus")).arg("-f").arg(config);
    command.args(["--browser", "0", "--disable-file-log"]);
    command.env("PYTHONPATH", place.join("usr/share/sabnzbdplus")).env("HOME", home);
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{}:{path}", place.join("bin").display()));
    let mut process = Process::start(&mut command, &home.join("log"))?;
    process.wait_until("SABnzbd is up", || ask(port, "version", "").is_ok())?;
    thread::sleep(SETTLING);
    let nzbs = stage.nzbs().iter().map(fs::canonicalize).collect::<Result<_, _>>()?;
    let outputs = stage.outputs_by_job(&home.join("complete"));
    Ok(Box::new(Daemon { process, port, nzbs, outputs, finished: 0 }))
}

impl Running for Daemon {
    fn process(&mut self) -> &mut Process {
        &mut self.process
    }

    fn hand_in(&mut self) -> anyhow::Result<()> {
        for nzb in &self.nzbs {
            let answer = ask(self.port, "addlocalfile", &format!("&pp=0&name={}", nzb.display()))?;
            ensure!(answer.contains("\"status\":true"), "SABnzbd does not want it: {answer}");
        }
        Ok(())
    }

    /// It is asked only once all files have been moved: questions cost it time.
    fn is_done(&mut self) -> anyhow::Result<bool> {
        while self.outputs.get(self.finished).is_some_and(|output| output.exists()) {
            self.finished += 1;
        }
        if self.finished < self.outputs.len() {
            return Ok(false);
        }
        let history = ask(self.port, "history", "&limit=1000")?;
        Ok(history.matches("\"status\":\"Completed\"").count() == self.outputs.len())
    }

    fn outputs(&self) -> Vec<PathBuf> {
        self.outputs.clone()
    }
}

fn ask(port: u16, mode: &str, more: &str) -> anyhow::Result<String> {
    http::ask(port, &format!("/api?mode={mode}&output=json&apikey={KEY}{more}"), None)
}

fn settings(home: &Path, stage: &Stage, port: u16) -> String {
    let ssl = u8::from(stage.scenario.tls);
    format!(
        "__version__ = 19\n__encoding__ = utf-8\n[misc]\nhost = 127.0.0.1\nport = {port}\n\
         api_key = {KEY}\nnzb_key = {KEY}\nauto_browser = 0\ncheck_new_rel = 0\n\
         download_dir = {home}/incomplete\ncomplete_dir = {home}/complete\nadmin_dir = {home}/admin\n\
         log_dir = {home}/logs\nnzb_backup_dir = \"\"\ncache_limit = 700M\ndirect_unpack = 0\n\
         enable_par_cleanup = 0\nquick_check = 0\nno_dupes = 0\npre_check = 0\npropagation_delay = 0\n\
         download_free = 0\nfail_hopeless_jobs = 0\ndeobfuscate_final_filenames = 0\n\
         flat_unpack = 0\nhelpfull_warnings = 0\nenable_broadcast = 0\nbandwidth_max = \"\"\n\
         ssdp_broadcast = 0\nprocess_unpacked_par2 = 0\nrating_enable = 0\nipv6_servers = 0\n\
         selftest_host = \"\"\n\
         [logging]\nlog_level = -1\n\
         [servers]\n[[127.0.0.1]]\nname = 127.0.0.1\ndisplayname = arena\nhost = 127.0.0.1\n\
         port = {}\nconnections = {}\nssl = {ssl}\nssl_verify = 0\nenable = 1\ntimeout = 60\n\
         username = \"\"\npassword = \"\"\n\
         [categories]\n[[*]]\nname = *\norder = 0\npp = 0\nscript = None\ndir = \"\"\nnewzbin = \"\"\n\
         priority = 0\n",
        stage.port(),
        stage.scenario.connections,
        home = home.display(),
    )
}

/// Where `benches/setup` lays it.
const PLACE: &str = "target/bench/sabnzbd";
const KEY: &str = "0123456789abcdef0123456789abcdef";
const SETTLING: Duration = Duration::from_secs(1);
