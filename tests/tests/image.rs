//! The image, run as engines run it: first process, root file system read-only, any user.
//!
//! `tests/image/run` builds it, says where its root and its configuration lie, and gives the tests a
//! network of their own; `runc` runs it in that network, so that the news server and we are outside.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bergamot_tests::{Daemon, News, http, sample};
use serde_json::{Value, json};

/// A container that can be started and stopped again and again, with its volumes.
struct Container {
    home: tempfile::TempDir,
    id: String,
    image: Value,
    user: (u32, u32),
    capabilities: &'static [&'static str],
    variables: Vec<String>,
}

impl Container {
    /// The volumes are empty, and only their owners may write there.
    fn new(
        user: (u32, u32),
        capabilities: &'static [&'static str],
        variables: &[&str],
        owners: [(u32, u32); 3],
    ) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let config = std::env::var_os("BERGAMOT_IMAGE_CONFIG").expect("tests/image/run says where");
        let config = fs::read(config).expect("the configuration of the image");
        let inspected: Value = serde_json::from_slice(&config).expect("JSON");
        let architecture = std::env::var("BERGAMOT_IMAGE_ARCHITECTURE").unwrap_or_default();
        let is_it = inspected["Docker"]["architecture"] == *architecture;
        assert!(architecture.is_empty() || is_it, "{}", inspected["Docker"]["architecture"]);
        let container = Self {
            home: tempfile::tempdir().expect("a directory"),
            id: format!("bergamot-test-{}-{number}", std::process::id()),
            image: inspected["Docker"]["config"].clone(),
            user,
            capabilities,
            variables: variables.iter().chain(&COMMON).map(|&text| text.to_owned()).collect(),
        };
        for (volume, (user, group)) in VOLUMES.into_iter().zip(owners) {
            let path = container.volume(volume);
            fs::create_dir(&path).expect("a volume");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("permissions");
            chown(&path, Some(user), Some(group)).expect("whose it is");
        }
        container
    }

    fn volume(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    fn start(&self) -> Daemon {
        let mut daemon = self.launch();
        daemon.wait_for(&["INFO ready"]);
        daemon
    }

    fn launch(&self) -> Daemon {
        let bundle = self.home.path().join("config.json");
        fs::write(bundle, self.bundle().to_string()).expect("a bundle");
        let mut command = Command::new("runc");
        command.args(["run", "--bundle"]).arg(self.home.path()).arg(&self.id);
        Daemon::spawn(command)
    }

    /// As `docker exec` does, with the program of the image.
    fn exec(&self, arguments: &[&str]) -> Output {
        self.exec_command(arguments).output().expect("runc")
    }

    fn exec_command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("runc");
        command.args(["exec", &self.id]).args(emulator().map(|_| EMULATOR_INSIDE));
        command.arg("/bin/bergamot").args(arguments);
        command.stdin(Stdio::null());
        command
    }

    fn bundle(&self) -> Value {
        let words = |key: &str| self.image[key].as_array().cloned().unwrap_or_default();
        let emulated = emulator().map(|_| json!(EMULATOR_INSIDE));
        let arguments = emulated.into_iter().chain(words("Entrypoint")).chain(words("Cmd"));
        let arguments: Vec<_> = arguments.collect();
        let given = self.variables.iter().map(|text| json!(text));
        let variables: Vec<_> = words("Env").into_iter().chain(given).collect();
        let volumes = self.image["Volumes"].as_object().expect("volumes").keys();
        let volumes = volumes.map(|path| {
            let source = self.volume(path.trim_start_matches('/'));
            json!({ "destination": path, "type": "bind", "source": source, "options": ["bind", "rw"] })
        });
        let system = [
            json!({ "destination": "/proc", "type": "proc", "source": "proc" }),
            json!({ "destination": "/dev", "type": "tmpfs", "source": "tmpfs",
                    "options": ["nosuid", "mode=755", "size=65536k"] }),
        ];
        let emulator = emulator().map(|path| {
            json!({ "destination": EMULATOR_INSIDE, "type": "bind", "source": path,
                    "options": ["bind", "ro"] })
        });
        let rights = json!(self.capabilities);
        let root = std::env::var("BERGAMOT_IMAGE_ROOT").expect("tests/image/run says where");
        json!({
            "ociVersion": "1.0.2",
            "process": {
                "terminal": false, "cwd": "/", "args": arguments, "env": variables,
                "user": { "uid": self.user.0, "gid": self.user.1 },
                "noNewPrivileges": true,
                "capabilities": { "bounding": rights, "effective": rights, "permitted": rights },
            },
            "root": { "path": root, "readonly": true },
            "mounts": system.into_iter().chain(emulator).chain(volumes).collect::<Vec<_>>(),
            "linux": { "namespaces": [{ "type": "pid" }, { "type": "mount" }, { "type": "ipc" }] },
        })
    }

    /// The volumes and all that lies in them.
    fn inventory(&self) -> BTreeMap<String, Found> {
        let mut found = BTreeMap::new();
        for volume in VOLUMES {
            list(self.home.path(), &self.volume(volume), &mut found);
        }
        found
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        // One that stopped is gone already.
        let _ = Command::new("runc").args(["delete", "--force", &self.id]).output();
    }
}

#[derive(Clone, Copy, Debug)]
struct Found {
    owner: (u32, u32),
    mode: u32,
    is_directory: bool,
}

fn list(base: &Path, path: &Path, found: &mut BTreeMap<String, Found>) {
    let data = fs::symlink_metadata(path).expect("it is there");
    let short = path.strip_prefix(base).expect("below").to_str().expect("a plain name");
    let (owner, mode) = ((data.uid(), data.gid()), data.mode() & 0o7777);
    found.insert(short.to_owned(), Found { owner, mode, is_directory: data.is_dir() });
    if data.is_dir() {
        for entry in fs::read_dir(path).expect("a directory") {
            list(base, &entry.expect("an entry").path(), found);
        }
    }
}

/// What is in a volume is as the umask has it; what may hold secrets is nobody else's.
fn assert_kept(container: &Container, owner: (u32, u32), (file, directory): (u32, u32)) {
    let inventory = container.inventory();
    for (path, found) in &inventory {
        let mode = match path.as_str() {
            "config" | "downloads" | "watch" => 0o755, // as they were
            "config/bergamot.sock" => 0o660,
            "config/state" | "config/state/spool" => 0o700, // whatever the umask
            "watch/f.nzb.queued" => 0o644,                  // as it was dropped
            _ if found.is_directory => directory,
            _ if path.starts_with("config/") => 0o600,
            _ => file,
        };
        assert_eq!(found.owner, owner, "{path}");
        assert_eq!(found.mode, mode, "{path}: {:o} for {mode:o}", found.mode);
    }
    let downloads: Vec<_> =
        inventory.keys().filter_map(|it| it.strip_prefix("downloads/")).collect();
    assert_eq!(downloads, ["complete", "complete/f", "complete/f/f.bin", "incomplete"]);
    let expected = ["bergamot.toml", "control.password", "control.api_key", "state/spool/lock"];
    for path in expected.map(|name| format!("config/{name}")) {
        assert!(inventory.contains_key(&path), "{path}: {inventory:#?}");
    }
}

/// The port that everybody knows is open to other machines, and to nobody without the password.
fn speak_over_http(password: &str) {
    let version = json!({ "method": "version", "params": [] }).to_string();
    let ask = |headers: &str| http(DOOR.into(), "POST /jsonrpc", headers, &version);
    assert_eq!(ask("").status, 401);
    let login = |password: &str| {
        let login = STANDARD.encode(format!("bergamot:{password}"));
        ask(&format!("Authorization: Basic {login}\r\n"))
    };
    assert_eq!(login("guessed").status, 401);
    let answer = login(password);
    assert_eq!(answer.status, 200, "{answer:?}");
    assert!(answer.body.contains("\"result\""), "{answer:?}");
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr[..]].concat()).into_owned()
}

/// What runs the program, where it is for another processor. It is no part of the image.
fn emulator() -> Option<String> {
    std::env::var("BERGAMOT_IMAGE_EMULATOR").ok().filter(|path| !path.is_empty())
}

/// From the first start to a finished download, over a restart, and everything it left behind.
fn live(container: &Container, owner: (u32, u32), modes: (u32, u32)) {
    let (posted, nzb, content) = sample("f.bin", 300_000, 50_000);
    let news = News::plain(Arc::new(posted));
    let mut daemon = container.start();
    daemon.expect(&["first start", "/config/control.password"]);
    daemon.expect(&["listening", "0.0.0.0:6789"]);
    let password = fs::read_to_string(container.volume("config").join("control.password"));
    let password = password.expect("a password").trim().to_owned();
    speak_over_http(&password);
    let check = &container.image["Healthcheck"]["Test"];
    assert_eq!(check, &json!(["CMD", "/bin/bergamot", "health"]));
    let health = container.exec(&["health"]);
    assert!(health.status.success(), "{}", said(&health));
    let file = container.volume("config").join("bergamot.toml");
    let written = fs::read(&file).expect("the configuration");
    fs::write(&file, "[[serv").expect("half a line");
    let health = container.exec(&["health"]);
    assert!(health.status.success(), "{}", said(&health));
    fs::write(&file, written).expect("the configuration");
    let port = news.port(0).to_string();
    let added = container.exec(&[
        "server",
        "add",
        "main",
        "127.0.0.1",
        "--port",
        &port,
        "--encryption",
        "none",
    ]);
    assert!(said(&added).contains("main is added; it answers"), "{}", said(&added));
    let dropped = container.volume("watch").join("f.nzb");
    fs::write(&dropped, &nzb).expect("an NZB");
    chown(&dropped, Some(owner.0), Some(owner.1)).expect("whose it is");
    daemon.wait_complete("f");
    let file = container.volume("downloads").join("complete/f/f.bin");
    assert_eq!(fs::read(file).expect("the file"), content);
    assert_kept(container, owner, modes);
    // No zones are known in the image but those of the program.
    let check = said(&container.exec(&["config", "check", "/config/bergamot.toml"]));
    assert!(check.contains("schedule, in Europe/Berlin"), "{check}");
    let stopped = daemon.stop();
    assert!(!stopped.log.join("\n").contains(&password));
    assert!(!container.exec(&["health"]).status.success());

    let daemon = container.start();
    let history = said(&container.exec(&["--json", "history"]));
    assert!(history.contains("\"f\""), "{history}");
    daemon.stop();
}

#[test]
#[ignore = "tests/image/run builds the image for it"]
fn started_as_root_it_becomes_who_it_is_told_to_be() {
    let variables = ["PUID=1234", "PGID=2345", "UMASK=002"];
    // Volumes are root's when an engine makes them, and anybody's when people do.
    let owners = [(0, 0), (4321, 4321), (0, 0)];
    let container = Container::new((0, 0), USUAL_RIGHTS, &variables, owners);
    live(&container, (1234, 2345), (0o664, 0o775));
}

#[test]
#[ignore = "tests/image/run builds the image for it"]
fn a_volume_that_holds_anything_is_left_as_it_is() {
    let container = Container::new((0, 0), USUAL_RIGHTS, &["PUID=1234", "PGID=2345"], [(0, 0); 3]);
    fs::write(container.volume("downloads").join("theirs"), "of somebody").expect("a file");
    let mut daemon = container.start();
    let told = daemon.expect(&["WARN", "/downloads belongs to user 0 and group 0"]);
    assert!(told.contains("chown 1234:2345"), "{told}");
    daemon.stop();
    let found = container.inventory();
    for path in ["downloads", "downloads/theirs"] {
        assert_eq!(found[path].owner, (0, 0), "{path}");
    }
    assert_eq!(found["config"].owner, (1234, 2345));
}

#[test]
#[ignore = "tests/image/run builds the image for it"]
fn whoever_becomes_somebody_else_is_told_whose_the_volumes_are() {
    let variables = ["PUID=1234", "PGID=2345"];
    let mut container = Container::new((0, 0), USUAL_RIGHTS, &variables, [(0, 0); 3]);
    container.start().stop();
    container.variables[..2].clone_from_slice(&["PUID=77".to_owned(), "PGID=78".to_owned()]);
    let stopped = container.launch().finish();
    let told = stopped.log.join("\n");
    assert_eq!(stopped.code, Some(1), "{told}");
    for words in ["belongs to user 1234 and group 2345", "chown 77:78, with -R", "PUID=1234"] {
        assert!(told.contains(words), "{words}: {told}");
    }
}

#[test]
#[ignore = "tests/image/run builds the image for it"]
fn any_user_without_any_rights_will_do() {
    let container = Container::new((1000, 1000), &[], &["UMASK=022"], [(1000, 1000); 3]);
    live(&container, (1000, 1000), (0o644, 0o755));
}

#[test]
#[ignore = "tests/image/run builds the image for it"]
fn root_without_the_right_to_be_somebody_else_is_told_what_to_do() {
    let container = Container::new((0, 0), &[], &["PUID=1000", "PGID=1000"], [(0, 0); 3]);
    let stopped = container.launch().finish();
    assert_eq!(stopped.code, Some(1));
    assert!(stopped.log.join("\n").contains("--user 1000:1000"), "{:?}", stopped.log);
    let odd = Container::new((0, 0), USUAL_RIGHTS, &["PUID=ann"], [(0, 0); 3]);
    assert!(odd.launch().finish().log.join("\n").contains("PUID is \"ann\""));
}

#[test]
#[ignore = "tests/image/run builds the image for it"]
fn what_loses_its_parent_is_buried_by_the_first_process() {
    let container = Container::new((1000, 1000), &[], &[], [(1000, 1000); 3]);
    let daemon = container.start();
    let mut exec = container.exec_command(&["--json", "watch"]).spawn().expect("runc");
    let orphan = wait_for(|| {
        let processes = fs::read_dir("/proc").ok()?.flatten();
        let mut orphans = processes.filter(|process| {
            let line = fs::read(process.path().join("cmdline")).unwrap_or_default();
            let emulated = format!("{EMULATOR_INSIDE}\0");
            let line = line.strip_prefix(emulated.as_bytes()).unwrap_or(&line);
            line.starts_with(b"/bin/bergamot\0--json\0watch\0")
        });
        orphans.next().map(|process| process.path())
    });
    exec.kill().expect("runc exec runs");
    exec.wait().expect("runc exec ends");
    let number: i32 = orphan.file_name().and_then(|name| name.to_str()).unwrap().parse().unwrap();
    let process = rustix::process::Pid::from_raw(number).expect("a process");
    // It may have ended with its output already.
    let _ = rustix::process::kill_process(process, rustix::process::Signal::KILL);
    wait_for(|| (!orphan.exists()).then_some(()));
    daemon.stop();
}

fn wait_for<T>(mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "it does not happen");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// In a directory that is made anew for each container.
const EMULATOR_INSIDE: &str = "/dev/emulator";
const VOLUMES: [&str; 3] = ["config", "watch", "downloads"];
/// An address of the tests' own network that is not that of every machine for itself.
const DOOR: ([u8; 4], u16) = ([192, 0, 2, 1], 6789);
const COMMON: [&str; 4] = [
    "BERGAMOT__SCHEDULE__1__FROM=08:00",
    "BERGAMOT__SCHEDULE__1__TO=09:00",
    "BERGAMOT__SCHEDULE__1__RATE=500 MB",
    "TZ=Europe/Berlin",
];
/// What engines leave to root, as far as it matters here.
const USUAL_RIGHTS: &[&str] =
    &["CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_SETGID", "CAP_SETUID", "CAP_KILL"];
