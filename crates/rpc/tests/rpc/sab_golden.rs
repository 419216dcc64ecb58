//! Every mode of SABnzbd's dialect, and what came of it. `BLESS=1` writes the files anew.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::daemon::{self, Running, body_of, status_of};
use bergamot_rpc::{Access, Settings, Token};
use bergamot_types::Secret;
use serde_json::Value;

/// A name for the file, and what is asked.
const CALLS: &[(&str, &str)] = &[
    ("addlocalfile", "mode=addlocalfile&name=/data/watch/a.nzb&nzbname=A&cat=tv"),
    (
        "addurl",
        "mode=addurl&name=https%3A%2F%2Fx%2F1%3Fapikey%3Dplanted-1&cat=tv&priority=1&pp=3&password=planted-2",
    ),
    ("addurl-file", "mode=addurl&name=file:///etc/passwd"),
    ("auth", "mode=auth"),
    ("auth-nzbkey", "mode=auth&key=planted-nzb"),
    ("change_cat", "mode=change_cat&value=SABnzbd_nzo_7&value2=Movies"),
    ("change_cat-none", "mode=change_cat&value=SABnzbd_nzo_7&value2=*"),
    ("change_opts", "mode=change_opts&value=SABnzbd_nzo_7&value2=2"),
    ("change_script", "mode=change_script&value=SABnzbd_nzo_7&value2=None"),
    ("config", "mode=config&name=set_apikey"),
    ("config-set_pause", "mode=config&name=set_pause&value=30"),
    ("config-set_pause-word", "mode=config&name=set_pause&value=soon"),
    ("config-speedlimit", "mode=config&name=speedlimit&value=50"),
    ("config-speedlimit-absolute", "mode=config&name=speedlimit&value=4M"),
    ("del_config", "mode=del_config&section=servers&keyword=one"),
    ("fullstatus", "mode=fullstatus&skip_dashboard=1"),
    ("get_cats", "mode=get_cats"),
    ("get_config", "mode=get_config"),
    ("get_config-keyword", "mode=get_config&section=misc&keyword=complete_dir"),
    ("get_files", "mode=get_files&value=SABnzbd_nzo_7"),
    ("get_files-unknown", "mode=get_files&value=SABnzbd_nzo_70"),
    ("get_scripts", "mode=get_scripts"),
    ("history", "mode=history&start=0&limit=60&cat=tv"),
    (
        "history-delete",
        "mode=history&name=delete&value=SABnzbd_nzo_4,SABnzbd_nzo_5&archive=0&del_files=1",
    ),
    ("history-delete-failed", "mode=history&name=delete&value=failed"),
    ("history-failed_only", "mode=history&failed_only=1"),
    ("history-mark_as_completed", "mode=history&name=mark_as_completed&value=SABnzbd_nzo_4"),
    ("pause", "mode=pause"),
    ("pause_pp", "mode=pause_pp"),
    ("queue", "mode=queue&start=0&limit=0"),
    ("queue-change_complete_action", "mode=queue&name=change_complete_action&value="),
    ("queue-delete", "mode=queue&name=delete&value=SABnzbd_nzo_7,SABnzbd_nzo_400&del_files=1"),
    ("queue-delete-all", "mode=queue&name=delete&value=all&del_files=0"),
    (
        "queue-delete_nzf",
        "mode=queue&name=delete_nzf&value=SABnzbd_nzo_7&value2=SABnzbd_nzf_1000001",
    ),
    ("queue-page", "mode=queue&start=1&limit=1&cat=tv"),
    ("queue-pause", "mode=queue&name=pause&value=SABnzbd_nzo_7"),
    ("queue-priority", "mode=queue&name=priority&value=SABnzbd_nzo_7&value2=2"),
    ("queue-priority-default", "mode=queue&name=priority&value=SABnzbd_nzo_7&value2=-100"),
    ("queue-priority-stop", "mode=queue&name=priority&value=SABnzbd_nzo_7&value2=-4"),
    ("queue-priority-word", "mode=queue&name=priority&value=SABnzbd_nzo_7&value2=high"),
    ("queue-purge", "mode=queue&name=purge&search=show"),
    ("queue-rename", "mode=queue&name=rename&value=SABnzbd_nzo_7&value2=B&value3=hush"),
    ("queue-resume", "mode=queue&name=resume&value=SABnzbd_nzo_7"),
    ("queue-search", "mode=queue&search=nothing+like+it"),
    ("queue-sort", "mode=queue&name=sort&sort=size&dir=desc"),
    ("restart", "mode=restart"),
    ("resume", "mode=resume"),
    ("resume_pp", "mode=resume_pp"),
    ("retry", "mode=retry&value=SABnzbd_nzo_4"),
    ("retry-unknown", "mode=retry&value=SABnzbd_nzo_400"),
    ("retry_all", "mode=retry_all"),
    ("rss_now", "mode=rss_now"),
    ("server_stats", "mode=server_stats"),
    ("set_config", "mode=set_config&section=misc&keyword=script_dir&value=/tmp"),
    ("shutdown", "mode=shutdown"),
    ("status", "mode=status"),
    ("status-unblock_server", "mode=status&name=unblock_server&value=one"),
    ("switch", "mode=switch&value=SABnzbd_nzo_9&value2=0"),
    ("undefined", "mode=translate&value=x"),
    ("version", "mode=version"),
    ("warnings", "mode=warnings"),
    ("warnings-clear", "mode=warnings&name=clear"),
    ("watched_now", "mode=watched_now"),
];

const UPLOAD: &str = "--b\r\nContent-Disposition: form-data; name=\"name\"; filename=\"A Show.nzb\"\r\n\
    Content-Type: application/x-nzb\r\n\r\n<nzb/>\r\n--b--\r\n";

fn start() -> Running {
    let token = |secret: &str, access| Token { secret: Secret::new(secret), access };
    let tokens = vec![token("planted-api", Access::Control), token("planted-nzb", Access::Add)];
    daemon::start_with(Settings { tokens, ..Settings::default() })
}

#[test]
fn every_mode_answers_as_it_did() {
    let daemon = start();
    let mut differ = Vec::new();
    for (name, query) in CALLS {
        let path = format!("/sabnzbd/api?{query}&output=json&apikey=planted-api");
        differ.extend(compared(&daemon, name, query, &daemon.get(&path)));
    }
    let query = "mode=addfile&cat=tv&priority=-100";
    let start = format!("POST /api?{query}&apikey=planted-nzb");
    let answer = daemon.http(&start, "Content-Type: multipart/form-data; boundary=b\r\n", UPLOAD);
    differ.extend(compared(&daemon, "addfile", query, &answer));
    assert!(differ.is_empty(), "these differ (BLESS=1 writes them anew): {differ:#?}");
}

fn compared(daemon: &Running, name: &str, query: &str, answer: &str) -> Option<String> {
    assert_eq!(status_of(answer), 200, "{name}: {answer}");
    assert!(answer.contains("content-type: application/json"), "{name}: pysabnzbd wants that");
    let body: Value = serde_json::from_str(body_of(answer)).expect("JSON");
    let done: Vec<String> =
        daemon.control.take_done().iter().map(|what| format!("asked: {what}\n")).collect();
    let page = format!("{}\n\n{body:#}\n{}", query.replace("planted", "***"), done.concat());
    assert!(!page.contains("planted-"), "{name} tells a secret: {page}");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/sab").join(name);
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, &page).expect("it can be written");
    }
    (fs::read_to_string(path).unwrap_or_default() != page).then(|| name.to_owned())
}

/// The documentation has all modes, and so have the calls above.
#[test]
fn every_mode_is_called_and_documented() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/sabnzbd.md");
    let page = fs::read_to_string(&path).unwrap_or_default();
    let (introduction, table) = page.split_once(MARK).expect("the page has its mark");
    let expected = format!("\n\n{}", bergamot_rpc::sab_markdown());
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, format!("{introduction}{MARK}{expected}")).expect("it can be written");
    } else {
        assert_eq!(table, expected, "BLESS=1 writes it anew");
    }
    let called: BTreeSet<&str> = CALLS.iter().map(|(name, _)| *name).chain(["addfile"]).collect();
    for row in expected.lines().filter(|line| line.starts_with("| `")) {
        let mut words = row.split('|').map(|cell| cell.trim().trim_matches('`')).skip(1);
        let (mode, name) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let file = if name.is_empty() { mode.to_owned() } else { format!("{mode}-{name}") };
        assert!(called.contains(file.as_str()), "{file} is not called");
    }
}

const MARK: &str = "<!-- What follows is generated from the table of modes. -->";
