//! What `bergamot doctor` finds.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops here")]

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, Output};
use std::sync::Arc;

use bergamot_newsd::certs::{Authority, Quality};
use bergamot_newsd::{Generated, Login, Manners, Options, Security};
use bergamot_tests::{Daemon, Home, News, may_trace, skip};
use bergamot_types::{ByteCount, Secret};
use rustix::process::geteuid;
use serde_json::Value;

fn news() -> News {
    let articles = Generated::new(1, ByteCount(1_000)).file("a", ByteCount(1_000));
    let login = Login {
        user: "ann".to_owned(),
        password: Secret::new("right-word"),
        user_suffices: false,
        needs_tls: false,
    };
    let manners = Manners { login: Some(login), ..Manners::default() };
    News::start([Options { articles: Arc::new(articles), manners, ..Options::default() }])
}

/// In a home that anybody may look into.
fn command(home: &Home, config: &str) -> Command {
    let file = home.join("bergamot.toml");
    fs::write(&file, config).unwrap();
    fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
    fs::set_permissions(home.path().parent().unwrap(), Permissions::from_mode(0o755)).unwrap();
    let mut command = Daemon::command();
    command.arg("doctor").arg("--json").arg("--config").arg(&file);
    for name in ["PUID", "PGID", "UMASK", "BERGAMOT_CONTAINER"] {
        command.env_remove(name);
    }
    command
}

fn examined(command: &mut Command) -> (Output, Vec<Value>) {
    let output = command.output().unwrap();
    let findings = serde_json::from_slice(&output.stdout).unwrap_or_default();
    (output, findings)
}

fn grade<'a>(findings: &'a [Value], about: &str, fact: &str) -> Option<&'a str> {
    let has = |value: &Value, text: &str| value.as_str().is_some_and(|it| it.contains(text));
    let found = findings.iter().find(|it| has(&it["about"], about) && has(&it["fact"], fact))?;
    found["grade"].as_str()
}

#[test]
fn a_server_that_wants_a_group_selected_is_told_of() {
    let manners = Manners { needs_group: true, ..Manners::default() };
    let news = News::start([Options { manners, ..Options::default() }]);
    for (keys, graded) in [("", Some("problem")), ("join_group = true", None)] {
        let home = Home::new();
        let (_, findings) = examined(&mut command(&home, &news.section(0, keys)));
        assert_eq!(grade(&findings, "server s0", "412"), graded, "{findings:?}");
    }
}

#[test]
fn nothing_is_made_where_a_disk_is_promised() {
    if !may_trace() {
        return;
    }
    let home = Home::new();
    let (share, fstab) = (home.join("share"), home.join("fstab"));
    fs::create_dir_all(share.join("watch")).unwrap();
    fs::write(&fstab, format!("nas:/x {} nfs defaults 0 0\n", share.display())).unwrap();
    let config = "[directories]\nstate = 'share/state'\nwatch = 'share/watch'\n";
    let doctor = command(&home, config);
    let trace = home.join("trace");
    let script = "mount --bind \"$0\" /etc/fstab || exit 77; exec \"$@\"";
    let mut traced = Command::new("unshare");
    traced.args(["--mount", "sh", "-c", script]).arg(&fstab);
    traced.args(["strace", "-f", "-qq", "-e", "trace=openat", "-o"]).arg(&trace);
    traced.arg(doctor.get_program()).args(doctor.get_args());
    let output = traced.output().unwrap();
    if output.status.code() == Some(77) {
        return skip("nothing can be mounted here");
    }
    let findings: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap_or_default();
    for about in ["share/state", "share/watch"] {
        assert_eq!(grade(&findings, about, "mounted"), Some("problem"), "{findings:#?}");
    }
    let made = fs::read_to_string(&trace).unwrap();
    let made: Vec<_> = made.lines().filter(|line| line.contains("O_CREAT")).collect();
    assert!(!made.iter().any(|line| line.contains("share/")), "{made:#?}");
}

#[test]
fn all_is_well_where_it_is() {
    let (home, news) = (Home::new(), news());
    for name in ["incomplete", "complete", "state"] {
        fs::create_dir(home.join(name)).unwrap();
    }
    let config = news.section(0, "username = 'ann'\npassword = 'right-word'");
    let (output, findings) = examined(&mut command(&home, &config));
    assert!(output.status.success(), "{findings:#?} {output:?}");
    for (about, fact) in [
        ("watch", "files get mode"),
        ("inotify", "inotify reports new files"),
        ("incomplete to", "jobs are renamed"),
        ("incomplete to", "hard links work"),
        ("(room)", "free"),
        ("(room)", "inodes"),
        ("clock", "it is 20"),
        ("IPv6", "route"),
        ("server s0 (name)", "IPv4 (A): 127.0.0.1; IPv6 (AAAA): none"),
        ("server s0 (IPv4)", "connects within"),
        ("server s0 (clock)", "says it is 2026-01-01T00:00:"),
        ("server", "accepts the login"),
        ("server", "round trip"),
        ("processor", "decoded with"),
        ("memory", ""),
        ("open files", ""),
    ] {
        let found = grade(&findings, about, fact);
        assert!(found.is_some_and(|it| it != "problem"), "{about} {fact}: {findings:#?}");
    }
    for name in ["incomplete", "complete", "state", "watch"] {
        assert_eq!(fs::read_dir(home.join(name)).unwrap().count(), 0, "{name} is as it was");
    }
}

#[test]
fn what_is_wrong_has_a_remedy_and_no_secret() {
    if !geteuid().is_root() {
        skip("only the superuser can become somebody else");
        return;
    }
    let (home, news) = (Home::new(), news());
    for name in ["incomplete", "complete"] {
        fs::create_dir(home.join(name)).unwrap();
    }
    let config = news.section(0, "username = 'ann'\npassword = 'wrong-word'");
    let (output, findings) = examined(command(&home, &config).uid(NOBODY).gid(NOBODY));
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert_eq!(grade(&findings, "complete", "cannot make a file"), Some("problem"));
    assert_eq!(grade(&findings, "state", "cannot be created"), Some("problem"));
    let is_refused = |it: &Value| it["about"] == "server s0" && it["grade"] == "problem";
    assert!(findings.iter().any(is_refused), "{findings:#?}");
    for finding in findings.iter().filter(|it| it["grade"] == "problem") {
        assert!(finding["remedy"].as_str().is_some_and(|it| !it.is_empty()), "{finding}");
    }
    let all = [output.stdout, output.stderr].concat();
    assert!(!String::from_utf8_lossy(&all).contains("wrong-word"));
}

#[test]
fn what_was_agreed_on_with_a_server_is_told() {
    let (home, authority) = (Home::new(), Authority::new().unwrap());
    fs::write(home.join("ca.pem"), authority.pem()).unwrap();
    let config = || authority.issue(Quality::Good).unwrap().server_config().unwrap();
    let secured = |security| Options { security, ..Options::default() };
    let news =
        News::start([secured(Security::Tls(config())), secured(Security::StartTls(config()))]);
    let tls = news.section(0, "encryption = 'tls'\nca_file = 'ca.pem'");
    let start_tls = news.section(1, "encryption = 'starttls'\nca_file = 'ca.pem'");
    let one = "cipher = 'TLS13_CHACHA20_POLY1305_SHA256'";
    let config = format!("{tls}{one}\n{start_tls}");
    let (output, findings) = examined(&mut command(&home, &config));
    assert!(output.status.success(), "{findings:#?}");
    let agreed = "answers with TLS 1.3 (TLS13_CHACHA20_POLY1305_SHA256)";
    assert_eq!(grade(&findings, "server s0", agreed), Some("ok"), "{findings:#?}");
    assert_eq!(grade(&findings, "server s1", "answers with TLS 1.3 (TLS13_"), Some("ok"));
}

#[test]
fn root_in_a_container_judges_with_the_rights_of_the_daemon() {
    if !geteuid().is_root() {
        skip("only the superuser can become somebody else");
        return;
    }
    let home = Home::new();
    fs::create_dir(home.join("complete")).unwrap();
    let (_, findings) = examined(&mut command(&home, ""));
    assert_eq!(grade(&findings, "user", "0:0"), Some("ok"));
    assert_eq!(grade(&findings, "complete", "files get mode"), Some("ok"));
    for (name, value, user) in
        [("PUID", "65534", "65534:1000"), ("BERGAMOT_CONTAINER", "yes", "1000:1000")]
    {
        let (output, findings) = examined(command(&home, "").env(name, value));
        assert_eq!(output.status.code(), Some(1), "{findings:#?}");
        assert_eq!(grade(&findings, "user", user), Some("ok"), "{findings:#?}");
        assert_eq!(grade(&findings, "complete", "cannot make a file"), Some("problem"));
    }
    let mut other = command(&home, "");
    let (_, findings) = examined(other.env("PUID", "7").uid(NOBODY).gid(NOBODY));
    assert_eq!(grade(&findings, "user", "PUID and PGID change nothing"), Some("warning"));
}

#[test]
fn a_look_changes_nothing() {
    let home = Home::new();
    fs::create_dir(home.join("state")).unwrap();
    fs::write(home.join("state/grounds"), "torn").unwrap();
    let config = "[storage]\numask = '077'\n[directories]\nwatch = 'watch'";
    let (_, findings) = examined(&mut command(&home, config));
    assert_eq!(grade(&findings, "(mounts)", "cannot be read"), Some("warning"), "{findings:#?}");
    assert_eq!(grade(&findings, "watch", "files get mode 0600"), Some("ok"), "{findings:#?}");
    let left: Vec<_> = fs::read_dir(home.join("state")).unwrap().flatten().collect();
    assert_eq!(left.len(), 1, "{left:?}");
    assert_eq!(fs::read_to_string(home.join("state/grounds")).unwrap(), "torn");
}

const NOBODY: u32 = 65_534;
