//! Clients that take their time. It is virtual: where all wait, the clock jumps ahead.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::daemon::StandIn;
use bergamot_rpc::{Hub, Server, Settings};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::Instant;

async fn start() -> Server {
    let listen = vec![SocketAddr::from(([127, 0, 0, 1], 0))];
    let settings = Settings { listen, ..Settings::default() };
    let control = Arc::new(StandIn::default());
    Server::start(settings, control, Hub::new("b")).await.expect("it can listen")
}

/// How long the server bears with somebody who says this and then nothing.
async fn patience(said: &str) -> Duration {
    let server = start().await;
    let mut stream = TcpStream::connect(server.addresses()[0]).await.expect("it listens");
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
async fn half_a_body_is_waited_for_a_minute() {
    let said = "POST /jsonrpc HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{";
    let waited = patience(said).await.as_secs();
    assert!((59..=61).contains(&waited), "{waited} s");
}

#[tokio::test(start_paused = true)]
async fn a_stop_waits_for_nobody_who_only_watches() {
    let server = start().await;
    let mut stream = TcpStream::connect(server.addresses()[0]).await.expect("it listens");
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
