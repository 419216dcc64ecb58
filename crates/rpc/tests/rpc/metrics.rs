//! What `/metrics`, `/healthz` and `/readyz` say, and to whom.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use crate::daemon::{self, body_of, status_of, three_users};
use bergamot_rpc::Settings;
use bergamot_rpc::metrics::{Compat, MetricsAccess, MetricsSettings};

fn settings(access: MetricsAccess) -> Settings {
    let metrics = MetricsSettings { access, compat: vec![Compat::Nzbget, Compat::Sabnzbd] };
    Settings { metrics, ..three_users() }
}

const LOGIN: &str = "Authorization: Basic cmVzdHJpY3RlZDpyZXN0cmljdGVk\r\n";

#[test]
fn only_those_who_may_see_the_queue_may_read_them() {
    let daemon = daemon::start_with(settings(MetricsAccess::Login));
    assert_eq!(status_of(&daemon.get("/metrics")), 401);
    let add = "Authorization: Basic YWRkOmFkZA==\r\n";
    assert_eq!(status_of(&daemon.http("GET /metrics", add, "")), 403);
    assert_eq!(status_of(&daemon.http("GET /metrics", LOGIN, "")), 200);
    let open = daemon::start_with(settings(MetricsAccess::Open));
    assert_eq!(status_of(&open.get("/metrics")), 200);
    let off = daemon::start_with(settings(MetricsAccess::Off));
    assert_eq!(status_of(&off.http("GET /metrics", LOGIN, "")), 404);
    let bare = daemon::start();
    assert!(!body_of(&bare.get("/metrics")).contains("sabnzbd_"), "only by choice");
}

#[test]
fn both_formats_are_spoken() {
    let daemon = daemon::start_with(settings(MetricsAccess::Open));
    let plain = daemon.get("/metrics");
    assert!(plain.contains("content-type: text/plain; version=0.0.4"), "{plain}");
    assert!(!plain.contains("# EOF"));
    let accept = "Accept: application/openmetrics-text;version=1.0.0,text/plain;q=0.5\r\n";
    let open = daemon.http("GET /metrics", accept, "");
    assert!(open.contains("content-type: application/openmetrics-text; version=1.0.0"), "{open}");
    assert!(open.ends_with("# EOF\n"));
}

#[test]
fn calls_are_counted_by_method() {
    let daemon = daemon::start_with(settings(MetricsAccess::Open));
    daemon.http("POST /jsonrpc", LOGIN, r#"{"method":"status"}"#);
    daemon.http("POST /jsonrpc", LOGIN, r#"{"method":"job.get","params":{"job":70}}"#);
    daemon.get("/api?mode=queue&ma_username=control&ma_password=control");
    let told = daemon.get("/metrics");
    for line in [
        r#"bergamot_rpc_requests_total{dialect="nzbget",method="status",result="ok"} 1"#,
        r#"bergamot_rpc_requests_total{dialect="native",method="job.get",result="error"} 1"#,
        r#"bergamot_rpc_requests_total{dialect="sabnzbd",method="queue",result="ok"} 1"#,
    ] {
        assert!(told.contains(line), "{line}: {told}");
    }
}

#[test]
fn health_and_readiness_want_no_login_and_tell_nothing() {
    let daemon = daemon::start_with(three_users());
    assert_eq!(body_of(&daemon.get("/healthz")), "ok\n");
    assert_eq!(body_of(&daemon.get("/readyz")), "ready\n");
}

/// The page is golden, and the tables of `docs/metrics.md` are made of it. `BLESS=1` writes both anew.
#[test]
fn every_metric_is_as_it_was_and_is_documented() {
    let daemon = daemon::start_with(settings(MetricsAccess::Open));
    let answer = daemon.get("/metrics");
    let page = body_of(&answer);
    assert!(!page.contains("A Show"), "no job is named");
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (golden, docs) = (here.join("tests/golden/metrics"), here.join("../../docs/metrics.md"));
    let written = fs::read_to_string(&docs).unwrap_or_default();
    let (introduction, tables) = written.split_once(MARK).expect("the page has its mark");
    let expected = format!("\n\n{}", tables_of(page));
    if std::env::var_os("BLESS").is_some() {
        fs::write(&golden, page).expect("it can be written");
        fs::write(&docs, format!("{introduction}{MARK}{expected}")).expect("it can be written");
        return;
    }
    assert_eq!(fs::read_to_string(golden).unwrap_or_default(), page, "BLESS=1 writes it anew");
    assert_eq!(tables, expected, "BLESS=1 writes it anew");
}

/// One table for each family of names.
fn tables_of(page: &str) -> String {
    let mut labels: BTreeMap<&str, &str> = BTreeMap::new();
    for line in page.lines().filter(|line| !line.starts_with('#')) {
        let (name, rest) = line.split_once(['{', ' ']).expect("a sample");
        labels.entry(name).or_insert(if line.contains('{') { rest } else { "" });
    }
    let mut text = String::new();
    for (title, prefixes) in [
        ("Our own", ["bergamot_", "process_"].as_slice()),
        ("Those of frebib/nzbget-exporter", &["nzbget_"]),
        ("Those of exportarr for SABnzbd", &["sabnzbd_"]),
    ] {
        let _ = writeln!(text, "## {title}\n\n| name | kind | labels | |\n|---|---|---|---|");
        let lines: Vec<&str> = page.lines().collect();
        for pair in lines.windows(2).filter(|pair| pair[0].starts_with("# HELP ")) {
            let (name, help) = pair[0][7..].split_once(' ').expect("a name and a text");
            let kind = pair[1].rsplit(' ').next().unwrap_or_default();
            if prefixes.iter().any(|prefix| name.starts_with(prefix)) {
                let known = labels.get(name).copied().unwrap_or_default();
                let names: Vec<&str> =
                    known.split(',').filter_map(|it| it.split_once("=\"")).map(|it| it.0).collect();
                let _ = writeln!(text, "| `{name}` | {kind} | {} | {help} |", names.join(", "));
            }
        }
        text.push('\n');
    }
    text
}

const MARK: &str = "<!-- What follows is generated from an answer. -->";
