//! Peers of other projects. Downloads from real servers: INN and nzbget's own test server, with posts
//! made by Nyuu; and real clients of NZBGet's and SABnzbd's interfaces, each driven by a script that checks what it
//! is answered. `tests/interop/setup` installs them; `./check` runs this with `--ignored`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use bergamot_newsd::Articles;
use bergamot_tests::{Daemon, Home, HttpDaemon, News, Recorder, Stopped, content_of, post, sha256};
use serde_json::json;

#[test]
#[ignore = "needs INN and Nyuu; ./check installs them"]
fn inn_by_every_way_in() {
    let _inn = Peer::start("inn", &["start"]);
    let home = Home::new();
    let posted = make_files(&home.join("posted"), &[5_000_000, 700_000, 1, 123_457]);
    run("post", &["11120", path(&home.join("post.nzb")), path(&home.join("posted"))]);
    let nzb = fs::read(home.join("post.nzb")).unwrap();
    let certificate = interop().join("../../target/interop/inn/tls/cert.pem");
    let certificate = fs::canonicalize(certificate).unwrap();
    let trust = format!("ca_file = {:?}", path(&certificate));
    let login = "username = \"ann\"\npassword = \"tangerine\"";
    let ways = [
        ("innd", 11119, "encryption = \"none\"".to_owned()),
        ("nnrpd", 11120, "encryption = \"none\"\njoin_group = true".to_owned()),
        ("starttls", 11120, format!("encryption = \"starttls\"\n{trust}")),
        ("tls", 11563, format!("encryption = \"tls\"\n{trust}")),
        ("login", 11121, format!("encryption = \"none\"\n{login}")),
        ("login-starttls", 11121, format!("encryption = \"starttls\"\n{trust}\n{login}")),
        ("login-tls", 11564, format!("encryption = \"tls\"\n{trust}\n{login}")),
    ];
    for (name, port, keys) in ways {
        download(name, port, &keys, &nzb, &posted);
        println!("{name}: {} files equal by SHA-256", posted.len());
    }
}

/// No indexer, no NZB: what Nyuu posts is seen in the group, and downloaded from there.
#[test]
#[ignore = "needs INN and Nyuu; ./check installs them"]
fn a_post_is_found_in_its_group_on_inn() {
    let _inn = Peer::start("inn", &["start"]);
    let recorder = Recorder::start(11120);
    let home = Home::new();
    let config = format!(
        "[[server]]\nname = \"inn\"\nhost = \"127.0.0.1\"\nport = {}\nconnections = 4\nencryption = \"none\"\n",
        recorder.port()
    );
    let mut daemon = Daemon::start(&home, &config);
    let mut client = home.connect().expect("it listens");
    let groups =
        client.call("groups.list", json!({ "pattern": "alt.binaries.*" })).expect("groups");
    assert_eq!(groups["items"][0]["name"], "alt.binaries.test", "{groups}");
    let posts = |client: &mut bergamot_rpc::Client| {
        let latest = json!({ "group": "alt.binaries.test", "latest": true, "complete": true });
        client.call("groups.posts", latest).expect("posts")
    };
    let before = posts(&mut client)["total"].as_u64().unwrap_or_default();

    // INN keeps its spool from one run to the next, so the title is one that was never there.
    let title = format!("found-{}", std::process::id());
    let posted = make_files(&home.join("posted"), &[3_000_000, 700_000, 1, 123_457]);
    let mut post = Command::new(interop().join("post"));
    post.args(["11120", path(&home.join("post.nzb")), path(&home.join("posted"))]);
    let output = post.env("NYUU_OPTIONS", format!("--comment {title}")).output().expect("Nyuu");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));

    let seen = posts(&mut client);
    assert_eq!(seen["total"].as_u64(), Some(before + 1), "{seen}");
    let seen = &seen["items"][0];
    assert_eq!((&seen["title"], &seen["present_files"]), (&json!(title), &json!(4)), "{seen}");
    let wanted = json!({ "group": "alt.binaries.test", "post": seen["post"] });
    client.call("groups.queue", wanted).expect("it is queued");
    let line = daemon.wait_complete(&title);
    assert!(line.contains("verified=true"), "{line}");
    let found = home.inventory(Path::new("complete").join(&title));
    let found: Vec<_> =
        found.into_iter().map(|(path, sum)| (path.display().to_string(), sum)).collect();
    assert_eq!(found, posted, "equal by SHA-256");
    daemon.stop();

    let said = recorder.said();
    let has = |said: &&String, words: &[&str]| words.iter().any(|word| said.contains(word));
    let (headers, bodies): (&[_], &[_]) = (&["OVER ", "LIST ", "GROUP "], &["BODY "]);
    let with_headers = said.iter().filter(|said| has(said, headers)).count();
    let with_bodies = said.iter().filter(|said| has(said, bodies)).count();
    assert!(with_headers >= 1 && with_bodies >= 1, "{said:?}");
    let with_groups = said.iter().filter(|said| said.contains("GROUP ")).count();
    assert_eq!(with_groups, 1, "both looks at the group share a connection: {said:?}");
    assert!(!said.iter().any(|said| has(&said, headers) && has(&said, bodies)), "{said:?}");
    let compressed = said.iter().filter(|said| said.contains("COMPRESS DEFLATE")).count();
    println!(
        "{with_headers} connections for headers, {compressed} of them compressed; {with_bodies} for articles"
    );
}

#[test]
#[ignore = "needs nzbget; ./check installs it"]
fn nzbgets_own_test_server() {
    let home = Home::new();
    let posted = make_files(&home.join("posted"), &[3_000_000]);
    let _nserv = Peer::start("nserv", &["start", path(&home.join("posted"))]);
    let nzb = fs::read(home.join("posted/file0.bin.nzb")).unwrap();
    download("nserv", 16791, "encryption = \"none\"", &nzb, &posted);
}

#[test]
#[ignore = "needs pynzbgetapi; ./check installs it"]
fn pynzbgetapi_over_xml_rpc() {
    serve("with_pynzbgetapi.py", Daemon::finish);
}

#[test]
#[ignore = "needs pynzbget; ./check installs it"]
fn pynzbget_as_scripts_use_it() {
    serve("with_pynzbget.py", Daemon::stop);
}

#[test]
#[ignore = "needs nzbget-api; ./check installs it"]
fn nzbget_api_of_npm() {
    serve("with_nzbget_api.js", Daemon::finish);
}

#[test]
#[ignore = "needs node-nzbget; ./check installs it"]
fn node_nzbget_by_get() {
    serve("with_node_nzbget.js", Daemon::stop);
}

#[test]
#[ignore = "needs sabnzbd-api, pysabnzbd and aiosabnzbd; ./check installs them"]
fn clients_of_sabnzbd_from_pypi() {
    serve("with_sabnzbd_clients.py", Daemon::finish);
}

#[test]
#[ignore = "needs sabnzbd-api and sabnzbd; ./check installs them"]
fn clients_of_sabnzbd_from_npm() {
    serve("with_sabnzbd_api.js", Daemon::finish);
}

#[test]
#[ignore = "needs prometheus-client; ./check installs it"]
fn prometheus_client_reads_the_metrics() {
    serve("with_prometheus_client.py", Daemon::stop);
}

#[test]
#[ignore = "needs feedparser; ./check installs it"]
fn feedparser_reads_what_was_downloaded() {
    let home = Home::new();
    let posts = [post(1, "first.bin", 3), post(2, "second.bin", 3)];
    let articles: Vec<Arc<dyn Articles>> = posts.iter().map(|post| post.clone() as _).collect();
    let news = News::plain(Arc::new(articles));
    let config = format!(
        "[feeds]\noutput = \"finished.xml\"\noutput_link = \"https://nas.example/bergamot\"\n\
         [control]\nsocket = \"control.sock\"\nport = 0\nusername = \"{}\"\npassword = \"{}\"\n{}",
        HttpDaemon::USER,
        HttpDaemon::PASSWORD,
        news.section(0, "")
    );
    let mut daemon = Daemon::start(&home, &config);
    let address = daemon.http();
    for (name, items) in [("first.nzb", 1), ("tv/second & <last>.nzb", 2)] {
        home.drop_nzb(name, posts[items - 1].nzb());
        daemon.expect(&["the feed of downloads is written", &format!("items={items}")]);
    }
    let output = client("with_feedparser.py")
        .env("BERGAMOT_PORT", address.port().to_string())
        .env("BERGAMOT_USER", HttpDaemon::USER)
        .env("BERGAMOT_PASSWORD", HttpDaemon::PASSWORD)
        .env("BERGAMOT_NZBS", home.path())
        .env("BERGAMOT_FEED", home.join("finished.xml"))
        .output()
        .expect("its interpreter is installed");
    println!("{}", String::from_utf8_lossy(&output.stdout));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    daemon.stop();
}

/// Runs a script of `clients` against a daemon, which ends by itself if the script asks it to.
fn serve(script: &str, end: fn(Daemon) -> Stopped) {
    let http_daemon = HttpDaemon::start();
    let output = client(script)
        .env("BERGAMOT_PORT", http_daemon.address.port().to_string())
        .env("BERGAMOT_USER", HttpDaemon::USER)
        .env("BERGAMOT_PASSWORD", HttpDaemon::PASSWORD)
        .env("BERGAMOT_API_KEY", HttpDaemon::API_KEY)
        .env("BERGAMOT_NZBS", http_daemon.home.path())
        .output()
        .expect("its interpreter is installed");
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    println!("{}", said(&output.stdout));
    assert!(output.status.success(), "{script}: {}", said(&output.stderr));
    let whole = http_daemon.home.join("complete/tv/first/first");
    let content = content_of(http_daemon.post("first"));
    assert_eq!(fs::read(whole).expect("it was downloaded"), content);
    assert_eq!(end(http_daemon.daemon).code, Some(0), "it stops in good order");
}

/// A script with the interpreter and the packages that `setup` installed for it.
fn client(script: &str) -> Command {
    let installed = interop().join("../../target/interop");
    let mut command = match script.ends_with(".py") {
        true => Command::new(installed.join("python/bin/python")),
        false => Command::new("node"),
    };
    command.env("NODE_PATH", installed.join("node-clients/node_modules"));
    command.env("PYTHONDONTWRITEBYTECODE", "1");
    command.arg(interop().join("clients").join(script));
    command
}

fn download(name: &str, port: u16, keys: &str, nzb: &[u8], posted: &[(String, String)]) {
    let home = Home::new();
    let config = format!(
        "[[server]]\nname = \"{name}\"\nhost = \"127.0.0.1\"\nport = {port}\nconnections = 4\n{keys}\n"
    );
    let mut daemon = Daemon::start(&home, &config);
    home.drop_nzb(&format!("{name}.nzb"), nzb);
    let line = daemon.wait_complete(name);
    assert!(line.contains("verified=true"), "{line}");
    let found = home.inventory(Path::new("complete").join(name));
    let found: Vec<_> =
        found.into_iter().map(|(path, sum)| (path.display().to_string(), sum)).collect();
    assert_eq!(found, posted, "{name}");
    daemon.stop();
}

/// Files of these sizes, and their names and sums.
fn make_files(directory: &Path, sizes: &[usize]) -> Vec<(String, String)> {
    fs::create_dir(directory).expect("a directory");
    let make = |(index, &size): (usize, &usize)| {
        let name = format!("file{index}.bin");
        let seed = (index as u64 + 1) << 32;
        let content: Vec<u8> = (0..size as u64)
            .map(|n| ((seed + n).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8)
            .collect();
        fs::write(directory.join(&name), &content).expect("a file");
        (name, sha256(&content))
    };
    sizes.iter().enumerate().map(make).collect()
}

/// A server of another project, stopped by its script whatever becomes of the test.
struct Peer(&'static str);

impl Peer {
    fn start(script: &'static str, arguments: &[&str]) -> Self {
        run(script, arguments);
        Self(script)
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = Command::new(interop().join(self.0)).arg("stop").status();
    }
}

fn run(script: &str, arguments: &[&str]) {
    let output = Command::new(interop().join(script)).args(arguments).output().expect(script);
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{script}: {}{}", said(&output.stdout), said(&output.stderr));
}

fn interop() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("interop")
}

fn path(path: &Path) -> &str {
    path.to_str().expect("test paths are text")
}
