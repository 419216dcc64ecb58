//! Whoever controls the daemon: what they may write into its configuration, and that they always get in.

#![allow(clippy::unwrap_used)] // the exemption for tests does not reach their helpers

use std::fs::{self, Permissions};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::sync::Arc;
use std::thread;

use bergamot_newsd::{Generated, Posted};
use bergamot_rpc::ClientError;
use bergamot_tests::{Control, Daemon, Home, News, content_of, injected, may_trace};
use bergamot_types::ByteCount;
use serde_json::{Value, json};

/// Answer of one call of XML-RPC, over HTTP on the socket.
fn xml(home: &Home, method: &str, options: &[(&str, &str)]) -> String {
    let option = |(name, value): &(&str, &str)| {
        let member = |name: &str, value: &str| {
            format!("<member><name>{name}</name><value><string>{value}</string></value></member>")
        };
        format!(
            "<value><struct>{}{}</struct></value>",
            member("Name", name),
            member("Value", value)
        )
    };
    let options: String = options.iter().map(option).collect();
    let body = format!(
        "<?xml version='1.0'?><methodCall><methodName>{method}</methodName><params><param><value>\
         <array><data>{options}</data></array></value></param></params></methodCall>"
    );
    let mut stream = UnixStream::connect(home.join("control.sock")).unwrap();
    let length = body.len();
    let head = format!("POST /xmlrpc HTTP/1.0\r\nHost: x\r\nContent-Length: {length}\r\n\r\n");
    stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn shown(home: &Home) -> Vec<(String, String)> {
    let list = home.connect().unwrap().call("loadconfig", json!([])).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let list = list.as_array().unwrap().iter();
    list.map(|option| (text(&option["Name"]), text(&option["Value"]))).collect()
}

fn value(home: &Home, name: &str) -> String {
    shown(home).into_iter().find(|(known, _)| known == name).unwrap().1
}

fn refusal(home: &Home, options: Value) -> (String, String) {
    match home.connect().unwrap().call("saveconfig", options) {
        Err(ClientError::Refused { code, message, .. }) => (code, message),
        other => panic!("{other:?}"),
    }
}

#[test]
fn options_are_saved_around_what_people_wrote_and_hold_at_once() {
    let (home, control) = (Home::new(), Control::new());
    let news = News::plain(control.beside(Posted::new()));
    let mine = "# mine\n[download]\nrate = '5 MB' # fast\n\n[history]\nkeep = 9\n\n";
    let login = "username = 'ann' # me\npassword = 'planted'\nconnections = 4 # enough\n";
    let config = format!("{mine}{}", news.section(0, login));
    let mut daemon = Daemon::start(&home, &config);
    let before = fs::read_to_string(home.join("bergamot.toml")).unwrap();

    // A page of settings sends back all it was shown, and what was changed in it.
    let mut options = shown(&home);
    assert!(options.contains(&("Server1.Password".to_owned(), "***".to_owned())));
    for (name, value) in &mut options {
        match name.as_str() {
            "DownloadRate" => *value = "0".to_owned(),
            "Server1.Connections" => *value = "2".to_owned(),
            "DailyQuota" => *value = "4000".to_owned(),
            _ => {}
        }
    }
    let options: Vec<_> = options.iter().map(|(name, value)| (&name[..], &value[..])).collect();
    let answer = xml(&home, "saveconfig", &options);
    assert!(answer.contains("<boolean>1</boolean>"), "{answer}");
    let after = fs::read_to_string(home.join("bergamot.toml")).unwrap();
    let expected = before
        .replace("rate = '5 MB' # fast", "rate = \"0 KiB\" # fast")
        .replace("connections = 4 # enough", "connections = 2 # enough");
    assert_eq!(after, format!("{expected}\n[quota]\ndaily = \"4000 MiB\"\n"));
    assert_eq!(value(&home, "DownloadRate"), "0");
    assert_eq!(value(&home, "DailyQuota"), "4000");
    let servers = home.connect().unwrap().call("servers.list", json!({})).unwrap();
    assert_eq!(servers[0]["connections"], 2);
    control.completes(&home, &mut daemon);

    // Saved again, nothing changes.
    let again = json!([shown(&home)
        .iter()
        .map(|(name, value)| json!({ "Name": name, "Value": value }))
        .collect::<Vec<_>>()]);
    assert_eq!(home.connect().unwrap().call("saveconfig", again).unwrap(), true);
    assert_eq!(fs::read_to_string(home.join("bergamot.toml")).unwrap(), after);
    // A server that was switched off by hand obeys the last word.
    home.connect().unwrap().call("editserver", json!([1, false])).unwrap();
    assert_eq!(value(&home, "Server1.Active"), "no");
    let active = json!([{ "Name": "Server1.Active", "Value": "yes" }]);
    home.connect().unwrap().call("saveconfig", active).unwrap();
    assert_eq!(value(&home, "Server1.Active"), "yes");
    assert!(daemon.stop().log.iter().all(|line| !line.contains("planted")));
}

// C-12
#[test]
fn what_is_refused_leaves_the_file_alone_to_the_last_byte() {
    let home = Home::new();
    let mut command = Daemon::command();
    command.env("BERGAMOT__QUOTA__DAILY", "1 GB");
    fs::write(home.join("kept"), "hunter2").unwrap();
    let mut daemon = Daemon::launch(&home, CONFIG_WITH_LOGIN, command);
    assert!(daemon.comes_up());
    let path = home.join("bergamot.toml");
    let before = fs::read(&path).unwrap();
    let good = json!({ "Name": "DownloadRate", "Value": "500" });
    for (name, value, code) in [
        ("QueueDir", "/tmp/x", "config.not_settable"),
        ("ShellOverride", "/bin/evil", "config.not_settable"),
        ("ControlPassword", "mine", "config.not_settable"),
        ("DailyQuota", "5", "config.not_settable"),
        ("Category1.Name", "x", "config.not_settable"),
        ("UnrarCmd", "/bin/evil", "config.unknown_option"),
        ("Server1.Connections", "1000", "rpc.invalid_value"),
        ("Server1.Cipher", "NONE-OF-THESE", "rpc.invalid_value"),
        ("Server1.Name", "a\nb", "rpc.invalid_value"),
    ] {
        let (told, message) = refusal(&home, json!([[good, { "Name": name, "Value": value }]]));
        assert_eq!(told, code, "{name}: {message}");
        let key = name.rsplit('.').next().unwrap().to_lowercase();
        assert!(message.to_lowercase().contains(&key), "{message}");
        assert_eq!(fs::read(&path).unwrap(), before, "{name}");
    }
    let host = json!({ "Name": "Server1.Host", "Value": "evil.example" });
    let none = json!({ "Name": "Server1.Password", "Value": "" });
    let (code, message) = refusal(&home, json!([host, none]));
    assert_eq!((code.as_str(), fs::read(&path).unwrap() == before), ("config.not_settable", true));
    assert!(message.contains("password"), "{message}");
    let (_, message) = refusal(&home, json!([{ "Name": "DailyQuota", "Value": "5" }]));
    assert!(message.contains("BERGAMOT__QUOTA__DAILY"), "{message}");
    fs::set_permissions(&path, Permissions::from_mode(0o444)).unwrap();
    let (code, message) = refusal(&home, json!([good]));
    assert_eq!(code, "config.unwritable");
    assert!(message.contains("bergamot.toml") && message.contains("read-only"), "{message}");
    assert_eq!(fs::read(&path).unwrap(), before);
    fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
    assert_eq!(home.connect().unwrap().call("saveconfig", json!([good])).unwrap(), true);
    assert_eq!(value(&home, "DownloadRate"), "500");
    daemon.stop();
}

// C-24
#[test]
fn reloads_and_shutdowns_while_it_is_busy_cost_nothing() {
    let home = Home::new();
    let post = Arc::new(Generated::new(7, ByteCount(20_000)).file("f.bin", ByteCount(3_000_000)));
    let news = News::plain(post.clone());
    let config = format!("[download]\nrate = '400 KB'\n{}", news.section(0, "connections = 4"));
    let daemon = Daemon::start(&home, &config);
    home.drop_nzb("busy.nzb", post.nzb());
    news.wait_until(|news| news.tally(0).all_served() > 5);
    thread::scope(|scope| {
        for method in ["reload", "config.reload", "reload", "config.reload"] {
            let home = &home;
            scope.spawn(move || home.connect().unwrap().call(method, Value::Null).unwrap());
        }
    });
    let status = home.connect().unwrap().call("system.status", json!({})).unwrap();
    assert_eq!(status["jobs"], 1, "it is still busy");
    let clients = [home.connect().unwrap(), home.connect().unwrap()];
    thread::scope(|scope| {
        for mut client in clients {
            // The second may find nobody any more.
            scope.spawn(move || drop(client.call("shutdown", Value::Null)));
        }
    });
    let stopped = daemon.finish();
    assert_eq!(stopped.code, Some(0), "{}", stopped.log.join("\n"));
    assert!(stopped.took.as_secs() < 5, "{:?}", stopped.took);
    let mut daemon = Daemon::start(&home, &config.replace("400 KB", "0 B"));
    daemon.wait_complete("busy");
    assert!(fs::read(home.join("complete/busy/f.bin")).unwrap() == content_of(&post));
    daemon.stop();
}

// L-01
#[test]
fn with_few_descriptors_it_can_still_be_controlled() {
    for descriptors in [64, 256] {
        let (home, control) = (Home::new(), Control::new());
        let news = News::plain(control.beside(Posted::new()));
        let mut command = Command::new("sh");
        command.args(["-c", &format!("ulimit -n {descriptors} && exec \"$0\" \"$@\"")]);
        command.arg(Daemon::command().get_program());
        let mut daemon = Daemon::launch(&home, &news.section(0, "connections = 200"), command);
        let http = daemon.http();
        assert!(daemon.comes_up());
        // Whoever comes and says nothing takes no more than some of them.
        let idle: Vec<_> = (0..200).map(|_| TcpStream::connect(http).unwrap()).collect();
        let mut lines: Vec<_> = (0..8).map(|_| home.connect().unwrap()).collect();
        for client in &mut lines {
            assert_eq!(client.call("system.status", json!({})).unwrap()["jobs"], 0);
        }
        control.completes(&home, &mut daemon);
        assert!(daemon.open_handles() < descriptors, "{}", daemon.open_handles());
        drop((idle, lines));
        let stopped = daemon.stop();
        let told = |level: &str| {
            let is_it = |line: &&String| line.contains(&format!("{level} resource.fd_limit"));
            stopped.log.iter().filter(is_it).count()
        };
        assert_eq!(told("INFO"), 1, "how many connections there are for that");
        assert!(told("WARN") <= 1, "and that none was left, where it came to that");
    }
}

// S-14
#[test]
fn state_where_nothing_can_be_locked_is_refused_by_name() {
    if !may_trace() {
        return;
    }
    let home = Home::new();
    let config = "[[server]]\nname = 'a'\nhost = 'b'\n";
    // As NFS answers without its lock daemon.
    let stopped = Daemon::launch(&home, config, injected(&home, &["flock:error=ENOLCK"])).finish();
    assert_eq!(stopped.code, Some(1), "{}", stopped.log.join("\n"));
    let said = stopped.log.join("\n");
    let state = home.join("state");
    assert!(said.contains("state.") && said.contains(state.to_str().unwrap()), "{said}");
    Daemon::start(&home, config).stop();
}

#[test]
fn a_disk_is_tried_out_only_where_jobs_are_written() {
    let home = Home::new();
    let incomplete = home.join("incomplete");
    fs::create_dir_all(&incomplete).unwrap();
    let daemon = Daemon::start(&home, "[[server]]\nname = 'a'\nhost = 'b'\n");
    std::os::unix::fs::symlink("/tmp", incomplete.join("link")).unwrap();
    let path = |below: &str| incomplete.join(below).to_str().unwrap().to_owned();
    for (path, code) in [
        ("/tmp".to_owned(), "rpc.invalid_value"),
        (home.join("state").to_str().unwrap().to_owned(), "rpc.invalid_value"),
        (path("../state"), "daemon.unavailable"),
        (path("link"), "daemon.unavailable"),
        (path("nothing"), "daemon.unavailable"),
    ] {
        match home.connect().unwrap().call("testdiskspeed", json!([path, 64, 1, 1])) {
            Err(ClientError::Refused { code: told, message, .. }) => {
                assert_eq!(told, code, "{message}");
            }
            other => panic!("{path}: {other:?}"),
        }
    }
    fs::remove_file(incomplete.join("link")).unwrap();
    let answer = home.connect().unwrap().call("testdiskspeed", json!([path(""), 1024, 1, 1]));
    assert!(answer.unwrap()["SizeMB"].is_number());
    assert_eq!(home.inventory("incomplete").len(), 0, "nothing stays");
    daemon.stop();
}

const CONFIG_WITH_LOGIN: &str =
    "[[server]]\nname = 'a'\nhost = 'b'\nusername = 'ann'\npassword_file = 'kept'\n";
