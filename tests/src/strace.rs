//! Calls of the kernel that go wrong on purpose.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use bergamot_testkit::skip;
use rustix::process::{Pid, Signal, kill_process};

use crate::daemon::Daemon;
use crate::home::Home;

/// The n-th call of a kind that a thread makes on a path below the home of a daemon.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Point {
    pub call: String,
    pub path: PathBuf,
    pub number: u32,
}

/// What happens at a point, in the words of strace.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Mishap {
    Error(&'static str),
    Kill,
    /// The call says that it took nothing of what it was given.
    TakesNothing,
}

impl Point {
    /// The program, to be run with something going wrong here.
    pub fn strike(&self, home: &Home, mishap: Mishap) -> Command {
        let what = match mishap {
            Mishap::Error(name) => format!("error={name}"),
            Mishap::Kill => "signal=SIGKILL".to_owned(),
            Mishap::TakesNothing => "retval=0".to_owned(),
        };
        let mut command = tracer(&home.join("trace"), &self.call, mishap == Mishap::Kill);
        command.arg("-P").arg(self.path_in(home));
        command.args(["-e", &format!("inject={}:{what}:when={}", self.call, self.number)]);
        command.arg(Daemon::command().get_program());
        command
    }

    /// The same place in another home: what a job is copied to has a name that follows from where it was.
    fn path_in(&self, home: &Home) -> PathBuf {
        let from = home.join("incomplete");
        let hash = crc32fast::hash(from.as_os_str().as_encoded_bytes());
        let own = |name: &str| -> Option<String> {
            let job = name.strip_prefix(".bergamot-")?.split_once('-')?.1;
            Some(format!(".bergamot-{hash:08x}-{job}"))
        };
        let names = self
            .path
            .iter()
            .map(|name| name.to_str().and_then(own).map_or_else(|| name.to_owned(), Into::into));
        home.join(names.collect::<PathBuf>())
    }

    /// The program, with a trace of all that changes the disk.
    pub fn trace(home: &Home) -> Command {
        let mut command = tracer(&home.join("trace"), CHANGES, false);
        command.arg(Daemon::command().get_program());
        command
    }

    /// Every point of a trace in which something below the home was changed.
    ///
    /// # Panics
    /// When there is no trace.
    pub fn all(home: &Home) -> BTreeSet<Self> {
        let trace = std::fs::read_to_string(home.join("trace")).expect("a trace");
        let mut counts: BTreeMap<(&str, &str, &Path), u32> = BTreeMap::new();
        let mut points = BTreeSet::new();
        let base = home.path();
        for line in trace.lines() {
            let Some((thread, call, arguments)) = parsed(line) else { continue };
            let Some(path) = subject(arguments).and_then(|path| path.strip_prefix(&base).ok())
            else {
                continue;
            };
            let number = counts.entry((thread, call, path)).or_default();
            *number += 1;
            if !["open", "openat"].contains(&call) || arguments.contains("O_CREAT") {
                points.insert(Self {
                    call: call.to_owned(),
                    path: path.to_owned(),
                    number: *number,
                });
            }
        }
        points
    }
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} on {}", self.call, self.number, self.path.display())
    }
}

/// The program, with each of these calls of the kernel going wrong as strace's `inject` says, such as
/// `fchmod:error=EPERM`.
pub fn injected(home: &Home, mishaps: &[&str]) -> Command {
    let calls: Vec<_> = mishaps.iter().filter_map(|mishap| mishap.split(':').next()).collect();
    let kills = mishaps.iter().any(|mishap| mishap.contains("signal="));
    let mut command = tracer(&home.join("trace"), &calls.join(","), kills);
    for mishap in mishaps {
        command.args(["-e", &format!("inject={mishap}")]);
    }
    command.arg(Daemon::command().get_program());
    command
}

/// The program, whose calls of this kind on this path last longer than any test, until [`end_delays`].
pub fn delayed(call: &str, path: &Path, trace: &Path) -> Command {
    let mut command = Command::new("strace");
    command.args(["-D", "-f", "-qq", "-o"]).arg(trace).arg("-P").arg(path);
    command.args(["-e", &format!("trace={call}")]);
    command.args(["-e", &format!("inject={call}:delay_enter=3600000000")]);
    command.arg(Daemon::command().get_program());
    command
}

/// Ends the tracer of [`delayed`], without which nothing is delayed.
///
/// # Panics
/// When the daemon is not traced.
pub fn end_delays(daemon: &Daemon) {
    let status = format!("/proc/{}/status", daemon.pid().as_raw_nonzero());
    let status = std::fs::read_to_string(status).expect("the daemon runs");
    let tracer = status.lines().find_map(|line| line.strip_prefix("TracerPid:"));
    let tracer = tracer.and_then(|tracer| tracer.trim().parse().ok()).and_then(Pid::from_raw);
    kill_process(tracer.expect("it is traced"), Signal::KILL).expect("the tracer runs");
}

/// Whether processes may be traced here; where not, the test is skipped.
pub fn may_trace() -> bool {
    let mut command = Command::new("strace");
    let status = command.args(["-o", "/dev/null", "true"]).stderr(Stdio::null()).status();
    let may_trace = status.is_ok_and(|status| status.success());
    if !may_trace {
        skip("strace is not there, or not permitted to trace");
    }
    may_trace
}

/// It runs beside the program, so that signals and exit codes are the program's own.
///
/// With a filter in the kernel it is quicker; but then strace (6.1) kills at a first call only, not at a
/// later one.
fn tracer(log: &Path, calls: &str, kills: bool) -> Command {
    let mut command = Command::new("strace");
    command.args(["-D", "-f", "-y", "-qq", "-e", &format!("trace={calls}")]);
    command.args((!kills).then_some("--seccomp-bpf"));
    command.arg("-o").arg(log);
    command
}

/// Thread, call and arguments of `123 write(4</a/b>, "x", 1) = 1`.
fn parsed(line: &str) -> Option<(&str, &str, &str)> {
    let (thread, rest) = line.split_once(' ')?;
    let (call, arguments) = rest.trim_start().split_once('(')?;
    call.bytes().all(|byte| byte.is_ascii_alphanumeric()).then_some((thread, call, arguments))
}

/// What the call is about: the path that is spelt out in full, or that of its first handle.
fn subject(arguments: &str) -> Option<&Path> {
    let spelt = arguments.split('"').nth(1).filter(|text| text.starts_with('/'));
    let is_about_bytes = arguments.starts_with(|first: char| first.is_ascii_digit());
    let handle = || arguments.split_once('<')?.1.split_once('>').map(|(path, _)| path);
    spelt.filter(|_| !is_about_bytes).or_else(handle).map(Path::new)
}

/// With musl `open` is a call of its own, on processors that have it.
const CHANGES: &str = "?open,openat,write,pwrite64,ftruncate,fallocate,fsync,fdatasync,rename,renameat,\
                       renameat2,unlink,unlinkat,mkdir,mkdirat,rmdir,sync_file_range,copy_file_range";
