//! The guides say what works: their commands are run, and their configurations read.
//!
//! A block of shell is marked `run`, `background` (a daemon that goes on) or `not-run`. Commands find
//! `bergamot` on their path, and a `docker exec` that leads to the daemon beside them.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use bergamot_tests::Daemon;

const GUIDES: [&str; 5] = ["docker", "linux", "sonarr-radarr", "synology", "unraid"];

/// A directory in which a guide is followed.
struct Sandbox {
    home: tempfile::TempDir,
    port: u16,
}

impl Sandbox {
    fn new() -> Self {
        let home = tempfile::tempdir().expect("a directory");
        let port = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = port.local_addr().expect("its address").port();
        let sandbox = Self { home, port };
        fs::write(sandbox.join("account.password"), "secret\n").expect("a password");
        let program = Daemon::command().get_program().to_owned();
        let program = program.to_str().expect("a plain path");
        sandbox.tool("bergamot", &format!("exec {program} \"$@\""));
        // Everything behind the name of the container is said to the program in it.
        sandbox.tool(
            "docker",
            "[ \"$1\" = exec ] && shift\n[ \"$1\" = -i ] && shift\n[ \"$1 $2\" = 'bergamot bergamot' ] && \
             shift 2\nfor word; do shift; set -- \"$@\" \"${word/#\\/config/config}\"; done\n\
             BERGAMOT_CONFIG=config/bergamot.toml exec bergamot \"$@\"",
        );
        sandbox
    }

    fn join(&self, path: &str) -> PathBuf {
        self.home.path().join(path)
    }

    fn tool(&self, name: &str, script: &str) {
        fs::create_dir_all(self.join("bin")).expect("a directory");
        let path = self.join("bin").join(name);
        fs::write(&path, format!("#!/bin/bash\n{script}\n")).expect("a script");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("it can be run");
    }

    /// Many daemons run beside each other here, so each has a port of its own.
    fn shell(&self, script: &str) -> Command {
        let script = script.replace("localhost:6789", &format!("localhost:{}", self.port));
        let mut command = Command::new("bash");
        command.args(["-euo", "pipefail", "-c", &script]).current_dir(self.home.path());
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{path}", self.join("bin").display()));
        command.env("BERGAMOT__CONTROL__PORT", self.port.to_string());
        command.env("BERGAMOT__CONTROL__SOCKET", self.join("control.sock"));
        command
    }

    fn background(&self, script: &str) -> Daemon {
        let mut daemon = Daemon::spawn(self.shell(&format!("exec {}", script.trim())));
        daemon.wait_for(&["INFO ready"]);
        daemon
    }
}

struct Block {
    line: usize,
    label: String,
    text: String,
}

fn text_of(guide: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs").join(guide);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{guide}: {error}"))
}

fn blocks(guide: &str) -> Vec<Block> {
    let text = text_of(guide);
    let mut blocks = Vec::new();
    let mut open: Option<Block> = None;
    for (number, line) in (1..).zip(text.lines()) {
        match (line.strip_prefix("```"), open.take()) {
            (Some(_), Some(block)) => blocks.push(block),
            (Some(label), None) => {
                open = Some(Block { line: number, label: label.to_owned(), text: String::new() });
            }
            (None, Some(mut block)) => {
                block.text += &format!("{line}\n");
                open = Some(block);
            }
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "{guide}: a block has no end");
    blocks
}

/// What the guides set by the environment, in blocks of YAML and in tables.
fn variables(guide: &str) -> Vec<(String, String)> {
    let variable = |line: &str| {
        let start = line.find("BERGAMOT__")?;
        let is_name = |it: char| it.is_ascii_uppercase() || it.is_ascii_digit() || it == '_';
        let (name, rest) = line[start..].split_at(line[start..].find(|it| !is_name(it))?);
        // One that is only spoken of has no value.
        let value = rest.strip_prefix(": ").or_else(|| rest.strip_prefix("` = `"))?;
        Some((name.to_owned(), value.trim_end_matches([' ', '|', '`']).to_owned()))
    };
    text_of(guide).lines().filter_map(variable).collect()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr[..]].concat()).into_owned()
}

#[test]
fn every_command_of_the_guides_works() {
    for guide in GUIDES {
        let name = format!("{guide}.md");
        let blocks = blocks(&name);
        let sandbox = Sandbox::new();
        let is_started_there = blocks.iter().any(|block| block.label == "sh background");
        let usual = "bergamot run --create --config config/bergamot.toml";
        let mut daemon = (!is_started_there).then(|| sandbox.background(usual));
        for Block { line, label, text } in &blocks {
            match label.as_str() {
                "sh run" => {
                    let output = sandbox.shell(text).output().expect("bash");
                    assert!(output.status.success(), "{name}:{line}\n{text}\n{}", said(&output));
                }
                "sh background" => daemon = Some(sandbox.background(text)),
                "sh not-run" | "ini" | "yaml" => {}
                "toml" => {
                    let file = sandbox.join("example.toml");
                    fs::write(file, text).expect("a file");
                    let check = sandbox.shell("bergamot config check example.toml").output();
                    let check = check.expect("bash");
                    assert!(check.status.success(), "{name}:{line}\n{}", said(&check));
                }
                other => panic!("{name}:{line}: nobody knows what to do with {other:?}"),
            }
        }
        daemon.expect("each guide has its daemon").stop();
    }
}

#[test]
fn every_variable_of_the_guides_is_known_and_takes_its_value() {
    let compose = "../config/docker/compose.yaml";
    let guides = GUIDES.map(|guide| format!("{guide}.md"));
    let mut count = 0;
    for guide in guides.iter().map(String::as_str).chain([compose]) {
        let sandbox = Sandbox::new();
        fs::write(sandbox.join("empty.toml"), "").expect("a file");
        let secret = sandbox.join("account.password");
        for (name, value) in variables(guide) {
            let value = value.replace("/run/secrets/news", &secret.to_string_lossy());
            let mut check = sandbox.shell("bergamot config check empty.toml");
            // A server is one with a host, and a login one with both halves.
            check.env("BERGAMOT__SERVER__MAIN__HOST", "news.example.com");
            check.env("BERGAMOT__SERVER__MAIN__USERNAME", "ann");
            check.env("BERGAMOT__SERVER__MAIN__PASSWORD_FILE", &secret).env(&name, value);
            let check = said(&check.output().expect("bash"));
            assert!(check.contains("is good") && check.contains(&name), "{guide}: {name}\n{check}");
            count += 1;
        }
    }
    assert!(count >= 11, "{count} variables are found");
}
