//! What programs in use send, byte for byte where it matters, and the fields they read.
//!
//! A transcript has a request line and headers, then calls (`>`), each followed by what must hold of
//! its answer (`<`): a JSON pointer, or the name of a field in XML, and a kind or a value.
//! `{login}`, `{path}` and `{nzb}` stand for the credentials in a header, those in a URL, and an NZB;
//! `{job}` for the number that the last `append` gave.

use std::fs;

use bergamot_tests::{Answer, HttpDaemon};
use serde_json::Value;

/// It asks both every five seconds, and has four seconds for that.
const HOME_ASSISTANT: &str = "
    POST /xmlrpc
    Authorization: Basic {login}
    Content-Type: text/xml
    User-Agent: Python-xmlrpc/3.13

    > <?xml version='1.0'?><methodCall><methodName>version</methodName><params></params></methodCall>
    > <?xml version='1.0'?><methodCall><methodName>status</methodName><params></params></methodCall>
    < ArticleCacheMB int
    < AverageDownloadRate int
    < DownloadPaused bool
    < DownloadRate int
    < DownloadedSizeMB int
    < FreeDiskSpaceMB int
    < PostJobCount int
    < PostPaused bool
    < RemainingSizeMB int
    < UpTimeSec int
    < DownloadLimit int
    > <?xml version='1.0'?><methodCall><methodName>history</methodName><params><param><value><boolean>0</boolean></value></param></params></methodCall>
    < Name text
    < Category text
    < Status text
    > <?xml version='1.0'?><methodCall><methodName>pausedownload</methodName><params></params></methodCall>
    > <?xml version='1.0'?><methodCall><methodName>rate</methodName><params><param><value><int>1000</int></value></param></params></methodCall>
    > <?xml version='1.0'?><methodCall><methodName>status</methodName><params></params></methodCall>
    < DownloadPaused <boolean>1</boolean>
    < DownloadLimit <i4>1024000</i4>
    > <?xml version='1.0'?><methodCall><methodName>resumedownload</methodName></methodCall>
    > <?xml version='1.0'?><methodCall><methodName>rate</methodName><params><param><value><int>0</int></value></param></params></methodCall>
    > <?xml version='1.0'?><methodCall><methodName>status</methodName></methodCall>
    < DownloadPaused <boolean>0</boolean>
";

const HOMEPAGE: &str = r#"
    POST /jsonrpc
    Authorization: Basic {login}
    Content-Type: application/json

    > {"jsonrpc":"2.0","method":"status","params":null,"id":1}
    < /jsonrpc "2.0"
    < /id 1
    < /error absent
    < /result/DownloadRate int
    < /result/RemainingSizeMB int
    < /result/DownloadedSizeMB int
"#;

const LUNASEA: &str = r#"
    POST /{path}/jsonrpc
    Content-Type: text/plain; charset=utf-8

    > {"jsonrpc":"2.0","method":"version","params":[],"id":1}
    < /result text
    > {"jsonrpc":"2.0","method":"pausedownload","params":[],"id":1}
    < /result true
    > {"jsonrpc":"2.0","method":"append","params":["third.nzb","{nzb}","tv",0,false,false,"",0,"All",[]],"id":1}
    < /result int
    > {"jsonrpc":"2.0","method":"status","params":[],"id":1}
    < /result/UpTimeSec int
    < /result/FreeDiskSpaceLo half
    < /result/FreeDiskSpaceHi half
    < /result/PostPaused bool
    < /result/ScanPaused bool
    < /result/DownloadLimit int
    < /result/DownloadPaused true
    > {"jsonrpc":"2.0","method":"listgroups","params":[],"id":1}
    < /result/0/NZBID {job}
    < /result/0/NZBName "third"
    < /result/0/Status "QUEUED"
    < /result/0/RemainingSizeMB int
    < /result/0/DownloadedSizeMB int
    < /result/0/FileSizeMB int
    < /result/0/Category "tv"
    > {"jsonrpc":"2.0","method":"history","params":[false],"id":1}
    < /result/0/Name text
    < /result/0/Status text
    < /result/0/HistoryTime int
    < /result/0/FileSizeLo half
    < /result/0/FileSizeHi half
    < /result/0/DestDir text
    < /result/0/DownloadTimeSec int
    < /result/0/Health int
    > {"jsonrpc":"2.0","method":"log","params":[0,10],"id":1}
    < /result/0/Text text
    > {"jsonrpc":"2.0","method":"config","params":[],"id":1}
    < /result/0/Name text
    > {"jsonrpc":"2.0","method":"editqueue","params":["GroupPause","",[{job}]],"id":1}
    < /result true
    > {"jsonrpc":"2.0","method":"editqueue","params":["GroupResume","",[{job}]],"id":1}
    < /result true
    > {"jsonrpc":"2.0","method":"editqueue","params":["GroupMoveOffset","-1",[{job}]],"id":1}
    < /result true
    > {"jsonrpc":"2.0","method":"editqueue","params":["GroupSetName","renamed",[{job}]],"id":1}
    < /result true
    > {"jsonrpc":"2.0","method":"editqueue","params":["GroupSetPriority","100",[{job}]],"id":1}
    < /result true
    > {"jsonrpc":"2.0","method":"editqueue","params":["GroupApplyCategory","movies",[{job}]],"id":1}
    < /result true
    > {"jsonrpc":"2.0","method":"editqueue","params":["GroupSetParameter","*Unpack:Password=hush",[{job}]],"id":1}
    < /result true
    > {"jsonrpc":"2.0","method":"editqueue","params":["GroupSort","size+",[]],"id":1}
    < /result true
    > {"jsonrpc":"2.0","method":"listgroups","params":[],"id":1}
    < /result/0/NZBName "renamed"
    < /result/0/MaxPriority 100
    < /result/0/Category "Movies"
    > {"jsonrpc":"2.0","method":"rate","params":[500],"id":1}
    < /result true
    > {"jsonrpc":"2.0","method":"rate","params":[0],"id":1}
    < /result true
    > {"jsonrpc":"2.0","method":"scheduleresume","params":[3600],"id":1}
    < /result true
    > {"jsonrpc":"2.0","method":"status","params":[],"id":1}
    < /result/ResumeTime int
    > {"jsonrpc":"2.0","method":"editqueue","params":["GroupFinalDelete","",[{job}]],"id":1}
    < /result true
    > {"jsonrpc":"2.0","method":"listgroups","params":[],"id":1}
    < /result []
    > {"jsonrpc":"2.0","method":"resumedownload","params":[],"id":1}
    < /result true
"#;

const NZBHYDRA2: &str = r#"
    POST /jsonrpc
    Authorization: Basic {login}
    Content-Type: application/json-rpc
    Accept: application/json-rpc

    > {"id":"1234567","jsonrpc":"2.0","method":"writelog","params":["INFO","NZBHydra2 connection test"]}
    < /id "1234567"
    < /result true
    > {"id":"1234568","jsonrpc":"2.0","method":"config"}
    < /result/0/Value text
    > {"id":"1234569","jsonrpc":"2.0","method":"pausedownload"}
    < /result true
    > {"id":"1","jsonrpc":"2.0","method":"append","params":["third.nzb","{nzb}","tv",0,false,false,"",0,"SCORE",[]]}
    < /result int
    > {"id":"2","jsonrpc":"2.0","method":"status"}
    < /result/RemainingSizeMB int
    < /result/DownloadRate int
    < /result/DownloadPaused true
    < /result/ForcedSizeMB int
    > {"id":"3","jsonrpc":"2.0","method":"listgroups","params":[0]}
    < /result/0/Kind "NZB"
    < /result/0/Status text
    < /result/0/NZBName "third"
    < /result/0/NZBID {job}
    < /result/0/FileSizeMB int
    < /result/0/PausedSizeMB int
    < /result/0/RemainingSizeMB int
    > {"id":"4","jsonrpc":"2.0","method":"history","params":[true]}
    < /result/0/Kind "NZB"
    < /result/0/NZBID int
    < /result/0/NZBName text
    < /result/0/HistoryTime int
    < /result/0/Status text
    > {"id":"5","jsonrpc":"2.0","method":"editqueue","params":["GroupFinalDelete",0,"",[{job}]]}
    < /result true
    > {"id":"6","jsonrpc":"2.0","method":"resumedownload"}
    < /result true
"#;

/// It gives no id, and `{}` where it gives nothing.
const CHROME_ADD_ON: &str = r#"
    POST /jsonrpc
    Authorization: Basic {login}
    Content-Type: text/json

    > {"version":"1.1","method":"version","params":{}}
    < /version "1.1"
    < /id absent
    < /jsonrpc absent
    < /result text
    > {"version":"1.1","method":"status","params":{}}
    < /result/Download2Paused bool
    < /result/DownloadPaused bool
    > {"version":"1.1","method":"history","params":{}}
    < /result/0/Name text
    > {"version":"1.1","method":"postqueue","params":{}}
    < /result list
    > {"version":"1.1","method":"pausedownload","params":{}}
    < /result true
    > {"version":"1.1","method":"append","params":["third.nzb","tv",0,false,"{nzb}"]}
    < /result true
    > {"version":"1.1","method":"listgroups","params":{}}
    < /result/0/NZBID int
    < /result/0/NZBName "third"
"#;

/// It sends the command for one list with an id of the other.
const HOMARR: &str = r#"
    POST /{path}/jsonrpc
    Content-Type: text/plain;charset=UTF-8

    > {"method":"pausedownload","params":[]}
    < /result true
    > {"method":"append","params":["third.nzb","{nzb}","tv",0,false,false,"",0,"SCORE",[]]}
    < /result int
    > {"method":"listgroups","params":[]}
    < /result/0/Status "QUEUED"
    > {"method":"editqueue","params":["HistoryFinalDelete","",[{job}]]}
    < /result true
    > {"method":"listgroups","params":[]}
    < /result []
    > {"method":"history","params":[]}
    < /result/0/ScriptStatus text
    > {"method":"resumedownload","params":[]}
    < /result true
"#;

/// It asks with GET.
const EXPORTER: &str = "
    GET /jsonrpc/{call}
    Authorization: Basic {login}

    > version
    < /result text
    > status
    < /result/NewsServers/0/ID 1
    < /result/NewsServers/0/Active true
    > servervolumes
    < /result/0/ServerID 0
    < /result/1/ServerID 1
    > history
    < /result/0/Status text
    < /result/0/DupeScore int
    < /result/0/ExtraParBlocks int
    > config
    < /result/0/Name text
    > pausedownload
    < /error/code 4
    < /result absent
";

#[test]
fn every_program_is_understood_and_finds_its_fields() {
    let mut http_daemon = HttpDaemon::start();
    http_daemon
        .home
        .drop_nzb("tv/first.nzb", fs::read(http_daemon.home.join("first.nzb")).unwrap());
    http_daemon.daemon.wait_complete("first");
    for (client, transcript) in [
        ("Home Assistant", HOME_ASSISTANT),
        ("Homepage", HOMEPAGE),
        ("LunaSea", LUNASEA),
        ("NZBHydra2", NZBHYDRA2),
        ("Homarr", HOMARR),
        ("nzbget-exporter", EXPORTER),
        ("the add-on for Chrome", CHROME_ADD_ON),
    ] {
        play(&http_daemon, client, transcript);
    }
    http_daemon.daemon.stop();
}

fn play(http_daemon: &HttpDaemon, client: &str, transcript: &str) {
    let mut lines = transcript.lines().map(str::trim).skip(1);
    let start = lines.next().expect("a request line").to_owned();
    let headers: Vec<_> = lines.by_ref().take_while(|line| !line.is_empty()).collect();
    let headers: String = headers.iter().map(|line| format!("{line}\r\n")).collect();
    let mut job = String::new();
    let mut answer = None;
    for line in lines {
        let line = line.replace("{job}", &job);
        if let Some(call) = line.strip_prefix("> ") {
            let found = ask(http_daemon, &start, &headers, call);
            assert_eq!(found.status, 200, "{client}: {call}: {found:?}");
            job = number_of(&found, call).unwrap_or(job);
            answer = Some(found);
        } else if let Some(wanted) = line.strip_prefix("< ") {
            let body = &answer.as_ref().expect("a call comes first").body;
            assert!(holds(body, wanted), "{client} wants {wanted}, but there is {body}");
        }
    }
}

fn ask(http_daemon: &HttpDaemon, start: &str, headers: &str, call: &str) -> Answer {
    let encode = |text: &str| text.bytes().map(|byte| format!("%{byte:02X}")).collect::<String>();
    let path = format!("{}:{}", HttpDaemon::USER, encode(HttpDaemon::PASSWORD));
    let start = start.replace("{path}", &path).replace("{call}", call);
    let headers = headers.replace("{login}", &HttpDaemon::login());
    let body = match start.starts_with("GET") {
        true => String::new(),
        false => call.replace("{nzb}", &http_daemon.nzb("third")),
    };
    http_daemon.http(&start, &headers, &body)
}

/// What `append` gave.
fn number_of(answer: &Answer, call: &str) -> Option<String> {
    let json: Value = serde_json::from_str(&answer.body).ok()?;
    let number = json["result"].as_u64().filter(|_| call.contains("\"append\""))?;
    Some(number.to_string())
}

fn holds(body: &str, wanted: &str) -> bool {
    let (field, kind) = wanted.split_once(' ').expect("a field and a kind");
    if body.starts_with('<') {
        return holds_in_xml(body, field, kind);
    }
    let json: Value = serde_json::from_str(body).expect("JSON");
    let value = json.pointer(field);
    let integer = value.and_then(Value::as_i64);
    match kind {
        "absent" => value.is_none(),
        "bool" => value.is_some_and(Value::is_boolean),
        "half" => integer.is_some_and(|number| u32::try_from(number).is_ok()),
        "int" => integer.is_some_and(|number| i32::try_from(number).is_ok()),
        "list" => value.is_some_and(Value::is_array),
        "text" => value.is_some_and(Value::is_string),
        literal => {
            let literal: Value = serde_json::from_str(literal).expect("a kind or a value");
            value == Some(&literal)
        }
    }
}

fn holds_in_xml(body: &str, field: &str, kind: &str) -> bool {
    let value = match kind {
        "bool" => "<boolean>",
        "int" => "<i4>",
        "text" => "<string>",
        literal => literal,
    };
    body.contains(&format!("<name>{field}</name><value>{value}"))
}
