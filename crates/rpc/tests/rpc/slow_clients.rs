//! Clients that take their time. Where the clock is paused it jumps ahead when all wait; such tests use a
//! Unix socket, since the kernel may deliver over TCP a moment later.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::daemon::{StandIn, status_of, three_users};
use bergamot_rpc::{Hub, Server, Settings};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream, UnixStream};
use tokio::time::Instant;

async fn start() -> Server {
    start_with(Settings::default()).await
}

async fn start_with(settings: Settings) -> Server {
    let listen = vec![SocketAddr::from(([127, 0, 0, 1], 0))];
    let settings = Settings { listen, ..settings };
    let control = Arc::new(StandIn::default());
    Server::start(settings, control, Hub::new("b")).await.expect("it can listen")
}

/// A server on a Unix socket, and a connection to it. What is written there is in the queue of the other
/// end when the call returns, so a clock that jumps when all wait never jumps over bytes on their way.
struct OnSocket {
    server: Server,
    stream: UnixStream,
    _directory: tempfile::TempDir,
}

impl OnSocket {
    async fn start() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("s");
        let socket = Some(path.clone());
        let settings = Settings { socket, listen: Vec::new(), ..Settings::default() };
        let control = Arc::new(StandIn::default());
        let server = Server::start(settings, control, Hub::new("b")).await.expect("it can listen");
        let stream = UnixStream::connect(path).await.expect("it listens");
        Self { server, stream, _directory: directory }
    }
}

/// How long the server waits for a client that says this and then nothing.
async fn patience(said: &str) -> Duration {
    let OnSocket { server: _server, mut stream, .. } = OnSocket::start().await;
    stream.write_all(said.as_bytes()).await.expect("it is taken");
    let began = Instant::now();
    let _ = stream.read_to_end(&mut Vec::new()).await;
    began.elapsed()
}

#[tokio::test(start_paused = true)]
async fn half_a_head_is_waited_for_ten_seconds() {
    for said in ["", "G", "GET /healthz HTTP/1.1\r\nHost: localhost\r\n"] {
        let waited = patience(said).await.as_secs();
        assert!((9..=60).contains(&waited), "{said:?}: {waited} s");
    }
    assert!(patience("GET /healthz HTTP/1.1\r\nHost:").await.as_secs() <= 11);
}

#[tokio::test(start_paused = true)]
async fn half_a_body_is_waited_for_half_a_minute() {
    let said = "POST /jsonrpc HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{";
    let waited = patience(said).await.as_secs();
    assert!((29..=31).contains(&waited), "{waited} s");
}

#[tokio::test(start_paused = true)]
async fn a_body_that_comes_byte_by_byte_is_given_up() {
    let OnSocket { server: _server, stream, .. } = OnSocket::start().await;
    let (mut reader, mut writer) = stream.into_split();
    let head = "POST /jsonrpc HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n";
    writer.write_all(head.as_bytes()).await.expect("it is taken");
    let drip = tokio::spawn(async move {
        while writer.write_all(b" ").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    });
    let (began, mut answer) = (Instant::now(), Vec::new());
    let _ = reader.read_to_end(&mut answer).await;
    drip.abort();
    let answer = String::from_utf8_lossy(&answer).into_owned();
    assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
    assert!(began.elapsed().as_secs() <= 31, "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_large_body_over_a_slow_link_is_read_to_its_end() {
    let OnSocket { server: _server, mut stream, .. } = OnSocket::start().await;
    let body = format!(r#"{{"method":"version","params":[]{}}}"#, " ".repeat(1 << 20));
    let head = format!(
        "POST /jsonrpc HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await.expect("it is taken");
    for piece in body.as_bytes().chunks(16 << 10) {
        stream.write_all(piece).await.expect("it is taken");
        tokio::time::sleep(Duration::from_secs(10)).await;
    }
    let mut status = [0; 15];
    stream.read_exact(&mut status).await.expect("it answers");
    assert_eq!(&status, b"HTTP/1.1 200 OK");
}

/// A connection whose body the server waits for: it has said that it wants the rest.
async fn half_sent(address: SocketAddr, source: [u8; 4], path: &str) -> TcpStream {
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.bind((source, 0).into()).expect("all of 127.0.0.0/8 is this machine");
    let mut stream = socket.connect(address).await.expect("the kernel takes it");
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\nExpect: 100-continue\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.expect("it is taken");
    let mut status = [0; 12];
    stream.read_exact(&mut status).await.expect("it wants the body");
    assert_eq!(&status, b"HTTP/1.1 100");
    stream
}

/// What a new connection is answered, empty if it is closed.
async fn asked(address: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(address).await.expect("the kernel takes it");
    let _ = stream.write_all(request.as_bytes()).await;
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    String::from_utf8_lossy(&answer).into_owned()
}

const HEALTH: &str = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
const STATUS: &str = "GET /jsonrpc/status HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Basic Y29udHJvbDpjb250cm9s\r\n\r\n";

#[tokio::test]
async fn half_sent_bodies_without_a_login_shut_nobody_out() {
    let server = start_with(three_users()).await;
    let address = server.addresses()[0];
    let mut held = Vec::new();
    for source in 1..=4 {
        for _ in 0..40 {
            held.push(half_sent(address, [127, 0, 0, source], "/api?mode=addfile").await);
        }
    }
    for request in [HEALTH, STATUS] {
        let answer = asked(address, request).await;
        assert!(answer.starts_with("HTTP/1.1 200 OK"), "{request}: {answer:?}");
    }
}

#[tokio::test]
async fn half_sent_bodies_shut_nobody_out_where_no_password_is_set() {
    let server = start().await;
    let address = server.addresses()[0];
    let mut held = Vec::new();
    for _ in 0..160 {
        held.push(half_sent(address, [127, 0, 0, 1], "/jsonrpc").await);
    }
    for request in [HEALTH, STATUS] {
        let answer = asked(address, request).await;
        assert!(answer.starts_with("HTTP/1.1 200 OK"), "{request}: {answer:?}");
    }
}

#[tokio::test]
async fn a_client_with_a_login_keeps_its_connection_whatever_others_do() {
    let server = start_with(three_users()).await;
    let address = server.addresses()[0];
    let mut known = TcpStream::connect(address).await.expect("it listens");
    let request = STATUS.replace("Connection: close\r\n", "");
    let mut buffer = vec![0; 1 << 16];
    known.write_all(request.as_bytes()).await.expect("it is taken");
    assert_ne!(known.read(&mut buffer).await.expect("it answers"), 0);
    let mut held = Vec::new();
    for source in 1..=8 {
        for _ in 0..40 {
            held.push(half_sent(address, [127, 0, 1, source], "/api?mode=addfile").await);
        }
    }
    while known.try_read(&mut buffer).is_ok_and(|length| length > 0) {}
    known.write_all(request.as_bytes()).await.expect("it is open");
    let length = known.read(&mut buffer).await.expect("it answers");
    assert!(buffer[..length].starts_with(b"HTTP/1.1 200 OK"));
}

#[tokio::test(start_paused = true)]
async fn a_stop_waits_for_nobody_who_only_watches() {
    let OnSocket { server, mut stream, _directory } = OnSocket::start().await;
    let request = "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n";
    stream.write_all(request.as_bytes()).await.expect("it is taken");
    let mut head = [0; 15];
    stream.read_exact(&mut head).await.expect("it answers");
    assert_eq!(&head, b"HTTP/1.1 200 OK");
    let began = Instant::now();
    server.stop().await;
    assert!(began.elapsed() < Duration::from_millis(500));
    stream.read_to_end(&mut Vec::new()).await.expect("it ends in good order");
}

#[tokio::test]
async fn however_many_dawdle_others_get_through() {
    let server = start().await;
    let address = server.addresses()[0];
    let mut dawdlers = Vec::new();
    for _ in 0..300 {
        let mut stream = TcpStream::connect(address).await.expect("it listens");
        stream.write_all(b"GET /healthz HTTP/1.1\r\nHo").await.expect("it is taken");
        dawdlers.push(stream);
    }
    let mut stream = TcpStream::connect(address).await.expect("it listens");
    let request = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).await.expect("it is taken");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("it answers");
    assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
    let ended = dawdlers[0].read(&mut [0; 1]).await;
    assert!(!matches!(ended, Ok(1..)), "the first of them had to leave");
}

/// The status of an answer, which comes no sooner than after this time. In real time and without an upper
/// bound: how long each wait is, to the second, is tested beside `Brake`.
async fn answered_after(seconds: u64, address: SocketAddr, request: &str) -> u16 {
    let began = Instant::now();
    let status = status_of(&asked(address, request).await);
    assert!(began.elapsed() >= Duration::from_secs(seconds), "{:?}", began.elapsed());
    status
}

#[tokio::test]
async fn guesses_wait_and_right_credentials_do_so_once() {
    let server = start_with(three_users()).await;
    let address = server.addresses()[0];
    let wrong = STATUS.replace("Y29udHJvbDpjb250cm9s", "Y29udHJvbDp3cm9uZw==");
    for wait in [0, 0, 0, 0, 0, 1] {
        assert_eq!(answered_after(wait, address, &wrong).await, 401);
    }
    // Whether a guess is right is told no sooner than whether it is wrong.
    assert_eq!(answered_after(2, address, STATUS).await, 200);
    // From now on it is answered before a guess that came earlier.
    let mut guess = std::pin::pin!(asked(address, &wrong));
    tokio::select! {
        biased;
        answer = &mut guess => panic!("a guess did not wait: {answer}"),
        answer = async { [asked(address, STATUS).await, asked(address, HEALTH).await] } => {
            assert_eq!(answer.map(|answer| status_of(&answer)), [200, 200]);
        }
    }
    assert_eq!(status_of(&guess.await), 401);
}

#[tokio::test]
async fn keys_that_are_guessed_wait_in_every_place_they_can_stand_in() {
    let server = start_with(three_users()).await;
    let address = server.addresses()[0];
    let end = "HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n";
    let in_query = format!("GET /api?mode=queue&apikey=wrong {end}\r\n");
    for _ in 0..5 {
        assert_eq!(answered_after(0, address, &in_query).await, 200);
    }
    let asking = format!("GET /api?mode=auth&key=wrong {end}\r\n");
    let in_form = format!("POST /api {end}Content-Length: 23\r\n\r\nmode=queue&apikey=wrong");
    for (request, wait) in [(&in_query, 1), (&asking, 2), (&in_form, 4)] {
        assert_eq!(answered_after(wait, address, request).await, 200, "{request}");
    }
}

/// In real time: 23 guessers send their next login as soon as the last is answered.
#[tokio::test]
async fn guesses_without_a_pause_do_not_keep_a_first_login_out() {
    let server = start_with(three_users()).await;
    let address = server.addresses()[0];
    let wrong = STATUS.replace("Y29udHJvbDpjb250cm9s", "Y29udHJvbDp3cm9uZw==");
    for _ in 0..6 {
        assert_eq!(status_of(&asked(address, &wrong).await), 401);
    }
    let mut guessers = tokio::task::JoinSet::new();
    for _ in 0..23 {
        let wrong = wrong.clone();
        guessers.spawn(async move {
            loop {
                asked(address, &wrong).await;
            }
        });
    }
    tokio::time::sleep(Duration::from_secs(1)).await; // most of them wait by now
    assert_eq!(status_of(&asked(address, STATUS).await), 200);
}
