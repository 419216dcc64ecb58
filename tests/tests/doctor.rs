//! What `bergamot doctor` finds.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops here")]

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::Output;
use std::sync::Arc;

use bergamot_newsd::{Generated, Login, Manners, Options};
use bergamot_tests::{Daemon, Home, News, skip};
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

fn doctor(home: &Home, config: &str, user: Option<u32>) -> (Output, Vec<Value>) {
    let file = home.join("bergamot.toml");
    fs::write(&file, config).unwrap();
    fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
    let mut command = Daemon::command();
    command.arg("doctor").arg("--json").arg("--config").arg(&file);
    if let Some(user) = user {
        command.uid(user).gid(user);
    }
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
fn all_is_well_where_it_is() {
    let (home, news) = (Home::new(), news());
    for name in ["incomplete", "complete", "state"] {
        fs::create_dir(home.join(name)).unwrap();
    }
    let config = news.section(0, "username = 'ann'\npassword = 'right-word'");
    let (output, findings) = doctor(&home, &config, None);
    assert!(output.status.success(), "{findings:#?} {output:?}");
    for (about, fact) in [
        ("watch", "files get mode"),
        ("inotify", "tells of new files"),
        ("incomplete to", "jobs are renamed"),
        ("incomplete to", "hard links work"),
        ("(room)", "free"),
        ("server", "accepts the login"),
        ("server", "there and back"),
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
    fs::set_permissions(home.path().parent().unwrap(), Permissions::from_mode(0o755)).unwrap();
    let config = news.section(0, "username = 'ann'\npassword = 'wrong-word'");
    let (output, findings) = doctor(&home, &config, Some(65_534));
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert_eq!(grade(&findings, "complete", "cannot make a file"), Some("problem"));
    assert_eq!(grade(&findings, "state", "cannot be made"), Some("problem"));
    let is_refused = |it: &Value| it["about"] == "server s0" && it["grade"] == "problem";
    assert!(findings.iter().any(is_refused), "{findings:#?}");
    for finding in findings.iter().filter(|it| it["grade"] == "problem") {
        assert!(finding["remedy"].as_str().is_some_and(|it| !it.is_empty()), "{finding}");
    }
    let all = [output.stdout, output.stderr].concat();
    assert!(!String::from_utf8_lossy(&all).contains("wrong-word"));
}
