//! Whatever a file holds, it becomes a configuration or a refusal, and no secret is told.

use bergamot_import::{Kind, Place, nzbget, queued_nzbs, sabnzbd};
use proptest::prelude::*;

fn place() -> Place {
    Place {
        home: Some("/home/ann".to_owned()),
        file: "/x/y".to_owned(),
        zone: Some("Europe/Berlin".to_owned()),
    }
}

fn check(bytes: &[u8]) {
    let _ = (Kind::of(bytes), queued_nzbs(bytes));
    for imported in [nzbget(bytes, &place()), sabnzbd(bytes, &place())].into_iter().flatten() {
        let told = format!("{}{:?}", imported.shown_config(), imported.findings);
        assert!(!told.contains("planted"), "{told}");
        let config = imported.config();
        assert!(config.parse::<toml::Table>().is_ok(), "what is written can be read: {config}");
    }
}

proptest! {
    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        check(&bytes);
    }

    #[test]
    fn lines_of_real_options(
        lines in prop::collection::vec((0..OPTIONS.len(), "\\PC{0,20}"), 0..40)
    ) {
        let line = |(option, value): &(usize, String)| format!("{}={value}\n", OPTIONS[*option]);
        check(lines.iter().map(line).collect::<String>().as_bytes());
    }
}

#[test]
fn options_that_name_each_other_end() {
    let many = "${A}${B}".repeat(2000);
    check(format!("A={many}\nB={many}\nMainDir=${{A}}\nDestDir=${{MainDir}}\n").as_bytes());
}

#[test]
fn no_secret_is_told() {
    check(
        b"Server1.Host=x\nServer1.Password=planted\nFeed1.URL=http://planted\nControlPassword=planted\n",
    );
    check(
        b"[misc]\napi_key = planted\npassword = planted\n[servers]\n[[x]]\nhost = x\npassword = planted\n\
          [rss]\n[[f]]\nuri = http://planted\n",
    );
}

const OPTIONS: [&str; 24] = [
    "MainDir",
    "NzbDir",
    "DestDir",
    "Server1.Host",
    "Server1.Port",
    "Server1.Level",
    "Category1.Name",
    "Category1.Aliases",
    "Task1.Time",
    "Task1.Command",
    "Task1.Param",
    "Task1.WeekDays",
    "Feed1.URL",
    "Feed1.Filter",
    "Feed1.Interval",
    "DownloadRate",
    "[misc]\nhost ",
    "schedlines ",
    "bandwidth_max ",
    "[servers]\n[[a]]\nhost ",
    "port ",
    "[rss]\n[[b]]\nuri ",
    "filter0 ",
    "quota_size ",
];
