//! A share that does not answer: whoever asks for it waits, and that must be nobody who matters.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops here")]

use std::fs;
use std::sync::Arc;

use bergamot_newsd::{Articles, Generated};
use bergamot_tests::{
    Control, Daemon, Home, Mounted, News, content_of, delayed, end_delays, may_trace, sha256,
};
use bergamot_types::ByteCount;
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
    let config = format!("{}{}", category(&share), news.section(0, ""));
    let mut daemon = Daemon::launch(&home, &config, delayed("statfs", &share, &trace));
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

    end_delays(&daemon);
    daemon.wait_complete("far");
    let whole = fs::read(share.join("far/x.bin")).unwrap();
    assert_eq!(sha256(&whole), sha256(&content_of(&far)));
    assert_eq!(daemon.stop().code, Some(0));
}

/// With the first call that the start makes there, and with one that is made between the look at the
/// share and the use of it.
#[test]
fn a_share_that_hangs_when_it_is_opened_holds_up_only_jobs_that_go_there() {
    if !may_trace() {
        return;
    }
    for call in ["openat", "mkdir"] {
        let home = Home::new();
        let (near, far) = (post(3), post(4));
        let articles: Vec<Arc<dyn Articles>> = vec![near.clone(), far.clone()];
        let news = News::plain(Control::new().beside(articles));
        let (share, trace) = (home.join("share"), home.join("trace"));
        fs::create_dir(&share).unwrap();
        let config = format!("{}{}", category(&share), news.section(0, ""));
        let command = delayed(call, &share, &trace);
        let mut daemon = Daemon::launch(&home, &config, command);
        assert!(daemon.comes_up());

        home.drop_nzb("far/far.nzb", far.nzb());
        let line = daemon.wait_for(&["WARN waits", "name=far", "disk.silent"]);
        assert!(line.contains(share.to_str().unwrap()), "{line}");
        home.drop_nzb("near.nzb", near.nzb());
        daemon.wait_complete("near");
        let edit = json!({ "jobs": [1], "priority": 50 });
        home.connect().unwrap().call("job.set", edit).unwrap();

        end_delays(&daemon);
        daemon.wait_complete("far");
        assert_eq!(daemon.stop().code, Some(0));
    }
}

#[test]
fn many_jobs_that_end_on_a_share_that_hangs_hold_up_no_other() {
    if !may_trace() {
        return;
    }
    let home = Home::new();
    let (share, trace) = (home.join("share"), home.join("trace"));
    let Some(_disk) = Mounted::at(&share, "40m") else { return };
    let posts: Vec<_> = (5..11).map(post).collect();
    let articles: Vec<Arc<dyn Articles>> =
        posts.iter().map(|post| post.clone() as Arc<dyn Articles>).collect();
    let news = News::plain(Control::new().beside(articles));
    let config = format!("{}{}", category(&share), news.section(0, ""));
    let mut daemon = Daemon::launch(&home, &config, delayed("renameat2", &share, &trace));
    assert!(daemon.comes_up());
    let (near, far) = posts.split_last().unwrap();
    for (number, post) in far.iter().enumerate() {
        home.drop_nzb(&format!("far/far{number}.nzb"), post.nzb());
    }
    far.iter().for_each(|_| drop(daemon.wait_for(&["file finished"])));
    home.drop_nzb("near.nzb", near.nzb());
    daemon.wait_complete("near");
    let whole = fs::read(home.join("complete/near/x.bin")).unwrap();
    assert_eq!(sha256(&whole), sha256(&content_of(near)));
    assert_eq!(fs::read_dir(&share).unwrap().count(), 0, "none of the others has arrived");
    end_delays(&daemon);
    (0..far.len())
        .for_each(|number| drop(daemon.expect(&["INFO complete", &format!("far{number} ")])));
    assert_eq!(daemon.stop().code, Some(0));
}

fn category(share: &std::path::Path) -> String {
    format!("[[category]]\nname = \"far\"\ndirectory = \"{}\"\n", share.display())
}
