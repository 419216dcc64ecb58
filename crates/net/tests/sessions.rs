//! Errands against a news server on the loopback.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

use std::sync::Arc;

use bergamot_net::{
    ConnectLimits, Encryption, IpVersion, Recall, Server, ServerSettings, Session, SessionError,
    TlsSettings,
};
use bergamot_newsd::{Header, Login, Manners, Newsgroups, Options, Posted};
use bergamot_nntp::Wildmat;
use bergamot_types::{ArticleRange, ByteCount, GroupName, MessageId, Secret};
use flate2::{Compress, Compression, FlushCompress};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

const GROUP: &str = "alt.binaries.test";

fn header(number: u64) -> Header {
    Header {
        subject: format!("post {number}"),
        from: "ann <ann@x>".into(),
        date: "Thu, 01 Jan 2026 00:00:00 GMT".into(),
        id: format!("{number}@x"),
        bytes: 1000,
    }
}

fn manners(count: u64) -> Manners {
    let newsgroups = Newsgroups::default();
    newsgroups.open("alt.empty", 0);
    for number in 1..=count {
        newsgroups.post(GROUP, header(number));
    }
    Manners { newsgroups: Arc::new(newsgroups), transcript: true, ..Manners::default() }
}

async fn news(manners: Manners) -> bergamot_newsd::Server {
    let mut posted = Posted::new();
    posted.insert(&id("here@x"), b"body");
    let options = Options { manners, ..Options::new(posted) };
    bergamot_newsd::Server::start(options).await.unwrap()
}

fn server(news: &bergamot_newsd::Server, login: Option<(&str, &str)>) -> Arc<Server> {
    Arc::new(Server::new(settings(news.address().port(), login)).unwrap())
}

fn settings(port: u16, login: Option<(&str, &str)>) -> ServerSettings {
    let login = login
        .map(|(name, password)| bergamot_nntp::Login::new(name, Secret::new(password)).unwrap());
    let conversation = bergamot_nntp::Settings { login, ..bergamot_nntp::Settings::default() };
    ServerSettings {
        name: "news".into(),
        host: "127.0.0.1".into(),
        port,
        encryption: Encryption::None,
        tls: TlsSettings::default(),
        ip_version: IpVersion::Auto,
        join_group: false,
        limits: ConnectLimits::default(),
        conversation,
    }
}

fn id(text: &str) -> MessageId {
    MessageId::parse(text).unwrap()
}

fn group(name: &str) -> GroupName {
    GroupName::parse(name).unwrap()
}

async fn open(news: &bergamot_newsd::Server) -> Session {
    Session::open(server(news, None), true, Recall::default()).await.unwrap()
}

async fn overviews(errand: &mut Session, first: u64, last: u64) -> Vec<String> {
    let mut lines = Vec::new();
    let each = |line: &[u8]| lines.push(String::from_utf8_lossy(line).into_owned());
    errand.over(ArticleRange { first, last }, each).await.unwrap();
    lines
}

#[tokio::test]
async fn headers_are_read_compressed_plain_and_in_the_old_words() {
    for (compress, only_xover) in [(false, false), (true, false), (false, true), (true, true)] {
        let news = news(Manners { compress, only_xover, ..manners(1200) }).await;
        let mut errand = open(&news).await;
        let numbers = errand.group(&group(GROUP)).await.unwrap().unwrap();
        assert_eq!((numbers.count, numbers.range.to_string()), (1200, "1-1200".to_owned()));
        let lines = overviews(&mut errand, 101, 1200).await;
        assert_eq!(lines.len(), 1100);
        assert!(lines[0].starts_with("101\tpost 101\tann <ann@x>\t"), "{}", lines[0]);
        assert_eq!(overviews(&mut errand, 1201, 1300).await, [""; 0]);
        let word = if only_xover { "XOVER" } else { "OVER" };
        assert_eq!(news.tally().commands(word), 4, "three pieces, and nothing");
        assert_eq!(news.tally().commands("COMPRESS"), u64::from(compress));
        let sent = news.tally().sent().0; // before it is compressed
        assert_eq!(errand.received() < sent / 4, compress, "{} of {sent}", errand.received());
        errand.close().await;
        assert_eq!(news.tally().commands("QUIT"), 1);
    }
}

#[tokio::test]
async fn groups_are_listed_and_unknown_ones_are_none() {
    let news = news(manners(3)).await;
    let mut errand = open(&news).await;
    let mut lines = Vec::new();
    let pattern = Wildmat::parse("*.binaries.*").unwrap();
    let each = |line: &[u8]| lines.push(String::from_utf8_lossy(line).into_owned());
    errand.list_active(Some(pattern), each).await.unwrap();
    assert_eq!(lines, ["alt.binaries.test 3 1 y"]);
    let mut count = 0;
    errand.list_newsgroups(None, |_| count += 1).await.unwrap();
    assert_eq!(count, 2);
    let empty = errand.group(&group("alt.empty")).await.unwrap().unwrap();
    assert!(empty.range.is_empty());
    let limited = Manners { groups: vec!["a".into()], ..manners(0) };
    let news = crate::news(limited).await;
    let mut errand = open(&news).await;
    assert_eq!(errand.group(&group("no.such")).await.unwrap(), None);
}

#[tokio::test]
async fn a_recall_is_heard_before_the_next_command() {
    let news = news(manners(10)).await;
    let recall = Recall::default();
    let mut errand = Session::open(server(&news, None), false, recall.clone()).await.unwrap();
    errand.group(&group(GROUP)).await.unwrap();
    recall.recall();
    let result = errand.list_active(None, |_| {}).await;
    assert!(matches!(result, Err(SessionError::Recalled)), "{result:?}");
    errand.close().await;
    assert_eq!((news.tally().commands("LIST"), news.tally().commands("QUIT")), (0, 1));
    let result = Session::open(server(&news, None), false, recall).await;
    assert!(matches!(result, Err(SessionError::Recalled)));
    assert_eq!(news.tally().connections().accepted, 1);
}

#[tokio::test]
async fn a_long_list_is_left_at_its_next_piece() {
    let news = news(manners(1500)).await;
    let recall = Recall::default();
    let mut errand = Session::open(server(&news, None), true, recall.clone()).await.unwrap();
    errand.group(&group(GROUP)).await.unwrap();
    let mut count = 0;
    let each = |_: &[u8]| {
        count += 1;
        recall.recall();
    };
    let result = errand.over(ArticleRange { first: 1, last: 1500 }, each).await;
    assert!(matches!(result, Err(SessionError::Recalled)));
    assert_eq!(count, 500, "what was under way came to its end");
}

#[tokio::test]
async fn a_login_comes_before_the_capabilities() {
    let login = Some(Login::new("ann", "secret"));
    let news = news(Manners { login, compress: true, ..manners(1) }).await;
    let good = server(&news, Some(("ann", "secret")));
    let errand = Session::open(good, true, Recall::default()).await.unwrap();
    errand.close().await;
    let commands: Vec<_> = news.tally().transcript();
    let verbs: Vec<_> = commands.iter().filter_map(|line| line.split(' ').nth(1)).collect();
    assert_eq!(verbs, ["AUTHINFO", "AUTHINFO", "CAPABILITIES", "COMPRESS", "QUIT"], "{commands:?}");
    let bad = server(&news, Some(("ann", "wrong")));
    let error = Session::open(bad, true, Recall::default()).await.unwrap_err();
    assert!(matches!(error, SessionError::Ended(ended) if ended.code() == "nntp.login"));
}

/// A server that offers compression, and answers the first command behind it with these bytes.
async fn compressing(answer: Vec<u8>) -> Arc<Server> {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut heard = [0; 512];
        for said in ["200 hi\r\n", "101 list\r\nCOMPRESS DEFLATE\r\n.\r\n", "206 go\r\n"] {
            stream.write_all(said.as_bytes()).await.unwrap();
            assert!(stream.read(&mut heard).await.unwrap() > 0);
        }
        // Who has heard enough hangs up.
        let _ = stream.write_all(&answer).await;
    });
    let mut settings = settings(port, None);
    settings.conversation.limits.listing = ByteCount(1 << 20);
    Arc::new(Server::new(settings).unwrap())
}

fn deflated(text: &[u8]) -> Vec<u8> {
    let mut wire = Vec::with_capacity(text.len() / 8 + 1024);
    let mut deflate = Compress::new(Compression::best(), false);
    deflate.compress_vec(text, &mut wire, FlushCompress::Sync).unwrap();
    wire
}

#[tokio::test]
async fn bombs_garbage_and_half_streams_end_the_conversation() {
    let bomb = [b"215 l\r\n".to_vec(), b"x 1 1 y\r\n".repeat(1 << 20)].concat();
    let endless_line = [b"215 l\r\n".to_vec(), vec![b'x'; 8 << 20]].concat();
    let endless_status = vec![b'2'; 8 << 20];
    let half = deflated(b"215 list\r\na.b 1 1 y\r\n.\r\n");
    let half = half[..half.len() / 2].to_vec();
    for (answer, code) in [
        (deflated(&bomb), "nntp.list_too_long"),
        (deflated(&endless_line), "nntp.list_too_long"),
        (deflated(&endless_status), "nntp.line_too_long"),
        (vec![0xff; 100], "net.broken"),
        (half, "nntp.closed"),
    ] {
        let server = compressing(answer).await;
        let mut errand = Session::open(server, true, Recall::default()).await.unwrap();
        let (mut lines, mut longest) = (0, 0);
        let each = |line: &[u8]| {
            lines += 1;
            longest = longest.max(line.len());
        };
        match errand.list_active(None, each).await {
            Err(SessionError::Ended(ended)) => assert_eq!(ended.code(), code, "{ended}"),
            other => panic!("{code}: {other:?}"),
        }
        // The limit is seen behind the piece that goes beyond it.
        let most = ((1 << 20) + (8 << 10)) / 9;
        assert!(lines <= most && longest <= 9, "{code}: {lines} lines of {longest}");
    }
}
