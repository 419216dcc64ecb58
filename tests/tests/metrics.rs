//! Metrics of a daemon that has downloaded something, and the dashboard that shows them.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use bergamot_tests::HttpDaemon;
use serde_json::{Value, json};

#[test]
fn a_download_is_measured_and_the_dashboard_finds_all_it_asks_for() {
    let mut http_daemon = HttpDaemon::start();
    let nzb = http_daemon.nzb("first");
    http_daemon.call_json(&json!({ "method": "append", "params": ["first.nzb", nzb, "tv", 0, false, false, "", 0, "SCORE", []] }).to_string());
    http_daemon.daemon.wait_complete("first");
    http_daemon.call_json(&json!({ "method": "append", "params": ["odd.nzb", "PG56Yi8+", "made-up", 0, false, false, "", 0, "SCORE", []] }).to_string());
    let page = metrics(&http_daemon);
    for line in [
        r#"bergamot_jobs_total{category="tv",result="completed"} 1"#,
        "bergamot_jobs_added_total 1",
        "bergamot_jobs_refused_total 1",
        r#"bergamot_queue_jobs{state="queued"} 0"#,
        r#"bergamot_server_up{server="s0"} 1"#,
        r#"nzbget_history_category_count{category="other"} 1"#,
        r#"nzbget_history_status_count{reason="health",status="success"} 1"#,
        r#"nzbget_history_status_count{reason="scan",status="failure"} 1"#,
    ] {
        assert!(page.lines().any(|known| known == line), "{line} is not in {page}");
    }
    assert!(sample(&page, r#"bergamot_download_bytes_total{server="s0"}"#) > 0.0);
    assert!(sample(&page, "process_resident_memory_bytes") > 1e6);
    assert!(sample(&page, r#"bergamot_disk_free_bytes{dir="complete"}"#) > 0.0);
    let samples = page.lines().filter(|line| !line.starts_with('#'));
    assert!(samples.clone().count() > 80 && !samples.clone().any(|line| line.contains("first")));
    let told: BTreeSet<&str> = page
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE "))
        .filter_map(|line| line.split(' ').next())
        .collect();
    let asked = asked_for();
    assert!(asked.len() > 15, "{asked:?}");
    for name in asked {
        assert!(told.contains(name.as_str()), "{name} is asked for and not told");
    }
    let ready = http_daemon.http("GET /readyz", "", "");
    assert_eq!((ready.status, ready.body.as_str()), (200, "ready\n"));
    http_daemon.daemon.stop();
}

fn metrics(http_daemon: &HttpDaemon) -> String {
    let login = format!("Authorization: Bearer {}\r\n", HttpDaemon::API_KEY);
    let answer = http_daemon.http("GET /metrics", &login, "");
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.body
}

fn sample(page: &str, name: &str) -> f64 {
    let found = page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    found.and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("{name} is not in {page}"))
}

/// The names of all metrics in the queries of the dashboard.
fn asked_for() -> BTreeSet<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../config/grafana/bergamot.json");
    let dashboard: Value =
        serde_json::from_str(&fs::read_to_string(path).expect("the dashboard")).expect("JSON");
    let mut queries = Vec::new();
    collect(&dashboard, &mut queries);
    let words = queries.iter().flat_map(|query| {
        query.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_')
    });
    let names = words.filter(|word| word.starts_with("bergamot_") || word.starts_with("process_"));
    names.map(str::to_owned).collect()
}

fn collect(value: &Value, queries: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                match value {
                    Value::String(text) if name == "expr" || name == "query" => {
                        queries.push(text.clone());
                    }
                    value => collect(value, queries),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, queries)),
        _ => {}
    }
}
