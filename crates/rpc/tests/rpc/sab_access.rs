//! Who may do what in SABnzbd's dialect, and by which way.

use crate::daemon::{self, Running, body_of, status_of, three_users};
use bergamot_rpc::{Access, Settings, Token};
use bergamot_types::Secret;

fn start() -> Running {
    let token = |access: Access| Token { secret: Secret::new(format!("{access}-key")), access };
    let tokens = vec![token(Access::Control), token(Access::Add)];
    daemon::start_with(Settings { tokens, ..three_users() })
}

/// Modes with a name, their levels, and whether they only read, from the documentation.
fn modes() -> Vec<(String, String, bool)> {
    let table = bergamot_rpc::sab_markdown();
    let rows = table.lines().filter(|line| line.starts_with("| `"));
    let read = |row: &str| {
        let cells: Vec<&str> = row.split('|').map(|cell| cell.trim().trim_matches('`')).collect();
        let query = format!("mode={}&name={}", cells[1], cells[2]);
        let (level, reads) = match cells[3].split_once(", ") {
            Some((level, _)) => (level, true),
            None => (cells[3], false),
        };
        (query, level.to_owned(), reads)
    };
    rows.map(read).collect()
}

fn is_refused(answer: &str, why: &str) -> bool {
    assert_eq!(status_of(answer), 200, "{answer}");
    let body: serde_json::Value = serde_json::from_str(body_of(answer)).expect("JSON");
    body == serde_json::json!({ "status": false, "error": why })
}

#[test]
fn every_mode_wants_its_key() {
    let daemon = start();
    assert!(modes().len() > 40);
    for (query, level, _) in modes() {
        let get = |key: &str| daemon.get(&format!("/api?{query}&apikey={key}"));
        assert!(is_refused(&daemon.get(&format!("/api?{query}")), "API Key Required"), "{query}");
        let with_add = get("add-key");
        assert_eq!(is_refused(&with_add, "API Key Incorrect"), level != "add", "{query}");
        assert!(!is_refused(&get("control-key"), "API Key Incorrect"), "{query}");
        let login =
            daemon.get(&format!("/api?{query}&ma_username=restricted&ma_password=restricted"));
        assert_eq!(is_refused(&login, "API Key Incorrect"), level == "control", "{query}");
    }
}

#[test]
fn what_a_browser_adds_by_itself_changes_nothing_by_get() {
    let daemon = start();
    daemon.control.take_done();
    let login = "Authorization: Basic Y29udHJvbDpjb250cm9s\r\n";
    for (query, _, reads) in modes() {
        let answer = daemon.http(&format!("GET /api?{query}"), login, "");
        assert_eq!(is_refused(&answer, "API Key Required"), !reads, "{query}");
    }
    let done = daemon.control.take_done();
    assert!(done.iter().all(|what| what.starts_with("LogQuery")), "{done:?}");
    let token = "Authorization: Bearer control-key\r\n";
    daemon.http("GET /api?mode=pause", token, "");
    daemon.http("POST /api?mode=resume", login, "");
    daemon.get("/control:control/api?mode=pause_pp");
    assert_eq!(daemon.control.take_done().len(), 3);
    for header in ["Origin: http://evil.example\r\n", "Sec-Fetch-Site: cross-site\r\n"] {
        let answer = daemon.http("GET /api?mode=shutdown&apikey=control-key", header, "");
        assert_eq!(status_of(&answer), 403, "{header}");
    }
    assert!(daemon.control.take_done().is_empty());
}

#[test]
fn without_any_password_this_machine_may_look_and_send_but_not_change_by_get() {
    let daemon = daemon::start();
    assert!(body_of(&daemon.get("/api?mode=queue")).contains("slots"));
    assert!(is_refused(&daemon.get("/api?mode=shutdown&apikey=any"), "API Key Required"));
    assert!(daemon.control.take_done().is_empty());
    daemon.http("POST /api", "", "mode=pause&apikey=any");
    assert_eq!(daemon.control.take_done().len(), 1);
}

#[test]
fn a_key_for_adding_alone_locks_nobody_of_this_machine_out() {
    let token = Token { secret: Secret::new("nzb"), access: Access::Add };
    let daemon = daemon::start_with(Settings { tokens: vec![token], ..Settings::default() });
    assert!(body_of(&daemon.get("/api?mode=queue")).contains("slots"));
    assert_eq!(status_of(&daemon.get("/jsonrpc/version")), 200);
    let add = "mode=addurl&name=https%3A%2F%2Fx.example%2F1";
    assert!(is_refused(&daemon.get(&format!("/api?{add}")), "API Key Required"));
    let added = daemon.get(&format!("/api?{add}&apikey=nzb"));
    assert!(body_of(&added).contains("nzo_ids"), "{added}");
    assert!(is_refused(&daemon.get("/api?mode=queue&apikey=nzb"), "API Key Incorrect"));
}

// C-07
#[test]
fn a_right_key_does_not_wait_for_wrong_ones_from_elsewhere() {
    let daemon = start();
    let get =
        |path: &str| format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    for guess in 0..5 {
        let path = format!("/api?mode=queue&apikey=wrong{guess}");
        daemon.raw_from([127, 0, 0, 2], &get(&path));
    }
    assert_eq!(status_of(&daemon.get("/api?mode=version")), 200, "that is no guess");
    let right = get("/api?mode=queue&apikey=control-key");
    for address in [[127, 0, 0, 3], [127, 0, 0, 2]] {
        // At the second address it waits no more, for it has been right at the first.
        let answer = daemon.raw_from(address, &right);
        assert!(body_of(&answer).contains("slots"), "{answer}");
    }
}

fn upload(fields_first: bool, key: &str, size: usize) -> String {
    let key = format!("--b\r\nContent-Disposition: form-data; name=\"apikey\"\r\n\r\n{key}\r\n");
    let mode = "--b\r\nContent-Disposition: form-data; name=\"mode\"\r\n\r\naddfile\r\n";
    let file = format!(
        "--b\r\nContent-Disposition: form-data; name=\"nzbfile\"; filename=\"a.nzb\"\r\n\r\n{}\r\n",
        "x".repeat(size)
    );
    match fields_first {
        true => format!("{key}{mode}{file}--b--\r\n"),
        false => format!("{file}{mode}{key}--b--\r\n"),
    }
}

#[test]
fn a_file_may_come_before_its_key_if_it_is_not_large() {
    let daemon = start();
    let form = "Content-Type: multipart/form-data; boundary=b\r\n";
    for (fields_first, size, status) in [
        (true, 10, 200),
        (false, 10, 200),
        (true, 20 << 20, 200),
        (false, 3 << 20, 200),
        (false, 20 << 20, 413),
    ] {
        let answer =
            daemon.http("POST /sabnzbd/api/", form, &upload(fields_first, "add-key", size));
        assert_eq!(status_of(&answer), status, "{fields_first} {size}: {}", body_of(&answer));
        let done = daemon.control.take_done();
        assert_eq!(done.len(), usize::from(status == 200), "{fields_first} {size}");
        assert!(done.iter().all(|what| what.contains(&format!("Nzb({size} bytes)"))), "{done:?}");
    }
    let answer = daemon.http("POST /api", form, &upload(true, "wrong", 5 << 20));
    assert!(is_refused(&answer, "API Key Incorrect"));
    assert!(is_refused(
        &daemon.http("POST /api", form, &upload(false, "", 10)),
        "API Key Required"
    ));
    assert!(daemon.control.take_done().is_empty());
}

#[test]
fn odd_forms_are_only_odd() {
    let daemon = start();
    let control = "mode=addfile&apikey=control-key";
    for (kind, body) in [
        ("multipart/form-data; boundary=b", "no boundary at all"),
        ("multipart/form-data; boundary=b", "--b\r\n"),
        (
            "multipart/form-data; boundary=b",
            "--b\r\nContent-Disposition: form-data\r\n\r\nx\r\n--b--",
        ),
        ("multipart/form-data", "--b"),
        ("text/plain", "\u{0}&&==&%zz"),
        ("application/json", "{}"),
    ] {
        let start = format!("POST /api?{control}");
        let answer = daemon.http(&start, &format!("Content-Type: {kind}\r\n"), body);
        assert!(is_refused(&answer, "no file given"), "{kind} {body}: {answer}");
    }
    let answer = daemon.http("POST /api", "Content-Encoding: gzip\r\n", "x");
    assert_eq!(status_of(&answer), 415);
    assert_eq!(status_of(&daemon.http("PUT /api?mode=version", "", "")), 405);
}
