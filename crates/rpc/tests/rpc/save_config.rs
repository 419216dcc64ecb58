//! `saveconfig`: what is written, and what is not.

use bergamot_rpc::ClientError;
use serde_json::{Value, json};

use crate::daemon::{self, Running};

fn save(daemon: &Running, options: Value) -> Result<Vec<String>, String> {
    match daemon.client().call("saveconfig", options) {
        Ok(answer) => {
            assert_eq!(answer, true);
            Ok(daemon.control.take_done())
        }
        Err(ClientError::Refused { code, message, .. }) => {
            assert_eq!(daemon.control.take_done(), [""; 0], "nothing is written");
            Err(format!("{code}: {message}"))
        }
        Err(error) => panic!("{error}"),
    }
}

fn one(name: &str, value: &str) -> Value {
    json!([[{ "Name": name, "Value": value }]])
}

#[test]
fn options_become_keys_of_ours() {
    let daemon = daemon::start();
    for (name, value, written) in [
        ("DownloadRate", "500", r#"download.rate = Text("500 KiB")"#),
        ("downloadrate", " 0 ", r#"download.rate = Text("0 KiB")"#),
        ("KeepHistory", "7", "history.keep = Number(7)"),
        ("DupeCheck", "No", r#"watch.duplicates = Text("accept")"#),
        ("MonthlyQuota", "1000", r#"quota.monthly = Text("1000 MiB")"#),
        ("DiskSpace", "250", r#"storage.reserve = Text("250 MiB")"#),
        ("Server1.Connections", "3", "server.1.connections = Number(3)"),
        ("Server1.Active", "no", "server.1.active = Flag(false)"),
        ("Server1.CertVerification", "strict", ""),
        ("Server1.IpVersion", "IPV4", r#"server.1.ip_version = Text("ipv4")"#),
        ("Category1.Aliases", "a, b*,", r#"category.1.aliases = Texts(["a", "b*"])"#),
        ("Feed1.Filter", "A: x%R: *", r#"feed.1.rules = Text("A: x\nR: *")"#),
    ] {
        let written: Vec<_> = Some(written).filter(|it| !it.is_empty()).into_iter().collect();
        assert_eq!(
            save(&daemon, one(name, value)).as_deref(),
            Ok(&written.iter().map(ToString::to_string).collect::<Vec<_>>()[..]),
            "{name}"
        );
    }
    let secret = save(&daemon, one("Server1.Password", "planted")).expect("it is taken");
    assert!(secret[0].starts_with("server.1.password = Secret(") && !secret[0].contains("planted"));
}

#[test]
fn all_that_config_shows_can_be_sent_back_and_is_no_change() {
    let daemon = daemon::start();
    for list in ["config", "loadconfig"] {
        let shown = daemon.client().call(list, json!([])).expect("it answers");
        assert_eq!(save(&daemon, json!([shown])), Ok(Vec::new()), "{list}");
        let flat = shown.as_array().expect("a list").clone();
        assert_eq!(save(&daemon, Value::Array(flat)), Ok(Vec::new()), "{list}");
        let numbers = json!([{ "Name": "DownloadRate", "Value": 77 }]);
        assert_eq!(save(&daemon, numbers).map(|done| done.len()), Ok(1));
    }
    assert_eq!(save(&daemon, json!([])), Ok(Vec::new()));
}

// C-12
#[test]
fn what_could_open_the_machine_is_changed_in_the_file_alone() {
    let daemon = daemon::start();
    for name in [
        "QueueDir",
        "DestDir",
        "InterDir",
        "NzbDir",
        "LogFile",
        "TempDir",
        "ScriptDir",
        "Extensions",
        "ShellOverride",
        "UnpackPassFile",
        "ControlIP",
        "ControlPassword",
        "UMask",
        "Category1.DestDir",
        "Category1.Extensions",
        "Feed1.URL",
        "AppBin",
    ] {
        let options = json!([[
            { "Name": "DownloadRate", "Value": "500" },
            { "Name": name, "Value": "/bin/evil" },
        ]]);
        let told = save(&daemon, options).expect_err(name);
        assert!(told.starts_with(&format!("config.not_settable: {name} cannot be set")), "{told}");
    }
    for (name, value) in [("UnrarCmd", "/bin/evil"), ("Server9.Host", "x"), ("Task1.Command", "x")]
    {
        let told = save(&daemon, one(name, value)).expect_err(name);
        assert_eq!(told, format!("config.unknown_option: there is no option {name}"));
    }
}

#[test]
fn what_is_no_list_of_options_is_refused() {
    let daemon = daemon::start();
    let twice =
        json!([{ "Name": "DownloadRate", "Value": "1" }, { "Name": "downloadRATE", "Value": "2" }]);
    for (options, word) in [
        (json!(["DownloadRate", "500"]), "rpc.invalid_params"),
        (json!([{ "Name": "DownloadRate", "Value": null }]), "rpc.invalid_params"),
        (json!([{ "Name": "DownloadRate" }]), "rpc.invalid_params"),
        (twice, "rpc.invalid_params: invalid parameter: downloadRATE is given twice"),
        (one("DownloadRate", "fast"), "rpc.invalid_value: DownloadRate is a whole number"),
        (one("DownloadRate", "-1"), "rpc.invalid_value"),
        (one("Server1.CertVerification", "Minimal"), "rpc.invalid_value"),
        (json!([vec![json!({ "Name": "X", "Value": "" }); 10_001]]), "rpc.too_many"),
    ] {
        let told = save(&daemon, options).expect_err(word);
        assert!(told.starts_with(word), "{told}");
    }
}
