//! [`HttpDaemon`]: a running daemon with an HTTP port, a password and three posts ready to be downloaded.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bergamot_newsd::{Articles, Generated};
use serde_json::Value;

use crate::daemon::{Daemon, PATIENCE};
use crate::faulty_server_test::post;
use crate::home::Home;
use crate::news::News;
use crate::nzb::{file, nzb};

/// Use it for tests of clients and dialects over HTTP: NZBGet's and SABnzbd's interfaces, Sonarr, events and metrics.
///
/// It has one server with the articles of [`HttpDaemon::JOBS`]. Their NZBs are in its home, and with them
/// `missing.nzb`, none of whose articles exist.
#[derive(Debug)]
pub struct HttpDaemon {
    pub home: Home,
    pub news: News,
    pub daemon: Daemon,
    pub address: SocketAddr,
    posts: Vec<Arc<Generated>>,
}

/// An HTTP response.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl HttpDaemon {
    pub const JOBS: [&str; 3] = ["first", "second", "third"];
    pub const USER: &str = "ann";
    /// Clients write it into headers and URLs, and each in its own way.
    pub const PASSWORD: &str = "tängerine & lime";
    /// For clients of SABnzbd.
    pub const API_KEY: &str = "0123456789abcdef";

    /// # Panics
    /// When it does not start.
    pub fn start() -> Self {
        let home = Home::in_memory();
        let seeded = Self::JOBS.iter().zip(1..);
        let posts: Vec<_> = seeded.map(|(name, seed)| post(seed, name, 5)).collect();
        let missing = nzb(&file("\"gone.bin\" yEnc (1/2)", &["gone.1@x", "gone.2@x"]));
        fs::write(home.join("missing.nzb"), missing).expect("there is room");
        for (name, post) in Self::JOBS.iter().zip(&posts) {
            fs::write(home.join(format!("{name}.nzb")), post.nzb()).expect("there is room");
        }
        let articles: Vec<Arc<dyn Articles>> = posts.iter().map(|post| post.clone() as _).collect();
        let news = News::plain(Arc::new(articles));
        let config = format!(
            "{}\n[control]\nsocket = \"control.sock\"\nport = 0\nusername = \"{}\"\n\
             password = \"{}\"\napi_key = \"{}\"\n[urls]\nprivate_hosts = [\"127.0.0.1\"]\n",
            news.section(0, ""),
            Self::USER,
            Self::PASSWORD,
            Self::API_KEY,
        );
        let mut daemon = Daemon::start(&home, &config);
        let address = daemon.http();
        Self { home, news, daemon, address, posts }
    }

    /// The post of one of the jobs.
    ///
    /// # Panics
    /// When there is none of that name.
    pub fn post(&self, name: &str) -> &Generated {
        let at = Self::JOBS.iter().position(|job| *job == name).expect("one of the jobs");
        &self.posts[at]
    }

    /// The NZB of one of the jobs, as `append` wants it.
    ///
    /// # Panics
    /// When there is none of that name.
    pub fn nzb(&self, name: &str) -> String {
        STANDARD.encode(fs::read(self.home.join(format!("{name}.nzb"))).expect("one of the jobs"))
    }

    /// What stands behind `Authorization: Basic`.
    pub fn login() -> String {
        STANDARD.encode(format!("{}:{}", Self::USER, Self::PASSWORD))
    }

    /// Posts JSON and gives what is answered.
    ///
    /// # Panics
    /// When that is no JSON.
    pub fn call_json(&self, request: &str) -> Value {
        let headers = format!("Authorization: Basic {}\r\n", Self::login());
        let answer = self.http("POST /jsonrpc", &headers, request);
        serde_json::from_str(&answer.body).unwrap_or_else(|error| panic!("{error}: {answer:?}"))
    }

    /// Sends a request with these headers, each ended by a line end.
    ///
    /// # Panics
    /// When what comes is no answer of HTTP.
    pub fn http(&self, start: &str, headers: &str, body: &str) -> Answer {
        http(self.address, start, headers, body)
    }
}

/// Sends one HTTP request, with the start line and the headers as given.
///
/// # Panics
/// When there is no answer.
pub fn http(address: SocketAddr, start: &str, headers: &str, body: &str) -> Answer {
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("it can be set");
    let length = body.len();
    let request = format!(
        "{start} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{headers}Content-Length: \
         {length}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).expect("it is taken");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
    let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).expect("a status");
    Answer { status, head: head.to_owned(), body: body.to_owned() }
}
