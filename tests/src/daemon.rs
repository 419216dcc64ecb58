//! [`Daemon`]: a process of the real binary, with all lines of its log.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use bergamot_types::ByteCount;
use rustix::process::{Pid, Signal, geteuid, kill_process};

use crate::home::Home;

/// A running daemon. Whatever it says is kept; a test waits for what it will say.
#[derive(Debug)]
pub struct Daemon {
    child: Child,
    lines: Receiver<String>,
    log: Vec<String>,
}

/// Many daemons run beside each other here, so each has its own socket, and a port that is free.
fn with_control(config: &str) -> String {
    match config.contains("[control]") {
        true => config.to_owned(),
        false => format!("{config}\n[control]\nsocket = \"control.sock\"\nport = 0\n"),
    }
}

/// How a daemon ended.
#[derive(Debug)]
pub struct Stopped {
    pub code: Option<i32>,
    pub took: Duration,
    pub log: Vec<String>,
}

impl Daemon {
    /// Writes `config` into the home and starts the daemon there.
    ///
    /// # Panics
    /// When it does not start.
    pub fn start(home: &Home, config: &str) -> Self {
        let mut daemon = Self::launch(home, config, Self::command());
        daemon.wait_for_any(UP);
        daemon
    }

    /// The same as a user who may not write everywhere, as the superuser may.
    ///
    /// # Panics
    /// When it does not start.
    pub fn start_as_nobody(home: &Home, config: &str) -> Self {
        let mut command = Self::command();
        if geteuid().is_root() {
            home.give_to(NOBODY);
            command.uid(NOBODY).gid(NOBODY);
        }
        let mut daemon = Self::launch(home, config, command);
        daemon.wait_for(&["INFO ready"]);
        daemon
    }

    /// The program, to be run with other arguments or in another way. The zone of the machine does not
    /// matter to it.
    pub fn command() -> Command {
        let mut command = Command::new(program());
        command.env("TZ", "UTC");
        command
    }

    /// Starts `command` as a daemon, without waiting for it to be ready.
    ///
    /// # Panics
    /// When it cannot be started at all.
    pub fn launch(home: &Home, config: &str, mut command: Command) -> Self {
        let path = home.join("bergamot.toml");
        fs::write(&path, with_control(config)).expect("a configuration");
        command.arg("run").arg("--config").arg(&path);
        Self::spawn(command)
    }

    /// Starts `command` as it is.
    ///
    /// # Panics
    /// When it cannot be started at all.
    pub fn spawn(mut command: Command) -> Self {
        command.env("RUST_LOG", "debug").stdin(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the daemon starts");
        let stderr = child.stderr.take().expect("it was piped");
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Self { child, lines, log: Vec::new() }
    }

    /// Reads on until a line holds all of `words`; that line.
    ///
    /// # Panics
    /// When it does not come in time, with all that was said instead.
    pub fn wait_for(&mut self, words: &[&str]) -> String {
        self.wait_for_any(&[words])
    }

    /// Reads on until a line holds all of one list of words.
    ///
    /// # Panics
    /// As [`Daemon::wait_for`].
    fn wait_for_any(&mut self, lists: &[&[&str]]) -> String {
        match self.reaches(lists) {
            Some(line) => line,
            None => self.fail(&format!("it ended before {lists:?}")),
        }
    }

    /// Reads on until it can be asked; false if it ended before.
    pub fn comes_up(&mut self) -> bool {
        self.reaches(UP).is_some()
    }

    /// Reads on until a line holds all of one list of words; none if it ended before.
    ///
    /// # Panics
    /// When it takes too long.
    pub fn reaches(&mut self, lists: &[&[&str]]) -> Option<String> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) => {
                    self.log.push(line.clone());
                    if lists.iter().any(|words| words.iter().all(|word| line.contains(word))) {
                        return Some(line);
                    }
                }
                Err(RecvTimeoutError::Timeout) => self.fail(&format!("no line with {lists:?}")),
                Err(RecvTimeoutError::Disconnected) => return None,
            }
        }
    }

    /// Waits until the job of this name is complete.
    ///
    /// # Panics
    /// When it fails instead.
    pub fn wait_complete(&mut self, name: &str) -> String {
        let line = self.wait_settled(name);
        if !line.contains("INFO complete") {
            self.fail(&format!("{name} failed"));
        }
        line
    }

    /// The line that holds all of `words`, be it said already or still to come.
    pub fn expect(&mut self, words: &[&str]) -> String {
        self.expect_any(&[words])
    }

    /// The line that holds all of one list of words.
    fn expect_any(&mut self, lists: &[&[&str]]) -> String {
        let fits =
            |line: &&String| lists.iter().any(|words| words.iter().all(|word| line.contains(word)));
        match self.log.iter().find(fits).cloned() {
            Some(line) => line,
            None => self.wait_for_any(lists),
        }
    }

    /// Waits until the job is complete, or was when the last daemon died.
    pub fn expect_complete(&mut self, name: &str, job: u64) -> String {
        let (name, job) = (format!("name={name} "), format!("job={job} "));
        self.expect_any(&[&["INFO complete", &name], &["INFO had been completed", &job]])
    }

    /// # Panics
    /// When it completes instead.
    pub fn wait_failed(&mut self, name: &str) -> String {
        let line = self.wait_settled(name);
        if !line.contains("WARN failed") {
            self.fail(&format!("{name} completed"));
        }
        line
    }

    /// Waits until the job of this name is complete or has failed.
    pub fn wait_settled(&mut self, name: &str) -> String {
        let mark = format!("name={name} ");
        self.wait_for_any(&[&["INFO complete", &mark], &["WARN failed", &mark]])
    }

    /// Where it listens for HTTP.
    ///
    /// # Panics
    /// When it does not.
    pub fn http(&mut self) -> SocketAddr {
        let line = self.expect(&["INFO listening", "http="]);
        let address = line.split_whitespace().find_map(|word| word.strip_prefix("http="));
        let address = address.map(|word| word.trim_matches('"').parse());
        address.expect("an address").unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    pub fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// What it holds in memory now.
    ///
    /// # Panics
    /// When it has ended.
    pub fn memory(&self) -> ByteCount {
        self.status_bytes("VmRSS:")
    }

    /// How often its threads went to sleep, and how many bytes and calls it read and wrote.
    ///
    /// # Panics
    /// When it has ended.
    pub fn activity(&self) -> (u64, String) {
        let root = PathBuf::from(format!("/proc/{}", self.child.id()));
        let threads = fs::read_dir(root.join("task")).expect("it runs");
        let switches = threads.map(|thread| {
            let path = thread.expect("a thread").path().join("status");
            let status = fs::read_to_string(path).expect("it runs");
            number_in(&status, "voluntary_ctxt_switches:")
        });
        (switches.sum(), fs::read_to_string(root.join("io")).expect("it runs"))
    }

    /// The most memory it has had resident at any time.
    ///
    /// # Panics
    /// When it does not run.
    pub fn peak_memory(&self) -> ByteCount {
        self.status_bytes("VmHWM:")
    }

    /// From now on, the most is counted anew.
    ///
    /// # Panics
    /// When it does not run.
    pub fn forget_peak_memory(&self) {
        let path = format!("/proc/{}/clear_refs", self.child.id());
        fs::write(path, "5").expect("it runs");
    }

    fn status_bytes(&self, field: &str) -> ByteCount {
        let path = format!("/proc/{}/status", self.child.id());
        ByteCount(number_in(&fs::read_to_string(path).expect("it runs"), field) << 10)
    }

    /// How many handles it holds just now.
    ///
    /// # Panics
    /// When it does not run.
    pub fn open_handles(&self) -> usize {
        let path = format!("/proc/{}/fd", self.child.id());
        fs::read_dir(path).expect("it runs").count()
    }

    /// All that was said so far and read by a `wait_for`.
    pub fn log(&self) -> &[String] {
        &self.log
    }

    /// Ends it as a power cut would, as far as the process is concerned.
    pub fn kill(mut self) -> Vec<String> {
        self.child.kill().expect("it runs");
        self.finish().log
    }

    /// Asks it to stop and waits until it has.
    ///
    /// # Panics
    /// When it does not stop in good order, within three seconds and without a panic.
    pub fn stop(self) -> Stopped {
        self.signal(Signal::TERM);
        let stopped = self.finish();
        assert_eq!(stopped.code, Some(0), "it stops in good order\n{}", stopped.log.join("\n"));
        assert!(stopped.took < Duration::from_secs(3), "it stops in time: {:?}", stopped.took);
        stopped
    }

    /// Asks it to stop, unless it has ended by itself with an error, which it says.
    ///
    /// # Panics
    /// When it ended in any other way.
    pub fn end(mut self) -> Stopped {
        let ended = self.child.try_wait().expect("it can be waited for");
        if ended.is_none() && kill_process(self.pid(), Signal::TERM).is_err() {
            return self.finish();
        }
        let stopped = self.finish();
        let said = stopped.log.join("\n");
        let is_told = said.lines().any(|line| line.starts_with("bergamot: "));
        assert!(stopped.code == Some(0) || stopped.code == Some(1) && is_told, "{stopped:?}");
        stopped
    }

    /// Sends a signal and goes on.
    ///
    /// # Panics
    /// When it does not run.
    pub fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).expect("it runs");
    }

    /// Waits for it to end by itself.
    pub fn finish(mut self) -> Stopped {
        let start = Instant::now();
        let status = self.child.wait().expect("it can be waited for");
        let took = start.elapsed();
        while let Ok(line) = self.lines.recv() {
            self.log.push(line);
        }
        let panicked = self.log.iter().any(|line| line.contains("panicked"));
        assert!(!panicked, "it panicked\n{}", self.log.join("\n"));
        Stopped { code: status.code(), took, log: std::mem::take(&mut self.log) }
    }

    fn fail(&mut self, what: &str) -> ! {
        // Only this test's own child, which has failed it.
        let _ = self.child.kill();
        panic!("{what}; the daemon said:\n{}", self.log.join("\n"));
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // A test that failed must not leave its daemon behind.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The number behind `field`; sizes are in kB.
fn number_in(status: &str, field: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix(field)).expect("as on Linux");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

/// Tests are in `target/*/deps`, the program one level above, unless the environment names another.
pub fn program() -> PathBuf {
    if let Some(program) = std::env::var_os("BERGAMOT_PROGRAM") {
        return program.into();
    }
    let test = std::env::current_exe().expect("the test knows where it lies");
    let directory = test.parent().and_then(|deps| deps.parent()).expect("a target directory");
    let program = directory.join("bergamot");
    assert!(program.exists(), "{} is not built; run cargo build --workspace", program.display());
    program
}

/// It can be asked, and mostly also told something.
const UP: &[&[&str]] = &[&["INFO ready"], &["WARN up, but not ready"]];

const NOBODY: u32 = 65_534;

/// Far more than anything here takes on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);
