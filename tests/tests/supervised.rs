//! Under a supervisor such as systemd: it is told how the daemon does, and has opened the doors.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixDatagram, UnixListener};
use std::process::{Command, Stdio};
use std::time::Duration;

use bergamot_tests::{Daemon, Home, skip};
use rustix::process::Signal;
use serde_json::json;

struct Notices(UnixDatagram);

impl Notices {
    fn next(&self) -> String {
        let mut text = [0; 512];
        let length = self.0.recv(&mut text).expect("a notice in time");
        String::from_utf8_lossy(&text[..length]).into_owned()
    }
}

/// `python3` hands the sockets on, as systemd does: as descriptors from 3, and with its own number.
const HAND_ON: &str = "
import os, socket, sys
unix = socket.socket(socket.AF_UNIX); unix.bind(sys.argv[1]); unix.listen()
tcp = socket.socket(); tcp.bind(('127.0.0.1', int(sys.argv[2]))); tcp.listen()
os.dup2(unix.fileno(), 30); os.dup2(tcp.fileno(), 31)
os.dup2(30, 3); os.dup2(31, 4); os.closerange(5, 64)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS='2', LISTEN_FDNAMES='control:http')
os.execv(sys.argv[3], sys.argv[3:])
";

#[test]
fn it_tells_how_it_does_and_takes_the_doors_over() {
    if Command::new("python3").arg("-V").stdout(Stdio::null()).status().is_err() {
        skip("there is no python3 to hand sockets on");
        return;
    }
    let home = Home::new();
    let notices = Notices(UnixDatagram::bind(home.join("notify")).unwrap());
    notices.0.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let config = home.join("bergamot.toml");
    fs::write(&config, "[control]\nport = 0\n").unwrap();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut command = Command::new("python3");
    command.args(["-c", HAND_ON]).arg(home.join("control.sock")).arg(port.to_string());
    command.arg(Daemon::command().get_program()).args(["run", "-c"]).arg(&config);
    command.env("NOTIFY_SOCKET", home.join("notify")).env("WATCHDOG_USEC", "2000000");
    command.env_remove("WATCHDOG_PID");
    let mut daemon = Daemon::spawn(command);
    assert_eq!(notices.next(), "READY=1\nSTATUS=Waiting for a news server to be added");
    assert_eq!(daemon.http().port(), port);
    // More than one: they come by themselves.
    assert_eq!((notices.next().as_str(), notices.next().as_str()), ("WATCHDOG=1", "WATCHDOG=1"));
    let version = home.connect().unwrap().call("system.version", json!({})).unwrap();
    assert!(version.is_string());

    fs::write(&config, "[control]\nport = 0\n[[server]]\nname = 'a'\nhost = 'b'\n").unwrap();
    daemon.signal(Signal::HUP);
    let mut told = Vec::new();
    while told.last().is_none_or(|text: &String| !text.contains("STATUS=Ready")) {
        told.push(notices.next());
    }
    assert!(told.iter().any(|text| text.starts_with("RELOADING=1")), "{told:?}");
    daemon.stop();
    while !notices.next().starts_with("STOPPING=1") {}
    let socket = fs::symlink_metadata(home.join("control.sock")).unwrap();
    assert!(socket.file_type().is_socket(), "a socket that is another's stays where it is");
}

#[test]
fn doors_of_another_process_are_left_alone() {
    let home = Home::new();
    // Nothing is handed on here: the variables are for another process.
    let mut command = Daemon::command();
    command.env("LISTEN_PID", "1").env("LISTEN_FDS", "2");
    let mut daemon = Daemon::launch(&home, "", command);
    daemon.wait_for(&["INFO ready"]);
    assert!(UnixListener::bind(home.join("control.sock")).is_err(), "it is our own");
    daemon.stop();
}

#[test]
fn the_units_are_good() {
    let units = concat!(env!("CARGO_MANIFEST_DIR"), "/../config/systemd");
    let home = tempfile::tempdir().unwrap();
    for name in ["bergamot.service", "bergamot.socket"] {
        let text = fs::read_to_string(format!("{units}/{name}")).unwrap();
        // What it looks for is where packages put it, which is not here.
        let program = Daemon::command().get_program().to_string_lossy().into_owned();
        fs::write(home.path().join(name), text.replace("/usr/bin/bergamot", &program)).unwrap();
    }
    let verify = Command::new("systemd-analyze")
        .arg("verify")
        .arg("--man=no")
        .args(["bergamot.service", "bergamot.socket"].map(|name| home.path().join(name)))
        .output();
    let Ok(verify) = verify else {
        skip("there is no systemd-analyze");
        return;
    };
    let said = String::from_utf8_lossy(&verify.stderr);
    let about_us: Vec<_> = said.lines().filter(|line| line.contains("bergamot")).collect();
    assert!(about_us.is_empty(), "{about_us:#?}");
}
