//! Moving in from NZBGet and SABnzbd, with the real program.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;
use std::process::{Command, Output};

use bergamot_newsd::Generated;
use bergamot_tests::{Daemon, Home, program, skip};
use bergamot_types::ByteCount;
use rustix::process::geteuid;
use serde_json::{Value, json};

const NZBGET: &str = "MainDir=/srv/nzbget\nDestDir=${MainDir}/dst\nInterDir=${MainDir}/inter\nNzbDir=${MainDir}/nzb\n\
    QueueDir=${MainDir}/queue\nControlIP=127.0.0.1\nControlPort=6790\nControlUsername=ann\n\
    ControlPassword=planted-control\nServer1.Host=news.example\nServer1.Port=563\nServer1.Encryption=yes\n\
    Server1.Username=bob\nServer1.Password=planted-server ${MainDir}\nServer1.Connections=20\n\
    Server1.CertVerification=Strict\nServer2.Host=news.example\nServer2.Level=1\nServer2.Retention=4000\n\
    Category1.Name=tv\nCategory1.Aliases=series, TV*\nCategory1.Unpack=yes\nDownloadRate=5000\nMonthlyQuota=1000\n\
    Task1.Time=08:00\nTask1.Command=PauseDownload\nTask2.Time=22:30\nTask2.Command=UnpauseDownload\n\
    Task3.Time=*\nTask3.Command=Script\nFeed1.Name=indexer\nFeed1.URL=https://x.example/rss?r=planted-feed\n\
    Feed1.Filter=Reject: french%Accept: show\nFeed1.Interval=15\nUnpack=yes\nKeepHistory=30\nPostScript=x.py\n\
    DiskSpace=500\nUMask=0002\n";

const SABNZBD: &str = "__version__ = 19\n[misc]\nhost = 0.0.0.0\nport = 8080\nusername = ann\npassword = planted-control\n\
    api_key = planted-api\nnzb_key = planted-nzb\ndownload_dir = /srv/sab/incomplete\ncomplete_dir = /srv/sab/complete\n\
    dirscan_dir = /srv/sab/watch\nbandwidth_max = 10M\nbandwidth_perc = 50\nquota_size = 500G\nquota_period = m\n\
    schedlines = 1 0 8 12345 speedlimit 20, 1 30 22 12345 speedlimit 100\nscript_dir = /scripts\n\
    download_free = 2G\ncomplete_free = 1G\npermissions = 775\n\
    [servers]\n[[news.example]]\nname = news.example\ndisplayname = first\nhost = news.example\nport = 563\nssl = 1\n\
    username = bob\npassword = planted-server\nconnections = 20\npriority = 0\nenable = 1\n\
    [categories]\n[[*]]\nname = *\npriority = 0\n[[tv]]\nname = tv\ndir = shows\nnewzbin = \"series,tv-hd\"\npriority = -100\n\
    [rss]\n[[feed]]\nuri = https://x.example/rss?r=planted-feed,\nenable = 1\nfilter0 = \"\", \"\", \"\", A, *show*, -100, 1\n";

fn bergamot(home: &Home, arguments: &[&str]) -> Output {
    let mut command = Command::new(program());
    command.args(arguments).current_dir(home.path()).env("HOME", "/home/ann");
    command.output().expect("it runs")
}

fn said(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn both_configurations_become_ours_and_tell_no_secret() {
    for (name, text) in [("nzbget.conf", NZBGET), ("sabnzbd.ini", SABNZBD)] {
        let home = Home::new();
        fs::write(home.join(name), text).expect("a file");
        let shown = bergamot(&home, &["import", name]);
        assert!(shown.status.success(), "{}", said(&shown.stderr));
        assert!(said(&shown.stdout).contains("[[server]]"));
        let written = bergamot(&home, &["import", name, "--output", "new.toml"]);
        assert!(written.status.success(), "{}", said(&written.stderr));
        for output in [&shown, &written] {
            let all = said(&output.stdout) + &said(&output.stderr);
            assert!(!all.contains("planted"), "{name}: {all}");
            assert!(all.contains("left behind") && all.contains("carried over"), "{name}: {all}");
        }
        let config = fs::read_to_string(home.join("new.toml")).expect("it was written");
        let storage = match name {
            "nzbget.conf" => "[storage]\nreserve = \"500 MiB\"\numask = \"0002\"\n",
            _ => {
                "[storage]\nreserve = \"2147483648 B\"\ndirectory_mode = \"0775\"\nfile_mode = \"0664\"\n"
            }
        };
        assert!(config.contains(storage), "{config}");
        for secret in ["planted-control", "planted-server", "planted-feed"] {
            assert!(config.contains(secret), "{name}: {secret} is not in {config}");
        }
        let mode = fs::metadata(home.join("new.toml")).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let checked = bergamot(&home, &["config", "check", "new.toml"]);
        assert!(checked.status.success(), "{}{config}", said(&checked.stderr));
        let again = bergamot(&home, &["import", name, "--output", "new.toml"]);
        assert!(!again.status.success() && said(&again.stderr).contains("--force"));
        assert!(bergamot(&home, &["import", name, "-o", "new.toml", "--force"]).status.success());
    }
}

#[test]
fn the_configuration_that_debian_ships_is_understood() {
    let path = "/etc/nzbget.conf";
    if !Path::new(path).exists() {
        skip(&format!("there is no {path}; tests/interop/setup installs it"));
        return;
    }
    let home = Home::new();
    let written = bergamot(&home, &["import", path, "-o", "new.toml"]);
    assert!(written.status.success(), "{}", said(&written.stderr));
    let report = said(&written.stdout);
    for line in ["Server1: it has no host", "Category1: category", "DestDir: directories.complete"]
    {
        assert!(report.contains(line), "{line}: {report}");
    }
    let config = fs::read_to_string(home.join("new.toml")).expect("it was written");
    assert!(config.contains("complete = \"/home/ann/downloads/dst\""), "{config}");
    assert!(bergamot(&home, &["config", "check", "new.toml"]).status.success());
}

/// The queue directory of an NZBGet that has these, and a configuration that leads there.
fn nzbget_with_queue(home: &Home) {
    let main = home.join("nzbget");
    for directory in ["nzb/tv", "queue"] {
        fs::create_dir_all(main.join(directory)).expect("a directory");
    }
    let at = |path: &str| main.join(path).display().to_string();
    let nzb = |seed| Generated::new(seed, ByteCount(1_000)).file("x.bin", ByteCount(5_000)).nzb();
    fs::write(main.join("nzb/tv/show.nzb.queued"), nzb(1)).expect("an NZB");
    fs::write(main.join("nzb/other.nzb.queued"), nzb(2)).expect("an NZB");
    fs::write(main.join("nzb/finished.nzb.queued"), "<nzb/>").expect("a file");
    let queue = format!(
        "nzbget diskstate file version 62\n2\n1\n0\n\n{}\n/i\n\n{}\nshow\ntv\n50,0,0,0,0\n1\n9,1,0\n2\n0\n\n/elsewhere\n/i\n\n/elsewhere/other.nzb.queued\n../other\n\n-100,0\n3\n0\n\n/x\n/i\n\n/gone.nzb.queued\ngone\n\n0,0\n",
        at("nzb/tv/show.nzb"),
        at("nzb/tv/show.nzb.queued"),
    );
    fs::write(main.join("queue/queue"), queue).expect("a file");
    let conf = NZBGET.replace("/srv/nzbget", &main.display().to_string());
    fs::write(home.join("nzbget.conf"), conf).expect("a file");
}

#[test]
fn queued_nzbs_are_taken_along_with_category_and_priority() {
    let home = Home::new();
    nzbget_with_queue(&home);
    let arguments = ["import", "nzbget.conf", "-o", "bergamot.toml", "--queue", "nzbget/queue"];
    let written = bergamot(&home, &arguments);
    let report = said(&written.stdout);
    assert!(written.status.success(), "{}", said(&written.stderr));
    assert!(report.contains("2 of 3 queued NZBs") && report.contains("gone"), "{report}");
    assert!(!home.path().join("nzbget/other.nzb").exists(), "no name leads out of the folder");

    let socket = home.join("control.sock");
    let mut command = Daemon::command();
    command.args(["run", "--config"]).arg(home.join("bergamot.toml"));
    command.env("BERGAMOT__CONTROL__SOCKET", &socket).env("BERGAMOT__CONTROL__PORT", "0");
    let mut daemon = Daemon::spawn(command);
    daemon.wait_for(&["INFO ready"]);
    let jobs = home.connect().expect("a socket").call("queue.list", json!({})).expect("a list");
    let job = |place: usize| {
        let job = &jobs["items"][place];
        (job["name"].clone(), job["category"].clone(), job["priority"].clone())
    };
    assert_eq!(job(0), (json!("show"), json!("tv"), json!(50)), "{jobs}");
    assert_eq!((job(1).1, job(1).2), (Value::Null, json!(-100)), "{jobs}");
    let paused = |place: usize| jobs["items"][place]["paused"].clone();
    assert_eq!((paused(0), paused(1)), (json!(true), json!(false)), "{jobs}");
    let own = fs::read_to_string(home.join("bergamot.toml")).expect("a file") + "# mine\n";
    fs::write(home.join("bergamot.toml"), &own).expect("a file");
    let busy = bergamot(&home, &[&arguments[..], &["--force"]].concat());
    assert!(!busy.status.success(), "a daemon runs on that spool");
    let left = fs::read_to_string(home.join("bergamot.toml")).expect("a file");
    assert_eq!(left, own, "what could not be done has changed nothing");
    daemon.stop();
}

#[test]
fn what_root_imports_belongs_to_whom_the_state_belongs() {
    if !geteuid().is_root() {
        skip("only the superuser makes files for others");
        return;
    }
    let home = Home::new();
    nzbget_with_queue(&home);
    fs::create_dir(home.join("new")).expect("a directory");
    chown(home.join("new"), Some(1234), Some(2345)).expect("it is given away");
    for above in home.path().ancestors().take(2) {
        fs::set_permissions(above, fs::Permissions::from_mode(0o755)).expect("a directory");
    }
    fs::set_permissions(home.join("nzbget"), fs::Permissions::from_mode(0o700)).expect("NZBGet's");
    let arguments = ["import", "nzbget.conf", "-o", "new/bergamot.toml", "--queue", "nzbget/queue"];
    let written = bergamot(&home, &arguments);
    assert!(written.status.success(), "{}{}", said(&written.stdout), said(&written.stderr));
    assert!(owned(&home.join("new")) > 5, "the configuration, and two jobs with their NZBs");

    // What has to be put right first is theirs as well.
    let odd = format!("{NZBGET}Server1.Host=news.example:563\n");
    fs::write(home.join("odd.conf"), odd).expect("a file");
    assert!(!bergamot(&home, &["import", "odd.conf", "-o", "new/odd.toml"]).status.success());
    owned(&home.join("new"));

    // The volume of a new container is root's, and its daemon will be somebody else.
    fs::create_dir(home.join("fresh")).expect("a directory");
    let mut command = Command::new(program());
    command.args(["import", "nzbget.conf", "-o", "fresh/bergamot.toml", "--queue", "nzbget/queue"]);
    command.current_dir(home.path()).env("BERGAMOT_CONTAINER", "yes");
    command.env("PUID", "1234").env("PGID", "2345");
    command.env("BERGAMOT__DIRECTORIES__STATE", home.join("fresh/elsewhere"));
    let written = command.output().expect("it runs");
    assert!(written.status.success(), "{}{}", said(&written.stdout), said(&written.stderr));
    assert!(owned(&home.join("fresh")) > 5);
    assert!(home.join("fresh/elsewhere/spool").is_dir(), "as the environment says");
}

/// How many files there are, all of which belong to whom they should.
fn owned(directory: &Path) -> usize {
    let mut found = 0;
    let mut look = vec![directory.to_owned()];
    while let Some(path) = look.pop() {
        let data = fs::metadata(&path).expect("it is there");
        assert_eq!((data.uid(), data.gid()), (1234, 2345), "{}", path.display());
        if data.is_dir() {
            look.extend(fs::read_dir(&path).expect("a directory").flatten().map(|it| it.path()));
        }
        found += 1;
    }
    found
}

#[test]
fn what_would_be_dangerous_or_wrong_here_is_told() {
    let home = Home::new();
    let odd =
        format!("{NZBGET}ControlPassword=tegbzn6789\nServer1.Connections=0\nControlIP=0.0.0.0\n");
    fs::write(home.join("nzbget.conf"), odd).expect("a file");
    fs::write(
        home.join("sab.ini"),
        SABNZBD.replace("[servers]", "host_whitelist = nas, nas.local\n[servers]"),
    )
    .expect("a file");
    let import = |name: &str, output: &str| {
        let mut command = Command::new(program());
        command.args(["import", name, "-o", output]).current_dir(home.path());
        let written = command.env("TZ", "Europe/Berlin").output().expect("it runs");
        assert!(written.status.success(), "{}", said(&written.stderr));
        (fs::read_to_string(home.join(output)).expect("a file"), said(&written.stdout))
    };
    let (config, report) = import("nzbget.conf", "a.toml");
    assert!(
        !config.contains("tegbzn6789")
            && report.contains("ControlPassword: it is NZBGet's default")
    );
    assert!(!config.contains("0.0.0.0") && config.contains("active = false"), "{config}");
    assert!(config.contains("time_zone = \"Europe/Berlin\""), "{config}");
    let (config, _) = import("sab.ini", "b.toml");
    assert!(config.contains("allowed_hosts = [\"nas.local\"]"), "{config}");
    assert!(config.contains("time_zone = \"Europe/Berlin\""), "{config}");
}

#[test]
fn what_cannot_be_used_is_written_and_told() {
    let home = Home::new();
    let odd = format!("{NZBGET}Server1.Host=news.example:563\n");
    fs::write(home.join("nzbget.conf"), odd).expect("a file");
    let written = bergamot(&home, &["import", "nzbget.conf", "-o", "new.toml"]);
    assert!(!written.status.success());
    let told = said(&written.stderr);
    assert!(told.contains("server.host") && told.contains("carried over"), "{told}");
    assert!(!told.contains("planted"), "{told}");
    assert!(home.join("new.toml").exists());
}

#[test]
fn what_is_neither_is_refused() {
    let home = Home::new();
    for (content, told) in [
        (b"nothing of the kind".to_vec(), "neither"),
        (vec![0xff; 100], "neither"),
        (vec![b'x'; 6 << 20], "more than"),
    ] {
        fs::write(home.join("x.conf"), content).expect("a file");
        let refused = bergamot(&home, &["import", "x.conf"]);
        assert!(!refused.status.success() && said(&refused.stderr).contains(told), "{refused:?}");
    }
    assert!(!bergamot(&home, &["import", "nowhere"]).status.success());
}
