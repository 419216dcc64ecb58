//! The command line against the real daemon: what people see, and what scripts can rely on.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{TryRecvError, channel};
use std::thread;

use bergamot_tests::{Daemon, Home, News, content_of, file, nzb, post};
use rustix::process::{Pid, Signal, kill_process};

/// A daemon with one server, and somebody at a shell.
struct Desk {
    home: Home,
    daemon: Daemon,
    _news: News,
}

/// What a command left behind.
#[derive(Debug)]
struct Said {
    code: Option<i32>,
    out: String,
    err: String,
}

impl Desk {
    fn new() -> Self {
        Self::with("")
    }

    /// `more` stands before the server in the configuration.
    fn with(more: &str) -> Self {
        let home = Home::new();
        let news = News::plain(post(SEED, "sample.bin", 4));
        let daemon = Daemon::start(&home, &format!("{more}\n{}", news.section(0, "")));
        Self { home, daemon, _news: news }
    }

    fn socket(&self) -> PathBuf {
        self.home.join("control.sock")
    }

    fn command(&self, line: &[&str]) -> Command {
        let mut command = plain_command();
        command.arg("--host").arg(self.socket()).args(line);
        command
    }

    fn say(&self, line: &[&str]) -> Said {
        finished(self.command(line))
    }

    /// What it prints, when all goes well.
    fn ask(&self, line: &[&str]) -> String {
        let said = self.say(line);
        assert_eq!(said.code, Some(0), "{line:?}: {said:?}");
        said.out
    }

    /// An NZB on disk, to be added.
    fn nzb_file(&self, name: &str, text: &str) -> String {
        let path = self.home.join(name);
        fs::write(&path, text).expect("an NZB");
        path.to_str().expect("temporary directories have plain names").to_owned()
    }

    /// A job that nothing can be had of, since nobody has its articles; its id.
    fn add_paused(&self, name: &str) -> String {
        let path = self.nzb_file(&format!("{name}.nzb"), &absent(name));
        self.ask(&["add", "--quiet", "--paused", &path]).trim().to_owned()
    }

    fn queue(&self) -> Vec<String> {
        self.ask(&["list", "-q"]).lines().map(str::to_owned).collect()
    }
}

/// In no way changed by the shell of whoever runs the tests.
fn plain_command() -> Command {
    let mut command = Daemon::command();
    for name in ["BERGAMOT_HOST", "BERGAMOT_SOCKET", "XDG_RUNTIME_DIR"] {
        command.env_remove(name);
    }
    command.stdin(Stdio::null());
    command
}

fn finished(mut command: Command) -> Said {
    let output = command.output().expect("the program runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("it prints text");
    Said { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

fn absent(name: &str) -> String {
    nzb(&file(
        &format!("&quot;{name}.bin&quot; yEnc (1/2)"),
        &[format!("{name}.1@absent"), format!("{name}.2@absent")],
    ))
}

#[test]
fn a_post_is_added_waited_for_and_found_in_the_history() {
    let desk = Desk::new();
    let post = post(SEED, "sample.bin", 4);
    let path = desk.nzb_file("Some post.nzb", &post.nzb());
    let said = desk.ask(&["add", "--wait", "--category", "tv", &path]);
    assert!(said.contains("Job 1 is added: Some post, "), "{said}");
    assert!(said.contains("1 Some post: complete, in "), "{said}");
    let found = fs::read(desk.home.join("complete/tv/Some post/sample.bin")).expect("a file");
    assert!(found == content_of(&post), "every byte is there");
    assert_eq!(desk.ask(&["list"]), "The queue is empty.\n");
    let history = desk.ask(&["history"]);
    assert!(history.contains("Some post") && history.contains("complete"), "{history}");
    assert_eq!(desk.ask(&["history", "-q", "-C", "tv"]), "1\n");
    let shown = desk.ask(&["show", "1"]);
    assert!(shown.starts_with("Some post\n") && shown.contains("complete"), "{shown}");
    assert_eq!(desk.ask(&["wait", "1", "-q"]), "", "what has ended is not waited for");
    let again = desk.say(&["retry", "1"]);
    assert!(again.err.contains("job 1 is complete") && again.code == Some(1), "{again:?}");
    let again = desk.say(&["add", &path]);
    assert_eq!(again.code, Some(7), "{again:?}");
    assert!(again.out.contains("Job 2 is not begun: Some post, deleted: copy ("), "{again:?}");
}

#[test]
fn what_cannot_be_had_says_so_to_scripts() {
    let desk = Desk::new();
    let path = desk.nzb_file("gone.nzb", &absent("gone"));
    let said = desk.say(&["add", "--wait", &path]);
    assert_eq!(said.code, Some(8), "{said:?}");
    assert!(said.out.contains("1 gone: failed: "), "{said:?}");
    assert_eq!(desk.say(&["wait", "1"]).code, Some(8));
    let explained = desk.ask(&["explain", "1"]);
    assert!(explained.lines().count() > 1, "a sentence and its evidence: {explained}");
    assert_eq!(desk.ask(&["retry", "--from-start", "1"]), "Job 1 is in the queue again.\n");
    assert_eq!(desk.say(&["wait", "1"]).code, Some(8));
}

#[test]
fn an_nzb_comes_by_standard_input() {
    let desk = Desk::new();
    let mut command = desk.command(&["add", "-", "--name", "Piped", "--wait"]);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the program runs");
    let nzb = post(SEED, "sample.bin", 4).nzb();
    child.stdin.take().expect("it was piped").write_all(nzb.as_bytes()).expect("it listens");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(0));
    assert!(desk.home.join("complete/Piped/sample.bin").exists());
    assert_eq!(desk.say(&["add", "-"]).code, Some(1), "nothing is no NZB");
    let missing = desk.say(&["add", "/nowhere/x.nzb"]);
    assert_eq!(missing.code, Some(1));
    assert!(missing.err.contains("cannot read /nowhere/x.nzb"), "{missing:?}");
    let other = desk.nzb_file("other.nzb", &absent("other"));
    let both = desk.say(&["add", "/nowhere/x.nzb", &other]);
    assert_eq!(both.code, Some(1), "{both:?}");
    assert!(both.out.contains("is added: other,"), "one does not hold up the other: {both:?}");
}

#[test]
fn the_queue_is_steered_by_ids() {
    let desk = Desk::new();
    let ids = ["a", "b", "c"].map(|name| desk.add_paused(name));
    assert_eq!(ids, ["1", "2", "3"]);
    for (place, order) in [
        (&["3", "top"][..], ["3", "1", "2"]),
        (&["3", "down"], ["1", "3", "2"]),
        (&["2", "up"], ["1", "2", "3"]),
        (&["1", "bottom"], ["2", "3", "1"]),
        (&["1", "before", "3"], ["2", "1", "3"]),
        (&["2", "after", "3"], ["1", "3", "2"]),
    ] {
        desk.ask(&[&["mv"], place].concat());
        assert_eq!(desk.queue(), order, "{place:?}");
    }
    let page = desk.ask(&["ls", "--limit", "1", "--offset", "1"]);
    assert!(page.contains("paused") && page.ends_with("2 of 3; more with --offset 2\n"), "{page}");
    assert_eq!(desk.ask(&["ls", "-q", "b"]), "2\n", "names are searched");
    assert_eq!(desk.ask(&["rm", "1"]), "Job 1 is removed.\n");
    assert_eq!(desk.ask(&["rm", "--keep-files", "2"]), "Job 2 is removed; its files are kept.\n");
    assert_eq!(desk.queue(), ["3"]);
    assert_eq!(desk.ask(&["rm", "-q", "--forget", "1", "3"]), "");
    assert_eq!(desk.ask(&["history", "-q"]), "2\n");
}

#[test]
fn jobs_that_do_not_exist_are_named_and_the_others_are_done() {
    let desk = Desk::new();
    desk.add_paused("a");
    for line in [
        &["show", "99"][..],
        &["explain", "99"],
        &["wait", "99"],
        &["rm", "99"],
        &["mv", "99", "top"],
        &["retry", "99"],
    ] {
        let said = desk.say(line);
        assert_eq!(said.code, Some(4), "{line:?}: {said:?}");
        assert_eq!(said.err, "bergamot: there is no job 99\n", "{line:?}");
    }
    let said = desk.say(&["resume", "99", "1"]);
    assert_eq!((said.code, said.out.as_str()), (Some(4), "Job 1 is resumed.\n"), "{said:?}");
}

#[test]
fn every_command_answers_people_and_programs() {
    let desk = Desk::new();
    desk.add_paused("a");
    for line in [
        &["status"][..],
        &["list"],
        &["history"],
        &["show", "1"],
        &["show", "1", "--files"],
        &["explain"],
        &["explain", "1"],
        &["limit"],
        &["limit", "5 MB"],
        &["limit", "off"],
        &["quota"],
        &["log"],
        &["log", "-n", "3"],
        &["server", "list"],
        &["server", "test", "s0"],
        &["pause"],
        &["pause", "--for", "1h"],
        &["resume"],
        &["pause", "1"],
        &["scan"],
        &["reload"],
        &["rpc", "system.status"],
        &["rpc", "job.get", "job=1"],
        &["rpc", "job.get", r#"{"job": 1}"#],
        &["rpc", "listgroups", "0"],
    ] {
        let page = desk.ask(line);
        assert!(!page.contains('\u{1b}'), "no colours without a terminal: {line:?} {page:?}");
        let json = desk.ask(&[line, &["--json"]].concat());
        assert_eq!(json.lines().count(), 1, "one answer, one line: {line:?}");
    }
    let mistakes =
        [&["rpc", "no.such"][..], &["rpc", "job.get", "job=x"], &["limit", "5"], &["nonsense"]];
    for line in mistakes {
        assert_eq!(desk.say(line).code, Some(2), "{line:?}");
    }
    for shell in ["bash", "zsh", "fish"] {
        assert!(desk.ask(&["completions", shell]).contains("bergamot"), "{shell}");
    }
}

#[test]
fn limits_and_pauses_are_those_of_the_daemon() {
    let desk = Desk::new();
    assert_eq!(desk.ask(&["limit", "5 MB/s"]), "5.0 MB/s\n");
    assert_eq!(desk.ask(&["limit"]), "5.0 MB/s\n");
    assert_eq!(desk.ask(&["limit", "off"]), "No limit.\n");
    assert_eq!(desk.ask(&["pause", "--for", "90 min"]), "Downloads are paused for 1 h 30 min.\n");
    let status = desk.ask(&["status"]);
    assert!(status.contains("paused by ") && status.contains(", until "), "{status}");
    assert_eq!(desk.ask(&["resume"]), "Downloads are resumed.\n");
    assert!(!desk.ask(&["status"]).contains("paused"));
    desk.add_paused("a");
    desk.ask(&["pause"]);
    assert!(desk.ask(&["list"]).contains("Paused by "), "{}", desk.ask(&["list"]));
    let resumed = desk.ask(&["resume"]);
    assert!(resumed.ends_with(" Every job in the queue is paused.\n"), "{resumed}");
}

#[test]
fn a_daemon_that_is_not_there_is_one_sentence() {
    let home = Home::new();
    let socket = home.join("none.sock");
    let mut command = plain_command();
    command.env("BERGAMOT_SOCKET", &socket).arg("list");
    let said = finished(command);
    assert_eq!(said.code, Some(3), "{said:?}");
    assert_eq!(said.err.lines().count(), 1, "{said:?}");
    assert!(said.err.contains(&*socket.to_string_lossy()), "what was tried is named: {said:?}");
    let mut command = plain_command();
    command.args(["-H", "tcp://127.0.0.1:1", "list"]);
    assert_eq!(finished(command).code, Some(3));
    let mut command = plain_command();
    command.args(["-H", "gopher://x", "list"]);
    assert_eq!(finished(command).code, Some(2));
}

#[test]
fn no_password_goes_to_whoever_listens_at_the_port_of_a_daemon_that_is_gone() {
    let home = Home::new();
    let stranger = TcpListener::bind("127.0.0.1:0").expect("a port");
    stranger.set_nonblocking(true).expect("it can be asked");
    let port = stranger.local_addr().expect("a port").port();
    let config = format!("[control]\nport = {port}\nusername = \"ann\"\npassword = \"hush\"\n");
    fs::write(home.join("bergamot.toml"), config).expect("a configuration");
    let mut command = plain_command();
    command.arg("list").arg("--config").arg(home.join("bergamot.toml"));
    let said = finished(command);
    assert_eq!(said.code, Some(3), "{said:?}");
    assert!(said.err.contains("BERGAMOT_HOST") && said.err.contains(&port.to_string()), "{said:?}");
    let met = stranger.accept().map(drop).unwrap_err();
    assert_eq!(met.kind(), std::io::ErrorKind::WouldBlock, "nobody asked the stranger");

    // Health wants no login, so it may ask whoever is there.
    stranger.set_nonblocking(false).expect("it waits");
    let asked = thread::spawn(move || {
        let mut stream = BufReader::new(stranger.accept().expect("somebody asks").0);
        let lines = (&mut stream).lines().map_while(Result::ok);
        let head: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
        let answer = "HTTP/1.1 503 x\r\nContent-Length: 16\r\n\r\nnot ready: busy\n";
        stream.get_mut().write_all(answer.as_bytes()).expect("it is answered");
        head
    });
    let mut command = plain_command();
    command.arg("health").arg("--config").arg(home.join("bergamot.toml"));
    let said = finished(command);
    assert_eq!(
        (said.code, said.out.as_str()),
        (Some(1), "The daemon runs and is not ready: busy.\n")
    );
    let head = asked.join().expect("it was asked");
    assert!(head[0].starts_with("GET /readyz "), "{head:?}");
    assert!(!head.iter().any(|line| line.to_lowercase().contains("authorization")), "{head:?}");
}

#[test]
fn the_daemon_is_found_by_variable_and_by_its_configuration() {
    let desk = Desk::new();
    let socket = desk.socket();
    for name in ["BERGAMOT_HOST", "BERGAMOT_SOCKET"] {
        let mut command = plain_command();
        command.env(name, &socket).args(["list", "-q"]);
        assert_eq!(finished(command).code, Some(0), "{name}");
    }
    let mut command = plain_command();
    command.args(["list", "-q", "--config"]).arg(desk.home.join("bergamot.toml"));
    assert_eq!(finished(command).code, Some(0));
}

#[test]
fn over_http_a_login_is_needed_where_there_is_a_password() {
    let mut desk = Desk::with(
        "[control]\nsocket = \"control.sock\"\nport = 0\nusername = \"ann\"\npassword = \"a b:c\"\n",
    );
    let line = desk.daemon.expect(&["listening", "http="]);
    let address = line.split('"').nth(1).expect("an address in quotes").to_owned();
    let over_http = |login: &str, line: &[&str]| {
        let mut command = plain_command();
        command.arg("-H").arg(format!("http://{login}{address}")).args(line);
        finished(command)
    };
    assert_eq!(over_http("ann:a%20b%3ac@", &["list"]).out, "The queue is empty.\n");
    for login in ["", "ann:wrong@"] {
        let said = over_http(login, &["list"]);
        assert_eq!(said.code, Some(6), "{login:?}: {said:?}");
    }
    let job = desk.add_paused("a");
    let waited = over_http("ann:a%20b%3ac@", &["wait", &job, "--timeout", "100ms"]);
    assert_eq!(waited.code, Some(124), "events come over HTTP, too: {waited:?}");
}

#[test]
fn waiting_ends_with_the_time_the_job_the_person_or_the_daemon() {
    let desk = Desk::new();
    let job = desk.add_paused("a");
    let said = desk.say(&["wait", &job, "--timeout", "100ms"]);
    assert_eq!(said.code, Some(124), "{said:?}");
    assert_eq!(said.err, "bergamot: not done within 100 ms\n");
    let start = |line: &[&str]| {
        let mut command = desk.command(line);
        command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("the program runs")
    };
    let ended = |mut child: Child| child.wait().expect("it can be waited for");
    // Not an interrupt: whoever runs this in the background may have that ignored.
    let stopped = start(&["wait", &job]);
    kill_process(Pid::from_child(&stopped), Signal::TERM).expect("it runs");
    assert_eq!(ended(stopped).signal(), Some(15), "which shells make 143 of");
    let waiting = start(&["wait", &job]);
    desk.ask(&["rm", &job]);
    assert_eq!(ended(waiting).code(), Some(7));
    let other = desk.add_paused("b");
    let forsaken = [start(&["wait", &other]), start(&["watch"]), start(&["log", "-f"])];
    assert_eq!(desk.ask(&["stop"]), "The daemon is stopping.\n");
    for child in forsaken {
        assert_eq!(ended(child).code(), Some(3));
    }
    assert_eq!(desk.daemon.finish().code, Some(0));
}

#[test]
fn watchers_without_a_terminal_get_a_line_for_each_change() {
    let desk = Desk::new();
    let mut child = desk.command(&["watch"]).stdout(Stdio::piped()).spawn().expect("it runs");
    let out = child.stdout.take().expect("it was piped");
    let (sender, lines) = channel();
    thread::spawn(move || {
        for line in BufReader::new(out).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    // Until it listens nobody knows when it does.
    let first = loop {
        desk.ask(&["pause"]);
        desk.ask(&["resume"]);
        match lines.try_recv() {
            Ok(line) => break line,
            Err(TryRecvError::Empty) => {}
            Err(TryRecvError::Disconnected) => panic!("it ended"),
        }
    };
    assert!(first.starts_with("download: "), "{first}");
    desk.add_paused("a");
    assert!(lines.iter().any(|line| line == "1 a: added"));
    desk.ask(&["rm", "1"]);
    assert!(lines.iter().any(|line| line == "1 a: deleted"));
    kill_process(Pid::from_child(&child), Signal::TERM).expect("it runs");
    child.wait().expect("it ends");
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let desk = Desk::new();
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let mut command = desk.command(&["status"]);
    let child = command.stdout(writer).stderr(Stdio::piped()).spawn().expect("the program runs");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stderr.is_empty(), "{:?}", String::from_utf8_lossy(&output.stderr));
}

const SEED: u64 = 0xc11;
