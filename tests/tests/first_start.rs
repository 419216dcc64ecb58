//! A daemon that finds no configuration writes one, and waits for a server without failing.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, Output};
use std::sync::Arc;

use bergamot_newsd::{Login, Manners, Options};
use bergamot_tests::{Daemon, Home, News, sample, skip};
use bergamot_types::Secret;
use rustix::process::geteuid;
use serde_json::json;

fn bergamot(home: &Home, arguments: &[&str]) -> Output {
    let mut command = at_home(home);
    command.args(arguments).output().expect("the program runs")
}

/// Many daemons run beside each other here, so each has its own socket, and a port that is free.
fn at_home(home: &Home) -> Command {
    let mut command = Daemon::command();
    command.env_clear().current_dir(home.path());
    command.env("BERGAMOT_CONFIG", home.join("bergamot.toml"));
    command.env("BERGAMOT__CONTROL__SOCKET", home.join("control.sock"));
    command.env("BERGAMOT__CONTROL__PORT", "0");
    command
}

fn start(home: &Home) -> Daemon {
    let mut command = at_home(home);
    command.args(["run", "--create"]);
    let mut daemon = Daemon::spawn(command);
    daemon.wait_for(&["INFO ready"]);
    daemon
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr[..]].concat()).into_owned()
}

#[test]
fn from_an_empty_directory_to_a_finished_download() {
    let (home, (posted, nzb, content)) = (Home::new(), sample("f.bin", 200_000, 40_000));
    let news = News::plain(Arc::new(posted));
    fs::remove_dir(home.join("watch")).unwrap();
    let mut daemon = start(&home);
    assert!(home.join("watch").is_dir(), "there is a place to drop NZBs");
    let told = daemon.expect(&["this is the first start", "control.password"]);
    let password = fs::read_to_string(home.join("control.password")).unwrap();
    assert!(!told.contains(password.trim()) && password.trim().len() >= 20);
    let key = fs::read_to_string(home.join("control.api_key")).unwrap();
    assert!(told.contains("control.api_key") && !told.contains(key.trim()), "{told}");
    daemon.expect(&["waiting for a news server"]);
    assert!(bergamot(&home, &["health"]).status.success());

    home.drop_nzb("f.nzb", &nzb);
    daemon.wait_for(&["INFO started", "name=f "]);
    let why = home.connect().unwrap().call("queue.explain", json!({})).unwrap();
    assert_eq!(why["code"], "no-servers", "{why}");

    let port = news.port(0).to_string();
    let add = ["server", "add", "main", "127.0.0.1", "--encryption", "none"];
    let added = bergamot(&home, &[&add[..], &["--port", &port, "--connections", "3"]].concat());
    assert!(said(&added).contains("main is added; it answers"), "{}", said(&added));
    daemon.wait_complete("f");
    assert_eq!(fs::read(home.join("complete/f/f.bin")).unwrap(), content);
    let twice = bergamot(&home, &add);
    assert!(said(&twice).contains("there is already a server called main"), "{}", said(&twice));
    daemon.stop();
    assert_eq!(bergamot(&home, &["health"]).status.code(), Some(1));

    let mut daemon = start(&home);
    assert!(!daemon.log().iter().any(|line| line.contains("first start")));
    let servers = home.connect().unwrap().call("servers.list", json!({})).unwrap();
    assert_eq!((&servers[0]["name"], &servers[0]["connections"]), (&json!("main"), &json!(3)));
    assert!(bergamot(&home, &["server", "rm", "main"]).status.success());
    let servers = home.connect().unwrap().call("servers.list", json!({})).unwrap();
    assert_eq!(servers, json!([]));
    daemon.expect(&["the configuration was read again"]);
    daemon.stop();
    let mode = fs::metadata(home.join("bergamot.toml")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "it may hold passwords, and stays as closed as it was");
    home.assert_contained();
}

#[test]
fn a_password_of_the_environment_is_the_one_that_is_told() {
    let home = Home::new();
    let mut command = at_home(&home);
    command.args(["run", "--create"]).env("BERGAMOT__CONTROL__PASSWORD", "hunter2");
    let mut daemon = Daemon::spawn(command);
    let told = daemon.wait_for(&["this is the first start"]);
    assert!(told.contains("password is in BERGAMOT__CONTROL__PASSWORD"), "{told}");
    assert!(!told.contains("hunter2") && !home.join("control.password").exists());
    daemon.wait_for(&["INFO ready"]);
    daemon.stop();
}

#[test]
fn directories_of_somebody_else_are_told_of_at_the_start() {
    if !geteuid().is_root() {
        return skip("only the superuser has what others may not write to");
    }
    let home = Home::new();
    fs::create_dir(home.join("complete")).unwrap();
    let mut daemon = Daemon::start_as_nobody(&home, "");
    let told = daemon.expect(&["WARN", "complete belongs to user 0 and group 0"]);
    assert!(told.contains("chown 65534:65534"), "{told}");
    daemon.stop();
    fs::set_permissions(home.join("bergamot.toml"), fs::Permissions::from_mode(0o600)).unwrap();
    let mut command = at_home(&home);
    let denied = command.arg("run").uid(65_534).gid(65_534).output().unwrap();
    assert_eq!(denied.status.code(), Some(1));
    assert!(said(&denied).contains("bergamot.toml belongs to user 0"), "{}", said(&denied));
}

#[test]
fn a_server_that_wants_a_login_it_was_not_given_is_told_of_when_it_is_added() {
    let home = Home::new();
    let (user, password) = ("ann".to_owned(), Secret::new("right-word"));
    let login = Login { user, password, user_suffices: false, needs_tls: false };
    let manners = Manners { login: Some(login), ..Manners::default() };
    let articles = Arc::new(sample("f.bin", 1_000, 1_000).0);
    let news = News::start([Options { articles, manners, ..Options::default() }]);
    let daemon = start(&home);
    let port = news.port(0).to_string();
    let add = |name: &str, more: &[&str]| {
        let server = ["server", "add", name, "127.0.0.1", "--encryption", "none", "--port", &port];
        bergamot(&home, &[&server, more].concat())
    };
    let added = add("main", &[]);
    assert_eq!(added.status.code(), Some(6), "{}", said(&added));
    assert!(said(&added).contains("main is added, but does not work now"), "{}", said(&added));
    fs::write(home.join("word"), "right-word\n").unwrap();
    let file = home.join("word").display().to_string();
    let added = add("other", &["--username", "ann", "--password-file", &file]);
    assert!(said(&added).contains("accepts the login"), "{}", said(&added));
    assert!(added.status.success());
    let test = |password: &str| {
        fs::write(home.join("word"), password).unwrap();
        let login = ["--username", "ann", "--password-file", &file];
        let server = ["server", "test", "127.0.0.1", "--plain", "--port", &port];
        bergamot(&home, &[&server[..], &login].concat())
    };
    assert!(said(&test("right-word")).contains("accepts the login"));
    let refused = test("wrong-word");
    assert_eq!(refused.status.code(), Some(6), "{}", said(&refused));
    daemon.stop();
}

/// As at a boot at which a share is late: `/etc/fstab` promises one, and nobody has mounted it.
#[test]
fn nothing_is_written_where_a_disk_is_promised_and_not_there() {
    let home = Home::new();
    let (share, fstab) = (home.join("share"), home.join("fstab"));
    fs::create_dir(&share).unwrap();
    fs::write(&fstab, format!("nas:/x {} nfs defaults 0 0\n", share.display())).unwrap();
    let script = "mount --bind \"$0\" /etc/fstab || exit 77; exec \"$@\"";
    let run = |config: &str| {
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", script]).arg(&fstab);
        command.arg(Daemon::command().get_program()).args(["run", "--create", "--config"]);
        command.arg(home.join(config)).output()
    };
    let output = run("share/config/bergamot.toml").expect("unshare runs");
    let text = said(&output);
    if output.status.code() == Some(77) || text.contains("unshare failed") {
        skip(&format!("no table of mounts can be promised here: {text}"));
        return;
    }
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("no configuration is written") && text.contains("mounted"), "{text}");
    let state = format!("[directories]\nstate = '{}/state'\n", share.display());
    fs::write(home.join("bergamot.toml"), state).unwrap();
    let text = said(&run("bergamot.toml").unwrap());
    assert!(text.contains("no spool is made") && text.contains("mounted"), "{text}");
    assert_eq!(fs::read_dir(&share).unwrap().count(), 0);
}

#[test]
fn without_create_a_missing_file_is_an_error() {
    let home = Home::new();
    let output = at_home(&home).arg("run").output().unwrap();
    assert!(!output.status.success());
    let text = said(&output);
    assert!(text.contains("bergamot.toml cannot be read") && text.contains("--create"), "{text}");
}

#[test]
fn a_variable_that_means_nothing_keeps_it_from_starting() {
    let home = Home::new();
    let output =
        at_home(&home).args(["run", "--create"]).env("BERGAMOT__SERVR__A__HOST", "x").output();
    let text = said(&output.unwrap());
    assert!(text.contains("did you mean BERGAMOT__SERVER__A__HOST?"), "{text}");
}

#[test]
fn a_file_that_is_being_edited_does_not_make_the_daemon_ill() {
    let home = Home::new();
    let at_home = || {
        let mut command = at_home(&home);
        command.env_remove("BERGAMOT__CONTROL__SOCKET");
        command.env("BERGAMOT_SOCKET", home.join("known.sock"));
        command
    };
    let mut command = at_home();
    command.args(["run", "--create"]);
    let mut daemon = Daemon::spawn(command);
    daemon.wait_for(&["INFO ready"]);
    fs::write(home.join("bergamot.toml"), "[[server").expect("half a line");
    let health = at_home().arg("health").output().expect("the program runs");
    assert!(health.status.success(), "{}", said(&health));
    assert!(said(&health).contains("bergamot.toml"), "{}", said(&health));
    let lost = at_home().arg("health").env_remove("BERGAMOT_SOCKET").output().unwrap();
    assert_eq!(lost.status.code(), Some(1));
    daemon.stop();
    assert_eq!(at_home().arg("health").output().unwrap().status.code(), Some(1));
}
