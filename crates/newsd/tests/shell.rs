//! The server on real sockets.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

use std::io::{self, ErrorKind};
use std::sync::Arc;

use bergamot_newsd::certs::{Authority, Quality};
use bergamot_newsd::{
    Fault, Faults, Generated, Login, Manners, Options, Posted, Rule, Security, Server,
};
use bergamot_types::{ByteCount, MessageId};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

fn connector(authority: &Authority) -> TlsConnector {
    let mut roots = RootCertStore::empty();
    roots.add(authority.der().clone()).unwrap();
    let provider = Arc::new(aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    Arc::new(config).into()
}

fn name(text: &'static str) -> ServerName<'static> {
    ServerName::try_from(text).unwrap()
}

/// Sends all commands at once and reads to the end.
async fn exchange(mut stream: impl AsyncRead + AsyncWrite + Unpin, commands: &str) -> Vec<u8> {
    stream.write_all(commands.as_bytes()).await.unwrap();
    stream.flush().await.unwrap();
    let mut answers = Vec::new();
    stream.read_to_end(&mut answers).await.unwrap();
    answers
}

async fn line(stream: &mut TcpStream) -> String {
    let mut text = Vec::new();
    while !text.ends_with(b"\r\n") {
        text.push(stream.read_u8().await.unwrap());
    }
    String::from_utf8(text).unwrap()
}

#[tokio::test]
async fn a_generated_post_comes_over_the_wire_and_the_server_stops() {
    let post = Generated::new(5, ByteCount(700_000)).file("a.bin", ByteCount(5_000_000));
    let commands: String =
        (1..=post.parts(0)).map(|part| format!("BODY <{}>\r\n", post.id(0, part))).collect();
    let server = Server::start(Options::new(post)).await.unwrap();
    let stream = TcpStream::connect(server.address()).await.unwrap();
    let answers = exchange(stream, &(commands + "QUIT\r\n")).await;
    assert!(answers.starts_with(b"200 newsd ready\r\n222 0 <0.1."));
    assert!(answers.ends_with(b"\r\n.\r\n205 Bye\r\n"));
    assert_eq!(server.tally().sent().0, answers.len() as u64);
    assert_eq!(server.tally().all_served(), 8);
    let idle = TcpStream::connect(server.address()).await.unwrap();
    let address = server.address();
    server.stop().await;
    assert!(TcpStream::connect(address).await.is_err());
    drop(idle);
}

#[tokio::test]
async fn a_refusal_is_read_even_by_a_reader_that_spoke_first() {
    let manners = Manners { connections: Some(0), ..Manners::default() };
    let options = Options { manners, ..Options::default() };
    let server = Server::start(options).await.unwrap();
    let stream = TcpStream::connect(server.address()).await.unwrap();
    let answers = exchange(stream, &"STAT <a@x>\r\n".repeat(1000)).await;
    assert_eq!(answers, b"502 Too many connections\r\n");
    server.stop().await;
}

#[tokio::test]
async fn each_certificate_is_accepted_or_refused_for_its_flaw() {
    let authority = Authority::new().unwrap();
    for quality in Quality::ALL {
        let config = authority.issue(quality).unwrap().server_config().unwrap();
        let options = Options { security: Security::Tls(config), ..Options::default() };
        let server = Server::start(options).await.unwrap();
        let stream = TcpStream::connect(server.address()).await.unwrap();
        let secured = connector(&authority).connect(name("127.0.0.1"), stream).await;
        let refusal = secured.map(drop).map_err(|error| error.to_string()).err();
        let expected = match quality {
            Quality::Good => None,
            Quality::AddressWithoutName | Quality::WrongHost => Some("not valid for name"),
            Quality::AuthorityAsServer => Some("CaUsedAsEndEntity"),
            Quality::Expired => Some("expired"),
            Quality::NotYetValid => Some("not valid yet"),
            Quality::SelfSigned => Some("UnknownIssuer"),
            Quality::UnknownAuthority => Some("BadSignature"),
        };
        match (&refusal, expected) {
            (None, None) => {}
            (Some(refusal), Some(expected)) if refusal.contains(expected) => {}
            _ => panic!("{quality:?}: {refusal:?}"),
        }
        server.stop().await;
    }
    assert!(authority.pem().starts_with("-----BEGIN CERTIFICATE-----"));
}

#[tokio::test]
async fn starttls_secures_the_login() {
    let authority = Authority::new().unwrap();
    let config = authority.issue(Quality::Good).unwrap().server_config().unwrap();
    let login = Login { needs_tls: true, ..Login::new("ann", "x") };
    let server = Server::start(Options {
        manners: Manners { login: Some(login), transcript: true, ..Manners::default() },
        security: Security::StartTls(config),
        ..Options::default()
    })
    .await
    .unwrap();
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    assert_eq!(line(&mut stream).await, "200 newsd ready\r\n");
    stream.write_all(b"STARTTLS\r\n").await.unwrap();
    assert_eq!(line(&mut stream).await, "382 Go on with TLS\r\n");
    let stream = connector(&authority).connect(name("localhost"), stream).await.unwrap();
    let commands = "AUTHINFO USER ann\r\nAUTHINFO PASS x\r\nQUIT\r\n";
    let answers = exchange(stream, commands).await;
    assert_eq!(answers, b"381 Password required\r\n281 Welcome\r\n205 Bye\r\n");
    assert_eq!(server.tally().handshakes().done, 1);
    assert_eq!(server.tally().transcript().len(), 4);
    server.stop().await;
}

/// A TLS server with one large article, `a@x`, and one fault; what a reader of it gets.
async fn read_under_tls(rule: impl Into<Rule>) -> (Server, io::Result<Vec<u8>>) {
    let authority = Authority::new().unwrap();
    let config = authority.issue(Quality::Good).unwrap().server_config().unwrap();
    let mut posted = Posted::new();
    posted.insert(&MessageId::parse("a@x").unwrap(), &[b'x'; 100_000]);
    let server = Server::start(Options {
        faults: Faults::seeded(1).with(rule),
        security: Security::Tls(config),
        ..Options::new(posted)
    })
    .await
    .unwrap();
    let mut received = Vec::new();
    let read = async {
        let stream = TcpStream::connect(server.address()).await?;
        let mut stream = connector(&authority).connect(name("localhost"), stream).await?;
        stream.write_all(b"BODY <a@x>\r\n").await?;
        stream.flush().await?;
        stream.read_to_end(&mut received).await
    };
    let end = read.await;
    (server, end.map(|_| received))
}

#[tokio::test]
async fn tls_is_cut_spoilt_and_garbled() {
    for (fault, end) in [
        (Fault::CutBody, ErrorKind::UnexpectedEof),
        (Fault::CutAfterBody, ErrorKind::UnexpectedEof),
        (Fault::RecordCorrupt, ErrorKind::InvalidData),
        (Fault::HandshakeGarbled, ErrorKind::InvalidData),
    ] {
        let (server, read) = read_under_tls(fault).await;
        assert_eq!(read.map_err(|error| error.kind()), Err(end), "{fault:?}");
        assert_eq!(server.tally().fired(fault), 1, "{fault:?}");
        server.stop().await;
    }
    let (server, read) = read_under_tls(Fault::HangUp).await;
    assert!(read.is_ok(), "closed in order: {read:?}");
    server.stop().await;
}

#[tokio::test]
async fn a_stalled_handshake_holds_until_the_server_stops() {
    let authority = Authority::new().unwrap();
    let config = authority.issue(Quality::Good).unwrap().server_config().unwrap();
    let server = Server::start(Options {
        faults: Faults::none().with(Fault::HandshakeStalled),
        security: Security::Tls(config),
        ..Options::default()
    })
    .await
    .unwrap();
    let stream = TcpStream::connect(server.address()).await.unwrap();
    let client = connector(&authority);
    let shaking = tokio::spawn(async move { client.connect(name("localhost"), stream).await });
    while server.tally().fired(Fault::HandshakeStalled) == 0 {
        tokio::task::yield_now().await;
    }
    assert!(!shaking.is_finished());
    server.stop().await;
    assert!(shaking.await.unwrap().is_err());
}
