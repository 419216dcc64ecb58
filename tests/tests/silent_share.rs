//! A share that does not answer: whoever asks for it waits, and that must be nobody who matters.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops here")]

use std::fs;
use std::process::Command;
use std::sync::Arc;

use bergamot_newsd::{Articles, Generated};
use bergamot_tests::{Control, Daemon, Home, News, content_of, may_trace, sha256};
use bergamot_types::ByteCount;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

fn post(seed: u64) -> Arc<Generated> {
    Arc::new(Generated::new(seed, ByteCount(200_000)).file("x.bin", ByteCount(1_000_000)))
}

#[test]
fn only_jobs_that_go_there_wait_and_everybody_is_answered() {
    if !may_trace() {
        return;
    }
    let (home, control) = (Home::new(), Control::new());
    let (near, far) = (post(1), post(2));
    let articles: Vec<Arc<dyn Articles>> = vec![near.clone(), far.clone()];
    let news = News::plain(control.beside(articles));
    let (share, trace) = (home.join("share"), home.join("trace"));
    fs::create_dir(&share).unwrap();
    let config = format!(
        "[[category]]\nname = \"far\"\ndirectory = \"{}\"\n{}",
        share.display(),
        news.section(0, "")
    );
    let mut daemon = Daemon::launch(&home, &config, who_waits_for(&share, &trace));
    assert!(daemon.comes_up());

    home.drop_nzb("far/far.nzb", far.nzb());
    let line = daemon.wait_for(&["WARN waits", "name=far", "disk.silent"]);
    assert!(line.contains(share.to_str().unwrap()), "{line}");
    home.drop_nzb("near.nzb", near.nzb());
    daemon.wait_complete("near");
    let whole = fs::read(home.join("complete/near/x.bin")).unwrap();
    assert_eq!(sha256(&whole), sha256(&content_of(&near)));

    for _ in 0..50 {
        let disks = home.connect().unwrap().call("storage.list", json!({})).unwrap();
        assert!(disks.to_string().contains("disk.silent"), "{disks}");
    }
    let job = home.connect().unwrap().call("job.get", json!({ "job": 1 })).unwrap();
    assert!(job["waits_for"].as_str().unwrap().contains("disk.silent"), "{job}");
    let asked = fs::read_to_string(&trace).unwrap().matches("statfs(").count();
    assert_eq!(asked, 1, "one look is under way, however many ask");

    answer(&daemon);
    daemon.wait_complete("far");
    let whole = fs::read(share.join("far/x.bin")).unwrap();
    assert_eq!(sha256(&whole), sha256(&content_of(&far)));
    assert_eq!(daemon.stop().code, Some(0));
}

/// Without its tracer nothing delays it.
fn answer(daemon: &Daemon) {
    let status =
        fs::read_to_string(format!("/proc/{}/status", daemon.pid().as_raw_nonzero())).unwrap();
    let tracer = status.lines().find_map(|line| line.strip_prefix("TracerPid:")).unwrap();
    let tracer = Pid::from_raw(tracer.trim().parse().unwrap()).expect("it is traced");
    kill_process(tracer, Signal::KILL).unwrap();
}

/// The daemon, whose first look at the share lasts as long as any test.
fn who_waits_for(share: &std::path::Path, trace: &std::path::Path) -> Command {
    let mut command = Command::new("strace");
    command.args(["-D", "-f", "-qq", "-o"]).arg(trace).arg("-P").arg(share);
    command.args(["-e", "trace=statfs", "-e", "inject=statfs:delay_enter=3600000000"]);
    command.arg(Daemon::command().get_program());
    command
}
