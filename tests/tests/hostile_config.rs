//! Configurations that are not what they should be, and who may see what they protect.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bergamot_tests::{Daemon, Home, HttpDaemon, News, http};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::Value;

fn reload(http_daemon: &HttpDaemon) -> Value {
    http_daemon.call_json(r#"{"jsonrpc":"2.0","id":1,"method":"config.reload"}"#)
}

// C-13
#[test]
fn a_reload_of_what_is_no_file_is_refused_at_once() {
    let http_daemon = HttpDaemon::start();
    let path = http_daemon.home.join("bergamot.toml");
    let text = fs::read(&path).expect("it is there");
    for what in ["a pipe", "a directory", "a device"] {
        fs::rename(&path, http_daemon.home.join("aside")).expect("it is there");
        match what {
            "a pipe" => {
                mknodat(CWD, &path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).expect("a pipe");
            }
            "a directory" => fs::create_dir(&path).expect("a directory"),
            _ => symlink("/dev/zero", &path).expect("a link"),
        }
        let answer = reload(&http_daemon);
        assert!(answer["error"]["message"].is_string(), "{what}: {answer}");
        assert!(answer["error"].to_string().contains("not a regular file"), "{what}: {answer}");
        let checked = Daemon::command().args(["config", "check"]).arg(&path).output();
        let checked = checked.expect("it runs");
        let told = String::from_utf8_lossy(&checked.stderr).into_owned();
        assert!(!checked.status.success() && told.contains("not a regular file"), "{what}: {told}");
        if what == "a directory" {
            fs::remove_dir(&path).expect("it is empty");
        }
        fs::rename(http_daemon.home.join("aside"), &path).expect("it was put aside");
    }
    assert_eq!(fs::read(&path).expect("it is there"), text);
    let answer = reload(&http_daemon);
    assert!(answer["error"].is_null(), "{answer}");
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("it is there").mode() & 0o777
}

#[test]
fn the_state_is_for_its_owner_alone_whatever_the_umask() {
    let home = Home::new();
    let config = "[storage]\numask = \"000\"\n[directories]\nstate = \"made/state\"\n";
    let daemon = Daemon::start(&home, config);
    assert_eq!(mode(&home.join("made/state")), 0o700);
    daemon.stop();
    // One that an older version made with the umask of its day.
    fs::set_permissions(home.join("made/state"), Permissions::from_mode(0o755)).expect("ours");
    let daemon = Daemon::start(&home, config);
    assert_eq!(mode(&home.join("made/state")), 0o700);
    for entry in fs::read_dir(home.join("made/state")).expect("it is there") {
        let path = entry.expect("an entry").path();
        assert_eq!(mode(&path) & 0o077, 0, "{}", path.display());
    }
    daemon.stop();
}

/// Members of the group get to a socket in there, and see nothing else.
#[test]
fn a_group_for_the_socket_opens_the_state_no_further_than_it_has_to() {
    let home = Home::new();
    let group = fs::metadata(home.join(".")).expect("it is there").gid();
    let state = home.join("made/state");
    for (socket, expected) in [("made/state/control.sock", 0o710), ("control.sock", 0o700)] {
        let _ = fs::create_dir_all(&state);
        fs::set_permissions(&state, Permissions::from_mode(0o755)).expect("ours");
        let socket = home.join(socket).display().to_string();
        let config = format!(
            "[directories]\nstate = \"made/state\"\n[control]\nport = 0\nsocket = {socket:?}\nsocket_group = {group}\n"
        );
        let daemon = Daemon::start(&home, &config);
        assert_eq!(mode(&state), expected, "{socket}");
        assert_eq!(fs::metadata(&state).expect("it is there").gid(), group);
        assert_eq!(mode(&state.join("spool")), 0o700);
        daemon.stop();
    }
}

// C-13
#[test]
fn passwords_that_others_can_read_are_warned_of() {
    let home = Home::new();
    let (path, secret) = (home.join("bergamot.toml"), home.join("news.password"));
    fs::write(&secret, "planted").expect("there is room");
    let server = "[[server]]\nname = \"s\"\nhost = \"127.0.0.1\"\nport = 1\nencryption = \"none\"\nusername = \"u\"\n";
    let check = |key: &str, config_mode: u32, secret_mode: u32| {
        fs::write(&path, format!("{server}{key}\n")).expect("there is room");
        fs::set_permissions(&path, Permissions::from_mode(config_mode)).expect("ours");
        fs::set_permissions(&secret, Permissions::from_mode(secret_mode)).expect("ours");
        let checked = Daemon::command().args(["config", "check"]).arg(&path).output();
        String::from_utf8_lossy(&checked.expect("it runs").stdout).into_owned()
    };
    let inline = "password = \"planted\"";
    let beside = "password_file = \"news.password\"";
    for (key, config_mode, secret_mode, named) in [
        (inline, 0o644, 0o600, Some("bergamot.toml")),
        (inline, 0o660, 0o600, Some("bergamot.toml")),
        (inline, 0o640, 0o600, None),
        (inline, 0o600, 0o644, None),
        (beside, 0o644, 0o640, None),
        (beside, 0o600, 0o604, Some("news.password")),
    ] {
        let told = check(key, config_mode, secret_mode);
        let warnings: Vec<_> = told.lines().filter(|line| line.contains("chmod")).collect();
        let case = format!("{key} {config_mode:o} {secret_mode:o}: {told}");
        assert_eq!(warnings.len(), usize::from(named.is_some()), "{case}");
        assert!(named.is_none_or(|named| warnings[0].contains(named)), "{case}");
        assert!(!told.contains("planted"), "{case}");
    }
}

#[test]
fn who_may_not_control_cannot_aim_a_server_test_at_private_hosts() {
    let home = Home::new();
    let news = News::plain(std::sync::Arc::new(bergamot_newsd::Posted::new()));
    let config = "[control]\nport = 0\nusername = \"c\"\npassword = \"c\"\n\
        restricted_username = \"r\"\nrestricted_password = \"r\"\n";
    let mut daemon = Daemon::start(&home, config);
    let address = daemon.http();
    let test = |user: &str, host: &str, body: &str| {
        let login = STANDARD.encode(format!("{user}:{user}"));
        let headers = format!("Authorization: Basic {login}\r\n");
        let body = body.replace("HOST", host).replace("PORT", &news.port(0).to_string());
        http(address, "POST /jsonrpc", &headers, &body).body
    };
    let native = r#"{"method":"servers.test","params":{"host":"HOST","port":PORT,"tls":false}}"#;
    let nzbget = r#"{"method":"testserver","params":["HOST",PORT,"","",false,"",5,0]}"#;
    for body in [native, nzbget] {
        for host in ["127.0.0.1", "localhost", "::1", "169.254.169.254", "::ffff:127.0.0.1"] {
            let told = test("r", host, body);
            assert!(told.contains("private"), "{host}: {told}");
        }
    }
    assert!(test("c", "127.0.0.1", native).contains(r#""result":null"#));
    assert!(test("c", "127.0.0.1", nzbget).contains(r#""result":"""#));
    daemon.stop();
}
