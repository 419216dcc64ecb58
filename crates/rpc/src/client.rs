//! [`Client`]: a blocking client of the control socket or of HTTP, for the command line.
//!
//! It owns its connection and runs on the calling thread. Over the Unix socket it exchanges lines of JSON, over TCP it
//! sends one HTTP request per call.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bergamot_types::Secret;
use serde_json::{Value, json};
use thiserror::Error;

use crate::event_hub::Position;

/// A daemon that can be asked.
#[derive(Debug)]
pub struct Client {
    way: Way,
    next_id: u64,
}

#[derive(Debug)]
enum Way {
    Socket { path: PathBuf, stream: BufReader<UnixStream> },
    Http { host: String, login: Option<(String, Secret)> },
}

/// Events, as they come; ends when the daemon does.
#[derive(Debug)]
pub struct Events(EventLines);

#[derive(Debug)]
enum EventLines {
    Socket(Box<Client>),
    Http(BufReader<TcpStream>),
}

/// The response of `/readyz`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Ready {
    pub is_ready: bool,
    /// In a few words.
    pub text: String,
}

/// Why there is no answer.
#[derive(Debug, Error)]
pub enum ClientError {
    #[error("cannot connect to the daemon at {at}: {source}")]
    Unreachable { at: String, source: io::Error },
    #[error("the connection to the daemon failed: {0}")]
    Broken(#[from] io::Error),
    #[error("the daemon refused the login; check user name and password")]
    LoginRefused,
    /// The daemon's error; `code` is stable, for programs.
    #[error("{message}")]
    Refused { code: String, number: i64, message: String, data: Value },
    #[error("HTTP status {}", status_text(*.0))]
    Status(u16),
    #[error("the daemon's response is not valid")]
    NotUnderstood,
}

/// The status, with a hint where the user can act on it.
fn status_text(status: u16) -> String {
    match status {
        429 => "429: too many wrong logins before this one; try again in a minute".to_owned(),
        other => other.to_string(),
    }
}

impl Client {
    pub fn connect_socket(path: &Path) -> Result<Self, ClientError> {
        let unreachable =
            |source| ClientError::Unreachable { at: path.display().to_string(), source };
        let stream = BufReader::new(UnixStream::connect(path).map_err(unreachable)?);
        Ok(Self { way: Way::Socket { path: path.to_owned(), stream }, next_id: 1 })
    }

    /// `host` is a name or an address with its port. Nothing is sent yet.
    pub fn over_tcp(host: impl Into<String>, login: Option<(String, Secret)>) -> Self {
        Self { way: Way::Http { host: host.into(), login }, next_id: 1 }
    }

    /// Asks and waits. `params` is an object for native methods, a list for NZBGet's, or null.
    pub fn call(&mut self, method: &str, params: Value) -> Result<Value, ClientError> {
        let id = self.next_id;
        self.next_id += 1;
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let answer = match &mut self.way {
            Way::Socket { stream, .. } => ask_by_line(stream, &request)?,
            Way::Http { host, login } => ask_by_http(host, login.as_ref(), &request)?,
        };
        result_of(answer)
    }

    /// Whether it can do its work. No login is sent, for none is wanted.
    pub fn readiness(&mut self) -> Result<Ready, ClientError> {
        match &self.way {
            Way::Socket { path, .. } => {
                let unreachable =
                    |source| ClientError::Unreachable { at: path.display().to_string(), source };
                ask_if_ready(UnixStream::connect(path).map_err(unreachable)?, "localhost")
            }
            Way::Http { host, .. } => {
                let unreachable =
                    |source| ClientError::Unreachable { at: format!("tcp://{host}"), source };
                ask_if_ready(TcpStream::connect(host).map_err(unreachable)?, host)
            }
        }
    }

    /// From now on, or from after `since` on.
    pub fn subscribe(mut self, since: Option<Position>) -> Result<Events, ClientError> {
        if let Way::Http { host, login } = &self.way {
            let stream = open_events(host, login.as_ref(), since.as_ref())?;
            return Ok(Events(EventLines::Http(stream)));
        }
        let params = since.map_or(json!({}), |since| json!({ "since": since }));
        self.call("events.subscribe", params)?;
        Ok(Events(EventLines::Socket(Box::new(self))))
    }

    /// The address of the daemon, for messages.
    pub fn place(&self) -> String {
        match &self.way {
            Way::Socket { path, .. } => path.display().to_string(),
            Way::Http { host, .. } => format!("tcp://{host}"),
        }
    }
}

impl Iterator for Events {
    type Item = Result<Value, ClientError>;

    /// The `boot`, the `sequence`, and the `event` or the `gap`.
    fn next(&mut self) -> Option<Self::Item> {
        let text = match &mut self.0 {
            EventLines::Socket(client) => match &mut client.way {
                Way::Socket { stream, .. } => read_line(stream),
                Way::Http { .. } => return None,
            },
            EventLines::Http(stream) => read_event(stream),
        };
        match text {
            Err(error) => Some(Err(error.into())),
            Ok(None) => None,
            Ok(Some(text)) => Some(match serde_json::from_str::<Value>(&text) {
                Ok(mut value) => Ok(value.get_mut("params").map(Value::take).unwrap_or(value)),
                Err(_) => Err(ClientError::NotUnderstood),
            }),
        }
    }
}

fn ask_by_line(stream: &mut BufReader<UnixStream>, request: &Value) -> Result<Value, ClientError> {
    let mut line = request.to_string();
    line.push('\n');
    stream.get_mut().write_all(line.as_bytes())?;
    let answer = read_line(stream)?.ok_or(io::Error::from(io::ErrorKind::UnexpectedEof))?;
    serde_json::from_str(&answer).map_err(|_| ClientError::NotUnderstood)
}

fn read_line(stream: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut line = String::new();
    let length = stream.take(LONGEST_ANSWER).read_line(&mut line)?;
    Ok(Some(line).filter(|_| length > 0))
}

/// Version 1.0, so that long answers come without the frame of chunks.
fn ask_by_http(
    host: &str,
    login: Option<&(String, Secret)>,
    request: &Value,
) -> Result<Value, ClientError> {
    let body = request.to_string();
    let head = format!(
        "POST /jsonrpc HTTP/1.0\r\nHost: {host}\r\n{}Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        authorization(login),
        body.len()
    );
    let mut stream = open_http(host, head.as_bytes())?;
    stream.get_mut().write_all(body.as_bytes())?;
    let length = read_head(&mut stream)?.expect_good()?;
    let mut answer = Vec::new();
    stream.take(length.unwrap_or(LONGEST_ANSWER)).read_to_end(&mut answer)?;
    serde_json::from_slice(&answer).map_err(|_| ClientError::NotUnderstood)
}

fn ask_if_ready(mut stream: impl Read + Write, host: &str) -> Result<Ready, ClientError> {
    write!(stream, "GET /readyz HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")?;
    let mut stream = BufReader::new(stream);
    let Head { status, length } = read_head(&mut stream)?;
    let is_ready = match status {
        200 => true,
        503 => false,
        other => return Err(ClientError::Status(other)),
    };
    let mut text = String::new();
    stream.take(length.unwrap_or(LONGEST_READINESS)).read_to_string(&mut text)?;
    Ok(Ready { is_ready, text: text.trim().to_owned() })
}

fn open_events(
    host: &str,
    login: Option<&(String, Secret)>,
    since: Option<&Position>,
) -> Result<BufReader<TcpStream>, ClientError> {
    let since = since.map_or(String::new(), |since| {
        format!("Last-Event-ID: {}/{}\r\n", since.boot, since.sequence)
    });
    // Version 1.0, so that events come without the frame of chunks.
    let head =
        format!("GET /events HTTP/1.0\r\nHost: {host}\r\n{}{since}\r\n", authorization(login));
    let mut stream = open_http(host, head.as_bytes())?;
    read_head(&mut stream)?.expect_good()?;
    Ok(stream)
}

fn open_http(host: &str, head: &[u8]) -> Result<BufReader<TcpStream>, ClientError> {
    let unreachable = |source| ClientError::Unreachable { at: format!("tcp://{host}"), source };
    let mut stream = TcpStream::connect(host).map_err(unreachable)?;
    stream.set_write_timeout(Some(WRITE_LIMIT))?;
    stream.write_all(head)?;
    Ok(BufReader::new(stream))
}

fn authorization(login: Option<&(String, Secret)>) -> String {
    login.map_or(String::new(), |(name, password)| {
        let text = STANDARD.encode(format!("{name}:{}", password.reveal()));
        format!("Authorization: Basic {text}\r\n")
    })
}

/// The status of the response; the length of the body is not always announced.
struct Head {
    status: u16,
    length: Option<u64>,
}

impl Head {
    fn expect_good(self) -> Result<Option<u64>, ClientError> {
        match self.status {
            200 => Ok(self.length),
            401 => Err(ClientError::LoginRefused),
            status => Err(ClientError::Status(status)),
        }
    }
}

fn read_head(stream: &mut impl BufRead) -> Result<Head, ClientError> {
    let status = read_line(stream)?.unwrap_or_default();
    let status = status.split(' ').nth(1).and_then(|code| code.parse().ok());
    let mut length = None;
    loop {
        let line = read_line(stream)?.unwrap_or_default();
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().ok();
        }
    }
    let status = status.ok_or(ClientError::NotUnderstood)?;
    Ok(Head { status, length })
}

/// The data of the next event that has any.
fn read_event(stream: &mut impl BufRead) -> io::Result<Option<String>> {
    while let Some(line) = read_line(stream)? {
        if let Some(data) = line.strip_prefix("data: ") {
            return Ok(Some(data.to_owned()));
        }
    }
    Ok(None)
}

fn result_of(mut answer: Value) -> Result<Value, ClientError> {
    let Some(error) = answer.get_mut("error").map(Value::take) else {
        return answer.get_mut("result").map(Value::take).ok_or(ClientError::NotUnderstood);
    };
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    Err(ClientError::Refused {
        code: text(&error["data"]["code"]),
        number: error["code"].as_i64().unwrap_or_default(),
        message: text(&error["message"]),
        data: error["data"].clone(),
    })
}

/// A listing of a hundred thousand jobs is a few hundred megabytes.
const LONGEST_ANSWER: u64 = 1 << 30;
/// The largest response of a health check.
const LONGEST_READINESS: u64 = 1 << 12;
const WRITE_LIMIT: Duration = Duration::from_secs(60);
